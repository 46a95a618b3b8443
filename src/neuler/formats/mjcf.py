"""MJCF files, MuJoCo's format, read by MuJoCo's own compiler."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from neuler.errors import FormatError, RobotError
from neuler.formats.mjcf_actuators import read_drives
from neuler.formats.mjcf_closed import Closed
from neuler.formats.mjcf_files import compiled
from neuler.formats.mjcf_refused import Refusals, few
from neuler.formats.mjcf_tree import Flags, ModelTree
from neuler.formats.source import Source, check_source, label_of
from neuler.formats.xml import is_text
from neuler.naming import fresh
from neuler.robot import Coupling, Loop, Robot

_NEAR = 1e-4
"""rad, m: positions of a file that are rounded are closed all the same."""
_TENDON = ("stiffness", "damping", "frictionloss", "armature")
"""What a tendon adds to the motion of its joints."""


def load_mjcf(source: Source, *, without: Iterable[str] = ()) -> Robot:
    """A robot from an MJCF file: a path, or the XML itself (bytes, or text that begins with ``<``).

    MuJoCo's own compiler reads it (``pip install mujoco``), so that defaults, frames, includes, units, and inertias
    from geoms are MuJoCo's. The base is the link ``world``; every body is a link of the same name and frame. Bodies
    with several joints, and joints off their body's origin, get links without mass in between. ``armature`` becomes
    the rotor inertia (kg m^2 or kg), ``damping`` viscous and ``frictionloss`` Coulomb friction, ``stiffness`` and
    ``springref`` the joint's spring. Joints that no actuator drives are passive or elastic; gears and force ranges of
    actuators give limits of effort. Sites are frames, keyframes ``named_positions``. An equality of joints is a
    :class:`Coupling` or holds a joint still, ``connect`` and ``weld`` are loops; they hold exactly here, and softly in
    MuJoCo.

    Contacts, sensors, the laws of servos and muscles, fluid and spatial tendons without springs have no effect here:
    ``robot.notes`` names what there was. What changes the motion and is not supported is refused by name, unless
    ``without`` has the name of such a feature, as the error says: armature, damping, equality, frictionloss, gravcomp,
    plugins, polynomials, springs, tendons, yield.

    Meshes that decide no inertia need not be there. Files that text includes are looked for in the current folder.

    >>> arm = load_mjcf('''<mujoco model="pendulum"><worldbody><body name="bob">
    ...   <joint name="hinge" axis="0 1 0" damping="0.1"/>
    ...   <geom type="sphere" size="0.1" mass="2" pos="0 0 -1"/></body></worldbody></mujoco>''')
    >>> arm.link_names, arm.joint_names, arm.mass
    (('world', 'bob'), ('hinge',), 2.0)
    """
    check_source(source, "MJCF")
    label = "MJCF text" if is_text(source) else label_of(os.fsdecode(source))
    refusals = Refusals(label, without)
    spec, model, notes = compiled(source)
    import mujoco

    for name in ("body_mass", "body_inertia", "body_pos", "body_ipos", "jnt_pos", "qpos0", "opt.gravity"):
        owner = model.opt if name.startswith("opt.") else model
        if not np.isfinite(getattr(owner, name.removeprefix("opt."))).all():
            raise FormatError(f"{label}: {name} is not finite once it is compiled; a number of the file is too large")
    flags = Flags.of(mujoco, model)
    try:
        drives = read_drives(mujoco, model, refusals)
        tree = ModelTree(model, drives, flags, refusals)
        closed = Closed(mujoco, model, tree, refusals) if flags.equality else None
        notes += [*_notes(model, tree), *drives.notes, *_of_equalities(model, closed)]
        _refuse_rest(model, refusals, tree, flags)
        notes += refusals.notes()
        return _robot(spec, model, tree, closed, flags, notes)
    except RobotError as error:
        raise FormatError(f"{label}: {error}") from None


def _robot(spec: Any, model: Any, tree: ModelTree, closed: Closed | None, flags: Flags, notes: list[str]) -> Robot:
    gravity = tuple(model.opt.gravity.tolist()) if flags.gravity else (0.0, 0.0, 0.0)
    name = spec.modelname.strip()
    couplings, loops, held = (closed.couplings, closed.loops, closed.held) if closed else ([], [], {})
    robot = Robot(
        name if name and name != "MuJoCo Model" else "robot", tree.links, tree.joints, gravity, tree.frames, notes,
        couplings=couplings,
    )  # fmt: skip
    drawn = _position(tree, robot, model.qpos0)
    if loops:
        robot = _closed(robot, loops, [drawn, *(_position(tree, robot, q) for q in model.key_qpos)])
    keys = {name: _position(tree, robot, model.key_qpos[k]) for k, name in enumerate(tree.keys)}
    if not np.array_equal(robot.neutral(), drawn):
        keys = {fresh("qpos0", keys): drawn, **keys}
    robot = robot.replace(named_positions=keys, notes=[*notes, *_of_keys(model, tree, couplings, held)])
    return robot.with_fixed(held) if held else robot


def _closed(robot: Robot, loops: list[Loop], positions: list[list[float]]) -> Robot:
    """With loops, from the first position at which they are closed; else from the first that leads to one."""
    found, refused = [], []
    for position in positions:
        try:
            closed = robot.replace(loops=loops, reference=position)
        except RobotError as error:
            refused.append(error)
            continue
        if np.allclose(closed.mobility.reference, position, rtol=0.0, atol=_NEAR):
            return closed
        found.append(closed)
    if not found:
        hint = "; a keyframe of the model may be one" if "reference=" in str(refused[0]) else ""
        raise RobotError(f"{refused[0]}{hint}")
    return found[0]


def _position(tree: ModelTree, robot: Robot, qpos: Any) -> list[float]:
    found = tree.positions(qpos)
    return [x for name in robot.joint_names for x in found[name]]


# ---- what has no effect, and what is refused ---------------------------------------------------------------


def _notes(model: Any, tree: ModelTree) -> Iterator[str]:
    collide = int(np.count_nonzero(model.geom_contype | model.geom_conaffinity)) + int(model.npair)
    if collide:
        yield f"ignored: contacts ({collide} geoms and pairs that collide)"
    if model.ntendon:
        yield f"ignored: tendons {few([repr(model.tendon(k).name or f'tendon{k}') for k in range(model.ntendon)])}"
    if model.opt.density or model.opt.viscosity:
        yield f"ignored: fluid of density {model.opt.density:g} and viscosity {model.opt.viscosity:g}"
    moved = [repr(tree.bodies[k]) for k in range(model.nbody) if model.body_mocapid[k] >= 0]
    if moved:
        yield f"mocap bodies taken as fixed: {few(moved)}"
    if tree.ball_limits:
        yield f"ignored: limits of ball and free joints {few(tree.ball_limits)}"
    if tree.renamed:
        yield f"names that stand twice: {few(tree.renamed)}"


def _of_keys(model: Any, tree: ModelTree, couplings: list[Coupling], held: dict[str, float]) -> Iterator[str]:
    moving = [repr(name) for name, qvel in zip(tree.keys, model.key_qvel, strict=True) if qvel.any()]
    if moving:
        yield f"ignored: velocities of keyframes {few(moving)}"
    apart = []
    for name, qpos in zip(tree.keys, model.key_qpos, strict=True):
        q = {joint: values[0] for joint, values in tree.positions(qpos).items()}
        there = {each.joint: each.at([q[leader] for leader in each.of])[0] for each in couplings} | held
        if any(abs(q[joint] - value) > _NEAR for joint, value in there.items()):
            apart.append(repr(name))
    if apart:
        yield f"keyframes in which joints that follow others, or are held, stand elsewhere than here: {few(apart)}"


def _of_equalities(model: Any, closed: Closed | None) -> Iterator[str]:
    if closed is None:
        if model.neq:
            yield f"ignored: equality constraints ({model.neq}), which the file switches off"
        return
    if closed.inactive:
        yield f"ignored: equality constraints that are not active: {few(closed.inactive)}"
    if closed.rigid:
        yield f"ignored: equality constraints between bodies that nothing moves apart: {few(closed.rigid)}"
    if closed.to_mocap:
        yield f"ignored: equality constraints to mocap bodies: {few(closed.to_mocap)}"


def _refuse_rest(model: Any, refusals: Refusals, tree: ModelTree, flags: Flags) -> None:
    heavy = flags.gravity and model.opt.gravity.any()
    for k in range(model.nbody):
        if model.body_gravcomp[k] and heavy:
            refusals.add("gravcomp", f"body {tree.bodies[k]!r}: gravity compensation")
    for k in range(model.ntendon):
        given = [what for what in _TENDON if np.any(getattr(model, f"tendon_{what}", np.zeros(k + 1))[k])]
        if given:
            refusals.add("tendons", f"tendon {model.tendon(k).name or f'tendon{k}'!r}: {', '.join(given)}")
    if model.nplugin:
        refusals.add("plugins", f"{model.nplugin} plugins")
    if getattr(model, "nflex", 0):
        raise FormatError(f"{refusals.label}: has flexible bodies (flex), which are not supported; remove them")

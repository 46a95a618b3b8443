"""MuJoCo beside neuler."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from neuler import layouts
from neuler.errors import InputError
from neuler.peers.base import (
    LOOPED,
    Array,
    PeerTask,
    States,
    first_output,
    has_centre,
    library,
    looped,
    refuse_spin,
    with_armature,
)
from neuler.robot import Joint, Link, Robot
from neuler.robot.expand import expand
from neuler.robot.transform import Transform, quaternion

_MUJOCO_LEAST = 1e-10
"""MuJoCo's compiler refuses moving bodies with less mass or inertia."""


def mjcf(robot: Robot) -> str:
    """The robot as MJCF: tree, bodies, joints, rotors (armature) and gravity; no friction, no contacts.

    Names are numbers of links and joints (``link0``, ``joint0``), so that any name is allowed in a
    robot; joints that are several simple ones in a row are written as these. Bodies that MuJoCo's compiler
    refuses (no mass, impossible inertia) get a stand-in of 1 kg and 1 kg m^2; :func:`mujoco_model` puts their true
    values into the compiled model. Motors that are felt along their joint alone (``coupled=False``) are armature too;
    others are refused by name.
    """
    robot = expand(with_armature(robot, "mujoco"))
    children: dict[str, list[int]] = {link.name: [] for link in robot.links}
    still = {robot.links[0].name: Transform()}  # links that are fixed to the world, and where they are
    top = {-1: Transform()}
    for number, joint in enumerate(robot.joints):
        if joint.kind == "free":  # only the world may carry it
            if joint.parent not in still:
                raise InputError(f"MuJoCo lets only the world carry a free joint, and {joint.parent!r} moves")
            top[number] = still[joint.parent] @ joint.placement
            continue
        children[joint.parent].append(number)
        if joint.parent in still and not joint.moves:
            still[joint.child] = still[joint.parent] @ joint.placement
    lines = [
        "<mujoco>",
        '<compiler angle="radian" autolimits="false" fusestatic="false" balanceinertia="false"/>',
        f"<option {_attribute('gravity', robot.gravity)}>",
        '<flag constraint="disable" contact="disable"/></option>',
        "<worldbody>",
    ]
    stack: list[int | None] = [*reversed(top)]  # the joint that carries a link, -1 for the base, None to close a body
    while stack:
        k = stack.pop()
        if k is None:
            lines.append("</body>")
            continue
        link = robot.links[k + 1]
        placement = top[k] if k in top else robot.joints[k].placement
        frame = f"{_attribute('pos', placement.translation)} {_attribute('quat', _quaternion(placement.rotation))}"
        lines.append(f'<body name="link{k + 1}" {frame}>')
        lines.append(_mjcf_body(link))
        if k >= 0 and robot.joints[k].moves:
            lines.append(_mjcf_joint(k, robot.joints[k]))
        stack.append(None)
        stack.extend(reversed(children[link.name]))
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])


def _mjcf_joint(number: int, joint: Joint) -> str:
    if joint.kind == "free":
        return f'<freejoint name="joint{number}"/>'
    if joint.kind == "spherical":
        return f'<joint name="joint{number}" type="ball"/>'
    if joint.type.has_pitch:
        raise InputError(f"joint {joint.name!r}: MuJoCo has no helical joints")
    refuse_spin(joint, "mujoco")
    kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
    rotor = _attribute("armature", [joint.rotor_inertia])
    return f'<joint name="joint{number}" type="{kind}" {_attribute("axis", joint.axis)} {rotor}/>'


def _attribute(name: str, numbers: Iterable[float]) -> str:
    return f"{name}={quoteattr(' '.join(repr(float(x)) for x in numbers))}"


def _quaternion(rotation: Any) -> Array:
    """(w, x, y, z)."""
    return np.roll(quaternion(rotation), 1)


def _principal(link: Link) -> tuple[Array, Array]:
    """Principal inertias about the centre of mass and the right-handed axes they belong to."""
    about_com = link.inertia_about_com
    if not np.any(about_com - np.diag(np.diag(about_com))):
        return np.diag(about_com).copy(), np.eye(3)
    inertias, axes = np.linalg.eigh(about_com)
    axes[:, 2] *= np.linalg.det(axes)
    return inertias, axes


def _possible(mass: float, inertias: Array) -> bool:
    low, middle, high = np.sort(inertias).tolist()
    return mass > _MUJOCO_LEAST and low > _MUJOCO_LEAST and low + middle >= high


def _mjcf_body(link: Link) -> str:
    has_centre(link)
    inertias, axes = _principal(link)
    mass = link.mass
    if not _possible(mass, inertias):
        mass, inertias = 1.0, np.ones(3)
    where = f"{_attribute('pos', link.com)} {_attribute('quat', _quaternion(axes))}"
    return f"<inertial {where} {_attribute('mass', [mass])} {_attribute('diaginertia', inertias)}/>"


def mujoco_model(robot: Robot) -> Any:
    """The robot as a compiled ``mujoco.MjModel``, every body with its true mass and inertia."""
    mujoco = library("mujoco")
    robot = expand(with_armature(robot, "mujoco"))
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    changed = False
    for k, link in enumerate(robot.links):
        inertias, _ = _principal(link)
        if not _possible(link.mass, inertias):
            number = model.body(f"link{k}").id
            model.body_mass[number] = link.mass
            model.body_inertia[number] = inertias
            changed = True
    if changed:
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class MuJoCo:
    """MuJoCo, constraints and contacts off. It has no batch call for these: measured per call.

    Sensitivities have no counterpart: MuJoCo's are finite differences (``mjd_inverseFD``, ``mjd_transitionFD``).
    """

    name = "mujoco"
    model_from = "the robot's data, converted"

    def __init__(self, robot: Robot) -> None:
        self.mujoco = library("mujoco")
        self.version = str(self.mujoco.__version__)
        robot = with_armature(robot, self.name)
        self.model = mujoco_model(robot)
        simple = expand(robot)
        numbers = [int(self.model.joint(k).name.removeprefix("joint")) for k in range(self.model.njnt)]
        self.layout = layouts.mujoco(simple, [simple.joints[k].name for k in numbers])
        self.free = any(joint.type.always_passive for joint in robot.moving_joints)
        self.links = np.array(
            [self.model.body(f"link{simple.link_names.index(name)}").id for name in robot.shown_names]
        )
        self.tip = int(self.links[robot.shown_names.index(robot.tip)])

    def task(self, quantity: str, states: States) -> PeerTask | None:
        """The quantity for these states; None where MuJoCo has no counterpart."""
        mujoco, model, layout, links, tip = self.mujoco, self.model, self.layout, self.links, self.tip
        data = mujoco.MjData(model)
        fields = {"q": data.qpos, "qd": data.qvel, "qdd": data.qacc, "tau": data.qfrc_applied}
        dense, found = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        spread = _full_matrix(mujoco, model, data, dense)

        def kinematics() -> None:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)

        def matrix() -> None:
            kinematics()
            mujoco.mj_crb(model, data)
            spread()

        def bias() -> None:
            kinematics()
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, int(self.free), found)

        def jacobian() -> None:
            kinematics()
            mujoco.mj_jacBody(model, data, linear, angular, tip)

        def poses() -> Array:
            result = np.tile(np.eye(4), (len(links), 1, 1))
            result[:, :3, :3] = data.xmat[links].reshape(-1, 3, 3)
            result[:, :3, 3] = data.xpos[links]
            return result

        def in_link_axes() -> Array:
            turn = data.xmat[tip].reshape(3, 3).T
            return forces(np.vstack([turn @ linear, turn @ angular]))

        def forces(theirs: Array) -> Array:
            return layout.from_tau(theirs, data.qpos)

        calls: dict[str, tuple[Callable[[], Any], Callable[[], Array]]] = {
            "inverse_dynamics": (functools.partial(mujoco.mj_inverse, model, data), lambda: forces(data.qfrc_inverse)),
            "forward_dynamics": (
                functools.partial(mujoco.mj_forward, model, data),
                lambda: layout.from_a(data.qacc, data.qvel, data.qpos),
            ),
            "mass_matrix": (matrix, lambda: forces(forces(dense).T)),
            "bias_force": (bias, lambda: forces(found)),
            "gravity_force": (bias, lambda: forces(found)),
            "jacobian": (jacobian, in_link_axes),
            "link_poses": (functools.partial(mujoco.mj_kinematics, model, data), poses),
        }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        count = min(LOOPED, len(states["q"]))
        given = {name: values[:count] for name, values in states.items()}
        q, still = given["q"], np.zeros((count, model.nv))
        qd = given.get("qd", still)
        theirs = {"q": layout.q(q), "qd": layout.v(qd, q), "qdd": layout.a(given.get("qdd", still), qd, q)}
        theirs["tau"] = layout.tau(given.get("tau", still), q)
        names = [*given, *(["qdd"] if self.free and quantity == "bias_force" else [])]
        rows = [[(fields[name], theirs[name][k]) for name in names] for k in range(count)]

        def run(k: int) -> None:
            for field, value in rows[k]:
                field[:] = value
            call()

        def result(k: int) -> Array:
            run(k)
            return np.array(read())

        return PeerTask(
            lambda: run(0),
            looped(run, count),
            count,
            False,
            lambda: np.array([result(k) for k in range(count)]),
            first_output,
        )


def _full_matrix(mujoco: Any, model: Any, data: Any, dense: Array) -> Callable[[], Any]:
    """MuJoCo's sparse inertia matrix into a dense one; the arguments changed between releases."""
    newer = functools.partial(mujoco.mj_fullM, model, data, dense)
    try:
        newer()
    except TypeError:
        return functools.partial(mujoco.mj_fullM, model, dense, data.qM)
    return newer

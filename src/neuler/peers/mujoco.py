"""MuJoCo beside neuler."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from neuler.peers.base import LOOPED, Array, States, Task, first_output, has_centre, library, looped
from neuler.robot import Link, Robot
from neuler.robot.transform import Transform

_MUJOCO_LEAST = 1e-10
"""MuJoCo's compiler refuses moving bodies with less mass or inertia."""


def mjcf(robot: Robot) -> str:
    """The robot as MJCF: tree, bodies, joints, rotors (armature) and gravity; no friction, no contacts.

    Names are numbers of links and joints (``link0``, ``joint0``), so that any name is allowed in a
    robot. Bodies that MuJoCo's compiler refuses (no mass, impossible inertia) get a stand-in of 1 kg
    and 1 kg m^2; :func:`mujoco_model` puts their true values into the compiled model.
    """
    children: dict[str, list[int]] = {link.name: [] for link in robot.links}
    for number, joint in enumerate(robot.joints):
        children[joint.parent].append(number)
    lines = [
        "<mujoco>",
        '<compiler angle="radian" autolimits="false" fusestatic="false" balanceinertia="false"/>',
        f"<option {_attribute('gravity', robot.gravity)}>",
        '<flag constraint="disable" contact="disable"/></option>',
        "<worldbody>",
    ]
    stack: list[int | None] = [-1]  # the joint that carries a link, -1 for the base, None to close a body
    while stack:
        top = stack.pop()
        if top is None:
            lines.append("</body>")
            continue
        k = top
        placement = robot.joints[k].placement if k >= 0 else Transform()
        link = robot.links[k + 1]
        frame = f"{_attribute('pos', placement.translation)} {_attribute('quat', _quaternion(placement.rotation))}"
        lines.append(f'<body name="link{k + 1}" {frame}>')
        lines.append(_mjcf_body(link))
        if k >= 0 and robot.joints[k].moves:
            joint = robot.joints[k]
            kind = "hinge" if joint.kind == "revolute" else "slide"
            rotor = _attribute("armature", [joint.rotor_inertia])
            lines.append(f'<joint name="joint{k}" type="{kind}" {_attribute("axis", joint.axis)} {rotor}/>')
        stack.append(None)
        stack.extend(reversed(children[link.name]))
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])


def _attribute(name: str, numbers: Iterable[float]) -> str:
    return f"{name}={quoteattr(' '.join(repr(float(x)) for x in numbers))}"


def _quaternion(rotation: Any) -> Array:
    """(w, x, y, z) of a rotation matrix: the eigenvector of the largest eigenvalue, exact to rounding (Bar-Itzhack)."""
    r = np.asarray(rotation, dtype=float)
    k = np.empty((4, 4))
    k[0, 0] = np.trace(r)
    k[0, 1:] = k[1:, 0] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[1:, 1:] = r + r.T - np.trace(r) * np.eye(3)
    return np.linalg.eigh(k)[1][:, -1]


def _principal(link: Link) -> tuple[Array, Array]:
    """Principal inertias about the mass centre and the right-handed axes they belong to."""
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
        self.model = mujoco_model(robot)
        numbers = [k for k, joint in enumerate(robot.joints) if joint.moves]
        self.order = np.array([self.model.joint(f"joint{k}").dofadr[0] for k in numbers], dtype=int)
        self.links = np.array([self.model.body(f"link{k}").id for k in range(len(robot.links))])
        self.tip = int(self.links[robot.link_names.index(robot.tip)])

    def task(self, quantity: str, states: States) -> Task | None:
        """The quantity for these states; None where MuJoCo has no counterpart."""
        mujoco, model, order, links, tip = self.mujoco, self.model, self.order, self.links, self.tip
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
            mujoco.mj_rne(model, data, 0, found)

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
            return np.vstack([turn @ linear, turn @ angular])[:, order]

        calls: dict[str, tuple[Callable[[], Any], Callable[[], Array]]] = {
            "inverse_dynamics": (functools.partial(mujoco.mj_inverse, model, data), lambda: data.qfrc_inverse[order]),
            "forward_dynamics": (functools.partial(mujoco.mj_forward, model, data), lambda: data.qacc[order]),
            "mass_matrix": (matrix, lambda: dense[np.ix_(order, order)]),
            "bias_force": (bias, lambda: found[order]),
            "gravity_force": (bias, lambda: found[order]),
            "jacobian": (jacobian, in_link_axes),
            "link_poses": (functools.partial(mujoco.mj_kinematics, model, data), poses),
        }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        count = min(LOOPED, len(states["q"]))
        rows = []
        for k in range(count):
            row = []
            for name, values in states.items():
                placed = np.zeros(model.nv)
                placed[order] = values[k]
                row.append((fields[name], placed))
            rows.append(row)

        def run(k: int) -> None:
            for field, value in rows[k]:
                field[:] = value
            call()

        def result(k: int) -> Array:
            run(k)
            return np.array(read())

        return Task(
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

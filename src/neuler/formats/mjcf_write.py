"""MJCF, MuJoCo's format, written: trees of bodies with joints, rotors and gravity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.formats.armatures import has_centre, refuse_spin, with_armature
from neuler.robot import Joint, Link, Robot
from neuler.robot.expand import expand
from neuler.robot.transform import Transform, quaternion

Array = NDArray[np.float64]

LEAST = 1e-10
"""MuJoCo's compiler refuses moving bodies with less mass or inertia."""


def write(robot: Robot) -> str:
    """The robot as MJCF: tree, bodies, joints, rotors (armature) and gravity; no friction, no contacts.

    Names are numbers of links and joints (``link0``, ``joint0``), so that any name is allowed in a robot; joints that
    are several simple ones in a row are written as these. Bodies that MuJoCo's compiler refuses (no mass, impossible
    inertia) get a stand-in of 1 kg and 1 kg m^2; ``neuler.peers.mujoco_model`` puts their true values into the compiled
    model. Motors whose inertia acts along their joint alone (``coupled=False``) are armature too; others are refused by
    name.
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
        lines.append(_body(link))
        if k >= 0 and robot.joints[k].moves:
            lines.append(_joint(k, robot.joints[k]))
        stack.append(None)
        stack.extend(reversed(children[link.name]))
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])


def _joint(number: int, joint: Joint) -> str:
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
    """The quaternion of a rotation in MuJoCo's order, (w, x, y, z)."""
    return np.roll(quaternion(rotation), 1)


def principal_inertias(link: Link) -> tuple[Array, Array]:
    """Principal inertias about the centre of mass and the right-handed axes they belong to."""
    about_com = link.inertia_about_com
    if not np.any(about_com - np.diag(np.diag(about_com))):
        return np.diag(about_com).copy(), np.eye(3)
    inertias, axes = np.linalg.eigh(about_com)
    axes[:, 2] *= np.linalg.det(axes)
    return inertias, axes


def is_possible(mass: float, inertias: Array) -> bool:
    """Whether MuJoCo's compiler takes a body of this mass (kg) and these principal inertias (kg m^2)."""
    low, middle, high = np.sort(inertias).tolist()
    return mass > LEAST and low > LEAST and low + middle >= high


def _body(link: Link) -> str:
    has_centre(link)
    inertias, axes = principal_inertias(link)
    mass = link.mass
    if not is_possible(mass, inertias):
        mass, inertias = 1.0, np.ones(3)
    where = f"{_attribute('pos', link.com)} {_attribute('quat', _quaternion(axes))}"
    return f"<inertial {where} {_attribute('mass', [mass])} {_attribute('diaginertia', inertias)}/>"

"""Friction laws for identification: a robot whose joints have another law, and which of its numbers are found.

| law | tau of a joint besides the model |
|---|---|
| "viscous" | Fv v |
| "coulomb" | Fc sign(v) + Fv v |
| "offset" | the same with another Fc in reverse: an offset of the torque is half the difference |
| "smooth" | Fc tanh(v / w) + Fv v |
| "stribeck" | (Fc + (Fs - Fc) exp(-(v / vs)^2)) sign(v) + Fv v |
| "load" | (Fc + mu |t|) sign(v) + Fv v, t being the torque without friction |

Forces are linear in all numbers but w, vs and mu. ``share`` says how large w and vs are beside the root mean square of
each joint's velocity; mu is found by linearisation (``load_friction``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.prepared import Prepared
from neuler.passes.parameters import group_names
from neuler.robot import Joint, Robot
from neuler.robot.friction import Coulomb, LoadDependent, Stribeck

Array = NDArray[np.float64]
FRICTION_LAWS = ("viscous", "coulomb", "offset", "smooth", "stribeck", "load")
SHARES = {"smooth": (0.003, 0.01, 0.03, 0.1), "stribeck": (0.03, 0.1, 0.3)}
"""Of laws with a speed of their own, the speeds that are tried, in parts of the root mean square of a velocity."""


def with_law(robot: Robot, law: str, speeds: Any = ()) -> Robot:
    """The robot with a law at every joint that can have friction; ``speeds`` are w or vs of each velocity, (nv,).

    >>> import neuler
    >>> with_law(neuler.robots.two_link(), "stribeck", [0.1, 0.1]).joints[0].friction
    Stribeck(coulomb=0.0, static=0.0, speed=0.1, exponent=2.0, viscous=0.0, width=0.0)
    """
    if robot.motors:
        raise InputError(
            f"friction: robot {robot.name!r} has motors of its own, whose friction is theirs; laws are given to them "
            "(docs/motors.md), and friction= is left out"
        )
    at = dict(zip(robot.coordinates.names("qd"), speeds, strict=False))
    joints = [_joint(joint, law, at.get(joint.name, 0.0)) if _drives(joint) else joint for joint in robot.joints]
    return robot.replace(joints=joints)


def _drives(joint: Joint) -> bool:
    return joint.moves and "coulomb" in joint.type.drives


def _joint(joint: Joint, law: str, speed: float) -> Joint:
    given: Any = joint if joint.friction is None else joint.friction
    viscous, coulomb = float(given.viscous), float(given.coulomb)
    plain = dataclasses.replace(joint, friction=None, viscous=viscous, coulomb=coulomb, coulomb_reverse=None)
    bare = dataclasses.replace(plain, viscous=0.0, coulomb=0.0)
    if law == "viscous":
        return dataclasses.replace(plain, coulomb=0.0)
    if law == "offset":
        reverse = getattr(given, "coulomb_reverse", None)
        return dataclasses.replace(plain, coulomb_reverse=coulomb if reverse is None else float(reverse))
    if law == "smooth":
        return dataclasses.replace(bare, friction=Coulomb(coulomb, viscous, width=speed))
    if law == "stribeck":
        static = float(getattr(given, "static", coulomb))
        return dataclasses.replace(bare, friction=Stribeck(coulomb, static, speed, viscous=viscous))
    return plain


def columns_of(robot: Robot, law: str, columns: Any) -> tuple[str, ...]:
    """The columns, "friction" being the numbers of the law."""
    named = (columns,) if isinstance(columns, str) else tuple(columns)
    if law != "viscous":
        return named
    own = [name for name in group_names(robot, "friction") if name.endswith(".viscous")]
    return tuple(each for name in named for each in (own if name == "friction" else [name]))


def speeds_of(ready: Sequence[Prepared], share: float) -> Array:
    """A share of the root mean square of each velocity, (nv,)."""
    qd = np.concatenate([each.qd for each in ready])
    return share * np.maximum(np.sqrt((qd**2).mean(axis=0)), 1e-9)


def of_robot(ready: Prepared, robot: Robot) -> Prepared:
    """A prepared log as one of a robot with other numbers: its motion does not depend on them."""
    return dataclasses.replace(ready, log=dataclasses.replace(ready.log, robot=robot))


def with_loads(robot: Robot, loads: dict[str, float]) -> Robot:
    """The robot with load-dependent friction mu at joints, by name, in the place of their Coulomb and viscous one."""
    joints = [
        dataclasses.replace(
            joint, viscous=0.0, coulomb=0.0, friction=LoadDependent(loads[joint.name], joint.coulomb, joint.viscous)
        )
        if joint.name in loads
        else joint
        for joint in robot.joints
    ]
    return robot.replace(joints=joints)

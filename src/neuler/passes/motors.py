"""Numbers of a motor as parameters: where they stand among the links and joints that the motor has become."""

from __future__ import annotations

from collections.abc import Mapping

from neuler.errors import InputError
from neuler.robot import Link, Robot
from neuler.robot.mechanism import Shaft
from neuler.trace.graph import Scalar

SPRING = ("stiffness", "damping")
LOSSES = ("viscous", "coulomb", "coulomb_reverse")
ACROSS = ("xx", "yy")
PARTS = ("inertia", "mass", *ACROSS, *SPRING, *LOSSES)
"""Of a motor: inertia about the axis, mass, inertia across the axis, its spring on the output side, friction on the
motor's side."""
Key = tuple[str, str, str]


def _shafts(robot: Robot, motor: str) -> list[Shaft]:
    return [joint for joint in robot.joints if isinstance(joint, Shaft) and joint.motor == motor]


def named(robot: Robot) -> list[str]:
    """The motors of a mechanism."""
    return list(dict.fromkeys(joint.motor for joint in robot.joints if isinstance(joint, Shaft)))


def _spinning(robot: Robot, motor: str, part: str) -> Shaft:
    """The shaft that has the rotor, or the spring."""
    found = [shaft for shaft in _shafts(robot, motor) if shaft.moves]
    if part in SPRING:
        found = [shaft for shaft in found if shaft.series is not None]
    else:
        found = [shaft for shaft in found if any(_link(robot, shaft).inertia) or shaft.rotor_inertia]
    if not found:
        what = "no spring" if part in SPRING else "no rotor of its own; its joint's rotor_inertia and friction are"
        raise InputError(f"parameters: motor {motor!r} has {what}, so that its {part} is no parameter")
    return found[0]


def _stator(robot: Robot, motor: str) -> Link | None:
    return next((_link(robot, shaft) for shaft in _shafts(robot, motor) if not shaft.moves), None)


def _link(robot: Robot, shaft: Shaft) -> Link:
    return robot.links[robot.link_names.index(shaft.child)]


def value(robot: Robot, motor: str, part: str) -> float:
    """The number that a parameter of a motor has now."""
    if part == "mass":
        stator = _stator(robot, motor)
        if stator is None or not stator.mass:
            raise InputError(
                f"parameters: motor {motor!r} has no mass beside its carrier's, so that it is no parameter"
            )
        return stator.mass
    if part in ACROSS:
        stator = _stator(robot, motor)
        if stator is None or not stator.inertia[ACROSS.index(part)]:
            raise InputError(
                f"parameters: motor {motor!r} has no inertia across its axis beside its carrier's, so that it is no "
                "parameter"
            )
        return stator.inertia[ACROSS.index(part)]
    shaft = _spinning(robot, motor, part)
    if part in SPRING:
        assert shaft.series is not None
        return shaft.series[1] if part == "stiffness" else shaft.series[2]
    if part in LOSSES:
        return shaft.coulomb_both[1] if part == "coulomb_reverse" else float(getattr(shaft, part))
    inertia = _link(robot, shaft).inertia[2]
    if not inertia:
        raise InputError(f"parameters: motor {motor!r} is not coupled to its carrier; its inertia is no parameter")
    return inertia


def has(robot: Robot, motor: str, part: str) -> bool:
    """Whether a motor has a parameter of that name."""
    try:
        return part in PARTS and value(robot, motor, part) is not None
    except InputError:
        return False


def as_parts(robot: Robot, given: Mapping[Key, Scalar]) -> dict[Key, Scalar]:
    """What parameters of motors are of links, joints and springs."""
    found: dict[Key, Scalar] = {}
    for (of, motor, part), x in given.items():
        if of != "motor":
            continue
        stator = _stator(robot, motor)
        if part in ("mass", *ACROSS):
            assert stator is not None
            found["link", stator.name, part] = x
            continue
        shaft = _spinning(robot, motor, part)
        if part == "inertia":
            rotor = _link(robot, shaft)
            found["link", rotor.name, "zz"] = x
            if stator is not None and stator.inertia[2] == -rotor.inertia[2]:  # the carrier's data contain it at rest
                found["link", stator.name, "zz"] = -1.0 * x
        else:
            found["series" if part in SPRING else "joint", shaft.name, part] = x
    return found

"""Robots as libraries see them that know a motor by its armature: a rotor inertia along its joint, and a weight."""

from __future__ import annotations

from neuler.errors import InputError
from neuler.robot import Joint, Link, Robot


def has_centre(link: Link) -> None:
    """Refuse a link that has a first moment but no mass."""
    if link.mass == 0 and any(link.first_moment):
        raise InputError(
            f"link {link.name!r}: has a first moment but no mass; peers know bodies by their centre of mass"
        )


def refuse_motors(robot: Robot, library: str) -> None:
    """Refuse motors that are more than a rotor inertia along one joint, and a weight."""
    for motor in robot.motors:
        if motor.elastic:
            what, remedy = "turns before a spring", "without its stiffness it is rigid"
        elif len(motor.ratios) > 1:
            what, remedy = f"drives {', '.join(map(repr, motor.ratios))} together", "give each joint a motor of its own"
        elif motor.coupled and motor.rotor:
            what = "has a rotor that its carrier feels"
            remedy = "robot.with_simple_motors() has rotors that their joints alone feel"
        else:
            continue
        raise InputError(f"robot {robot.name!r}: motor {motor.name!r} {what}; {library} knows armatures only: {remedy}")


def with_armature(robot: Robot, library: str) -> Robot:
    """The robot with its motors as rotor inertias of joints and as weights on links; what that is not is refused.

    Friction of motors is left out, as all friction is.
    """
    refuse_motors(robot, library)
    return robot.without_friction().with_simple_motors().mechanism if robot.motors else robot


def refuse_spin(joint: Joint, library: str) -> None:
    """Refuse a body that spins in a frame that stands still."""
    if joint.type.geared:
        raise InputError(
            f"joint {joint.name!r}: {library} has no {joint.kind} joint; where its body is round and carries nothing, "
            "a revolute one moves alike"
        )

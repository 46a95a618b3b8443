"""Motors as text and as plain data: what each drives, where it sits, what its joint feels of it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from neuler.plain import number, vector
from neuler.robot import Joint, Motor, Robot
from neuler.robot.friction import Friction
from neuler.robot.motor import seat


def carrier(robot: Robot, motor: Motor) -> str:
    """The link that it sits on."""
    return motor.carrier or driven(robot, motor).parent


def driven(robot: Robot, motor: Motor) -> Joint:
    """The joint that the motor is named to drive, its own."""
    return next(joint for joint in robot.joints if joint.name == motor.joint)


def shaft(robot: Robot, motor: Motor) -> Joint | None:
    """The coordinate theta of a motor behind a spring; None of a rigid drive."""
    if not motor.elastic:
        return None
    return next((joint for joint in robot.moving_joints if joint.series and joint.series[0] == motor.joint), None)


def reflected(motor: Motor) -> dict[str, float]:
    """n^2 I: what each joint feels of the rotor's inertia (kg m^2; kg of a slide).

    >>> reflected(Motor("m", "elbow", {"elbow": 100.0, "wrist": -50.0}, inertia=1e-4))
    {'elbow': 1.0, 'wrist': 0.25}
    """
    return {name: n * n * motor.rotor for name, n in motor.ratios.items()}


def drives(robot: Robot) -> dict[str, str]:
    """By joint, the motors that turn with it."""
    found: dict[str, list[str]] = {}
    for motor in robot.motors:
        for name in motor.ratios:
            spring = " through a spring" if motor.elastic and name == motor.joint else ""
            found.setdefault(name, []).append(motor.name + spring)
    return {name: ", ".join(names) for name, names in found.items()}


def stiffened(robot: Robot) -> Robot:
    """The robot whose springs between motors and joints do not stretch: the coordinates of its joints alone.

    Friction that depends on the load of such a motor is left out, for the motor of a rigid drive has none of its own.
    """
    if not any(motor.elastic for motor in robot.motors):
        return robot
    motors = []
    for motor in robot.motors:
        law = None if motor.friction is not None and motor.friction.loaded else motor.friction
        motors.append(dataclasses.replace(motor, stiffness=math.inf, damping=0.0, friction=law))
    return robot.replace(motors=motors)


def law_text(law: Friction | None) -> str:
    """The name of a friction law, and its numbers that are not zero.

    >>> from neuler import Stribeck
    >>> law_text(Stribeck(1.0, 1.5, 0.1))
    'stribeck: coulomb 1, static 1.5, speed 0.1, exponent 2'
    """
    if law is None:
        return ""
    data = law.data
    parts = [f"{key} {number(value)}" for key, value in data.items() if isinstance(value, float) and value]
    return f"{data['law']}: {', '.join(parts)}"


def motor_head(robot: Robot) -> list[str]:
    """The head of the table of motors: springs, friction and masses where there are any."""
    head = ["motor", "drives", "on link", "counts as", "axis", "ratio", "inertia", "at the joint"]
    return head + [name for name, _ in _more(robot, robot.motors[0])]


def motor_rows(robot: Robot) -> list[list[str]]:
    """Every motor: joints and ratios, carrier, inertia on its own and on the output side, spring, friction."""
    rows = []
    for motor in robot.motors:
        axis = [line[2] for line in seat(motor, driven(robot, motor)).rotation]
        row = [motor.name, ", ".join(motor.ratios), carrier(robot, motor), _kind(motor), vector(axis)]
        row += [", ".join(number(n) for n in motor.ratios.values()), number(motor.rotor)]
        row += [", ".join(number(x) for x in reflected(motor).values())]
        rows.append(row + [cell for _, cell in _more(robot, motor)])
    return rows


def _kind(motor: Motor) -> str:
    """What its rotor is to its carrier."""
    if not motor.coupled:
        return "reflected inertia"
    return "body in its link's data" if motor.included else "body"


def _more(robot: Robot, motor: Motor) -> list[tuple[str, str]]:
    """Columns that say something of one of the motors at least, and their cells."""
    motors, found = robot.motors, []
    if any(each.mass for each in motors):
        found.append(("mass", number(motor.mass) if motor.mass else ""))
    if any(each.elastic for each in motors):
        found += [("spring", number(motor.stiffness)), ("damping", number(motor.damping) if motor.elastic else "")]
        found.append(("theta", _theta(robot, motor)))
    if any(each.viscous for each in motors):
        found.append(("viscous", number(motor.viscous)))
    if any(each.coulomb or each.coulomb_reverse for each in motors):
        found.append(("Coulomb", coulomb_text(motor)))
    if any(each.friction for each in motors):
        found.append(("friction law", law_text(motor.friction)))
    return found


def _theta(robot: Robot, motor: Motor) -> str:
    """Name and number of its coordinate."""
    theta = shaft(robot, motor)
    return "" if theta is None else f"{theta.name}, q[{robot.coordinates[theta.name].q.start}]"


def coulomb_text(part: Joint | Motor) -> str:
    """Coulomb friction, both ways where they differ."""
    both = part.coulomb, part.coulomb_reverse
    return number(both[0]) if both[1] in (None, both[0]) else f"{number(both[0])} / {number(both[1])}"


LEFT = 4
"""Columns of the table to the left."""
UNITS = (
    "Axis of the rotor in the link's frame. Ratio: rotor turns for one of the joint (rad/m of a slide). Inertia "
    "(kg m^2) and friction on the motor's side, springs on the joint's; at the joint: ratio^2 inertia."
)


def motor_data(robot: Robot, motor: Motor) -> dict[str, Any]:
    """All of a motor for JSON: place and axis as they are taken, theta by name; no spring is null."""
    place, theta = seat(motor, driven(robot, motor)), shaft(robot, motor)
    return {
        "name": motor.name,
        "joint": motor.joint,
        "ratio": motor.ratios,
        "carrier": carrier(robot, motor),
        "axis": [row[2] for row in place.rotation],
        "position": list(place.translation),
        "inertia": list(motor.moments),
        "reflected_inertia": reflected(motor),
        "mass": motor.mass,
        "included": motor.included,
        "coupled": motor.coupled,
        "stiffness": motor.stiffness if math.isfinite(motor.stiffness) else None,
        "damping": motor.damping,
        "theta": theta.name if theta else None,
        "viscous": motor.viscous,
        "coulomb": motor.coulomb,
        "coulomb_reverse": motor.coulomb if motor.coulomb_reverse is None else motor.coulomb_reverse,
        "friction": motor.friction.data if motor.friction is not None else None,
    }

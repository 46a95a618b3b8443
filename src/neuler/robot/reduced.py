"""A robot with some of its joints held at a position: fewer coordinates, the same links and frames.

A held joint becomes ``fixed``, with the placement that its child has there. What hung on its motion goes with it:
joints that follow it stand still too, its motor's rotor becomes a part of the link that carries it, and loops have
fewer joints to close with.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import RobotError
from neuler.inputs import named, number, vector
from neuler.naming import hint
from neuler.robot.configuration import length_instead_of_one, no_rotation
from neuler.robot.coupling import Coupling, in_order
from neuler.robot.displacement import displacement
from neuler.robot.joint import Joint, Limits
from neuler.robot.link import Link
from neuler.robot.motor import Motor, seat
from neuler.robot.transform import Transform

if TYPE_CHECKING:
    from neuler.robot.model import Robot

Held = dict[str, tuple[float, ...]]
"""Positions of the joints that are held, by name."""

_SLACK = 1e-9
"""Rad or m by which a position may pass a limit: it is rounding."""


def reduced(robot: Robot, positions: Mapping[str, Any]) -> Robot:
    """See ``Robot.with_fixed``."""
    given = named("with_fixed: positions", positions, error=RobotError)
    held: Held = {name: _position(robot, name, value) for name, value in given.items()}
    if not held:
        return robot
    couplings = _couplings(robot, held)
    motors, bodies = _motors(robot, held)
    changes: dict[str, Any] = {
        "links": [_with_bodies(link, bodies) for link in robot.links],
        "joints": [_fixed(joint, held[joint.name]) if joint.name in held else joint for joint in robot.joints],
        "couplings": couplings,
        "motors": motors,
    }
    return _closed(robot, changes, tuple(given)) if robot.loops else robot.replace(**changes)


# ---- what is given ---------------------------------------------------------------------------------------


def _position(robot: Robot, name: str, value: Any) -> tuple[float, ...]:
    """The positions of one joint, as many as it has, within its limits."""
    joint = _joint(robot, name)
    owner = f"with_fixed: joint {name!r}"
    if joint.nq == 1:
        found: tuple[float, ...] = (number(f"{owner}: the position", value, error=RobotError),)
    else:
        what = f"{owner}: the position ({', '.join(joint.type.parts)})"
        found = tuple(vector(what, value, joint.nq, error=RobotError).tolist())
    if joint.type.quaternion is None:
        _check_limits(owner, found, joint.limits)
        return found
    turn = np.array(found[joint.type.quaternion : joint.type.quaternion + 4])
    bad = no_rotation(turn)
    if bad.any():
        told, remedy = length_instead_of_one(turn, bad)
        raise RobotError(f"{owner}: its quaternion {told}; {remedy}")
    return found


def _joint(robot: Robot, name: str) -> Joint:
    """A joint that can be held; others are refused, each with what to do instead."""
    joints = {joint.name: joint for joint in robot.joints}
    followers = {coupling.joint: coupling for coupling in robot.couplings}
    owner = f"with_fixed: robot {robot.name!r}"
    shaft = next((joint for joint in robot.moving_joints if joint.name == name and joint.series is not None), None)
    if shaft is not None and shaft.series is not None:
        joint = shaft.series[0]
        raise RobotError(f"{owner}: {name!r} is the motor of joint {joint!r}; fix {joint!r}, which locks its motor too")
    if name not in joints:
        moving = [each.name for each in robot.joints if each.moves and each.name not in followers]
        raise RobotError(f"{owner} has no joint {name!r}; {hint(name, moving)}")
    if not joints[name].moves:
        raise RobotError(f"{owner}: joint {name!r} is fixed already; leave it out")
    if name in followers:
        leaders = ", ".join(map(repr, followers[name].of))
        raise RobotError(f"{owner}: joint {name!r} follows {leaders}; fix {leaders} instead, and it is fixed with them")
    if joints[name].role == "guide":
        raise RobotError(
            f"{owner}: joint {name!r} is a guide, which carries nothing; fix the joints of the machine that hold it"
        )
    return joints[name]


def _check_limits(owner: str, position: Sequence[float], limits: Limits) -> None:
    if limits.lower > limits.upper:  # none that could be kept
        return
    for x in position:
        if not limits.lower - _SLACK <= x <= limits.upper + _SLACK:
            raise RobotError(
                f"{owner}: the position {x:g} is beyond its limits, {limits.lower:g} to {limits.upper:g}; choose one "
                "within, or give the joint other limits first"
            )


# ---- parts of the new robot ------------------------------------------------------------------------------


def _fixed(joint: Joint, position: Sequence[float]) -> Joint:
    placed = Transform.from_matrix(joint.placement.matrix @ displacement(joint, position))
    return Joint(joint.name, "fixed", joint.parent, joint.child, placed)


def _couplings(robot: Robot, held: Held) -> list[Coupling]:
    """Those of joints that still move; ``held`` gets the joints whose leaders all stand still."""
    changed: dict[str, Coupling] = {}
    for coupling in in_order(f"robot {robot.name!r}", robot.couplings):
        moving = [(name, ratio) for name, ratio in zip(coupling.of, coupling.ratio, strict=True) if name not in held]
        if not moving:
            value = float(coupling.at([held[name][0] for name in coupling.of])[0])
            joint = next(joint for joint in robot.joints if joint.name == coupling.joint)
            leaders = ", ".join(map(repr, coupling.of))
            _check_limits(f"with_fixed: joint {coupling.joint!r}, which follows {leaders}", (value,), joint.limits)
            held[coupling.joint] = (value,)
        elif len(moving) < len(coupling.of):  # of several leaders, so that it is linear in each
            pairs = zip(coupling.of, coupling.ratio, strict=True)
            offset = coupling.offset + math.fsum(ratio * held[name][0] for name, ratio in pairs if name in held)
            names, ratios = zip(*moving, strict=True)
            changed[coupling.joint] = Coupling(coupling.joint, names, ratios, offset)
    return [changed.get(each.joint, each) for each in robot.couplings if each.joint not in held]


def _motors(robot: Robot, held: Held) -> tuple[list[Motor], dict[str, list[Link]]]:
    """Motors whose rotors still turn; and those that stand still, as bodies of the links that carry them."""
    joints = {joint.name: joint for joint in robot.joints}
    left: list[Motor] = []
    bodies: dict[str, list[Link]] = {}
    for motor in robot.motors:
        ratios = tuple((name, ratio) for name, ratio in motor.ratios.items() if name not in held)
        carrier, place = motor.carrier or joints[motor.joint].parent, seat(motor, joints[motor.joint])
        if len(ratios) == len(motor.ratios):
            left.append(motor)
        elif not ratios:
            if not motor.included:
                body = Link.from_com(motor.name, mass=motor.mass, inertia=motor.moments).seen_from(place)
                bodies.setdefault(carrier, []).append(body)
        elif motor.joint not in held:
            left.append(dataclasses.replace(motor, ratio=ratios))
        else:
            left.append(_without_own_joint(motor, ratios, carrier, place))
    return left, bodies


def _without_own_joint(motor: Motor, ratios: tuple[tuple[str, float], ...], carrier: str, place: Transform) -> Motor:
    """A motor that turns several joints, its own held: its rotor turns with the others, its spring is not strained."""
    if motor.friction is not None and motor.friction.loaded:
        raise RobotError(
            f"with_fixed: motor {motor.name!r} has friction that depends on the force in the spring to joint "
            f"{motor.joint!r}, and turns {', '.join(repr(name) for name, _ in ratios)} too; give it a friction law of "
            f"the speed alone, or leave {motor.joint!r} free"
        )
    return dataclasses.replace(
        motor,
        joint=ratios[0][0],
        ratio=ratios,
        carrier=carrier,
        axis=tuple(np.asarray(place.rotation)[:, 2].tolist()),
        position=place.translation,
        stiffness=math.inf,
        damping=0.0,
    )


def _with_bodies(link: Link, bodies: Mapping[str, Iterable[Link]]) -> Link:
    for body in bodies.get(link.name, ()):
        link = link.merged(body)
    return link


# ---- loops -----------------------------------------------------------------------------------------------


def _closed(robot: Robot, changes: Mapping[str, Any], names: Sequence[str]) -> Robot:
    """With its loops closed again near where they were; joints that are independent stay so as far as they can."""
    bare = robot.replace(**changes, loops=(), reference=None, independent=None)
    q = robot.neutral().tolist()
    guess = [x for joint in bare.moving_joints for x in q[robot.coordinates[joint.name].q]]
    try:
        found = bare.replace(loops=robot.loops, reference=guess)
        closed = found.mobility.reference
    except RobotError as error:
        raise RobotError(f"with_fixed: with {', '.join(map(repr, names))} fixed: {error}") from None
    left = [name for name in robot.independent or () if bare.coordinates.numbers(name)]
    if left:
        try:
            return found.replace(reference=closed, independent=left)
        except RobotError:  # they no longer decide the motion, or are too many: others are chosen
            pass
    return found.replace(reference=closed)

"""The doctor on motors: numbers that no motor has, or that are in the wrong unit or on the wrong side of the gear."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neuler.diagnose.finding import Finding
from neuler.passes.fuse import fuse
from neuler.quantities.catalogue import recipe
from neuler.robot import Joint, Motor, Robot
from neuler.robot.expand import expand
from neuler.robot.inertia_matrix import Samples
from neuler.robot.motor import seat
from neuler.trace.recipe import evaluate

ROUND = 1e-6
"""Share by which the moments across an axis may differ: rounding in a file."""
SLOW, FAST, SCREW = 1.0, 1e4, 1e6
"""Turns of a rotor for one of its joint (rad/m of a slide: the last) that no gear has below and above."""
LITTLE, MUCH = 1e-4, 1e5
"""Inertia of a rotor on the joint's side, beside that of what the joint moves."""
STIFF = 1e4
"""rad/s of an elastic drive by itself, above which a rigid one is meant."""
SAG = {True: 0.5, False: 0.1}
"""rad of a turning joint and m of a slide by which a spring may give way to gravity."""
OUTSIDE = 3.0
"""Lengths of the robot that a motor may be from its carrier's frame."""


@dataclass(frozen=True)
class Felt:
    """What the joints of a robot feel without its motors."""

    inertia: dict[str, float]
    weight: dict[str, float]
    """The largest force of gravity at some positions, of joints behind springs."""


def examine_motors(robot: Robot, bare: Samples | None) -> Iterator[Finding]:
    """``bare`` are inertia matrices of the robot without its motors."""
    joints = {joint.name: joint for joint in robot.joints}
    inertia = dict(zip(bare.names, bare.usual.tolist(), strict=True)) if bare else {}
    felt = Felt(inertia, _weights(robot) if any(motor.elastic for motor in robot.motors) else {})
    fused = fuse(expand(robot.replace(motors=(), loops=(), couplings=())))
    for motor in robot.motors:
        subject, joint = f"motor {motor.name!r}", joints[motor.joint]
        for severity, message in (
            *_moments(motor), *_contained(fused, motor, joint), *_place(robot, motor), *_ratio(motor, joint),
            *_spring(robot, motor, joint, felt),
        ):  # fmt: skip
            yield Finding(severity, subject, message)
    for joint in robot.joints:
        yield from _driven(robot, joint, felt)


Told = Iterator[tuple[str, str]]
"""Severities and messages."""


def _moments(motor: Motor) -> Told:
    xx, yy, zz = motor.moments
    if not any((motor.rotor, motor.viscous, motor.coulomb, motor.coulomb_reverse, motor.friction)):
        if motor.included or not (motor.mass or xx or yy):
            yield "note", "has neither inertia nor friction: it changes nothing"
        return
    low, middle, high = sorted((xx, yy, zz))
    if (xx or yy) and high > (low + middle) * (1 + ROUND):
        yield (
            "warning",
            f"no body has the moments of inertia {xx:.6g}, {yy:.6g}, {zz:.6g} kg m^2: the largest exceeds the sum of "
            "the others",
        )
    if not motor.included and abs(xx - yy) > ROUND * max(xx, yy):
        yield (
            "warning",
            f"its moments across the axis differ, {xx:.6g} and {yy:.6g} kg m^2; a rotor is taken to be round, and they "
            "stand still on its carrier",
        )


def _contained(fused: Robot, motor: Motor, joint: Joint) -> Told:
    """A link that contains a motor, with what is fixed to it, weighs more and has more inertia about its axis."""
    if not motor.included:
        return
    carrier = motor.carrier or joint.parent
    number, placement = fused.locate(carrier)
    if not number:  # the ground may have no mass
        return
    link = fused.links[number]
    if motor.mass > link.mass:
        yield (
            "warning",
            f"weighs {motor.mass:.6g} kg and is said to be included in link {carrier!r}, which weighs {link.mass:.6g} "
            "kg; is it not?",
        )
    axis = np.array(placement.rotation) @ np.array(seat(motor, joint).rotation)[:, 2]
    about = float(axis @ link.inertia_about_com @ axis)
    if motor.coupled and motor.rotor > about * (1 + ROUND):
        yield (
            "warning",
            f"its rotor has {motor.rotor:.6g} kg m^2 about its axis and is said to be included in link {carrier!r}, "
            f"which has {about:.6g} about it; is it not, or is the inertia given on the joint's side of the gear?",
        )


def _place(robot: Robot, motor: Motor) -> Told:
    if motor.position is None or motor.included or not motor.mass:
        return
    size = sum(math.hypot(*joint.placement.translation) for joint in robot.joints)
    size += max(math.hypot(*link.com) for link in robot.links)
    away = math.hypot(*motor.position)
    if away > max(OUTSIDE * size, 1.0):
        yield (
            "warning",
            f"sits {away:.6g} m from its carrier's frame, and all of the robot is {size:.3g} m long; is it in "
            "millimetres?",
        )


def _ratio(motor: Motor, joint: Joint) -> Told:
    n, (turns,) = abs(motor.ratios[motor.joint]), joint.type.turns
    unit = "for a turn of" if turns else "rad a metre of"
    if n < SLOW:
        yield "warning", f"turns {n:.6g} {unit} joint {joint.name!r}; the ratio is of motor turns to joint turns"
    elif n > (FAST if turns else SCREW):
        yield "warning", f"turns {n:.6g} {unit} joint {joint.name!r}; no gear is so slow"


def _spring(robot: Robot, motor: Motor, joint: Joint, felt: Felt) -> Told:
    load = felt.inertia.get(joint.name, 0.0)
    if not motor.elastic or load <= 0.0:
        return
    behind = _reflected(robot, joint.name)
    swings = math.sqrt(motor.stiffness * (1 / load + 1 / behind)) if behind else 0.0
    if swings > STIFF:
        yield (
            "warning",
            f"swings against joint {joint.name!r} at {swings:.3g} rad/s, which needs steps below {1 / swings:.1g} s; "
            "leave out the stiffness for a rigid drive",
        )
    (turns,) = joint.type.turns
    sag = felt.weight.get(joint.name, 0.0) / motor.stiffness
    if sag > SAG[turns]:
        yield (
            "warning",
            f"its spring of {motor.stiffness:.6g} {'N m/rad' if turns else 'N/m'} gives way to the weight on joint "
            f"{joint.name!r} by {sag:.3g} {'rad' if turns else 'm'}; is the stiffness in "
            f"{'N m/degree' if turns else 'N/mm'}?",
        )


def _driven(robot: Robot, joint: Joint, felt: Felt) -> Iterator[Finding]:
    """What all motors of a joint are to it."""
    motors = [motor for motor in robot.motors if joint.name in motor.ratios and motor.rotor]
    if not motors:
        return
    subject, told = f"joint {joint.name!r}", ", ".join(repr(motor.name) for motor in motors)
    if joint.rotor_inertia:
        yield Finding(
            "warning",
            subject,
            f"has a rotor inertia of {joint.rotor_inertia:.6g} kg m^2 and the motors {told}; is a rotor counted twice?",
        )
    behind, load = _reflected(robot, joint.name), felt.inertia.get(joint.name, 0.0)
    unit = "kg m^2" if all(joint.type.turns) else "kg"
    if load > 0.0 and behind > MUCH * load:
        yield Finding(
            "warning",
            subject,
            f"feels {behind:.3g} {unit} of the rotors of {told} and {load:.3g} of all that it moves; is the rotors' "
            "inertia given on the joint's side of the gear?",
        )
    if behind < LITTLE * load and all(abs(motor.ratios[joint.name]) >= SLOW for motor in motors):
        yield Finding(
            "warning",
            subject,
            f"feels {behind:.3g} {unit} of the rotors of {told} and {load:.3g} of all that it moves; is the gear ratio "
            "forgotten?",
        )


def _reflected(robot: Robot, joint: str) -> float:
    """n^2 I of all motors that turn with a joint."""
    found = [(motor.ratios.get(joint, 0.0), motor.rotor) for motor in robot.motors]
    return sum(n * n * inertia for n, inertia in found)


def _weights(robot: Robot) -> dict[str, float]:
    """Of joints behind springs, the largest force of gravity at some positions, springs at rest."""
    if robot.loops:
        return {}
    bare = robot.replace(motors=())
    rng = np.random.default_rng(0)
    made = recipe(bare, "gravity_force")
    states = [bare.neutral(), *bare.random_configuration(rng, 4)]
    forces = [np.abs(evaluate(made, {"q": q})[0]) for q in states]
    names = [entry.name for entry in bare.coordinates.owners("qd")]
    return dict(zip(names, np.max(forces, axis=0).tolist(), strict=True))

"""What a walk minimises: terms of a step, each a mean over its duration.

Times are counted in steps, forces in body weights and torques in strengths, so that weights mean the same for every
person and speed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler import plan
from neuler.errors import InputError
from neuler.inputs import number
from neuler.moments.contact import weight
from neuler.moments.moment import Moment
from neuler.plan.objectives import Objective
from neuler.robot import Robot

SMOOTH = 0.1
"""W/kg: powers below are rounded off."""
ACCELERATION = 50.0
"""rad/s^2 or m/s^2: accelerations are counted in these."""
OFF_AXIS = ("shoulder_abduction", "shoulder_rotation", "elbow_pronation", "hip_rotation", "ankle_inversion")
LOADED = ("thigh_after_flexion", "shank", "foot_after_flexion")
"""First links behind hip, knee and ankle: their reactions are the joints' internal forces."""
LEVER = 0.05
"""m: moments of contacts are counted in body weights at this lever."""


@dataclass(frozen=True)
class Weights:
    """Weights of the terms of a walk's objective.

    They were chosen so that the walk of one adult (1.33 m/s, steps of 0.69 m) comes near his measured curves: agreement
    with him is a fit, and says little about others.
    """

    effort: float = 1.0
    """Squared torques, each as a share of the strength in the direction in which it acts."""
    force_rate: float = 0.01
    """Squared rates of the ground's fore-aft and vertical force, body weights a step."""
    power: float = 0.2
    """Positive power of all joints and a part of the negative one, W/kg: a proxy of metabolic rate."""
    negative: float = 0.3
    """What negative work costs beside positive work. Efficiencies of muscles of 0.25 and 1.2 would make it 0.21."""
    pelvis: float = 20.0
    """Squared rotations of the pelvis (rad)."""
    trunk: float = 5.0
    """Squared angles of the spine (rad)."""
    arms: float = 0.005
    """Squared flexion of the arms from hanging (rad)."""
    off_axis: float = 0.1
    """Squared abduction and rotation of shoulders, rotation of forearms and hips, inversion of ankles (rad): they
    hardly load a joint and would drift."""
    acceleration: float = 0.002
    """Squared accelerations of all coordinates, of 50 rad/s^2 or m/s^2."""
    contact: float = 0.1
    """Squared forces and moments of contacts (body weights, and at a lever of 5 cm): decides what the others leave."""

    contact_rate: float = 0.001
    """Squared rates of the same, a step: forces of two feet against each other do not jump from time to time."""
    torque_rate: float = 0.0
    """Squared rates of torques, strengths a step: smoother motion."""
    joint_force: float = 0.0
    """Squared internal forces of hips, knees and ankles, body weights."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if number(f"gait: weight of {each.name}", getattr(self, each.name)) < 0.0:
                raise InputError(f"gait: weight of {each.name} must not be negative, got {getattr(self, each.name)!r}")


@dataclass(frozen=True)
class Effort:
    """Sum of squared torques, each over the strength in the direction in which it acts."""

    places: tuple[int, ...]
    negative: tuple[float, ...]
    positive: tuple[float, ...]

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        found: Any = 0.0
        for k, low, high in zip(self.places, self.negative, self.positive, strict=True):
            tau = moment.all_tau[k]
            found = found + (nm.maximum(tau, 0.0) / high) ** 2 + (nm.minimum(tau, 0.0) / low) ** 2
        return [found]


@dataclass(frozen=True)
class TorqueRate:
    """Sum of squared rates of torques, in mean strengths of both directions a step."""

    places: tuple[int, ...]
    negative: tuple[float, ...]
    positive: tuple[float, ...]
    steps: int

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        rates = moment.rate(moment.all_tau[list(self.places)]) * (moment.duration / self.steps)
        sizes = [0.5 * (low + high) for low, high in zip(self.negative, self.positive, strict=True)]
        return [sum((rate / size) ** 2 for rate, size in zip(rates, sizes, strict=True))]


@dataclass(frozen=True)
class JointForce:
    """Sum of squared internal forces of hips, knees and ankles, in body weights."""

    links: tuple[str, ...]
    weight: float

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        places = [self.links.index(f"{side}{name}") for side in ("r_", "l_") for name in LOADED]
        return [sum(x * x for k in places for x in moment.reactions[k][:3]) / self.weight**2]


@dataclass(frozen=True)
class ForceRate:
    """Squared rates of the ground's fore-aft and vertical force, in body weights a step.

    They are those of the contacts' forces, which are values at grid points and balance there: no jerk is needed.
    """

    steps: int = 1
    """Of the motion, by which rates over it are divided."""

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        support = moment.model.support
        assert support is not None
        rate, at = np.zeros(3), 0
        for forces, axes in support.components:
            rate = rate + moment.forces[1][at : at + len(forces)] @ forces
            at += len(forces) + len(axes)
        return [(rate[0] * rate[0] + rate[2] * rate[2]) / self.steps**2]


@dataclass(frozen=True)
class Work:
    """Positive power of all joints and a part of the negative one, W/kg, rounded off about zero."""

    places: tuple[int, ...]
    mass: float
    negative: float
    """What negative work costs beside positive work."""

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        found: Any = 0.0
        for k in self.places:
            power = moment.all_tau[k] * moment.qd[k] / self.mass
            size = nm.sqrt(power * power + SMOOTH * SMOOTH) - SMOOTH
            found = found + 0.5 * (size + power) + 0.5 * self.negative * (size - power)
        return [found]


@dataclass(frozen=True)
class Posture:
    """Weighted squares of angles from others (rad)."""

    places: tuple[int, ...]
    weights: tuple[float, ...]
    angles: tuple[float, ...]

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        rows = zip(self.places, self.weights, self.angles, strict=True)
        return [sum(weight * (moment.q[k] - angle) ** 2 for k, weight, angle in rows)]


@dataclass(frozen=True)
class Shaking:
    """Squared accelerations of all coordinates, in units of 50 rad/s^2 or m/s^2."""

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        return [sum((x / ACCELERATION) ** 2 for x in moment.qdd)]


@dataclass(frozen=True)
class Pressing:
    """Squared forces of all contacts (body weights), and moments at a lever of 5 cm."""

    weight: float

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        found: Any = 0.0
        for each in moment.contact_wrenches.values():
            found = found + sum(x * x for x in each.force) / self.weight**2
            found = found + sum(x * x for x in each.moment) / (LEVER * self.weight) ** 2
        return [found]


@dataclass(frozen=True)
class Changing:
    """Squared rates of the forces of contacts (body weights a step), and of their moments at a lever of 5 cm."""

    steps: int = 1

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        support = moment.model.support
        assert support is not None
        found, at = 0.0, 0
        for forces, axes in support.components:
            for lever, count in ((self.steps, len(forces)), (self.steps * LEVER, len(axes))):
                found = found + sum((x / lever) ** 2 for x in moment.forces[1][at : at + count])
                at += count
        return [found]


def objective(
    weights: Weights,
    duration: float,
    robot: Robot,
    strengths: tuple[NDArray[np.float64], NDArray[np.float64]],
    steps: int = 1,
    lean: float = 0.0,
) -> Objective:
    """The objective of a motion with ``duration`` (s) and so many ``steps``, of a human with ``strengths`` (N m).

    ``lean``: the pitch of an upright pelvis (rad), on a slope.
    """
    (low, high), names, force = strengths, robot.joint_names, weight(robot)
    driven = tuple(k for k in range(len(names)) if high[k] > 0.0)
    postures = [(k, *row) for k, name in enumerate(names) if (row := _posture(weights, name, lean)) is not None]
    sides = tuple(tuple(map(float, np.abs(x)[list(driven)])) for x in (low, high))
    terms: dict[str, tuple[float, Any]] = {
        "effort": (weights.effort, Effort(driven, sides[0], sides[1])),
        "torque rate": (weights.torque_rate, TorqueRate(driven, sides[0], sides[1], steps)),
        "joint force": (weights.joint_force, JointForce(robot.link_names, force)),
        "force rate": (weights.force_rate, ForceRate(steps)),
        "work": (weights.power, Work(driven, robot.mass, weights.negative)),
        "posture": (1.0, Posture(*(tuple(x) for x in zip(*postures, strict=True)))),
        "acceleration": (weights.acceleration, Shaking()),
        "contact": (weights.contact, Pressing(force)),
        "contact rate": (weights.contact_rate, Changing(steps)),
    }
    found = [
        (size / duration) * plan.integral(plan.measure(rows, name), name)
        for name, (size, rows) in terms.items()
        if size
    ]
    return sum(found[1:], start=found[0])


def _posture(weights: Weights, name: str, lean: float) -> tuple[float, float] | None:
    """The weight of a coordinate's square, and the angle (rad) from which it is counted."""
    if name in ("pelvis_yaw", "pelvis_pitch", "pelvis_roll"):
        return weights.pelvis, lean if name == "pelvis_pitch" else 0.0
    if name.startswith("spine"):
        return weights.trunk, 0.0
    if name.endswith(OFF_AXIS):
        return weights.off_axis, 0.0
    if "shoulder" in name or "elbow" in name:
        return weights.arms, 0.2 if name.endswith("elbow_flexion") else 0.0
    return None

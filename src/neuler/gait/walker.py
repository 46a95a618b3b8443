"""Who walks: a person with what is carried, on a slope, with weak joints, as a robot with the joints that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, inf, radians, sin
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, real
from neuler.naming import hint
from neuler.robot import Joint, Robot
from neuler.robots.humans import JOINTS, PARTNERS, Person, skeleton

SIDES = ("r_", "l_")
BACK = "spine4", (-0.19, 0.0, 0.08)
"""The link that a backpack hangs on, and where the centre of its mass is in the link's axes (m): chosen."""
HANDS = "knuckles"
"""Where a bag hangs: a frame of each hand."""


@dataclass(frozen=True)
class Load:
    """A mass (kg) that is carried: at ``offset`` (m) from a link or frame of the skeleton, in its axes.

    ``frame="back"`` is where a backpack has its centre of mass: 19 cm behind the spine, at the height of the breastbone
    (chosen).

    >>> Load.backpack(15.0).frame, Load.bag(5.0, "r_").frame
    ('back', 'r_knuckles')
    """

    mass: float
    frame: str = "back"
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if number("load: mass", self.mass) < 0.0:
            raise InputError(f"load: its mass must not be negative (kg), got {self.mass!r}")
        if not isinstance(self.frame, str):
            raise InputError(f"load: the name of a link or frame is needed, got {self.frame!r:.60}")
        offset = real(self.offset)
        if offset is None or offset.shape != (3,) or not np.isfinite(offset).all():
            raise InputError(f"load: offset must be three numbers (m), got {self.offset!r:.60}")
        object.__setattr__(self, "offset", tuple(map(float, offset)))

    @classmethod
    def backpack(cls, mass: float) -> Load:
        """A mass (kg) on the back."""
        return cls(mass)

    @classmethod
    def bag(cls, mass: float, side: str) -> Load:
        """A bag in the hand of a ``side``, "r_" or "l_"."""
        if side not in SIDES:
            raise InputError(f"load: the side of a bag must be 'r_' or 'l_', got {side!r:.60}")
        return cls(mass, f"{side}{HANDS}")

    @property
    def place(self) -> tuple[str, tuple[float, float, float]]:
        """The link or frame that carries it, and where its centre of mass is in its axes (m)."""
        if self.frame != "back":
            return self.frame, self.offset
        link, (x, y, z) = BACK
        return link, (x + self.offset[0], y + self.offset[1], z + self.offset[2])

    @property
    def mirrored(self) -> Load:
        """The same on the other side."""
        other = {"r_": "l_", "l_": "r_"}.get(self.frame[:2], "")
        x, y, z = self.offset
        return replace(self, frame=other + self.frame[2:] if other else self.frame, offset=(x, -y, z))


def side_of(name: str) -> tuple[str, str]:
    """A joint's side, "r_", "l_" or "", and its name without it.

    >>> side_of("l_knee_flexion"), side_of("spine1_flexion")
    (('l_', 'knee_flexion'), ('', 'spine1_flexion'))
    """
    return (name[:2], name[2:]) if name.startswith(SIDES) else ("", name)


def by_joint(what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the names of joints, of which those without a side stand for both; unknown names are refused.

    >>> by_joint("ranges", {"knee_flexion": 1, "r_knee_flexion": 2})
    {'r_knee_flexion': 2, 'l_knee_flexion': 1}
    """
    if not isinstance(given, Mapping):
        raise InputError(f"gait: {what} must be a mapping by the names of joints, got {given!r:.60}")
    found: dict[str, Any] = {}
    for name in sorted(given, key=lambda each: side_of(str(each))[0] != ""):  # those of one side later
        both = [each for each in JOINTS if name in (each, side_of(each)[1])]
        if not both:
            known = sorted({side_of(each)[1] for each in JOINTS})
            raise InputError(f"gait: {what}: there is no joint {name!r}; {hint(str(name), known)}")
        found |= dict.fromkeys(both, given[name])
    return found


def ranges_of(robot: Robot, own: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Least and greatest angles (rad) by joint: those of the robot's joints, or ``own`` pairs of degrees."""
    least: dict[str, float] = {}
    most: dict[str, float] = {}
    for entry in robot.coordinates:
        bounds = entry.joint.limits
        lower, upper = map(radians, own[entry.name]) if entry.name in own else (bounds.lower, bounds.upper)
        least |= {entry.name: lower} if lower > -inf else {}
        most |= {entry.name: upper} if upper < inf else {}
    return least, most


def same_on_both_sides(values: Mapping[str, Any]) -> bool:
    """Whether values by joint are the same of every joint and its partner."""
    return all(values.get(PARTNERS[name][0]) == value for name, value in values.items())


def walker(
    person: Person, fixed: Sequence[str], loads: Sequence[Load], strength: Mapping[str, float], slope: float
) -> Robot:
    """The robot that walks: ``fixed`` joints held at zero, ``strength`` factors by joint.

    The ground is the plane z = 0 of the base frame, x along it and forwards. On a ``slope`` (degrees, uphill above
    zero) gravity leans instead.
    """
    robot = skeleton(person)
    for load in loads:
        frame, offset = load.place
        robot = robot.with_payload(frame, load.mass, offset)
    if strength:
        robot = robot.replace(joints=[_scaled(joint, strength.get(joint.name, 1.0)) for joint in robot.joints])
    if slope:
        down = float(np.linalg.norm(robot.gravity))
        robot = robot.with_gravity((-down * sin(radians(slope)), 0.0, -down * cos(radians(slope))))
    return robot.with_fixed(dict.fromkeys(fixed, 0.0))


def _scaled(joint: Joint, factor: float) -> Joint:
    """The same joint with so many times the strength."""
    return replace(joint, limits=replace(joint.limits, effort=factor * joint.limits.effort))

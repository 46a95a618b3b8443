"""The soles of a walking human: where heel, ball and tip are, and where they stand in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.moments.moment import Moment
from neuler.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A point of a link or frame, in its axes (m)."""

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def place(self, moment: Moment) -> Any:
        """Where it is in the base frame at a moment, (3,)."""
        pose = moment.pose(self.frame)
        return pose[:3, :3] @ np.array(self.offset) + pose[:3, 3]


@dataclass(frozen=True)
class Sole:
    """One foot: a hind foot with a heel, and toes that turn about the ball."""

    foot: str
    toes: str
    """Names of the links of the hind foot and of the toes."""
    heel: tuple[float, float, float]
    """Of the sole, in the axes of ``foot`` (m)."""
    ball: tuple[float, float, float]
    """Below the toe joint, in the axes of ``toes`` (m): it stays where it is while the heel rises."""
    tip: tuple[float, float, float]
    """In the axes of ``toes`` (m)."""
    arch: float
    """From heel to ball (m)."""
    half: float
    """Half of its width (m)."""

    @classmethod
    def of(cls, robot: Robot, side: str, width: float) -> Sole:
        """The sole of a human's foot on a side, "l_" or "r_"; ``width`` (m)."""
        found = {}
        for name in ("heel", "ball", "tip"):
            number, frame = robot.locate(f"{side}{name}")
            found[name] = robot.link_names[number], np.array(frame.translation)
        (foot, heel), (_, ball), (toes, tip) = found["heel"], found["ball"], found["tip"]
        if foot != f"{side}foot" or toes != f"{side}toes":
            raise InputError(f"gait: robot {robot.name!r} is no human with toes; neuler.robots.human() is one")
        under = (0.0, 0.0, float(tip[2]))
        arch = float(ball[0] - heel[0])
        return cls(foot, toes, _plain(heel), under, _plain(tip), arch, width / 2.0)

    @property
    def length(self) -> float:
        """From heel to tip (m)."""
        return self.arch + self.tip[0] - self.ball[0]

    def heel_point(self) -> Point:
        """The middle of the heel."""
        return Point(self.foot, self.heel)

    def ball_point(self, across: float = 0.0) -> Point:
        """The ball, or a point of it ``across`` (m) to the left."""
        return Point(self.toes, (self.ball[0], self.ball[1] + across, self.ball[2]))

    def tip_point(self) -> Point:
        """The tip of the toes."""
        return Point(self.toes, self.tip)

    def hind_corners(self) -> list[tuple[float, float, float]]:
        """Corners of the sole from heel to ball, in the axes of ``foot``."""
        x, y, z = self.heel
        return [(x + far, y + across, z) for far in (0.0, self.arch) for across in (-self.half, self.half)]

    def toe_corners(self) -> list[tuple[float, float, float]]:
        """Corners of the sole from ball to tip, in the axes of ``toes``."""
        z = self.ball[2]
        return [(x, across, z) for x in (self.ball[0], self.tip[0]) for across in (-self.half, self.half)]


@dataclass(frozen=True)
class Away:
    """How far a point is from a place (m): some of its coordinates."""

    point: Point
    place: tuple[float, float, float]
    axes: tuple[int, ...]

    def __call__(self, moment: Moment) -> Any:
        """One row a coordinate."""
        here = self.point.place(moment)
        return [here[k] - self.place[k] for k in self.axes]


@dataclass(frozen=True)
class Sliding:
    """Velocities of a point (m/s): some of its coordinates."""

    point: Point
    axes: tuple[int, ...]

    def __call__(self, moment: Moment) -> Any:
        """One row a coordinate."""
        here = self.point.place(moment)
        return moment.rate(np.array([here[k] for k in self.axes], dtype=object))


@dataclass(frozen=True)
class Ahead:
    """By how much the centre of pressure of a contact is in front of a point, times its force in body weights (m).

    ``beyond`` (m): how far the point is in front of the contact's centre. Feet point along x while they stand.
    """

    contact: str
    beyond: float
    weight: float

    def __call__(self, moment: Any) -> Any:
        """Return its value at a moment, as one row."""
        found = moment.contact_wrenches[self.contact]
        return [(-found.moment[1] - self.beyond * found.force[2]) / self.weight]


def _plain(values: Array) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])

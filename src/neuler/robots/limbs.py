"""Limbs: the rounded bodies that pictures show in the place of rods, for robots that say how thick they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from neuler.errors import RobotError
from neuler.inputs import number, told
from neuler.robot.numbers import vector
from neuler.robot.transform import Vec3

COLOUR = "#5b7086"
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


class RoundEnd(NamedTuple):
    """A ball of ``radius`` (m) about a ``point`` (m) in the axes of a link or frame."""

    frame: str
    radius: float
    point: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Limb:
    """The convex hull of balls, which may belong to several links: one is a ball, two a capsule, more a slab.

    ``balls`` are :class:`RoundEnd` or tuples (frame, radius[, point]). ``sole``: it stands on the ground, and leaves
    footprints. ``colour`` is that of HTML, "#rrggbb".

    >>> Limb([("upper_arm", 0.05), ("forearm", 0.04)]).balls[1].radius
    0.04
    """

    balls: tuple[RoundEnd, ...]
    colour: str = COLOUR
    sole: bool = False

    def __post_init__(self) -> None:
        try:
            balls = tuple(RoundEnd(*ball) for ball in self.balls)
        except TypeError:
            raise RobotError(f"limb: balls must be tuples (frame, radius[, point]), got {told(self.balls)}") from None
        if not balls:
            raise RobotError("limb: one ball or more is needed")
        found = []
        for frame, radius, point in balls:
            if not isinstance(frame, str) or not frame:
                raise RobotError(f"limb: a ball needs the name of a link or frame, got {told(frame)}")
            what = f"limb: ball at {frame!r}"
            size = number(f"{what}: radius", radius, above=0.0, unit="m", error=RobotError)
            x, y, z = vector(what, "point", point, 3)
            found.append(RoundEnd(frame, size, (x, y, z)))
        if not isinstance(self.colour, str) or not _COLOUR.fullmatch(self.colour):
            raise RobotError(f'limb: colour must be of the form "#3b6fb6", got {told(self.colour)}')
        object.__setattr__(self, "balls", tuple(found))

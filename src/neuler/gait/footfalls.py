"""Where and when feet stand in a walk: windows of contacts, places of points that stand, heights of those that do not.

Times are counted in steps: the right heel strikes at 0, the left one at 1. A motion of one step, whose mirror image is
the next, has the right foot's footfall and the end of the left one's before it; a whole stride has one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuler import plan
from neuler.errors import InputError
from neuler.gait.soles import Ahead, Away, Point, Sliding, Sole
from neuler.plan.limits import Limit

Window = tuple[float, float]
Z = 2
NEAR = 0.1
"""Metres by which places that are held are divided for the solver; speeds by ten times as much a second."""
PATCH = 0.03
"""Metres of the heel on which a foot lands."""
TIP = 0.02
"""Metres of the toes with which it leaves."""
LIFTED = 0.15
"""Steps after a foot has left the ground, and before it comes down, in which it may be lower than the clearance."""
BRIEF = 1e-9
"""Steps that are no time."""


def share_of(time: float, steps: int) -> float:
    """The share of a motion of so many ``steps`` at a time in steps, rounded: the same of -1 + 1.3 and of 0.3."""
    return round(time / steps, 12)


@dataclass(frozen=True)
class Events:
    """When contacts change, as shares of a step."""

    flat: float = 1.0 / 6.0
    """The ball of the front foot comes down; that of the rear foot leaves the ground."""
    double: float = 0.3
    """The tip of the rear foot leaves the ground: the end of double support."""
    heel_off: float = 0.7
    """The heel of the front foot leaves the ground."""

    def __post_init__(self) -> None:
        if not 0.0 < self.flat < self.double < self.heel_off < 1.0:
            raise InputError(
                f"gait: events must be in order, 0 < flat < double < heel_off < 1, got {self.flat:g}, {self.double:g} "
                f"and {self.heel_off:g}"
            )


@dataclass(frozen=True)
class Standing:
    """How feet stand: within a ``band`` of their places (m), slower than ``slow`` (m/s)."""

    band: float
    slow: float
    friction: float
    torsion: float
    """Free moment of a contact at most, as a lever of its force (m)."""


@dataclass(frozen=True)
class Footfall:
    """A foot that comes down at ``begin`` (steps) with its heel at ``place`` (x, y in m), in a motion of ``steps``."""

    name: str
    """Of the foot: "right" or "left"; of one that came down before the motion "left, before"."""
    sole: Sole
    begin: float
    place: tuple[float, float]
    events: Events
    steps: int

    def window(self, begin: float, end: float) -> Window | None:
        """Shares of the motion from ``begin`` to ``end``, in steps after heel strike; None where there is no time."""
        first, last = (share_of(self.begin + at, self.steps) for at in (begin, end))
        first, last = max(first, 0.0), min(last, 1.0)
        return (first, last) if last - first > BRIEF else None

    @property
    def heel(self) -> Window | None:
        """When the heel stands."""
        return self.window(0.0, self.events.heel_off)

    @property
    def ball(self) -> Window | None:
        """When the ball stands: until that of the other foot comes down."""
        return self.window(self.events.flat, 1.0 + self.events.flat)

    @property
    def tip(self) -> Window | None:
        """When the tip of the toes stands."""
        return self.window(self.events.flat, 1.0 + self.events.double)

    # ---- what carries ---------------------------------------------------------------------------------------------

    def contacts(self, standing: Standing) -> list[plan.Contact]:
        """What carries: the hind foot until the heel rises, the toes from when they are down."""
        shared: dict[str, Any] = {"friction": standing.friction, "torsion": standing.torsion, "hold": False}
        sole, found = self.sole, []
        if self.heel is not None:
            first = self.heel[0] == 0.0 and self.begin >= 0.0
            found.append(
                plan.Contact(
                    sole.foot, sole.hind_corners(), self.heel, centre=sole.heel, name=f"{self.name} foot",
                    unloaded=first, **shared,
                )
            )  # fmt: skip
        if self.tip is not None:
            found.append(
                plan.Contact(
                    sole.toes, sole.toe_corners(), self.tip, centre=sole.ball, name=f"{self.name} toes", **shared
                )
            )
        return found

    def pressures(self, weight: float) -> list[Limit]:
        """The foot is loaded on its heel until it is flat, and leaves on its tip; without load there is no pressure."""
        shared: dict[str, Any] = {"family": "contact", "scale": NEAR}
        found, events = [], self.events
        landing = self.window(0.0, events.flat)
        if landing is not None:
            ahead = plan.measure(Ahead(f"{self.name} foot", PATCH, weight), f"pressure on the {self.name} heel")
            found.append(plan.limit(ahead, None, 0.0, when=landing, open=(True, False), **shared))
        leaving = self.window(1.0 + events.flat, 1.0 + events.double)
        if leaving is not None:
            beyond = self.sole.tip[0] - self.sole.ball[0] - TIP
            ahead = plan.measure(Ahead(f"{self.name} toes", beyond, weight), f"pressure on the {self.name} tip")
            found.append(plan.limit(ahead, 0.0, None, when=leaving, open=(False, True), **shared))
        return found

    # ---- what stands ----------------------------------------------------------------------------------------------

    def places(self, standing: Standing) -> list[Limit]:
        """Places and speeds of points that stand; the tip's own once the ball has left."""
        sole, (x, y), events = self.sole, self.place, self.events
        found: list[Limit] = []

        def stands(name: str, point: Point, at: tuple[float, float, float], axes: str, window: Window | None) -> None:
            if window is None:
                return
            called, numbers = f"{self.name} {name}", tuple("xyz".index(axis) for axis in axes)
            where = plan.measure(Away(point, at, numbers), called, labels=list(axes), unit="m")
            speed = plan.measure(Sliding(point, numbers), f"speed of {called}", labels=list(axes), unit="m/s")
            for measure, bound, family, scale in (
                (where, standing.band, "foot contact", NEAR),
                (speed, standing.slow, "foot speed", 10.0 * NEAR),
            ):
                found.append(plan.limit(measure, -bound, bound, when=window, family=family, scale=scale))

        stands("heel", sole.heel_point(), (x, y, 0.0), "xyz", self.heel)
        stands("ball", sole.ball_point(), (x + sole.arch, y, 0.0), "xy", self.ball)
        for side, across in (("inner", -sole.half), ("outer", sole.half)):
            stands(f"ball, {side} edge", sole.ball_point(across), (0.0, 0.0, 0.0), "z", self.ball)
        stands("tip", sole.tip_point(), (0.0, 0.0, 0.0), "z", self.window(events.flat, 1.0))
        stands(
            "tip as it leaves",
            sole.tip_point(),
            (x + sole.length, y, 0.0),
            "xyz",
            self.window(1.0, 1.0 + events.double),
        )
        return found


def heights(falls: Sequence[Footfall], band: float, clearance: float, breaks: Any) -> list[Limit]:
    """No point of a foot is below the ground while it does not stand, and swinging feet are ``clearance`` (m) above.

    Windows of the latter begin and end at ``breaks``, so that no points are added for them.
    """
    found = []
    for sole in dict.fromkeys(each.sole for each in falls):
        mine = [each for each in falls if each.sole is sole]
        side = mine[0].name.partition(",")[0]
        for part in ("heel", "ball", "tip"):
            point = getattr(sole, f"{part}_point")()
            above = plan.measure(Away(point, (0.0, 0.0, 0.0), (Z,)), f"height of {side} {part}", unit="m")
            for window in _between([getattr(each, part) for each in mine]):
                found.append(plan.limit(above, -band, when=window, family="ground", scale=NEAR))
            for window in swings(mine):
                begin, end = (float(breaks[abs(breaks - share).argmin()]) for share in window)
                if begin < end:
                    found.append(plan.limit(above, clearance, when=(begin, end), family="ground", scale=NEAR))
    return found


def swings(falls: Sequence[Footfall]) -> list[Window]:
    """When a foot swings, from a little after it has left the ground to a little before it comes down again."""
    begin, end = 1.0 + falls[0].events.double + LIFTED, 2.0 - LIFTED
    return [window for each in falls if (window := each.window(begin, end)) is not None]


def _between(windows: Sequence[Window | None]) -> list[Window]:
    """Shares of a motion that are in none of some windows."""
    found, at = [], 0.0
    for begin, end in sorted(window for window in windows if window is not None):
        if begin - at > BRIEF:
            found.append((at, begin))
        at = max(at, end)
    return [*found, (at, 1.0)] if 1.0 - at > BRIEF else found

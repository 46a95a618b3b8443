"""Arms that swing with the other side's leg and keep clear of the body: Barman (5.6) and (5.7) as limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuler import math as nm
from neuler import plan
from neuler.gait.soles import Point
from neuler.moments.moment import Moment
from neuler.plan.limits import Limit

LEAST_PRODUCT = -0.01
"""What the product of two sines may be: at zero both would have to pass through upright at the same time."""
WRIST, HIP = 0.03, 0.08
"""Radii of the balls about wrist and hip (m): chosen."""


@dataclass(frozen=True)
class Coupled:
    """Products of the fore-aft parts of two unit vectors, of an arm and the other side's leg, Barman (5.6).

    Each is a pendulum: from shoulder to wrist, and from hip to ankle. The product is above zero where both are ahead,
    or both behind. The paper calls n_z vertical, where the product never changes sign (docs/errata.md): meant is the
    direction of walking.
    """

    sides: tuple[tuple[str, str], ...] = (("l_", "r_"), ("r_", "l_"))

    def __call__(self, moment: Moment) -> Any:
        """One row a pair."""
        return [
            _ahead(moment, f"{arm}upper_arm", f"{arm}hand") * _ahead(moment, f"{leg}thigh", f"{leg}foot")
            for arm, leg in self.sides
        ]


def _ahead(moment: Moment, above: str, below: str) -> Any:
    """Fore-aft part of the unit vector from the origin of a link to that of another."""
    way = Point(below).place(moment) - Point(above).place(moment)
    return way[0] / nm.sqrt(way @ way)


@dataclass(frozen=True)
class Apart:
    """Distances between wrist and hip of both sides (m), Barman (5.7)."""

    def __call__(self, moment: Moment) -> Any:
        """One row a side."""
        found = []
        for side in ("r_", "l_"):
            way = Point(f"{side}hand").place(moment) - Point(f"{side}thigh").place(moment)
            found.append(nm.sqrt(way @ way))
        return found


def arms() -> list[Limit]:
    """Limits of the arms, posed where a check finds them violated."""
    coupled = plan.measure(Coupled(), "swing of arm and leg", labels=["left arm", "right arm"])
    apart = plan.measure(Apart(), "distance of wrist and hip", labels=["right", "left"], unit="m")
    return [
        plan.limit(coupled, LEAST_PRODUCT, family="arm-leg coupling", scale=0.1),
        plan.limit(apart, WRIST + HIP, lazy=True, family="self-avoidance"),
    ]

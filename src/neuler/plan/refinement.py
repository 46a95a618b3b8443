"""What checks between grid points change in the rows of a phase: points, which limits are posed there, tighter bounds.

A limit that is violated between points is posed at the worst of them: it alone, for every other row there would cost
as much and is met anyway, or found by the next check. Limits that are left out at first come in alike. Where points
do not suffice, bounds are tightened by what is left, about the places where they are violated and not everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from neuler.motions.profiles import Profiles
from neuler.optimize.programme import Array
from neuler.plan.judge import PhaseCheck
from neuler.plan.phases import Phase
from neuler.plan.rows import LIMIT, SLACK

REACH = 1.5
"""Spans about a violation in which a bound is tightened, fully in the middle and not at all at the ends."""
BEYOND = 1.5
"""How much bounds are tightened, beside what they are violated by."""
TIGHTENED_MOST = 0.05
"""How much each of two bounds is tightened at most, as a share of their distance."""


@dataclass(eq=False)
class Refinement:
    """Of one phase: limits that are posed at points which checks added, those left out, and tightened bounds."""

    phase: Phase
    posed: dict[float, set[int]] = field(default_factory=dict)
    """By the share of an added point: the rows of the path that are posed there; at others all are."""
    tighter: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Row, share, reach as a share, and by how much its bounds are tightened there."""

    def __post_init__(self) -> None:
        rows = self.phase.path
        self.count = rows.count if rows is not None else 0
        self.lazy = self.phase.lazy_rows()
        self.spared = np.zeros(self.count, dtype=bool)
        """Rows that need not be posed at every point: limits and peaks."""
        for family in rows.of_kind(LIMIT, SLACK) if rows is not None else ():
            self.spared[family.rows] = True

    def left_out(self, grid: Array) -> NDArray[np.bool_]:
        """Which rows of the path are not posed at the points of a grid, (points, rows)."""
        found = np.tile(self.lazy, (len(grid), 1))
        for point, share in enumerate(grid.tolist()) if self.posed else ():
            if share in self.posed:
                found[point] |= self.spared
                found[point, list(self.posed[share])] = False
        return found

    def margins(self, grid: Array) -> Array:
        """By how much bounds of the path's rows are tightened at the points of a grid, (points, rows)."""
        found = np.zeros((len(grid), self.count))
        for row, share, reach, amount in self.tighter:
            found[:, row] = np.maximum(found[:, row], amount * np.clip(1.0 - np.abs(grid - share) / reach, 0.0, 1.0))
        if self.tighter and self.phase.path is not None:
            low, high = self.phase.path.bounds()
            apart = np.where(np.isfinite(high - low) & (high > low), high - low, np.inf)
            found = np.minimum(found, TIGHTENED_MOST * apart)
        return found

    def relaxed(self) -> None:
        """Tighten nothing any more."""
        self.tighter.clear()

    def restarted(self) -> None:
        """Forget what was found on other splines: their points are no more."""
        self.tighter.clear()
        self.posed.clear()

    def refined(self, profiles: Profiles, check: PhaseCheck, tolerance: float) -> tuple[Profiles, bool]:
        """Profiles with points at violations that count, without weight in integrals; and whether rows are new."""
        grid, more = profiles.grid, False
        span = np.diff(np.unique(profiles.knots)).min()
        chosen: list[float] = []
        for share, row in sorted((peak.share, row) for peak, row in check.of_path(0.1 * tolerance)):
            at = float(grid[np.abs(grid - share).argmin()])
            if abs(at - share) > 1e-5 * span:
                at = next((other for other in chosen[-2:] if abs(share - other) <= 1e-3 * span), share)
            if at == share and at not in self.posed:
                chosen.append(share)
                self.posed[share] = set()
            if at in self.posed and row not in self.posed[at]:
                self.posed[at].add(row)
                more = True
        places = np.searchsorted(grid, chosen)
        weights = np.insert(profiles.weights, places, 0.0)
        return replace(profiles, grid=np.insert(grid, places, chosen), weights=weights), more

    def add_lazy(self, check: PhaseCheck, tolerance: float) -> bool:
        """Limits that were left out and are violated hold from now on; whether there are any."""
        before = int(self.lazy.sum())
        for _, row in check.of_path(tolerance):
            assert self.phase.path is not None
            family, _ = self.phase.path.find(row)
            self.lazy[family.rows] = False
        return int(self.lazy.sum()) < before

    def tighten(self, profiles: Profiles, check: PhaseCheck, tolerance: float) -> None:
        """Tighten bounds of limits about the places where they are violated between points."""
        edges = np.unique(profiles.knots)
        for peak, row in check.of_path(0.5 * tolerance):
            if self.spared[row]:
                span = np.diff(edges)[np.clip(np.searchsorted(edges, peak.share) - 1, 0, len(edges) - 2)]
                before = self.margins(np.array([peak.share]))[0, row]
                amount = float(before + BEYOND * peak.excess * check.sizes[peak.row])
                self.tighter.append((row, peak.share, REACH * float(span), amount))

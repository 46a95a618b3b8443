"""Which rows of a phase are posed at which points: those that matter, and what checks between points find violated.

A limit that is violated between points is posed at the worst of them: it alone, for every other row there would cost
as much and is met anyway, or found by the next check. Distances from obstacles are posed where a pair is near along
the motion that a solve begins with; every check looks at all pairs, and those that are violated come in. Where points
do not suffice, bounds are tightened by what is left, about the places where they are violated and not everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array
from neuler.plan.judge import PhaseCheck, friction_margins
from neuler.plan.phases import Phase
from neuler.plan.rows import LIMIT, SLACK

NEAR = 0.1
"""Pairs are posed where they are nearer than this, beside the room that balls take up along the motion."""
DEEP = 0.2
"""Overlaps, beside how near pairs are posed, from which on a motion goes through obstacles between points."""
MERGED, CLOSE = 0.05, 1e-3
"""Of a span: violations so near to each other share a point, large ones and those that are SMALL."""
REACH = 1.0
"""Spans about a violation in which a bound is tightened, fully in the middle and not at all at the ends."""
SMALL = 2e-4
"""Violations, of 1 + |bound|, by which bounds are tightened at once: it costs next to nothing."""
FAR = 0.1
"""Of 1 + |bound|: limits that stay so far from their bounds are left out at points of denser grids."""
COUNTS = 0.1
"""Of the tolerance: violations that get points."""
BEYOND = 1.2
"""How much bounds are tightened, beside what they are violated by."""
TIGHTENED_MOST, TIGHTENED_NODAL = 0.05, 0.3
"""How much each of two bounds is tightened at most, as a share of their distance; and where forces are values at grid
points, so that no points are added."""


class SavedMargins(NamedTuple):
    """What bounds of a phase leave: where they are tightened, and for friction at the points of a grid."""

    tighter: tuple[tuple[int, float, float, float], ...]
    friction: Array | None
    grid: Array


@dataclass(eq=False)
class Refinement:
    """Of one phase: which rows are posed at points of its grid, and how much their bounds are tightened.

    Rows are numbered as those of its path, and behind them the pairs of its limits on clearance.
    """

    phase: Phase
    posed: dict[float, set[int]] = field(default_factory=dict)
    """By the share of an added point: the limits that are posed there; at other points those of the path all are."""
    near: dict[float, NDArray[np.bool_]] = field(default_factory=dict)
    """By the share of any other point: which pairs are posed there."""
    reach: float = 0.0
    """How near (m) pairs are posed."""
    deep: bool = False
    """Whether pairs overlapped deeply in the last check."""
    tighter: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Row, share, reach as a share, and by how much its bounds are tightened there."""

    friction: Array | None = None
    """What limits of the path leave for friction that is rounded off, at the points of the last grid (points, rows)."""

    def __post_init__(self) -> None:
        self._friction_grid = np.zeros(0)
        rows = self.phase.path
        self.first = rows.count if rows is not None else 0
        """The number of the first pair."""
        self.count = self.first + sum(each.count for each in self.phase.clearances)
        self.lazy = np.zeros(self.count, dtype=bool)
        self.lazy[: self.first] = self.phase.lazy_rows()
        self.spared = np.ones(self.count, dtype=bool)
        """Rows that need not be posed at every point: limits and peaks."""
        self.spared[: self.first] = False
        for family in rows.of_kind(LIMIT, SLACK) if rows is not None else ():
            self.spared[family.rows] = True
        sides = [rows.bounds()] if rows is not None else []
        sides += [(each.family.lower, each.family.upper) for each in self.phase.clearances]
        self.lower, self.upper = (np.concatenate([side[k] for side in sides] or [np.zeros(0)]) for k in range(2))

    def look(self, motion: SplineMotion, k: int) -> None:
        """Find the pairs that are near along a motion, whose phase k this is, at points that were not looked at."""
        clearances, grid = self.phase.clearances, motion.profiles[k].grid
        new = np.array([s for s in grid.tolist() if s not in self.posed and s not in self.near])
        if not clearances or not len(new):
            return
        found = [each.near(motion, k, new, NEAR) for each in clearances]
        self.reach = max(reach for _, reach in found)
        lazy = np.concatenate([np.full(each.count, each.limit.lazy) for each in clearances])
        mask = np.concatenate([pairs for pairs, _ in found], axis=1) & ~lazy
        mask[1:] |= mask[:-1].copy()  # also a point earlier and later
        mask[:-1] |= mask[1:].copy()
        self.near |= dict(zip(new.tolist(), mask, strict=True))

    def pose_near(self, profiles: Profiles, check: PhaseCheck, everything: Array) -> None:
        """At the points of a grid pose the limits that come near their bounds about them, and leave out the others.

        ``everything``: shares of points at which all limits are posed, as before.
        """
        rows = np.array([each.path_row for each in check.columns])
        columns = np.flatnonzero(rows >= 0)
        first = np.searchsorted(check.shares, profiles.grid[:-1])
        between = np.maximum.reduceat(check.relative[:, columns], first, axis=0) > -FAR
        near = np.concatenate([between[:1], between[1:] | between[:-1], between[-1:]])
        for share, mine in zip(profiles.grid.tolist(), near, strict=True):
            if share not in everything:
                self.posed[share] = set(rows[columns[mine]].tolist())

    def left_out(self, grid: Array) -> NDArray[np.bool_]:
        """Which rows are not posed at the points of a grid, (points, rows)."""
        found: NDArray[np.bool_] = np.tile(self.lazy, (len(grid), 1))
        for point, share in enumerate(grid.tolist()):
            if share in self.posed:
                found[point] |= self.spared
                found[point, list(self.posed[share])] = False
            elif share in self.near:
                found[point, self.first :] = ~self.near[share]
        return found

    def margins(self, grid: Array) -> Array:
        """What bounds leave at the points of a grid, (points, rows): where they are tightened, and for friction."""
        found = self._tightened(grid)
        if self.friction is not None:
            found[:, : self.first] += self.friction
        return found

    def _tightened(self, grid: Array) -> Array:
        """By how much violations between points have tightened bounds at points of a phase, (points, rows)."""
        found = np.zeros((len(grid), self.count))
        for row, share, reach, amount in self.tighter:
            found[:, row] = np.maximum(found[:, row], amount * np.clip(1.0 - np.abs(grid - share) / reach, 0.0, 1.0))
        apart = np.where(np.isfinite(self.lower) & (self.upper > self.lower), self.upper - self.lower, np.inf)
        return np.minimum(found, (TIGHTENED_MOST if self.phase.forces_jump else TIGHTENED_NODAL) * apart)

    def leave_for_friction(self, motion: SplineMotion, k: int, grid: Array, *, more: bool) -> None:
        """Leave room at the points of a grid for friction that is rounded off, by a motion whose phase k this is.

        With ``more`` the room that was left before stays: joints that turn back elsewhere each time are so held.
        """
        if self.phase.as_given is None or not self.phase.model.friction_width:
            return
        found = friction_margins(motion, k, self.phase, grid)
        if more and self.friction is not None:
            before = [np.interp(grid, self._friction_grid, row) for row in self.friction.T]
            found = np.maximum(found, np.transpose(before))
        self.friction, self._friction_grid = found, grid

    def saved_margins(self) -> SavedMargins:
        """What bounds leave now, for :meth:`restore_margins`."""
        return SavedMargins(tuple(self.tighter), self.friction, self._friction_grid)

    def restore_margins(self, saved: SavedMargins) -> None:
        """Let bounds leave what they left when it was saved."""
        self.tighter[:], self.friction, self._friction_grid = saved

    def relaxed(self) -> None:
        """Tighten nothing any more."""
        self.tighter.clear()

    def restarted(self) -> None:
        """Forget what was found on other splines: their points are no more."""
        self.tighter.clear()
        self.posed.clear()
        self.near.clear()

    def refined(
        self, profiles: Profiles, check: PhaseCheck, above: float, merged: float = MERGED
    ) -> tuple[Profiles, bool]:
        """Profiles with points at the peaks of limits that are violated by more than ``above``, of 1 + |bound|.

        The points have no weight in integrals. Violations that are not SMALL share a point within ``merged``, of a
        span. Returned besides: whether rows are new.
        """
        grid, more = profiles.grid, False
        span = np.diff(np.unique(profiles.knots)).min()
        chosen: list[float] = []
        peaks = [(p.share, row, p.excess) for p, row in check.of_path(above) if not self.between_nodes(profiles)[row]]
        for share, row, excess in sorted(peaks):
            at = float(grid[np.abs(grid - share).argmin()])
            if abs(at - share) > 1e-5 * span:
                apart = merged if excess > SMALL else CLOSE
                at = next((other for other in chosen[-2:] if abs(share - other) <= apart * span), share)
            if at == share and not (grid == share).any():
                chosen.append(share)
                self.posed[share] = set()
            if at in self.posed and row not in self.posed[at]:
                self.posed[at].add(row)
                more = True
            if row >= self.first:
                more |= self._bring_in(row, at, check)
        places = np.searchsorted(grid, chosen)
        weights = np.insert(profiles.weights, places, 0.0)
        return replace(profiles, grid=np.insert(grid, places, chosen), weights=weights), more

    def between_nodes(self, profiles: Profiles) -> NDArray[np.bool_]:
        """Rows that cannot be posed between nodes of forces: their bounds are tightened at once."""
        found = np.zeros(self.count, dtype=bool)
        if profiles.nodes is not None and self.phase.path is not None:
            found[: self.first] = self.phase.path.of_forces
        return found

    def _bring_in(self, row: int, at: float, check: PhaseCheck) -> bool:
        """Pose a pair that is violated ``at`` a share wherever it is near now; whether it was not posed somewhere."""
        column = next(k for k, each in enumerate(check.columns) if each.path_row == row)
        room = -check.relative[:, column] * check.sizes[column]
        more = False
        for share, pairs in self.near.items():
            close = room[np.abs(check.shares - share).argmin()] < self.reach
            if (close or share == at) and not pairs[row - self.first]:
                pairs[row - self.first] = more = True
        return more

    def astray(self, check: PhaseCheck) -> bool:
        """Whether pairs overlap deeply between points, in this check and in the one before: it goes through obstacles.

        What a solve finds from there is seldom a way round them.
        """
        deep = any(row >= self.first and peak.excess > DEEP * self.reach for peak, row in check.of_path(0.0))
        twice = deep and self.deep
        self.deep = deep and not twice
        return twice

    def add_lazy(self, check: PhaseCheck, tolerance: float) -> bool:
        """Limits that were left out and are violated hold from now on; whether there are any."""
        before = int(self.lazy.sum())
        for _, row in check.of_path(tolerance):
            if row >= self.first or self.phase.path is None:
                continue
            family, _ = self.phase.path.find(row)
            self.lazy[family.rows] = False
        return int(self.lazy.sum()) < before

    def tighten(self, profiles: Profiles, check: PhaseCheck, tolerance: float, most: float = SMALL) -> bool:
        """Tighten bounds of limits about the places where they are violated, by ``most`` or less; whether any is."""
        edges, before, only = np.unique(profiles.knots), len(self.tighter), self.between_nodes(profiles)
        for peak, row in check.of_path(0.5 * tolerance):
            if self.spared[row] and (peak.excess <= most or only[row]):
                span = np.diff(edges)[np.clip(np.searchsorted(edges, peak.share) - 1, 0, len(edges) - 2)]
                now = self._tightened(np.array([peak.share]))[0, row]
                amount = float(now + BEYOND * peak.excess * check.sizes[peak.row])
                self.tighter.append((row, peak.share, REACH * float(span), amount))
        return len(self.tighter) > before

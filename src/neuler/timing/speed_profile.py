"""The time-optimal law of paths on a grid: rows, both passes, friction again and again, a check between the points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.fine_grid import TOLERANCE, FineGrid
from neuler.timing.infeasible import explained, stuck, too_fast
from neuler.timing.paths import Path, PathPoints
from neuler.timing.scans import IntervalRows, greatest, reachable

Array = NDArray[np.float64]
SETTLED = 1e-9
"""Of the greatest x: what the last linearisation of friction may change."""
ITERATIONS, ROUNDS = 60, 12


@dataclass
class SpeedProfile:
    """x and u along the grid, and how good they are; all with the batch axes of the paths."""

    x: Array
    u: Array
    worst: Array | None
    """The greatest excess of a row over its bound, of 1 + |bound|, between points too; None: not looked at."""
    iterations: int
    """Linearisations of friction, all rounds together."""
    rounds: int
    failed: dict[int, str] = field(default_factory=dict)
    """Paths without a law, by number among all, and why."""


class ProfileSolver:
    """The time-optimal x and u of paths of one robot on one grid."""

    def __init__(
        self,
        constraints: ConstraintSet,
        path: Path,
        s: Array,
        ends: tuple[Array, Array],
    ):
        self.constraints, self.path, self.s = constraints, path, s
        self.at = PathPoints.of(path, s)
        self._moves()
        self.rows = constraints.rows(self.at)
        self.ceiling = self.rows.ceiling
        self.d = np.diff(s)
        self.shape = self.at.first.shape[:-2]
        self.start, self.end = (np.broadcast_to(np.square(x), self.shape) for x in ends)
        self.lower, self.upper = constraints.lower[None], constraints.upper[None]
        self.failed: dict[int, str] = {}
        self.iterations = 0
        self.ends = [self.at[cut] for cut in (slice(None, -1), slice(1, None))]

    def _moves(self) -> None:
        """A path that stands is refused: nothing says how long."""
        slopes = np.abs(self.at.first).max(axis=-1)
        size = np.abs(self.at.q).max(axis=(-2, -1)) / (self.s[-1] - self.s[0])
        still = slopes <= 1e-12 * np.maximum(slopes.max(axis=-1), size)[..., None]
        both = still[..., :-1] & still[..., 1:]
        if both.any():
            where = tuple(int(k) for k in np.argwhere(both)[0])
            raise InputError(
                f"time_path: the path{f' {where[:-1]}' if where[:-1] else ''} stands still (dq/ds = 0) from s = "
                f"{self.s[where[-1]]:g} to {self.s[where[-1] + 1]:g}: cut it there, and wait as long as you like"
            )

    # ---- one programme ------------------------------------------------------------------------------------------

    def intervals(self, x: Array | None, u: Array | None) -> IntervalRows:
        """Return rows with friction linear about x and u; about a slow motion where there are none."""
        parts = []
        for k, cut in enumerate((slice(None, -1), slice(1, None))):
            a, b, c = (value[..., cut, :] for value in (self.rows.a, self.rows.b, self.rows.c))
            if self.constraints.nonlinear:
                if x is None or u is None:
                    value, du, dx = self.constraints.linearised(
                        self.ends[k], np.zeros(a.shape[:-1]), np.zeros(a.shape[:-1])
                    )
                    dx[...] = 0.0
                    here, push = np.zeros(a.shape[:-1]), np.zeros(a.shape[:-1])
                else:
                    here, push = np.nan_to_num(x[..., cut]), np.nan_to_num(u)
                    value, du, dx = self.constraints.linearised(self.ends[k], here, push)
                a, b = a + du, b + dx
                c = c + value - du * push[..., None] - dx * here[..., None]
            parts += [a, b, c]
        a0, b0, c0, a1, b1, c1 = parts
        return IntervalRows(a0, b0, c0, a1, b1, c1, self.lower, self.upper, self.d)

    def once(self, x: Array | None = None, u: Array | None = None) -> tuple[Array, Array]:
        """Return the greatest x under linear rows, and u; a path without one is NaN, and ``failed`` says why."""
        given = self.intervals(x, u)
        sets = reachable(given, self.ceiling, self.end)
        found = greatest(given, sets, self.start)
        empty = np.asarray((sets[..., 0] > sets[..., 1] + 1e-12 * np.abs(sets[..., 1])).any(axis=-1))
        slow = self.start[..., None] < sets[..., :1, 0] * (1 - 1e-9) - 1e-300
        fast = self.start[..., None] > sets[..., :1, 1] * (1 + 1e-9) + 1e-300
        end = np.asarray(self.end > self.ceiling[..., -1] * (1 + 1e-9))
        dead = ((found[..., :-1] + found[..., 1:]) <= 0.0).any(axis=-1)
        bad = empty | slow[..., 0] | fast[..., 0] | end | dead
        if bad.any():
            for where in map(tuple, np.argwhere(bad)):
                number = int(np.ravel_multi_index(where, self.shape)) if self.shape else 0
                if number in self.failed:
                    continue
                if end[where]:
                    text = too_fast(self, where, "end", self.ceiling[where][-1])
                elif empty[where]:
                    text = explained(self, where, given, sets[where])
                elif (fast | slow)[(*where, 0)]:
                    text = too_fast(self, where, "start", sets[where][0, 1], sets[where][0, 0])
                else:
                    text = stuck(self, where, found[where])
                self.failed[number] = text
            found = np.where(bad[..., None], np.nan, found)
        return found, np.diff(found, axis=-1) / (2.0 * self.d)

    def settled(self, x: Array | None, u: Array | None) -> tuple[Array, Array]:
        """Return the same with friction as it is: linear about the last x and u, until nothing changes."""
        if not self.constraints.needs_iteration:
            return self.once()
        if x is None or u is None:
            x, u = self.once()
        change = last = np.inf
        for k in range(ITERATIONS):
            after, push = self.once(x, u)
            self.iterations += 1
            with np.errstate(invalid="ignore"):
                steps = np.abs(after - x).max(axis=-1) / after.max(axis=-1)
            last, change = change, float(np.nanmax(steps, initial=0.0))
            if k > 8 and change > 0.5 * last:  # between two rows that take turns
                after, push = 0.5 * (after + x), 0.5 * (push + u)
            x, u = after, push
            if change <= SETTLED:
                return x, u
        raise InputError(
            f"time_path: friction did not settle in {ITERATIONS} linearisations, the last one changed x by "
            f"{change:.1e}; make its laws smoother, or use more points"
        )

    # ---- between the points -------------------------------------------------------------------------------------

    def solve(self, refine: bool) -> SpeedProfile:
        """Return x and u; with ``refine`` bounds are tightened where they are violated between points."""
        x, u = self.settled(None, None)
        if not refine:
            return SpeedProfile(x, u, None, self.iterations, 1, self.failed)
        fine, failed = FineGrid(self.constraints, self.path, self.s), dict(self.failed)
        below, above, faster, worst = fine.excess(x, u)
        best = x, u, worst
        rounds = 1
        while rounds < ROUNDS and _greatest(worst) > TOLERANCE:
            rounds += 1
            room = 0.4 * (self.constraints.upper - self.constraints.lower)
            self.lower = np.minimum(self.lower + 1.2 * np.nan_to_num(below), self.constraints.lower + room)
            self.upper = np.maximum(self.upper - 1.2 * np.nan_to_num(above), self.constraints.upper - room)
            tight = np.ones(self.ceiling.shape)
            tight[..., :-1] = faster
            tight[..., 1:] = np.minimum(tight[..., 1:], faster)
            self.ceiling = self.ceiling * tight
            x, u = self.settled(x, u)
            if len(self.failed) > len(failed):  # tightened too much
                break
            below, above, faster, worst = fine.excess(x, u)
            if _greatest(worst) < _greatest(best[2]):
                best = x, u, worst
        x, u, worst = best
        if _greatest(worst) > TOLERANCE and not self.start.any() and not self.end.any():
            x, u, worst = fine.slowed(x, u, worst)
        return SpeedProfile(x, u, worst, self.iterations, rounds, failed)


def _greatest(worst: Array) -> float:
    return float(np.nan_to_num(worst).max(initial=0.0))


def grid_of(path: Path, given: Any) -> Array:
    """Return the points of a grid along s: so many evenly, or the ones given, from end to end."""
    if isinstance(given, np.ndarray | list | tuple):
        s = np.asarray(given, dtype=float)
        if s.ndim != 1 or len(s) < 2 or not np.isfinite(s).all() or not (np.diff(s) > 0).all():
            raise InputError(f"time_path: a grid of points must rise, two or more, got shape {s.shape}")
        if not np.allclose([s[0], s[-1]], [path.start, path.end], rtol=1e-12, atol=0.0):
            raise InputError(
                f"time_path: the grid must go from {path.start:g} to {path.end:g}, it goes from {s[0]:g} to {s[-1]:g}"
            )
        return s
    if isinstance(given, bool) or not hasattr(given, "__index__") or given < 2:
        raise InputError(f"time_path: grid must be a whole number of points, two or more, or the points, got {given!r}")
    return np.linspace(path.start, path.end, int(given))

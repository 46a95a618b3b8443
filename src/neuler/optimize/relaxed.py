"""A programme whose rows may be violated, group by group, at a price: which groups contradict each other.

min sum_f s_f + d/2 |x - x0|^2  subject to  row_lower - s_f <= g(x) <= row_upper + s_f,  s_f >= 0

One slack s_f belongs to all rows of a group f. The sum of magnitudes leaves most of them at zero: the others name the
groups that cannot hold together with the rest, near x0. Rows without a group stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.programme import Array, Programme

Integers = NDArray[np.intp]
DISTANCE = 1e-4
"""Weight of half the squared distance from the start: decides what the slacks leave open."""


class Relaxed:
    """The relaxed form of a programme; a ``Programme`` over its variables, then the slacks.

    ``group`` (m) has the number of every row's group, -1 where there is none.
    """

    def __init__(self, programme: Programme, group: Integers, start: Array | None = None) -> None:
        self.programme = programme
        self.x0 = np.array(programme.start if start is None else start, float)
        rows = programme.rows(self.x0)
        self.count = int(group.max(initial=-1)) + 1
        self.n = programme.n + self.count
        low, high, own = programme.row_lower, programme.row_upper, group < 0
        self._below = np.flatnonzero(~own & np.isfinite(low))
        self._above = np.flatnonzero(~own & np.isfinite(high))
        self._own = np.flatnonzero(own)
        self._order = np.concatenate([self._own, self._below, self._above])
        self.m = len(self._order)
        none = np.full(self.m, np.inf)
        self.row_lower, self.row_upper = -none, none.copy()
        first, last = len(self._own), len(self._own) + len(self._below)
        self.row_lower[:first], self.row_upper[:first] = low[self._own], high[self._own]
        self.row_lower[first:last] = low[self._below]
        self.row_upper[last:] = high[self._above]
        self.lower = np.concatenate([programme.lower, np.zeros(self.count)])
        self.upper = np.concatenate([programme.upper, np.full(self.count, np.inf)])
        excess = np.fmax(np.fmax(low - rows, rows - high), 0.0)
        slacks = np.zeros(self.count)
        np.maximum.at(slacks, group[~own], excess[~own])
        self.start = np.concatenate([self.x0, 1.1 * slacks + 0.1])
        self._group = group
        self._jacobian_places()
        self._hessian_places()

    def _jacobian_places(self) -> None:
        rows, columns = self.programme.jacobian_at
        entry = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=self.programme.m)
        first = np.cumsum(counts) - counts
        taken = counts[self._order]
        each = np.repeat(np.arange(self.m), taken)
        within = np.arange(len(each)) - np.repeat(np.cumsum(taken) - taken, taken)
        self._source = entry[first[self._order[each]] + within]
        slack_rows = np.arange(len(self._own), self.m)
        slack_columns = self.programme.n + self._group[self._order[slack_rows]]
        self._signs = np.concatenate([np.ones(len(self._below)), -np.ones(len(self._above))])
        self.jacobian_at = (
            np.concatenate([each, slack_rows]).astype(np.intp),
            np.concatenate([columns[self._source], slack_columns]).astype(np.intp),
        )

    def _hessian_places(self) -> None:
        """Those of the programme, and the diagonal of its variables."""
        rows, columns = self.programme.hessian_at
        missing = np.setdiff1d(np.arange(self.programme.n), rows[rows == columns])
        self._entries = len(rows)
        self.hessian_at = np.concatenate([rows, missing]), np.concatenate([columns, missing])
        self._diagonal = np.flatnonzero(self.hessian_at[0] == self.hessian_at[1])

    def slacks(self, x: Array) -> Array:
        """By how much the rows of every group are relaxed, as the programme scales them, (groups)."""
        return x[self.programme.n :]

    def objective(self, x: Array) -> float:
        """Sum of the slacks and the distance from the start."""
        away = x[: self.programme.n] - self.x0
        return float(self.slacks(x).sum() + 0.5 * DISTANCE * (away @ away))

    def gradient(self, x: Array) -> Array:
        """Of the objective, (n)."""
        return np.concatenate([DISTANCE * (x[: self.programme.n] - self.x0), np.ones(self.count)])

    def rows(self, x: Array) -> Array:
        """Rows without a group, then g + s of those with a lower bound and g - s of those with an upper one, (m)."""
        found = np.asarray(self.programme.rows(x[: self.programme.n]))[self._order]
        found[len(self._own) :] += self._signs * self.slacks(x)[self._group[self._order[len(self._own) :]]]
        return found

    def jacobian(self, x: Array) -> Array:
        """Entries of the rows' derivatives."""
        return np.concatenate([self.programme.jacobian(x[: self.programme.n])[self._source], self._signs])

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Entries of second derivatives: of the rows, and of the distance."""
        own = np.zeros(self.programme.m)
        np.add.at(own, self._order, multipliers)
        found = np.zeros(len(self.hessian_at[0]))
        found[: self._entries] = self.programme.hessian(x[: self.programme.n], 0.0, own)
        found[self._diagonal] += weight * DISTANCE
        return found

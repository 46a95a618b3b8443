"""Rows between the points of a grid: checked on a finer one, and closer about the local maxima of their violation.

A row is violated by (value - bound) / (1 + |bound|).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.programme import Array

TOLERANCE = 1e-6
"""Of 1 + |bound|: what a row may be beyond its bound, by default."""
FINER, LEAST = 10, 1000
"""Points between two grid points, and in all."""
NEAR = 0.02
"""Of 1 + |bound|: local maxima that stay so far below a bound are not looked at closer."""
ZOOM = 16
"""Points in each half of the surroundings of a maximum, and again."""
MOST = 2_000_000
"""Values at a time, of all rows at the surroundings of several maxima."""
Values = Callable[[Array], Array]
"""Shares (N) to rows (N, rows)."""


class Peak(NamedTuple):
    """A local maximum of the violation of a row."""

    row: int
    share: float
    excess: float
    """Beyond the bound, of 1 + |bound|; negative where there is room."""
    value: float


@dataclass(frozen=True, eq=False)
class DenseCheck:
    """Rows on a fine grid: relative violations, and where each row is worst."""

    shares: Array
    relative: Array
    """(shares, rows), negative where there is room."""
    peaks: list[Peak]
    """Local maxima that count."""

    @property
    def worst(self) -> float:
        """The largest violation."""
        return max((peak.excess for peak in self.peaks), default=0.0)


def dense(
    values: Values,
    lower: Callable[[Array], Array],
    upper: Callable[[Array], Array],
    grid: Array,
    more: Array | None = None,
) -> DenseCheck:
    """Look ten times or more between grid points, and at ``more`` shares; closer at local maxima of the violation."""
    count = max(FINER, -(-LEAST // max(len(grid) - 1, 1)))
    between = np.arange(count) / count
    shares = np.append((grid[:-1, None] + np.diff(grid)[:, None] * between).ravel(), grid[-1])
    if more is not None and len(more):
        shares = np.unique(np.concatenate([shares, more]))
    relative = _relative(values(shares), lower(shares), upper(shares))
    peaks = []
    padded = np.pad(relative, ((1, 1), (0, 0)), constant_values=-np.inf)
    near = np.where(np.isfinite(lower(shares)) & (lower(shares) == upper(shares)), 0.05 * TOLERANCE, -NEAR)
    top = (padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]) & (relative > near)
    at, rows = np.nonzero(top)
    if len(at):
        size = max(ZOOM, MOST // ((2 * ZOOM + 1) * relative.shape[1]))  # peaks at a time, for memory
        parts = [
            _zoomed(values, lower, upper, shares, at[first : first + size], rows[first : first + size])
            for first in range(0, len(at), size)
        ]
        best_share, best, best_value = (np.concatenate(each) for each in zip(*parts, strict=True))
        peaks = [
            Peak(int(row), float(s), float(r), float(v))
            for row, s, r, v in zip(rows, best_share, best, best_value, strict=True)
        ]
    return DenseCheck(shares, relative, peaks)


def _relative(values: Array, lower: Array, upper: Array) -> Array:
    """Violation of the nearer bound, of 1 + |bound|."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    floor, ceiling = np.where(low, lower, 0.0), np.where(high, upper, 0.0)
    below = np.where(low, (floor - values) / (1.0 + np.abs(floor)), -np.inf)
    above = np.where(high, (values - ceiling) / (1.0 + np.abs(ceiling)), -np.inf)
    return np.where(np.isnan(values) & (low | high), np.inf, np.maximum(below, above))


def _zoomed(
    values: Values,
    lower: Callable[[Array], Array],
    upper: Callable[[Array], Array],
    shares: Array,
    at: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> tuple[Array, Array, Array]:
    """The maxima themselves, on ever finer grids about them."""
    center = shares[at]
    left, right = shares[np.maximum(at - 1, 0)], shares[np.minimum(at + 1, len(shares) - 1)]
    for _ in range(2):
        steps = np.linspace(0.0, 1.0, ZOOM + 1)
        around = np.concatenate(
            [left[:, None] + (center - left)[:, None] * steps, center[:, None] + (right - center)[:, None] * steps[1:]],
            axis=1,
        )
        every, place = np.unique(around.ravel(), return_inverse=True)
        found = values(every)
        relative = _relative(found, lower(every), upper(every))
        mine = relative[place.reshape(around.shape), rows[:, None]]
        last = mine.shape[1] - 1 - np.argmax(mine[:, ::-1], axis=1)
        pick = np.where(left == center, last, np.argmax(mine, axis=1))  # at an end one half is but a point
        index = np.arange(len(rows))
        center = around[index, pick]
        left, right = around[index, np.maximum(pick - 1, 0)], around[index, np.minimum(pick + 1, around.shape[1] - 1)]
    worst = mine[index, pick]
    value = found[place.reshape(around.shape)[index, pick], rows]
    return center, worst, value

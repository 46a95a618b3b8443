"""The fastest x(s) under rows that are linear in x = sdot^2 and u = sddot: two compiled scans over a grid.

Backwards, the sets K_i of all x from which the end can still be reached; forwards, the greatest u that stays in them:
Pham and Pham (2018). On an interval u is constant, so x is linear in s, and rows hold at both of its ends:

    lower <= a_i u + b_i x + c_i <= upper,  lower <= a_j u + b_j (x + 2 d u) + c_j <= upper,  j = i + 1,
    x + 2 d u in K_j

Of every row u lies between two lines over x. Some u is left where each lower line is below each upper one, which two
rows say as bounds on x: all pairs together are the two linear programmes of a step, solved exactly, in the same
operations whatever the numbers.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.functions.scan import Scan, scan

Array = NDArray[np.float64]
Lines = list[tuple[Any, Any, Any]]
FAR = 1e30
"""A bound that is none."""
FLAT = 1e-9
"""Of |b|: what |a| is taken for where it is less, so that u has a bound at all."""


@dataclass(frozen=True)
class IntervalRows:
    """Rows of all intervals: at both ends (..., N - 1, R), their bounds (..., N - 1 or 1, R), lengths d (N - 1)."""

    a0: Array
    b0: Array
    c0: Array
    a1: Array
    b1: Array
    c1: Array
    lower: Array
    upper: Array
    d: Array

    @property
    def rows(self) -> tuple[Array, ...]:
        """The arrays in the order of the scans' arguments."""
        bounds = np.maximum(self.lower, -FAR), np.minimum(self.upper, FAR)
        return (self.a0, self.b0, self.c0, self.a1, self.b1, self.c1, *bounds, self.d)


def _lines(a: Any, b: Any, c: Any, lower: Any, upper: Any) -> Lines:
    """Of every row (l, h, k): l - k x <= u <= h - k x."""
    found = []
    for a_, b_, c_, low, high in zip(a, b, c, lower, upper, strict=True):
        least = FLAT * nm.absolute(b_) + 1e-200
        inverse = 1.0 / nm.where(nm.less(nm.absolute(a_), least), least, a_)
        p, q = (low - c_) * inverse, (high - c_) * inverse
        found.append((nm.minimum(p, q), nm.maximum(p, q), b_ * inverse))
    return found


def _both(a0: Any, b0: Any, c0: Any, a1: Any, b1: Any, c1: Any, lower: Any, upper: Any, d: Any) -> Lines:
    """Of both ends."""
    return _lines(a0, b0, c0, lower, upper) + _lines(a1 + (2.0 * d) * b1, b1, c1, lower, upper)


def _step_back(K: Any, *each: Any) -> Any:
    """K of the next point to K of this one."""
    *row, ceiling = each
    inverse = 0.5 / row[-1]
    lines = [*_both(*row), (K[0] * inverse, K[1] * inverse, inverse)]
    low: Any = 0.0
    high: Any = ceiling
    for (l, h, k), (m, n, o) in itertools.combinations(lines, 2):
        slope = 1.0 / (o - k + 1e-290)  # l - k x <= n - o x,  m - o x <= h - k x
        p, q = (n - l) * slope, (m - h) * slope
        low, high = nm.maximum(low, nm.minimum(p, q)), nm.minimum(high, nm.maximum(p, q))
    found = np.array([low, high])
    return found, found


def _step_on(x: Any, *each: Any) -> Any:
    """x of a point to x of the next."""
    *row, low, high = each
    most: Any = FAR
    for _, h, k in _both(*row):
        most = nm.minimum(most, h - k * x)
    after = nm.maximum(nm.minimum(x + 2.0 * row[-1] * most, high), low)
    return after, after


@functools.cache
def scans(rows: int) -> tuple[Scan, Scan]:
    """Return the compiled backward and forward scans for so many rows."""
    each: dict[str, Any] = dict.fromkeys(("a0", "b0", "c0", "a1", "b1", "c1", "lower", "upper"), (rows,))
    back = scan(_step_back, {"K": 2}, {**each, "d": (), "ceiling": ()}, "sets", name="path_sets")
    on = scan(_step_on, {"x": ()}, {**each, "d": (), "low": (), "high": ()}, "after", name="path_speeds")
    return back, on


def reachable(given: IntervalRows, ceiling: Array, end: Array) -> Array:
    """Return K of all points, (..., N, 2), empty where the first number is the greater; ``end`` (...) is x there."""
    back, _ = scans(given.a0.shape[-1])
    last = np.stack([end, end], axis=-1)
    found = back(last, *given.rows, ceiling[..., :-1], reverse=True).sets
    return np.concatenate([found, np.broadcast_to(last[..., None, :], (*found.shape[:-2], 1, 2))], axis=-2)


def greatest(given: IntervalRows, sets: Array, start: Array) -> Array:
    """Return the greatest x of all points, (..., N)."""
    _, on = scans(given.a0.shape[-1])
    rest = on(start, *given.rows, sets[..., 1:, 0], sets[..., 1:, 1]).after
    return np.concatenate([np.broadcast_to(start[..., None], (*rest.shape[:-1], 1)), rest], axis=-1)

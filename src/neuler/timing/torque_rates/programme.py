"""The programme of a law with bounded torque rates.

The law s(t) is a cubic spline over the shares of its duration T, its control points and T the variables; sddot is
continuous, sdddot constant on an interval, and at an end at rest sddot is zero: the torque begins and ends where it
holds the robot. With V, W, J the derivatives of s by the share of time, and a, b, c, d functions of s (d V / T is
viscous friction),

    tau = (a W + b V^2) / T^2 + d V / T + c
    dtau/dt = ((a' V W + a J + b' V^3 + 2 b V W) / T^2 + (d' V^2 + d W) / T + c' V) / T

Velocities and accelerations are rows of the same form.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from neuler import math as nm
from neuler.functions.function import Function, function
from neuler.timing.paths import Path
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]


def knots(intervals: int) -> Array:
    """Of a cubic spline over the shares of time."""
    return np.concatenate([[0.0] * 3, np.linspace(0.0, 1.0, intervals + 1), [1.0] * 3])


def greville(intervals: int) -> Array:
    """Shares of time of the control points: a law that is nearly s(t) has s there for them."""
    every = knots(intervals)
    return (every[1:-3] + every[2:-2] + every[3:-1]) / 3.0


@functools.cache
def rate_rows(size: int, rated: tuple[int, ...]) -> tuple[Function, Function, Function]:
    """Rows and rates of a point by its tables, its motion (s, V, W, J) and T; their Jacobian and Hessian."""

    def rows(tables: Any, motion: Any, T: Any) -> Any:
        zero, one, two, three = tables
        step = motion[0]
        here = zero + step * (one + step * (two / 2 + step * three / 6))
        return _rows(here, one + step * (two + step * three / 2), motion[1:], T, rated)

    made = function(rows, {"tables": (4, 4, size), "motion": 4, "T": ()}, "rows", name="path_rates")
    return made, made.jacobian(["motion", "T"]), made.hessian(["motion", "T"])


def _rows(tables: Any, slopes: Any, motion: Any, T: Any, rated: tuple[int, ...]) -> Any:
    """Rows, and rates of some, by a, b, c, d, their slopes and V, W, J."""
    (a, b, c, d), (da, db, dc, dd), (V, W, J), p = tables, slopes, motion, 1.0 / T
    value = p * p * (a * W + b * V * V) + p * d * V + c
    if not rated:
        return value
    rate = p * (p * p * (da * V * W + a * J + db * V * V * V + 2 * b * V * W) + p * (dd * V * V + d * W) + dc * V)
    return np.concatenate([value, rate[list(rated)]])


@functools.cache
def rate_gaps(size: int, rated: tuple[int, ...]) -> Function:
    """The least gap of a row to its bounds, by the cubics of its tables, the way h along them, and V, W, J; T is 1."""

    def gaps(cubics: Any, h: Any, motion: Any, bounds: Any) -> Any:
        three, two, one, zero = cubics
        here, slope = zero + h * (one + h * (two + h * three)), one + h * (2 * two + 3 * h * three)
        rows = _rows(here, slope, motion, 1.0, rated)
        found: Any = 1e300
        for row, low, high in zip(rows, bounds[0], bounds[1], strict=True):
            found = nm.minimum(found, nm.minimum(row - low, high - row))
        return found

    both = (2, size + len(rated))
    return function(gaps, {"cubics": (4, 4, size), "h": (), "motion": 3, "bounds": both}, "gap", name="path_gaps")


class RateProgramme:
    """The programme: min T over control points of s and T, rows at both ends of every interval."""

    def __init__(
        self,
        path: Path,
        tables: RateTables,
        ends: tuple[float, float],
        start: tuple[Array, float],
        margins: tuple[Array, Array],
        least: float = 1e-6,
    ) -> None:
        """``margins``, (intervals, rows), are what bounds are narrower by, lower and upper ones; T is ``least``."""
        self.tables, self.path = tables, path
        points, duration = start
        count = len(points)
        self.intervals = count - 3
        self.basis = BSpline(knots(self.intervals), np.eye(count), 3)
        edges = np.linspace(0.0, 1.0, self.intervals + 1)
        tiny = 1e-9 / self.intervals
        inside = np.stack([edges[:-1] + tiny, edges[1:] - tiny], axis=1).ravel()
        places = np.stack([edges[:-1], edges[1:]], axis=1).ravel()
        weights = np.stack([self.basis(places, k) for k in range(3)] + [self.basis(inside, 3)], axis=1)
        self.first = np.repeat(np.arange(self.intervals), 2)
        """The first control point of every row point; three follow."""
        near = self.first[:, None] + np.arange(4)
        self.weights = np.take_along_axis(weights, near[:, None, :], axis=2)
        """From four control points to s, V, W, J: (points, 4, 4)."""
        self.ends, self.near = ends, near
        sides = [np.where(np.isfinite(x), np.abs(x), 0.0) for x in (tables.lower, tables.upper)]
        self.scale = np.maximum(np.maximum(*sides), 1e-6)
        self.size = len(self.scale)
        self.kernels = rate_rows(self.size - len(tables.rated), tables.rates)
        self.n = count + 1
        self._bounds(count, margins, least)
        self._structure()
        self.start = np.append(points, duration)
        self._last: tuple[bytes, Any] | None = None

    def _bounds(self, count: int, margins: tuple[Array, Array], least: float) -> None:
        self.lower, self.upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        self.lower[:count], self.upper[:count] = self.path.start, self.path.end
        self.lower[-1] = least
        for k, speed in ((0, self.ends[0]), (-1, self.ends[1])):
            held = [0] if speed else [0, 1, 2]
            for j in held:
                at = j if k == 0 else count - 1 - j
                self.lower[at] = self.upper[at] = self.path.start if k == 0 else self.path.end
        values = self.size - len(self.tables.rated)
        self.used = np.ones((len(self.first), self.size), bool)
        """Rows of points: at a knot values are the same on both of its sides, and stand once."""
        self.used[1:-1:2, :values] = False
        low, high = (np.repeat(x, 2, axis=0) for x in (self.tables.lower + margins[0], self.tables.upper - margins[1]))
        low[2::2, :values] = np.maximum(low[2::2, :values], low[1:-1:2, :values])
        high[2::2, :values] = np.minimum(high[2::2, :values], high[1:-1:2, :values])
        low, high = (low / self.scale)[self.used], (high / self.scale)[self.used]
        rise = count - 1  # control points rise: s never goes back
        self.moving = [k for k in (0, 1) if self.ends[k]]
        zero = np.zeros(len(self.moving))
        self.row_lower = np.concatenate([low, np.zeros(rise), zero])
        self.row_upper = np.concatenate([high, np.full(rise, np.inf), zero])
        self.m = len(self.row_lower)

    def _structure(self) -> None:
        count, points = self.n - 1, len(self.first)
        columns = np.concatenate([self.near, np.full((points, 1), count)], axis=1)  # four control points, T
        base, rise = int(self.used.sum()), np.arange(count - 1)
        every = np.repeat(columns[:, None, :], self.size, 1)[self.used]
        at = [np.repeat(np.arange(base), 5), every.ravel()]
        at = [np.concatenate([at[0], base + rise, base + rise]), np.concatenate([at[1], rise, rise + 1])]
        self._fixed = np.concatenate([-np.ones(count - 1), np.ones(count - 1)])
        base += count - 1
        for number, k in enumerate(self.moving):
            pair = (0, 1) if k == 0 else (count - 2, count - 1)
            at = [np.concatenate([at[0], [base + number] * 3]), np.concatenate([at[1], [*pair, count]])]
        self.jacobian_at = at[0], at[1]
        one, two = np.tril_indices(5)
        rows_, columns_ = columns[:, one], columns[:, two]
        big, small = np.maximum(rows_, columns_), np.minimum(rows_, columns_)
        places, self._into = np.unique(big.ravel() * self.n + small.ravel(), return_inverse=True)
        self.hessian_at = places // self.n, places % self.n
        self._triangle = one, two

    def _at(self, x: Array) -> tuple[Array, Array]:
        """RateTables and motions of all points."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            motion = np.einsum("pij,pj->pi", self.weights, x[:-1][self.near])
            s = np.clip(motion[:, 0], self.path.start, self.path.end)
            tables = np.stack([self.tables.spline(s, k) for k in range(4)], axis=1)
            motion[:, 0] -= s
            self._last = key, (tables, motion)
        found: tuple[Array, Array] = self._last[1]
        return found

    def objective(self, x: Array) -> float:
        """T."""
        return float(x[-1])

    def gradient(self, x: Array) -> Array:
        """Of T."""
        found = np.zeros(self.n)
        found[-1] = 1.0
        return found

    def rows(self, x: Array) -> Array:
        """Rows of all points in parts of their bounds, rises of control points, speeds at the ends."""
        tables, motion = self._at(x)
        values = self.kernels[0](tables, motion, x[-1]) / self.scale
        points = x[:-1]
        way = x[-1] / (3.0 * self.intervals)
        more = [points[1] - points[0] - self.ends[0] * way] if 0 in self.moving else []
        more += [points[-1] - points[-2] - self.ends[1] * way] if 1 in self.moving else []
        return np.concatenate([values[self.used], np.diff(points), more])

    def jacobian(self, x: Array) -> Array:
        """Of the rows."""
        tables, motion = self._at(x)
        slopes = self.kernels[1](tables, motion, x[-1]) / self.scale[:, None]
        local = np.concatenate([slopes[..., :4] @ self.weights, slopes[..., 4:]], axis=-1)
        more = [y for k in self.moving for y in (-1.0, 1.0, -self.ends[k] / (3.0 * self.intervals))]
        return np.concatenate([local[self.used].ravel(), self._fixed, more])

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Of the rows times multipliers; T itself has none."""
        tables, motion = self._at(x)
        weights = np.zeros(self.used.shape)
        weights[self.used] = multipliers[: int(self.used.sum())]
        weights /= self.scale
        inner = self.kernels[2](tables, motion, x[-1], weights)
        to = np.zeros((len(self.first), 5, 5))
        to[:, :4, :4], to[:, 4, 4] = self.weights, 1.0
        whole = np.einsum("pki,pkl,plj->pij", to, inner, to, optimize=True)
        one, two = self._triangle
        entries = np.zeros(len(self.hessian_at[0]))
        np.add.at(entries, self._into, whole[:, one, two].ravel())
        return entries

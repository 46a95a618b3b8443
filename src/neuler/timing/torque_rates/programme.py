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

import copy
import functools
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from neuler.functions.function import Function, function
from neuler.optimize.programme import Solution
from neuler.timing.paths import Path
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]
PLACES = (0.0, 0.5, 1.0)
"""Of an interval: where rows stand."""
AROUND = 3
"""Points on either side of one where a row is near its bound, whose rows are taken into the programme as well."""


def knots(intervals: int) -> Array:
    """Return the knots of a cubic spline over the shares of time."""
    return np.concatenate([[0.0] * 3, np.linspace(0.0, 1.0, intervals + 1), [1.0] * 3])


def greville(intervals: int) -> Array:
    """Return the shares of time of the control points, where a smooth law nearly has their values."""
    every = knots(intervals)
    return (every[1:-3] + every[2:-2] + every[3:-1]) / 3.0


@functools.cache
def rate_rows(size: int, rated: tuple[int, ...]) -> tuple[Function, Function, Function]:
    """Return rows and rates at a point by cubics of its tables, motion (way along the cubic, V, W, J) and T.

    Behind it come their Jacobian and Hessian.
    """

    def rows(cubics: Any, motion: Any, T: Any) -> Any:
        return rows_and_rates(*cubic_values(cubics, motion[0]), motion[1:], T, rated)

    made = function(rows, {"cubics": (4, 4, size), "motion": 4, "T": ()}, "rows", name="path_rates")
    return made, made.jacobian(["motion", "T"]), made.hessian(["motion", "T"])


def cubic_values(cubics: Any, h: Any) -> tuple[Any, Any]:
    """Return values and slopes of cubics, the highest power first, h along them."""
    three, two, one, zero = cubics
    return zero + h * (one + h * (two + h * three)), one + h * (2 * two + 3 * h * three)


def rows_and_rates(tables: Any, slopes: Any, motion: Any, T: Any, rated: tuple[int, ...]) -> Any:
    """Return rows, and rates of some, by a, b, c, d, their slopes and V, W, J."""
    (a, b, c, d), (da, db, dc, dd), (V, W, J), p = tables, slopes, motion, 1.0 / T
    value = p * p * (a * W + b * V * V) + p * d * V + c
    if not rated:
        return value
    rate = p * (p * p * (da * V * W + a * J + db * V * V * V + 2 * b * V * W) + p * (dd * V * V + d * W) + dc * V)
    return np.concatenate([value, rate[list(rated)]])


class RateProgramme:
    """The programme: min T over control points of s and T, rows at some places of every interval.

    Of all rows, (points, rows), those of ``chosen`` are in the programme; ``near_bounds`` says which others may matter.
    """

    def __init__(
        self,
        path: Path,
        tables: RateTables,
        ends: tuple[float, float],
        start: tuple[Array, float],
        margins: tuple[Array, Array],
        least: float = 1e-6,
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        """``margins``, (intervals, rows), are what bounds are narrower by, lower and upper; T is at least ``least``."""
        self.tables, self.path, self.ends = tables, path, ends
        points, duration = start
        count = len(points)
        self.intervals = count - 3
        self.basis = BSpline(knots(self.intervals), np.eye(count), 3)
        self.size = len(tables.lower)
        self.values = self.size - len(tables.rated)
        """Rows that are no rates: the first ones."""
        self.kernels = rate_rows(self.values, tables.rates)
        sides = [np.where(np.isfinite(x), np.abs(x), 0.0) for x in (tables.lower, tables.upper)]
        self.scale = np.maximum(np.maximum(*sides), 1e-6)
        self.n = count + 1
        self.start = np.append(points, duration)
        self.every = np.repeat(np.arange(self.intervals), len(PLACES))
        """The interval of every point, which is the number of its first control point; three follow."""
        self.weights = _weights(self.intervals)
        self._row_bounds(margins)
        self.least = least
        self._choose(self.possible if chosen is None else self.possible & chosen)

    def _choose(self, used: NDArray[np.bool_]) -> None:
        """Take some rows into the programme."""
        self.used = used
        self.at = np.flatnonzero(self.used.any(axis=1))
        """Points that have rows in the programme."""
        self.mask = self.used[self.at]
        self._bounds(self.n - 1, self.least)
        self._structure()
        self._last: tuple[bytes, Any] | None = None

    def _row_bounds(self, margins: tuple[Array, Array]) -> None:
        """Bounds of all rows, in parts of their scale, and which are bounded; values at a knot stand once."""
        lower, upper = (
            np.repeat(x, len(PLACES), axis=0) for x in (self.tables.lower + margins[0], self.tables.upper - margins[1])
        )
        first, last = slice(len(PLACES), None, len(PLACES)), slice(len(PLACES) - 1, -1, len(PLACES))
        cut = slice(0, self.values)
        lower[last, cut] = np.maximum(lower[last, cut], lower[first, cut])
        upper[last, cut] = np.minimum(upper[last, cut], upper[first, cut])
        self.low, self.high = lower / self.scale, upper / self.scale
        self.possible = np.isfinite(self.low) | np.isfinite(self.high)
        self.possible[first, cut] = False

    def _bounds(self, count: int, least: float) -> None:
        self.lower, self.upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        self.lower[:count], self.upper[:count] = self.path.start, self.path.end
        self.lower[-1] = least
        for k, speed in ((0, self.ends[0]), (-1, self.ends[1])):
            held = [0] if speed else [0, 1, 2]
            for j in held:
                at = j if k == 0 else count - 1 - j
                self.lower[at] = self.upper[at] = self.path.start if k == 0 else self.path.end
        rise = count - 1  # control points rise: s never goes back
        self.moving = [k for k in (0, 1) if self.ends[k]]
        zero = np.zeros(len(self.moving))
        self.row_lower = np.concatenate([self.low[self.used], np.zeros(rise), zero])
        self.row_upper = np.concatenate([self.high[self.used], np.full(rise, np.inf), zero])
        self.m = len(self.row_lower)

    def _structure(self) -> None:
        count = self.n - 1
        self.near = self.every[self.at, None] + np.arange(4)
        self.to = self.weights[self.at]
        """From four control points to s, V, W, J: (points, 4, 4)."""
        columns = np.concatenate([self.near, np.full((len(self.at), 1), count)], axis=1)  # four control points, T
        base, rise = int(self.used.sum()), np.arange(count - 1)
        every = np.repeat(columns[:, None, :], self.size, 1)[self.mask]
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
        places, into = np.unique(big.ravel() * self.n + small.ravel(), return_inverse=True)
        self.hessian_at, self._into = (places // self.n, places % self.n), into.ravel()
        self._triangle = one, two

    def _motion(self, x: Array, to: Array, near: NDArray[np.intp]) -> tuple[Array, Array]:
        """Cubics of the tables, and the way along them, V, W, J at points."""
        motion = (to @ x[:-1][near][..., None])[..., 0]
        edges = self.tables.edges
        k = np.clip(((motion[:, 0] - edges[0]) / (edges[1] - edges[0])).astype(int), 0, len(edges) - 2)
        motion[:, 0] -= edges[k]
        return self.tables.cubics[k], motion

    def _here(self, x: Array) -> tuple[Array, Array]:
        """The same at the points of the programme, once for every x."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._motion(x, self.to, self.near)
        found: tuple[Array, Array] = self._last[1]
        return found

    def everywhere(self, x: Array) -> Array:
        """Return all rows at all points, in the programme or not, in parts of their scale: (points, rows)."""
        near = self.every[:, None] + np.arange(4)
        found: Array = self.kernels[0](*self._motion(x, self.weights, near), x[-1]) / self.scale
        return found

    def near_bounds(self, x: Array, share: float) -> NDArray[np.bool_]:
        """Return which rows come nearer to a bound than a share of their scale, and those of neighbouring points."""
        values = self.everywhere(x)
        found = (values > self.high - share) | (values < self.low + share)
        around = found.copy()
        for k in range(1, AROUND + 1):
            around[k:] |= found[:-k]
            around[:-k] |= found[k:]
        return around & self.possible

    def with_rows(self, chosen: NDArray[np.bool_]) -> RateProgramme:
        """Return the same programme with other rows of all."""
        made = copy.copy(self)
        made._choose(self.possible & chosen)
        return made

    def warm(self, earlier: RateProgramme, solution: Solution) -> Solution:
        """Return an earlier solution with multipliers for these rows: zero for new ones."""
        every = np.zeros(self.used.shape)
        rows = int(earlier.used.sum())
        every[earlier.used] = solution.multipliers[:rows]
        return replace(solution, multipliers=np.concatenate([every[self.used], solution.multipliers[rows:]]))

    def objective(self, x: Array) -> float:
        """Return T."""
        return float(x[-1])

    def gradient(self, x: Array) -> Array:
        """Return the gradient of T."""
        found = np.zeros(self.n)
        found[-1] = 1.0
        return found

    def rows(self, x: Array) -> Array:
        """Return rows of all points in parts of their scale, rises of control points, speeds at the ends."""
        values = self.kernels[0](*self._here(x), x[-1]) / self.scale
        points = x[:-1]
        way = x[-1] / (3.0 * self.intervals)
        more = [points[1] - points[0] - self.ends[0] * way] if 0 in self.moving else []
        more += [points[-1] - points[-2] - self.ends[1] * way] if 1 in self.moving else []
        return np.concatenate([values[self.mask], np.diff(points), more])

    def jacobian(self, x: Array) -> Array:
        """Return the entries of the Jacobian of the rows."""
        slopes = self.kernels[1](*self._here(x), x[-1]) / self.scale[:, None]
        local = np.concatenate([slopes[..., :4] @ self.to, slopes[..., 4:]], axis=-1)
        more = [y for k in self.moving for y in (-1.0, 1.0, -self.ends[k] / (3.0 * self.intervals))]
        return np.concatenate([local[self.mask].ravel(), self._fixed, more])

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Return the entries of the Hessian of rows times multipliers; T itself has none."""
        weights = np.zeros(self.mask.shape)
        weights[self.mask] = multipliers[: len(self.row_lower) - (self.n - 2) - len(self.moving)]
        inner = self.kernels[2](*self._here(x), x[-1], weights / self.scale)
        to = np.zeros((len(self.at), 5, 5))
        to[:, :4, :4], to[:, 4, 4] = self.to, 1.0
        whole = to.transpose(0, 2, 1) @ inner @ to
        one, two = self._triangle
        return np.bincount(self._into, whole[:, one, two].ravel(), len(self.hessian_at[0])).astype(float, copy=False)


@functools.cache
def _weights(intervals: int) -> Array:
    """From four control points to s, V, W, J at all points: (points, 4, 4)."""
    basis = BSpline(knots(intervals), np.eye(intervals + 3), 3)
    edges = np.linspace(0.0, 1.0, intervals + 1)
    at = (edges[:-1, None] + np.array(PLACES) / intervals).ravel()
    middles = np.repeat(0.5 * (edges[:-1] + edges[1:]), len(PLACES))  # J is that of the interval
    every = np.stack([basis(np.minimum(at, 1.0), k) for k in range(3)] + [basis(middles, 3)], axis=1)
    near = np.repeat(np.arange(intervals), len(PLACES))[:, None] + np.arange(4)
    found: Array = np.take_along_axis(every, near[:, None, :], axis=2)
    return found

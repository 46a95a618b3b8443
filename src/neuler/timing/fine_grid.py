"""Rows between the points of a grid: on one ten times finer, and where joints turn back and friction jumps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.functions.function import Function, function
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.paths import Path, PathPoints
from neuler.timing.scans import FAR

Array = NDArray[np.float64]
BETWEEN = 10
"""Parts of an interval at whose ends rows are checked."""
TOLERANCE = 1e-6
"""Of 1 + |bound|: what a row may be beyond its bound."""


class FineGrid:
    """The same paths on a grid ten times finer, where u is that of the interval and x is linear."""

    def __init__(self, constraints: ConstraintSet, path: Path, s: Array) -> None:
        self.constraints = constraints
        even = np.linspace(0.0, 1.0, BETWEEN + 1)
        shares = np.tile(even, (len(s) - 1, 1))
        if len(shares) > 1:  # from rest and to rest friction grows as the root of the way
            shares[0], shares[-1] = even**4, 1.0 - (1.0 - even) ** 4
        every = s[:-1, None] + np.diff(s)[:, None] * shares
        every[:, -1] = s[1:]
        if path.everywhere:
            self.at = PathPoints.of(path, every.ravel())
        else:
            shares = shares[:, [0, -1]]
            picks = np.repeat(np.arange(len(s)), 2)[1:-1]
            self.at = PathPoints.of(path, s)[picks]
        self.shares = shares
        self.rows = constraints.rows(self.at)
        jumps = constraints.dynamics.has_friction and constraints.nonlinear
        self.turns = Reversals(constraints, path, s, self.at) if jumps and path.everywhere else None

    def between(self, x: Array, u: Array) -> tuple[Array, Array]:
        """Return x and u at all points of the fine grid."""
        first, last = x[..., :-1, None], x[..., 1:, None]
        here = first + (last - first) * self.shares
        push = np.broadcast_to(u[..., None], here.shape)
        return here.reshape((*x.shape[:-1], -1)), push.reshape((*x.shape[:-1], -1))

    def values(self, x: Array, u: Array) -> Array:
        """Return the values of all rows, (..., M, R)."""
        found: Array = self.rows.a * u[..., None] + self.rows.b * x[..., None] + self.rows.c
        if self.constraints.nonlinear:
            found = found + self.constraints.nonlinear_part(self.at, x, u)
        return found

    def excess(self, x: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """Return by interval and row what is below and above bounds, the share of x that ceilings allow, and
        the worst violation of each path."""
        lower, upper = self.constraints.lower, self.constraints.upper
        count, size = self.shares.shape[-1], len(lower)
        a, b, c, ceiling = self.rows
        if self.constraints.nonlinear:
            c = c + self.constraints.nonlinear_part(self.at, *self.between(np.nan_to_num(x), np.nan_to_num(u)))
        parts = [y.reshape((*x.shape[:-1], x.shape[-1] - 1, count, size)) for y in (a, b, c)]
        allowed = ceiling.reshape((*x.shape[:-1], x.shape[-1] - 1, count))
        known = np.stack([x[..., :-1], x[..., 1:], u], axis=-1)
        bounds = np.maximum(lower, -FAR), np.minimum(upper, FAR)
        if size:
            below, above, faster = _excess(count, size)(*parts, allowed, known, self.shares, *bounds)
        else:
            below = above = np.zeros((*known.shape[:-1], 0))
            with np.errstate(divide="ignore"):
                faster = (allowed / self.between(x, u)[0].reshape(allowed.shape)).min(axis=-1)
        if self.turns is not None:
            self.turns.excess(np.nan_to_num(x), np.nan_to_num(u), below, above)
        worst = np.maximum(0.0, 1.0 / np.sqrt(faster.min(axis=-1)) - 1.0)
        for side, bound in ((below, bounds[0]), (above, bounds[1])):
            worst = np.maximum(worst, (side / (1.0 + np.abs(bound))).max(axis=(-2, -1), initial=0.0))
        return below, above, np.where(faster < 1.0 - TOLERANCE, faster, 1.0), worst

    def slowed(self, x: Array, u: Array, worst: Array) -> tuple[Array, Array, Array]:
        """Return x and u slowed as a whole by the least factor that holds all bounds, and the worst violation then."""
        lower, upper = self.constraints.lower, self.constraints.upper
        for _ in range(8):
            here, push = self.between(x, u)
            values, rest = self.values(here, push), self.rows.c
            if self.constraints.nonlinear:
                rest = rest + self.constraints.nonlinear_part(self.at, np.zeros(here.shape), np.zeros(here.shape))
            moving = values - rest
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(
                    moving > 0, (upper - rest) / moving, np.where(moving < 0, (lower - rest) / moving, np.inf)
                )
                share = np.minimum(room.min(axis=(-2, -1), initial=np.inf), (self.rows.ceiling / here).min(axis=-1))
            share = np.clip(np.nan_to_num(share, nan=1.0), 0.0, 1.0)
            if not (share > 0).all():  # no slower motion holds it either
                break
            x, u = x * share[..., None], u * share[..., None]
            worst = self.excess(x, u)[-1]
            if np.nan_to_num(worst).max(initial=0.0) <= TOLERANCE:
                break
        return x, u, worst


class Reversals:
    """Points where a joint turns back, on both sides of each: Coulomb friction jumps there."""

    def __init__(self, constraints: ConstraintSet, path: Path, s: Array, fine: PathPoints) -> None:
        self.constraints = constraints
        flat = fine.first.reshape((-1, *fine.first.shape[-2:]))
        turns = [np.argwhere(each[:-1] * each[1:] < 0.0) for each in flat]
        self.count = max(map(len, turns))
        if not self.count:
            return
        joints, ends = np.full((len(flat), self.count), -1), np.full((2, len(flat), self.count), float(s[0]))
        for k, found in enumerate(turns):
            joints[k, : len(found)] = found[:, 1]
            ends[:, k, : len(found)] = fine.s[found[:, 0]], fine.s[found[:, 0] + 1]
        shape = (*path.shape, self.count)
        joints, ends = joints.reshape(shape), ends.reshape((2, *shape))
        chosen = np.maximum(joints, 0)[..., None]

        def slope(at: Array) -> Array:
            found: Array = np.take_along_axis(path(at, 1), chosen, axis=-1)[..., 0]
            return found

        low, high = ends
        sign = np.sign(slope(low))
        for _ in range(40):
            middle = 0.5 * (low + high)
            left = slope(middle) * sign > 0
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        at = PathPoints(low, *(path(low, order) for order in range(3)))
        self.interval = np.clip(np.searchsorted(s, low, side="right") - 1, 0, len(s) - 2)
        self.share = (low - s[self.interval]) / (s[self.interval + 1] - s[self.interval])
        self.sides = []
        for side in (-1.0, 1.0):
            first = at.first.copy()
            there = np.where(
                joints >= 0, side * 1e-9 * np.abs(first).max(axis=-1), np.take_along_axis(first, chosen, -1)[..., 0]
            )
            np.put_along_axis(first, chosen, there[..., None], axis=-1)
            self.sides.append(PathPoints(low, at.q, first, at.second))
        self.rows = constraints.rows(at)

    def excess(self, x: Array, u: Array, below: Array, above: Array) -> None:
        """Write what is beyond bounds there into ``below`` and ``above``, by interval and row."""
        if not self.count:
            return
        first, last, push = (np.take_along_axis(y, self.interval + k, -1) for y, k in ((x, 0), (x, 1), (u, 0)))
        here = first + (last - first) * self.share
        fixed = self.rows.a * push[..., None] + self.rows.b * here[..., None] + self.rows.c
        batch = np.indices(self.interval.shape)[:-1]
        for side in self.sides:
            value = fixed + self.constraints.nonlinear_part(side, here, push)
            np.maximum.at(below, (*batch, self.interval), self.constraints.lower - value)
            np.maximum.at(above, (*batch, self.interval), value - self.constraints.upper)


@functools.cache
def _excess(count: int, size: int) -> Function:
    """What rows of an interval are below and above their bounds, and the least ceiling of x, of x."""

    def excess(a: Any, b: Any, c: Any, ceiling: Any, known: Any, shares: Any, lower: Any, upper: Any) -> Any:
        first, last, u = known
        below, above = np.zeros(size, object), np.zeros(size, object)
        faster: Any = FAR
        for j in range(count):
            x = first + (last - first) * shares[j]
            value = a[j] * u + b[j] * x + c[j]
            below, above = nm.maximum(below, lower - value), nm.maximum(above, value - upper)
            faster = nm.minimum(faster, ceiling[j] / nm.maximum(x, 1e-200))
        return below, above, faster

    every = (count, size)
    inputs = {"a": every, "b": every, "c": every, "ceiling": count, "known": 3, "shares": count}
    inputs |= {"lower": size, "upper": size}
    return function(excess, inputs, ("below", "above", "faster"), name="path_excess")

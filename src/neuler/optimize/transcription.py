"""A plan as a sparse nonlinear programme: linear rows, and traced functions at many points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from neuler.optimize.blocks import Integers, Pointwise
from neuler.optimize.programme import Array, Places

MOST_PLACES = 20_000_000
"""Of a matrix, that a table may be made of."""


class Transcription:
    """min cost . x + sum of weighted values, subject to rows of groups and linear rows; a ``Programme``.

    Rows are those of the groups, one after the other, then A x. ``seconds`` counts the time spent in functions.
    """

    def __init__(
        self,
        cost: Array,
        groups: Sequence[Pointwise],
        bounds: tuple[Array, Array],
        linear: tuple[Any, Array, Array],
        start: Array,
    ) -> None:
        self.n = len(cost)
        self.cost, self.groups = cost, tuple(groups)
        self.lower, self.upper = bounds
        self.A, low, high = linear
        self.start = start
        sides = [group.bounds for group in groups]
        self.row_lower = np.concatenate([*(side[0] for side in sides), low])
        self.row_upper = np.concatenate([*(side[1] for side in sides), high])
        self.m = len(self.row_lower)
        self.seconds = 0.0
        self.offset = 0.0
        """A constant part of the objective."""
        self._slopes()
        self._bends()
        self._x: Array | None = None

    def _slopes(self) -> None:
        """Constant matrices from the functions' slopes to the entries of the Jacobian and to the gradient."""
        first = 0
        rows, columns = [], []
        parts = []
        for group in self.groups:
            row, column, source, value = group.slopes()
            rows.append(row + first)
            columns.append(column)
            parts.append((source, value, group.points * len(group.derived.slope_at[0])))
            first += group.count
        last = self.A.tocoo()
        rows.append(last.row.astype(np.intp) + first)
        columns.append(last.col.astype(np.intp))
        self.jacobian_at, targets = _places(rows, columns, self.n)
        size = len(self.jacobian_at[0])
        self._to_jacobian = [
            sparse.csr_matrix((value, (target, source)), shape=(size, width))
            for target, (source, value, width) in zip(targets, parts, strict=False)
        ]
        self._constant = np.bincount(targets[-1], weights=last.data, minlength=size).astype(float)
        self._to_gradient = [group.gradient_operator(self.n) if group.weighted else None for group in self.groups]

    def _bends(self) -> None:
        """Constant matrices from the functions' second derivatives to the entries of the Hessian."""
        found = [group.bends() for group in self.groups if group.derived.bend is not None]
        self.hessian_at, targets = _places([x[0] for x in found], [x[1] for x in found], self.n)
        size = len(self.hessian_at[0])
        bent = [group for group in self.groups if group.derived.bend is not None]
        made = {
            id(group): sparse.csr_matrix(
                (value, (target, source)), shape=(size, group.points * len(group.derived.bend_at[0]))
            )
            for group, target, (_, _, source, value) in zip(bent, targets, found, strict=True)
        }
        self._to_hessian = [made.get(id(group)) for group in self.groups]

    # ---- functions --------------------------------------------------------------------------------------------

    def _at(self, x: Array) -> None:
        """Inputs and values of all groups, kept until x changes."""
        if self._x is not None and np.array_equal(self._x, x):
            return
        self._inputs = [group.inputs(x) for group in self.groups]
        self._values = [group.values(inputs) for group, inputs in zip(self.groups, self._inputs, strict=True)]
        self._slope: list[Array] | None = None
        self._x = np.array(x)

    def _slopes_at(self, x: Array) -> list[Array]:
        self._at(x)
        if self._slope is None:
            self._slope = [
                np.asarray(group.derived.slope(**inputs)).reshape(-1)
                for group, inputs in zip(self.groups, self._inputs, strict=True)
            ]
        return self._slope

    def objective(self, x: Array) -> float:
        """f(x)."""
        begin = time.perf_counter()
        self._at(x)
        total = float(self.cost @ x) + self.offset
        for group, values in zip(self.groups, self._values, strict=True):
            if group.weighted:
                total += float(np.vdot(group.weights, values))
        self.seconds += time.perf_counter() - begin
        return total

    def gradient(self, x: Array) -> Array:
        """df/dx, (n)."""
        begin = time.perf_counter()
        found = self.cost.copy()
        for operator, slope in zip(self._to_gradient, self._slopes_at(x), strict=True):
            if operator is not None:
                found += operator @ slope
        self.seconds += time.perf_counter() - begin
        return found

    def rows(self, x: Array) -> Array:
        """g(x), (m)."""
        begin = time.perf_counter()
        self._at(x)
        parts = [values[group.kept] * group.row_scale for group, values in zip(self.groups, self._values, strict=True)]
        found = np.concatenate([*parts, self.A @ x])
        self.seconds += time.perf_counter() - begin
        return found

    def jacobian(self, x: Array) -> Array:
        """Entries of dg/dx at ``jacobian_at``."""
        begin = time.perf_counter()
        found = self._constant.copy()
        for operator, slope in zip(self._to_jacobian, self._slopes_at(x), strict=True):
            found += operator @ slope
        self.seconds += time.perf_counter() - begin
        return found

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Entries of the second derivatives of weight f + multipliers . g at ``hessian_at``."""
        begin = time.perf_counter()
        self._at(x)
        found = np.zeros(len(self.hessian_at[0]))
        first = 0
        for group, operator, inputs in zip(self.groups, self._to_hessian, self._inputs, strict=True):
            last = first + group.count
            if operator is not None and group.derived.bend is not None:
                weights = weight * group.weights
                weights[group.kept] += multipliers[first:last] * group.row_scale
                bend = np.asarray(group.derived.bend(**inputs, weights=weights))
                found += operator @ bend.reshape(-1)
            first = last
        self.seconds += time.perf_counter() - begin
        return found


def _places(rows: Sequence[Integers], columns: Sequence[Integers], n: int) -> tuple[Places, list[Integers]]:
    """All places once, row by row, and for every part the numbers of its places."""
    if not rows:
        none = np.zeros(0, dtype=np.intp)
        return (none, none), []
    keys = [row * n + column for row, column in zip(rows, columns, strict=True)]
    size = 1 + max((int(key.max()) for key in keys if key.size), default=-1)
    if size > MOST_PLACES:
        every, number = np.unique(np.concatenate(keys), return_inverse=True)
        edges = np.cumsum([len(key) for key in keys])[:-1]
        return (every // n, every % n), [part.astype(np.intp) for part in np.split(number, edges)]
    taken = np.zeros(size, dtype=bool)  # a table of all places is quicker than sorting
    for key in keys:
        taken[key] = True
    every, place = np.flatnonzero(taken), np.cumsum(taken) - 1
    return (every // n, every % n), [place[key] for key in keys]

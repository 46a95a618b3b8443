"""A programme of blocks: constant sparse matrices lead from the derivatives of its functions to its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.optimize.blocks import Block
from neuler.optimize.composed import ComposedBlock
from neuler.optimize.overall import Overall, Spread
from neuler.optimize.programme import Array, Places

Integers = NDArray[np.intp]
MOST_PLACES = 20_000_000
"""Places of a matrix up to which a table of all of them is made: quicker than sorting."""


class BlockProgramme:
    """min cost . x + weighted values of blocks, subject to their rows and to linear rows; a ``Programme``.

    Rows are those of the blocks, each with its totals, one after the other, then A x. ``overall`` are terms of the
    objective that are functions of sums over all points. ``seconds`` counts the time spent in functions; ``offset`` is
    a constant part of the objective. Without ``bent_rows`` the Hessian is that of the objective alone: for steps about
    a point, which need no second derivatives of rows.
    """

    def __init__(
        self,
        cost: Array,
        blocks: Sequence[Block | ComposedBlock],
        bounds: tuple[Array, Array],
        linear: tuple[Any, Array, Array] | None = None,
        start: Array | None = None,
        offset: float = 0.0,
        overall: Sequence[Overall] = (),
        bent_rows: bool = True,
    ) -> None:
        self.n = len(cost)
        self.bent_rows = bent_rows
        self.cost, self.offset, self.overall = cost, offset, tuple(overall)
        self.blocks: tuple[Any, ...] = tuple(blocks)  # either kind: what they take at x is their own business
        self.lower, self.upper = bounds
        none = sparse.csr_matrix((0, self.n)), np.zeros(0), np.zeros(0)
        self.A, low, high = none if linear is None else linear
        self.start = np.zeros(self.n) if start is None else start
        sides = [block.bounds for block in blocks]
        self.row_lower = np.concatenate([*(side[0] for side in sides), low])
        self.row_upper = np.concatenate([*(side[1] for side in sides), high])
        self.m = len(self.row_lower)
        self.seconds = 0.0
        self._spreads = [Spread(term, self.blocks) for term in overall]
        self._jacobian_operators()
        self._hessian_operators()
        self._x: Array | None = None

    def _jacobian_operators(self) -> None:
        """Constant matrices from the functions' Jacobians to the entries of the programme's and to the gradient."""
        rows, columns, constants = [], [], []
        parts = []
        first = 0
        for block in self.blocks:
            row, column, source, value = block.jacobian_terms()
            rows.append(row + first)
            columns.append(column)
            parts.append((source, value, block.jacobian_size))
            first += block.count
            if block.totals:
                constants.append((first, block.total_coefficients.tocoo()))
                first += len(block.totals)
        constants.append((first, self.A.tocoo()))
        rows.append(np.concatenate([matrix.row.astype(np.intp) + at for at, matrix in constants]))
        columns.append(np.concatenate([matrix.col.astype(np.intp) for _, matrix in constants]))
        data = np.concatenate([matrix.data for _, matrix in constants])
        self.jacobian_at, targets = _places(rows, columns, self.n)
        size = len(self.jacobian_at[0])
        self._to_jacobian = [
            sparse.csr_matrix((value, (target, source)), shape=(size, width))
            for target, (source, value, width) in zip(targets, parts, strict=False)
        ]
        self._constant = np.bincount(targets[-1], weights=data, minlength=size).astype(float)
        self._to_gradient = [block.gradient_operator(self.n) if block.weighted else None for block in self.blocks]

    def _hessian_operators(self) -> None:
        """Constant matrices from the functions' Hessians to the entries of the programme's."""
        bent = [block for block in self.blocks if block.hessian_size and (self.bent_rows or block.weighted)]
        sums = {id(block): [x.sums[k] for x in self.overall if k in x.sums] for k, block in enumerate(self.blocks)}
        found = [block.hessian_terms(sums[id(block)]) for block in bent]
        dense = [each.places for each in self._spreads]
        self.hessian_at, targets = _places(
            [*(x[0] for x in found), *(rows for rows, _ in dense)],
            [*(x[1] for x in found), *(columns for _, columns in dense)],
            self.n,
        )
        self._dense_targets = targets[len(found) :]
        size = len(self.hessian_at[0])
        made = {}
        for block, target, (_, _, source, value) in zip(bent, targets, found, strict=False):
            made[id(block)] = sparse.csr_matrix((value, (target, source)), shape=(size, block.hessian_size))
        self._to_hessian = [made.get(id(block)) for block in self.blocks]

    # ---- functions --------------------------------------------------------------------------------------------

    def _at(self, x: Array) -> None:
        """Inputs and values of all blocks, kept until x changes."""
        if self._x is not None and np.array_equal(self._x, x):
            return
        self._inputs = [block.inputs(x) for block in self.blocks]
        self._values = [block.values(inputs) for block, inputs in zip(self.blocks, self._inputs, strict=True)]
        self._entries: list[Array] | None = None
        self._x = np.array(x)

    def _entries_at(self, x: Array) -> list[Array]:
        """Entries of the functions' Jacobians, flat."""
        self._at(x)
        if self._entries is None:
            self._entries = [
                block.jacobian_entries(inputs) for block, inputs in zip(self.blocks, self._inputs, strict=True)
            ]
        return self._entries

    def objective(self, x: Array) -> float:
        """f(x)."""
        begin = time.perf_counter()
        self._at(x)
        total = float(self.cost @ x) + self.offset
        for block, values in zip(self.blocks, self._values, strict=True):
            if block.weighted:
                total += float(np.vdot(block.weights, values))
        for each in self._spreads:
            total += each.term.value(each.term.at(self._values))
        self.seconds += time.perf_counter() - begin
        return total

    def gradient(self, x: Array) -> Array:
        """df/dx, (n)."""
        begin = time.perf_counter()
        found = self.cost.copy()
        for operator, entries in zip(self._to_gradient, self._entries_at(x), strict=True):
            if operator is not None:
                found += operator @ entries
        for each in self._spreads:
            D = each.jacobian(self._entries_at(x))
            found[each.columns] += D.T @ each.term.slopes(each.term.at(self._values))
        self.seconds += time.perf_counter() - begin
        return found

    def rows(self, x: Array) -> Array:
        """g(x), (m)."""
        begin = time.perf_counter()
        self._at(x)
        parts: list[Array] = []
        for block, values in zip(self.blocks, self._values, strict=True):
            parts.append(values[block.bounded] * block.row_scale)
            if block.totals:
                parts.append(block.total_weights @ values.ravel() + block.total_coefficients @ x)
        found = np.concatenate([*parts, self.A @ x])
        self.seconds += time.perf_counter() - begin
        return found

    def jacobian(self, x: Array) -> Array:
        """Entries of dg/dx at ``jacobian_at``."""
        begin = time.perf_counter()
        found = self._constant.copy()
        for operator, entries in zip(self._to_jacobian, self._entries_at(x), strict=True):
            found += operator @ entries
        self.seconds += time.perf_counter() - begin
        return found

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Entries of the second derivatives of weight f + multipliers . g at ``hessian_at``."""
        begin = time.perf_counter()
        self._at(x)
        found = np.zeros(len(self.hessian_at[0]))
        totals = [each.term.at(self._values) for each in self._spreads]
        slopes = [each.term.slopes(total) for each, total in zip(self._spreads, totals, strict=True)]
        first = 0
        for k, (block, operator, inputs) in enumerate(zip(self.blocks, self._to_hessian, self._inputs, strict=True)):
            last = first + block.count
            if operator is not None:
                weights = weight * block.weights
                if self.bent_rows:
                    weights[block.bounded] += multipliers[first:last] * block.row_scale
                if block.totals and self.bent_rows:
                    sums = block.total_weights.T @ multipliers[last : last + len(block.totals)]
                    weights += sums.reshape(weights.shape)
                for each, slope in zip(self._spreads, slopes, strict=True):
                    if k in each.term.sums:
                        weights += weight * (each.term.sums[k].T @ slope).reshape(weights.shape)
                found += operator @ block.hessian_entries(inputs, weights)
            first = last + len(block.totals)
        for each, total, target in zip(self._spreads, totals, self._dense_targets, strict=True):
            curvature = each.term.curvature(total)
            if curvature is not None:
                D = each.jacobian(self._entries_at(x))
                found[target] += weight * (D.T @ (curvature @ D))[each.lower]
        self.seconds += time.perf_counter() - begin
        return found

    def multipliers_of(self, multipliers: Array) -> tuple[list[Array], Array]:
        """Of the rows of every block, (points, rows), zero where there is none; and those of totals and linear rows."""
        found, rest, first = [], [], 0
        for block in self.blocks:
            part = np.zeros(block.bounded.shape)
            part[block.bounded] = multipliers[first : first + block.count]
            first += block.count
            rest.append(multipliers[first : first + len(block.totals)])
            first += len(block.totals)
            found.append(part)
        return found, np.concatenate([*rest, multipliers[first:]])

    def with_multipliers(self, parts: Sequence[Array], rest: Array) -> Array:
        """Multipliers of all rows from those of blocks, (points, rows), and the rest: :meth:`multipliers_of` undone."""
        found, first = [], 0
        for block, part in zip(self.blocks, parts, strict=True):
            found += [part[block.bounded], rest[first : first + len(block.totals)]]
            first += len(block.totals)
        return np.concatenate([*found, rest[first:]])


def _places(rows: Sequence[Integers], columns: Sequence[Integers], n: int) -> tuple[Places, list[Integers]]:
    """All places once, row by row, and for every part the numbers of its places."""
    if not rows:
        none = np.zeros(0, dtype=np.intp)
        return (none, none), []
    size = 1 + max((int(row.max()) * n + n for row in rows if row.size), default=-1)
    if size > MOST_PLACES:
        keys = [row.astype(np.intp) * n + column for row, column in zip(rows, columns, strict=True)]
        every, number = np.unique(np.concatenate(keys), return_inverse=True)
        edges = np.cumsum([len(key) for key in keys])[:-1]
        return (every // n, every % n), [part.astype(np.intp) for part in np.split(number, edges)]
    keys = [row * n + column for row, column in zip(rows, columns, strict=True)]
    taken = np.zeros(size, dtype=bool)  # a table of all places is quicker than sorting
    for key in keys:
        taken[key] = True
    every, place = np.flatnonzero(taken), np.cumsum(taken, dtype=np.int32) - 1
    return (every // n, every % n), [place[key] for key in keys]

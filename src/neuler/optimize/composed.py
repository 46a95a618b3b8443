"""Rows that are functions of points which another block computes: distances of many pairs of points.

A block gives points p_1(z), p_2(z), ... at every time; a row is d(p_a - p_b), or d(p_a), at one of them. With D the
derivative of the difference by z, n and M the first and second derivatives of d by it:

dd/dz = n^T D,    d2(w d)/dz2 = sum of (w n) . d2(p_a - p_b)/dz2 + D^T (w M) D

The points and their derivatives are computed once for all rows at a time, and the second derivatives of all rows
together are one Hessian at every time: a row more costs a few operations on three numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.blocks import Block, Total, bent_terms, pulled
from neuler.optimize.elimination import Elimination
from neuler.optimize.programme import Array

Integers = NDArray[np.intp]


class OfPoints(Protocol):
    """Functions of a point, by their numbers: (R) of them at (R, 3)."""

    @property
    def first(self) -> Integers:
        """Which point each function takes."""
        ...

    @property
    def second(self) -> Integers:
        """Which point is subtracted from it; -1: none."""
        ...

    def values(self, at: Array, pairs: Integers) -> Array:
        """Their values, (R)."""
        ...

    def slopes(self, at: Array, pairs: Integers) -> Array:
        """Their derivatives, (R, 3)."""
        ...

    def bends(self, at: Array, pairs: Integers, weights: Array) -> Array:
        """Their second derivatives times weights (R): (R, 3, 3)."""
        ...


@dataclass(frozen=True, eq=False)
class ComposedBlock:
    """Rows lower <= d(p_a - p_b) <= upper, row r at point ``at[r]`` of the block ``inner``, by function ``pairs[r]``.

    ``inner`` has the coordinates of all points as its values, three for each; none of them is bounded or weighted.
    ``scale`` divides rows and their bounds. What a programme asks of it is the same as of a :class:`Block`.
    """

    inner: Block
    outer: OfPoints
    at: Integers
    pairs: Integers
    lower: Array
    """(R, 1), as all that is said of rows."""
    upper: Array
    scale: float = 1.0
    name: str = ""
    totals: tuple[Total, ...] = ()

    weighted = False

    @property
    def points(self) -> int:
        """How many rows it has: each is a point of its own."""
        return len(self.at)

    count = points

    @property
    def point_count(self) -> int:
        """How many points p the inner block gives."""
        return self.inner.derivatives.rows // 3

    @cached_property
    def bounded(self) -> NDArray[np.bool_]:
        """Which distances are rows of the programme, (pairs, 1): each one is."""
        return np.ones((len(self.at), 1), dtype=bool)

    @property
    def weights(self) -> Array:
        """No part in the objective."""
        return np.zeros((len(self.at), 1))

    @cached_property
    def row_scale(self) -> Array:
        """What its rows are multiplied by."""
        return np.full(len(self.at), 1.0 / self.scale)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Of its rows, scaled."""
        return self.lower[:, 0] / self.scale, self.upper[:, 0] / self.scale

    @property
    def map(self) -> Any:
        """That of the inner block."""
        return self.inner.map

    def eliminated(self, elimination: Elimination) -> ComposedBlock:
        """The same block of the variables y that are left, x = Z y + c."""
        return replace(self, inner=self.inner.eliminated(elimination))

    # ---- values and derivatives -----------------------------------------------------------------------------------

    def inputs(self, x: Array) -> Composition:
        """What its functions take, and all that follows from it, computed when it is asked for."""
        return Composition(self, self.inner.inputs(x))

    def values(self, inputs: Composition) -> Array:
        """Of the functions, (R, 1)."""
        return inputs.block.outer.values(inputs.at, self.pairs)[:, None]

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which numbers of z each row depends on, (R, width)."""
        rows, columns = self.inner.derivatives.jacobian.places
        reach = np.zeros((self.point_count, self.inner.derivatives.width), dtype=bool)
        reach[rows // 3, columns] = True
        first, second = self.outer.first[self.pairs], self.outer.second[self.pairs]
        return np.asarray(reach[first] | (reach[second] & (second >= 0)[:, None]))

    @property
    def jacobian_size(self) -> int:
        """How many entries dd/dz has, of all rows."""
        return int(self.used.sum())

    def jacobian_entries(self, inputs: Composition) -> Array:
        """dd/dz of all rows, row by row."""
        return np.asarray(np.einsum("rc,rcj->rj", inputs.slopes, inputs.D)[self.used])

    def jacobian_terms(self) -> tuple[Integers, Integers, Integers, Array]:
        """Row, column, number among all entries of dd/dz, and coefficient."""
        row, z = np.nonzero(self.used)
        entry, column, value = pulled(self.map, self.at[row] * self.inner.derivatives.width + z)
        return row[entry], column, entry, value / self.scale

    @cached_property
    def _bent(self) -> tuple[Integers, Integers]:
        """Places of second derivatives by z, in the lower triangle."""
        width = self.inner.derivatives.width
        found = np.zeros((width, width), dtype=bool)
        hessian = self.inner.derivatives.hessian
        if hessian is not None:
            found[hessian.places] = True
        for mask in np.unique(self.used, axis=0):
            found |= mask[:, None] & mask
        row, column = np.nonzero(np.tril(found))
        return row, column

    @property
    def hessian_size(self) -> int:
        """How many second derivatives by z there are, at all points of the inner block."""
        return self.inner.points * len(self._bent[0]) if len(self.at) else 0

    def hessian_terms(self, sums: Any = ()) -> tuple[Integers, Integers, Integers, Array]:
        """Of the lower triangle: row, column, number among all second derivatives by z, and coefficient."""
        used = np.zeros(self.inner.points, dtype=bool)
        used[self.at] = True
        return bent_terms(self.map, self._bent, used, self.inner.derivatives.width)

    @cached_property
    def _groups(self) -> tuple[Integers, Integers]:
        """Rows of the same difference at the same point of the inner block: the first of each group, and its number."""
        many = self.point_count + 1
        key = (self.at * many + self.outer.first[self.pairs]) * many + self.outer.second[self.pairs] + 1
        _, one, group = np.unique(key, return_index=True, return_inverse=True)
        return one, group.ravel()

    def hessian_entries(self, inputs: Composition, weights: Array) -> Array:
        """Second derivatives by z of the sum of all rows by ``weights`` (R, 1), at all points of the inner block."""
        w, inner = weights[:, 0], self.inner
        pull = np.zeros((inner.points, self.point_count, 3))
        first, second = self.outer.first[self.pairs], self.outer.second[self.pairs]
        push = w[:, None] * inputs.slopes
        np.add.at(pull, (self.at, first), push)
        own = second >= 0
        np.subtract.at(pull, (self.at[own], second[own]), push[own])
        width = inner.derivatives.width
        found = np.zeros((inner.points, width, width))
        hessian = inner.derivatives.hessian
        if hessian is not None:
            found[:, hessian.places[0], hessian.places[1]] = hessian(
                **inputs.inner, weights=pull.reshape(inner.points, -1)
            )
        one, group = self._groups
        M = np.zeros((len(one), 3, 3))
        np.add.at(M, group, self.outer.bends(inputs.at, self.pairs, w))
        D = inputs.D[one]
        np.add.at(found, self.at[one], np.einsum("gci,gcj->gij", D, M @ D))
        return np.asarray(found[:, self._bent[0], self._bent[1]]).reshape(-1)


class Composition:
    """A composed block at one x: the inner block's points, the rows' own, and first derivatives."""

    def __init__(self, block: ComposedBlock, inner: Mapping[str, Array]) -> None:
        self.block, self.inner = block, inner

    @cached_property
    def at(self) -> Array:
        """p_a - p_b, or p_a, of every row: (R, 3)."""
        block = self.block
        points = block.inner.values(self.inner).reshape(block.inner.points, block.point_count, 3)
        first, second = block.outer.first[block.pairs], block.outer.second[block.pairs]
        found = points[block.at, first]
        own = second >= 0
        found[own] -= points[block.at[own], second[own]]
        return np.asarray(found)

    @cached_property
    def slopes(self) -> Array:
        """Derivatives of the rows by their points, (R, 3)."""
        return self.block.outer.slopes(self.at, self.block.pairs)

    @cached_property
    def D(self) -> Array:
        """Derivatives of the rows' points by z, (R, 3, width)."""
        block, derivatives = self.block, self.block.inner.derivatives
        rows, columns = derivatives.jacobian.places
        flat = np.zeros((block.inner.points, derivatives.rows, derivatives.width))
        flat[:, rows, columns] = derivatives.jacobian(**self.inner)
        J = flat.reshape(block.inner.points, block.point_count, 3, derivatives.width)
        first, second = block.outer.first[block.pairs], block.outer.second[block.pairs]
        found = J[block.at, first]
        own = second >= 0
        found[own] -= J[block.at[own], second[own]]
        return np.asarray(found)

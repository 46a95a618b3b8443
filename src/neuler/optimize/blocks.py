"""A traced function at many points, each a linear map of the variables: values, and derivatives as sparse operators.

z_i = L_i x + l_i are the numbers that the function takes at point i: derivatives of splines, durations, slacks. With
z linear in x the chain rule, Barman (4.15), is a constant matrix from the function's own derivatives at all points to
the entries of the programme's:

dg/dx = (dg/dz) L,    d2(w g)/dx2 = L^T (d2(w g)/dz2) L

Each evaluation is one call of a compiled kernel for all points and one product with a sparse matrix.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError
from neuler.functions.derivatives import Bends, Slopes
from neuler.functions.function import Function
from neuler.optimize.programme import Array

Integers = NDArray[np.intp]


LARGE = 20_000
"""Operations times inputs up to which derivatives are written out as matrices, which run faster and compile longer."""


class Derived:
    """A function with one flat output, and the entries of its derivatives with respect to some inputs."""

    def __init__(self, function: Function, wrt: Sequence[str]) -> None:
        self.function, self.wrt = function, tuple(wrt)
        self.rows = function.outputs[0].size
        sizes = {operand.name: operand.size for operand in function.inputs}
        self.widths = [sizes[name] for name in wrt]
        self.width = sum(self.widths)
        self.known = [operand.name for operand in function.inputs if operand.name not in wrt]
        cost = function.operations
        self.large = (cost.mul + cost.add + cost.div + cost.trig) * self.width > LARGE

    @cached_property
    def slope(self) -> Callable[..., Array]:
        """Entries of the Jacobian, (points, entries)."""
        return Slopes(self.function, self.wrt) if self.large else self.function.jacobian(list(self.wrt), sparse=True)

    @cached_property
    def slope_at(self) -> tuple[Integers, Integers]:
        """Rows and columns of these."""
        return _structure(self.slope)

    @cached_property
    def bend(self) -> Callable[..., Array] | None:
        """Entries of the lower triangle of second derivatives, summed with weights; none of a linear function."""
        if self.large:
            found = Bends(self.function, self.wrt)
            return found if len(found.rows) else None
        try:
            return self.function.hessian(list(self.wrt), sparse="lower")
        except InputError:  # linear
            return None

    @cached_property
    def bend_at(self) -> tuple[Integers, Integers]:
        """Rows and columns of these."""
        return _structure(self.bend)

    def compiled(self) -> None:
        """Make the machine code of all of them now, at a point that does not matter."""
        inputs = {operand.name: np.ones((1, *operand.shape)) for operand in self.function.inputs}
        with np.errstate(all="ignore"):
            self.function(**inputs)
            self.slope(**inputs)
            if self.bend is not None:
                self.bend(**inputs, weights=np.ones((1, self.rows)))

    def inputs(self, z: Array, known: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays by name, of z (points, width)."""
        shapes = {operand.name: operand.shape for operand in self.function.inputs}
        found = dict(known)
        at = 0
        for name, size in zip(self.wrt, self.widths, strict=True):
            part = z[:, at : at + size]
            found[name] = part if len(shapes[name]) == 1 else part[:, 0]
            at += size
        return found


KEPT = 32
"""Functions of plans that are kept, with their derivatives: plans that differ in numbers alone share them."""
_kept: OrderedDict[tuple[str, tuple[str, ...]], Derived] = OrderedDict()
_lock = threading.Lock()


def derived(function: Function, wrt: Sequence[str]) -> Derived:
    """The function and its derivatives; of one with the same operations, those that are there."""
    key = function._listing.digest, tuple(wrt)
    with _lock:
        found = _kept.setdefault(key, Derived(function, wrt))
        _kept.move_to_end(key)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found


def _structure(entries: Any) -> tuple[Integers, Integers]:
    if entries is None:
        return (np.zeros(0, dtype=np.intp),) * 2
    if isinstance(entries, Function):
        (axes,) = entries.structure.values()
        rows, columns = (np.asarray(axis, dtype=np.intp) for axis in axes)
        return rows, columns
    return entries.rows, entries.columns


@dataclass(eq=False)
class Pointwise:
    """A derived function at points; its rows bounded, its values weighted in the objective, or both.

    ``lower`` and ``upper`` are (points, rows), infinite where there is no bound; ``weights`` alike, zero where a value
    is not part of the objective. ``scale`` (rows) divides rows and their bounds.
    """

    derived: Derived
    L: Any
    l: Array
    known: Mapping[str, Array]
    lower: Array
    upper: Array
    weights: Array
    scale: Array
    tag: Any = None
    """What it is for."""

    def __post_init__(self) -> None:
        self.points = len(self.lower)
        self.kept = np.isfinite(self.lower) | np.isfinite(self.upper)
        self.row_scale = np.broadcast_to(1.0 / self.scale, self.lower.shape)[self.kept]
        self.weighted = bool(np.any(self.weights))

    @property
    def count(self) -> int:
        """Rows of the programme."""
        return int(self.kept.sum())

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Of its rows, scaled."""
        return self.lower[self.kept] * self.row_scale, self.upper[self.kept] * self.row_scale

    def inputs(self, x: Array) -> dict[str, Array]:
        """What the function takes at every point."""
        z = (self.L @ x + self.l).reshape(self.points, self.derived.width)
        return self.derived.inputs(z, self.known)

    def values(self, inputs: Mapping[str, Array]) -> Array:
        """Of the function, (points, rows)."""
        return np.asarray(self.derived.function(**inputs))

    # ---- operators --------------------------------------------------------------------------------------------

    def slopes(self) -> tuple[Integers, Integers, Integers, Array]:
        """Of the rows: row, column, entry among all the function's slopes, and coefficient."""
        rows, columns = self.derived.slope_at
        numbers = np.full(self.kept.shape, -1, dtype=np.intp)
        numbers[self.kept] = np.arange(self.count)
        row = numbers[:, rows].ravel()
        chosen = np.flatnonzero(row >= 0)
        entry, column, value = _pulled(self.L, self._local(columns)[chosen])
        row = row[chosen][entry]
        return row, column, chosen[entry], value * self.row_scale[row]

    def gradient_operator(self, n: int) -> Any:
        """From all slopes to the gradient of the weighted sum."""
        rows, columns = self.derived.slope_at
        weight = self.weights[:, rows].ravel()
        chosen = np.flatnonzero(weight)
        entry, column, value = _pulled(self.L, self._local(columns)[chosen])
        source = chosen[entry]
        return sparse.csr_matrix((value * weight[source], (column, source)), shape=(n, self.points * len(rows)))

    def bends(self) -> tuple[Integers, Integers, Integers, Array]:
        """Of the Hessian's lower triangle: row, column, entry among all the function's second derivatives, and factor.

        An entry h of z_j, z_k stands for h (u v^T + v u^T), u and v being rows j and k of L, or h u u^T where j = k.
        """
        j, k = self.derived.bend_at
        felt = (self.kept | (self.weights != 0.0)).any(axis=1)
        every = np.repeat(felt, len(j))
        chosen = np.flatnonzero(every)
        entry, first, value = _pulled(self.L, self._local(j)[chosen])
        source = chosen[entry]
        entry, second, more = _pulled(self.L, self._local(k)[source])
        source, first, value = source[entry], first[entry], value[entry] * more
        diagonal = np.tile(j == k, self.points)[source]
        inside = ~diagonal | (first >= second)  # h u u^T is symmetric by itself: its upper triangle is left away
        source, first, second = source[inside], first[inside], second[inside]
        twice = ~diagonal[inside] & (first == second)
        value = np.where(twice, 2.0, 1.0) * value[inside]
        return np.maximum(first, second), np.minimum(first, second), source, value

    def _local(self, columns: Integers) -> Integers:
        """Rows of L for entries in these columns of z, at all points."""
        points = np.arange(self.points, dtype=np.intp)[:, None] * self.derived.width
        return (points + columns).ravel()


def _pulled(L: Any, rows: Integers) -> tuple[Integers, Integers, Array]:
    """Entries of rows of L, one row behind the other: the row's place in ``rows``, the column, the value."""
    starts, counts = L.indptr[rows], np.diff(L.indptr)[rows]
    total = int(counts.sum())
    place = np.repeat(np.arange(len(rows), dtype=np.intp), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts, counts) + within
    return place, L.indices[at].astype(np.intp), L.data[at]

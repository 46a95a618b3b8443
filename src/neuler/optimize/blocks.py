"""Blocks: compiled functions at many points, their inputs linear in the variables; programmes are made of them.

z_i = L_i x + l_i are the numbers that a function takes at point i: derivatives of splines, durations. With z
linear in x the chain rule, Barman (4.15), is a constant matrix from the function's own derivatives at all points to the
entries of the programme's:

dg/dx = (dg/dz) L,    d2(w g)/dx2 = L^T (d2(w g)/dz2) L

Each evaluation is one call of a compiled kernel for all points and one product with a sparse matrix. A point is what
the inputs say: one time of a motion, two of them (periodicity, joined phases), or all. A row over all points is a
:class:`Total` of a block's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError
from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import Function
from neuler.optimize.elimination import Elimination
from neuler.optimize.programme import Array

Integers = NDArray[np.intp]
TERMS = 200_000
"""Terms of second derivatives that are made at a time: about as many as caches hold."""


@dataclass(frozen=True, eq=False)
class Total:
    """A row over all points: lower <= sum of ``weights`` times values + coefficients . x <= upper."""

    weights: Any
    """(points, rows), an array or a sparse matrix."""
    lower: float
    upper: float
    coefficients: Mapping[int, float] = field(default_factory=dict)
    """Of the variables in it, by their numbers."""
    name: str = ""


@dataclass(frozen=True, eq=False)
class Block:
    """A function at points; its rows bounded, its values weighted in the objective, or both.

    ``lower`` and ``upper`` are (points, rows), infinite where there is no bound; ``weights`` alike, zero where a value
    is not part of the objective. ``scale`` (rows) divides rows and their bounds. ``totals`` are rows over all points.
    :meth:`of` makes one from a function and a matrix for each of its inputs.
    """

    derivatives: Derivatives
    map: Any
    """L: sparse, (points times width, n), point by point the inputs one behind the other."""
    offset: Array
    """l, (points times width)."""
    constants: Mapping[str, Array]
    """Inputs that do not depend on the variables, (points, ...)."""
    lower: Array
    upper: Array
    weights: Array
    scale: Array
    totals: tuple[Total, ...] = ()
    name: str = ""

    @classmethod
    def of(
        cls,
        function: Function,
        maps: Mapping[str, Any],
        points: int,
        *,
        lower: Any = -np.inf,
        upper: Any = np.inf,
        weights: Any = 0.0,
        scale: Any = 1.0,
        offsets: Mapping[str, Array] | None = None,
        constants: Mapping[str, Array] | None = None,
        totals: Sequence[Total] = (),
        name: str = "",
    ) -> Block:
        """A function of one flat output at ``points``.

        ``maps``: by input, a sparse matrix (points times its size, n) that gives its numbers at all points by the
        variables; ``offsets``: what is added, (points, size). ``constants``: inputs that do not depend on variables,
        (points, ...). Bounds, weights and scales broadcast to (points, rows), or (rows).

        >>> import neuler
        >>> f = neuler.function(lambda x: [x[0] * x[1]], {"x": 2})
        >>> block = Block.of(f, {"x": sparse.eye(4)}, 2, upper=1.0)
        >>> block.values(block.inputs(np.array([1.0, 2.0, 3.0, 4.0]))).tolist()
        [[2.0], [12.0]]
        """
        _check(function, maps, points, constants or {})
        wrt = [operand.name for operand in function.inputs if operand.name in maps]
        found = derivatives(function, wrt, points)
        order = np.concatenate(
            [
                first + np.arange(points)[:, None] * size + np.arange(size)
                for first, size in zip(np.cumsum([0, *(points * k for k in found.widths)]), found.widths, strict=False)
            ],
            axis=1,
        ).ravel()  # from input by input to point by point
        L = sparse.vstack([sparse.csr_matrix(maps[each]) for each in wrt]).tocsr()[order]
        more = [(offsets or {}).get(each, 0.0) for each in wrt]
        l = [np.broadcast_to(x, (points, k)) for x, k in zip(more, found.widths, strict=True)]
        shape = (points, found.rows)
        low, high, weight = (np.broadcast_to(np.asarray(x, float), shape).copy() for x in (lower, upper, weights))
        size = np.broadcast_to(np.asarray(scale, float), (found.rows,)).copy()
        offset = np.concatenate(l, axis=1).ravel().astype(float)
        return cls(
            found, L, offset, dict(constants or {}), low, high, weight, size, tuple(totals), name or function.name
        )

    def __post_init__(self) -> None:
        for what, value in (("lower", self.lower), ("upper", self.upper), ("weights", self.weights)):
            if value.shape != self.lower.shape or np.isnan(value).any():
                raise InputError(
                    f"block {self.name!r}: {what} must be numbers of shape {self.lower.shape} (points, rows), got "
                    f"shape {value.shape}{' with NaN' if np.isnan(value).any() else ''}"
                )

    @property
    def points(self) -> int:
        """At how many points the function is evaluated."""
        return len(self.lower)

    @cached_property
    def bounded(self) -> NDArray[np.bool_]:
        """Which values are rows of the programme, (points, rows)."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    @cached_property
    def row_scale(self) -> Array:
        """What its rows are multiplied by."""
        return np.broadcast_to(1.0 / self.scale, self.lower.shape)[self.bounded]

    @cached_property
    def weighted(self) -> bool:
        """Whether it has a part in the objective."""
        return bool(np.any(self.weights))

    @cached_property
    def count(self) -> int:
        """Rows of the programme at points, without totals."""
        return int(self.bounded.sum())

    @cached_property
    def total_weights(self) -> Any:
        """Weights of all totals, a sparse matrix (totals, points times rows)."""
        size = self.lower.size
        rows = [sparse.csr_matrix(total.weights).reshape(1, size) for total in self.totals]
        return sparse.vstack(rows).tocsr() if rows else sparse.csr_matrix((0, size))

    @cached_property
    def total_coefficients(self) -> Any:
        """Coefficients of the variables in all totals, a sparse matrix (totals, n)."""
        entries = [(k, at, x) for k, total in enumerate(self.totals) for at, x in total.coefficients.items()]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        return sparse.csr_matrix((values, (rows, columns)), shape=(len(self.totals), self.map.shape[1]))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Of its rows, scaled, then of its totals."""
        sides = [side[self.bounded] * self.row_scale for side in (self.lower, self.upper)]
        low, high = [total.lower for total in self.totals], [total.upper for total in self.totals]
        return np.concatenate([sides[0], low]), np.concatenate([sides[1], high])

    def eliminated(self, elimination: Elimination) -> Block:
        """The same block of the variables y that are left, x = Z y + c."""
        Z, c = elimination.Z, elimination.c
        offset = np.asarray(self.map @ c) + self.offset
        return replace(self, map=(self.map @ Z).tocsr(), offset=offset, totals=self._eliminated_totals(Z, c))

    def _eliminated_totals(self, Z: Any, c: Array) -> tuple[Total, ...]:
        if not self.totals:
            return ()
        left, shift = (self.total_coefficients @ Z).tocsr(), self.total_coefficients @ c
        totals = []
        for k, total in enumerate(self.totals):
            row = left[k]
            coefficients = dict(zip(map(int, row.indices), map(float, row.data), strict=True))
            low, high = total.lower - float(shift[k]), total.upper - float(shift[k])
            totals.append(replace(total, coefficients=coefficients, lower=low, upper=high))
        return tuple(totals)

    def inputs(self, x: Array) -> dict[str, Array]:
        """What the function takes at every point."""
        z = (self.map @ x + self.offset).reshape(self.points, self.derivatives.width)
        return self.derivatives.inputs(z, self.constants)

    def values(self, inputs: Mapping[str, Array]) -> Array:
        """Of the function, (points, rows)."""
        return np.asarray(self.derivatives.function(**inputs))

    @property
    def jacobian_size(self) -> int:
        """How many entries the function's Jacobians have at all points together."""
        return self.points * len(self.derivatives.jacobian.places[0])

    def jacobian_entries(self, inputs: Mapping[str, Array]) -> Array:
        """Entries of the function's Jacobians at all points, one behind the other."""
        return np.asarray(self.derivatives.jacobian(**inputs)).reshape(-1)

    @property
    def hessian_size(self) -> int:
        """How many entries the function's Hessians have at all points together; 0 of a linear function."""
        hessian = self.derivatives.hessian
        return 0 if hessian is None else self.points * len(hessian.places[0])

    def hessian_entries(self, inputs: Mapping[str, Array], weights: Array) -> Array:
        """Entries of the Hessians of the sums of its values by ``weights`` (points, rows), at all points."""
        assert self.derivatives.hessian is not None
        return np.asarray(self.derivatives.hessian(**inputs, weights=weights)).reshape(-1)

    # ---- constant matrices from the function's derivatives to the programme's -----------------------------------

    def jacobian_terms(self) -> tuple[Integers, Integers, Integers, Array]:
        """Of its rows and totals: row, column, number among all entries of the function's Jacobian, and coefficient."""
        rows, columns = self.derivatives.jacobian.places
        numbers = np.full(self.bounded.shape, -1, dtype=np.intp)
        numbers[self.bounded] = np.arange(self.count)
        row = numbers[:, rows].ravel()
        chosen = np.flatnonzero(row >= 0)
        entry, column, value = pulled(self.map, self._local(columns)[chosen])
        row = row[chosen][entry]
        if not self.totals:
            return row, column, chosen[entry], value * self.row_scale[row]
        number, more_columns, source, more = self.sum_terms(self.total_weights)
        return (
            np.concatenate([row, self.count + number]),
            np.concatenate([column, more_columns]),
            np.concatenate([chosen[entry], source]),
            np.concatenate([value * self.row_scale[row], more]),
        )

    def sum_terms(self, sums: Any) -> tuple[Integers, Integers, Integers, Array]:
        """Of ``sums`` of its values, by a sparse matrix of weights (sums, points times rows).

        Number of the sum, column, number among all entries of the function's Jacobian, and coefficient.
        """
        rows, columns = self.derivatives.jacobian.places
        weights = sums.tocoo()
        point, row = np.divmod(weights.col.astype(np.intp), self.derivatives.rows)
        order = np.argsort(rows, kind="stable")  # entries row by row
        counts = np.bincount(rows, minlength=self.derivatives.rows)
        first = np.cumsum(counts) - counts
        each = np.repeat(np.arange(len(row), dtype=np.intp), counts[row])
        within = np.arange(len(each)) - np.repeat(np.cumsum(counts[row]) - counts[row], counts[row])
        source = point[each] * len(rows) + order[first[row[each]] + within]
        entry, column, value = pulled(self.map, self._local(columns)[source])
        number = weights.row.astype(np.intp)[each][entry]
        return number, column, source[entry], value * weights.data[each][entry]

    def gradient_operator(self, n: int) -> Any:
        """From all entries of the function's Jacobian to the gradient of the weighted sum."""
        rows, columns = self.derivatives.jacobian.places
        weight = self.weights[:, rows].ravel()
        chosen = np.flatnonzero(weight)
        entry, column, value = pulled(self.map, self._local(columns)[chosen])
        source = chosen[entry]
        return sparse.csr_matrix((value * weight[source], (column, source)), shape=(n, self.points * len(rows)))

    def hessian_terms(self, sums: Sequence[Any] = ()) -> tuple[Integers, Integers, Integers, Array]:
        """Of the lower triangle: row, column, number among all entries of the function's Hessian, and coefficient.

        ``sums`` of its values are used besides its rows, weights and totals: matrices as in :meth:`sum_terms`.

        An entry h of z_j, z_k stands for h (u v^T + v u^T), u and v being rows j and k of L, or h u u^T where j = k.
        """
        assert self.derivatives.hessian is not None
        j, k = self.derivatives.hessian.places
        used = (self.bounded | (self.weights != 0.0)).any(axis=1)
        for weights in (*([self.total_weights] if self.totals else []), *sums):
            used[weights.indices // self.derivatives.rows] = True
        return bent_terms(self.map, (j, k), used, self.derivatives.width)

    def _local(self, columns: Integers) -> Integers:
        """Rows of L for entries in these columns of z, at all points."""
        return _local(self.points, self.derivatives.width, columns)


def bent_terms(
    L: Any, places: tuple[Integers, Integers], used: NDArray[np.bool_], width: int
) -> tuple[Integers, Integers, Integers, Array]:
    """From Hessians by z at points to the lower triangle by x: row, column, number of the entry, coefficient.

    ``places``: of the entries of each; ``used``: the points that count; ``width``: of z.
    """
    points = np.flatnonzero(used)
    most = int(np.diff(L.indptr).max(initial=1))
    size = max(1, TERMS // (len(places[0]) * most * most + 1))
    parts = [_bent_terms(L, places, points[at : at + size], width) for at in range(0, len(points), size)]
    if not parts:
        none = np.zeros(0, dtype=np.intp)
        return none, none, none, np.zeros(0)
    rows, columns, sources, values = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(sources), np.concatenate(values)


def _bent_terms(L: Any, places: tuple[Integers, Integers], points: Integers, width: int) -> tuple[Any, Any, Any, Array]:
    """:func:`bent_terms` of some points; short integers, for there are many."""
    j, k = places
    number = (points[:, None] * len(j) + np.arange(len(j))).ravel().astype(np.int32)
    entry, first, value = pulled(L, (points[:, None] * width + j).ravel())
    again, second, more = pulled(L, (points[:, None] * width + k).ravel()[entry])
    entry, first, value = entry[again], first[again], value[again] * more
    diagonal = np.tile(j == k, len(points))[entry]
    inside = ~diagonal | (first >= second)  # h u u^T is symmetric by itself: its upper triangle is left away
    entry, first, second = entry[inside], first[inside], second[inside]
    twice = ~diagonal[inside] & (first == second)
    value = np.where(twice, 2.0, 1.0) * value[inside]
    row, column = np.maximum(first, second), np.minimum(first, second)
    return row.astype(np.int32), column.astype(np.int32), number[entry], value


def _local(points: int, width: int, columns: Integers) -> Integers:
    """Rows of L for entries in these columns of z, at all points."""
    return (np.arange(points, dtype=np.intp)[:, None] * width + columns).ravel()


def _check(function: Function, maps: Mapping[str, Any], points: int, constants: Mapping[str, Array]) -> None:
    """Refuse maps that do not fit the function."""
    called = f"block of {function.name!r}"
    if len(function.outputs) != 1 or len(function.outputs[0].shape) != 1:
        raise InputError(f"{called}: the function must give one flat array of rows, a list of numbers")
    known = {operand.name: operand.size for operand in function.inputs}
    for name in (*maps, *constants):
        if name not in known:
            raise InputError(f"{called}: there is no input {name!r}; its inputs are {', '.join(known)}")
    if not maps:
        raise InputError(f"{called}: maps are needed: by input, a matrix from the variables to its numbers")
    widths = {each.shape[1] for each in maps.values()}
    if len(widths) > 1:
        raise InputError(f"{called}: all maps must have as many columns as there are variables, got {sorted(widths)}")
    for name, size in known.items():
        if name in maps and maps[name].shape[0] != points * size:
            raise InputError(
                f"{called}: the map of {name!r} must have {points} x {size} rows, got {maps[name].shape[0]}"
            )
        if name not in maps and name not in constants:
            raise InputError(f"{called}: input {name!r} has neither a map nor a constant")


def pulled(L: Any, rows: Integers) -> tuple[Integers, Integers, Array]:
    """Entries of rows of L, one row behind the other: the row's place in ``rows``, the column, the value."""
    starts, counts = L.indptr[rows], np.diff(L.indptr)[rows]
    total = int(counts.sum())
    place = np.repeat(np.arange(len(rows), dtype=np.intp), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts, counts) + within
    return place, L.indices[at].astype(np.intp), L.data[at]

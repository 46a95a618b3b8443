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

import time
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
from neuler.optimize.overall import Overall, Spread
from neuler.optimize.programme import Array, Places

Integers = NDArray[np.intp]
MOST_PLACES = 20_000_000
"""Places of a matrix up to which a table of all of them is made: quicker than sorting."""


@dataclass(frozen=True, eq=False)
class Total:
    """A row over all points: lower <= sum of ``weights`` times values + coefficients . x <= upper."""

    weights: Any
    """(points, rows), an array or a sparse matrix."""
    lower: float
    upper: float
    coefficients: Mapping[int, float] = field(default_factory=dict)
    """By variable."""
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
        left, shift = (self.total_coefficients @ Z).tocsr(), self.total_coefficients @ c
        totals = []
        for k, total in enumerate(self.totals):
            row = left[k]
            coefficients = dict(zip(map(int, row.indices), map(float, row.data), strict=True))
            low, high = total.lower - float(shift[k]), total.upper - float(shift[k])
            totals.append(replace(total, coefficients=coefficients, lower=low, upper=high))
        offset = np.asarray(self.map @ c) + self.offset
        return replace(self, map=(self.map @ Z).tocsr(), offset=offset, totals=tuple(totals))

    def inputs(self, x: Array) -> dict[str, Array]:
        """What the function takes at every point."""
        z = (self.map @ x + self.offset).reshape(self.points, self.derivatives.width)
        return self.derivatives.inputs(z, self.constants)

    def values(self, inputs: Mapping[str, Array]) -> Array:
        """Of the function, (points, rows)."""
        return np.asarray(self.derivatives.function(**inputs))

    # ---- constant matrices from the function's derivatives to the programme's -----------------------------------

    def jacobian_terms(self) -> tuple[Integers, Integers, Integers, Array]:
        """Of its rows and totals: row, column, number among all entries of the function's Jacobian, and coefficient."""
        rows, columns = self.derivatives.jacobian.places
        numbers = np.full(self.bounded.shape, -1, dtype=np.intp)
        numbers[self.bounded] = np.arange(self.count)
        row = numbers[:, rows].ravel()
        chosen = np.flatnonzero(row >= 0)
        entry, column, value = _pulled(self.map, self._local(columns)[chosen])
        row = row[chosen][entry]
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
        entry, column, value = _pulled(self.map, self._local(columns)[source])
        number = weights.row.astype(np.intp)[each][entry]
        return number, column, source[entry], value * weights.data[each][entry]

    def gradient_operator(self, n: int) -> Any:
        """From all entries of the function's Jacobian to the gradient of the weighted sum."""
        rows, columns = self.derivatives.jacobian.places
        weight = self.weights[:, rows].ravel()
        chosen = np.flatnonzero(weight)
        entry, column, value = _pulled(self.map, self._local(columns)[chosen])
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
        for weights in (self.total_weights, *sums):
            used[weights.indices // self.derivatives.rows] = True
        chosen = np.flatnonzero(np.repeat(used, len(j)))
        entry, first, value = _pulled(self.map, self._local(j)[chosen])
        source = chosen[entry]
        entry, second, more = _pulled(self.map, self._local(k)[source])
        source, first, value = source[entry], first[entry], value[entry] * more
        diagonal = np.tile(j == k, self.points)[source]
        inside = ~diagonal | (first >= second)  # h u u^T is symmetric by itself: its upper triangle is left away
        source, first, second = source[inside], first[inside], second[inside]
        twice = ~diagonal[inside] & (first == second)
        value = np.where(twice, 2.0, 1.0) * value[inside]
        return np.maximum(first, second), np.minimum(first, second), source, value

    def _local(self, columns: Integers) -> Integers:
        """Rows of L for entries in these columns of z, at all points."""
        points = np.arange(self.points, dtype=np.intp)[:, None] * self.derivatives.width
        return (points + columns).ravel()


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


def _pulled(L: Any, rows: Integers) -> tuple[Integers, Integers, Array]:
    """Entries of rows of L, one row behind the other: the row's place in ``rows``, the column, the value."""
    starts, counts = L.indptr[rows], np.diff(L.indptr)[rows]
    total = int(counts.sum())
    place = np.repeat(np.arange(len(rows), dtype=np.intp), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts, counts) + within
    return place, L.indices[at].astype(np.intp), L.data[at]


class BlockProgramme:
    """min cost . x + weighted values of blocks, subject to their rows and to linear rows; a ``Programme``.

    Rows are those of the blocks, each with its totals, one after the other, then A x. ``overall`` are terms of the
    objective that are functions of sums over all points. ``seconds`` counts the time spent in functions; ``offset`` is
    a constant part of the objective.
    """

    def __init__(
        self,
        cost: Array,
        blocks: Sequence[Block],
        bounds: tuple[Array, Array],
        linear: tuple[Any, Array, Array] | None = None,
        start: Array | None = None,
        offset: float = 0.0,
        overall: Sequence[Overall] = (),
    ) -> None:
        self.n = len(cost)
        self.cost, self.blocks, self.offset, self.overall = cost, tuple(blocks), offset, tuple(overall)
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
            parts.append((source, value, block.points * len(block.derivatives.jacobian.places[0])))
            first += block.count
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
        bent = [block for block in self.blocks if block.derivatives.hessian is not None]
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
            assert block.derivatives.hessian is not None
            width = block.points * len(block.derivatives.hessian.places[0])
            made[id(block)] = sparse.csr_matrix((value, (target, source)), shape=(size, width))
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
                np.asarray(block.derivatives.jacobian(**inputs)).reshape(-1)
                for block, inputs in zip(self.blocks, self._inputs, strict=True)
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
            if operator is not None and block.derivatives.hessian is not None:
                weights = weight * block.weights
                weights[block.bounded] += multipliers[first:last] * block.row_scale
                if block.totals:
                    sums = block.total_weights.T @ multipliers[last : last + len(block.totals)]
                    weights += sums.reshape(weights.shape)
                for each, slope in zip(self._spreads, slopes, strict=True):
                    if k in each.term.sums:
                        weights += weight * (each.term.sums[k].T @ slope).reshape(weights.shape)
                entries = np.asarray(block.derivatives.hessian(**inputs, weights=weights))
                found += operator @ entries.reshape(-1)
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

"""Sparse Jacobians and Hessians of a function with one flat output, as entries at many points.

There are three ways to the same entries. *Written out*, a kernel gives all of them at once: it runs fastest, and takes
longest to compile, for it grows with the number of inputs. *By rows* or *by columns*, one kernel weights^T J or J v is
called with unit vectors at all points together, and *by products* H v alike: each is a small multiple of the function.
Rows that share no column, or columns that share no row, go into one product (Curtis, Powell and Reid 1974).
:class:`Derivatives` chooses by a budget of operations to compile, and by the number of points they are evaluated at.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.functions.differentiated import Opened
from neuler.functions.function import Function
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import pull_back

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
Places = tuple[Integers, Integers]
"""Rows and columns of entries."""

BUDGET = 20_000
"""Operations times inputs up to which derivatives are written out, of functions evaluated at a few hundred points."""
MANY = 500
"""Points from which on the budget grows with their number, up to ``MOST`` times: there kernels run longer than they
compile."""
MOST = 4.0


class Entries(Protocol):
    """Entries of a sparse matrix at many points, and their places."""

    places: Places

    def __call__(self, **inputs: Array) -> Array:
        """The entries at all points, (points, entries); inputs have a row a point."""
        ...


class WrittenOut:
    """Entries by one kernel that gives all of them."""

    def __init__(self, function: Function) -> None:
        (axes,) = function.structure.values()
        rows, columns = (np.asarray(axis, dtype=np.intp) for axis in axes)
        self.function, self.places = function, (rows, columns)

    def __call__(self, **inputs: Array) -> Array:
        """The entries at all points, (points, entries); inputs have a row a point."""
        return np.asarray(self.function(**inputs))


class JacobianByProducts:
    """Entries of the Jacobian by rows, weights^T J, or by columns, J v: of whichever fewer products are needed."""

    def __init__(self, function: Function, wrt: Sequence[str], by: str | None = None) -> None:
        opened = Opened(function._listing, [x.name for x in function.outputs], wrt)
        reached = dependence(opened.variables, opened.results)
        rows = np.array([i for i, found in enumerate(reached) for _ in found], dtype=np.intp)
        columns = np.array([j for found in reached for j in sorted(found)], dtype=np.intp)
        self.places = rows, columns
        by_row, by_column = groups(rows, columns, len(reached)), groups(columns, rows, len(opened.variables))
        self.by = by or ("rows" if by_row.max(initial=0) <= by_column.max(initial=0) else "columns")
        if self.by == "rows":
            self.product = function.vjp(list(wrt))
            self.given: dict[str, Array] = {"weights": _units(by_row)}
            self.place = by_row[rows], columns
        else:
            self.product = function.jvp(list(wrt))
            self.given = _directions(opened, _units(by_column))
            self.place = by_column[columns], rows

    def __call__(self, **inputs: Array) -> Array:
        """The entries at all points, (points, entries); inputs have a row a point."""
        spread = {name: x[:, None] for name, x in inputs.items()}
        return _stacked(self.product(**spread, **self.given), self.product)[:, self.place[0], self.place[1]]


class HessianByProducts:
    """Entries of the lower triangle of the Hessian of the weighted sum of outputs: H v with sums of unit vectors."""

    def __init__(self, function: Function, wrt: Sequence[str]) -> None:
        opened = Opened(function._listing, [x.name for x in function.outputs], wrt)
        variables = opened.variables
        reached = dependence(variables, pull_back(opened.results, opened.weights(), variables))
        lower = sorted({(max(i, j), min(i, j)) for i, found in enumerate(reached) for j in found})
        rows = np.array([i for i, _ in lower], dtype=np.intp)
        columns = np.array([j for _, j in lower], dtype=np.intp)
        self.places = rows, columns
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        group = groups(both[1], both[0], len(variables), only=set(columns.tolist()))
        self.place = group[columns], rows
        self.product = function.hvp(list(wrt)) if lower else None
        self.given = _directions(opened, _units(group))

    def __call__(self, **inputs: Array) -> Array:
        """The entries at all points, (points, entries); inputs have a row a point."""
        assert self.product is not None
        spread = {name: x[:, None] for name, x in inputs.items()}
        return _stacked(self.product(**spread, **self.given), self.product)[:, self.place[0], self.place[1]]


class Derivatives:
    """A function with one flat output, and entries of its derivatives with respect to the inputs ``wrt``.

    ``points``: at about how many points they are evaluated at a time; ``budget``: see the module's text.

    >>> import neuler
    >>> f = neuler.function(lambda x, y: [x[0] * x[1], y**2], {"x": 2, "y": ()})
    >>> found = Derivatives(f, ["x", "y"])
    >>> [axis.tolist() for axis in found.jacobian.places]
    [[0, 0, 1], [0, 1, 2]]
    >>> found.jacobian(x=np.array([[2.0, 3.0]]), y=np.array([4.0])).tolist()
    [[3.0, 2.0, 8.0]]
    """

    def __init__(
        self, function: Function, wrt: Sequence[str], points: int | None = None, budget: float = BUDGET
    ) -> None:
        self.function, self.wrt = function, tuple(wrt)
        self.rows = function.outputs[0].size
        sizes = {operand.name: operand.size for operand in function.inputs}
        self.widths = [sizes[name] for name in wrt]
        self.width = sum(self.widths)
        """Numbers of all inputs ``wrt``."""
        self.constants = [operand.name for operand in function.inputs if operand.name not in wrt]
        """Inputs that are not differentiated."""
        cost = function.operations
        size = (cost.mul + cost.add + cost.div + cost.trig) * self.width
        self.by_products = size > budget * min(max((points or 0) / MANY, 1.0), MOST)

    @cached_property
    def jacobian(self) -> Entries:
        """Entries d(row)/d(input), (points, entries); columns count the numbers of ``wrt`` one behind the other."""
        if self.by_products:
            return JacobianByProducts(self.function, self.wrt)
        return WrittenOut(self.function.jacobian(list(self.wrt), sparse=True))

    @cached_property
    def hessian(self) -> Entries | None:
        """Entries of the lower triangle of second derivatives, of the rows' sum by an input ``weights`` (points, rows).

        None of a linear function.
        """
        if self.by_products:
            found = HessianByProducts(self.function, self.wrt)
            return found if found.product is not None else None
        try:
            return WrittenOut(self.function.hessian(list(self.wrt), sparse="lower"))
        except InputError:  # linear
            return None

    def compile(self) -> None:
        """Make the machine code of all of them now, at a point that does not matter."""
        inputs = {operand.name: np.ones((1, *operand.shape)) for operand in self.function.inputs}
        with np.errstate(all="ignore"):
            self.function(**inputs)
            self.jacobian(**inputs)
            if self.hessian is not None:
                self.hessian(**inputs, weights=np.ones((1, self.rows)))

    def inputs(self, z: Array, constants: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays by name: of z (points, width), the numbers of ``wrt``, and of the ``constants``."""
        shapes = {operand.name: operand.shape for operand in self.function.inputs}
        found = dict(constants)
        first = 0
        for name, size in zip(self.wrt, self.widths, strict=True):
            part = z[:, first : first + size]
            found[name] = part.reshape(len(z), *shapes[name]) if len(shapes[name]) != 1 else part
            first += size
        return found


CACHED = 32
"""Functions that are cached with their derivatives: programmes that differ in numbers alone share them."""
_cached: OrderedDict[tuple[Any, ...], Derivatives] = OrderedDict()
_lock = threading.Lock()


def derivatives(function: Function, wrt: Sequence[str], points: int | None = None) -> Derivatives:
    """The function and its derivatives; of one with the same operations, those that are there already."""
    key = function._listing.digest, tuple(wrt), min(max((points or 0) // MANY, 1), int(MOST))
    with _lock:
        found = _cached.setdefault(key, Derivatives(function, wrt, points))
        _cached.move_to_end(key)
        while len(_cached) > CACHED:
            _cached.popitem(last=False)
    return found


def groups(lines: Integers, across: Integers, count: int, only: Iterable[int] | None = None) -> Integers:
    """A number for each of ``count`` lines (rows or columns), alike for some that share no entry; -1 of others.

    ``lines`` and ``across`` are the places of entries. Greedy, in order. ``only``: the lines that are needed.

    >>> groups(np.array([0, 1, 2]), np.array([0, 0, 1]), 3).tolist()
    [0, 1, 0]
    """
    needed = range(count) if only is None else sorted(only)
    mine: list[set[int]] = [set() for _ in range(count)]
    for line, other in zip(lines.tolist(), across.tolist(), strict=True):
        mine[line].add(other)
    taken: list[set[int]] = []
    found = np.full(count, -1, dtype=np.intp)
    for line in needed:
        number = next((k for k, busy in enumerate(taken) if busy.isdisjoint(mine[line])), len(taken))
        if number == len(taken):
            taken.append(set())
        taken[number] |= mine[line]
        found[line] = number
    return found


def _units(group: Integers) -> Array:
    """Sums of the unit vectors of each group, (groups, lines)."""
    found = np.zeros((int(group.max(initial=-1)) + 1, len(group)))
    used = np.flatnonzero(group >= 0)
    found[group[used], used] = 1.0
    return found


def _directions(opened: Opened, units: Array) -> dict[str, Array]:
    """Vectors (directions, variables) by the names of a product's inputs."""
    found, first = {}, 0
    for operand, nodes in opened.wrt:
        part = units[:, first : first + len(nodes)]
        found[f"d{operand.name}"] = part.reshape(len(units), *operand.shape)
        first += len(nodes)
    return found


def _stacked(found: Any, function: Function) -> Array:
    """Several results, (points, vectors, ...) each, one behind the other on the last axis."""
    parts = found if isinstance(found, tuple) else (found,)
    flat = [
        np.asarray(x).reshape(*np.shape(x)[: np.ndim(x) - len(operand.shape)], -1)
        for x, operand in zip(parts, function.outputs, strict=True)
    ]
    return np.concatenate(flat, axis=-1)

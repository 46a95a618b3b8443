"""Linear equalities E x = e, taken away rather than imposed: x = Z y + c, y a part of x.

Boundary conditions, symmetry and periodicity of splines are linear in control points and durations. Each independent
equality makes one variable, the one with the largest coefficient, a function of the others.

>>> found = eliminated(2, [Equality({0: 1.0, 1: 1.0}, 3.0, "sum")])
>>> found.free, found.c
(array([1]), array([3., 0.]))
>>> found.Z.toarray()
array([[-1.],
       [ 1.]])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError

Array = NDArray[np.float64]

SMALL = 1e-11
"""What is left of an equality that follows from others, beside its largest coefficient."""
SAME = 1e-9
"""How far right sides may differ that should be the same."""


@dataclass(frozen=True)
class Equality:
    """sum of coefficients times variables = value; ``name`` says in messages what it is."""

    coefficients: Mapping[int, float]
    value: float
    name: str


@dataclass(frozen=True)
class Elimination:
    """x = Z y + c with y = x[free]."""

    Z: Any
    """Sparse, (n, free)."""
    c: Array
    free: NDArray[np.intp]


def eliminated(n: int, equalities: Sequence[Equality], keep: Collection[int] = ()) -> Elimination:
    """Solve equalities for as many variables; those in ``keep`` only where there is no other.

    Equalities that follow from others are dropped. Such that contradict others are refused by their names.
    """
    used = sorted({k for equality in equalities for k in equality.coefficients})
    column = {k: i for i, k in enumerate(used)}
    table = np.zeros((len(equalities), len(used) + 1))
    for row, equality in zip(table, equalities, strict=True):
        for k, value in equality.coefficients.items():
            row[column[k]] += value
        row[-1] = equality.value
    given = np.abs(table[:, :-1]).max(axis=1, initial=0.0)
    wanted = np.array([k not in keep for k in used], dtype=bool)
    pivots: list[tuple[int, int]] = []
    for i, row in enumerate(table):
        for before, at in pivots:
            row -= row[at] * table[before]
        sizes = np.abs(row[:-1])
        if sizes.max(initial=0.0) <= SMALL * max(given[i], 1e-300):
            if abs(row[-1]) > SAME * (1.0 + abs(equalities[i].value)):
                others = [equalities[before].name for before, _ in pivots if _share(equalities[before], equalities[i])]
                against = f" ({', '.join(dict.fromkeys(others))})" if others else ""
                raise InputError(
                    f"{equalities[i].name}: contradicts what is asked for besides{against}, by "
                    f"{abs(row[-1]):.3g}; drop one of them, or use more control points"
                )
            row[:] = 0.0
            continue
        preferred = np.where(wanted, sizes, 0.0)
        at = int(np.argmax(preferred if preferred.max() > SMALL * given[i] else sizes))
        row /= row[at]
        for before, _ in pivots:
            table[before] -= table[before, at] * row
        pivots.append((i, at))
    return _spread(n, table, used, pivots)


def _share(a: Equality, b: Equality) -> bool:
    return not a.coefficients.keys().isdisjoint(b.coefficients)


def _spread(n: int, table: Array, used: Sequence[int], pivots: Sequence[tuple[int, int]]) -> Elimination:
    """The solved rows as a matrix over all variables."""
    dependent = {used[at] for _, at in pivots}
    free = np.array([k for k in range(n) if k not in dependent], dtype=np.intp)
    place = {int(k): i for i, k in enumerate(free)}
    c = np.zeros(n)
    rows, columns, values = list(map(int, free)), list(range(len(free))), [1.0] * len(free)
    for i, at in pivots:
        c[used[at]] = table[i, -1]
        for j in np.flatnonzero(np.abs(table[i, :-1]) > SMALL):
            if j != at:
                rows.append(used[at])
                columns.append(place[used[int(j)]])
                values.append(-float(table[i, j]))
    return Elimination(sparse.csr_matrix((values, (rows, columns)), shape=(n, len(free))), c, free)

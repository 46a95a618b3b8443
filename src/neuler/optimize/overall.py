"""Functions of a whole motion: terms of an objective that depend on sums over all points of blocks.

s = sum of W_b v_b over blocks b, v_b being the values of a block at all its points; f(s) is the term. With D = ds/dx

df/dx = D^T f',    d2f/dx2 = sum of f'_k d2s_k/dx2 + D^T f'' D

The first part of the second derivatives is that of weighted values and as sparse; the other is dense over all variables
that the sums depend on. Sums are no variables of the programme, and need no rows: f is evaluated at true sums alone, so
that a function which exists for some only (a logarithm) is never asked for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import Function
from neuler.optimize.programme import Array, Places

if TYPE_CHECKING:
    from neuler.optimize.blocks import Block

Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Overall:
    """``weight`` times a function of sums over all points of blocks, a term of the objective.

    ``function`` takes one array of sums, and returns one number. ``sums``: by the number of a block in its programme, a
    sparse matrix (sums, points times rows) of the weights of its values.
    """

    function: Function
    sums: Mapping[int, Any]
    weight: float = 1.0
    name: str = ""

    @cached_property
    def derivatives(self) -> Derivatives:
        """The function with its first and second derivatives."""
        return derivatives(self.function, [self.function.inputs[0].name], 1)

    def at(self, values: Sequence[Array]) -> dict[str, Array]:
        """The function's input, from the values of all blocks."""
        total = sum(weights @ values[k].ravel() for k, weights in self.sums.items())
        return {self.function.inputs[0].name: np.asarray(total)[None]}

    def value(self, total: Mapping[str, Array]) -> float:
        """f(s), weight included."""
        return self.weight * float(np.asarray(self.function(**total))[0, 0])

    def slopes(self, total: Mapping[str, Array]) -> Array:
        """f', one for each sum, weight included."""
        found = np.zeros(self.derivatives.width)
        found[self.derivatives.jacobian.places[1]] = self.weight * self.derivatives.jacobian(**total)[0]
        return found

    def curvature(self, total: Mapping[str, Array]) -> Array | None:
        """f'', (sums, sums), weight included; None of a linear function."""
        hessian = self.derivatives.hessian
        if hessian is None:
            return None
        found = np.zeros((self.derivatives.width,) * 2)
        found[hessian.places] = hessian(**total, weights=np.full((1, 1), self.weight))[0]
        return np.asarray(found + np.tril(found, -1).T)


class Spread:
    """How the sums of a term depend on the variables of a programme: D, from the Jacobians of its blocks."""

    def __init__(self, term: Overall, blocks: Sequence[Block]) -> None:
        self.term = term
        parts = {k: blocks[k].sum_terms(weights) for k, weights in term.sums.items()}
        self.columns: Integers = np.unique(np.concatenate([part[1] for part in parts.values()]))
        """Variables that the sums depend on."""
        self.shape = term.derivatives.width, len(self.columns)
        self.parts = [
            (k, row * self.shape[1] + np.searchsorted(self.columns, column), source, value)
            for k, (row, column, source, value) in parts.items()
        ]

    @cached_property
    def lower(self) -> Places:
        """Rows and columns of a lower triangle over the variables that the sums depend on."""
        row, column = np.tril_indices(len(self.columns))
        return row, column

    @property
    def places(self) -> Places:
        """The same among all variables."""
        return self.columns[self.lower[0]], self.columns[self.lower[1]]

    def jacobian(self, entries: Sequence[Array]) -> Array:
        """D, (sums, columns), from the entries of the blocks' Jacobians."""
        found = np.zeros(self.shape[0] * self.shape[1])
        for k, place, source, value in self.parts:
            found += np.bincount(place, value * entries[k][source], len(found))
        return found.reshape(self.shape)

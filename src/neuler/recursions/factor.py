"""A = L^T D L of a symmetric positive matrix of scalars, from the last row to the first (Featherstone 2005).

In this order the zeros that a tree leaves in its inertia matrix stay zeros in L, and D_j is the
articulated inertia H_j of Khalil (36): it is the articulated-body elimination, written in joint space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuler.recursions.hybrid import reciprocal
from neuler.trace.graph import Node, Scalar


def _zero(x: Scalar) -> bool:
    return not isinstance(x, Node) and x == 0.0


class Factor:
    """Solves A x = b for as many b as there are."""

    def __init__(
        self, matrix: Sequence[Sequence[Scalar]], names: Sequence[str], usual: Mapping[int, float] | None = None
    ) -> None:
        """``usual``: the size of pivots that may vanish; one that is but a rounding error of it gives NaN."""
        sizes = usual or {}
        n = len(names)
        a = [list(row) for row in matrix]
        self.inverse: list[Scalar] = [0.0] * n
        self.below: list[list[tuple[int, Scalar]]] = [[] for _ in range(n)]
        """Row k of L left of its diagonal: the joints between joint k and the base."""
        for k in range(n - 1, -1, -1):
            self.inverse[k] = reciprocal(a[k][k], names[k], sizes.get(k, 0.0))
            self.below[k] = [(i, a[k][i] * self.inverse[k]) for i in range(k) if not _zero(a[k][i])]
            for i, factor in self.below[k]:
                for j, _ in self.below[k]:
                    if j <= i:
                        a[i][j] = a[i][j] - factor * a[k][j]

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """A^-1 b: inward with L^T, then D, then outward with L."""
        x = list(right)
        for k in range(len(x) - 1, -1, -1):
            if not _zero(x[k]):
                for i, factor in self.below[k]:
                    x[i] = x[i] - factor * x[k]
        for k, inverse in enumerate(self.inverse):
            value = x[k] * inverse
            for i, factor in self.below[k]:
                if not _zero(x[i]):
                    value = value - factor * x[i]
            x[k] = value
        return x

    def inverse_matrix(self) -> list[list[Scalar]]:
        """A^-1, row by row; symmetric, so that one triangle is computed."""
        n = len(self.inverse)
        rows: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for k in range(n):
            unit: list[Scalar] = [0.0] * n
            unit[k] = 1.0
            for i, value in enumerate(self.solve(unit)):
                if i <= k:
                    rows[i][k] = rows[k][i] = value
        return rows

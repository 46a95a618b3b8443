"""Linear algebra over any scalar: products, columns made orthogonal, and equations solved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuler.trace.graph import Node, Scalar, inverse_above


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The sum of the products of two lists of scalars."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    """The product of a matrix, a list of rows, and a vector."""
    return [dot(row, vector) for row in matrix]


def transposed_times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    """Its transpose times a vector."""
    return [dot(column, vector) for column in zip(*matrix, strict=True)]


class Orthogonal:
    """Columns A = Q R by Gram and Schmidt, from the last to the first: Q without roots, R with a diagonal of ones.

    In this order the zeros that branches leave stay zeros, as in ``Factor``. ``floor`` is added to squared lengths,
    so that nothing is divided by zero; without it what follows from a column of zeros is NaN.
    """

    def __init__(self, columns: Sequence[Sequence[Scalar]], floor: float = 0.0) -> None:
        self.lengths = [dot(column, column) for column in columns]
        """Squares of the columns' lengths."""
        self.squares: list[Scalar] = [0.0] * len(columns)
        """Squares of the lengths of what is left of them; 0.0 where a column follows from those after it."""
        self.inverses: list[Scalar] = [math.nan] * len(columns)
        """Their reciprocals."""
        self._height = len(columns[0]) if columns else 0
        self._done: list[tuple[int, list[Scalar]]] = []
        self._shares: list[list[tuple[int, Scalar]]] = [[] for _ in columns]
        """Of column k, how much of the later columns of Q was in it: R."""
        for k in reversed(range(len(columns))):
            left, self._shares[k] = self._split(columns[k])
            self.squares[k] = dot(left, left)
            divisor = self.squares[k] + floor
            if isinstance(divisor, Node) or divisor != 0.0:
                self.inverses[k] = 1.0 / divisor if floor else inverse_above(divisor, 0.0)
            self._done.append((k, left))

    def _split(self, vector: Sequence[Scalar]) -> tuple[list[Scalar], list[tuple[int, Scalar]]]:
        """What is orthogonal to all columns so far, and how much of each was in the vector."""
        left, found = list(vector), []
        for k, column in self._done:
            share = dot(column, left) * self.inverses[k]
            if isinstance(share, Node) or share != 0.0:
                found.append((k, share))
                left = [x - share * y for x, y in zip(left, column, strict=True)]
        return left, found

    def across(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """(1 - A A^+) vector: what is orthogonal to all columns."""
        return self._split(vector)[0]

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """A^+ right: x of A x = right, in the sense of least squares."""
        x: list[Scalar] = [0.0] * len(self._shares)
        for k, share in self._split(right)[1]:
            x[k] = share
        for k, shares in enumerate(self._shares):
            for i, share in shares:
                x[i] = x[i] - share * x[k]
        return x

    def least(self, right: Sequence[Scalar]) -> list[Scalar]:
        """The least x with A^T x = right."""
        found: list[Scalar] = [0.0] * self._height
        inner: list[Scalar] = [0.0] * len(self._shares)
        for k, column in self._done:
            inner[k] = right[k]
            for i, share in self._shares[k]:
                inner[k] = inner[k] - share * inner[i]
            push = inner[k] * self.inverses[k]
            found = [x + push * y for x, y in zip(found, column, strict=True)]
        return found


class Eliminated:
    """A = U L of a matrix whose symmetric part is positive, from the last row to the first, without exchanges.

    In this order the zeros that branches leave stay zeros, as in ``Factor``.
    """

    def __init__(self, matrix: Sequence[Sequence[Scalar]]) -> None:
        a = [list(row) for row in matrix]
        n = len(a)
        self._inverse: list[Scalar] = [0.0] * n
        self._upper: list[list[tuple[int, Scalar]]] = [[] for _ in range(n)]
        self._lower: list[list[tuple[int, Scalar]]] = [[] for _ in range(n)]
        for k in reversed(range(n)):
            self._inverse[k] = 1.0 / a[k][k]
            self._lower[k] = [(j, a[k][j]) for j in range(k) if _some(a[k][j])]
            self._upper[k] = [(i, a[i][k] * self._inverse[k]) for i in range(k) if _some(a[i][k])]
            for i, factor in self._upper[k]:
                for j, x in self._lower[k]:
                    a[i][j] = a[i][j] - factor * x

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x of A x = right."""
        x = list(right)
        for k in reversed(range(len(x))):
            for i, factor in self._upper[k]:
                x[i] = x[i] - factor * x[k]
        for k, inverse in enumerate(self._inverse):
            for j, entry in self._lower[k]:
                x[k] = x[k] - entry * x[j]
            x[k] = x[k] * inverse
        return x


def _some(x: Scalar) -> bool:
    return isinstance(x, Node) or x != 0.0

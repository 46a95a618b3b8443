"""Closed loops, Khalil 4: the tree's dynamics along the motions that its loops allow.

The rows of W say how the loops would open: W qd = 0, Khalil (4). Some velocities are independent, the
others follow, W_d qd_d = - W_i qd_i, and with them everything of the tree:

    qd = G qd_i                     G = d(q)/d(q_i), (56)
    qdd = G qdd_i + what the velocities alone ask for
    Gamma_c = G^T Gamma_tr          (55)

W_d has as many independent rows as columns or more; its columns are made orthogonal, which asks for no choice of
rows and, unlike W_d^T W_d, loses no digits near a singular pose. Forces in the loops are the least ones that balance
the joints nobody drives: W_d^T forces = Gamma_tr,d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.compiler.graph import Node, Scalar, sqrt
from neuler.errors import RobotError
from neuler.passes.tree import Tree
from neuler.recursions.loops import Closure, Gear, Row
from neuler.robot import Mechanism

SINGULAR = 1e-9
"""Of ``margin``: below it the loops do not determine the motion."""
_SHORT = 1e-6
"""Of the sum of all squared lengths: a column whose squared length is much less is nearly none."""


@dataclass(frozen=True)
class Chart:
    """Which velocities of the tree are independent, and which rows of W are kept."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]


class Constraints:
    """All loops and couplings of a mechanism."""

    def __init__(self, tree: Tree, mechanism: Mechanism) -> None:
        self.tree = tree
        self.closures = [Closure.of(tree, loop) for loop in mechanism.loops]
        self.gears = [Gear.of_coupling(tree, coupling) for coupling in mechanism.couplings]
        self.count = mechanism.constraints

    def open_by(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Zero where all are closed, Khalil (3)."""
        found = [x for closure in self.closures for x in closure.open_by(q)]
        return found + [x for gear in self.gears for x in gear.open_by(q)]

    def turned_over(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Of every loop: negative where it is closed the wrong way round."""
        return [closure.turned_over(q) for closure in self.closures]

    def jacobian(self, q: Sequence[Scalar]) -> list[Row]:
        """W."""
        rows = [row for closure in self.closures for row in closure.rows(q)]
        return rows + [row for gear in self.gears for row in gear.rows()]

    def bias(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """dW/dt qd."""
        found = [x for closure in self.closures for x in closure.bias(q, qd)]
        return found + [0.0] * len(self.gears)


class Orthogonal:
    """Columns = Q R by Gram and Schmidt, from the last column to the first: Q without roots, R with a diagonal of ones.

    In this order the zeros that branches leave stay zeros, as in ``Factor``.
    """

    def __init__(self, columns: Sequence[Sequence[Scalar]], names: Sequence[str]) -> None:
        self._rows = len(columns[0]) if columns else 0
        self._done: list[tuple[int, list[Scalar], Scalar]] = []
        """Number of a column, the column of Q, the reciprocal of its squared length."""
        self._shares: list[list[tuple[int, Scalar]]] = [[] for _ in columns]
        """Of column k, how much of the later columns of Q was in it: R."""
        own: list[Scalar] = []
        for k in range(len(columns) - 1, -1, -1):
            left, self._shares[k] = self._without(columns[k])
            square = dot(left, left)
            if not isinstance(square, Node) and square == 0.0:
                raise RobotError(f"joint {names[k]!r} follows from no loop: name it among the independent= joints")
            inverse = 1.0 / square
            self._done.append((k, left, inverse))
            own.insert(0, inverse)
        self.margin = margin([dot(column, column) for column in columns], own)
        """From 0, where a column vanishes or follows from others, to 1, where all are square to each other."""

    def _without(self, vector: Sequence[Scalar]) -> tuple[list[Scalar], list[tuple[int, Scalar]]]:
        """What is square to all columns so far, and how much of each was in the vector."""
        left, found = list(vector), []
        for k, column, inverse in self._done:
            share = dot(column, left) * inverse
            if isinstance(share, Node) or share != 0.0:
                found.append((k, share))
                left = [x - share * y for x, y in zip(left, column, strict=True)]
        return left, found

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x of columns x = right, in the sense of least squares."""
        x: list[Scalar] = [0.0] * len(self._shares)
        for k, share in self._without(right)[1]:
            x[k] = share
        for k, shares in enumerate(self._shares):
            for i, share in shares:
                x[i] = x[i] - share * x[k]
        return x

    def least(self, right: Sequence[Scalar]) -> list[Scalar]:
        """The least x of columns^T x = right."""
        found: list[Scalar] = [0.0] * self._rows
        inner: list[Scalar] = [0.0] * len(self._shares)
        for k, column, inverse in self._done:
            inner[k] = right[k]
            for i, share in self._shares[k]:
                inner[k] = inner[k] - share * inner[i]
            push = inner[k] * inverse
            found = [x + push * y for x, y in zip(found, column, strict=True)]
        return found


class Solution:
    """W at one position, with its dependent part ready to be solved."""

    def __init__(self, constraints: Constraints, chart: Chart, q: Sequence[Scalar]) -> None:
        self.constraints, self.chart, self.q = constraints, chart, q
        rows = constraints.jacobian(q)
        self.rows = [rows[k] for k in chart.rows]
        names = [constraints.tree.freedom_names[k] for k in chart.dependent]
        self.followers = Orthogonal([[row.get(k, 0.0) for row in self.rows] for k in chart.dependent], names)

    @property
    def margin(self) -> Scalar:
        """Between 0 and 1: how much of the loops' answer to each dependent joint is its own, a (harmonic) mean.

        Zero where the independent joints do not decide what the others do: a singular pose.
        """
        return self.followers.margin

    def dependent(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x of W_d x = right, in the sense of least squares."""
        return self.followers.solve(right)

    def coupling(self) -> list[list[Scalar]]:
        """G, Khalil (56): a row a velocity of the tree, a column an independent one."""
        n = self.constraints.tree.dof
        matrix: list[list[Scalar]] = [[0.0] * len(self.chart.independent) for _ in range(n)]
        for column, i in enumerate(self.chart.independent):
            matrix[i][column] = 1.0
            follow = self.dependent([-row.get(i, 0.0) for row in self.rows])
            for k, x in zip(self.chart.dependent, follow, strict=True):
                matrix[k][column] = x
        return matrix

    def remainder(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Accelerations of the tree that its velocities alone ask for: qdd = G qdd_i + this."""
        bias = self.constraints.bias(self.q, qd)
        found: list[Scalar] = [0.0] * self.constraints.tree.dof
        follow = self.dependent([-bias[k] for k in self.chart.rows])
        for k, x in zip(self.chart.dependent, follow, strict=True):
            found[k] = x
        return found

    def forces(self, unbalanced: Sequence[Scalar]) -> list[Scalar]:
        """Of all constraints: the least with W_d^T forces = what the dependent joints lack; none in rows left out."""
        found: list[Scalar] = [0.0] * self.constraints.count
        least = self.followers.least([unbalanced[k] for k in self.chart.dependent])
        for number, force in zip(self.chart.rows, least, strict=True):
            found[number] = force
        return found


def margin(squares: Sequence[Scalar], own: Sequence[Scalar]) -> Scalar:
    """How independent vectors are, from 0 to 1: the root of the harmonic mean of the shares that are their own.

    From their squared lengths, and the reciprocals of those of what is square to the vectors before each.
    """
    if not own:
        return 1.0
    little: Scalar = 0.0
    for square in squares:
        little = little + square
    little = _SHORT * little
    total: Scalar = 0.0
    for square, inverse in zip(squares, own, strict=True):
        total = total + (square + little) * inverse
    return sqrt((1.0 + _SHORT * len(own)) * len(own) / total)


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The sum of products."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    """Matrix times vector."""
    return [dot(row, vector) for row in matrix]


def transposed_times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    """Its transpose times a vector."""
    return [dot(column, vector) for column in zip(*matrix, strict=True)]

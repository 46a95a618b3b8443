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

from neuler.algebra.linear import Orthogonal, dot
from neuler.errors import RobotError
from neuler.passes.tree import Tree
from neuler.recursions.loops import Closure, Gear, Row
from neuler.robot import Mechanism
from neuler.tolerances import OPEN
from neuler.trace.graph import Node, Scalar, one_if_positive, sqrt

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

    def closed(self, q: Sequence[Scalar]) -> Scalar:
        """One, or NaN where the loops are open by ``OPEN`` or more: there W says nothing about the mechanism."""
        gap = self.open_by(q)
        return one_if_positive(OPEN * OPEN - dot(gap, gap))

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


def independent_columns(columns: Sequence[Sequence[Scalar]], names: Sequence[str]) -> tuple[Orthogonal, Scalar]:
    """Columns made square to one another, and how independent they are: from 0 to 1. One that vanishes is named."""
    made = Orthogonal(columns)
    for name, square in zip(names, made.squares, strict=True):
        if not isinstance(square, Node) and square == 0.0:
            raise RobotError(f"joint {name!r} follows from no loop: name it among the independent= joints")
    return made, margin(made.lengths, made.inverses)


class Solution:
    """W at one position, with its dependent part ready to be solved."""

    def __init__(self, constraints: Constraints, chart: Chart, q: Sequence[Scalar]) -> None:
        self.constraints, self.chart, self.q = constraints, chart, q
        rows = constraints.jacobian(q)
        self.rows = [rows[k] for k in chart.rows]
        names = [constraints.tree.freedom_names[k] for k in chart.dependent]
        columns = [[row.get(k, 0.0) for row in self.rows] for k in chart.dependent]
        self.followers, self.margin = independent_columns(columns, names)
        """``margin``: how much of the loops' answer to each dependent joint is its own, a (harmonic) mean. Zero where
        the independent joints do not decide what the others do: a singular pose."""

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

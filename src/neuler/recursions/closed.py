"""Closed loops, Khalil 4: the tree's dynamics along the motions that its loops allow.

The rows of W say how the loops would open: W qd = 0, Khalil (4). Some velocities are independent, the
others follow, W_d qd_d = - W_i qd_i, and with them everything of the tree:

    qd = G qd_i                     G = d(q)/d(q_i), (56)
    qdd = G qdd_i + what the velocities alone ask for
    Gamma_c = G^T Gamma_tr          (55)

W_d has as many independent rows as columns or more; it is solved by W_d^T W_d, which asks for no choice of rows.
Forces in the loops are the least ones that balance the joints nobody drives: W_d^T forces = Gamma_tr,d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.compiler.graph import Scalar, sqrt
from neuler.passes.tree import Tree
from neuler.recursions.factor import Factor
from neuler.recursions.loops import Closure, Gear, Row
from neuler.robot import Mechanism

SINGULAR = 1e-9
"""Of ``margin``: below it the loops do not determine the motion."""


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


class Solution:
    """W at one position, with its dependent part ready to be solved."""

    def __init__(self, constraints: Constraints, chart: Chart, q: Sequence[Scalar]) -> None:
        self.constraints, self.chart, self.q = constraints, chart, q
        rows = constraints.jacobian(q)
        self.rows = [rows[k] for k in chart.rows]
        names = [constraints.tree.freedom_names[k] for k in chart.dependent]
        d = chart.dependent
        columns = [[row.get(k, 0.0) for row in self.rows] for k in d]
        self.columns = columns
        self.normal = [[dot(a, b) for b in columns] for a in columns]
        self.factor = Factor(self.normal, names)

    @property
    def margin(self) -> Scalar:
        """Between 0 and 1: the volume that the loops' answers to unit velocities of the dependent joints span.

        Zero where the independent joints do not decide what the others do: a singular pose.
        """
        return hadamard(self.factor, self.normal)

    def dependent(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x of W_d x = right, in the sense of least squares."""
        return self.factor.solve([dot(column, right) for column in self.columns])

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
        inner = self.factor.solve([unbalanced[k] for k in self.chart.dependent])
        found: list[Scalar] = [0.0] * len(self.constraints.open_by(self.q))
        for number, row in zip(self.chart.rows, self.rows, strict=True):
            found[number] = dot([row.get(k, 0.0) for k in self.chart.dependent], inner)
        return found


def hadamard(factor: Factor, matrix: Sequence[Sequence[Scalar]]) -> Scalar:
    """The volume that the columns behind a normal matrix span, were each of length one."""
    product: Scalar = 1.0
    for k, pivot in enumerate(factor.pivots):
        product = product * (pivot / matrix[k][k])
    return sqrt(product)


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

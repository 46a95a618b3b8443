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
from neuler.robot import Robot
from neuler.structure.lift import Lift, Row
from neuler.structure.loops import Closure
from neuler.tolerances import OPEN
from neuler.trace.graph import Node, Scalar, one_if_positive, sqrt

SINGULAR = 1e-9
"""Of the motors' ``margin``: below it the forces in tau do not hold every motion."""
STRETCHED = 1e-7
"""Of the joints' ``margin``: below it the loops do not determine the motion. A stretched leg shows the rounding of
its position by its root, 1e-8."""
_SHORT = 1e-6
"""Of the sum of all squared lengths: a column whose squared length is much less is nearly none."""


@dataclass(frozen=True)
class Choice:
    """Which velocities of the joints with coordinates are independent, and which rows of W are kept."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]


class Constraints:
    """All loops of a robot, as functions of the positions of its joints with coordinates."""

    def __init__(self, tree: Tree, robot: Robot) -> None:
        self.tree, self.robot = tree, robot
        self.closures = [Closure.of(tree, loop) for loop in robot.loops]
        self.count = robot.constraints
        self.names = [entry.name for entry in robot.coordinates.owners("qd", every=True)]
        """Of the joint behind every velocity."""

    def open_by(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Zero where all are closed, Khalil (3)."""
        place = Lift(self.robot, q).q
        return [x for closure in self.closures for x in closure.open_by(place)]

    def closed(self, q: Sequence[Scalar]) -> Scalar:
        """One, or NaN where the loops are open by ``OPEN`` or more, or the wrong way round: there W says nothing."""
        gap = self.open_by(q)
        return one_if_positive(OPEN * OPEN - dot(gap, gap)) * self.upright(q)

    def upright(self, q: Sequence[Scalar]) -> Scalar:
        """One, or NaN where a loop is closed the wrong way round."""
        found: Scalar = 1.0
        for x in self.turned_over(q):
            found = found * one_if_positive(x)
        return found

    def turned_over(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Of every loop: negative where it is closed the wrong way round."""
        place = Lift(self.robot, q).q
        return [closure.turned_over(place) for closure in self.closures]

    def jacobian(self, q: Sequence[Scalar]) -> list[Row]:
        """The rows of W, the Jacobian of the loops' constraints by the joints with coordinates."""
        lift = Lift(self.robot, q)
        rows = [row for closure in self.closures for row in closure.rows(lift.q)]
        if not self.robot.couplings:
            return rows
        led, found = lift.rows(), []
        for row in rows:
            whole: Row = {}
            for k, x in row.items():
                for i, share in led[k].items():
                    whole[i] = whole.get(i, 0.0) + x * share
            found.append(whole)
        return found

    def bias(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """The velocity terms dW/dt qd of the constraints' second derivative."""
        lift = Lift(self.robot, q)
        rates = lift.velocities(qd)
        found = [x for closure in self.closures for x in closure.bias(lift.q, rates)]
        if not self.robot.couplings:
            return found
        bent = lift.accelerations(qd, [0.0] * len(qd))
        rows = [row for closure in self.closures for row in closure.rows(lift.q)]
        return [x + sum((y * bent[k] for k, y in row.items()), 0.0) for x, row in zip(found, rows, strict=True)]


def independent_columns(columns: Sequence[Sequence[Scalar]], names: Sequence[str]) -> tuple[Orthogonal, Scalar]:
    """Columns made orthogonal to one another, and how independent they are: from 0 to 1. One that vanishes is named."""
    made = Orthogonal(columns)
    for name, square in zip(names, made.squares, strict=True):
        if not isinstance(square, Node) and square == 0.0:
            raise RobotError(f"joint {name!r} follows from no loop: name it among the independent joints")
    return made, margin(made.lengths, made.inverses)


class LoopSolution:
    """W at one position, with its dependent part ready to be solved."""

    def __init__(self, constraints: Constraints, choice: Choice, q: Sequence[Scalar]) -> None:
        self.constraints, self.choice, self.q = constraints, choice, q
        rows = constraints.jacobian(q)
        self.rows = [rows[k] for k in choice.rows]
        names = [constraints.names[k] for k in choice.dependent]
        columns = [[row.get(k, 0.0) for row in self.rows] for k in choice.dependent]
        self.followers, self.margin = independent_columns(columns, names)
        """``margin``: how much of the loops' answer to each dependent joint is its own, a (harmonic) mean. Zero where
        the independent joints do not decide what the others do: a singular pose."""

    def dependent(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x of W_d x = right, in the sense of least squares."""
        return self.followers.solve(right)

    def coupling(self) -> list[list[Scalar]]:
        """G, Khalil (56): a row a velocity of the tree, a column an independent one."""
        n = len(self.constraints.names)
        matrix: list[list[Scalar]] = [[0.0] * len(self.choice.independent) for _ in range(n)]
        for column, i in enumerate(self.choice.independent):
            matrix[i][column] = 1.0
            follow = self.dependent([-row.get(i, 0.0) for row in self.rows])
            for k, x in zip(self.choice.dependent, follow, strict=True):
                matrix[k][column] = x
        return matrix

    def remainder(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Accelerations of the tree that its velocities alone ask for: qdd = G qdd_i + this."""
        bias = self.constraints.bias(self.q, qd)
        found: list[Scalar] = [0.0] * len(self.constraints.names)
        follow = self.dependent([-bias[k] for k in self.choice.rows])
        for k, x in zip(self.choice.dependent, follow, strict=True):
            found[k] = x
        return found

    def forces(self, unbalanced: Sequence[Scalar]) -> list[Scalar]:
        """Of all constraints: the least with W_d^T forces = what the dependent joints lack; none in rows left out."""
        found: list[Scalar] = [0.0] * self.constraints.count
        least = self.followers.least([unbalanced[k] for k in self.choice.dependent])
        for number, force in zip(self.choice.rows, least, strict=True):
            found[number] = force
        return found


def margin(squares: Sequence[Scalar], own: Sequence[Scalar]) -> Scalar:
    """How independent vectors are, from 0 to 1: the root of the harmonic mean of the shares that are their own.

    From their squared lengths, and the reciprocals of those of what is orthogonal to the vectors before each.
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

"""Charts: how the robot's own coordinates move its tree.

    tree        the identity: everything below folds away
    couplings   q_tree = f(q) and its time derivatives
    loops       qd = G qd_i, qdd = G qdd_i + what the velocities alone ask for, Khalil (56)

Forces come back by the transpose: Gamma_c = G^T Gamma_tr, (55). A parallel robot is one with the platform's
velocities as qd_i: then G has the rows B_i = J_i^-1 J_vi of its legs, (63)-(65), each leg by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import Orthogonal, times, transposed_times
from neuler.passes.tree import Tree
from neuler.passes.trees import fused_tree
from neuler.recursions.positions import position_rates
from neuler.robot import Robot
from neuler.structure.closed import SINGULAR, STRETCHED, Choice, Constraints, LoopSolution, independent_columns
from neuler.structure.lift import Lift
from neuler.trace.graph import Node, Scalar, one_if_above

Matrix = list[list[Scalar]]


class Chart:
    """How the robot's own coordinates move its tree at one position, and how forces come back."""

    def __init__(
        self, robot: Robot, q: Sequence[Scalar], tree: Tree | None = None, choice: Choice | None = None
    ) -> None:
        self.robot = robot
        self.given = q
        """Positions of the joints with coordinates."""
        self._lift = Lift(robot, q)
        self.q = self._lift.q
        """Positions of the tree."""
        self.trivial = not robot.loops and not robot.couplings
        """Whether the robot is a tree."""
        self._tree, self._choice = tree, choice
        self._solution: LoopSolution | None = None
        self._g: Matrix | None = None

    @property
    def solution(self) -> LoopSolution | None:
        """The loops' constraints, ready to be solved; None without loops."""
        if self._solution is None and self.robot.loops:
            constraints = Constraints(self._tree or fused_tree(self.robot.tree), self.robot)
            self._solution = LoopSolution(constraints, self._choice or self.robot.mobility.choice, self.given)
        return self._solution

    @property
    def valid(self) -> Scalar:
        """One, or NaN at a singular pose and where the loops are open."""
        if self.solution is None:
            return 1.0
        return one_if_above(self.solution.margin, STRETCHED) * self.solution.constraints.closed(self.given)

    # ---- lifted to the tree -----------------------------------------------------------------

    @property
    def coupling(self) -> Matrix:
        """G of the joints with coordinates, by the robot's own velocities."""
        if self._g is None:
            n = self._lift.own
            units: Matrix = [[float(i == k) for i in range(n)] for k in range(n)]
            self._g = units if self.solution is None else self.solution.coupling()
        return self._g

    def columns(self) -> Matrix:
        """G of the whole tree: a column for every velocity of the robot, with a number for every one of the tree."""
        found = []
        for column in zip(*self.coupling, strict=True):
            found.append(self._lift.velocities(list(column)))
        return found

    def rates(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Velocities of the joints with coordinates."""
        return list(qd) if self.solution is None else times(self.coupling, qd)

    def velocities(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Velocities of the tree's joints, from the robot's own."""
        return self._lift.velocities(self.rates(qd))

    def joint_accelerations(self, qd: Sequence[Scalar], qdd: Sequence[Scalar] | None = None) -> list[Scalar]:
        """Of the joints with coordinates; without qdd those that the velocities alone ask for."""
        if self.solution is None:
            return [0.0] * len(qd) if qdd is None else list(qdd)
        rest = self.solution.remainder(self.rates(qd))
        return rest if qdd is None else [a + b for a, b in zip(times(self.coupling, qdd), rest, strict=True)]

    def accelerations(self, qd: Sequence[Scalar], qdd: Sequence[Scalar] | None = None) -> list[Scalar]:
        """Accelerations of the tree's joints; without qdd those that the velocities alone ask for."""
        return self._lift.accelerations(self.rates(qd), self.joint_accelerations(qd, qdd))

    def direction(self, k: int) -> list[Scalar]:
        """dq along the robot's own velocity k: derivatives "to q" are along these."""
        return position_rates(self.robot.moving_joints, self.given, [row[k] for row in self.coupling])

    # ---- projected back -----------------------------------------------------------------------

    def project(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Forces of the tree's joints along the robot's own velocities: G^T Gamma_tr, Khalil (55)."""
        own = self.to_coordinates(forces)
        return own if self.solution is None else transposed_times(self.coupling, own)

    def to_coordinates(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Forces of the tree's joints, reflected to the joints with coordinates: couplings are transposed."""
        return self._lift.project(forces)

    def actuation(self) -> Matrix:
        """Velocities of the joints in tau by the robot's own: a row a force."""
        g = self.coupling
        return [g[k] for k in self.robot.coordinates.active] if self.robot.loops else g

    def generalized(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """The generalized force of tau along the robot's own velocities: G_a^T tau."""
        return list(tau) if self.solution is None else transposed_times(self.actuation(), tau)

    def distribute(self, needed: Sequence[Scalar]) -> tuple[list[Scalar], Scalar]:
        """Forces in tau with G_a^T tau = needed: of several such tau the one with the least sum of squares.

        The second result is one, or NaN where the loops or the motors do not decide the motion.
        """
        rows = self.actuation()
        if len(rows) == len(needed) and all(_unit(row, k) for k, row in enumerate(rows)):
            return list(needed), self.valid
        columns, even = self.actuation_columns()
        return columns.least(needed), self.valid * one_if_above(even, SINGULAR)

    def actuation_columns(self) -> tuple[Orthogonal, Scalar]:
        """The columns of G_a made orthogonal, and how independent they are: from 0 to 1."""
        assert self.solution is not None
        names = [self.solution.constraints.names[k] for k in self.solution.choice.independent]
        return independent_columns(list(zip(*self.actuation(), strict=True)), names)

    def nan_where_invalid(self, values: Sequence[Scalar], more: Scalar = 1.0) -> list[Scalar]:
        """The values, or NaN in their place where the chart is not valid; ``more`` is another factor of one or NaN."""
        one = self.valid * more
        return [x * one for x in values]


def _unit(row: Sequence[Scalar], k: int) -> bool:
    return all(not isinstance(x, Node) and x == float(i == k) for i, x in enumerate(row))

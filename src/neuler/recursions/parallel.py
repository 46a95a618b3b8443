"""Parallel robots as two subsystems, platform and legs, Khalil (59)-(66).

Seen from the tip of leg i, the platform's joint holds some components of the relative velocity at zero:

    J_vi V_P = J_i qd_i             (63), (64): both sides are the velocity v_i that the leg gives the platform

A leg with as many joints as its platform's joint holds follows any motion of the platform. One with fewer
holds the platform itself: what J_i cannot give must be zero. With the pseudo-inverse of J_i,

    qd_i = B_i V_P                  B_i = J_i^+ J_vi
    0 = (1 - J_i J_i^+) J_vi V_P    robots with fewer than six freedoms (Khalil and Ibrahim 2007)

and the rows of the motors, with the second line, are inverted together for J_p of (60).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.compiler.graph import Scalar
from neuler.recursions.closed import Constraints, dot, hadamard, times, transposed_times
from neuler.recursions.factor import Factor

Matrix = list[list[Scalar]]
SIX = range(6)
"""The platform's velocities come first."""


@dataclass(frozen=True)
class LegSolution:
    """J_vi, J_i and B_i at one position; ``joints`` are the numbers of the leg's velocities."""

    joints: tuple[int, ...]
    passed: Matrix
    """J_vi."""
    jacobian: Matrix
    """J_i."""
    factor: Factor
    normal: Matrix
    follow: Matrix
    """B_i."""

    @property
    def holds(self) -> bool:
        """Whether the leg has fewer joints than the platform's joint holds: then it holds the platform."""
        return len(self.jacobian) > len(self.joints)

    def given(self, right: Sequence[Scalar]) -> list[Scalar]:
        """J_i^+ right."""
        return self.factor.solve(transposed_times(self.jacobian, right))

    def left(self, right: Sequence[Scalar]) -> list[Scalar]:
        """(1 - J_i J_i^+) right: what the leg cannot give."""
        return [a - b for a, b in zip(right, times(self.jacobian, self.given(right)), strict=True)]


class Platform:
    """All legs at one position, and the platform's Jacobian."""

    def __init__(self, constraints: Constraints, q: Sequence[Scalar], motors: Sequence[int]) -> None:
        self.tree, self.q = constraints.tree, q
        self.constraints = constraints
        self.legs = [self._leg(number) for number in range(len(constraints.closures))]
        self.inverse_jacobian: Matrix = [self._motor_row(k) for k in motors]
        """Of the motors' velocities by the platform's: J_p^-1 of six-freedom robots."""

    def _leg(self, number: int) -> LegSolution:
        rows = self.constraints.closures[number].rows(self.q)
        joints = tuple(k for k in sorted({k for row in rows for k in row}) if k not in SIX)
        passed = [[row.get(k, 0.0) for k in SIX] for row in rows]
        jacobian = [[-row.get(k, 0.0) for k in joints] for row in rows]
        columns = list(zip(*jacobian, strict=True))
        normal = [[dot(a, b) for b in columns] for a in columns]
        factor = Factor(normal, [self.tree.freedom_names[k] for k in joints])
        answers = [factor.solve(transposed_times(jacobian, [row[k] for row in passed])) for k in SIX]
        follow = [[answers[k][j] for k in SIX] for j in range(len(joints))]
        return LegSolution(joints, passed, jacobian, factor, normal, follow)

    def _motor_row(self, motor: int) -> list[Scalar]:
        for leg in self.legs:
            if motor in leg.joints:
                return leg.follow[leg.joints.index(motor)]
        raise AssertionError("a motor is on a leg")

    # ---- kinematics ---------------------------------------------------------------------

    def bias(self, qd: Sequence[Scalar]) -> list[list[Scalar]]:
        """Of every leg: the rate of J_vi V_P - J_i qd_i without accelerations."""
        return [closure.bias(self.q, qd) for closure in self.constraints.closures]

    def velocities(self, v: Sequence[Scalar]) -> list[Scalar]:
        """Of the whole tree."""
        found: list[Scalar] = [*v, *[0.0] * (self.tree.dof - 6)]
        for leg in self.legs:
            for k, x in zip(leg.joints, times(leg.follow, v), strict=True):
                found[k] = x
        return found

    def accelerations(self, vd: Sequence[Scalar], bias: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Of the whole tree: qdd_i = J_i^+ (J_vi dV_P/dt + bias_i)."""
        found: list[Scalar] = [*vd, *[0.0] * (self.tree.dof - 6)]
        for leg, rest in zip(self.legs, bias, strict=True):
            driven = [a + b for a, b in zip(times(leg.passed, vd), rest, strict=True)]
            for k, x in zip(leg.joints, leg.given(driven), strict=True):
                found[k] = x
        return found

    def refused(self, v: Sequence[Scalar], rest: Sequence[Sequence[Scalar]] | None = None) -> tuple[Scalar, Scalar]:
        """How much of a platform's motion the legs do not allow, and how much there is: sums of squares."""
        gone: Scalar = 0.0
        whole: Scalar = 0.0
        for number, leg in enumerate(self.legs):
            if leg.holds:
                asked = times(leg.passed, v)
                if rest is not None:
                    asked = [a + b for a, b in zip(asked, rest[number], strict=True)]
                gone, whole = gone + _square(leg.left(asked)), whole + _square(asked)
        return gone, whole

    # ---- J_p ----------------------------------------------------------------------------

    def system(self) -> Matrix:
        """B_a^T B_a, and of legs that hold the platform J_vi^T (1 - J_i J_i^+) J_vi: 6x6, regular unless singular."""
        columns = list(zip(*self.inverse_jacobian, strict=True))
        matrix: Matrix = [[dot(columns[i], columns[j]) for j in SIX] for i in SIX]
        for leg in self.legs:
            if leg.holds:
                held = [leg.left([row[k] for row in leg.passed]) for k in SIX]
                sides = list(zip(*leg.passed, strict=True))
                for i in SIX:
                    for j in range(i + 1):
                        matrix[i][j] = matrix[j][i] = matrix[i][j] + dot(sides[i], held[j])
        return matrix

    def jacobian(self) -> Matrix:
        """J_p of (60), 6 rows."""
        factor = Factor(self.system(), ["platform"] * 6)
        columns = [factor.solve(row) for row in self.inverse_jacobian]
        return [[column[i] for column in columns] for i in SIX]

    def drift(self, bias: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """The platform's acceleration while the motors keep their velocities."""
        right: list[Scalar] = [0.0] * 6
        motors = {k: row for leg in self.legs for k, row in zip(leg.joints, leg.follow, strict=True)}
        for leg, rest in zip(self.legs, bias, strict=True):
            alone = leg.given(rest)
            for k, x in zip(leg.joints, alone, strict=True):
                if any(motors[k] is row for row in self.inverse_jacobian):
                    right = [r - a * x for r, a in zip(right, motors[k], strict=True)]
            if leg.holds:
                right = [r - x for r, x in zip(right, transposed_times(leg.passed, leg.left(rest)), strict=True)]
        return Factor(self.system(), ["platform"] * 6).solve(right)

    # ---- dynamics -----------------------------------------------------------------------

    def cartesian(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """F_P + sum B_i^T Gamma_i, the bracket of (66), from the joint forces of the tree."""
        total = list(forces[:6])
        for leg in self.legs:
            felt = transposed_times(leg.follow, [forces[k] for k in leg.joints])
            total = [a + b for a, b in zip(total, felt, strict=True)]
        return total

    def inertia(self, matrix: Sequence[Sequence[Scalar]]) -> Matrix:
        """A_P + sum B_i^T A_i B_i, from the inertia matrix of the tree."""
        total = [[matrix[i][j] for j in SIX] for i in SIX]
        for leg in self.legs:
            block = [[matrix[i][j] for j in leg.joints] for i in leg.joints]
            moved = [times(block, column) for column in zip(*leg.follow, strict=True)]
            for i, column in enumerate(zip(*leg.follow, strict=True)):
                for j in range(i + 1):
                    total[i][j] = total[j][i] = total[i][j] + dot(column, moved[j])
        return total

    def margins(self) -> tuple[Scalar, Scalar]:
        """From 0, singular, to 1: of the legs (they lose a freedom), and of the platform (it gains one)."""
        legs: Scalar = 1.0
        for leg in self.legs:
            legs = legs * hadamard(leg.factor, leg.normal)
        system = self.system()
        return legs, hadamard(Factor(system, ["platform"] * 6), system)


def _square(values: Sequence[Scalar]) -> Scalar:
    return dot(values, values)

"""Parallel robots as two subsystems, platform and legs, Khalil (59)-(66).

Seen from the tip of leg i, the platform's joint holds some components of the relative velocity at zero:

    J_vi V_P = J_i qd_i             (63), (64): both sides are the velocity v_i that the leg gives the platform

A leg with as many joints as its platform's joint holds follows any motion of the platform. One with fewer
holds the platform itself: what J_i cannot give must be zero. With the pseudo-inverse of J_i,

    qd_i = B_i V_P                  B_i = J_i^+ J_vi
    0 = (1 - J_i J_i^+) J_vi V_P    robots with fewer than six freedoms (Khalil and Ibrahim 2007)

and the rows of the motors, with the second line, are inverted together for J_p of (60). Both inversions make
columns square to one another (``Orthogonal``): a normal matrix would lose half of the digits near a singular pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra.linear import Orthogonal, dot, times, transposed_times
from neuler.passes.tree import REVOLUTE
from neuler.recursions.closed import Constraints
from neuler.trace.graph import Node, Scalar, sqrt

Matrix = list[list[Scalar]]
SIX = range(6)
"""The platform's velocities come first."""
_TINY = 1e-30
"""Beside squared lengths: nothing is divided by zero, not in single precision either."""


def ways(kind: str) -> int:
    """How many of the numbers that a cut joint holds are ways; angles come after them."""
    return {"prismatic": 2, "cylindrical": 2, "point_on_line": 2, "planar": 1, "point_on_plane": 1}.get(kind, 3)


def evenness(columns: Orthogonal, scales: Sequence[float]) -> Scalar:
    """From 0, where columns are dependent or vanish, to 1: square to one another, and once scaled equally long.

    It is the square of a volume.
    """
    total: Scalar = _TINY
    for scale, length in zip(scales, columns.lengths, strict=True):
        total = total + scale * scale * length
    inverse = len(scales) / total
    product: Scalar = 1.0
    for scale, square in zip(scales, columns.squares, strict=True):
        product = product * (scale * scale * (square * inverse))
    return product


@dataclass(frozen=True)
class LegSolution:
    """J_vi, J_i and B_i at one position; ``joints`` are the numbers of the leg's velocities.

    Rows that hold an angle are multiplied by a length, ``weights``: all are ways then.
    """

    joints: tuple[int, ...]
    weights: tuple[float, ...]
    passed: Matrix
    """J_vi."""
    jacobian: Orthogonal
    """J_i."""
    follow: Matrix
    """B_i."""
    across: Matrix
    """Directions that J_i cannot give, at least as many rows as ``count``; none of a leg that follows any motion."""
    count: int
    held: Matrix
    """What must be zero of the platform's velocity: ``across`` of J_vi."""
    evenness: Scalar
    """From 0, where the leg has lost a freedom, to 1."""


def _across(columns: Sequence[Sequence[Scalar]], jacobian: Orthogonal) -> Matrix:
    """Rows that are zero on all columns: an orthonormal basis of them, or, where none is at hand, the projector."""
    height, n = len(columns[0]), len(columns)
    if height == n:
        return []
    unit: Matrix = [[float(i == k) for i in range(height)] for k in range(height)]
    still = [all(not isinstance(c[k], Node) and c[k] == 0.0 for c in columns) for k in range(height)]
    moving = [k for k in range(height) if not still[k]]
    found: Matrix = [unit[k] for k in range(height) if still[k]]
    if len(moving) == n + 1:
        normal = _normal([[c[k] for k in moving] for c in columns])
        inverse = 1.0 / sqrt(dot(normal, normal) + _TINY)
        row: list[Scalar] = [0.0] * height
        for k, x in zip(moving, normal, strict=True):
            row[k] = x * inverse
        found.append(row)
    elif len(moving) != n:
        found += [jacobian.across(unit[k]) for k in moving]
    return found


def _normal(columns: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """The vector square to all columns, which are one fewer than its components: their cross product, in three."""
    rows = range(len(columns) + 1)
    return [(-1.0) ** k * _determinant(columns, tuple(i for i in rows if i != k)) for k in rows]


def _determinant(columns: Sequence[Sequence[Scalar]], rows: tuple[int, ...]) -> Scalar:
    """Of some rows, along the last of as many columns."""
    if not rows:
        return 1.0
    column = columns[len(rows) - 1]
    total: Scalar = 0.0
    for k, row in enumerate(rows):
        sign = -1.0 if (len(rows) - 1 - k) % 2 else 1.0
        total = total + sign * column[row] * _determinant(columns, rows[:k] + rows[k + 1 :])
    return total


class Platform:
    """All legs at one position, and the platform's Jacobian.

    ``motors`` are the numbers of all driven velocities, ``chosen`` of those that tell the platform how to move: all,
    or one a freedom where a robot with fewer than six freedoms has more motors than that. ``length`` and ``reaches``
    (m), of the platform and of the legs, make angles comparable with ways.
    """

    def __init__(
        self,
        constraints: Constraints,
        q: Sequence[Scalar],
        motors: Sequence[int],
        chosen: Sequence[int],
        length: float,
        reaches: Sequence[float],
    ) -> None:
        self.tree, self.q = constraints.tree, q
        self.constraints, self.chosen, self.length = constraints, tuple(chosen), length
        self.legs = [self._leg(number, reach) for number, reach in enumerate(reaches)]
        self._follow = {k: row for leg in self.legs for k, row in zip(leg.joints, leg.follow, strict=True)}
        self.inverse_jacobian: Matrix = [self._follow[k] for k in motors]
        """Of the motors' velocities by the platform's: J_p^-1 of six-freedom robots with six motors."""
        self._spare = len(motors) > len(self.chosen)
        even = self._weights()
        self._even = self._system(even)
        least = not self._spare and len(self.chosen) > 6  # more motors than freedoms: the least forces of them all
        self._weight = [1.0] * len(even) if least else even
        self._solved = self._system(self._weight) if least else self._even

    def _leg(self, number: int, reach: float) -> LegSolution:
        closure = self.constraints.closures[number]
        rows = closure.rows(self.q)
        joints = tuple(k for k in sorted({k for row in rows for k in row}) if k not in SIX)
        weights = tuple(1.0 if k < ways(closure.kind) else self.length for k in range(len(rows)))
        passed = [[w * row.get(k, 0.0) for k in SIX] for w, row in zip(weights, rows, strict=True)]
        columns = [[-w * row.get(k, 0.0) for w, row in zip(weights, rows, strict=True)] for k in joints]
        jacobian = Orthogonal(columns, _TINY)
        sides = list(zip(*passed, strict=True))
        follow = [list(row) for row in zip(*(jacobian.solve(side) for side in sides), strict=True)]
        across = _across(columns, jacobian)
        held = [times(sides, row) for row in across]
        turns = {body.coordinate for body in self.tree.bodies if body.sigma == REVOLUTE}
        even = evenness(jacobian, [1.0 / reach if k in turns else 1.0 for k in joints])
        count = len(rows) - len(joints)
        return LegSolution(joints, weights, passed, jacobian, follow, across, count, held, even)

    # ---- kinematics ---------------------------------------------------------------------

    def bias(self, qd: Sequence[Scalar]) -> Matrix:
        """Of every leg: the rate of J_vi V_P - J_i qd_i without accelerations."""
        found = []
        for leg, closure in zip(self.legs, self.constraints.closures, strict=True):
            found.append([w * x for w, x in zip(leg.weights, closure.bias(self.q, qd), strict=True)])
        return found

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
            for k, x in zip(leg.joints, leg.jacobian.solve(driven), strict=True):
                found[k] = x
        return found

    def refused(self, v: Sequence[Scalar], rest: Sequence[Sequence[Scalar]] | None = None) -> tuple[Scalar, Scalar]:
        """How much of a platform's motion the legs do not allow, and how much there is: sums of squares."""
        gone: Scalar = 0.0
        whole: Scalar = 0.0
        for number, leg in enumerate(self.legs):
            if leg.held:
                asked, kept = times(leg.passed, v), times(leg.held, v)
                if rest is not None:
                    asked = [a + b for a, b in zip(asked, rest[number], strict=True)]
                    kept = [a + b for a, b in zip(kept, times(leg.across, rest[number]), strict=True)]
                gone, whole = gone + dot(kept, kept), whole + dot(asked, asked)
        return gone, whole

    # ---- J_p ----------------------------------------------------------------------------

    def _rows(self) -> Matrix:
        """Of the chosen motors, then what the legs hold; turns of the platform as ways."""
        rows = [self._follow[k] for k in self.chosen] + [row for leg in self.legs for row in leg.held]
        return [[*row[:3], *(x * (1.0 / self.length) for x in row[3:])] for row in rows]

    def _weights(self) -> list[Scalar]:
        """Of the rows: those of a motor become one long, those of a leg as many times that as directions are held."""
        rows = self._rows()
        found = [1.0 / sqrt(dot(row, row) + _TINY) for row in rows[: len(self.chosen)]]
        at = len(found)
        for leg in self.legs:
            size: Scalar = _TINY
            for row in rows[at : at + len(leg.held)]:
                size = size + dot(row, row)
            if leg.held:
                found += [sqrt(leg.count / size)] * len(leg.held)
            at += len(leg.held)
        return found

    def _system(self, weights: Sequence[Scalar]) -> Orthogonal:
        rows = [[w * x for x in row] for w, row in zip(weights, self._rows(), strict=True)]
        return Orthogonal(list(zip(*rows, strict=True)), _TINY)

    def _moved(self, right: Sequence[Scalar]) -> list[Scalar]:
        """V_P with so much of the rows' motions."""
        x = self._solved.solve([w * r for w, r in zip(self._weight, right, strict=True)])
        return [*x[:3], *(value * (1.0 / self.length) for value in x[3:])]

    def motions(self) -> Matrix:
        """The platform's velocity by those of the chosen motors, 6 rows."""
        height = len(self._weight)
        columns = [self._moved([float(i == k) for i in range(height)]) for k in range(len(self.chosen))]
        return [list(row) for row in zip(*columns, strict=True)]

    def _shared(self, motions: Matrix) -> Orthogonal:
        """All motors' velocities by the chosen ones'."""
        rows = [times(list(zip(*motions, strict=True)), row) for row in self.inverse_jacobian]
        return Orthogonal(list(zip(*rows, strict=True)), _TINY)

    def jacobian(self) -> Matrix:
        """J_p of (60), 6 rows; with more motors than freedoms, for velocities of theirs the nearest that go."""
        motions = self.motions()
        if not self._spare:
            return motions
        shared, count = self._shared(motions), len(self.inverse_jacobian)
        columns = [times(motions, shared.solve([float(i == k) for i in range(count)])) for k in range(count)]
        return [list(row) for row in zip(*columns, strict=True)]

    def torques(self, force: Sequence[Scalar]) -> list[Scalar]:
        """J_p^T force: of the motors; the least where there are more than freedoms."""
        if self._spare:
            motions = self.motions()
            return self._shared(motions).least(transposed_times(motions, force))
        scaled = [*force[:3], *(x * (1.0 / self.length) for x in force[3:])]
        found = [w * x for w, x in zip(self._weight, self._solved.least(scaled), strict=True)]
        return found[: len(self.chosen)]

    def drift(self, bias: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """An acceleration of the platform with which the legs still hold it; all others differ by ``motions``."""
        right: list[Scalar] = [0.0] * len(self.chosen)
        for leg, rest in zip(self.legs, bias, strict=True):
            right += [-x for x in times(leg.across, rest)]
        return self._moved(right)

    # ---- dynamics -----------------------------------------------------------------------

    def cartesian(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """F_P + sum B_i^T Gamma_i, the bracket of (66), from the joint forces of the tree."""
        total = list(forces[:6])
        for leg in self.legs:
            felt = transposed_times(leg.follow, [forces[k] for k in leg.joints])
            total = [a + b for a, b in zip(total, felt, strict=True)]
        return total

    def inertia(self, matrix: Sequence[Sequence[Scalar]], motions: Matrix | None = None) -> Matrix:
        """A_P + sum B_i^T A_i B_i, from the inertia matrix of the tree; or what is felt along ``motions``, 6 rows."""
        along: Matrix = [[float(i == k) for k in SIX] for i in SIX] if motions is None else motions
        n = len(along[0])
        total: Matrix = [[0.0] * n for _ in range(n)]
        plate: list[tuple[Sequence[int], Matrix]] = [(SIX, along)]
        for joints, moves in plate + [(leg.joints, _product(leg.follow, along)) for leg in self.legs]:
            columns = list(zip(*moves, strict=True))
            block = [[matrix[i][j] for j in joints] for i in joints]
            pushed = [times(block, column) for column in columns]
            for i in range(n):
                for j in range(i + 1):
                    total[i][j] = total[j][i] = total[i][j] + dot(columns[i], pushed[j])
        return total

    def margins(self) -> tuple[Scalar, Scalar]:
        """From 0, singular, to 1: of the legs (one loses a freedom), and of the platform (it gains one)."""
        worst: Scalar = 0.0
        for leg in self.legs:
            worst = worst + 1.0 / (leg.evenness + _TINY)
        return sqrt(len(self.legs) / worst), sqrt(evenness(self._even, [1.0] * 6))


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[dot(row, column) for column in columns] for row in a]

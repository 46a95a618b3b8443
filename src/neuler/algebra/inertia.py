"""The 6x6 inertia that a link, a composite of links or an articulated link shows at its origin.

    [f]   [ A    B ] [v]
    [m] = [ B^T  C ] [w]      (linear; angular), A and C symmetric

A rigid link has A = M 1, B = -hat(MS), C = J: Khalil (11).
"""

from __future__ import annotations

from dataclasses import dataclass

from neuler.algebra import turns
from neuler.algebra import vector as vec
from neuler.algebra.screw import Column
from neuler.algebra.turns import Angle
from neuler.algebra.vector import Matrix, Symmetric, Vector
from neuler.trace.graph import Scalar


@dataclass(frozen=True)
class Inertia:
    """Blocks of a symmetric 6x6 matrix; 21 numbers, symmetry kept throughout."""

    a: Symmetric
    b: Matrix
    c: Symmetric

    @classmethod
    def rigid(cls, mass: Scalar, moment: Vector, inertia: Symmetric) -> Inertia:
        """The inertia of a rigid body from mass, first moment and inertia tensor about the origin, Khalil (11)."""
        return cls((mass, mass, mass, 0.0, 0.0, 0.0), vec.hat(vec.negate(moment)), inertia)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(
            vec.add_symmetric(self.a, other.a), vec.add_matrix(self.b, other.b), vec.add_symmetric(self.c, other.c)
        )

    def __matmul__(self, motion: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        v, w = motion
        force = vec.add(vec.apply_symmetric(self.a, v), vec.apply(self.b, w))
        moment = vec.add(vec.apply_transposed(self.b, v), vec.apply_symmetric(self.c, w))
        return force, moment

    def along(self, column: Column) -> tuple[Vector, Vector]:
        """Wrench of a unit acceleration by a column."""
        return self @ (column.linear, column.angular) if column.unit is None else self.column(column.unit)

    def column(self, k: int) -> tuple[Vector, Vector]:
        """Wrench of a unit acceleration along coordinate k of (vx, vy, vz, wx, wy, wz)."""
        full = ((0, 3, 4), (3, 1, 5), (4, 5, 2))
        if k < 3:
            i, j, m = full[k]
            return (self.a[i], self.a[j], self.a[m]), self.b[k]
        i, j, m = full[k - 3]
        return (self.b[0][k - 3], self.b[1][k - 3], self.b[2][k - 3]), (self.c[i], self.c[j], self.c[m])

    def without(self, column: tuple[Vector, Vector], scaled: tuple[Vector, Vector], free: int | None) -> Inertia:
        """self - column scaled^T. The direction ``free`` is known to vanish exactly."""
        u, h = (*column[0], *column[1]), (*scaled[0], *scaled[1])

        def entry(old: Scalar, i: int, j: int) -> Scalar:
            if free is not None and free in (i, j):
                return 0.0
            return old - u[i] * h[j]

        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        a = tuple(entry(old, i, j) for old, (i, j) in zip(self.a, pairs, strict=True))
        c = tuple(entry(old, i + 3, j + 3) for old, (i, j) in zip(self.c, pairs, strict=True))
        b = tuple(tuple(entry(self.b[i][j], i, j + 3) for j in range(3)) for i in range(3))
        return Inertia(a, b, c)  # type: ignore[arg-type]

    # ---- the same inertia in a reference frame in which its frame is turned or shifted --------

    def turned_z(self, angle: Angle) -> Inertia:
        return Inertia(
            turns.symmetric_up_z(angle, self.a), turns.matrix_up_z(angle, self.b), turns.symmetric_up_z(angle, self.c)
        )

    def turned_x(self, angle: Angle) -> Inertia:
        return Inertia(
            turns.symmetric_up_x(angle, self.a), turns.matrix_up_x(angle, self.b), turns.symmetric_up_x(angle, self.c)
        )

    def shifted_x(self, d: Scalar) -> Inertia:
        """B' = B - A hat(P), C' = C - B^T hat(P) + hat(P) B' with P = (d, 0, 0)."""
        _, yy, zz, xy, xz, yz = self.a
        b, c = self.b, self.c
        bxy, byy, bzy = b[0][1] - d * xz, b[1][1] - d * yz, b[2][1] - d * zz
        bxz, byz, bzz = b[0][2] + d * xy, b[1][2] + d * yy, b[2][2] + d * yz
        return Inertia(
            self.a,
            ((b[0][0], bxy, bxz), (b[1][0], byy, byz), (b[2][0], bzy, bzz)),
            (
                c[0],
                c[1] - d * (b[2][1] + bzy),
                c[2] + d * (b[1][2] + byz),
                c[3] - d * b[2][0],
                c[4] + d * b[1][0],
                c[5] + d * (b[1][1] - bzz),
            ),
        )

    def shifted_z(self, d: Scalar) -> Inertia:
        """The same with P = (0, 0, d)."""
        xx, yy, _, xy, xz, yz = self.a
        b, c = self.b, self.c
        bxx, byx, bzx = b[0][0] - d * xy, b[1][0] - d * yy, b[2][0] - d * yz
        bxy, byy, bzy = b[0][1] + d * xx, b[1][1] + d * xy, b[2][1] + d * xz
        return Inertia(
            self.a,
            ((bxx, bxy, b[0][2]), (byx, byy, b[1][2]), (bzx, bzy, b[2][2])),
            (
                c[0] - d * (b[1][0] + byx),
                c[1] + d * (b[0][1] + bxy),
                c[2],
                c[3] + d * (b[0][0] - byy),
                c[4] - d * b[1][2],
                c[5] + d * b[0][2],
            ),
        )

    def shifted_y(self, d: Scalar) -> Inertia:
        """The same with P = (0, d, 0)."""
        xx, _, zz, xy, xz, yz = self.a
        b, c = self.b, self.c
        bxx, byx, bzx = b[0][0] + d * xz, b[1][0] + d * yz, b[2][0] + d * zz
        bxz, byz, bzz = b[0][2] - d * xx, b[1][2] - d * xy, b[2][2] - d * xz
        return Inertia(
            self.a,
            ((bxx, b[0][1], bxz), (byx, b[1][1], byz), (bzx, b[2][1], bzz)),
            (
                c[0] + d * (b[2][0] + bzx),
                c[1],
                c[2] - d * (b[0][2] + bxz),
                c[3] + d * b[2][1],
                c[4] + d * (bzz - b[0][0]),
                c[5] - d * b[0][1],
            ),
        )

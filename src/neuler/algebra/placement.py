"""A frame in its reference, after Khalil (1):

    Rot(z, gamma) Tran(p)  Rot(x, alpha)  Rot(z, theta) Tran(z, r)

with p = (d, 0, b) where the common normal is well defined. Everything is carried across it one
turn and one shift at a time; what is 0 or 1 costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.turns import Angle, down_x, down_z, matrix_up_x, matrix_up_z, up_x, up_z
from neuler.algebra.vector import Matrix, Vector
from neuler.trace.graph import Scalar

STRAIGHT: Angle = (1.0, 0.0)


@dataclass(frozen=True)
class Placement:
    """The pose of a frame by the angles and lengths of Khalil's parameters; angles are (cosine, sine)."""

    gamma: Angle = STRAIGHT
    p: Vector = vec.ZERO
    alpha: Angle = STRAIGHT
    theta: Angle = STRAIGHT
    r: Scalar = 0.0

    @property
    def position(self) -> Vector:
        """P: the origin in the reference frame, Khalil (1)."""
        ca, sa = self.alpha
        x, y, z = self.p
        return up_z(self.gamma, (x, y - sa * self.r, z + ca * self.r))

    def down(self, v: Vector) -> Vector:
        """Components of a vector in this frame, from those in the reference: jRi v."""
        return down_z(self.theta, down_x(self.alpha, down_z(self.gamma, v)))

    def up(self, v: Vector) -> Vector:
        """Components in the reference, from those in this frame: iRj v."""
        return up_z(self.gamma, up_x(self.alpha, up_z(self.theta, v)))

    def motion_down(self, v: Vector, w: Vector) -> tuple[Vector, Vector]:
        """jTi of Khalil (17) on a velocity or acceleration screw of the reference frame."""
        v, w = down_z(self.gamma, v), down_z(self.gamma, w)
        v = vec.add(v, vec.cross(w, self.p))
        v, w = down_z(self.theta, down_x(self.alpha, v)), down_z(self.theta, down_x(self.alpha, w))
        return (v[0] + self.r * w[1], v[1] - self.r * w[0], v[2]), w

    def wrench_up(self, f: Vector, m: Vector) -> tuple[Vector, Vector]:
        """jTi^T: a wrench of this frame at the reference's origin, Khalil (28), (30)."""
        m = (m[0] - self.r * f[1], m[1] + self.r * f[0], m[2])
        f, m = up_x(self.alpha, up_z(self.theta, f)), up_x(self.alpha, up_z(self.theta, m))
        m = vec.add(m, vec.cross(self.p, f))
        return up_z(self.gamma, f), up_z(self.gamma, m)

    def inertia_up(self, j: Inertia) -> Inertia:
        """jTi^T J jTi, Khalil (40)."""
        j = j.shifted_z(self.r).turned_z(self.theta)
        j = j.shifted_x(self.p[0]).turned_x(self.alpha)  # a shift along x is free to pass a turn about x
        return j.shifted_y(self.p[1]).shifted_z(self.p[2]).turned_z(self.gamma)

    def matrix_up(self, m: Matrix) -> Matrix:
        """A matrix of this frame in the axes of the reference: iRj m iRj^T."""
        return matrix_up_z(self.gamma, matrix_up_x(self.alpha, matrix_up_z(self.theta, m)))

    def pose_up(self, rotation: Matrix, position: Vector) -> tuple[Matrix, Vector]:
        """A pose known in this frame, in the reference: columns of the rotation are turned."""
        columns = [self.up((rotation[0][k], rotation[1][k], rotation[2][k])) for k in range(3)]
        rows = tuple((columns[0][i], columns[1][i], columns[2][i]) for i in range(3))
        return rows, vec.add(self.up(position), self.position)  # type: ignore[return-value]

    def rows_across(self, rotation: Matrix) -> Matrix:
        """R (iRj): a rotation known to the reference frame, continued to this frame."""
        return (self.down(rotation[0]), self.down(rotation[1]), self.down(rotation[2]))

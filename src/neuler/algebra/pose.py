"""A frame anywhere in its reference: a rotation from a quaternion, and a position."""

from __future__ import annotations

from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.vector import Matrix, Symmetric, Vector
from neuler.tolerances import UNIT
from neuler.trace.graph import Scalar, one_if_positive, sqrt
from neuler.trace.scalars import atan2, less, where

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]
"""x, y, z, w."""
_TINY = 1e-30
"""Added to the square of a length: what is divided by the length stays finite, and keeps all its digits."""


@dataclass(frozen=True)
class Pose:
    """Does what a Placement does, with a general rotation (rows: the reference's components)."""

    rotation: Matrix
    position: Vector

    def down(self, v: Vector) -> Vector:
        """Components of a vector in this frame, from those in the reference."""
        return vec.apply_transposed(self.rotation, v)

    def up(self, v: Vector) -> Vector:
        """Components in the reference, from those in this frame."""
        return vec.apply(self.rotation, v)

    def motion_down(self, v: Vector, w: Vector) -> tuple[Vector, Vector]:
        """jTi of Khalil (17) on a screw of the reference frame."""
        return self.down(vec.add(v, vec.cross(w, self.position))), self.down(w)

    def wrench_up(self, f: Vector, m: Vector) -> tuple[Vector, Vector]:
        """jTi^T: a wrench of this frame at the reference's origin."""
        f, m = self.up(f), self.up(m)
        return f, vec.add(m, vec.cross(self.position, f))

    def matrix_up(self, m: Matrix) -> Matrix:
        """A matrix of this frame in the axes of the reference: R m R^T."""
        rows = vec.transpose((self.up(m[0]), self.up(m[1]), self.up(m[2])))  # R m^T, transposed twice
        return vec.transpose((self.up(rows[0]), self.up(rows[1]), self.up(rows[2])))

    def inertia_up(self, j: Inertia) -> Inertia:
        """jTi^T J jTi, Khalil (40): turned, then B' = B - A hat(P), C' = C - B^T hat(P) + hat(P) B'."""
        a, b = self.matrix_up(vec.full(j.a)), self.matrix_up(j.b)
        c = self.matrix_up(vec.full(j.c))
        shift = vec.hat(self.position)
        moved = vec.subtract_matrix(b, vec.product(a, shift))
        across = vec.product(vec.transpose(b), shift)
        c = vec.add_matrix(vec.subtract_matrix(c, across), vec.product(shift, moved))
        return Inertia(_upper(a), moved, _upper(c))

    def pose_up(self, rotation: Matrix, position: Vector) -> tuple[Matrix, Vector]:
        """A pose known in this frame, in the reference."""
        return vec.product(self.rotation, rotation), vec.add(self.up(position), self.position)

    def rows_across(self, rotation: Matrix) -> Matrix:
        """R (iRj): a rotation known to the reference frame, continued to this frame."""
        return (self.down(rotation[0]), self.down(rotation[1]), self.down(rotation[2]))


def _upper(m: Matrix) -> Symmetric:
    return (m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2])


def rotation(quaternion: Quaternion) -> Matrix:
    """Of a quaternion of length one; rounding of its length is taken out.

    Where the square of the length is off by ``UNIT`` or more the result is NaN: that is no rotation.
    """
    x, y, z, w = quaternion
    square = x * x + y * y + z * z + w * w
    off = square - 1.0
    s = 2.0 * one_if_positive((UNIT - off) * (UNIT + off)) / square
    xs, ys, zs = s * x, s * y, s * z
    xx, yy, zz = xs * x, ys * y, zs * z
    xy, xz, yz = xs * y, xs * z, ys * z
    wx, wy, wz = xs * w, ys * w, zs * w
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def turning(quaternion: Quaternion, w: Vector) -> Quaternion:
    """The rate of a quaternion whose frame turns by w, in the frame's own components: half q w."""
    x, y, z, s = quaternion
    a, b, c = vec.scale(0.5, w)
    return (s * a + y * c - z * b, s * b + z * a - x * c, s * c + x * b - y * a, -(x * a + y * b + z * c))


def turned_by(quaternion: Quaternion, rate: Quaternion) -> Vector:
    """w of the rate of a quaternion of length one: ``turning`` the other way."""
    x, y, z, s = quaternion
    v, dv = (x, y, z), (rate[0], rate[1], rate[2])
    along = vec.subtract(vec.scale(s, dv), vec.add(vec.scale(rate[3], v), vec.cross(v, dv)))
    return vec.scale(2.0, along)


def quaternion_of(rotation: Matrix) -> Quaternion:
    """Of a rotation, with some length from 1 to 4: by its largest component, so that no digits are lost."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    across = (zy - yz, xz - zx, yx - xy)
    sums = (xy + yx, xz + zx, yz + zy)
    x, y, z, w = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz
    first = _either(less(x, y), (sums[0], y, sums[2], across[1]), (x, sums[0], sums[1], across[0]))
    second = _either(less(z, w), (*across, w), (sums[1], sums[2], z, across[2]))
    return _either(less(where(less(x, y), y, x), where(less(z, w), w, z)), second, first)


def _either(c: Scalar, yes: Quaternion, no: Quaternion) -> Quaternion:
    a, b, d, e = (where(c, x, y) for x, y in zip(yes, no, strict=True))
    return (a, b, d, e)


def logarithm(quaternion: Quaternion) -> Vector:
    """The turn of a quaternion of any length, the shorter way round: its axis times its angle (rad).

    >>> logarithm((0.0, 0.0, 2.0, -2.0))
    (-0.0, -0.0, -1.5707963267948966)
    """
    x, y, z, w = quaternion
    size = sqrt(x * x + y * y + z * z + _TINY)
    back = less(w, 0.0)  # a quaternion and its negative are one rotation
    angle = 2.0 * atan2(size, where(back, -w, w)) / size
    return vec.scale(where(back, -angle, angle), (x, y, z))


def between(start: Quaternion, end: Quaternion) -> Quaternion:
    """The turn that leads from one to another, in the first one's own axes: conj(start) end."""
    (x, y, z, w), (a, b, c, d) = start, end
    return (
        w * a - x * d - y * c + z * b,
        w * b - y * d - z * a + x * c,
        w * c - z * d - x * b + y * a,
        w * d + x * a + y * b + z * c,
    )

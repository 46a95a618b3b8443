"""Turns about one coordinate axis, in components.

A frame turned by an angle with cosine c and sine s about z (or x) of its reference. ``up``
takes components in the turned frame to components in the reference, ``down`` takes them back
(it is ``up`` with -s). Turning a vector costs 4 products, a symmetric matrix 8, a general one
12: two such turns are cheaper than a product with a 3x3 rotation matrix.
"""

from __future__ import annotations

from neuler.algebra.vector import Matrix, Symmetric, Vector
from neuler.trace.graph import Scalar

Angle = tuple[Scalar, Scalar]
"""(cosine, sine)."""


def up_z(a: Angle, v: Vector) -> Vector:
    c, s = a
    return (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


def down_z(a: Angle, v: Vector) -> Vector:
    c, s = a
    return (c * v[0] + s * v[1], c * v[1] - s * v[0], v[2])


def up_x(a: Angle, v: Vector) -> Vector:
    c, s = a
    return (v[0], c * v[1] - s * v[2], s * v[1] + c * v[2])


def down_x(a: Angle, v: Vector) -> Vector:
    c, s = a
    return (v[0], c * v[1] + s * v[2], c * v[2] - s * v[1])


def _plane(a: Angle, xx: Scalar, yy: Scalar, xy: Scalar, yx: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """R [xx xy; yx yy] R^T in the plane of the turn, with four products.

    With k = s (xx - yy) + c (xy + yx): xx' = xx - s k, yy' = yy + s k, xy' = c k - yx, yx' = c k - xy.
    """
    c, s = a
    if isinstance(s, float) and (s == 0.0 or c == 0.0):  # a quarter turn permutes
        return (xx, yy, xy, yx) if s == 0.0 else (yy, xx, -yx, -xy)
    twice = xy + xy if xy is yx else xy + yx
    k = s * (xx - yy) + c * twice
    sk, ck = s * k, c * k
    return (xx - sk, yy + sk, ck - yx, ck - xy)


def symmetric_up_z(a: Angle, j: Symmetric) -> Symmetric:
    xx, yy, zz, xy, xz, yz = j
    c, s = a
    nxx, nyy, nxy, _ = _plane(a, xx, yy, xy, xy)
    return (nxx, nyy, zz, nxy, c * xz - s * yz, s * xz + c * yz)


def symmetric_up_x(a: Angle, j: Symmetric) -> Symmetric:
    xx, yy, zz, xy, xz, yz = j
    c, s = a
    nyy, nzz, nyz, _ = _plane(a, yy, zz, yz, yz)
    return (xx, nyy, nzz, c * xy - s * xz, s * xy + c * xz, nyz)


def matrix_up_z(a: Angle, m: Matrix) -> Matrix:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = m
    c, s = a
    nxx, nyy, nxy, nyx = _plane(a, xx, yy, xy, yx)
    return (
        (nxx, nxy, c * xz - s * yz),
        (nyx, nyy, s * xz + c * yz),
        (c * zx - s * zy, s * zx + c * zy, zz),
    )


def matrix_up_x(a: Angle, m: Matrix) -> Matrix:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = m
    c, s = a
    nyy, nzz, nyz, nzy = _plane(a, yy, zz, yz, zy)
    return (
        (xx, c * xy - s * xz, s * xy + c * xz),
        (c * yx - s * zx, nyy, nyz),
        (s * yx + c * zx, nzy, nzz),
    )

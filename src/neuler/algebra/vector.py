"""3-vectors and symmetric 3x3 matrices over any scalar, as tuples.

A symmetric matrix is (xx, yy, zz, xy, xz, yz); a general one is three rows.
"""

from __future__ import annotations

from neuler.trace.graph import Scalar

Vector = tuple[Scalar, Scalar, Scalar]
Symmetric = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Matrix = tuple[Vector, Vector, Vector]

ZERO: Vector = (0.0, 0.0, 0.0)
ONE: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def negate(a: Vector) -> Vector:
    return (-a[0], -a[1], -a[2])


def scale(k: Scalar, a: Vector) -> Vector:
    return (k * a[0], k * a[1], k * a[2])


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def apply(m: Matrix, v: Vector) -> Vector:
    return (dot(m[0], v), dot(m[1], v), dot(m[2], v))


def apply_transposed(m: Matrix, v: Vector) -> Vector:
    return add(add(scale(v[0], m[0]), scale(v[1], m[1])), scale(v[2], m[2]))


def apply_symmetric(j: Symmetric, v: Vector) -> Vector:
    xx, yy, zz, xy, xz, yz = j
    return (
        xx * v[0] + xy * v[1] + xz * v[2],
        xy * v[0] + yy * v[1] + yz * v[2],
        xz * v[0] + yz * v[1] + zz * v[2],
    )


def add_symmetric(a: Symmetric, b: Symmetric) -> Symmetric:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


def add_matrix(a: Matrix, b: Matrix) -> Matrix:
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def hat(w: Vector) -> Matrix:
    """The matrix of the vector product with w, Khalil (24)."""
    return ((0.0, -w[2], w[1]), (w[2], 0.0, -w[0]), (-w[1], w[0], 0.0))


def hats(a: Vector, b: Vector) -> Matrix:
    """hat(a) hat(b) = b a^T - (a . b) 1: a x (b x v) for every v."""
    x, y, z = a[0] * b[0], a[1] * b[1], a[2] * b[2]
    return (
        (-(y + z), b[0] * a[1], b[0] * a[2]),
        (b[1] * a[0], -(x + z), b[1] * a[2]),
        (b[2] * a[0], b[2] * a[1], -(x + y)),
    )


def transpose(m: Matrix) -> Matrix:
    return ((m[0][0], m[1][0], m[2][0]), (m[0][1], m[1][1], m[2][1]), (m[0][2], m[1][2], m[2][2]))


def product(a: Matrix, b: Matrix) -> Matrix:
    columns = transpose(b)
    rows = tuple((dot(row, columns[0]), dot(row, columns[1]), dot(row, columns[2])) for row in a)
    return (rows[0], rows[1], rows[2])


def subtract_matrix(a: Matrix, b: Matrix) -> Matrix:
    return (subtract(a[0], b[0]), subtract(a[1], b[1]), subtract(a[2], b[2]))


def full(j: Symmetric) -> Matrix:
    """A symmetric matrix with all its entries."""
    xx, yy, zz, xy, xz, yz = j
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))

"""Quaternions (x, y, z, w) as positions: rotations over any scalar, and the way from one to another as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.algebra import vector as vec
from neuler.algebra.pose import Quaternion, turning
from neuler.algebra.vector import Vector
from neuler.trace.graph import Scalar, cos, inverse_above, sin, sqrt
from neuler.trace.scalars import less, where

Array = NDArray[np.float64]

_TINY = 1e-30
"""Added to the square of an angle: what is divided by it stays finite, and keeps all its digits."""


class Turn:
    """By an angular velocity that has lasted a second: |w|, and what the exponentials of it need."""

    def __init__(self, w: Vector) -> None:
        self.w = w
        self.square = vec.dot(w, w) + _TINY
        self.angle = sqrt(self.square)
        self.half = sin(0.5 * self.angle) / self.angle

    def path(self, v: Vector) -> Vector:
        """Where a point with velocity v gets, both seen from the frame that turns: s1 v + s2 w x v + s3 w x (w x v)."""
        bend = vec.cross(self.w, v)
        twist = vec.cross(self.w, bend)
        rest = (self.angle - sin(self.angle)) / (self.square * self.angle)
        return vec.add(v, vec.add(vec.scale(2.0 * self.half * self.half, bend), vec.scale(rest, twist)))

    def after(self, quaternion: Quaternion) -> list[Scalar]:
        """The quaternion after the turn, of length one again."""
        c = cos(0.5 * self.angle)
        turned = turning(quaternion, vec.scale(2.0, vec.scale(self.half, self.w)))
        product = [a + c * b for a, b in zip(turned, quaternion, strict=True)]
        inverse = inverse_above(sqrt(sum((x * x for x in product[1:]), product[0] * product[0])), 0.0)
        return [x * inverse for x in product]


def conjugate(quaternion: Array) -> Array:
    """The quaternion of the inverse rotation."""
    return quaternion * np.array([-1.0, -1.0, -1.0, 1.0])


def product(a: Array, b: Array) -> Array:
    """First b, then a: the rotation a b."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    scalar = wa * wb - (va * vb).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def rotated(quaternion: Array, x: Array) -> Array:
    """R x; rounding of the quaternion's length is taken out."""
    axis, c = quaternion[..., :3], quaternion[..., 3:]
    twice = 2 / np.square(quaternion).sum(axis=-1, keepdims=True)
    side = np.cross(axis, x)
    return x + twice * (c * side + np.cross(axis, side))


def bend(square: Scalar) -> Scalar:
    """(1 - h cot h) / (4 h^2) with 4 h^2 the square of an angle: the factor of w x (w x d) in ``way``."""
    small = less(square, 1e-4)
    half = 0.5 * sqrt(where(small, 1.0, square))
    whole = (1.0 - half * cos(half) / sin(half)) / (4.0 * half * half)
    return where(small, 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0), whole)


def turn_between(start: Array, end: Array) -> tuple[Array, Array]:
    """w with start exp(w) = end, the shorter way round; and the factor of w x (w x d) in ``difference``."""
    turn = product(conjugate(start), end)
    turn = np.where(turn[..., 3:] < 0, -turn, turn)  # a quaternion and its negative are one rotation
    axis, c = turn[..., :3], turn[..., 3:]
    s = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(s, c)
    turns = s > 1e-8  # below, the limits are exact
    safe = np.where(turns, s, 1.0)
    w = np.where(turns, angle / safe, 2.0) * axis
    bend = np.where(turns, (1 - angle / 2 * (c / safe)) / np.where(turns, angle, 1.0) ** 2, 1 / 12)
    return w, bend

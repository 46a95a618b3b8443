"""Positions and velocities of free links: q has a position and a quaternion where qd has a screw.

The velocity of a free link has components in its own frame, so that

    dp/dt = R v        d(quaternion)/dt = half quaternion w

and a derivative "to q" is one along these directions: a column for every velocity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuler.algebra import vector as vec
from neuler.algebra.pose import Quaternion, rotation, turning
from neuler.algebra.vector import Vector
from neuler.passes.tree import FREE, Body, Tree
from neuler.recursions.kinematics import screw
from neuler.trace.graph import Scalar, cos, inverse_above, sin, sqrt

_TINY = 1e-30
"""Added to the square of an angle: what is divided by it stays finite, and keeps all its digits."""


def _free(body: Body, q: Sequence[Scalar]) -> tuple[Vector, Quaternion]:
    x, y, z, a, b, c, w = q[body.position : body.position + 7]
    return (x, y, z), (a, b, c, w)


def position_rates(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """dq/dt."""
    found: list[Scalar] = [0.0] * len(q)
    for body in tree.bodies:
        if body.sigma == FREE:
            _, turn = _free(body, q)
            v, w = screw(body, qd)
            found[body.position : body.position + 7] = [*vec.apply(rotation(turn), v), *turning(turn, w)]
        elif body.coordinate is not None:
            found[body.position] = qd[body.coordinate]
    return found


def tangent_columns(tree: Tree, q: Sequence[Scalar]) -> list[dict[int, Scalar]]:
    """For every velocity the nonzero entries of dq/d(qd), by their number in q."""
    columns: list[dict[int, Scalar]] = []
    for k in range(tree.dof):
        unit: list[Scalar] = [0.0] * tree.dof
        unit[k] = 1.0
        rates = position_rates(tree, q, unit)
        columns.append({i: x for i, x in enumerate(rates) if not (isinstance(x, float) and x == 0.0)})
    return columns


def along_tangents(
    tree: Tree, q: Sequence[Scalar], entries: Mapping[tuple[int, int], Scalar], rows: int
) -> list[list[Scalar]]:
    """A Jacobian to the numbers of q, as one to the velocities' directions."""
    columns = tangent_columns(tree, q)
    found: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(rows)]
    for row in range(rows):
        for k, column in enumerate(columns):
            for i, factor in column.items():
                if (row, i) in entries:
                    found[row][k] = found[row][k] + entries[row, i] * factor
    return found


def integrate(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
    """Where q is after the velocity qd, constant in the links' own frames, has lasted dt: exact for free links.

    With th = |w| dt a free link screws along: p + R (s1 v + s2 w x v + s3 w x (w x v)) with s1 = dt,
    s2 = dt^2 (1 - cos th) / th^2, s3 = dt^3 (th - sin th) / th^3; the quaternion is turned by th about w.
    """
    found = list(q)
    for body in tree.bodies:
        if body.sigma == FREE:
            p, turn = _free(body, q)
            v, w = (vec.scale(dt, x) for x in screw(body, qd))
            square = vec.dot(w, w) + _TINY
            angle = sqrt(square)
            half = sin(0.5 * angle) / angle
            bend, twist = vec.cross(w, v), vec.cross(w, vec.cross(w, v))
            rest = (angle - sin(angle)) / (square * angle)
            path = vec.add(v, vec.add(vec.scale(2.0 * half * half, bend), vec.scale(rest, twist)))
            where = vec.add(p, vec.apply(rotation(turn), path))
            found[body.position : body.position + 7] = [*where, *_turned(turn, vec.scale(half, w), cos(0.5 * angle))]
        elif body.coordinate is not None:
            found[body.position] = q[body.position] + dt * qd[body.coordinate]
    return found


def _turned(quaternion: Quaternion, axis: Vector, c: Scalar) -> list[Scalar]:
    """quaternion (axis, c), of length one again."""
    turned = turning(quaternion, vec.scale(2.0, axis))
    product = [a + c * b for a, b in zip(turned, quaternion, strict=True)]
    inverse = inverse_above(sqrt(sum((x * x for x in product[1:]), product[0] * product[0])), 0.0)
    return [x * inverse for x in product]

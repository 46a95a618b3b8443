"""A link that may move anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neuler.algebra import vector as vec
from neuler.algebra.pose import Quaternion, between, logarithm, rotation, turned_by, turning
from neuler.algebra.screw import Column
from neuler.algebra.vector import Matrix, Vector
from neuler.robot.kinds.kind import Array, Kind
from neuler.robot.kinds.quaternions import Turn, bend, conjugate, rotated, turn_between
from neuler.robot.transform import Vec3
from neuler.trace.graph import Scalar

if TYPE_CHECKING:
    from neuler.robot.joint import Joint, Limits


class Free(Kind):
    """Position: x, y, z, quaternion x, y, z, w in its seat. Velocity: the child's screw in its own frame.

    dp/dt = R v, d(quaternion)/dt = half quaternion w: a derivative "to q" is one along these directions.
    """

    name = "free"
    nq, nv = 7, 6
    drives = frozenset({"viscous"})
    always_passive = True
    turns = (False, False, False, True, True, True)
    quaternion = 3
    parts = ("x", "y", "z", "qx", "qy", "qz", "qw")
    velocity_parts = ("vx", "vy", "vz", "wx", "wy", "wz")

    def columns(self, joint: Joint, axis: Vec3) -> tuple[Column, ...]:
        """Slides along the child's axes, then turns about them."""
        return (*(Column(unit, vec.ZERO) for unit in vec.ONE), *(Column(vec.ZERO, unit) for unit in vec.ONE))

    def pose(self, q: Sequence[Scalar]) -> tuple[Matrix, Vector]:
        """The rotation of the quaternion and the position, as q has them."""
        p, turn = _parts(q)
        return rotation(turn), p

    def rates(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """R v, and half quaternion w."""
        _, turn = _parts(q)
        v, w = _screw(qd)
        return [*vec.apply(rotation(turn), v), *turning(turn, w)]

    def velocities(self, q: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
        """The velocity in the child's axes, R^T dp/dt, and the angular velocity w."""
        (_, turn), (moved, turned) = _parts(q), _parts(rates)
        return [*vec.apply_transposed(rotation(turn), moved), *turned_by(turn, turned)]

    def integrate(self, q: Sequence[Scalar], qd: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
        """It screws along, exactly: with th = |w| dt, p + R (s1 v + s2 w x v + s3 w x (w x v)) with s1 = dt,
        s2 = dt^2 (1 - cos th) / th^2, s3 = dt^3 (th - sin th) / th^3; the quaternion is turned by th about w.
        """
        p, quaternion = _parts(q)
        v, w = (vec.scale(dt, x) for x in _screw(qd))
        turn = Turn(w)
        return [*vec.add(p, vec.apply(rotation(quaternion), turn.path(v))), *turn.after(quaternion)]

    def way(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """The logarithm of the displacement, as ``difference`` has it."""
        (here, turn), (there, turned) = _parts(start), _parts(end)
        w = logarithm(between(turn, turned))
        d = vec.apply_transposed(rotation(turn), vec.subtract(there, here))
        side = vec.cross(w, d)
        bent = vec.scale(bend(vec.dot(w, w)), vec.cross(w, side))
        return [*vec.add(vec.add(d, vec.scale(-0.5, side)), bent), *w]

    def way_rates(self, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """With the commutator of screws (w x v' - w' x v; w x w')."""
        a, screw = _screw(way), _screw(qd)
        once = _commutator(a, screw)
        twice = _commutator(a, once)
        return [
            x + 0.5 * y + z / 12.0 for x, y, z in zip(qd, (*once[0], *once[1]), (*twice[0], *twice[1]), strict=True)
        ]

    def difference(self, start: Array, end: Array) -> Array:
        """The logarithm of the displacement: (v; w) in the frame of ``start`` with exp(v; w) = start^-1 end."""
        w, bent = turn_between(start[..., 3:], end[..., 3:])
        d = rotated(conjugate(start[..., 3:]), end[..., :3] - start[..., :3])
        v = d - 0.5 * np.cross(w, d) + bent * np.cross(w, np.cross(w, d))
        return np.concatenate([v, np.broadcast_to(w, v.shape)], axis=-1)

    def neutral(self, limits: Limits) -> tuple[float, ...]:
        """The pose of its seat: no displacement, no turn."""
        return (0.0,) * 6 + (1.0,)

    def spans(self, limits: Limits) -> list[tuple[float, float]]:
        """Within 1 m; of a quaternion that is yet to be normalised."""
        return [(-1.0, 1.0)] * self.nq


def _parts(q: Sequence[Scalar]) -> tuple[Vector, Quaternion]:
    x, y, z, a, b, c, w = q
    return (x, y, z), (a, b, c, w)


def _screw(qd: Sequence[Scalar]) -> tuple[Vector, Vector]:
    return (qd[0], qd[1], qd[2]), (qd[3], qd[4], qd[5])


def _commutator(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    (v, w), (x, y) = a, b
    return vec.subtract(vec.cross(w, x), vec.cross(y, v)), vec.cross(w, y)

"""A ball: any rotation about a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuler.algebra import vector as vec
from neuler.algebra.pose import Quaternion, between, logarithm, rotation, turned_by, turning
from neuler.algebra.screw import Column
from neuler.algebra.vector import Matrix, Vector
from neuler.robot.kinds.kind import Array, Body, Kind
from neuler.robot.kinds.quaternions import Turn, turn_between
from neuler.robot.transform import Vec3
from neuler.trace.graph import Scalar

if TYPE_CHECKING:
    from neuler.robot.joint import Joint, Limits


class Spherical(Kind):
    """Position: quaternion (x, y, z, w). Velocity: the angular velocity in the child's axes (rad/s)."""

    name = "spherical"
    nq, nv = 4, 3
    drives = frozenset({"viscous"})
    turns = (True, True, True)
    quaternion = 0
    parts = ("qx", "qy", "qz", "qw")
    velocity_parts = ("wx", "wy", "wz")
    symbol = "ball"

    def columns(self, joint: Joint, axis: Vec3) -> tuple[Column, ...]:
        """A turn about each axis of the child."""
        return tuple(Column(vec.ZERO, unit) for unit in vec.ONE)

    def pose(self, q: Sequence[Scalar]) -> tuple[Matrix, Vector]:
        """The rotation of the quaternion."""
        return rotation(_quaternion(q)), vec.ZERO

    def rates(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """The rates of the quaternion, half of its product with w."""
        return list(turning(_quaternion(q), (qd[0], qd[1], qd[2])))

    def velocities(self, q: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
        """The angular velocity w in the child's axes, of the quaternion's rates."""
        return list(turned_by(_quaternion(q), _quaternion(rates)))

    def integrate(self, q: Sequence[Scalar], qd: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
        """Turned about w by |w| dt, exactly."""
        return Turn(vec.scale(dt, (qd[0], qd[1], qd[2]))).after(_quaternion(q))

    def way(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """The rotation vector of the shorter way round."""
        return list(logarithm(between(_quaternion(start), _quaternion(end))))

    def way_rates(self, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """With the commutator w x w'."""
        a, w = (way[0], way[1], way[2]), (qd[0], qd[1], qd[2])
        once = vec.cross(a, w)
        return list(vec.add(w, vec.add(vec.scale(0.5, once), vec.scale(1 / 12, vec.cross(a, once)))))

    def difference(self, start: Array, end: Array) -> Array:
        """The rotation vector of the shorter way round, (..., 3)."""
        return turn_between(start, end)[0]

    def neutral(self, limits: Limits) -> tuple[float, ...]:
        """The quaternion of no turn."""
        return (0.0, 0.0, 0.0, 1.0)

    def spans(self, limits: Limits) -> list[tuple[float, float]]:
        """Of a quaternion that is yet to be normalised."""
        return [(-1.0, 1.0)] * self.nq

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """Moved: the mass, put at the point about which the link turns."""
        make = type(link)
        return make("kept", 0.0, link.first_moment, link.inertia), make("moved", link.mass)


def _quaternion(q: Sequence[Scalar]) -> Quaternion:
    x, y, z, w = q
    return (x, y, z, w)

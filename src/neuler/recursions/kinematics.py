"""Outward passes: placements, velocities and accelerations of all links, Khalil (13)-(21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Screw, plus
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Body, Place, Tree
from neuler.trace.graph import Scalar


def coordinate(body: Body, values: Sequence[Scalar]) -> Scalar:
    """The entry of a body whose joint has one velocity in a vector of them; zero behind a fixed joint."""
    return 0.0 if body.coordinate is None else values[body.coordinate]


def placements(tree: Tree, q: Sequence[Scalar]) -> list[Place]:
    """The frame of every body in its antecedent's."""
    return [body.place(q) for body in tree.bodies]


def angular_velocities(tree: Tree, places: Sequence[Place], qd: Sequence[Scalar]) -> list[Vector]:
    """Angular velocities of all bodies in their own axes, Khalil (18), (19)."""
    w: list[Vector] = [vec.ZERO]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        w.append(vec.add(place.down(w[body.antecedent]), body.relative(qd)[1]))  # (18), (19)
    return w


def velocities(tree: Tree, places: Sequence[Place], qd: Sequence[Scalar]) -> list[Screw]:
    """Screws (linear; angular) of all canonical frames, Khalil (13)."""
    screws: list[Screw] = [(vec.ZERO, vec.ZERO)]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        screws.append(plus(place.motion_down(*screws[body.antecedent]), body.relative(qd)))
    return screws


@dataclass(frozen=True)
class Turning:
    """What a link's rotation does to its points: U = hat(wdot) + hat(w) hat(w), with its parts."""

    w: Vector
    wd: Vector
    squares: Vector
    products: Vector
    """wy wz, wx wz, wx wy."""
    u: Matrix

    @classmethod
    def of(cls, w: Vector, wd: Vector) -> Turning:
        """From angular velocity and acceleration: six products."""
        xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
        yz, xz, xy = w[1] * w[2], w[0] * w[2], w[0] * w[1]
        u = (
            (-(yy + zz), xy - wd[2], xz + wd[1]),
            (xy + wd[2], -(xx + zz), yz - wd[0]),
            (xz - wd[1], yz + wd[0], -(xx + yy)),
        )
        return cls(w, wd, (xx, yy, zz), (yz, xz, xy), u)


@dataclass(frozen=True)
class BodyMotion:
    """Acceleration of a link's origin (gravity taken as -g of the base) and its turning."""

    vd: Vector
    turning: Turning


def motions(
    tree: Tree, places: Sequence[Place], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity: Vector
) -> list[BodyMotion]:
    """Khalil (18)-(21), started with the base accelerating by -g."""
    found = [BodyMotion(vec.negate(gravity), Turning.of(vec.ZERO, vec.ZERO))]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        seat = seat_of(place, found[body.antecedent])
        (v, w), (vd, wd) = body.relative(qd), body.relative(qdd)
        spin = vec.add(seat.w, w)  # (19)
        spin_rate = vec.add(vec.add(seat.wd, vec.cross(seat.w, w)), wd)  # (20)
        pull = vec.add(seat.vd, vec.cross(seat.w, vec.add(v, v)))  # (21)
        pull = vec.add(vec.add(pull, vec.cross(w, v)), vd)
        found.append(BodyMotion(pull, Turning.of(spin, spin_rate)))
    return found


@dataclass(frozen=True)
class Seat:
    """The motion of the antecedent at the origin of a frame that it carries, in the axes of that frame."""

    vd: Vector
    w: Vector
    wd: Vector


def seat_of(place: Place, above: BodyMotion) -> Seat:
    """Khalil (18) and the first terms of (20), (21)."""
    vd = place.down(vec.add(above.vd, vec.apply(above.turning.u, place.position)))
    return Seat(vd, place.down(above.turning.w), place.down(above.turning.wd))


def newton_euler(body: Body, motion: BodyMotion) -> tuple[Vector, Vector]:
    """Force and moment about the origin that the link's motion asks for, Khalil (22), (23).

    The moment J wdot + w x (J w) is written in the entries of U, which (22) needs anyway.
    """
    u, (yz, xz, xy), (sx, sy, sz) = motion.turning.u, motion.turning.products, motion.turning.squares
    wd, vd, ms = motion.turning.wd, motion.vd, body.first_moment
    jxx, jyy, jzz, jxy, jxz, jyz = body.inertia
    force = vec.add(vec.scale(body.mass, vd), vec.apply(u, ms))  # (22)
    moment = (
        jxx * wd[0] + (jzz - jyy) * yz - jxy * u[2][0] + jxz * u[1][0] + jyz * (sy - sz),
        jyy * wd[1] + (jxx - jzz) * xz - jyz * u[0][1] + jxy * u[2][1] + jxz * (sz - sx),
        jzz * wd[2] + (jyy - jxx) * xy - jxz * u[1][2] + jyz * u[0][2] + jxy * (sx - sy),
    )
    return force, vec.add(moment, vec.cross(ms, vd))  # (23)


def world_poses(tree: Tree, places: Sequence[Place]) -> list[tuple[Matrix, Vector]]:
    """Rotation (rows) and origin of every canonical frame in the canonical frame of the base."""
    poses: list[tuple[Matrix, Vector]] = [(vec.ONE, vec.ZERO)]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        rotation, origin = poses[body.antecedent]
        poses.append((place.rows_across(rotation), vec.add(origin, vec.apply(rotation, place.position))))
    return poses

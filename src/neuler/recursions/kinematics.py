"""Outward passes: placements, velocities and accelerations of all links, Khalil (13)-(21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import FREE, PRISMATIC, REVOLUTE, Body, Place, Tree
from neuler.trace.graph import Scalar


def coordinate(body: Body, values: Sequence[Scalar]) -> Scalar:
    """The body's own entry of a vector of velocities or forces; zero behind a fixed joint."""
    return 0.0 if body.coordinate is None else values[body.coordinate]


def screw(body: Body, values: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """A free body's six entries of a vector of velocities, (linear; angular)."""
    first = body.coordinate or 0
    return (
        (values[first], values[first + 1], values[first + 2]),
        (values[first + 3], values[first + 4], values[first + 5]),
    )


def placements(tree: Tree, q: Sequence[Scalar]) -> list[Place]:
    """The frame of every body in its antecedent's."""
    return [body.place(q) for body in tree.bodies]


def angular_velocities(tree: Tree, places: Sequence[Place], qd: Sequence[Scalar]) -> list[Vector]:
    """Khalil (18), (19)."""
    w: list[Vector] = [vec.ZERO]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        if body.sigma == FREE:
            w.append(screw(body, qd)[1])
            continue
        x, y, z = place.down(w[body.antecedent])  # (18)
        w.append((x, y, z + coordinate(body, qd) if body.sigma == REVOLUTE else z))  # (19)
    return w


def velocities(tree: Tree, places: Sequence[Place], qd: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
    """Screws (linear; angular) of all canonical frames, Khalil (13)."""
    screws: list[tuple[Vector, Vector]] = [(vec.ZERO, vec.ZERO)]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        if body.sigma == FREE:
            screws.append(screw(body, qd))
            continue
        screws.append(add_along(body, place.motion_down(*screws[body.antecedent]), coordinate(body, qd)))
    return screws


def add_along(body: Body, screw: tuple[Vector, Vector], rate: Scalar) -> tuple[Vector, Vector]:
    """screw + rate a_j, Khalil (16)."""
    v, w = screw
    if body.sigma == REVOLUTE:
        w = (w[0], w[1], w[2] + rate)
    elif body.sigma == PRISMATIC:
        v = (v[0], v[1], v[2] + rate)
    return v, w


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
class Motion:
    """Acceleration of a link's origin (gravity taken as -g of the base) and its turning."""

    vd: Vector
    turning: Turning


def motions(
    tree: Tree, places: Sequence[Place], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity: Vector
) -> list[Motion]:
    """Khalil (18)-(21), started with the base accelerating by -g."""
    found = [Motion(vec.negate(gravity), Turning.of(vec.ZERO, vec.ZERO))]
    for body, place in zip(tree.bodies[1:], places[1:], strict=True):
        above = found[body.antecedent]
        if body.sigma == FREE:
            found.append(free_motion(place.down(above.vd), screw(body, qd), screw(body, qdd)))
            continue
        rate, push = coordinate(body, qd), coordinate(body, qdd)
        w_above = place.down(above.turning.w)  # (18)
        wd = place.down(above.turning.wd)
        vd = place.down(vec.add(above.vd, vec.apply(above.turning.u, place.position)))
        w = w_above
        if body.sigma == REVOLUTE:
            w = (w[0], w[1], w[2] + rate)  # (19)
            wd = (wd[0] + w_above[1] * rate, wd[1] - w_above[0] * rate, wd[2] + push)  # (20)
        elif body.sigma == PRISMATIC:
            twice = rate + rate
            vd = (vd[0] + w_above[1] * twice, vd[1] - w_above[0] * twice, vd[2] + push)  # (21)
        found.append(Motion(vd, Turning.of(w, wd)))
    return found


def free_motion(fall: Vector, velocity: tuple[Vector, Vector], change: tuple[Vector, Vector]) -> Motion:
    """Of a free link whose velocity has the components ``velocity`` in its own frame, changing by ``change``.

    The inertial acceleration of its origin is v' + w x v; ``fall`` is minus gravity in its frame.
    """
    (v, w), (vd, wd) = velocity, change
    return Motion(vec.add(fall, vec.add(vd, vec.cross(w, v))), Turning.of(w, wd))


def newton_euler(body: Body, motion: Motion) -> tuple[Vector, Vector]:
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

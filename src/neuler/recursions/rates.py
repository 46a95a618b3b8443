"""Joint forces and their rates: the jerk of all links outward, rates of wrenches inward, Guarino (3)-(21).

The paper carries inertial derivatives. Here the *components* in the link's frame are
differentiated; for any vector v of link i

    rate of the components of v = (dv/dt in inertial space) - omega_i x v.

Nothing is lost by it, and much is saved: a revolute joint turns a vector by R, so its rate by
R^T (v' - thetad z x v), two products; the rate of omega is gamma; (20), (21) lose n x omega and
f x omega, the rate of a joint's force is a component of the wrench's rate; and the force and moment
of a link are linear in the entries of its motion, so that (12), (13) are (10), (11) of their rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, plus
from neuler.algebra.vector import Vector
from neuler.passes.tree import Body, Place, Tree
from neuler.recursions.drives import force_rates, passive_forces, rotor
from neuler.recursions.kinematics import (
    BodyMotion,
    Turning,
    motions,
    newton_euler,
    placements,
    seat_of,
    velocities,
)
from neuler.robot import Transform
from neuler.trace.graph import Node, Scalar

Loads = Mapping[int, Sequence[Wrench]]


@dataclass(frozen=True)
class Rates:
    """Joint forces and reaction wrenches with their rates.

    Reactions are of the antecedent on each body, in its canonical frame at its origin, as in ``hybrid``;
    their rates are those of these components, what a sensor in the joint would see. The inertial rate
    of the force is that plus omega x f; of the moment, plus omega x n.
    """

    tau: list[Scalar]
    tau_rate: list[Scalar]
    reactions: list[Wrench]
    reaction_rates: list[Wrench]


@dataclass(frozen=True)
class PointMotion:
    """Inertial derivatives of a point's position, in the axes of the link that carries it."""

    velocity: Vector
    acceleration: Vector
    jerk: Vector


@dataclass(frozen=True)
class LinkMotion:
    """A link's motion in the axes of its canonical frame; all derivatives are inertial, gravity is not in them."""

    origin: PointMotion
    """(23), (6), (8)."""
    mass_centre: PointMotion
    """(7), (9). A link without mass has none: that of the origin."""
    velocity: Vector
    """omega, (3)."""
    acceleration: Vector
    """gamma, (4)."""
    jerk: Vector
    """iota, (5)."""

    def at(self, placement: Transform) -> list[tuple[Vector, Vector]]:
        """(linear; angular) velocity, acceleration and jerk of a frame on the link, in its own axes: (7), (9)."""
        p, w, wd, wdd = placement.translation, self.velocity, self.acceleration, self.jerk
        turn = vec.cross(w, p)
        pull = vec.add(vec.cross(wd, p), vec.cross(w, turn))
        yank = vec.add(vec.cross(wdd, p), vec.add(vec.scale(2.0, vec.cross(wd, turn)), vec.cross(w, pull)))
        o = self.origin
        linear = (vec.add(o.velocity, turn), vec.add(o.acceleration, pull), vec.add(o.jerk, yank))
        r = placement.rotation
        angular = (w, wd, wdd)
        return [(vec.apply_transposed(r, a), vec.apply_transposed(r, b)) for a, b in zip(linear, angular, strict=True)]


def torque_rates(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    qddd: Sequence[Scalar],
    external: Loads | None = None,
    external_rates: Loads | None = None,
) -> Rates:
    """tau(q, qd, qdd) and its rate along q(t), Guarino (3)-(21), with rotors, friction and springs.

    ``external`` holds wrenches applied TO a body, in its canonical frame at its origin, and
    ``external_rates`` the rates of their components in that frame, by default zero: wrenches that
    turn with the link. (An inertial rate f', as the paper has it, is given as f' - omega x f.)

    Coulomb friction has the rate zero. It jumps where a joint reverses: there, at qd = 0, the rate is
    not defined and the result is that of the smooth part.
    """
    places = placements(tree, q)
    moving = motions(tree, places, qd, qdd, tree.gravity)  # (3), (4), (6)
    changing = motion_rates(tree, places, moving, qd, qdd, qddd)  # (5), (8)
    wrench = [newton_euler(*each) for each in zip(tree.bodies, moving, strict=True)]  # (10), (11)
    rate = [newton_euler(*each) for each in zip(tree.bodies, changing, strict=True)]  # (12), (13)
    _relieve(wrench, external)
    _relieve(rate, external_rates)

    passive, passed = passive_forces(tree, q, qd), force_rates(tree, qd, qdd, qddd)
    tau: list[Scalar] = [0.0] * tree.dof
    tau_rate: list[Scalar] = [0.0] * tree.dof
    for i in range(len(tree.bodies) - 1, 0, -1):
        body, place, j = tree.bodies[i], places[i], tree.bodies[i].antecedent
        for k, column in body.freedoms:
            own = column.dot(wrench[i]), column.dot(rate[i])
            tau[k] = own[0] + rotor(body) * qdd[k] + passive[k]  # (18), (19)
            tau_rate[k] = own[1] + passed[k]  # (20)
        wrench[j] = plus(wrench[j], place.wrench_up(*wrench[i]))  # (14), (15)
        rate[j] = plus(rate[j], place.wrench_up(*_carried(body, qd, wrench[i], rate[i])))  # (16), (17)
    return Rates(tau, tau_rate, wrench, rate)


def motion_rates(
    tree: Tree,
    places: Sequence[Place],
    moving: Sequence[BodyMotion],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    qddd: Sequence[Scalar],
) -> list[BodyMotion]:
    """The rate of every entry of ``moving``, Guarino (5) and (8) less omega x gamma and omega x a.

    With V', w, wd of the joint's seat on the antecedent and (v; r) its own velocity, in the link's axes, a vector of
    the antecedent changes by its own rate and by v x r: the terms beside (5) and (8).
    """
    found = [BodyMotion(vec.ZERO, Turning.of(vec.ZERO, vec.ZERO))]
    for body, place, motion in zip(tree.bodies[1:], places[1:], moving[1:], strict=True):
        above, change = moving[body.antecedent], found[body.antecedent]
        seat = seat_of(place, above)
        (v, r), (vd, rd), (vdd, rdd) = (body.relative(x) for x in (qd, qdd, qddd))
        wdd = place.down(change.turning.wd)
        spin = vec.add(seat.wd, vec.subtract(motion.turning.wd, rd))
        wdd = vec.add(vec.add(wdd, vec.cross(spin, r)), vec.add(vec.cross(seat.w, rd), rdd))  # (5)
        jerk = place.down(vec.add(change.vd, vec.apply(change.turning.u, place.position)))
        jerk = vec.add(jerk, vec.cross(vec.subtract(seat.vd, vd), r))  # (8)
        turned = vec.add(seat.wd, vec.cross(seat.w, r))
        bend = vec.add_matrix(Turning.of(seat.w, seat.wd).u, vec.hat(vec.add(vec.add(turned, turned), rd)))
        jerk = vec.add(jerk, vec.add(vec.apply(bend, v), vec.cross(seat.w, vec.add(vd, vd))))
        found.append(BodyMotion(vec.add(jerk, vdd), turning_rate(motion.turning, wdd)))
    return found


def turning_rate(turning: Turning, wdd: Vector) -> Turning:
    """The rate of every entry of ``turning``: nine products of omega and gamma."""
    w, wd = turning.w, turning.wd
    xx, yy, zz = (w[0] + w[0]) * wd[0], (w[1] + w[1]) * wd[1], (w[2] + w[2]) * wd[2]
    yz, xz, xy = w[1] * wd[2] + w[2] * wd[1], w[0] * wd[2] + w[2] * wd[0], w[0] * wd[1] + w[1] * wd[0]
    u = (
        (-(yy + zz), xy - wdd[2], xz + wdd[1]),
        (xy + wdd[2], -(xx + zz), yz - wdd[0]),
        (xz - wdd[1], yz + wdd[0], -(xx + yy)),
    )
    return Turning(wd, wdd, (xx, yy, zz), (yz, xz, xy), u)


def link_motion(
    tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], qddd: Sequence[Scalar]
) -> list[LinkMotion]:
    """Velocity, acceleration and jerk of every body, its origin and its centre of mass, Guarino (3)-(9)."""
    places = placements(tree, q)
    moving = motions(tree, places, qd, qdd, vec.ZERO)
    changing = motion_rates(tree, places, moving, qd, qdd, qddd)
    found = []
    for body, (v, w), motion, change in zip(tree.bodies, velocities(tree, places, qd), moving, changing, strict=True):
        massless = not isinstance(body.mass, Node) and body.mass == 0.0
        centre = vec.ZERO if massless else vec.scale(1.0 / body.mass, body.first_moment)
        origin, mass_centre = (
            _point(w, vec.add(v, vec.cross(w, p)), _at(motion, p), _at(change, p)) for p in (vec.ZERO, centre)
        )
        wd, wdd = motion.turning.wd, change.turning.wd
        found.append(LinkMotion(origin, mass_centre, w, wd, vec.add(wdd, vec.cross(w, wd))))
    return found


def _at(motion: BodyMotion, p: Vector) -> Vector:
    """a + gamma x p + omega x (omega x p), (7)."""
    return vec.add(motion.vd, vec.apply(motion.turning.u, p))


def _point(w: Vector, velocity: Vector, acceleration: Vector, rate: Vector) -> PointMotion:
    return PointMotion(velocity, acceleration, vec.add(rate, vec.cross(w, acceleration)))


def _relieve(wrench: list[Wrench], external: Loads | None) -> None:
    """What is applied to a link its joint need not give."""
    for number, loads in (external or {}).items():
        for push, twist in loads:
            f, m = wrench[number]
            wrench[number] = (vec.subtract(f, push), vec.subtract(m, twist))


def _carried(body: Body, qd: Sequence[Scalar], wrench: Wrench, rate: Wrench) -> Wrench:
    """The rate of a link's wrench as seen from its joint's seat on the antecedent.

    What turns, turns force and moment; what slides moves the force: dd z x f of (17).
    """
    (f, n), (fd, nd) = wrench, rate
    v, w = body.relative(qd)
    return vec.add(fd, vec.cross(w, f)), vec.add(nd, vec.add(vec.cross(w, n), vec.cross(v, f)))

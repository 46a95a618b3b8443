"""Nasser's direct dynamics: reaction loads and joint acceleration of each link, solved together.

Frame j' stands on the axis of joint j and is fixed to the antecedent link (the paper's frame
i-1 for link i). There the unknowns of link j are U_j = (the five reaction loads, the joint's
acceleration), (2.1.7.1), and its equations read L_j U_j = F_j, (2.1.19), with
F_j = A*_j q_i + B*_j, q_i the acceleration of frame j' as part of the antecedent. Signs follow
(2.1.1) and (2.1.5); the drive's load is tau - Ja thetadd, as in Khalil (31).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.placement import Placement
from neuler.algebra.screw import Wrench, flat, pair, plus
from neuler.algebra.vector import Vector
from neuler.passes.tree import PRISMATIC, REVOLUTE, Body, Tree
from neuler.recursions.drives import none, passive_forces, rotor
from neuler.recursions.hybrid import HybridResult, reciprocal
from neuler.recursions.kinematics import angular_velocities, coordinate, placements
from neuler.trace.graph import Scalar


@dataclass(frozen=True)
class Equations:
    """What the inbound pass leaves of a link for the outbound pass, all in frame j'."""

    stand: Placement
    """Frame j' in the antecedent's frame: the placement without the joint's own motion."""
    joint: Placement
    """The link's frame in frame j'."""
    a: Inertia
    """A*_j, (2.1.19.3)."""
    b: Wrench
    """B*_j, (2.1.19.5), without the drive."""
    sigma: Wrench
    """sigma*_j, (2.1.13.2), (2.2.6): acceleration of the link from velocities alone."""
    lift: Vector
    """Acceleration of the link's origin from its distance to that of frame j', in the link's frame."""


def nasser(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Sequence[Wrench]] | None = None,
) -> HybridResult:
    """Joint accelerations, and the reaction wrenches on all links in their own frames."""
    places = placements(tree, q)
    w = angular_velocities(tree, places, qd)
    a = [Inertia.rigid(body.mass, body.first_moment, body.inertia) for body in tree.bodies]
    b = [_bias(body, w[k], (external or {}).get(k, ())) for k, body in enumerate(tree.bodies)]
    passive = passive_forces(tree, q, qd)
    drives = [coordinate(body, tau) - coordinate(body, passive) for body in tree.bodies]
    equations: list[Equations | None] = [None] * len(tree.bodies)
    for number in range(len(tree.bodies) - 1, 0, -1):
        body, parent = tree.bodies[number], tree.bodies[number].antecedent
        rate = coordinate(body, qd)
        place = places[number]
        assert isinstance(place, Placement)  # the paper knows joints with one axis alone
        one = _equations(body, place, w[parent], w[number], rate, a[number], b[number])
        equations[number] = one
        passed, through = one.a, one.b
        for k in _along(body):
            z = one.a.column(k)  # A* Z
            inverse, exact = _inverse(tree, body, flat(z)[k]), none(rotor(body))
            share = [1.0 if exact and i == k else x * inverse for i, x in enumerate(flat(z))]
            passed = one.a.without(z, pair(share), k if exact else None)  # gamma G A*
            free = drives[number] - flat(one.b)[k]
            loads = [x + y * free for x, y in zip(flat(one.b), share, strict=True)]  # gamma G B*
            if exact:
                loads[k] = drives[number]
            through = pair(loads)
        if parent:
            a[parent] = a[parent] + one.stand.inertia_up(passed)  # (2.1.19.4), (2.3.3)
            b[parent] = plus(b[parent], one.stand.wrench_up(*through))  # (2.1.19.7), (2.3.4)
    return _outbound(tree, equations, drives, b[0])


def _along(body: Body) -> list[int]:
    """Where the joint moves among (vx, vy, vz, wx, wy, wz)."""
    return [column.unit for column in body.columns if column.unit is not None]


def _inverse(tree: Tree, body: Body, inertia: Scalar) -> Scalar:
    """Of what the drive feels, (2.1.19.2)."""
    assert body.coordinate is not None
    return reciprocal(inertia + rotor(body), body.joint_name, tree.usual.get(body.coordinate, 0.0))


def _bias(body: Body, w: Vector, loads: Sequence[Wrench]) -> Wrench:
    """beta_i and beta*_i, (2.1.3.2), (2.1.6.2), about the link's origin, less the external loads."""
    force = vec.cross(w, vec.cross(w, body.first_moment))
    moment = vec.cross(w, vec.apply_symmetric(body.inertia, w))
    for f, m in loads:
        force, moment = vec.subtract(force, f), vec.subtract(moment, m)
    return force, moment


def _equations(
    body: Body, place: Placement, w_below: Vector, w: Vector, rate: Scalar, a: Inertia, b: Wrench
) -> Equations:
    stand, joint = Placement(place.gamma, place.p, place.alpha), Placement(theta=place.theta, r=place.r)
    lift = vec.scale(place.r, (w[0] * w[2], w[1] * w[2], -(w[0] * w[0] + w[1] * w[1])))
    here, load = joint.inertia_up(a), joint.wrench_up(*plus(b, a @ (lift, vec.ZERO)))
    v = stand.down(vec.cross(w_below, vec.cross(w_below, stand.position)))
    x, y, _ = stand.down(w_below)
    turn: Vector = vec.ZERO
    if body.sigma == REVOLUTE:
        turn = (y * rate, -(x * rate), 0.0)  # omega_{i-1} x z thetad, (2.1.13.2) with its sign put right
    elif body.sigma == PRISMATIC:
        twice = rate + rate
        v = (v[0] + y * twice, v[1] - x * twice, v[2])  # (2.2.6)
    sigma = (v, turn)
    return Equations(stand, joint, here, plus(load, here @ sigma), sigma, lift)  # (2.1.19.6)


def _outbound(
    tree: Tree,
    equations: Sequence[Equations | None],
    drives: Sequence[Scalar],
    base_load: Wrench,
) -> HybridResult:
    """(2.1.20): F_j, then the joint's acceleration, then the acceleration of the link."""
    found: list[Scalar] = [0.0] * tree.dof
    up = vec.negate(tree.gravity)
    acceleration: list[Wrench] = [(up, vec.ZERO)]
    base = tree.bodies[0]
    felt = [plus(base_load, (vec.scale(base.mass, up), vec.cross(base.first_moment, up)))]
    for number, body in enumerate(tree.bodies[1:], start=1):
        one = equations[number]
        assert one is not None
        q = one.stand.motion_down(*acceleration[body.antecedent])
        load = list(flat(plus(one.a @ q, one.b)))  # F_j = A* q + B*, (2.1.19.2)
        move = list(flat(plus(q, one.sigma)))
        for k in _along(body):
            assert body.coordinate is not None
            z = flat(one.a.column(k))
            push = drives[number] - load[k]  # Z^T G_j F_j
            push = push * _inverse(tree, body, z[k]) if tree.usual else push / (z[k] + rotor(body))
            found[body.coordinate] = push
            move[k] = move[k] + push
            load = [x + y * push for x, y in zip(load, z, strict=True)]  # U_j: the reaction loads
        v, w = one.joint.motion_down(*pair(move))
        acceleration.append((vec.add(v, one.lift), w))
        f, m = pair(load)
        if body.antecedent == 0:
            felt[0] = plus(felt[0], one.stand.wrench_up(f, m))
        arm = (0.0, 0.0, one.joint.r)
        felt.append((one.joint.down(f), one.joint.down(vec.subtract(m, vec.cross(arm, f)))))
    return HybridResult(found, felt)

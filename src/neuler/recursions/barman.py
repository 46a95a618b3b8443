"""Tables of joint torques and reaction wrenches to q, qd and qdd: Barman, chapter III.

Barman differentiates the recursive Newton-Euler equations once for every joint coordinate i: outward
the motion of the links that joint i carries (steps 2-8), inward the forces and moments of these links
and of all links between joint i and the base (step 9), then the joint torques (step 10). His marks
are kept: ``,i`` is the derivative to q_i, ``,i'`` to qd_i and ``,i''`` to qdd_i.

His frame j lies at the far end of link j; the canonical frame lies at its joint, with z along the
axis. Then R_j^T e_z is (0, 0, 1), delta x_j is the place of joint j on the *antecedent*, constant for
a revolute joint, and the centre of mass is not needed: first moment and inertia about the origin
stand for x_G and I. Gravity is the base's acceleration, which contains the second term of (3.67),
(3.68). For trees j - 1 reads a(j), i < j that joint i is an ancestor's, and i = j that it is link j's own.

Equations are cited in their corrected form; the misprints are listed, with tests, in docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, flat, plus
from neuler.algebra.vector import Vector
from neuler.passes.tree import PRISMATIC, REVOLUTE, Body, Place, Tree
from neuler.recursions import drives
from neuler.recursions.hybrid import hybrid
from neuler.recursions.kinematics import BodyMotion, Turning, coordinate, motions, newton_euler, placements
from neuler.recursions.loads import GlobalLoad, Loads, in_link_axes, together
from neuler.trace.graph import Scalar

EZ: Vector = (0.0, 0.0, 1.0)

Three = tuple[BodyMotion, BodyMotion, BodyMotion]
"""Tables ,i and ,i' and ,i'' of a link's motion: each is linear in the parts of a BodyMotion."""

Wrenches = tuple[Wrench, Wrench, Wrench]
"""The same of a wrench."""

Table = list[list[Scalar]]


@dataclass(frozen=True)
class Tables:
    """Of torques: [row of tau][coordinate]. Of reactions: [body][fx, fy, fz, mx, my, mz][coordinate].

    A reaction is the wrench of the antecedent on a body, in its canonical frame at its origin. Where
    a joint has no influence the entry is the float 0.0.
    """

    dtau_dq: Table
    dtau_dqd: Table
    dtau_dqdd: Table
    dreaction_dq: list[Table]
    dreaction_dqd: list[Table]
    dreaction_dqdd: list[Table]


def sensitivities(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    external: Mapping[int, Sequence[Wrench]] | None = None,
    global_external: Loads | None = None,
) -> Tables:
    """Barman (3.1)-(3.95) for trees, with springs, friction and rotors.

    ``external`` holds wrenches applied TO a body that turn with it, in its canonical frame at its
    origin; ``global_external`` holds loads that keep their direction in the base, at points of a body.
    Coulomb friction is constant: at zero velocity, where it jumps, its sensitivity is taken as zero.
    """
    places = placements(tree, q)
    moving = motions(tree, places, qd, qdd, tree.gravity)
    turned = in_link_axes(tree, places, global_external or {})
    reactions = hybrid(tree, q, qd, qdd, [True] * tree.dof, together(external or {}, turned)).reactions
    wrenches = inward(tree, places, reactions, outward(tree, places, moving, qd), turned)
    return _tables(tree, qd, wrenches)


# ---- steps 2-8: motion, outward ------------------------------------------------------------------


def outward(
    tree: Tree, places: Sequence[Place], moving: Sequence[BodyMotion], qd: Sequence[Scalar]
) -> list[dict[int, Three]]:
    """Per body, the sensitivities of its motion to every coordinate between it and the base."""
    found: list[dict[int, Three]] = [{}]
    for number, body in enumerate(tree.bodies[1:], start=1):
        place, motion, rate = places[number], moving[number], coordinate(body, qd)
        double = vec.add(motion.turning.w, motion.turning.w)
        here: dict[int, Three] = {}
        for i, (s, s1, s2) in found[body.antecedent].items():  # i < j
            here[i] = (
                _carried(body, place, motion, double, rate, s),
                _carried(body, place, motion, double, rate, s1),
                _carried(body, place, motion, double, rate, s2),
            )
        if body.coordinate is not None:  # i = j
            here[body.coordinate] = _own(body, motion, double)
        found.append(here)
    return found


def _carried(
    body: Body, place: Place, motion: BodyMotion, double: Vector, rate: Scalar, above: BodyMotion
) -> BodyMotion:
    """i < j: what joint i does to the antecedent it does to link j; one form for ,i and ,i' and ,i''."""
    u = above.turning.u  # U,i = hat(wd,i) + hat(w,i) hat(w) + hat(w) hat(w,i) of the antecedent
    w = place.down(above.turning.w)  # (3.9), (3.12); prismatic (3.10), (3.13), which passes ,i' on as well
    wd = place.down(above.turning.wd)  # (3.15), (3.16), (3.22)
    vd = place.down(vec.add(above.vd, vec.apply(u, place.position)))  # (3.48), (3.49), (3.51), (3.54)
    if body.sigma == REVOLUTE:
        wd = vec.add(wd, _cross_z(vec.scale(rate, w)))  # (3.18), (3.21): w,i x thetad e_z
    elif body.sigma == PRISMATIC:
        vd = vec.add(vd, _cross_z(vec.scale(rate + rate, w)))  # (3.52), (3.55): 2 w,i x dd e_z
    return BodyMotion(vd, _turning(motion, double, w, wd))


def _own(body: Body, motion: BodyMotion, double: Vector) -> Three:
    """i = j: what joint j does to its own link. R_j,i^T v = (R_j^T v) x e_z (revolute) or 0 (prismatic)."""
    w, wd, u = motion.turning.w, motion.turning.wd, motion.turning.u
    none = BodyMotion(vec.ZERO, Turning.of(vec.ZERO, vec.ZERO))
    if body.sigma == PRISMATIC:
        along = (u[0][2], u[1][2], u[2][2])  # (3.52): wd_j x e_z + w_j x (w_j x e_z)
        return (
            BodyMotion(along, none.turning),
            BodyMotion(_cross_z(double), none.turning),  # (3.52): 2 w_j x e_z
            BodyMotion(EZ, none.turning),
        )
    # (3.9), (3.15), (3.18) first line, (3.48): with e_z x e_z = 0 they are w_j, wd_j, xdd_j crossed with e_z
    turned = BodyMotion(_cross_z(motion.vd), _turning(motion, double, _cross_z(w), _cross_z(wd)))
    return (
        turned,
        BodyMotion(vec.ZERO, _turning(motion, double, EZ, _cross_z(w))),  # (3.6), (3.18): jw_{j-1} x R_j^T e_z
        BodyMotion(vec.ZERO, _turning(motion, double, vec.ZERO, EZ)),  # (3.18), last line
    )


def _cross_z(v: Vector) -> Vector:
    """The vector product v x e_z."""
    return (v[1], -v[0], 0.0)


def _turning(motion: BodyMotion, double: Vector, w: Vector, wd: Vector) -> Turning:
    """Sensitivity of U = hat(wd) + hat(w) hat(w) and its parts, from w_j,i and wd_j,i; ``double`` is 2 w_j."""
    x, y, z = motion.turning.w
    xx, yy, zz = double[0] * w[0], double[1] * w[1], double[2] * w[2]
    yz, xz, xy = y * w[2] + z * w[1], x * w[2] + z * w[0], x * w[1] + y * w[0]
    u = (
        (-(yy + zz), xy - wd[2], xz + wd[1]),
        (xy + wd[2], -(xx + zz), yz - wd[0]),
        (xz - wd[1], yz + wd[0], -(xx + yy)),
    )
    return Turning(w, wd, (xx, yy, zz), (yz, xz, xy), u)


# ---- external loads that keep their direction ----------------------------------------------------


def _load_sensitivity(load: GlobalLoad, axis: Vector) -> Wrench:
    """(3.77), (3.85), (3.89) for j = k: 0R_k,i^T F = (0R_k^T F) x e_i, e_i the axis of joint i in frame k."""
    return GlobalLoad(vec.cross(load.force, axis), vec.cross(load.moment, axis), load.point).wrench


# ---- step 9: internal forces and moments, inward -------------------------------------------------


def inward(
    tree: Tree,
    places: Sequence[Place],
    reactions: Sequence[Wrench],
    moved: Sequence[Mapping[int, Three]],
    loads: Loads,
) -> list[dict[int, Wrenches]]:
    """Per body, the sensitivities of its reaction to the coordinates of its ancestors, itself and its descendants."""
    found: list[dict[int, Wrenches]] = []
    for number, body in enumerate(tree.bodies):
        here: dict[int, Wrenches] = {}
        for i, (s, s1, s2) in moved[number].items():  # i <= j: (3.68), (3.70), (3.71)
            f = newton_euler(body, s)
            for load in loads.get(number, ()):  # (3.79), (3.87), (3.91): ,i alone; ,i' and ,i'' keep what they had
                push, twist = _load_sensitivity(load, s1.turning.w)  # w_k,i' is the axis of joint i, or 0
                f = vec.subtract(f[0], push), vec.subtract(f[1], twist)
            here[i] = (f, newton_euler(body, s1), newton_euler(body, s2))
        found.append(here)
    for number in range(len(tree.bodies) - 1, 0, -1):
        body, place = tree.bodies[number], places[number]
        parent = found[body.antecedent]
        for i, (f, f1, f2) in found[number].items():
            if i == body.coordinate:
                f = plus(f, _turned_wrench(body, reactions[number]))
            up = (place.wrench_up(*f), place.wrench_up(*f1), place.wrench_up(*f2))  # (3.73), (3.81), (3.83)
            old = parent.get(i)  # (3.75), (3.83): i <= j has an inertia force of its own, i > j has none
            parent[i] = up if old is None else (plus(old[0], up[0]), plus(old[1], up[1]), plus(old[2], up[2]))
    return found


def _turned_wrench(body: Body, reaction: Wrench) -> Wrench:
    """i = j + 1: R_{j+1},i F = R_{j+1} (e_z x F), (3.73), (3.81); a slide moves the lever arm: e_z x F, (3.83)."""
    force, moment = reaction
    across = vec.negate(_cross_z(force))
    if body.sigma == PRISMATIC:
        return vec.ZERO, across
    return across, vec.negate(_cross_z(moment))


# ---- step 10 -------------------------------------------------------------------------------------


def _tables(tree: Tree, qd: Sequence[Scalar], wrenches: Sequence[Mapping[int, Wrenches]]) -> Tables:
    """(3.93), (3.95): the components along e_z, which is constant; then spring, friction and rotor."""
    n = tree.dof
    torque: list[Table] = [[[0.0] * n for _ in range(n)] for _ in range(3)]
    reaction: list[list[Table]] = [[[[0.0] * n for _ in range(6)] for _ in tree.bodies] for _ in range(3)]
    for number, body in enumerate(tree.bodies):
        row = body.coordinate
        for i, three in wrenches[number].items():
            for kind, wrench in enumerate(three):
                for k, x in enumerate(flat(wrench)):
                    reaction[kind][number][k][i] = x
                for column in body.columns:
                    assert row is not None
                    torque[kind][row][i] = column.dot(wrench)
    drives.add_derivatives(tree, qd, torque)
    return Tables(torque[0], torque[1], torque[2], reaction[0], reaction[1], reaction[2])

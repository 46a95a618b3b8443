"""Sensitivities of joint forces to q, qd and qdd by composite links (after Singh, Russell, Wensing 2022).

Turn back with all that joint i carries: then a change of q_i changes nothing but the motion of the
link below, as it is seen from there. With w, wd, V' of the antecedent at the joint's axis z,

    nu_i  = w x z                        change of its angular velocity (and the rate of the axis)
    e_i   = wd x z + w x (w x z)         change of its angular acceleration
    lam_i = V' x z                       change of its origin's acceleration, gravity included

a particle at x with relative velocity u gains lam + e x x + 2 nu x u (a revolute joint), or e
alone (a prismatic one). Summed over composite links these are the columns of d(tau)/dq; a row of
it contracts the same sums with the joint's own axis. d(tau)/d(qd) is twice the Coriolis matrix,
d(tau)/d(qdd) the inertia matrix. Only joints on one path to the base act on each other: the work
grows with the number of such pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, flat
from neuler.algebra.vector import Vector
from neuler.compiler.graph import Scalar
from neuler.passes.tree import PRISMATIC, Body, Tree
from neuler.recursions.coriolis import Composite, Z, axis_rate, column, composite, row_entry, row_up
from neuler.recursions.hybrid import hybrid, rotor
from neuler.recursions.kinematics import Motion, coordinate, motions

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Sensitivities:
    """n x n each; structurally zero entries are the number 0.0."""

    dq: Matrix
    dqd: Matrix
    dqdd: Matrix


@dataclass(frozen=True)
class Gain:
    """What a unit change adds to the accelerations of all that a joint carries: lam + e x x + 2 nu x u."""

    lam: Vector
    e: Vector
    nu: Vector

    def wrench(self, whole: Composite, number: int) -> Wrench:
        """The force that the composite link asks for it."""
        f, m = whole.inertia[number] @ (self.lam, self.e)
        bend, twist = whole.flow[number].wrench(vec.scale(2.0, self.nu))
        return vec.add(f, bend), vec.add(m, twist)

    def down(self, whole: Composite, number: int) -> Gain:
        """The same gain, about the origin and in the axes of a link further out."""
        place = whole.places[number]
        lam = vec.add(self.lam, vec.cross(self.e, place.position))
        lam = vec.add(lam, vec.cross(vec.scale(2.0, self.nu), whole.speed[number]))
        return Gain(place.down(lam), place.down(self.e), place.down(self.nu))


def gain(body: Body, motion: Motion, rate: Scalar) -> Gain:
    """nu, e and lam of the joint, from the motion of its own link (whose x and y are the antecedent's, turned)."""
    w, wd = motion.turning.w, motion.turning.wd
    if body.sigma == PRISMATIC:
        u = motion.turning.u  # both links turn alike
        return Gain((u[0][2], u[1][2], u[2][2]), vec.ZERO, vec.ZERO)
    x, y, z = w[0], w[1], w[2] - rate
    dx, dy = wd[0] - y * rate, wd[1] + x * rate  # without the joint's own share, Khalil (20)
    e = (dy + z * x, z * y - dx, -(x * x + y * y))
    return Gain((motion.vd[1], -motion.vd[0], 0.0), e, (y, -x, 0.0))


def sensitivities(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    external: Mapping[int, Sequence[Wrench]] | None = None,
) -> Sensitivities:
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd); external wrenches are fixed to their links.

    Viscous friction is on the diagonal of d(tau)/d(qd); Coulomb friction adds nothing (it jumps at
    rest, where its derivative does not exist).
    """
    whole = composite(tree, q, qd)
    moving = motions(tree, whole.places, qd, qdd, tree.gravity)
    felt = hybrid(tree, q, qd, qdd, [True] * tree.dof, external).reactions
    gains = [gain(body, motion, coordinate(body, qd)) for body, motion in zip(tree.bodies, moving, strict=True)]
    found = Sensitivities(_zeros(tree.dof), _zeros(tree.dof), _zeros(tree.dof))
    for number, body in enumerate(tree.bodies):
        if body.columns:
            _path(tree, whole, gains, felt, found, number)
    return found


def _path(
    tree: Tree,
    whole: Composite,
    gains: Sequence[Gain],
    felt: Sequence[Wrench],
    found: Sensitivities,
    number: int,
) -> None:
    """One joint against itself and every joint between it and the base."""
    body = tree.bodies[number]
    here, k = body.coordinate, body.columns[0]
    assert here is not None
    inertia, flow = whole.inertia[number], whole.flow[number]
    mine = gains[number]
    shift = mine.wrench(whole, number)
    bias = _twice(column(body, whole, number))
    mass, bent = inertia.column(k), vec.scale(2.0, flow.row(body))
    viscous = body.joint.viscous if body.joint else 0.0
    found.dq[here][here] = flat(shift)[k]
    found.dqd[here][here] = flat(bias)[k] + viscous
    found.dqdd[here][here] = flat(mass)[k] + rotor(body)
    shift = _turned(body, felt[number], shift)
    at = number
    while tree.bodies[at].antecedent:
        shift, bias = whole.places[at].wrench_up(*shift), whole.places[at].wrench_up(*bias)
        mass, bent = row_up(whole, at, mass, bent, 2.0)
        at = tree.bodies[at].antecedent
        above = tree.bodies[at]
        for j in above.columns:
            there = above.coordinate
            assert there is not None
            found.dq[there][here] = flat(shift)[j]
            found.dqd[there][here] = flat(bias)[j]
            found.dqdd[there][here] = found.dqdd[here][there] = flat(mass)[j]
            theirs = gains[at]
            found.dq[here][there] = vec.dot(mass[0], theirs.lam) + vec.dot(mass[1], theirs.e) + vec.dot(bent, theirs.nu)
            found.dqd[here][there] = row_entry(above, whole.w[at], mass, bent, 2.0)


def _zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


def _twice(wrench: Wrench) -> Wrench:
    return vec.scale(2.0, wrench[0]), vec.scale(2.0, wrench[1])


def _turned(body: Body, wrench: Wrench, shift: Wrench) -> Wrench:
    """Seen from below, the wrench that the joint passes on moves along with what it carries."""
    f, m = wrench
    if body.sigma == PRISMATIC:
        return shift[0], vec.add(shift[1], (-f[1], f[0], 0.0))
    return vec.add(shift[0], (-f[1], f[0], 0.0)), vec.add(shift[1], (-m[1], m[0], 0.0))


@dataclass(frozen=True)
class ReactionSensitivities:
    """For each body and coordinate the sensitivity of the reaction wrench, in the body's frame; absent: zero."""

    dq: dict[tuple[int, int], Wrench]
    dqd: dict[tuple[int, int], Wrench]
    dqdd: dict[tuple[int, int], Wrench]


def reaction_sensitivities(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    external: Mapping[int, Sequence[Wrench]] | None = None,
) -> ReactionSensitivities:
    """Of the wrench of the antecedent on each body, as components in the body's own frame.

    A joint changes the reactions on what it carries by its gain, carried outward; and those between
    it and the base by the wrench that it then asks for, carried inward.
    """
    whole = composite(tree, q, qd)
    moving = motions(tree, whole.places, qd, qdd, tree.gravity)
    felt = hybrid(tree, q, qd, qdd, [True] * tree.dof, external).reactions
    found = ReactionSensitivities({}, {}, {})
    for number, body in enumerate(tree.bodies):
        here = body.coordinate
        if here is None:
            continue
        rate = vec.scale(2.0, axis_rate(body, whole.w[number]))
        turns_it = body.sigma != PRISMATIC
        gains = (
            (found.dq, gain(body, moving[number], coordinate(body, qd)), True),
            (found.dqd, Gain(vec.ZERO, rate, Z) if turns_it else Gain(rate, vec.ZERO, vec.ZERO), False),
            (found.dqdd, Gain(vec.ZERO, Z, vec.ZERO) if turns_it else Gain(Z, vec.ZERO, vec.ZERO), False),
        )
        for entries, mine, moves in gains:
            own = mine.wrench(whole, number)
            _outward(tree, whole, entries, mine, number, here)
            entries[number, here] = own
            passed = _turned(body, felt[number], own) if moves else own
            at = number
            while at:
                passed = whole.places[at].wrench_up(*passed)
                at = tree.bodies[at].antecedent
                entries[at, here] = passed
    return found


def _outward(
    tree: Tree, whole: Composite, entries: dict[tuple[int, int], Wrench], mine: Gain, number: int, here: int
) -> None:
    carried = {number: mine}
    for k in range(number + 1, len(tree.bodies)):
        below = carried.get(tree.bodies[k].antecedent)
        if below is not None:
            carried[k] = below.down(whole, k)
            entries[k, here] = carried[k].wrench(whole, k)

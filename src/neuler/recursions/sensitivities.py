"""Sensitivities of joint forces to q, qd and qdd by composite links (after Singh, Russell, Wensing 2022).

Turn back with all that joint i carries: then a change of q_i changes nothing but the motion of the
link below, as it is seen from there. With w, wd, V' of the antecedent at the joint's axis z,

    nu_i  = w x z                        change of its angular velocity (and the rate of the axis)
    e_i   = wd x z + w x (w x z)         change of its angular acceleration
    lam_i = V' x z                       change of its origin's acceleration, gravity included

a particle at x with relative velocity u gains lam + e x x + 2 nu x u (a revolute joint), or e
alone (a prismatic one); ``gains_of`` has all kinds of joints. Summed over composite links these are
the columns of d(tau)/dq; a row of it contracts the same sums with the joint's own axis. d(tau)/d(qd)
is twice the Coriolis matrix, d(tau)/d(qdd) the inertia matrix. Only joints on one path to the base
act on each other: the work grows with the number of such pairs. Loads that keep their direction in
the base do not turn with the joint; their share, of d(tau)/dq alone, is a sum of its own: see loads.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Column, Wrench
from neuler.algebra.vector import Vector
from neuler.passes.tree import Body, Tree
from neuler.recursions import drives
from neuler.recursions.coriolis import Composite, composite, row_up
from neuler.recursions.hybrid import hybrid
from neuler.recursions.kinematics import BodyMotion, Seat, Turning, motions, seat_of
from neuler.recursions.loads import Loads, Pull, pulls
from neuler.trace.graph import Scalar

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
        bend, twist = whole.flow[number].wrench(vec.add(self.nu, self.nu))
        return vec.add(f, bend), vec.add(m, twist)

    def felt(self, mass: Wrench, bent: Vector) -> Scalar:
        """What a joint further out feels of it, by its covectors of C (``bent`` twice)."""
        return vec.dot(mass[0], self.lam) + vec.dot(mass[1], self.e) + vec.dot(bent, self.nu)

    def down(self, whole: Composite, number: int) -> Gain:
        """The same gain, about the origin and in the axes of a link further out."""
        place = whole.places[number]
        lam = vec.add(self.lam, vec.cross(self.e, place.position))
        lam = vec.add(lam, vec.cross(vec.add(self.nu, self.nu), whole.speed[number]))
        return Gain(place.down(lam), place.down(self.e), place.down(self.nu))


@dataclass(frozen=True)
class Gains:
    """Of one column of a joint: to its position, its velocity and its acceleration."""

    dq: Gain
    dqd: Gain
    dqdd: Gain


def gains_of(body: Body, seat: Seat, motion: BodyMotion, qd: Sequence[Scalar]) -> list[Gains]:
    """Of every column (l; z) of the joint, from the motion of its seat on the antecedent and of its link.

    With w, wd, V' of the seat and (v; r) the joint's own velocity, all in the axes of the link:

        to q:    nu = w x z    e = U z                     lam = V' x z + U l + 2 nu x v
        to qd:   nu = z        e = (w + w_j) x z           lam = (w + w_j) x l + z x v
        to qdd:                e = z                       lam = l

    and U z = wd x z + w x (w x z).
    """
    found = []
    v, _ = body.relative(qd)
    u = Turning.of(seat.w, seat.wd).u
    for _, column in body.freedoms:
        slide, turn = column.linear, column.angular
        nu = vec.cross(seat.w, turn)
        lam = vec.add(vec.add(vec.cross(seat.vd, turn), vec.apply(u, slide)), vec.cross(vec.add(nu, nu), v))
        across, spun = column.turned(motion.turning.w)
        carried = vec.add(vec.cross(seat.w, slide), across)
        found.append(
            Gains(
                Gain(lam, vec.apply(u, turn), nu),
                Gain(vec.add(carried, vec.cross(turn, v)), vec.add(nu, spun), turn),
                Gain(slide, turn, vec.ZERO),
            )
        )
    return found


def _all_gains(tree: Tree, whole: Composite, moving: Sequence[BodyMotion], qd: Sequence[Scalar]) -> list[list[Gains]]:
    found: list[list[Gains]] = [[]]
    for number, body in enumerate(tree.bodies[1:], start=1):
        seat = seat_of(whole.places[number], moving[body.antecedent])
        found.append(gains_of(body, seat, moving[number], qd))
    return found


def sensitivities(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    external: Mapping[int, Sequence[Wrench]] | None = None,
    loads: Loads | None = None,
) -> Sensitivities:
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd).

    ``external`` wrenches are fixed to their links; ``loads``, here in the axes of their links, keep their
    direction in the base.

    The slope of friction is on the diagonal of d(tau)/d(qd); what jumps at rest adds nothing (its derivative
    does not exist there).
    """
    whole = composite(tree, q, qd)
    moving = motions(tree, whole.places, qd, qdd, tree.gravity)
    felt = hybrid(tree, q, qd, qdd, [True] * tree.dof, external).reactions
    gains = _all_gains(tree, whole, moving, qd)
    pulled = pulls(tree, whole.places, loads or {})
    found = Sensitivities(_zeros(tree.dof), _zeros(tree.dof), _zeros(tree.dof))
    seen = Seen(tree, whole, gains, felt, pulled)
    for number, body in enumerate(tree.bodies):
        for here, k in body.freedoms:
            _path(seen, found, number, here, k)
    drives.add_derivatives(tree, qd, (found.dq, found.dqd, found.dqdd))
    return found


@dataclass(frozen=True)
class Seen:
    """What every pair of joints is looked at with."""

    tree: Tree
    whole: Composite
    gains: Sequence[Sequence[Gains]]
    felt: Sequence[Wrench]
    pulled: Sequence[Pull]


def _path(seen: Seen, found: Sensitivities, number: int, here: int, k: Column) -> None:
    """One column of a joint against all its columns and every joint between it and the base."""
    tree, whole, gains, pulled = seen.tree, seen.whole, seen.gains, seen.pulled
    body = tree.bodies[number]
    mine = gains[number][body.columns.index(k)]
    shift, bias = mine.dq.wrench(whole, number), mine.dqd.wrench(whole, number)
    mass, bent = whole.inertia[number].along(k), vec.scale(2.0, whole.flow[number].row(k))
    turn = pulled[number].turned(k.angular)
    for own, j in body.freedoms:
        found.dq[own][here] = j.dot(shift) - j.dot(turn)
        found.dqd[own][here] = j.dot(bias)
        found.dqdd[own][here] = j.dot(mass)
    row = pulled[number].row(k)
    shift = _turned(k, seen.felt[number], shift, pulled[number].passed(k))
    at = number
    while tree.bodies[at].antecedent:
        shift, bias = whole.places[at].wrench_up(*shift), whole.places[at].wrench_up(*bias)
        mass, bent = row_up(whole, at, mass, bent, 2.0)
        row = whole.places[at].up(row)
        at = tree.bodies[at].antecedent
        for (there, j), theirs in zip(tree.bodies[at].freedoms, gains[at], strict=True):
            found.dq[there][here] = j.dot(shift)
            found.dqd[there][here] = j.dot(bias)
            found.dqdd[there][here] = found.dqdd[here][there] = j.dot(mass)
            found.dq[here][there] = theirs.dq.felt(mass, bent) - vec.dot(row, j.angular)
            found.dqd[here][there] = theirs.dqd.felt(mass, bent)


def _zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


def _turned(k: Column, wrench: Wrench, shift: Wrench, push: Vector) -> Wrench:
    """Seen from below, the wrench that the joint passes on moves along with what it carries.

    Loads that keep their direction are not in ``wrench``: their moment grows by ``push``.
    """
    (f, m), moment = wrench, vec.subtract(shift[1], push)
    across = vec.add(vec.cross(k.angular, m), vec.cross(k.linear, f))
    return vec.add(shift[0], vec.cross(k.angular, f)), vec.add(moment, across)


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
    loads: Loads | None = None,
) -> ReactionSensitivities:
    """Of the wrench of the antecedent on each body, as components in the body's own frame.

    A joint changes the reactions on what it carries by its gain, carried outward; and those between
    it and the base by the wrench that it then asks for, carried inward. ``external`` and ``loads``
    are those of ``sensitivities``.
    """
    whole = composite(tree, q, qd)
    moving = motions(tree, whole.places, qd, qdd, tree.gravity)
    felt = hybrid(tree, q, qd, qdd, [True] * tree.dof, external).reactions
    pulled = pulls(tree, whole.places, loads or {})
    found = ReactionSensitivities({}, {}, {})
    gains = _all_gains(tree, whole, moving, qd)
    for number, body in enumerate(tree.bodies):
        for (here, k), mine in zip(body.freedoms, gains[number], strict=True):
            for entries, each in ((found.dq, mine.dq), (found.dqd, mine.dqd), (found.dqdd, mine.dqdd)):
                own = each.wrench(whole, number)
                _outward(tree, whole, entries, each, number, here)
                entries[number, here] = own
                passed = _turned(k, felt[number], own, pulled[number].passed(k)) if each is mine.dq else own
                at = number
                while at:
                    passed = whole.places[at].wrench_up(*passed)
                    at = tree.bodies[at].antecedent
                    entries[at, here] = passed
            if k.angular != vec.ZERO:
                _turn_loads(tree, whole, pulled, found.dq, number, here, k.angular)
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


def _turn_loads(
    tree: Tree,
    whole: Composite,
    pulled: Sequence[Pull],
    entries: dict[tuple[int, int], Wrench],
    number: int,
    here: int,
    axis: Vector,
) -> None:
    """Seen from the links that the joint carries, loads that keep their direction turn back."""
    axes = {number: axis}
    for k in range(number, len(tree.bodies)):
        below = axes.get(tree.bodies[k].antecedent)
        if below is not None:
            axes[k] = whole.places[k].down(below)
        if k in axes:
            (f, m), (push, twist) = entries[k, here], pulled[k].turned(axes[k])
            entries[k, here] = (vec.subtract(f, push), vec.subtract(m, twist))

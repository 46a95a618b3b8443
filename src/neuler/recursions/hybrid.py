"""Hybrid dynamics: of every joint the acceleration or the force is given, and the other is computed.

All motion given: the inverse dynamics of Khalil (13)-(31). All forces given: the articulated-body
direct dynamics (34)-(44). Mixed: 6.3, (72)-(82). A free link is a joint of six coordinates: with its
acceleration given (13)-(31), with its wrench given 7.2, (89)-(100), and 7.3, (101)-(112); they are
eliminated one by one. Which of the two is given is data.

Accelerations are counted from those the links would have if every unknown joint acceleration
were zero. These nominal accelerations satisfy (14) with all its velocity terms, so that the
differences obey dV_j = T dV_i + a_j qdd_j without gamma_j, and the wrenches alpha_j of (38) and
(76) contain no K_j gamma_j. A link is *settled* where the motion of its joint, and of all joints between
it and the base, is given: its nominal acceleration is its acceleration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.screw import Column, Screw, Wrench, flat, pair
from neuler.algebra.vector import Vector
from neuler.errors import RobotError
from neuler.passes.tree import Place, Tree
from neuler.recursions.drives import carried, none, passive_forces, rotor, swept
from neuler.recursions.kinematics import motions, newton_euler, placements
from neuler.trace.graph import Node, Scalar, one_if_felt


@dataclass
class HybridResult:
    """Per coordinate the acceleration or force that was not given; per body the reaction wrench of its parent."""

    coordinates: list[Scalar]
    reactions: list[Wrench] = field(default_factory=list)


@dataclass(frozen=True)
class EliminatedCoordinate:
    """One joint coordinate whose acceleration was eliminated from its link's equations."""

    index: int
    """The number of the coordinate."""
    column: Column
    nominal: Scalar
    """H^-1 (tau - a^T p): its acceleration if the antecedent moves as nominal."""
    share: tuple[Scalar, ...]
    """H^-1 a^T J*: what it loses for a unit acceleration of the antecedent."""
    exact: bool
    """No rotor, and a motion along one axis: then the entry of ``share`` along the joint is one."""


@dataclass(frozen=True)
class Links:
    """The state of the inward pass, a list entry a body."""

    tree: Tree
    places: list[Place]
    settled: list[bool]
    wrench: list[Wrench]
    """What the link passes on to its antecedent."""
    inertia: list[Inertia | None]
    """J*, of links that are not settled."""
    total: list[Wrench]
    """The wrench before its joint's coordinates were eliminated."""
    plain: list[Inertia | None]
    """The inertia before that."""
    steps: list[list[EliminatedCoordinate]]


def reciprocal(inertia: Scalar, name: str, usual: float = 0.0) -> Scalar:
    """H_j^-1. A joint that moves nothing at all has none, and is named.

    ``usual``, where it is given, is the size of H_j in other poses: where it is but a rounding error of that, NaN.
    """
    if not isinstance(inertia, Node) and inertia == 0.0:
        raise RobotError(
            f"joint {name!r} moves no inertia, so its acceleration is not defined: "
            "give the links it carries mass, or the joint a rotor inertia, or fix it"
        )
    return one_if_felt(inertia, usual) / inertia if usual else 1.0 / inertia


def hybrid(
    tree: Tree,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    given: Sequence[Scalar],
    motion_given: Sequence[bool],
    external: Mapping[int, Sequence[Wrench]] | None = None,
    *,
    gravity: Vector | None = None,
) -> HybridResult:
    """``given[k]`` is an acceleration where ``motion_given[k]``, else a force; the other of the two is computed.

    ``external`` holds wrenches applied TO a body, in its canonical frame at its origin.
    """
    places = placements(tree, q)
    nominal = [x if moved else 0.0 for x, moved in zip(given, motion_given, strict=True)]
    pull = tree.gravity if gravity is None else gravity
    moving = motions(tree, places, qd, nominal, pull)
    settled = _settled(tree, motion_given)
    passive = passive_forces(tree, q, qd)

    # inward: Khalil (25)-(31) for settled links, (36)-(40) and (75)-(78) for the others
    wrench: list[Wrench] = [newton_euler(body, motion) for body, motion in zip(tree.bodies, moving, strict=True)]
    for number, loads in (external or {}).items():
        for push, twist in loads:
            f, m = wrench[number]
            wrench[number] = (vec.subtract(f, push), vec.subtract(m, twist))
    inertia: list[Inertia | None] = [
        None if fixed else Inertia.rigid(body.mass, body.first_moment, body.inertia)
        for body, fixed in zip(tree.bodies, settled, strict=True)
    ]
    links = Links(tree, places, settled, wrench, inertia, list(wrench), list(inertia), [[] for _ in tree.bodies])
    for number in range(len(tree.bodies) - 1, 0, -1):
        body = tree.bodies[number]
        parent = body.antecedent
        links.total[number], links.plain[number] = wrench[number], inertia[number]
        for index, column in body.freedoms:
            if not motion_given[index]:
                force = given[index] - passive[index] - carried(body.drive, moving[parent].turning.wd)  # (44), (69)
                links.steps[number].append(_eliminate(links, number, index, column, force))
            swing = swept(body.drive, moving[parent].turning.w, qd[index], nominal[index])
            wrench[parent] = (wrench[parent][0], vec.add(wrench[parent][1], swing))
        f, m = places[number].wrench_up(*wrench[number])  # (39), (77); (28)-(30)
        wrench[parent] = (vec.add(wrench[parent][0], f), vec.add(wrench[parent][1], m))
        below, here = inertia[parent], inertia[number]
        if below is not None and here is not None:
            inertia[parent] = below + places[number].inertia_up(here)  # (40), (78)
    found, felt, change = _outward(links)
    for number, body in enumerate(tree.bodies[1:], start=1):
        for k, column in body.freedoms:
            if motion_given[k]:  # (31), (82)
                found[k] = column.dot(felt[number]) + rotor(body) * given[k] + passive[k]
                if body.drive.momentum is not None:
                    wd = vec.add(moving[body.antecedent].turning.wd, change[body.antecedent][1])
                    found[k] = found[k] + carried(body.drive, wd)
    return HybridResult(found, felt)


def inverse_dynamics(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """tau from q, qd, qdd: hybrid dynamics with all motion given, Khalil (12)."""
    return hybrid(tree, q, qd, qdd, [True] * tree.dof).coordinates


def forward_dynamics(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """qdd from q, qd, tau: hybrid dynamics with all forces given, Khalil (34)-(44)."""
    return hybrid(tree, q, qd, tau, [False] * tree.dof).coordinates


def _settled(tree: Tree, motion_given: Sequence[bool]) -> list[bool]:
    settled = [True]
    for body in tree.bodies[1:]:
        settled.append(settled[body.antecedent] and all(motion_given[index] for index, _ in body.freedoms))
    return settled


def _eliminate(links: Links, number: int, index: int, column: Column, force: Scalar) -> EliminatedCoordinate:
    """Khalil (36)-(38): solve for the joint's acceleration and take it out of the link's equations."""
    body, j = links.tree.bodies[number], links.inertia[number]
    assert j is not None
    u = j.along(column)  # J* a
    felt = column.dot(u)
    if body.drive.momentum is not None:
        u = (u[0], vec.add(u[1], links.places[number].down(body.drive.momentum)))
    ia = rotor(body)
    usual = links.tree.usual.get(index, 0.0)
    inverse = reciprocal(felt + ia, body.joint_name, usual)  # (36)
    exact = column.unit if none(ia) and body.drive.momentum is None else None
    share = tuple(1.0 if k == exact else x * inverse for k, x in enumerate(flat(u)))
    p = flat(links.wrench[number])
    nominal = (force - column.dot(links.wrench[number])) * inverse
    links.inertia[number] = j.without(u, pair(share), exact)  # (37)
    alpha = [x + y * nominal for x, y in zip(p, flat(u), strict=True)]  # (38)
    if exact is not None:
        alpha[exact] = force
    links.wrench[number] = pair(alpha)
    return EliminatedCoordinate(index, column, nominal, share, exact is not None)


def _outward(links: Links) -> tuple[list[Scalar], list[Wrench], list[Screw]]:
    """Khalil (41)-(43), (79)-(81), for the differences from the nominal accelerations.

    Accelerations of joints, reactions, and the differences by body.
    """
    tree = links.tree
    found: list[Scalar] = [0.0] * tree.dof
    change: list[Screw] = [(vec.ZERO, vec.ZERO)]
    felt = [links.wrench[0]]
    for number, body in enumerate(tree.bodies[1:], start=1):
        if links.settled[number]:
            change.append((vec.ZERO, vec.ZERO))
            felt.append(links.total[number])
            continue
        delta = list(flat(links.places[number].motion_down(*change[body.antecedent])))
        for step in reversed(links.steps[number]):
            k = step.column.unit
            others = [(s, x) for i, (s, x) in enumerate(zip(step.share, delta, strict=True)) if i != k]
            after = step.nominal
            for s, x in others:
                after = after - s * x
            if step.exact and k is not None:
                found[step.index], delta[k] = after - delta[k], after
                continue
            push = after if k is None else after - step.share[k] * delta[k]  # (41), (80)
            found[step.index] = push
            delta = [x + y for x, y in zip(delta, flat(step.column.times(push)), strict=True)]  # (43), (81)
        change.append(pair(delta))
        inertia = links.plain[number]
        assert inertia is not None
        f, m = inertia @ change[number]  # (42), (79)
        felt.append((vec.add(links.total[number][0], f), vec.add(links.total[number][1], m)))
    return found, felt, change

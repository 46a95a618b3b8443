"""The robot as a whole: centre of mass, momentum about it, and the matrix that gives it (Orin, Goswami, Lee 2013).

Results are in the axes of the canonical frame of the base. Places are counted from the links that
the base carries, never from the base itself: how far a free robot has flown costs no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, plus
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Place, Tree
from neuler.recursions.composite import composite_inertias
from neuler.recursions.energy import link_momentum, mass_moment
from neuler.recursions.kinematics import motions, newton_euler, placements, velocities
from neuler.trace.graph import Scalar


@dataclass(frozen=True)
class Branch:
    """What the base carries on one of its joints, or the base itself (number 0), in the base's axes."""

    number: int
    origin: Vector
    mass: Scalar
    moment: Vector
    """First moment about ``origin``."""


def _gathered(tree: Tree, places: Sequence[Place]) -> tuple[list[Scalar], list[Vector]]:
    """Of each body with all that it carries: mass, and first moment in its frame; of the base its own alone."""
    mass: list[Scalar] = [body.mass for body in tree.bodies]
    moment: list[Vector] = [body.first_moment for body in tree.bodies]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent, place = tree.bodies[number].antecedent, places[number]
        if parent:
            shifted = vec.add(place.up(moment[number]), vec.scale(mass[number], place.position))
            moment[parent] = vec.add(moment[parent], shifted)
            mass[parent] = mass[parent] + mass[number]
    return mass, moment


def _branches(tree: Tree, places: Sequence[Place]) -> list[Branch]:
    mass, moment = _gathered(tree, places)
    found = [Branch(0, vec.ZERO, mass[0], moment[0])]
    for number, body in enumerate(tree.bodies[1:], start=1):
        if body.antecedent == 0:
            place = places[number]
            found.append(Branch(number, place.position, mass[number], place.up(moment[number])))
    return found


def _from_centre(branches: Sequence[Branch]) -> dict[int, Vector]:
    """Of each branch its origin as seen from the centre of mass of all."""
    total = sum((branch.mass for branch in branches[1:]), branches[0].mass)
    found = {}
    for here in branches:
        lever: Vector = vec.ZERO
        for there in branches:
            apart = vec.scale(there.mass, vec.subtract(there.origin, here.origin))
            lever = vec.add(lever, vec.add(apart, there.moment))
        found[here.number] = vec.scale(-1.0 / total, lever)
    return found


def mass_centre(tree: Tree, q: Sequence[Scalar]) -> Vector:
    """Of all links, the base included, in the canonical frame of the base."""
    mass, moment = mass_moment(tree, q)
    return vec.scale(1.0 / mass, moment)


def _about_centre(tree: Tree, places: Sequence[Place], parts: list[Wrench]) -> Wrench:
    """Momenta (or their rates) of the links, each in its frame about its origin, as one about the centre of mass."""
    levers = _from_centre(_branches(tree, places))
    linear, angular = vec.ZERO, vec.ZERO
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            parts[parent] = plus(parts[parent], places[number].wrench_up(*parts[number]))
            continue
        p, spin = (places[number].up(x) for x in parts[number])
        linear = vec.add(linear, p)
        angular = vec.add(angular, vec.add(spin, vec.cross(levers[number], p)))
    return linear, angular


def momentum(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Wrench:
    """sum m v and sum (x - c) x m v over all links."""
    places = placements(tree, q)
    screws = velocities(tree, places, qd)
    return _about_centre(tree, places, [link_momentum(*each) for each in zip(tree.bodies, screws, strict=True)])


def momentum_rate(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> Wrench:
    """Its time derivative: the force and moment of Khalil (22), (23) on every link, without gravity.

    The centre of mass moves along the momentum, so that its own motion adds nothing.
    """
    places = placements(tree, q)
    moving = motions(tree, places, qd, qdd, vec.ZERO)
    return _about_centre(tree, places, [newton_euler(*each) for each in zip(tree.bodies, moving, strict=True)])


@dataclass(frozen=True)
class _Stand:
    """Of a body: its axes in the base's, and its origin as seen from the centre of mass."""

    rotation: Matrix
    origin: Vector


def _stands(tree: Tree, places: Sequence[Place]) -> list[_Stand]:
    levers = _from_centre(_branches(tree, places))
    found = [_Stand(vec.ONE, levers[0])]
    for number, (body, place) in enumerate(zip(tree.bodies[1:], places[1:], strict=True), start=1):
        below = found[body.antecedent]
        turn = place.rows_across(below.rotation)
        if body.antecedent == 0:
            found.append(_Stand(turn, levers[number]))
        else:
            found.append(_Stand(turn, vec.add(below.origin, vec.apply(below.rotation, place.position))))
    return found


def matrix(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """6 rows (linear; angular): a unit rate of a joint moves all that it carries as one body."""
    places = placements(tree, q)
    composite = composite_inertias(tree, places)
    columns: list[Wrench] = [(vec.ZERO, vec.ZERO)] * tree.dof
    for number, (body, stand) in enumerate(zip(tree.bodies, _stands(tree, places), strict=True)):
        for index, k in body.freedoms:
            p, spin = (vec.apply(stand.rotation, x) for x in composite[number].along(k))
            columns[index] = (p, vec.add(spin, vec.cross(stand.origin, p)))
    return [[(*p, *spin)[row] for p, spin in columns] for row in range(6)]


def mass_centre_jacobian(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """3 rows: the linear momentum of a unit rate of each joint, over the mass of all."""
    places = placements(tree, q)
    mass, moment = _gathered(tree, places)
    share = 1.0 / sum((branch.mass for branch in _branches(tree, places)), 0.0)
    turns: list[Matrix] = [vec.ONE]
    columns: list[Vector] = [vec.ZERO] * tree.dof
    for number, (body, place) in enumerate(zip(tree.bodies[1:], places[1:], strict=True), start=1):
        turns.append(place.rows_across(turns[body.antecedent]))
        for index, k in body.freedoms:
            along = vec.add(vec.scale(mass[number], k.linear), vec.cross(k.angular, moment[number]))
            columns[index] = vec.apply(turns[number], vec.scale(share, along))
    return [[column[row] for column in columns] for row in range(3)]

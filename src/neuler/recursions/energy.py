"""Energy and momentum of all links."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.vector import Vector
from neuler.passes.tree import Body, Tree
from neuler.recursions.drives import rotor, spring_energies
from neuler.recursions.kinematics import placements, velocities
from neuler.trace.graph import Scalar


def link_momentum(body: Body, screw: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """J_j V_j, Khalil (11): linear momentum, and angular momentum about the link's origin."""
    v, w = screw
    linear = vec.add(vec.scale(body.mass, v), vec.cross(w, body.first_moment))
    angular = vec.add(vec.cross(body.first_moment, v), vec.apply_symmetric(body.inertia, w))
    return linear, angular


def kinetic_energy(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Scalar:
    """Half the sum of V_j . J_j V_j, and the rotors' half Ia qd^2."""
    screws = velocities(tree, placements(tree, q), qd)
    twice: Scalar = 0.0
    for body, screw in zip(tree.bodies, screws, strict=True):
        linear, angular = link_momentum(body, screw)
        twice = twice + vec.dot(linear, screw[0]) + vec.dot(angular, screw[1])
        for index, _ in body.freedoms:
            twice = twice + rotor(body) * (qd[index] * qd[index])
    return 0.5 * twice


def potential_energy(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """-g . sum M_j c_j, zero where the centre of mass is level with the base frame; and what the springs store."""
    mass, moment = mass_moment(tree, q)
    start: Vector = tree.base.translation
    level = vec.subtract(moment, vec.scale(mass, start))
    energy = -vec.dot(tree.gravity, level)
    for stored in spring_energies(tree, q):
        energy = energy + stored
    return energy


def mass_moment(tree: Tree, q: Sequence[Scalar]) -> tuple[Scalar, Vector]:
    """Total mass and first moment in the canonical frame of the base, gathered inward."""
    places = placements(tree, q)
    mass: list[Scalar] = [body.mass for body in tree.bodies]
    moment: list[Vector] = [body.first_moment for body in tree.bodies]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        place = places[number]
        shifted = vec.add(place.up(moment[number]), vec.scale(mass[number], place.position))
        moment[parent] = vec.add(moment[parent], shifted)
        mass[parent] = mass[parent] + mass[number]
    return mass[0], moment[0]


def momentum(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Of all links, in the canonical frame of the base about its origin: link momenta carried inward."""
    places = placements(tree, q)
    screws = velocities(tree, places, qd)
    parts = [link_momentum(body, screw) for body, screw in zip(tree.bodies, screws, strict=True)]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        linear, angular = places[number].wrench_up(*parts[number])
        parts[parent] = (vec.add(parts[parent][0], linear), vec.add(parts[parent][1], angular))
    return parts[0]

"""Loads that keep their direction in the base: a force at a point of a link, and a moment, Barman III.

Sums over the loads of a link and of all that it carries, with p from the link's origin,

    F = sum f        M = sum m        A = sum hat(f) hat(p)

say how the loads feel a joint. It turns about its axis z: the points move by z x p, forces and
moments stay, and the moment of the loads seen from below changes by (z x p) x f = f x (p x z).
Links that it carries turn along; from there the loads turn back. So a unit of q_i changes

    (0; A_i z_i)                        what joint i passes on (it slides: (0; z_i x F_i))
    (F_k x z_i; A_k^T z_i + M_k x z_i)  the load of a link k that it carries (it slides: nothing)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.screw import Column, Wrench
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Place, Tree
from neuler.recursions.kinematics import angular_velocities, placements
from neuler.trace.graph import Scalar


@dataclass(frozen=True)
class GlobalLoad:
    """A force and a moment applied TO a link, in the canonical frame of the base: 0F_k^e, 0tau_k^e.

    The force acts at ``point``, fixed on the link and given in its canonical frame (Barman's r_k).
    """

    force: Vector = vec.ZERO
    moment: Vector = vec.ZERO
    point: Vector = vec.ZERO

    @property
    def wrench(self) -> Wrench:
        """Of a load in the axes of its link, at the link's origin: Barman (3.84), (3.88) for j = k."""
        return self.force, vec.add(vec.cross(self.point, self.force), self.moment)


Loads = Mapping[int, Sequence[GlobalLoad]]
"""Loads by the number of the body that they act on."""


def in_link_axes(tree: Tree, places: Sequence[Place], given: Loads) -> dict[int, list[GlobalLoad]]:
    """0R_k^T 0F_k^e, 0R_k^T 0tau_k^e of Barman (3.76), (3.88).

    One load is carried outward as two vectors; where there are more, the base's three axes are.
    """
    carried = [len(given.get(number, ())) for number in range(len(tree.bodies))]
    for number in range(len(tree.bodies) - 1, 0, -1):
        carried[tree.bodies[number].antecedent] += carried[number]
    axes = {0: vec.ONE}
    for number, body in enumerate(tree.bodies[1:], start=1):
        if carried[number] > 1:
            axes[number] = places[number].rows_across(axes[body.antecedent])

    def down(number: int, v: Vector) -> Vector:  # (3.62)
        alone = []
        while number not in axes:
            alone.append(number)
            number = tree.bodies[number].antecedent
        v = vec.apply_transposed(axes[number], v)
        for k in reversed(alone):
            v = places[k].down(v)
        return v

    return {
        k: [GlobalLoad(down(k, load.force), down(k, load.moment), load.point) for load in loads]
        for k, loads in given.items()
    }


def together(wrenches: Mapping[int, Sequence[Wrench]], loads: Loads) -> dict[int, list[Wrench]]:
    """Wrenches, and loads in the axes of their links as wrenches too, by body."""
    found = {number: list(some) for number, some in wrenches.items()}
    for number, some in loads.items():
        found.setdefault(number, []).extend(load.wrench for load in some)
    return found


def load_rates(
    tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], loads: Loads, changing: Loads
) -> dict[int, list[GlobalLoad]]:
    """Rates of the components in the axes of the links: d(R^T f)/dt = R^T f' - omega x R^T f.

    ``loads`` and ``changing``, the loads and their rates in the base, are both in the axes of the links.
    """
    w = angular_velocities(tree, placements(tree, q), qd)
    return {
        k: [
            GlobalLoad(
                vec.subtract(rate.force, vec.cross(w[k], load.force)),
                vec.subtract(rate.moment, vec.cross(w[k], load.moment)),
                load.point,
            )
            for load, rate in zip(loads[k], changing[k], strict=True)
        ]
        for k in loads
    }


@dataclass(frozen=True)
class Pull:
    """F, M and A of the loads on a link and on all that it carries, in its frame."""

    force: Vector = vec.ZERO
    moment: Vector = vec.ZERO
    lever: Matrix = (vec.ZERO, vec.ZERO, vec.ZERO)

    @classmethod
    def of(cls, load: GlobalLoad) -> Pull:
        """Of one load in the axes of its link."""
        return cls(load.force, load.moment, vec.hats(load.force, load.point))

    def __add__(self, other: Pull) -> Pull:
        return Pull(
            vec.add(self.force, other.force),
            vec.add(self.moment, other.moment),
            vec.add_matrix(self.lever, other.lever),
        )

    def up(self, place: Place) -> Pull:
        """In the antecedent's frame: p becomes R p + P, so A becomes R A R^T + hat(R F) hat(P)."""
        force, a = place.up(self.force), place.matrix_up(self.lever)
        return Pull(force, place.up(self.moment), vec.add_matrix(a, vec.hats(force, place.position)))

    def passed(self, k: Column) -> Vector:
        """What a unit of the joint's column k adds to their moment, seen from below: A z + l x F."""
        return vec.add(vec.apply(self.lever, k.angular), vec.cross(k.linear, self.force))

    def row(self, k: Column) -> Vector:
        """g with g . z = a_j . turned(z) for every z: A z_j + z_j x M + l_j x F."""
        return vec.add(self.passed(k), vec.cross(k.angular, self.moment))

    def turned(self, z: Vector) -> Wrench:
        """What a unit turn of the link about z adds to their wrench, in its frame: F x z, A^T z + M x z."""
        return vec.cross(self.force, z), vec.add(vec.apply_transposed(self.lever, z), vec.cross(self.moment, z))


def pulls(tree: Tree, places: Sequence[Place], loads: Loads) -> list[Pull]:
    """Of every body, gathered inward; of the base only its own. ``loads`` are in the axes of their links."""
    found = [sum((Pull.of(load) for load in loads.get(k, ())), Pull()) for k in range(len(tree.bodies))]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            found[parent] = found[parent] + found[number].up(places[number])
    return found

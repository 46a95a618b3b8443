"""The Coriolis matrix C(q, qd) with dA/dt - 2 C skew-symmetric (Echeandia and Wensing 2021).

For a body of particles C = sum m Jx^T dJx/dt with Jx the Jacobian of a particle in an inertial
frame; it is the factorisation with Christoffel symbols. A unit rate of joint i moves the
particles of all links it carries as z_i x (x - O_i); this field changes because the axis turns
and because the particles move relative to it. Only velocities relative to a frame's own origin
occur, so that no linear velocity is ever needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra import turns
from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.placement import Placement
from neuler.algebra.screw import Wrench, flat
from neuler.algebra.vector import Matrix, Vector
from neuler.compiler.graph import Scalar
from neuler.passes.tree import PRISMATIC, REVOLUTE, Body, Tree
from neuler.recursions.composite import composite_inertias
from neuler.recursions.kinematics import angular_velocities, coordinate, placements

Z: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Flow:
    """Sums over particles at x with velocity u relative to the frame's origin: P = sum m u, W = sum m x u^T."""

    p: Vector
    w: Matrix

    def __add__(self, other: Flow) -> Flow:
        return Flow(vec.add(self.p, other.p), vec.add_matrix(self.w, other.w))

    @classmethod
    def of(cls, body: Body, w: Vector) -> Flow:
        """u = w x x, so P = w x MS and W = S hat(w)^T with S the second moments."""
        xx, yy, zz, xy, xz, yz = body.inertia
        half = (xx + yy + zz) / 2
        s = ((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz))
        return cls(vec.cross(w, body.first_moment), (vec.cross(w, s[0]), vec.cross(w, s[1]), vec.cross(w, s[2])))

    def up(self, place: Placement, speed: Vector, inertia: Inertia, moved: Inertia) -> Flow:
        """In the antecedent's frame: x becomes R x + P, u becomes R u + ``speed``, the speed of the origin.

        ``inertia`` is the composite's in its own frame, ``moved`` in the antecedent's.
        """
        mass, moment = inertia.a[0], (moved.b[1][2], moved.b[2][0], moved.b[0][1])
        p = place.up(self.p)
        w = turns.matrix_up_z(place.gamma, turns.matrix_up_x(place.alpha, turns.matrix_up_z(place.theta, self.w)))
        shift = place.position
        rows = tuple(vec.add(w[k], vec.add(vec.scale(moment[k], speed), vec.scale(shift[k], p))) for k in range(3))
        return Flow(vec.add(p, vec.scale(mass, speed)), rows)  # type: ignore[arg-type]

    def wrench(self, omega: Vector) -> Wrench:
        """sum m (1; hat x)(omega x u): the moment is omega tr W - W^T omega."""
        trace = self.w[0][0] + self.w[1][1] + self.w[2][2]
        return vec.cross(omega, self.p), vec.subtract(vec.scale(trace, omega), vec.apply_transposed(self.w, omega))

    def row(self, body: Body) -> Vector:
        """g with g . omega = a_j . wrench(omega) for every omega."""
        if body.sigma == PRISMATIC:
            return vec.cross(self.p, Z)
        (xx, _, xz), (_, yy, yz), _ = self.w
        return (-xz, -yz, xx + yy)


@dataclass(frozen=True)
class Composite:
    """Of every body and all that it carries, in its frame: inertia and flow; and the speed of its origin.

    ``speed`` is relative to the antecedent's origin, in the antecedent's frame.
    """

    places: list[Placement]
    w: list[Vector]
    speed: list[Vector]
    inertia: list[Inertia]
    flow: list[Flow]


def composite(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Composite:
    """Gathered inward."""
    places = placements(tree, q)
    w = angular_velocities(tree, places, qd)
    inertia = composite_inertias(tree, places)
    flow = [Flow.of(body, omega) for body, omega in zip(tree.bodies, w, strict=True)]
    speed = [vec.ZERO]
    for number, body in enumerate(tree.bodies[1:], start=1):
        turned = vec.cross(w[body.antecedent], places[number].position)
        if body.sigma == PRISMATIC:
            turned = vec.add(turned, vec.scale(coordinate(body, qd), places[number].up(Z)))
        speed.append(turned)
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            moved = places[number].inertia_up(inertia[number])
            flow[parent] = flow[parent] + flow[number].up(places[number], speed[number], inertia[number], moved)
    return Composite(places, w, speed, inertia, flow)


def axis_rate(body: Body, w: Vector) -> Vector:
    """The inertial rate of the joint's axis: w x z."""
    return (w[1], -w[0], 0.0) if body.sigma in (REVOLUTE, PRISMATIC) else vec.ZERO


def along(body: Body, direction: Vector) -> Wrench:
    """A motion of the joint's own kind, turning or sliding, along a direction."""
    return (direction, vec.ZERO) if body.sigma == PRISMATIC else (vec.ZERO, direction)


def coriolis_matrix(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C of A qdd + C qd + ...; rotor inertia is constant and adds nothing."""
    whole = composite(tree, q, qd)
    matrix: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(tree.dof)]
    for number, body in enumerate(tree.bodies):
        if not body.columns:
            continue
        here = body.coordinate
        assert here is not None
        push = column(body, whole, number)
        mass, bent = whole.inertia[number].column(body.columns[0]), whole.flow[number].row(body)
        matrix[here][here] = flat(push)[body.columns[0]]
        at = number
        while tree.bodies[at].antecedent:
            push = whole.places[at].wrench_up(*push)
            mass, bent = row_up(whole, at, mass, bent)
            at = tree.bodies[at].antecedent
            above = tree.bodies[at]
            for k in above.columns:
                there = above.coordinate
                assert there is not None
                matrix[there][here] = flat(push)[k]
                matrix[here][there] = row_entry(above, whole.w[at], mass, bent)
    return matrix


def column(body: Body, whole: Composite, number: int) -> Wrench:
    """The wrench on all that the joint carries behind its column of C."""
    rate = axis_rate(body, whole.w[number])
    f, m = whole.inertia[number] @ along(body, rate)
    if body.sigma == REVOLUTE:
        bend, twist = whole.flow[number].wrench(Z)
        f, m = vec.add(f, bend), vec.add(m, twist)
    return f, m


def row_up(whole: Composite, number: int, mass: Wrench, bent: Vector, times: float = 1.0) -> tuple[Wrench, Vector]:
    """The covectors behind a row of C, carried to the antecedent: the origin's speed bends them.

    ``bent`` may have been multiplied; then say how many ``times``.
    """
    moved = whole.places[number].wrench_up(*mass)
    speed = vec.scale(times, whole.speed[number])
    return moved, vec.add(whole.places[number].up(bent), vec.cross(speed, moved[0]))


def row_entry(body: Body, w: Vector, mass: Wrench, bent: Vector, times: float = 1.0) -> Scalar:
    """mass . d/dt(a_i) + bent . z_i for an antecedent joint i, as many ``times`` as ``bent`` is."""
    rate = vec.scale(times, axis_rate(body, w))
    if body.sigma == PRISMATIC:
        return vec.dot(mass[0], rate)
    return vec.dot(mass[1], rate) + bent[2]

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

from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.screw import Column, Wrench
from neuler.algebra.vector import Matrix, Vector
from neuler.passes.tree import Body, Place, Tree
from neuler.recursions.composite import composite_inertias
from neuler.recursions.kinematics import angular_velocities, placements
from neuler.trace.graph import Scalar


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

    def up(self, place: Place, speed: Vector, inertia: Inertia, moved: Inertia) -> Flow:
        """In the antecedent's frame: x becomes R x + P, u becomes R u + ``speed``, the speed of the origin.

        ``inertia`` is the composite's in its own frame, ``moved`` in the antecedent's.
        """
        mass, moment = inertia.a[0], (moved.b[1][2], moved.b[2][0], moved.b[0][1])
        p = place.up(self.p)
        w = place.matrix_up(self.w)
        shift = place.position
        rows = tuple(vec.add(w[k], vec.add(vec.scale(moment[k], speed), vec.scale(shift[k], p))) for k in range(3))
        return Flow(vec.add(p, vec.scale(mass, speed)), rows)  # type: ignore[arg-type]

    def wrench(self, omega: Vector) -> Wrench:
        """sum m (1; hat x)(omega x u): the moment is omega tr W - W^T omega."""
        trace = self.w[0][0] + self.w[1][1] + self.w[2][2]
        return vec.cross(omega, self.p), vec.subtract(vec.scale(trace, omega), vec.apply_transposed(self.w, omega))

    def row(self, k: Column) -> Vector:
        """g with g . omega = a_k . wrench(omega) for every omega."""
        found = vec.cross(self.p, k.linear)
        for axis, share in enumerate(k.angular):
            found = vec.add(found, vec.scale(share, self._about(axis)))
        return found

    def _about(self, axis: int) -> Vector:
        """(tr W - W^T) of a unit axis."""
        w = self.w
        others = (w[1][1] + w[2][2], w[0][0] + w[2][2], w[0][0] + w[1][1])[axis]
        x, y, z = (others if i == axis else -w[i][axis] for i in range(3))
        return (x, y, z)


@dataclass(frozen=True)
class Composite:
    """Of every body and all that it carries, in its frame: inertia and flow; and the speed of its origin.

    ``speed`` is relative to the antecedent's origin, in the antecedent's frame.
    """

    places: list[Place]
    w: list[Vector]
    speed: list[Vector]
    inertia: list[Inertia]
    flow: list[Flow]


def composite(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Composite:
    """Inertias and their flows of composite bodies, gathered from the tips to the base."""
    places = placements(tree, q)
    w = angular_velocities(tree, places, qd)
    inertia = composite_inertias(tree, places)
    flow = [Flow.of(body, omega) for body, omega in zip(tree.bodies, w, strict=True)]
    speed = [vec.ZERO]
    for number, body in enumerate(tree.bodies[1:], start=1):
        turned = vec.cross(w[body.antecedent], places[number].position)
        for index, column in body.freedoms:
            turned = vec.add(turned, vec.scale(qd[index], places[number].up(column.linear)))
        speed.append(turned)
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            moved = places[number].inertia_up(inertia[number])
            flow[parent] = flow[parent] + flow[number].up(places[number], speed[number], inertia[number], moved)
    return Composite(places, w, speed, inertia, flow)


def coriolis_matrix(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C of A qdd + C qd + ...; rotor inertia is constant and adds nothing."""
    whole = composite(tree, q, qd)
    matrix: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(tree.dof)]
    for number, body in enumerate(tree.bodies):
        for here, k in body.freedoms:
            push = wrench_of(k, whole, number)
            mass, bent = whole.inertia[number].along(k), whole.flow[number].row(k)
            for own, j in body.freedoms:
                matrix[own][here] = j.dot(push)
            at = number
            while tree.bodies[at].antecedent:
                push = whole.places[at].wrench_up(*push)
                mass, bent = row_up(whole, at, mass, bent)
                at = tree.bodies[at].antecedent
                for there, j in tree.bodies[at].freedoms:
                    matrix[there][here] = j.dot(push)
                    matrix[here][there] = row_entry(j, whole.w[at], mass, bent)
    return matrix


def wrench_of(k: Column, whole: Composite, number: int) -> Wrench:
    """The wrench on all that the joint carries behind the column of C of its column k."""
    f, m = whole.inertia[number] @ k.turned(whole.w[number])
    bend, twist = whole.flow[number].wrench(k.angular)
    return vec.add(f, bend), vec.add(m, twist)


def row_up(whole: Composite, number: int, mass: Wrench, bent: Vector, times: float = 1.0) -> tuple[Wrench, Vector]:
    """The covectors behind a row of C, carried to the antecedent: the origin's speed bends them.

    ``bent`` may have been multiplied; then say how many ``times``.
    """
    moved = whole.places[number].wrench_up(*mass)
    speed = vec.scale(times, whole.speed[number])
    return moved, vec.add(whole.places[number].up(bent), vec.cross(speed, moved[0]))


def row_entry(k: Column, w: Vector, mass: Wrench, bent: Vector) -> Scalar:
    """mass . d/dt(a_i) + bent . z_i for column k of an antecedent joint i."""
    linear, angular = k.turned(w)
    return vec.dot(mass[0], linear) + vec.dot(mass[1], angular) + vec.dot(bent, k.angular)

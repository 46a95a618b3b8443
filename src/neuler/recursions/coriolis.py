"""The Coriolis matrix C(q, qd) with dA/dt - 2 C skew-symmetric (Echeandia and Wensing 2021).

For a body of particles C = sum m Jx^T dJx/dt with Jx the Jacobian of a particle in an inertial
frame; it is the factorisation with Christoffel symbols. A unit rate of joint i moves the
particles of all links it carries by the screw a_i; its rate of change has two parts, that of
the screw and that of the particles' places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.algebra import turns
from neuler.algebra import vector as vec
from neuler.algebra.inertia import Inertia
from neuler.algebra.placement import Placement
from neuler.algebra.vector import Matrix, Vector
from neuler.compiler.graph import Scalar
from neuler.passes.tree import Body, Tree
from neuler.recursions.composite import composite_inertias
from neuler.recursions.kinematics import placements, velocities

Screw = tuple[Vector, Vector]


@dataclass(frozen=True)
class Flow:
    """Sums over the particles x of a body with velocities u: P = sum m u and W = sum m x u^T."""

    p: Vector
    w: Matrix

    def __add__(self, other: Flow) -> Flow:
        return Flow(vec.add(self.p, other.p), vec.add_matrix(self.w, other.w))

    @classmethod
    def of(cls, body: Body, screw: Screw) -> Flow:
        """u = v + w x x, so P = M v + w x MS and W = MS v^T + S hat(w)^T, S the second moments."""
        v, w = screw
        ms = body.first_moment
        xx, yy, zz, xy, xz, yz = body.inertia
        half = (xx + yy + zz) / 2
        s = ((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz))
        momentum = vec.add(vec.scale(body.mass, v), vec.cross(w, ms))
        rows = tuple(vec.add(vec.scale(ms[k], v), vec.cross(w, s[k])) for k in range(3))
        return cls(momentum, rows)  # type: ignore[arg-type]

    def up(self, place: Placement) -> Flow:
        """The same sums in the reference frame: x becomes R x + P."""
        w = turns.matrix_up_x(place.alpha, turns.matrix_up_z(place.theta, self.w))
        w = turns.matrix_up_z(place.gamma, w)
        p = place.up(self.p)
        shift = place.position
        return Flow(p, vec.add_matrix(w, tuple(vec.scale(shift[k], p) for k in range(3))))  # type: ignore[arg-type]

    def wrench(self, screw: Screw) -> Screw:
        """sum m (1; hat x) (omega x u): the force that the moving places ask for under a unit screw."""
        _, omega = screw
        return vec.cross(omega, self.p), self._moment(omega)

    def _moment(self, omega: Vector) -> Vector:
        """sum m x x (omega x u) = sum m (omega (x.u) - u (x.omega)) = omega tr W - W^T omega."""
        trace = self.w[0][0] + self.w[1][1] + self.w[2][2]
        return vec.subtract(vec.scale(trace, omega), vec.apply_transposed(self.w, omega))

    def row(self, screw: Screw) -> Screw:
        """The transposed map: g with g.(v; omega) = screw . wrench((v; omega)) for all omega."""
        v, w = screw
        trace = self.w[0][0] + self.w[1][1] + self.w[2][2]
        angular = vec.add(vec.cross(self.p, v), vec.subtract(vec.scale(trace, w), vec.apply(self.w, w)))
        return vec.ZERO, angular


def coriolis_matrix(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C of A qdd + C qd + ...; rotor inertia is constant and adds nothing."""
    places = placements(tree, q)
    screws = velocities(tree, places, qd)
    inertia = composite_inertias(tree, places)
    flow = [Flow.of(body, screw) for body, screw in zip(tree.bodies, screws, strict=True)]
    for number in range(len(tree.bodies) - 1, 0, -1):
        parent = tree.bodies[number].antecedent
        if parent:
            flow[parent] = flow[parent] + flow[number].up(places[number])
    matrix: list[list[Scalar]] = [[0.0] * tree.dof for _ in range(tree.dof)]
    for number, body in enumerate(tree.bodies):
        for column in body.columns:
            _fill(tree, places, screws, matrix, number, column, inertia[number], flow[number])
    return matrix


def _fill(
    tree: Tree,
    places: Sequence[Placement],
    screws: Sequence[Screw],
    matrix: list[list[Scalar]],
    number: int,
    column: int,
    inertia: Inertia,
    flow: Flow,
) -> None:
    """Row and column of one joint against itself and every joint between it and the base."""
    body = tree.bodies[number]
    here = body.coordinate
    assert here is not None
    axis, rate = _unit(column), _rate(screws[number], column)
    push = _plus(inertia @ rate, flow.wrench(axis))  # the wrench behind column `here`
    mass, bent = inertia @ axis, flow.row(axis)  # the covectors behind row `here`
    matrix[here][here] = _dot(axis, push)
    at = number
    while tree.bodies[at].antecedent:
        push, mass, bent = (places[at].wrench_up(*x) for x in (push, mass, bent))
        at = tree.bodies[at].antecedent
        above = tree.bodies[at]
        for k in above.columns:
            there = above.coordinate
            assert there is not None
            matrix[there][here] = _dot(_unit(k), push)
            matrix[here][there] = _dot(_rate(screws[at], k), mass) + _dot(_unit(k), bent)


def _unit(column: int) -> Screw:
    values = tuple(1.0 if k == column else 0.0 for k in range(6))
    return values[:3], values[3:]  # type: ignore[return-value]


def _rate(screw: Screw, column: int) -> Screw:
    """The inertial rate of a screw axis that moves with the link: (w x a + v x b; w x b) of a_j = (a; b)."""
    v, w = screw
    a, b = _unit(column)
    return vec.add(vec.cross(w, a), vec.cross(v, b)), vec.cross(w, b)


def _plus(a: Screw, b: Screw) -> Screw:
    return vec.add(a[0], b[0]), vec.add(a[1], b[1])


def _dot(a: Screw, b: Screw) -> Scalar:
    return vec.dot(a[0], b[0]) + vec.dot(a[1], b[1])

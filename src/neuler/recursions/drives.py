"""What drives joints and what they lose: friction, springs, rotors, Khalil (31), (69), (70). No other recursion asks.

Of every velocity k of a tree the drives take

    ratio f(ratio qd_k)                         friction f, on the rotor
    K_k (q_k - rest)                            a spring at the joint
    e = K (theta - q_j) + D (thetad - qd_j)     a spring in series: e along theta, -e along q_j
    Ia_k qdd_k                                  the rotor, which the recursions add themselves

of the joint's force. What a drive has not leaves no trace in the graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from neuler.algebra import vector as vec
from neuler.algebra.vector import Vector
from neuler.passes.tree import Body, Drive, Series, Tree
from neuler.robot.friction import Friction, LoadDependent, both_ways
from neuler.trace.graph import Node, Scalar, sign

Matrix = list[list[Scalar]]


def none(x: Scalar) -> bool:
    """Whether it is the number zero."""
    return not isinstance(x, Node) and x == 0.0


def rotor(body: Body) -> Scalar:
    """Ia: inertia of rotor and gears on the joint's side."""
    return body.drive.rotor_inertia


def rotors_alone(tree: Tree) -> Tree:
    """The tree with drives that have inertia, and neither friction nor springs."""
    bodies = [dataclasses.replace(body, drive=Drive(rotor_inertia=rotor(body))) for body in tree.bodies]
    return dataclasses.replace(tree, bodies=tuple(bodies))


def swept(drive: Drive, w: Vector, rate: Scalar, acceleration: Scalar) -> Vector:
    """The moment on the antecedent, which turns by w, of the rotors that a joint turns: Hua (24).

    n I (qdd z + qd w x z).
    """
    if drive.momentum is None:
        return vec.ZERO
    return vec.add(vec.scale(acceleration, drive.momentum), vec.scale(rate, vec.cross(w, drive.momentum)))


def carried(drive: Drive, wd: Vector) -> Scalar:
    """The force along a joint by which its rotors resist the turning of the antecedent: n I z . wd, Hua (27)."""
    return 0.0 if drive.momentum is None else vec.dot(drive.momentum, wd)


# ---- forces -----------------------------------------------------------------------------------------


def passive_forces(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """By velocity: what friction and springs take of the force along it."""
    found: list[Scalar] = [0.0] * tree.dof
    for body in tree.bodies:
        for k, _ in body.freedoms:
            found[k] = friction(body.drive, qd[k]) + _spring(body, q)
    for theta, body, series in in_series(tree):
        e = series.stiffness * _stretch(body, series, q) + series.damping * (qd[theta] - qd[series.velocity])
        found[theta] = found[theta] + e
        found[series.velocity] = found[series.velocity] - e
    return found


def friction(drive: Drive, rate: Scalar) -> Scalar:
    """F_s sign(qd) + F_v qd, Khalil (31), which may differ between the two directions, and the drive's own law f."""
    forward, reverse = drive.coulomb, drive.coulomb_reverse
    turning = drive.ratio * rate
    loss = drive.viscous * turning
    if not none(forward) or not none(reverse):
        loss = both_ways(loss, forward, reverse, sign(turning))
    if law := _of_speed(drive):
        loss = loss + law.force(turning)
    return drive.ratio * loss


def _of_speed(drive: Drive) -> Friction | None:
    """Its law, where the speed alone decides the friction."""
    return None if drive.law is None or drive.law.loaded else drive.law


def held(drive: Drive, tau: Scalar = 0.0, speed: Scalar = 0.0) -> tuple[Scalar, Scalar]:
    """The most that dry friction takes of a force along a coordinate, forward and in reverse, at rest or a speed."""
    n = abs(drive.ratio)
    more = drive.law.held(tau / drive.ratio, drive.ratio * speed) if drive.law else (0.0, 0.0)
    forward, reverse = n * (drive.coulomb + more[0]), n * (drive.coulomb_reverse + more[1])
    return (forward, reverse) if drive.ratio > 0 else (reverse, forward)


def _spring(body: Body, q: Sequence[Scalar]) -> Scalar:
    """K (q - q0): what it takes to hold the joint's spring, Khalil (69), (70)."""
    if none(body.drive.stiffness) or not body.columns:
        return 0.0
    return body.drive.stiffness * (q[body.position] - body.drive.rest)


def in_series(tree: Tree) -> Iterator[tuple[int, Body, Series]]:
    """(velocity, body, spring) of every coordinate that drives another one by a spring."""
    for body in tree.bodies:
        if body.drive.series is not None and body.coordinate is not None:
            yield body.coordinate, body, body.drive.series


def _stretch(body: Body, series: Series, q: Sequence[Scalar]) -> Scalar:
    """The stretch of a series spring, theta - q_j."""
    return q[body.position] - q[series.position]


def force_rates(tree: Tree, qd: Sequence[Scalar], qdd: Sequence[Scalar], qddd: Sequence[Scalar]) -> list[Scalar]:
    """By velocity: the rate of what friction, springs and rotor take. Where Coulomb friction jumps, it has none."""
    found: list[Scalar] = [0.0] * tree.dof
    for body in tree.bodies:
        for k, _ in body.freedoms:
            found[k] = rotor(body) * qddd[k] + _slope(body.drive, qd[k]) * qdd[k] + body.drive.stiffness * qd[k]
    for theta, _, series in in_series(tree):
        j = series.velocity
        rate = series.stiffness * (qd[theta] - qd[j]) + series.damping * (qdd[theta] - qdd[j])
        found[theta], found[j] = found[theta] + rate, found[j] - rate
    return found


def _slope(drive: Drive, rate: Scalar) -> Scalar:
    """The derivative of friction to the joint's velocity; of Coulomb friction zero."""
    slope = drive.viscous
    if law := _of_speed(drive):
        slope = slope + law.slope(drive.ratio * rate)
    return drive.ratio * drive.ratio * slope


def add_derivatives(tree: Tree, qd: Sequence[Scalar], matrices: Sequence[Matrix]) -> None:
    """Add what drives add to d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd)."""
    dq, dqd, dqdd = matrices
    for body in tree.bodies:
        for k, _ in body.freedoms:
            dq[k][k] = dq[k][k] + body.drive.stiffness
            dqd[k][k] = dqd[k][k] + _slope(body.drive, qd[k])
            dqdd[k][k] = dqdd[k][k] + rotor(body)
    for theta, _, series in in_series(tree):
        for row, column in ((theta, theta), (theta, series.velocity), (series.velocity, theta), (series.velocity,) * 2):
            side = 1.0 if row == column else -1.0
            dq[row][column] = dq[row][column] + side * series.stiffness
            dqd[row][column] = dqd[row][column] + side * series.damping


# ---- energy -----------------------------------------------------------------------------------------


def spring_energies(tree: Tree, q: Sequence[Scalar]) -> Iterator[Scalar]:
    """What every spring stores: half K (q - q0)^2, half K (theta - q_j)^2."""
    for body in tree.bodies:
        if not none(body.drive.stiffness) and body.columns:
            yield 0.5 * (_spring(body, q) * (q[body.position] - body.drive.rest))
    for _, body, series in in_series(tree):
        stretch = _stretch(body, series, q)
        yield 0.5 * (series.stiffness * stretch * stretch)


# ---- load-dependent friction ------------------------------------------------------------------------


def loaded(drive: Drive) -> LoadDependent | None:
    """The law of a drive whose friction depends on its load: it acts on the force after all else, and last."""
    return drive.law if isinstance(drive.law, LoadDependent) else None


def tau_from_load(drive: Drive, load: Scalar, rate: Scalar) -> Scalar:
    """The force tau that gives the load along a coordinate: t + (Fc + mu |t|) sign(qd) + Fv qd, on the rotor."""
    law = loaded(drive)
    return load if law is None else drive.ratio * law.needed(load / drive.ratio, drive.ratio * rate)


def load_from_tau(drive: Drive, tau: Scalar, rate: Scalar) -> Scalar:
    """The load that a force tau gives: the inverse of ``tau_from_load``."""
    law = loaded(drive)
    return tau if law is None else drive.ratio * law.delivered(tau / drive.ratio, drive.ratio * rate)


def tau_slopes(drive: Drive, load: Scalar, rate: Scalar) -> tuple[Scalar, Scalar]:
    """Derivatives of ``tau_from_load`` to the load and to the rate."""
    law = loaded(drive)
    if law is None:
        return 1.0, 0.0
    to_load, to_speed = law.needed_slopes(load / drive.ratio, drive.ratio * rate)
    return to_load, drive.ratio * drive.ratio * to_speed

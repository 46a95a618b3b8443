"""Springs in series and geared friction in every recursion: against formulas, the complex step, energy, each other."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from friction_laws import LAWS
from neuler import Coulomb, LoadDependent, Motor, robots
from neuler.passes.tree import Drive, Series
from neuler.passes.trees import fused_tree, grouped_tree
from neuler.quantities.derivatives import related
from neuler.recursions import barman, drives
from neuler.recursions.composite import mass_matrix
from neuler.recursions.energy import kinetic_energy, potential_energy
from neuler.recursions.hybrid import forward_dynamics, hybrid, inverse_dynamics
from neuler.recursions.nasser import nasser
from neuler.recursions.rates import torque_rates
from neuler.recursions.sensitivities import sensitivities
from neuler.recursions.walker_orin import forward_dynamics as walker_orin
from neuler.recursions.walker_orin import inertia_matrix_and_bias
from neuler.trace.differentiate import hessian, jacobian
from neuler.trace.graph import Graph, Node
from random_robots import close, random_robot

STEP = 1e-30
SEEDS = (0, 2, 5, 6, 12, 20)
each = pytest.mark.parametrize("seed", SEEDS)


@functools.cache
def sprung(seed):
    """A tree whose coordinates are joined by springs, on one path or across branches; friction behind gears."""
    rng = np.random.default_rng(seed)
    tree = grouped_tree(random_robot(seed, 7))
    movers = [number for number, body in enumerate(tree.bodies) if body.columns]
    bodies = list(tree.bodies)
    for number in movers:
        body = bodies[number]
        drive = dataclasses.replace(body.drive, ratio=float(rng.uniform(-4, 4)), stiffness=float(rng.uniform(0, 9)))
        bodies[number] = dataclasses.replace(body, drive=dataclasses.replace(drive, rest=0.3))
    turned = rng.permutation(movers)
    for theta, j in list(itertools.pairwise(turned))[: max(1, len(movers) // 2)]:
        to = tree.bodies[j]
        series = Series(to.position, to.coordinate, float(rng.uniform(5, 50)), float(rng.uniform(0, 3)))
        bodies[theta] = dataclasses.replace(
            bodies[theta], drive=dataclasses.replace(bodies[theta].drive, series=series)
        )
    return dataclasses.replace(tree, bodies=tuple(bodies))


def bare(tree):
    """Without friction and springs."""
    return dataclasses.replace(
        tree,
        bodies=tuple(
            dataclasses.replace(body, drive=Drive(rotor_inertia=body.drive.rotor_inertia)) for body in tree.bodies
        ),
    )


def taken(tree, q, qd):
    """What friction and springs take, written from the definitions."""
    found = np.zeros(tree.dof)
    for body in tree.bodies:
        k, drive = body.coordinate, body.drive
        if k is None:
            continue
        v = drive.ratio * qd[k]
        level = drive.coulomb if v > 0 else drive.coulomb_reverse
        found[k] += drive.ratio * (drive.viscous * v + level * np.sign(v)) + drive.stiffness * (q[k] - drive.rest)
        if drive.series is not None:
            j, series = drive.series.velocity, drive.series
            e = series.stiffness * (q[k] - q[j]) + series.damping * (qd[k] - qd[j])
            found[k] += e
            found[j] -= e
    return found


def state(tree, seed, count=3):
    rng = np.random.default_rng(seed + 50)
    return [rng.uniform(-2, 2, tree.dof).tolist() for _ in range(count)]


def slopes(function, x):
    """The Jacobian by the complex step, a column an entry of x."""
    columns = []
    for k in range(len(x)):
        ahead = [y + 1j * STEP if i == k else y for i, y in enumerate(x)]
        columns.append(np.imag(np.array(function(ahead), dtype=complex)) / STEP)
    return np.array(columns).T


@each
def test_forces_are_those_of_the_definition(seed):
    tree = sprung(seed)
    q, qd, qdd = state(tree, seed)
    assert any(body.drive.series for body in tree.bodies)
    alone = inverse_dynamics(bare(tree), q, qd, qdd)
    close(inverse_dynamics(tree, q, qd, qdd), np.add(alone, taken(tree, q, qd)), 1e-13)


@each
def test_direct_dynamics_undo_inverse_dynamics(seed):
    """By articulated bodies, Nasser's recursion and Walker and Orin's."""
    tree = sprung(seed)
    q, qd, qdd = state(tree, seed)
    tau = inverse_dynamics(tree, q, qd, qdd)
    for found in (
        forward_dynamics(tree, q, qd, tau),
        nasser(tree, q, qd, tau).coordinates,
        walker_orin(tree, q, qd, tau),
    ):
        close(found, qdd, 1e-10)
    mass, bias = inertia_matrix_and_bias(tree, q, qd)
    close(mass, mass_matrix(tree, q), 1e-12)
    close(bias, inverse_dynamics(tree, q, qd, [0.0] * tree.dof), 1e-13)


@each
def test_any_mixture_of_told_motions_and_forces(seed):
    tree = sprung(seed)
    q, qd, qdd = state(tree, seed)
    tau = inverse_dynamics(tree, q, qd, qdd)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        told = rng.random(tree.dof) < 0.5
        found = hybrid(tree, q, qd, np.where(told, qdd, tau).tolist(), told.tolist()).coordinates
        close(found, np.where(told, tau, qdd), 1e-10, max(np.abs(tau).max(), np.abs(qdd).max()))


@each
def test_rates_are_the_complex_step(seed):
    tree = sprung(seed)
    q, qd, qdd, qddd = state(tree, seed, 4)
    found = torque_rates(tree, q, qd, qdd, qddd)
    ahead = [[x + 1j * STEP * y for x, y in zip(*two, strict=True)] for two in ((q, qd), (qd, qdd), (qdd, qddd))]
    close(found.tau, inverse_dynamics(tree, q, qd, qdd), 1e-12)
    close(found.tau_rate, np.imag(inverse_dynamics(tree, *ahead)) / STEP, 1e-12)


@each
def test_sensitivities_are_the_complex_step(seed):
    """By composite links, by Barman's recursion and by the differentiation pass."""
    tree = sprung(seed)
    q, qd, qdd = state(tree, seed)
    expected = [
        slopes(lambda x: inverse_dynamics(tree, x, qd, qdd), q),
        slopes(lambda x: inverse_dynamics(tree, q, x, qdd), qd),
        slopes(lambda x: inverse_dynamics(tree, q, qd, x), qdd),
    ]
    mine, his = sensitivities(tree, q, qd, qdd), barman.sensitivities(tree, q, qd, qdd)
    for found in ((mine.dq, mine.dqd, mine.dqdd), (his.dtau_dq, his.dtau_dqd, his.dtau_dqdd)):
        for one, other in zip(found, expected, strict=True):
            close(one, other, 1e-11)
    outside = set(np.ndindex(tree.dof, tree.dof)) - set(related(tree))
    assert all(matrix[i, k] == 0.0 for matrix in expected for i, k in outside)


def test_springs_across_branches_are_in_the_sparse_structure():
    """Two coordinates on different branches act on each other by a spring alone."""
    tree = fused_tree(robots.general_chain(2))
    first, second = tree.bodies[1:]
    second = dataclasses.replace(second, antecedent=0, drive=Drive(series=Series(0, 0, 7.0, 0.5)))
    forked = dataclasses.replace(tree, bodies=(tree.bodies[0], first, second))
    assert related(forked) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    found = sensitivities(forked, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    assert (found.dq[0][1], found.dq[1][0]) == (-7.0, -7.0)
    assert (found.dqd[0][1], found.dqd[1][0]) == (-0.5, -0.5)


@each
def test_the_graph_has_the_same_derivatives(seed):
    """A trace of inverse dynamics by the pass: Jacobian with the structure, and a symmetric Hessian."""
    tree = sprung(seed)
    n = tree.dof
    graph = Graph()
    q, qd, qdd = (graph.inputs(name, n) for name in ("q", "qd", "qdd"))
    tau = inverse_dynamics(tree, q, qd, qdd)
    entries = jacobian(tau, [*q, *qd])
    assert {(i, k % n) for i, k in entries} <= set(related(tree))
    second = hessian(tau, [1.0] * n, [*q, *qd])
    assert all(second[i, k] is second[k, i] or second[i, k] == second[k, i] for i, k in second)
    theta, _, series = next(drives.in_series(tree))
    cross = entries[theta, series.velocity]
    assert isinstance(cross, Node) or cross != 0.0


def heat_of(tree, qd):
    """What friction and dampers take, W."""
    power = sum(drives.friction(body.drive, qd[k]) * qd[k] for body in tree.bodies for k, _ in body.freedoms)
    slips = [(series.damping, qd[theta] - qd[series.velocity]) for theta, _, series in drives.in_series(tree)]
    return power + sum(damping * slip * slip for damping, slip in slips)


@each
def test_energy_is_kept_or_turned_into_heat(seed):
    """d(kinetic + potential)/dt = tau qd - heat, and heat is never negative."""
    tree = sprung(seed)
    q, qd, qdd = state(tree, seed)
    tau = inverse_dynamics(tree, q, qd, qdd)

    def energy(h):
        then = [x + h * v for x, v in zip(q, qd, strict=True)]
        moving = [x + h * a for x, a in zip(qd, qdd, strict=True)]
        return kinetic_energy(tree, then, moving) + potential_energy(tree, then)

    gained = np.imag(energy(1j * STEP)) / STEP
    heat = heat_of(tree, qd)
    assert heat >= 0.0
    close(gained + heat, np.dot(tau, qd), 1e-11, max(abs(gained), heat))


@pytest.mark.parametrize("ratio", [1.0, -3.0])
@pytest.mark.parametrize("law", [None, *LAWS.values(), Coulomb(0.5, coulomb_reverse=0.7), LoadDependent(0.2, 0.3)])
def test_what_is_held_at_rest_is_the_friction_just_beside_it(law, ratio):
    """A smooth law holds nothing."""
    drive = Drive(viscous=0.3, coulomb=0.4, coulomb_reverse=0.2, ratio=ratio, law=law)
    tau, creep = 5.0, 1e-12
    found = drives.held(drive, tau)
    for side, level in zip((1.0, -1.0), found, strict=True):
        lost = tau - drives.load_from_tau(drive, tau, side * creep) + drives.friction(drive, side * creep)
        close(level, side * lost, 1e-9)


@each
def test_forces_of_springs_are_the_slope_of_their_energy(seed):
    tree = sprung(seed)
    q = state(tree, seed, 1)[0]
    still = [0.0] * tree.dof
    slope = slopes(lambda x: [sum(drives.spring_energies(tree, x))], q)[0]
    close(drives.passive_forces(tree, q, still), slope, 1e-13)


def test_the_damping_of_a_spring_is_no_friction():
    """``without_friction`` takes what joints and motors lose, and leaves the spring as it is: stiffness and damping."""
    motor = Motor("m2", "joint2", 50, inertia=1e-4, viscous=1e-4, coulomb=1e-3, stiffness=400.0, damping=0.5)
    robot = robots.two_link().replace(motors=[motor]).with_friction("joint1", Coulomb(coulomb=1.0, viscous=0.2))
    bare = robot.without_friction()
    assert bare.motors == (dataclasses.replace(motor, viscous=0.0, coulomb=0.0),)
    assert bare.joints[0].friction is None
    q, still = [0.3, 0.4, 0.4], np.zeros(3)
    force = bare.inverse_dynamics(q, [0.0, 0.2, 0.5], still) - bare.inverse_dynamics(q, [0.0, 0.2, 0.2], still)
    np.testing.assert_allclose(force, [0.0, -0.5 * 0.3, 0.5 * 0.3], atol=1e-12)

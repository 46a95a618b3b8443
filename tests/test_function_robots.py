"""Robots inside functions: a verb called with traced values is its own recipe, differentiated with the rest."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import neuler
from neuler.trace.listing import Listing
from neuler.trace.symbols import SymbolGraph
from random_robots import along, close

EXACT = 1e-12
ARM = neuler.robots.puma560()
STATE = {"q": 6, "qd": 6, "qdd": 6}
Q, QD, QDD = np.random.default_rng(5).normal(size=(3, 10, 6))


def states(kernel, shape=()):
    rng = np.random.default_rng(6)
    found = [0.3 * rng.normal(size=(*shape, *operand.shape)) for operand in kernel.inputs]
    if kernel.robot.loops:
        found[1] *= 0.1
        found[0] = np.broadcast_to(kernel.robot.neutral(), (*shape, kernel.robot.nq)).copy()
    elif kernel.robot.nq != kernel.robot.nv:
        found[0] = kernel.robot.random_configuration(3, shape)
    return found


def several(found):
    return found if isinstance(found, tuple) else (found,)


ROBOTS = {robot.name: robot for robot in (neuler.robots.stanford(), neuler.robots.rx90().with_free_base())}
ROBOTS |= {robot.name: robot for robot in (neuler.robots.four_bar(), neuler.robots.gough_stewart())}
VERBS = [
    (name, quantity, options)
    for name, robot in ROBOTS.items()
    for quantity, options in (
        ("inverse_dynamics", {}), ("forward_dynamics", {}), ("mass_matrix", {}), ("energy", {}), ("link_poses", {}),
        ("jacobian", {}), ("inverse_dynamics_sensitivities", {"sparse": True}), ("inverse_dynamics_rate", {}),
        ("forward_dynamics", {"external": robot.tip}), ("inverse_dynamics", {"loads": robot.tip, "reactions": True}),
        ("integrate", {}), ("centroidal_momentum", {}), ("forward_dynamics_sensitivities", {}),
    )[: 1 if robot.loops else None]
]  # fmt: skip


EVERYDAY = ("inverse_dynamics", "forward_dynamics", "integrate")
"""Of the robot on a free base, which compiles for long; of the others all verbs are tested in every run."""


def later(name, quantity, options):
    """Whether a verb waits for the slow tests."""
    return ROBOTS[name].nq != ROBOTS[name].nv and not ROBOTS[name].loops and (quantity not in EVERYDAY or options)


@pytest.mark.parametrize(
    ("name", "quantity", "options"),
    [
        pytest.param(*verb, id="-".join([*verb[:2], *verb[2]]), marks=pytest.mark.slow if later(*verb) else ())
        for verb in VERBS
    ],
)
def test_every_verb_stands_inside_a_function(name, quantity, options):
    """Alone it is the same kernel; of the inputs' expressions it is the verb of their values."""
    kernel = ROBOTS[name].compile(quantity, **options)
    given = states(kernel, (4,))
    expected = several(kernel(*given))
    alone = neuler.function(kernel)
    scale = [max(1.0, float(np.abs(x).max())) for x in expected]
    for mine, theirs, size in zip(several(alone(*given)), expected, scale, strict=True):
        close(mine, theirs, EXACT, size)
    assert [x.shape for x in alone.outputs] == [x.shape for x in kernel.outputs]
    halves = neuler.function(lambda *x: kernel(*(2.0 * part for part in x)), {o.name: o.shape for o in kernel.inputs})
    for mine, theirs, size in zip(several(halves(*(x / 2 for x in given))), expected, scale, strict=True):
        close(mine, theirs, EXACT, size)


def test_torques_and_their_sensitivities():
    f = neuler.function(lambda q, qd, qdd: ARM.inverse_dynamics(q, qd, qdd), STATE, "tau")
    close(f(Q, QD, QDD), ARM.inverse_dynamics(Q, QD, QDD), EXACT)
    expected = ARM.inverse_dynamics_sensitivities(Q, QD, QDD)
    for name, matrix in zip(STATE, expected, strict=True):
        close(f.jacobian(name)(Q, QD, QDD), matrix, EXACT)
    close(f.jacobian()(Q, QD, QDD), np.concatenate(expected, -1), EXACT)
    w = np.random.default_rng(7).normal(size=(10, 6))
    close(f.hessian()(Q, QD, QDD, w), ARM.inverse_dynamics_hessian(Q, QD, QDD, w), EXACT)
    close(f.jvp("qdd")(Q, QD, QDD, w), np.einsum("kij,kj->ki", ARM.mass_matrix(Q), w), EXACT)
    close(f.vjp("q")(Q, QD, QDD, w), np.einsum("ki,kij->kj", w, expected[0]), EXACT)


def test_accelerations_and_their_sensitivities():
    f = neuler.function(ARM.forward_dynamics)
    tau = ARM.inverse_dynamics(Q, QD, QDD)
    expected = ARM.forward_dynamics_sensitivities(Q, QD, tau)
    for name, matrix in zip(("q", "qd", "tau"), expected, strict=True):
        close(f.jacobian(name)(Q, QD, tau), matrix, 1e-10)
        close(f.vjp(name)(Q, QD, tau, QDD), np.einsum("ki,kij->kj", QDD, matrix), 1e-10)


def test_a_verb_that_differentiates_gets_expressions_not_inputs():
    """Sensitivities at q = sin(s): those of the verb at the value, whatever s is; and their own derivative."""
    arm = neuler.robots.stanford()

    def f(s):
        q = np.sin(s) * 1.5
        return arm.inverse_dynamics_sensitivities(q, s[::-1], s * s)[0]

    made = neuler.function(f, {"s": 6})
    s = np.random.default_rng(8).normal(size=(5, 6))
    verb = lambda s: arm.inverse_dynamics_sensitivities(1.5 * np.sin(s), s[..., ::-1], s * s)[0]  # noqa: E731
    close(made(s), verb(s), EXACT)
    d = np.random.default_rng(9).normal(size=(5, 6))
    close(made.jvp()(s, d), along(lambda t: verb(s + t * d)), 1e-9)


def test_numbers_beside_traced_values_and_batches():
    """Arguments that are constant fold; leading axes inside a function are looped over."""
    knots = np.random.default_rng(10).normal(size=(3, 6))

    def cost(q, weight):
        there = np.array([q, 2.0 * q, q - 1.0])
        tau = ARM.inverse_dynamics(there, knots, np.zeros(6))
        assert tau.shape == (3, 6)
        still = ARM.gravity_force(list(q))
        return weight * (tau**2).sum() + still @ ARM.mass_matrix(np.zeros(6)) @ still

    f = neuler.function(cost, {"q": 6, "weight": ()})
    for q in Q[:4]:
        tau = ARM.inverse_dynamics(np.array([q, 2 * q, q - 1]), knots, np.zeros(6))
        still = ARM.gravity_force(q)
        expected = 0.3 * (tau**2).sum() + still @ ARM.mass_matrix(np.zeros(6)) @ still
        assert f(q, 0.3) == pytest.approx(expected, rel=1e-12)
    close(f.jacobian("q")(Q, 0.3) @ np.ones(6), along(lambda t: f(Q + t, 0.3)), 1e-8)
    np.testing.assert_array_equal(ARM.mass_matrix(np.array([0.1] * 6, dtype=object)), ARM.mass_matrix([0.1] * 6))


def test_several_outputs_of_verbs_and_functions():
    inner = neuler.function(lambda q, qd: ARM.energy(q, qd), {"q": 6, "qd": 6}, ["kinetic", "potential"])

    def lagrangian(q, qd):
        found = inner(q, qd=qd)
        assert found._fields == ("kinetic", "potential")
        assert isinstance(ARM.energy(q, qd), tuple)
        return found.kinetic - found.potential

    f = neuler.function(lagrangian, {"q": 6, "qd": 6})
    kinetic, potential = ARM.energy(Q, QD)
    close(f(Q, QD), kinetic - potential, EXACT)
    close(f.hessian("qd")(Q, QD), ARM.mass_matrix(Q), EXACT)  # of the kinetic energy: the inertia matrix
    tau = np.einsum("kij,kj->ki", f.hessian("qd")(Q, QD), QDD)  # Lagrange: d/dt dL/dqd - dL/dq
    momentum = f.jacobian("qd")
    tau += np.einsum("kij,kj->ki", momentum.jacobian("q")(Q, QD), QD) - f.jacobian("q")(Q, QD)
    rigid = ARM.without_friction()
    close(tau, rigid.inverse_dynamics(Q, QD, QDD), 1e-11)


def test_a_function_with_a_robot_is_plain_data():
    f = neuler.function(lambda q: ARM.gravity_force(q) ** 2, {"q": 6})
    again = pickle.loads(pickle.dumps(f))
    assert ARM.name.encode() not in pickle.dumps(f)
    assert again.ufunc is f.ufunc
    np.testing.assert_array_equal(again(Q), f(Q))


def test_marks_of_what_is_not_valid_stay():
    """A quaternion that is no rotation gives NaN inside a function, as the kernel's code does."""
    free = ARM.with_free_base()
    f = neuler.function(free.inverse_dynamics)
    q = free.neutral()
    v = np.zeros(free.nv)
    assert np.isfinite(f(q, v, v)).all()
    q[3:7] = 0.7
    assert np.isnan(f(q, v, v)).any()


def test_traced_arguments_that_do_not_fit():
    graph, other = SymbolGraph(), SymbolGraph()
    q = np.array(graph.inputs("q", 6), dtype=object)
    for arguments, message in (
        ((q[:5], QD[0], QDD[0]), r"expected q with last axis 6 \(one per moving joint.*got shape \(5,\)"),
        ((q, q), r"takes 3 arrays \(q, qd, qdd\), got 2"),
        ((q, QD[0], QDD[0] + 1j), "qdd must be real numbers, got complex numbers"),
        ((q, QD[0], ["a"] * 6), "qdd must be real numbers"),
        ((q, QD[0], [q[0]] * 5 + [None]), "qdd must be real numbers, got values of type NoneType"),
        ((q, QD[:4], QDD[:3]), "batch axes do not broadcast"),
        ((q, np.array(other.inputs("q", 6), dtype=object), QDD[0]), "traced values of two functions meet"),
    ):
        with pytest.raises(neuler.InputError, match=message):
            ARM.inverse_dynamics(*arguments)
    with pytest.raises(neuler.InputError, match="traced values cannot be written into out"):
        ARM.inverse_dynamics(q, QD[0], QDD[0], out=np.zeros(6))
    assert isinstance(ARM.inverse_dynamics._listing, Listing)

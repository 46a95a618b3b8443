"""Derivatives of rollouts: against differences of rollouts, against each other, on quaternions and loops."""

import numpy as np
import pytest

import neuler
from neuler import InputError
from random_robots import close

METHODS = ("euler", "rk4", "implicit")
DT = 1e-3
ROBOTS = {
    "arm": neuler.robots.puma560().without_friction(),
    "free": neuler.robots.two_link().without_friction().with_payload("base", 5.0, inertia=(1, 1, 1)).with_free_base(),
    "loop": neuler.robots.four_bar().without_friction(),
}


def differences(function, size, step):
    """d(function)/dx at 0, by central differences of fourth order."""
    columns = []
    for k in range(size):
        unit = np.zeros(size)
        unit[k] = step
        near, far = function(unit) - function(-unit), function(2 * unit) - function(-2 * unit)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


def case(name, steps=12):
    robot = ROBOTS[name]
    rng = np.random.default_rng(1)
    return robot, robot.random_configuration(2), 0.5 * rng.normal(size=robot.nv), 3 * rng.normal(size=(steps, robot.nu))


def few(*names):
    """One method with a free base, one with a loop; the rest with the slow tests."""
    found = []
    for name in names:
        for method in METHODS:
            quick = (name, method) in (("free", "euler"), ("loop", "rk4"))
            found.append(pytest.param(name, method, marks=() if quick else pytest.mark.slow))
    return found


def running(t, q, qd, tau):
    return tau @ tau + np.sin(q[0]) * (qd @ qd) + (1.0 + t) * q[-1]


def final(q, qd):
    return 2.0 * (q @ q) + qd[0] ** 2


@pytest.mark.parametrize(("name", "method"), few("arm", "free", "loop"))
def test_sensitivities_against_differences(name, method):
    robot, q, qd, tau = case(name)
    n = robot.nv
    found = robot.rollout_sensitivities(q, qd, tau, DT, method=method, every=4)
    base = robot.rollout(q, qd, tau, DT, method=method, every=4)
    close(found.q, base.q, 1e-13)
    close(found.qd, base.qd, 1e-12)

    def ends(x):
        other = robot.rollout(robot.integrate(q, x[:n], 1.0), qd + x[n:], tau, DT, method=method, every=4)
        return np.concatenate([robot.difference(base.q, other.q), other.qd - base.qd], axis=-1)

    slopes = differences(ends, 2 * n, 1e-3)
    close(found.dq, slopes[:, :n], 1e-8)
    close(found.dqd, slopes[:, n:], 1e-8)


@pytest.mark.parametrize(("name", "method"), few("arm", "free", "loop"))
def test_gradient_against_differences(name, method):
    robot, q, qd, tau = case(name, 6)
    found = robot.rollout_gradient(q, qd, tau, DT, method=method, running=running, final=final)

    def cost(q, qd, tau):
        rolled = robot.rollout(q, qd, tau, DT, steps=6, method=method)
        states = np.concatenate([q[None], rolled.q]), np.concatenate([qd[None], rolled.qd])
        tau = np.broadcast_to(tau, (6, robot.nu))
        total = sum(DT * running(k * DT, states[0][k], states[1][k], tau[k]) for k in range(6))
        return np.array(total + final(states[0][-1], states[1][-1]))

    n = robot.nv
    assert found.cost == pytest.approx(cost(q, qd, tau), rel=1e-13)
    close(found.q0, differences(lambda x: cost(robot.integrate(q, x, 1.0), qd, tau), n, 1e-3), 1e-8)
    close(found.qd0, differences(lambda x: cost(q, qd + x, tau), n, 1e-2), 1e-8)
    close(found.tau.ravel(), differences(lambda x: cost(q, qd, tau + x.reshape(tau.shape)), tau.size, 1e-1), 1e-7)
    held = robot.rollout_gradient(q, qd, tau[:1], DT, steps=6, method=method, running=running, final=final)
    assert held.tau.shape == (1, robot.nu)
    close(held.tau[0], differences(lambda x: cost(q, qd, tau[:1] + x), robot.nu, 1e-1), 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["euler", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rk4", "implicit"))]
)
def test_backward_is_the_transpose_of_forward(method):
    """To rounding, over many steps, with parameters and a batch."""
    robot = ROBOTS["arm"]
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1, 1, (2, 3, 6))
    tau = rng.normal(size=(3, 40, 6))
    payload = np.r_[1.0, 0, 0, 0.1, np.full(3, 0.02), np.zeros(3)]
    given = {"payload:link6": payload, "joint2.viscous": np.array([0.1, 0.2, 0.3])}
    options = {"method": method, "parameters": given}
    ahead = robot.rollout_sensitivities(q, qd, tau, DT, every=40, **options)
    back = robot.rollout_gradient(q, qd, tau, DT, final=final, **options)
    end = ahead.q[:, 0], ahead.qd[:, 0]
    pull = np.zeros((3, 6))
    pull[:, 0] = 2 * end[1][:, 0]
    whole = np.einsum("ri,rij->rj", 4 * end[0], ahead.dq[:, 0]) + np.einsum("ri,rij->rj", pull, ahead.dqd[:, 0])
    close(back.q0, whole[:, :6], 1e-11)
    close(back.qd0, whole[:, 6:12], 1e-11)
    close(back.parameters, whole[:, 12:], 1e-11)
    np.testing.assert_array_equal(back.q[:, -1], robot.rollout(q, qd, tau, DT, **options).q[:, -1])


def test_gradients_find_a_swing_up():
    """Steepest descent on the torques of an arm lowers the cost to a tenth."""
    robot = neuler.robots.two_link().without_friction()
    goal = np.array([1.0, -0.5])
    tau = np.zeros((50, 2))

    def far(q, qd):
        return (q - goal) @ (q - goal) + 0.05 * (qd @ qd)

    costs = []
    for _ in range(60):
        found = robot.rollout_gradient(np.zeros(2), np.zeros(2), tau, 1e-2, final=far)
        costs.append(float(found.cost))
        mass = robot.mass_matrix(np.zeros(2))
        tau = tau - 30.0 * found.tau @ mass  # the metric of kinetic energy
    assert costs[-1] < 0.1 * costs[0]


def test_wrenches_of_time_and_state():
    robot, q, qd, tau = case("arm", 8)
    push = {"link6": lambda t, q, qd: [np.sin(30 * t) * q[0], 0, -5 * qd[1], 0, 0, np.cos(q[2])]}
    found = robot.rollout_gradient(q, qd, tau, DT, running=running, external=push, start=3)

    def cost(x):
        rolled = robot.rollout(q, qd + x, tau, DT, external=push, start=3)
        states = np.concatenate([q[None], rolled.q]), np.concatenate([(qd + x)[None], rolled.qd])
        return np.array(sum(DT * running((3 + k) * DT, states[0][k], states[1][k], tau[k]) for k in range(8)))

    close(found.qd0, differences(cost, 6, 1e-2), 1e-8)


def test_rows_with_events_are_nan_and_others_are_not():
    robot, q, qd, tau = case("arm", 8)
    forces = np.stack([tau, tau, tau])
    forces[1, 3, 2] = np.nan
    found = robot.rollout_gradient(q, qd, forces, DT, final=final)
    alone = robot.rollout_gradient(q, qd, tau, DT, final=final)
    assert found.status.tolist() == [0, 1, 0]
    assert np.isnan(found.tau[1]).all()
    np.testing.assert_array_equal(found.tau[2], alone.tau)


def test_smooth_friction_has_gradients_and_rough_is_refused():
    rough = neuler.robots.puma560()
    q, qd, tau = np.full(6, 0.3), np.full(6, 0.01), np.zeros((5, 6))
    for call in (
        lambda: rough.rollout_gradient(q, qd, tau, DT, final=final),
        lambda: rough.rollout_sensitivities(q, qd, tau, DT),
    ):
        with pytest.raises(InputError, match=r"joint1.*with_smooth_friction"):
            call()
    smooth = rough.with_smooth_friction(0.05)
    found = smooth.rollout_gradient(q, qd, tau, DT, final=final)

    def cost(x):
        end = smooth.rollout(q, qd + x, tau, DT)
        return np.array(final(end.q[-1], end.qd[-1]))

    close(found.qd0, differences(cost, 6, 1e-3), 1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["cost", "running", "final"]),
        ({"final": lambda q, qd: q}, ["final", "one number"]),
        ({"running": lambda t, q, qd: t}, ["running", "positional"]),
        ({"final": lambda q, qd: q[0], "tau": lambda *a: a}, ["controller"]),
        ({"final": lambda q, qd: q[0], "method": "heun"}, ["method", "heun"]),
    ],
)
def test_bad_costs_are_named(options, words):
    given = {"tau": np.zeros((4, 6)), **options}
    with pytest.raises(InputError) as caught:
        ROBOTS["arm"].rollout_gradient(np.zeros(6), np.zeros(6), given.pop("tau"), DT, **given)
    for word in words:
        assert word in str(caught.value), str(caught.value)

"""Controllers as new users write them: (t, q, qd) -> tau, with state, defaults and gains, in runs and rollouts."""

import functools

import numpy as np
import pandas as pd
import pytest

import neuler
from neuler import InputError

ROBOT = neuler.robots.puma560()
Q = np.random.default_rng(2).normal(size=(5, 6))
NAMES = list(ROBOT.joint_names)


def law(t, q, qd):
    return -20.0 * q - 5.0 * qd + np.sin(t)


def long_law(t, q, qd, memory, reference):
    return law(t, q, qd), memory


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_controller_of_three_arguments_gives_tau_alone(method):
    start = (Q[0], Q[1])
    short, full = (neuler.simulate(ROBOT, each, start, 0.05, method=method) for each in (law, long_law))
    np.testing.assert_array_equal(short.q, full.q)
    np.testing.assert_array_equal(short.tau, full.tau)
    np.testing.assert_allclose(short.tau[0], law(0.0, *start), rtol=0, atol=1e-12)


def test_the_same_in_rollouts_and_compiled_simulations():
    short, full = (ROBOT.rollout(Q, 0 * Q, each, 1e-3, 50) for each in (law, long_law))
    np.testing.assert_array_equal(short.q, full.q)
    run = neuler.simulate(ROBOT, law, (Q, 0 * Q), 0.05, compile=True)
    np.testing.assert_allclose(run.q[:, 1:], short.q, rtol=0, atol=1e-12)
    called = neuler.simulate(ROBOT, law, (Q, 0 * Q), 0.05)
    np.testing.assert_allclose(called.q, run.q, rtol=0, atol=1e-10)


def test_gains_with_defaults_are_no_memory():
    def pd_law(t, q, qd, kp=20.0, kd=5.0):
        return law(t, kp / 20.0 * q, kd / 5.0 * qd)

    for controller in (pd_law, functools.partial(pd_law, kp=20.0)):
        run = neuler.simulate(ROBOT, controller, (Q[0], Q[1]), 0.01)
        np.testing.assert_array_equal(run.q, neuler.simulate(ROBOT, law, (Q[0], Q[1]), 0.01).q)
        rolled = ROBOT.rollout(Q, 0 * Q, controller, 1e-3, 5)
        np.testing.assert_array_equal(rolled.q, ROBOT.rollout(Q, 0 * Q, law, 1e-3, 5).q)

    def with_defaults(t, q, qd, memory=None, reference=None):
        return law(t, q, qd), memory

    np.testing.assert_array_equal(ROBOT.rollout(Q, 0 * Q, with_defaults, 1e-3, 5).q, rolled.q)


class Law:
    """A controller of three arguments that says of itself that it may be compiled."""

    memory0, robot, period = np.zeros(0), ROBOT, 2e-3

    def __call__(self, t, q, qd):
        return law(t, q, qd)


def test_attributes_of_short_controllers_count():
    run = neuler.simulate(ROBOT, Law(), (Q[0], Q[1]), 0.02)
    assert len(np.unique(run.tau[1:, 0])) == 10
    other = Law()
    other.robot = neuler.robots.two_link()
    with pytest.raises(InputError, match="the controller is one of 'two_link'"):
        neuler.simulate(ROBOT, other, None, 0.02)
    other = Law()
    other.memory0 = np.zeros(2)
    with pytest.raises(InputError, match=r"with memory0 takes \(t, q, qd, memory, reference\)"):
        neuler.simulate(ROBOT, other, None, 0.02)


def test_a_lambda_with_the_robot_inside_and_a_sample_time():
    hold = lambda t, q, qd: ROBOT.gravity_force(q) - 50.0 * qd  # noqa: E731
    hold.period = 0.01
    run = ROBOT.rollout(Q[0], Q[0], hold, 1e-3, 40)
    assert len(np.unique(run.tau[:, 0])) == 4
    clipped = ROBOT.rollout(Q[0], Q[0], hold, 1e-3, 40, effort="clip")
    assert clipped.tau.shape == (40, 6)


class Counting:
    """A controller that keeps an integral in itself."""

    def __init__(self):
        self.sum = np.zeros(6)

    def __call__(self, t, q, qd):
        self.sum = self.sum + 1e-3 * q
        return -50.0 * q - 5.0 * self.sum


def test_controllers_that_remember_are_called_and_not_compiled():
    def closure():
        total = np.zeros(6)

        def inner(t, q, qd):
            nonlocal total
            total = total + 1e-3 * q
            return -50.0 * q - 5.0 * total

        return inner

    for make, name in ((Counting, "sum"), (closure, "total"), (lambda: Counting().__call__, "sum")):
        with pytest.raises(
            InputError, match=rf"rollout: the controller stores values of its own \('{name}'\).* memory"
        ):
            ROBOT.rollout(Q[0], Q[0], make(), 1e-3, 10)
        with pytest.raises(InputError, match="stores values of its own"):
            neuler.simulate(ROBOT, make(), None, 0.01, compile=True)
        assert not neuler.simulate(ROBOT, make(), (Q[0], None), 0.01).status


class Module:
    """Called as torch's modules are."""

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, t, q, qd):
        return law(t, q, qd)


def test_callables_that_hide_their_arguments():
    expected = neuler.simulate(ROBOT, law, (Q[0], Q[1]), 0.01).q
    np.testing.assert_array_equal(neuler.simulate(ROBOT, Module(), (Q[0], Q[1]), 0.01).q, expected)
    for controller in (lambda *args: (1.0, 2.0), lambda *args: (np.zeros(6), 0.0)):
        with pytest.raises(InputError, match=r"must be numbers of shape|returns \(tau, memory\)"):
            neuler.simulate(neuler.robots.two_link(), controller, None, 0.01)
    with pytest.raises(InputError, match=r"needs the argument 'kp', .* functools.partial\(controller, kp=...\)"):
        neuler.simulate(ROBOT, lambda t, q, qd, *, kp: -kp * q, None, 0.01)
    with pytest.raises(InputError, match=r"the wrench on 'dh6' must be a function of \(t, q, qd\)"):
        ROBOT.rollout(Q[0], Q[0], None, 1e-3, 10, external={"dh6": lambda t: np.zeros(6)})
    held = neuler.simulate(ROBOT, ROBOT.gravity_force, (Q[0], None), 0.01)  # a quantity of (q)
    np.testing.assert_allclose(held.tau[0], ROBOT.gravity_force(Q[0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tau", [np.array([1j, 0]), np.ones(1), "ab", {"a": 1}])
def test_forces_that_are_none(tau):
    with pytest.raises(InputError, match=r"tau must be numbers of shape \(2,\)"):
        neuler.simulate(neuler.robots.two_link(), lambda t, q, qd: tau, None, 0.01)


def test_what_was_computed_before_a_controller_failed():
    def failing(t, q, qd):
        if t > 0.5:
            raise ZeroDivisionError
        return 0.0 * q

    for scheme, least in (("rk4", 0.48), ("dop853", 0.05)):  # the latter takes long steps
        with pytest.raises(ZeroDivisionError) as caught:
            neuler.simulate(neuler.robots.two_link(), failing, ([0.1, 0.2], None), 1.0, method=scheme)
        assert least < caught.value.run.t[-1] < 0.55


def test_a_run_is_true():
    assert neuler.simulate(neuler.robots.two_link(), None, None, 0.01)


def test_one_number_for_all_forces():
    run = ROBOT.rollout(Q[0], Q[0], lambda t, q, qd: 0.0, 1e-3, 10)
    np.testing.assert_array_equal(run.q, ROBOT.rollout(Q[0], Q[0], None, 1e-3, 10).q)
    pendulum = neuler.from_dh([{"a": 1.0, "mass": 1.0, "com": (-0.5, 0, 0)}])
    run = pendulum.rollout([0.1], [0.0], lambda t, q, qd: -q[0], 1e-3, 10)
    assert run.tau.shape == (10, 1)


def test_forces_none_and_forces_held():
    free, zeros, held = (ROBOT.rollout(Q, Q, tau, 1e-3, 20) for tau in (None, np.zeros(6), np.zeros((1, 6))))
    np.testing.assert_array_equal(free.q, zeros.q)
    np.testing.assert_array_equal(free.q, held.q)
    pushed, rows = (ROBOT.rollout(Q[0], Q[0], tau, 1e-3, 20) for tau in (Q[2], np.tile(Q[2], (20, 1))))
    np.testing.assert_array_equal(pushed.q, rows.q)
    smooth = ROBOT.without_friction()
    assert smooth.rollout_sensitivities(Q[0], Q[0], None, 1e-3, 5).dq.shape == (5, 6, 12)
    with pytest.raises(InputError, match="tau is held throughout, so the number of steps must be given: steps=1000"):
        ROBOT.rollout(Q[0], Q[0], Q[0], 1e-3)
    with pytest.raises(InputError, match="steps must be given"):
        ROBOT.rollout(Q[0], Q[0], None, 1e-3)
    with pytest.raises(InputError, match=r"expected tau with axes \(..., steps, 6\), or \(6,\) or .* got shape \(5,\)"):
        ROBOT.rollout(Q[0], Q[0], np.zeros(5), 1e-3, 10)


@pytest.mark.parametrize("run", [
    lambda law: ROBOT.rollout(Q[0], Q[0], law, 1e-3, 10),
    lambda law: neuler.simulate(ROBOT, law, None, 0.01),
])  # fmt: skip
def test_other_controllers_are_told_what_they_look_like(run):
    with pytest.raises(InputError, match=r"a controller is \(t, q, qd\) -> tau, or .*; this one takes q, qd$"):
        run(lambda q, qd: q)
    with pytest.raises(
        InputError, match=r"returns \(tau, memory\), this one gave .*takes \(t, q, qd\) and returns tau"
    ):
        run(lambda t, q, qd, memory, reference: q)
    with pytest.raises(InputError, match="tau"):
        run(lambda t, q, qd: q[:3])
    with pytest.raises(InputError, match=r"of \(t, q, qd\) returns tau alone, this one gave \(tau, memory\)"):
        run(lambda t, q, qd: (q, np.empty(0)))
    with pytest.raises(InputError, match="tau must"):
        run(lambda t, q, qd: None)


def test_a_controller_may_return_a_row_by_name():
    def named(t, q, qd):
        return pd.Series(law(t, q, qd), NAMES).iloc[::-1]

    np.testing.assert_array_equal(*(neuler.simulate(ROBOT, each, (Q[0], Q[1]), 0.01).q for each in (named, law)))

"""Controllers, wrenches and parameters inside a rollout, beside the same things done step by step from Python."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import InputError
from random_robots import close

ARM = neuler.robots.puma560().without_friction()
METHODS = ("euler", "rk4", "implicit")
RNG = np.random.default_rng(0)
Q, QD = RNG.uniform(-1, 1, (2, 5, 6))


def computed_torque(t, q, qd, memory, reference):
    goal = 0.5 * np.sin(2 * t)
    return ARM.inverse_dynamics(q, qd, 100 * (goal - q) - 20 * qd), memory


def one_by_one(control, dt, steps, method, period=1, memory=None, reference=None):
    """From Python: a sample, then steps with its forces held."""
    q, qd, memory = Q, QD, np.zeros((5, 0)) if memory is None else memory
    states, forces = [], []
    for k in range(steps):
        if k % period == 0:
            goal = np.zeros((5, 0)) if reference is None else reference[:, k]
            tau, memory = control(k * dt, q, qd, memory, goal)
        found = ARM.rollout(q, qd, tau[:, None], dt, method=method)
        q, qd = found.q[:, 0], found.qd[:, 0]
        states.append(q)
        forces.append(tau)
    return np.stack(states, 1), np.stack(forces, 1), memory


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("period", [None, 5e-3])
def test_computed_torque(method, period):
    found = ARM.rollout(Q, QD, computed_torque, 1e-3, steps=25, method=method, period=period)
    q, tau, _ = one_by_one(computed_torque, 1e-3, 25, method, 5 if period else 1)
    close(found.q, q, 1e-12)
    close(found.tau, tau, 1e-12)
    assert found._fields == ("q", "qd", "status", "step", "joint", "memory", "tau")
    assert found.memory.shape == (5, 0)


def test_a_function_is_a_controller():
    """One that is traced already; its inputs are some of what a controller may ask for."""

    def control(q, qd, reference):
        return ARM.inverse_dynamics(q, qd, 100 * (reference - q) - 20 * qd)

    made = neuler.function(control, {"q": 6, "qd": 6, "reference": 6}, "tau")
    goal = RNG.uniform(-1, 1, (1, 6))
    found = ARM.rollout(Q, QD, made, 1e-3, steps=10, reference=goal)
    other = ARM.rollout(
        Q, QD, lambda t, q, qd, memory, reference: (control(q, qd, reference), memory), 1e-3, steps=10, reference=goal
    )
    np.testing.assert_array_equal(found.q, other.q)


@pytest.mark.parametrize("period", [1, 3])
def test_memory_and_reference(period):
    def integral(t, q, qd, memory, reference):
        error = reference - q
        return 50 * error - 5 * qd + memory, memory + 0.01 * error

    goal = RNG.normal(size=(5, 24, 6))
    begin = RNG.normal(size=(5, 6))
    found = ARM.rollout(
        Q, QD, integral, 1e-3, steps=24, method="euler", memory=begin, reference=goal, period=period * 1e-3
    )
    q, tau, memory = one_by_one(integral, 1e-3, 24, "euler", period, begin, goal)
    close(found.q, q, 1e-12)
    close(found.tau, tau, 1e-12)
    close(found.memory, memory, 1e-12)


class Object:
    """A controller with everything on it."""

    period = 2e-3
    memory0 = np.zeros(1)

    def reference(self, t):
        return [np.sin(t), np.cos(t)]

    def __call__(self, t, q, qd, memory, reference):
        return reference[0] * np.ones(6) - reference[1] * qd, memory + 1.0


def test_a_controller_with_attributes():
    found = ARM.rollout(Q, QD, Object(), 1e-3, steps=20, start=7)
    assert (found.memory == 10.0).all()  # a sample every other step
    expected = np.sin(np.array([7, 7, 9, 9]) * 1e-3)
    rate = np.concatenate([QD[:, None], found.qd[:, 1:3:2]], 1)[:, [0, 0, 1, 1], 0]
    close(found.tau[:, :4, 0], expected - np.cos(np.array([7, 7, 9, 9]) * 1e-3) * rate, 1e-12)


def test_gains_may_differ_from_row_to_row():
    """Carried in the memory: 5 controllers in one call."""

    def springy(t, q, qd, memory, reference):
        return -memory[0] * q - memory[1] * qd, memory

    gains = RNG.uniform(1, 50, (5, 2))
    found = ARM.rollout(Q, QD, springy, 1e-3, steps=15, memory=gains)
    for k in range(5):
        alone = ARM.rollout(Q[k], QD[k], lambda t, q, qd, m, r, g=gains[k]: (-g[0] * q - g[1] * qd, m), 1e-3, steps=15)
        close(found.q[k], alone.q, 1e-13)


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_wrenches_and_parameters(method):
    def drag(t, q, qd):
        return [np.sin(50 * t), 0, 0, 0, 0, -0.1 * qd[5]]

    held, payload = RNG.normal(size=(5, 6)), np.r_[1, 0, 0, 0.1, np.zeros(6)]
    viscous = np.linspace(0, 1, 5)
    found = ARM.rollout(
        Q, QD, np.zeros((1, 6)), 1e-3, steps=20, method=method, external={"link6": drag}, loads={"link4": held},
        parameters={"payload:link6": payload, "joint2.viscous": viscous},
    )  # fmt: skip
    names = ("payload:link6", "joint2.viscous")
    kernel = ARM.compile("forward_dynamics", external="link6", loads="link4", parameters=names)
    numbers = np.concatenate([np.tile(payload, (5, 1)), viscous[:, None]], 1)

    def f(t, q, qd):
        push = np.zeros((5, 6))
        push[:, 0], push[:, 5] = np.sin(50 * t), -0.1 * qd[:, 5]
        return kernel(q, qd, np.zeros(6), push, held, numbers)

    q, qd, dt = Q, QD, 1e-3
    for k in range(20):
        t = k * dt
        if method == "euler":
            qd = qd + dt * f(t, q, qd)
            q = q + dt * qd
            continue
        k1 = f(t, q, qd)
        k2 = f(t + dt / 2, q + dt / 2 * qd, qd + dt / 2 * k1)
        k3 = f(t + dt / 2, q + dt / 2 * (qd + dt / 2 * k1), qd + dt / 2 * k2)
        k4 = f(t + dt, q + dt * (qd + dt / 2 * k2), qd + dt * k3)
        q, qd = q + dt * qd + dt * dt / 6 * (k1 + k2 + k3), qd + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        close(found.q[:, k], q, 1e-12)
    close(found.q[:, -1], q, 1e-12)


def test_orders_hold_with_functions_of_time():
    """A push that depends on time and state, by every method against much smaller steps."""
    robot = neuler.robots.two_link().without_friction()
    tip = robot.link_names[-1]
    push = {tip: lambda t, q, qd: [3 * np.sin(20 * t) - 0.5 * qd[0], np.cos(q[1]), 0, 0, 0, 0.1 * qd[1]]}
    q, qd = np.array([0.3, -0.5]), np.array([1.0, 2.0])
    for method, order in (("euler", 1), ("implicit", 2), ("rk4", 4)):
        ends = []
        for n in (50, 100, 200):
            found = robot.rollout(q, qd, np.zeros((1, 2)), 0.2 / n, steps=n, method=method, every=n, external=push)
            ends.append(np.concatenate([found.q[0], found.qd[0]]))
        rate = np.log2(np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2]))
        assert abs(rate - order) < 0.15, method


# ---- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "options", "words"),
    [
        (computed_torque, {"steps": None}, ["steps"]),
        (lambda t, q, qd, m, r: q, {}, ["(tau, memory)"]),
        (lambda t, q, qd, m, r: (q[:5], m), {}, ["tau", "6", "5"]),
        (lambda t, q, qd, m, r: (q, m), {"memory": 3.0}, ["memory", "array"]),
        (lambda t, q, qd, m, r: (q, m[:1]), {"memory": np.zeros(2)}, ["memory", "2", "1"]),
        (lambda t, q, qd, m, r: (np.full(6, np.nan), m), {}, ["NaN"]),
        (lambda t, q, qd, m, r: (q + r, m), {"reference": np.zeros((3, 6))}, ["reference", "3 steps"]),
        (lambda t, q, qd, m, r: (q if q[0] > 0 else -q, m), {}, ["where"]),
        (lambda t, q, qd: (q, []), {}, ["(t, q, qd)", "tau alone"]),
        (computed_torque, {"period": 1.5e-3}, ["period", "0.0015", "whole number"]),
        (computed_torque, {"period": -1.0}, ["period", "above zero"]),
        (computed_torque, {"period": "fast"}, ["period", "a number", "'fast'"]),
        (computed_torque, {"memory": "ab"}, ["memory", "real numbers"]),
        (computed_torque, {"period": 2e-3, "dt": [1e-3] * 4 + [2e-3]}, ["period", "every row", "0.001 to 0.002"]),
        (Object(), {"reference": np.zeros((1, 2))}, ["reference"]),
    ],
)
def test_bad_controllers_are_named(control, options, words):
    with pytest.raises((InputError, TypeError)) as caught:
        ARM.rollout(Q, QD, control, **{"dt": 1e-3, "steps": 10, **options})
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_numbers_of_motors_are_parameters():
    motor = neuler.Motor("m2", "joint2", 50, inertia=1e-4, viscous=1e-5)
    arm = neuler.robots.two_link().replace(motors=[motor])
    inertias = np.array([1e-4, 2e-4, 5e-4])
    found = arm.rollout([0.3, 0.2], [1.0, 0.5], [[0.1, 0.2]], 1e-3, 50, parameters={"m2.inertia": inertias})
    for k, x in enumerate(inertias):
        other = arm.replace(motors=[dataclasses.replace(motor, inertia=float(x))])
        close(found.q[k], other.rollout([0.3, 0.2], [1.0, 0.5], [[0.1, 0.2]], 1e-3, 50).q, 1e-13)

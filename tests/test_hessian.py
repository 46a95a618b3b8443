"""Second derivatives of a weighted sum of torques."""

from __future__ import annotations

import numpy as np
import pytest

import neuler
from random_robots import few, random_robot, random_states


@pytest.mark.parametrize("seed", few([0, 2, 5], 1))
def test_hessian_is_the_derivative_of_the_sensitivities(seed):
    robot = random_robot(seed)
    n = robot.nv
    x = np.concatenate([a[0] for a in random_states(robot, 1, seed)])
    weights = np.random.default_rng(seed).normal(size=n)

    def slope(y):
        q, qd, qdd = y.reshape(3, n)
        return weights @ np.concatenate(robot.inverse_dynamics_sensitivities(q, qd, qdd), axis=1)

    found = robot.inverse_dynamics_hessian(*x.reshape(3, n), weights)
    np.testing.assert_array_equal(found, found.T)
    h = 1e-3
    steps = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    expected = np.stack(
        [sum(c * (slope(x + k * h * e) - slope(x - k * h * e)) / h for k, c in steps.items()) for e in np.eye(3 * n)]
    )
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_hessian_of_a_pendulum():
    """tau = m g l cos q + I qdd + ...: its second derivative to q is -tau's gravity part."""
    bob = neuler.Link.from_com("bob", mass=2.0, com=(0.5, 0, 0))
    joint = neuler.Joint("hinge", "revolute", "base", "bob", axis=(0, -1, 0))
    robot = neuler.Robot("pendulum", [neuler.Link("base"), bob], [joint])
    found = robot.inverse_dynamics_hessian([0.3], [0.7], [0.1], [3.0])
    assert found[0, 0] == pytest.approx(-3.0 * 2.0 * 9.81 * 0.5 * np.cos(0.3))
    assert np.abs(found).sum() == pytest.approx(abs(found[0, 0]))

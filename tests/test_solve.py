"""Where springs let a robot hang, and how it swings there."""

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot
from neuler.solve.equilibrium import equilibrium, settling, stiffness
from neuler.solve.modes import modes
from shown_robots import elastic


def test_springs_hang_and_swing_as_in_the_textbook():
    robot = elastic()
    hanging = equilibrium(robot, [0.4, 0.0])
    np.testing.assert_allclose(hanging, [0.4, 0.3 - 2.0 * 9.81 / 50.0], rtol=1e-12)
    squares, shapes = modes(robot, hanging)
    assert squares == pytest.approx([50.0 / 2.0])
    assert shapes.shape == (1, 1)


def test_a_spring_that_gravity_overcomes_falls():
    bob = Link.from_com("bob", mass=1.0, com=(0, 0, 1.0), inertia=(0.01, 0.01, 0.01))
    hinge = Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), stiffness=1.0)
    robot = Robot("soft", [Link("base"), bob], [hinge])
    hanging = equilibrium(robot, [0.0])
    assert hanging is not None
    squares, _ = modes(robot, hanging)
    assert squares[0] < 0  # upright: gravity is stronger than the spring


def test_stiffness_is_that_of_the_sensitivities():
    robot = neuler.robots.puma560().with_spring("joint2", 800.0).with_spring("joint3", 500.0)
    assert settling(robot) == [1, 2]
    q = np.array([0.1, 0.4, -0.3, 0.2, 0.5, 0.0])
    exact = robot.inverse_dynamics_sensitivities(q, np.zeros(6), np.zeros(6))[0][1:3, 1:3]
    np.testing.assert_allclose(stiffness(robot, q), exact, atol=1e-6 * np.abs(exact).max())
    hanging = equilibrium(robot, q)
    np.testing.assert_allclose(hanging[[0, 3, 4, 5]], q[[0, 3, 4, 5]], atol=1e-15)  # motors stay
    assert np.abs(robot.gravity_force(hanging)[1:3]).max() < 1e-8


def test_a_loop_on_a_spring_hangs_and_swings():
    """Its rocker's spring balances a four-bar that no motor drives: the potential energy is stationary there."""
    robot = neuler.robots.four_bar().with_passive("crank").with_spring("rocker", 60.0, rest=2.0)
    hanging = equilibrium(robot, robot.neutral())
    assert np.abs(robot.closure(hanging)[0]).max() < 1e-12
    assert np.abs(robot.gravity_force(hanging)).max() < 1e-7
    near = robot.integrate(hanging, [[1e-3], [0.0], [-1e-3]], 1.0)
    potential = robot.energy(near, np.zeros(1)).potential
    assert abs(potential[0] - potential[2]) < 1e-2 * abs(potential[0] - potential[1])
    squares, _ = modes(robot, hanging)
    curvature = (potential[0] - 2 * potential[1] + potential[2]) / 1e-6
    assert squares[0] == pytest.approx(curvature / robot.mass_matrix(hanging)[0, 0], rel=1e-4)

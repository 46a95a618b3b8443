"""Bounds on torque rates along a path, and trajectories that are slowed so that they hold."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import neuler
from neuler.errors import InputError
from neuler.optimize import solvers
from neuler.timing import Path, Scaling, scale_time, time_path
from neuler.timing.rate_law import Law, greville
from neuler.timing.rate_rows import Tables
from test_timing import arm, slide, ways

needs_ipopt = pytest.mark.skipif("ipopt" not in solvers.available(), reason="no IPOPT")


def rates(robot, timed, count=4001):
    """Torques and their rates by differences of the law's own motion, and by the robot's."""
    t = np.linspace(0, timed.duration, count)[1:-1]
    tau = robot.inverse_dynamics(*timed.at(t))
    return t, tau, np.diff(tau, axis=0) / np.diff(t)[:, None]


# ---- closed forms ------------------------------------------------------------------------------------------


def jerk_limited(way, push, jerk):
    """Rest to rest with |a| <= A, |j| <= J: A ta (ta + A / J) = d, T = 2 (ta + A / J)."""
    rise = push / jerk
    if push * rise * 2 * rise > way:  # A is not reached
        return 4 * (way / (2 * jerk)) ** (1 / 3)
    return 2 * (brentq(lambda ta: push * ta * (ta + rise) - way, 0, 1e3) + rise)


@needs_ipopt
@pytest.mark.parametrize(("force", "rate"), [(3.0, 30.0), (30.0, 30.0)])
def test_a_mass_moves_with_bounded_jerk(force, rate):
    mass, way = 2.0, 0.5
    timed = time_path(slide(mass), [[0.0], [way]], torque=force, torque_rate=rate)
    exact = jerk_limited(way, force / mass, rate / mass)
    assert exact <= timed.duration * (1 + 1e-6) < exact * (1 + 2e-3)
    assert timed.valid
    assert timed.worst_violation <= 1e-6
    _, tau, slope = rates(slide(mass), timed)
    assert np.abs(tau).max() <= force * (1 + 1e-5)
    assert np.abs(slope).max() <= rate * (1 + 1e-5)
    np.testing.assert_allclose(timed.tau[[0, -1]], 0.0, atol=1e-6)  # it begins and ends at rest


# ---- the programme ----------------------------------------------------------------------------------------------


@pytest.fixture
def programme():
    robot = arm(2, viscous=0.3)
    timed = time_path(robot, ways(robot, 1, seed=6)[0], torque=[60.0, 20.0], velocity=4.0, torque_rate=None, grid=200)
    bounded = neuler.timing.rows.Bounds.given(robot, 4.0, 30.0, [60.0, 20.0], [900.0, 300.0], False)
    model = neuler.timing.rows.Model(robot, bounded)
    tables = Tables.of(model, timed.path, timed, 3.0)
    begin = timed.law(greville(12) * timed.duration)[0], 1.4 * timed.duration
    none = np.zeros((2, 12, len(tables.lower)))
    return Law(timed.path, tables, (0.2, 0.0), begin, (none[0], none[1]))


def test_derivatives_of_the_programme_are_those_of_differences(programme):
    rng = np.random.default_rng(2)
    x = programme.start + 1e-3 * rng.normal(size=programme.n)
    jacobian = np.zeros((programme.m, programme.n))
    jacobian[programme.jacobian_at] = programme.jacobian(x)
    weights = rng.normal(size=programme.m)
    hessian = np.zeros((programme.n, programme.n))
    hessian[programme.hessian_at] = programme.hessian(x, 1.0, weights)
    hessian = np.tril(hessian) + np.tril(hessian, -1).T
    for _ in range(4):
        d, h = rng.normal(size=programme.n), 1e-6
        slope = (programme.rows(x + h * d) - programme.rows(x - h * d)) / (2 * h)
        np.testing.assert_allclose(jacobian @ d, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())

        def pulled(y):
            found = np.zeros(programme.n)
            np.add.at(found, programme.jacobian_at[1], programme.jacobian(y) * weights[programme.jacobian_at[0]])
            return found

        bend = (pulled(x + h * d) - pulled(x - h * d)) / (2 * h)
        np.testing.assert_allclose(hessian @ d, bend, rtol=1e-4, atol=1e-5 * np.abs(bend).max())


def test_rows_of_the_programme_are_those_of_the_robot(programme):
    """At the knots, tables beside the robot itself."""
    from neuler.timing.rates import _as_timed

    tables = programme.tables
    base = time_path(tables.model.robot, programme.path, torque=[60.0, 20.0], velocity=4.0, grid=200)
    timed = _as_timed(base, programme, programme.start)
    values = tables.measured(timed)
    rows = programme.rows(programme.start)[: programme.used.sum()]
    expected = np.stack([values[:, 0], values[:, -1]], axis=1).reshape(-1, len(tables.lower)) / programme.scale
    np.testing.assert_allclose(rows, expected[programme.used], rtol=2e-4, atol=2e-4)


# ---- arms ---------------------------------------------------------------------------------------------------------


@needs_ipopt
def test_torque_rates_of_an_arm_hold_to_a_millionth():
    robot = arm(2, viscous=0.3)
    points = ways(robot, 1, seed=6)[0]
    free = time_path(robot, points, torque=[60.0, 20.0], velocity=4.0)
    timed = time_path(robot, points, torque=[60.0, 20.0], velocity=4.0, torque_rate=[900.0, 300.0])
    assert timed.valid
    assert timed.worst_violation <= 1e-6
    assert free.duration < timed.duration < 1.6 * free.duration
    t, tau, slope = rates(robot, timed)
    assert (np.abs(slope) - [900.0, 300.0]).max() < 1.0  # by differences
    assert (np.abs(tau) - [60.0, 20.0]).max() < 1e-3
    assert (np.abs(slope).max(axis=0) > [880.0, 290.0]).any()  # one of them is what slows it
    s, v, *_ = timed.law(t)
    np.testing.assert_allclose(np.gradient(s, t)[2:-2], v[2:-2], atol=1e-4)
    assert (v >= 0).all()


@needs_ipopt
def test_wide_rates_cost_nothing_and_batches_are_paths():
    robot = neuler.robots.two_link()
    points = ways(robot, 2, seed=1)
    free = time_path(robot, points, torque=8.0, robot_limits=False)
    wide = time_path(robot, points, torque=8.0, torque_rate=1e5, robot_limits=False)
    assert wide.valid.all()
    np.testing.assert_allclose(wide.duration, free.duration, rtol=0.02)
    one = time_path(robot, points[1], torque=8.0, torque_rate=1e5, robot_limits=False)
    assert one.duration == pytest.approx(wide.duration[1], rel=1e-6)


@needs_ipopt
def test_speeds_at_the_ends_stay_with_bounded_rates():
    """The duration lies between that without bounds on rates and that from rest to rest."""
    robot = neuler.robots.two_link()
    points = ways(robot, 1, seed=5)[0]
    bounds = {"torque": 10.0, "velocity": 4.0, "robot_limits": False, "grid": 400}
    speeds = {"start_speed": 0.3, "end_speed": 0.2}
    free, rest = time_path(robot, points, **bounds, **speeds), time_path(robot, points, **bounds, torque_rate=100.0)
    timed = time_path(robot, points, **bounds, **speeds, torque_rate=100.0)
    assert timed.worst_violation < 1e-4
    np.testing.assert_allclose(timed.sdot[[0, -1]], [0.3, 0.2], rtol=1e-6)
    assert free.duration < timed.duration < rest.duration


def test_a_jump_of_friction_is_refused():
    robot = arm(2, coulomb=1.0)
    with pytest.raises(InputError, match=r"turns back at s = .*Coulomb friction jumps"):
        time_path(robot, [[0.0, 0.0], [1.0, 0.3], [0.2, 0.6]], torque=[60.0, 20.0], torque_rate=500.0)


# ---- trajectories that are given -------------------------------------------------------------------------------------


def swing(count=201):
    t = np.linspace(0.0, 1.0, count)
    return t, np.stack([0.5 - 0.5 * np.cos(np.pi * t), 0.2 * np.sin(np.pi * t) ** 2], axis=-1)


def test_a_trajectory_within_its_bounds_stays_as_it_is():
    t, q = swing()
    timed = scale_time(neuler.robots.two_link(), t, q, torque=1e3, torque_rate=1e5, robot_limits=False, dt=0.01)
    assert timed.duration == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(timed.sdot, 1.0)
    np.testing.assert_allclose(timed.at(t).q, q, atol=1e-9)


@pytest.mark.slow
def test_a_trajectory_is_slowed_until_torques_and_rates_hold():
    robot = neuler.robots.two_link()
    t, q = swing()
    timed = scale_time(robot, t + 5.0, q, torque=[1.5, 0.6], torque_rate=40.0, robot_limits=False, dt=0.005)
    assert timed.valid
    assert timed.duration > 1.05
    assert timed.sdot.max() <= 1.0
    _, tau, slope = rates(robot, timed)
    assert (np.abs(tau) - [1.5, 0.6]).max() < 1e-4
    assert np.abs(slope).max() < 40.0 * 1.02
    np.testing.assert_allclose(timed.at(timed.duration).q, q[-1], atol=1e-9)
    fastest = time_path(robot, Path.sampled(t, q), torque=[1.5, 0.6], robot_limits=False)
    assert timed.duration > fastest.duration


def test_a_stop_ends_at_rest_where_it_says():
    """m^2 = j v + w^2 / 2: both halves end with v = w = 0."""
    t, q = swing()
    robot = neuler.robots.two_link()
    timed = time_path(robot, Path.sampled(t, q), torque=1e3, robot_limits=False, grid=100)
    bounds = neuler.timing.rows.Bounds.given(robot, None, None, 1e3, 1e6, False)
    tables = Tables.of(neuler.timing.rows.Model(robot, bounds), timed.path, timed, 1.0)
    scaling = Scaling(tables, 1.0, 0.01)
    from neuler.timing.scaling import State

    for v, w in ((0.5, 0.0), (0.5, 0.8), (0.8, -0.5), (0.0, 0.0)):
        state = State(0.1, v, w)
        (stop,) = scaling.stops([state])
        for seconds, jerk in stop:
            state = State(*state.after(seconds, jerk))
        assert abs(state.v) < 1e-12
        assert abs(state.w) < 1e-12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"torque": None, "robot_limits": False}, "nothing bounds"),
        ({"dt": 0.0}, "dt must be above zero"),
        ({"dt": 2.0}, "dt must be above zero"),
        ({"t": np.linspace(1, 0, 201)}, "must rise"),
        ({"q": np.zeros((201, 3))}, "expected q of one trajectory"),
        ({"q": np.full((201, 2), np.nan)}, "must be finite"),
        ({"torque_rate": 0.0}, "leave nothing"),
    ],
)
def test_bad_trajectories_are_named(change, words):
    t, q = swing()
    given = {"t": t, "q": q, "torque": 5.0, **change}
    with pytest.raises(InputError, match=words):
        scale_time(neuler.robots.two_link(), given.pop("t"), given.pop("q"), **given)


def test_a_weight_that_cannot_be_held_is_named():
    rod = neuler.from_dh([{"a": 0.5, "mass": 2.0}], gravity=(9.81, 0, 0))
    t = np.linspace(0, 1, 50)
    with pytest.raises(InputError, match=r"scale_time: .*torque of joint1"):
        scale_time(rod, t, 1.0 + 0.1 * np.sin(t)[:, None], torque=3.0, torque_rate=1e3, dt=0.02)


def test_the_exact_time_of_a_jerk_limited_move():
    """The helper itself: a known case, d = 1, A large, J = 32: T = 4 (1 / 64)^(1/3) = 1."""
    assert jerk_limited(1.0, 1e3, 32.0) == pytest.approx(1.0)
    assert math.isclose(jerk_limited(1.0, 1.0, 1e9), 2.0, rel_tol=1e-6)

"""Bounds on torque rates along a path, and trajectories that are slowed so that they hold."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import neuler
from neuler.errors import InputError
from neuler.optimize import solvers
from neuler.timing import Path, PathPoints, scale_time, time_path
from neuler.timing.constraint_set import ConstraintSet, given_constraints
from neuler.timing.stepping import after, stop
from neuler.timing.torque_rates.programme import RateProgramme, greville
from neuler.timing.torque_rates.tables import RateTables
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


def bounded(robot, timed, *bounds):
    given = given_constraints("test", robot, bounds, (), False)
    return ConstraintSet(*given, PathPoints.of(timed.path, timed.s))


@pytest.fixture
def programme():
    robot = arm(2, viscous=0.3)
    timed = time_path(robot, ways(robot, 1, seed=6)[0], torque=[60.0, 20.0], velocity=4.0, torque_rate=None, grid=200)
    tables = RateTables.of(
        bounded(robot, timed, 4.0, 30.0, [60.0, 20.0], [900.0, 300.0]),
        timed.path,
        800,
        lambda s: np.interp(s, timed.s, timed.sdot),
        3.0,
    )
    begin = timed.law(greville(12) * timed.duration)[0], 1.4 * timed.duration
    none = np.zeros((2, 12, len(tables.lower)))
    return RateProgramme(timed.path, tables, (0.2, 0.0), begin, (none[0], none[1]))


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
    from neuler.timing.torque_rates.solve import _as_timed

    tables = programme.tables
    base = time_path(tables.constraints.robot, programme.path, torque=[60.0, 20.0], velocity=4.0, grid=200)
    timed = _as_timed(base, programme, programme.start)
    values = tables.measured(timed)
    rows = programme.rows(programme.start)[: programme.used.sum()]
    expected = values[:, ::5].reshape(-1, len(tables.lower)) / programme.scale  # both ends and the middle
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize(("v", "w"), [(0.5, 0.0), (0.5, 0.8), (0.8, -0.5), (0.0, 0.0)])
def test_a_stop_ends_at_rest_where_it_says(v, w):
    """m^2 = j v + w^2 / 2: both halves end with v = w = 0."""
    for jerk in (0.3, 20.0):
        first, second = stop(v, w, jerk)
        if first < 0:
            assert w * w / 2 > jerk * v  # it brakes more than this stop does
            continue
        _, speed, push = after(*after(0.1, v, w, first, -jerk), second, jerk)
        assert abs(speed) < 1e-12
        assert abs(push) < 1e-12


@pytest.mark.slow
def test_every_step_of_a_scaled_trajectory_can_be_stopped():
    """From every point of the grid on some stop holds the bounds, as they are at the points that are looked at."""
    robot, (t, q) = neuler.robots.two_link(), swing()
    timed = scale_time(robot, t, q, torque=[1.5, 0.6], torque_rate=40.0, robot_limits=False, dt=0.005)
    path, good = timed.path, []
    for k in range(0, len(timed.t) - 1, 10):
        found = False
        for steps in np.geomspace(4.0, 400.0, 7):
            jerk = 4.0 / (steps * 0.005) ** 2
            first, second = stop(timed.sdot[k], timed.sddot[k], jerk)
            if first < 0:
                continue
            state = timed.s[k], timed.sdot[k], timed.sddot[k]
            parts = [after(*state, first * np.linspace(0, 1, 60), -jerk)]
            parts.append(after(*(x[-1] for x in parts[0]), second * np.linspace(0, 1, 60), jerk))
            s, v, w = np.concatenate(parts, axis=1)
            j = np.repeat([-jerk, jerk], 60)
            motion = [path(np.minimum(s, 1.0), order) for order in range(4)]
            v, w, j = v[:, None], w[:, None], j[:, None]
            qdd, qddd = motion[1] * w + motion[2] * v**2, motion[1] * j + 3 * motion[2] * v * w + motion[3] * v**3
            tau, rate = robot.inverse_dynamics_rate(motion[0], motion[1] * v, qdd, qddd)
            found |= (np.abs(tau) <= 1.02 * np.array([1.5, 0.6])).all() and (np.abs(rate) <= 1.05 * 40.0).all()
        good.append(found)
    assert np.mean(good) > 0.95


@pytest.mark.slow
def test_a_batch_of_trajectories_is_one_by_one():
    robot, (t, q) = neuler.robots.two_link(), swing()
    many = q * np.array([1.0, 0.7, -1.1, 0.2, 1.3, 0.9]).reshape(2, 3, 1, 1)
    bounds = {"torque": [1.5, 0.6], "torque_rate": 40.0, "robot_limits": False, "dt": 0.01}
    found = scale_time(robot, t, many, **bounds)
    assert found.duration.shape == (2, 3)
    assert found.valid.all()
    assert (found.sdot <= 1.0).all()
    assert found.duration[1, 0] == pytest.approx(1.0, rel=1e-12)  # a fifth of the way: nothing to slow
    for where in np.ndindex(2, 3):
        one = scale_time(robot, t, many[where], **bounds)
        assert one.duration == pytest.approx(found.duration[where], rel=1e-12)
        at = np.linspace(0, one.duration, 50)
        np.testing.assert_allclose(one.at(at).q, found.at(at).q[where], atol=1e-12)
        np.testing.assert_allclose(found.at(99.0).q[where], many[where][-1], atol=1e-9)
        assert found[where].worst_violation <= 1e-6


def test_one_bad_trajectory_of_a_batch_is_named():
    rod = neuler.from_dh([{"a": 0.5, "mass": 2.0}], gravity=(9.81, 0, 0))
    t = np.linspace(0, 1, 50)
    q = np.stack([0.1 * np.sin(t)[:, None], 1.0 + 0.1 * np.sin(t)[:, None]])
    with pytest.raises(InputError, match=r"scale_time: trajectory 1: .*torque of joint1"):
        scale_time(rod, t, q, torque=3.0, torque_rate=1e3, dt=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"torque": None, "robot_limits": False}, "nothing bounds"),
        ({"dt": 0.0}, "dt must be above zero"),
        ({"dt": 2.0}, "dt must be above zero"),
        ({"t": np.linspace(1, 0, 201)}, "must rise"),
        ({"q": np.zeros((201, 3))}, "expected q of trajectories"),
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

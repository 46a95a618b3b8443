"""Path timing: closed forms, linear programmes of SciPy's, toppra where it is there, and laws of its own."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, linprog

import neuler
from neuler.timing import Path, time_path
from neuler.timing.constraint_set import ConstraintSet, given_constraints
from neuler.timing.paths import PathPoints
from neuler.timing.scans import IntervalRows, greatest, reachable
from random_robots import few, random_robot, real_files


def slide(mass=2.0, **more):
    """A mass on a level slide."""
    return neuler.from_dh([{"kind": "prismatic", "mass": mass, **more}], gravity=(0, 9.81, 0))


def arm(joints=3, **more):
    row = {"a": 0.4, "mass": 2.0, "com": (-0.2, 0, 0), "inertia": (0.01, 0.05, 0.05), "alpha": 0.7, **more}
    return neuler.from_dh([row] * joints)


def ways(robot, count, points=4, seed=0):
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (count, points, robot.nv))


# ---- closed forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mass", "way", "force"), [(2.0, 0.5, 3.0), (0.1, -2.0, 40.0)])
def test_a_mass_is_pushed_and_braked(mass, way, force):
    """T = 2 sqrt(m d / F), switching in the middle, which is a point of the grid."""
    timed = time_path(slide(mass), [[1.0], [1.0 + way]], torque=force, grid=101)
    assert timed.duration == pytest.approx(2 * math.sqrt(mass * abs(way) / force), rel=1e-12)
    assert timed.valid
    np.testing.assert_allclose(np.abs(timed.tau), force, rtol=1e-9)
    middle = timed.at(timed.duration / 2)
    np.testing.assert_allclose(middle.q, 1.0 + way / 2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.abs(middle.qd), math.sqrt(force / mass * abs(way)), rtol=1e-6)


def test_coulomb_friction_holds_back_and_helps_to_brake():
    """m a = F - Fc, then -F - Fc; the switch at a share (F + Fc) / 2 F of the way, a point of the grid."""
    mass, way, force, rub = 2.0, 0.6, 5.0, 3.0
    up, down = (force - rub) / mass, (force + rub) / mass
    top = math.sqrt(2 * way * up * down / (up + down))
    for direction in (1.0, -1.0):
        timed = time_path(slide(mass, coulomb=rub), [[0.0], [direction * way]], torque=force, grid=101)
        assert timed.duration == pytest.approx(top / up + top / down, rel=1e-9)
        assert timed.sdot.max() * way == pytest.approx(top, rel=1e-9)


def test_bounds_on_velocity_give_a_trapezoid():
    mass, way, force, fastest = 1.0, 2.0, 4.0, 1.0  # to speed in 1/8 m, d = 1/16 of the way
    timed = time_path(slide(mass), [[0.0], [way]], torque=force, velocity=fastest, grid=161)
    assert timed.duration == pytest.approx(2 * fastest * mass / force + (way - fastest**2 * mass / force) / fastest)
    assert set(timed.active) == {"torque of joint1, upper", "torque of joint1, lower", "velocity of joint1, upper"}


def test_bounds_on_acceleration_and_sides_that_differ():
    timed = time_path(slide(), [[0.0], [1.0]], acceleration=([-1.0], [3.0]), grid=401)
    top = math.sqrt(2 * 3.0 * 1.0 / 4.0)
    assert timed.duration == pytest.approx(top / 3.0 + top / 1.0, rel=1e-9)


def test_speeds_at_the_ends():
    """From 0.5 to 1 m/s with the whole force: v^2 grows by 2 F d / m at most."""
    timed = time_path(slide(2.0), [[0.0], [1.0]], torque=3.0, start_speed=0.5, end_speed=1.0, grid=401)
    top = math.sqrt((0.25 + 1.0 + 2 * 1.5 * 1.0) / 2)
    assert timed.duration == pytest.approx((top - 0.5) / 1.5 + (top - 1.0) / 1.5, rel=1e-5)
    np.testing.assert_allclose(timed.sdot[[0, -1]], [0.5, 1.0])


def pendulum_time(inertia, weight, force, angle):
    """From hanging to an angle: x = qd^2 = 2 / I (F q - w (1 - cos q)) forwards, the same from the end backwards."""

    def rising(q):
        return 2 / inertia * (force * q - weight * (1 - math.cos(q)))

    def falling(q):
        return 2 / inertia * (force * (angle - q) + weight * (math.cos(q) - math.cos(angle)))

    switch = brentq(lambda q: rising(q) - falling(q), 1e-6, angle - 1e-6)
    first = quad(lambda z: 2 * z / math.sqrt(rising(z * z)), 0, math.sqrt(switch), epsrel=1e-12)[0]
    last = quad(lambda z: 2 * z / math.sqrt(falling(angle - z * z)), 0, math.sqrt(angle - switch), epsrel=1e-12)[0]
    return first + last


def test_a_pendulum_swings_up_as_its_energy_says():
    length, mass, force, angle = 0.5, 1.2, 8.0, 2.5
    rod = neuler.from_dh([{"a": length, "mass": mass}], gravity=(9.81, 0, 0))
    inertia, weight = mass * length**2, mass * length * 9.81
    exact = pendulum_time(inertia, weight, force, angle)
    errors = []
    for grid in (201, 2001):
        timed = time_path(rod, [[0.0], [angle]], torque=force, grid=grid)
        assert timed.valid
        errors.append(abs(timed.duration / exact - 1))
    assert errors[1] < 3e-4  # of first order: u is constant on an interval, and torques hold at both of its ends
    assert errors[1] < 0.12 * errors[0]


def viscous_time(mass, rub, force, way):
    """m v' = F - c v, then -F - c v to rest."""
    end = force / rub

    def forwards(t):
        speed = end * (1 - math.exp(-rub * t / mass))
        return speed, end * t - mass / rub * speed

    def braking(speed):
        t = mass / rub * math.log(1 + speed / end)
        return t, mass / rub * speed - end * t

    switch = brentq(lambda t: forwards(t)[1] + braking(forwards(t)[0])[1] - way, 1e-6, 100.0, xtol=1e-14)
    return switch + braking(forwards(switch)[0])[0]


def test_viscous_friction_settles():
    mass, rub, force, way = 2.0, 4.0, 5.0, 1.5
    exact = viscous_time(mass, rub, force, way)
    errors = []
    for grid in (501, 5001):
        timed = time_path(slide(mass, viscous=rub), [[0.0], [way]], torque=force, grid=grid)
        assert timed.valid
        errors.append(timed.duration / exact - 1)
    assert 0 < errors[1] < 1e-3
    assert errors[1] < 0.25 * errors[0]
    assert 3 < timed.iterations < 40
    loose = time_path(slide(mass, viscous=rub), [[0.0], [way]], torque=force, grid=501, refine=False)
    x, u = loose.sdot**2 * way**2, loose.sddot[:-1] * way
    tau = mass * u + rub * np.sqrt(x[:-1])
    after = mass * u + rub * np.sqrt(x[1:])
    assert np.maximum(tau, after).max() <= force * (1 + 1e-8)  # rows as they are, not as they were linear
    assert np.minimum(tau, after).min() >= -force * (1 + 1e-8)
    assert loose.constraints.needs_iteration


# ---- linear programmes ------------------------------------------------------------------------------------


def by_linprog(model, path, s):
    """The greatest sum of x under the rows of both ends of every interval."""
    at = PathPoints.of(path, s)
    a, b, c, ceiling = model.rows(at)
    d, n = np.diff(s), len(s)
    rows, bounds = [], []
    for i in range(n - 1):
        for k in (i, i + 1):
            for r in range(a.shape[-1]):
                row = np.zeros(n)
                row[i] -= a[k, r] / (2 * d[i])
                row[i + 1] += a[k, r] / (2 * d[i])
                row[k] += b[k, r]
                rows += [row, -row]
                bounds += [model.upper[r] - c[k, r], c[k, r] - model.lower[r]]
    limits = [(0, 0), *((0, most) for most in ceiling[1:-1]), (0, 0)]
    scale = 1.0 / np.maximum(ceiling, 1e-9).clip(max=1e3)
    found = linprog(-scale, A_ub=np.array(rows), b_ub=bounds, bounds=limits, method="highs")
    assert found.success
    return found.x


def sets_by_linprog(rows, lower, upper, s):
    """K of every point, one after the other from the end: two programmes in x and u each."""
    a, b, c, ceiling = rows
    d, found = np.diff(s), [(0.0, 0.0)]
    for i in reversed(range(len(s) - 1)):
        left = np.vstack([np.stack([b[i], a[i]], 1), np.stack([b[i + 1], a[i + 1] + 2 * d[i] * b[i + 1]], 1)])
        low, high = np.concatenate([lower - c[i], lower - c[i + 1]]), np.concatenate([upper - c[i], upper - c[i + 1]])
        left = np.vstack([left, [[1.0, 2 * d[i]]]])
        low, high = np.append(low, found[-1][0]), np.append(high, found[-1][1])
        ends = [
            linprog(
                [sign, 0], np.vstack([left, -left]), np.append(high, -low), bounds=[(0, ceiling[i]), (None, None)]
            ).x[0]
            for sign in (1.0, -1.0)
        ]
        found.append(tuple(ends))
    return np.array(found[::-1])


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_sets_are_those_of_linear_programmes(seed):
    """Step by step; and the whole is near the linear programme of all points, which is another on a coarse grid."""
    robot = arm(3)
    path, s = Path.through(ways(robot, 1, seed=seed)[0]), np.linspace(0, 1, 25)
    given = given_constraints("test", robot, (3.0, 25.0, [60.0, 30.0, 12.0], None), (), False)
    model = ConstraintSet(*given, PathPoints.of(path, s))
    rows = model.rows(PathPoints.of(path, s))
    expected = sets_by_linprog(rows, model.lower, model.upper, s)
    start, end = ([x[k : len(s) - 1 + k] for x in rows[:3]] for k in range(2))
    given = IntervalRows(*start, *end, model.lower[None], model.upper[None], np.diff(s))
    found = reachable(given, rows.ceiling, np.array(0.0))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * expected.max())
    x = greatest(given, found, np.array(0.0))
    assert (x <= expected[:, 1] * (1 + 1e-9)).all()
    best = by_linprog(model, path, s)
    both = [(2 * np.diff(s) / (np.sqrt(y[1:]) + np.sqrt(y[:-1]))).sum() for y in (x, best)]
    assert both[0] == pytest.approx(both[1], rel=2e-3)


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_random_trees(seed):
    """Prismatic and revolute joints in any order, branches, fixed joints."""
    robot = random_robot(seed + 300, joints=5)
    if robot.nq != robot.nv:
        pytest.skip("positions with quaternions")
    points = ways(robot, 1, seed=seed)[0]
    rest = np.abs(robot.without_friction().gravity_force(Path.through(points)(np.linspace(0, 1, 500)))).max(axis=0)
    timed = time_path(robot, points, velocity=4.0, torque=3 * rest + 5.0, robot_limits=False, grid=400)
    assert timed.valid
    dense = np.linspace(0, timed.duration, 4001)[1:-1]
    motion = timed.at(dense)
    tau = robot.inverse_dynamics(*motion)
    assert (np.abs(tau) - (3 * rest + 5.0)).max() < 1e-5 * (1 + 3 * rest.max())
    assert np.abs(motion.qd).max() < 4.0 * (1 + 1e-5)
    assert set(np.unique(timed.active)) - {""}


# ---- laws of its own ------------------------------------------------------------------------------------------


def test_backwards_takes_as_long_without_friction():
    """Without friction x(s) is that of the path run the other way: tau does not know the sign of sdot."""
    robot = arm(3)
    points = ways(robot, 5, seed=3)
    bounds = {"torque": [60.0, 30.0, 12.0], "velocity": 3.0, "refine": False, "grid": 500}
    there, back = (time_path(robot, x, **bounds) for x in (points, points[:, ::-1]))
    np.testing.assert_allclose(there.duration, back.duration, rtol=1e-6)
    np.testing.assert_allclose(there.sdot, back.sdot[:, ::-1], atol=1e-3)


@pytest.mark.parametrize("friction", [{}, {"coulomb": 1.0, "viscous": 0.4}])
def test_a_batch_is_its_paths_one_by_one(friction):
    robot = arm(2, **friction)
    points = ways(robot, 19, seed=4)
    many = time_path(robot, points.reshape(19, 1, 4, 2), torque=[60.0, 20.0], velocity=4.0, grid=200)
    assert many.duration.shape == (19, 1)
    assert many.tau.shape == (19, 1, 200, 2)
    assert many.valid.all()
    for k in (0, 7, 16, 18):
        one = time_path(robot, points[k], torque=[60.0, 20.0], velocity=4.0, grid=200)
        assert one.duration == pytest.approx(many.duration[k, 0], rel=1e-5)
    dense = many.at(np.linspace(0, 0.1, 7))
    assert dense.q.shape == (19, 1, 7, 2)


def test_doubled_bounds_and_masses_change_time_as_they_must():
    """Without gravity, T ~ sqrt(m / F)."""
    robot = neuler.robots.two_link()
    points = ways(robot, 1, seed=5)[0]
    one, two = (time_path(robot, points, torque=force, robot_limits=False).duration for force in (5.0, 20.0))
    assert one == pytest.approx(2 * two, rel=1e-6)


def test_a_path_may_be_a_spline_a_function_or_samples():
    from scipy.interpolate import CubicSpline, make_interp_spline

    robot = arm(2)
    points = ways(robot, 1, seed=6)[0]
    bounds = {"torque": [60.0, 20.0], "velocity": 4.0, "grid": 301}
    spline = CubicSpline(np.linspace(0, 1, 4), points)
    expected = time_path(robot, points, **bounds).duration
    s = np.linspace(0, 1, 301)
    for path in (
        spline,
        make_interp_spline(np.linspace(0, 1, 4), points, k=3),
        Path.of(lambda x, order: spline(x, order), (0.0, 1.0)),
        Path.sampled(s, spline(s), spline(s, 1), spline(s, 2)),
        Path.sampled(s, spline(s), spline(s, 1)),
        Path.sampled(s, spline(s)),
    ):
        assert time_path(robot, path, **bounds).duration == pytest.approx(expected, rel=1e-5)


def test_the_parameter_of_a_path_does_not_matter():
    robot = arm(2)
    points = ways(robot, 1, seed=6)[0]
    one, two = (Path.through(points, np.linspace(0, end, 4)) for end in (1.0, 7.0))
    durations = [time_path(robot, path, torque=[60.0, 20.0]).duration for path in (one, two)]
    assert durations[0] == pytest.approx(durations[1], rel=1e-9)


def test_robots_with_loops():
    """Whose q is more than what moves: a path by its samples."""
    linkage = neuler.robots.five_bar()
    s = np.linspace(0, 1, 60)
    q = [linkage.neutral()]
    for _ in range(59):
        q.append(linkage.integrate(q[-1], np.array([0.3, -0.2]), 1 / 59))
    first = np.tile([0.3, -0.2], (60, 1))
    timed = time_path(linkage, Path.sampled(s, q, first, 0 * first), torque=40.0, robot_limits=False, grid=s)
    assert timed.duration > 0
    tau = linkage.inverse_dynamics(np.array(q), timed.qd, timed.qdd)
    assert np.abs(tau).max() < 40.0 * (1 + 1e-6)


@pytest.mark.parametrize("law", [neuler.Stribeck(1.0, 1.6, 0.3, viscous=0.2), neuler.LoadDependent(0.05, coulomb=0.5)])
def test_every_law_of_friction_settles(law):
    robot = arm(2)
    joints = [dataclasses.replace(joint, friction=law, role="driven") for joint in robot.joints]
    rubbing = robot.replace(joints=joints)
    points = ways(robot, 1, seed=8)[0]
    timed, free = (time_path(each, points, torque=[60.0, 22.0], grid=400) for each in (rubbing, robot))
    motion = timed.at(np.linspace(0, timed.duration, 3001)[1:-1])
    tau = rubbing.inverse_dynamics(*motion)
    assert timed.valid
    assert (np.abs(tau) - [60.0, 22.0]).max() < 1e-3
    assert timed.duration != pytest.approx(free.duration, rel=1e-4)


# ---- an authority -------------------------------------------------------------------------------------------------


def panda():
    file = next(path for path in real_files() if path.name == "panda.urdf")
    return neuler.load(file, mimic="independent")


def test_the_optimum_is_that_of_toppra():
    ta = pytest.importorskip("toppra")
    import toppra.algorithm
    import toppra.constraint as bounds

    ta.setup_logging("ERROR")
    robot = panda().without_friction()
    limits = robot.coordinate_limits
    low, high = (np.clip([getattr(x, side) for x in limits], -3, 3) for side in ("lower", "upper"))
    points = low + (high - low) * np.random.default_rng(1).uniform(0.1, 0.9, (5, robot.nv))
    speed = np.array([[-x.velocity, x.velocity] for x in limits])
    force = np.array([[-x.effort, x.effort] for x in limits])
    torque = bounds.JointTorqueConstraint(
        robot.inverse_dynamics, force, np.zeros(robot.nv), discretization_scheme=bounds.DiscretizationType.Interpolation
    )
    grid = np.linspace(0, 1, 500)
    path = ta.SplineInterpolator(np.linspace(0, 1, 5), points)
    problem = toppra.algorithm.TOPPRA([bounds.JointVelocityConstraint(speed), torque], path, gridpoints=grid)
    _, sdot, _ = problem.compute_parameterization(0, 0)
    theirs = (2 * np.diff(grid) / (sdot[1:] + sdot[:-1])).sum()
    ours = time_path(robot, points, grid=grid, refine=False)
    assert ours.duration == pytest.approx(theirs, rel=1e-5)
    assert time_path(robot, points, grid=grid).duration == pytest.approx(theirs, rel=1e-3)


# ---- what comes back ----------------------------------------------------------------------------------------------


def test_derivatives_by_time_are_those_of_differences():
    robot = arm(2, viscous=0.2)
    timed = time_path(robot, ways(robot, 1, seed=6)[0], torque=[60.0, 20.0], velocity=4.0, grid=60)
    middles = 0.5 * (timed.knots[1:] + timed.knots[:-1])  # inside intervals
    h = 1e-4 * np.diff(timed.knots).min()
    found = timed.evaluate(middles, 3)
    assert [x.shape for x in found] == [(59, 2)] * 4
    for order in range(3):
        slope = (timed.evaluate(middles + h, order)[order] - timed.evaluate(middles - h, order)[order]) / (2 * h)
        np.testing.assert_allclose(found[order + 1], slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
    rate = (timed.torques(middles + h) - timed.torques(middles - h)) / (2 * h)
    np.testing.assert_allclose(timed.torque_rates(middles), rate, rtol=1e-5, atol=1e-5 * np.abs(rate).max())
    for ours, theirs in zip(timed.at(middles), found, strict=False):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(timed.breaks, [0.0, timed.duration])
    np.testing.assert_array_equal(timed.evaluate([-1.0, 99.0], 0)[0], timed.evaluate(timed.breaks, 0)[0])
    with pytest.raises(neuler.InputError, match="order must be 0, 1, 2 or 3, got 4"):
        timed.evaluate(middles, 4)


@pytest.mark.parametrize("kind", ["points", "many points", "samples", "of five bars"])
def test_batches_are_taken_apart_and_pickled(kind):
    robot, bounds = arm(2), {"torque": [60.0, 20.0], "velocity": 4.0, "grid": 50}
    path = ways(robot, 6, seed=4).reshape(2, 3, 4, 2)
    if kind == "many points":
        path = Path.through(ways(robot, 6, points=33, seed=4).reshape(2, 3, 33, 2))
    elif kind == "samples":
        path = Path.sampled(np.linspace(0, 1, 4), path, 0.3 * np.cos(path))
    elif kind == "of five bars":
        robot, s = neuler.robots.five_bar(), np.linspace(0, 1, 50)
        slope, bounds = np.tile([0.3, -0.2], (2, 3, 50, 1)), {"torque": 40.0, "robot_limits": False, "grid": s}
        one = [robot.neutral()]
        for _ in range(49):
            one.append(robot.integrate(one[-1], np.array([0.3, -0.2]), 1 / 49))
        path = Path.sampled(s, np.broadcast_to(one, (2, 3, 50, robot.nq)), slope, 0 * slope)
    many = time_path(robot, path, **bounds)
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.tau, many.tau)
    assert len(many) == 2
    assert [each.duration.shape for each in many] == [(3,), (3,)]
    one = many[1, 2]
    assert one.duration == many.duration[1, 2]
    np.testing.assert_array_equal(one.tau, many.tau[1, 2])
    np.testing.assert_array_equal(many[:, [0, 2]].q, np.broadcast_to(many.q, (2, 3, 50, robot.nq))[:, [0, 2]])
    if kind != "of five bars":
        np.testing.assert_allclose(one.at([0.1]).q, many.at([0.1]).q[1, 2], rtol=1e-14)
        assert one.evaluate([0.1], 3)[3].shape == (1, 2)
    with pytest.raises(neuler.InputError, match="take one of them"):
        many.evaluate([0.0], 1)
    with pytest.raises(neuler.InputError, match="no batch"):
        one[0]
    with pytest.raises(neuler.InputError, match="batch axes"):
        many[5]

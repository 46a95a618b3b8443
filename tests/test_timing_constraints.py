"""Constraints of users along a path: a tool's speed and acceleration, what else may be, and what is refused."""

import numpy as np
import pytest

import neuler
from neuler.errors import InputError
from neuler.timing import Coefficients, Constraint, Path, scale_time, time_path
from test_timing import arm, slide, ways

ROBOT = arm(3)
POINTS = ways(ROBOT, 1, seed=2)[0]
BOUNDS = {"torque": [60.0, 30.0, 12.0], "velocity": 6.0, "grid": 300}
TIP = ROBOT.links[-1].name


class ToolSpeed(Constraint):
    """|J q' sdot| <= most, a ceiling of x."""

    label = "tool speed"

    def __init__(self, robot, frame, most):
        self.robot, self.frame, self.most = robot, frame, most

    def coefficients(self, points):
        way = self.robot.link_velocities(points.q, points.first, frame=self.frame)[..., :3]
        return Coefficients(ceiling=self.most**2 / np.square(way).sum(axis=-1))


class ToolAcceleration(Constraint):
    """A tool's acceleration (J qdd + Jdot qd) along an axis of the tool, a row."""

    label = "tool acceleration"

    def __init__(self, robot, frame, axis, most):
        self.robot, self.frame, self.axis, self.most = robot, frame, axis, most

    def coefficients(self, points):
        q, first, second = points.q, points.first, points.second
        along = [
            self.robot.link_motions(q, *motion, 0 * first, frame=self.frame).accelerations[..., [self.axis]]
            for motion in ((0 * first, first), (first, second))
        ]
        return Coefficients(*along, lower=[-self.most], upper=[self.most])


def tool(timed, robot=ROBOT, count=3001):
    t = np.linspace(0, timed.duration, count)[1:-1]
    motion = timed.at(t)
    speed = np.linalg.norm(robot.link_velocities(*motion[:2], frame=TIP)[:, :3], axis=-1)
    return speed, robot.link_motions(*motion, 0 * motion.qd, frame=TIP).accelerations[:, 0]


def test_a_tool_is_no_faster_than_asked():
    free = time_path(ROBOT, POINTS, **BOUNDS)
    most = 0.5 * tool(free)[0].max()
    timed = time_path(ROBOT, POINTS, constraints=[ToolSpeed(ROBOT, TIP, most)], **BOUNDS)
    assert timed.valid
    assert timed.duration > 1.05 * free.duration
    assert 0.999 * most < tool(timed)[0].max() < most * (1 + 2e-6)
    assert "tool speed" in timed.active
    assert not set(timed.active) - {"", "tool speed"} <= {"tool speed"}  # torques are reached elsewhere


def test_a_tool_accelerates_no_more_than_asked():
    free = time_path(ROBOT, POINTS, **BOUNDS)
    most = 0.4 * np.abs(tool(free)[1]).max()
    bound = ToolAcceleration(ROBOT, TIP, 0, most)
    timed = time_path(ROBOT, POINTS, constraints=[bound], **BOUNDS)
    assert timed.valid
    assert timed.worst_violation <= 1e-6
    assert timed.duration > free.duration
    assert 0.99 * most < np.abs(tool(timed)[1]).max() < most + 3e-6 * (1 + most)
    assert {"tool acceleration, upper", "tool acceleration, lower"} & set(timed.active)
    loose = time_path(ROBOT, POINTS, constraints=[bound], refine=False, **BOUNDS)
    assert loose.worst_violation > timed.worst_violation  # between points they are looked at, too


def test_batches_are_paths_one_by_one():
    points = ways(ROBOT, 18, seed=3)
    both = [ToolSpeed(ROBOT, TIP, 1.0), ToolAcceleration(ROBOT, TIP, 1, 6.0)]
    many = time_path(ROBOT, points, constraints=both, **BOUNDS)
    assert many.valid.all()
    for k in (0, 17):
        one = time_path(ROBOT, points[k], constraints=both, **BOUNDS)
        assert one.duration == pytest.approx(many.duration[k], rel=1e-4)


class Rows(Constraint):
    """Whatever is given."""

    label = "something"

    def __init__(self, **given):
        self.given = given

    def coefficients(self, points):
        return Coefficients(**{key: x(points) if callable(x) else x for key, x in self.given.items()})


def ones(points):
    return np.ones((*points.q.shape[:-1], 1))


def test_bounds_may_change_along_a_path():
    """u within -2 and 1 + s: x' = 2 u, so x = 2 s + s^2 on the way up; the same said by two rows with c."""
    robot, path = slide(), [[0.0], [1.0]]
    bounds = {"robot_limits": False, "grid": 2001}
    varying = Rows(a=ones, b=0.0, lower=-2.0, upper=lambda points: 1.0 + points.s[..., None])
    timed = time_path(robot, path, constraints=[varying], **bounds)
    up = timed.sddot > 0
    np.testing.assert_allclose(np.square(timed.sdot)[up], (2 * timed.s + timed.s**2)[up], atol=2e-3)
    upper = Rows(a=ones, b=0.0, c=lambda points: -points.s[..., None], upper=1.0)
    lower = Rows(a=ones, b=0.0, lower=-2.0)
    assert time_path(robot, path, constraints=[upper, lower], **bounds).duration == pytest.approx(timed.duration)
    assert "something, upper" in timed.active


def test_what_is_not_linear_settles():
    """A bound on power, |m u sdot| <= P, by its nonlinear part alone: P t = m v^2 / 2 on the way up."""

    class Power(Constraint):
        label, nonlinear, needs_iteration = "power", True, True

        def coefficients(self, points):
            return Coefficients(0 * ones(points), 0.0, lower=[-4.0], upper=[4.0])

        def nonlinear_part(self, points, x, u):
            return (2.0 * u * np.sqrt(np.maximum(x, 1e-12)))[..., None]

    timed = time_path(slide(2.0), [[0.0], [1.0]], torque=20.0, constraints=[Power()], grid=400)
    power = np.abs(2.0 * timed.sddot * timed.sdot)[:-1]
    assert power.max() < 4.0 * (1 + 1e-3)
    assert np.median(power) > 3.9


@pytest.mark.parametrize("ceiling", [0.2, np.inf])
def test_they_hold_in_other_timings_too(ceiling):
    robot = neuler.robots.two_link()
    t = np.linspace(0.0, 1.0, 101)
    q = np.stack([0.5 - 0.5 * np.cos(np.pi * t), 0.0 * t], axis=-1)
    few = [Rows(ceiling=lambda points: np.full(points.q.shape[:-1], ceiling))] if ceiling < 1 else []
    slow = scale_time(robot, t, q, torque=20.0, constraints=few, dt=0.02, robot_limits=False)
    assert slow.sdot.max() <= np.sqrt(min(ceiling, 1.0)) * (1 + 1e-6)
    timed = time_path(robot, Path.sampled(t, q), torque=5.0, torque_rate=1000.0, constraints=few, grid=200)
    assert timed.valid
    assert timed.sdot.max() <= np.sqrt(ceiling) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (3.0, "constraints must be a list of timing.Constraint, got 3.0"),
        (Rows(a=ones, b=0.0), "constraints must be a list"),
        ([2.0], r"constraints\[0\] must be a timing.Constraint .* got float"),
        ([Rows()], "'something': coefficients.* neither rows .* nor a ceiling"),
        ([Rows(a=ones)], "'something': rows need both a and b"),
        ([Rows(a=lambda points: ones(points)[..., 0], b=0.0)], r"'something': a must have axes \(..., points, rows\)"),
        ([Rows(a=np.ones((3, 1)), b=0.0)], r"'something': a must be numbers that broadcast to \(2, 1\), got \(3, 1\)"),
        ([Rows(a=ones, b="much")], "'something': b must be numbers"),
        (
            [Rows(a=ones, b=lambda points: np.nan * ones(points))],
            "b of the something is not finite, it is nan at s = 0",
        ),
        ([Rows(a=ones, b=0.0, lower=[1.0], upper=[1.0])], "the bounds of the something leave nothing, 1 to 1"),
        ([Rows(a=ones, b=0.0, upper=[np.nan])], "leave nothing"),
        ([Rows(a=ones, b=0.0, lower=lambda p: 2.0 * p.s[:, None], upper=1.0)], "leave nothing at s = "),
        ([Rows(ceiling=0.0)], "a ceiling of sdot.2 must be above zero, it is 0 at s = 0"),
        ([Rows(ceiling=lambda points: np.nan * points.s)], "must be above zero, it is nan at s = 0"),
        ([Rows(ceiling=np.ones(7))], "ceiling must be numbers that broadcast"),
        ([Rows(a=ones, b=0.0, upper=lambda p: [1.0 + len(p.s)])], "not those of other points of the path"),
        ([Constraint()], r"coefficients\(points\) must return Coefficients"),
        ([Rows(a=0.0, b=0.0, c=2.0, upper=[1.0])], "the something is 2 at s = .* beyond its upper bound 1"),
    ],
)
def test_bad_constraints_are_refused_by_name(constraints, words):
    with pytest.raises((InputError, NotImplementedError), match=words):
        time_path(ROBOT, POINTS, constraints=constraints, **BOUNDS)


def test_what_a_method_returns_is_looked_at():
    class Wrong(Constraint):
        def coefficients(self, points):
            return 1.0

    with pytest.raises(InputError, match=r"'Wrong': .* must return timing.Coefficients, got float"):
        time_path(ROBOT, POINTS, constraints=[Wrong()], **BOUNDS)

"""Paths and bounds that cannot be: each refused by name, with the place and the remedy."""

import numpy as np
import pytest

import neuler
from neuler.errors import InputError
from neuler.timing import Path, time_path
from test_timing import arm, slide, ways

ROBOT = arm(2)
POINTS = [[0.0, 0.0], [0.5, 0.3], [1.0, 0.0]]
BOUNDS = {"torque": [60.0, 20.0], "velocity": 4.0, "grid": 60}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ([[0.0, 0.0], [np.nan, 1.0]], r"every number must be finite, entry \(1, 0\) is nan"),
        ([[0.0, 0.0], [np.inf, 1.0]], "must be finite"),
        ([[0.0, 0.0]], "two points or more"),
        ([0.0, 1.0], r"expected points with axes \(..., points, joints\)"),
        ([[0.0], [1.0]], "with 2 positions and 2 velocities"),
        ([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], "got 3 and 3"),
        ([["a", "b"], ["c", "d"]], "path: points must be real numbers"),
        ([[0.3, 0.3], [0.3, 0.3]], "stands still"),
        ([[0.3, 0.3], [0.3, 0.3], [0.3, 0.3]], "stands still"),
        (lambda s, order: np.zeros((2, 2)), "needs its ends"),
    ],
)
def test_bad_paths(path, words):
    with pytest.raises(InputError, match=words):
        time_path(ROBOT, path, **BOUNDS)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Path.through(POINTS, [0.0, 2.0, 1.0]), "must rise from point to point"),
        (lambda: Path.through(POINTS, [0.0, 0.5]), "one number for each of 3 points"),
        (lambda: Path.through(POINTS, ends="periodic"), "must end where it starts"),
        (lambda: Path.through(POINTS, ends="sudden"), "no spline through these points"),
        (lambda: Path.sampled([0.0, 1.0, 0.5], POINTS), "must rise"),
        (lambda: Path.sampled([0.0, np.nan, 1.0], POINTS), "must rise"),
        (lambda: Path.sampled([0.0, 0.5, 1.0], POINTS, second=POINTS), "needs the first ones"),
        (lambda: Path.sampled([0.0, 0.5, 1.0], POINTS, POINTS[:2]), "a row for each"),
        (lambda: Path.of(np.sin, (1.0, 0.0)), "two finite numbers"),
        (lambda: Path.of(lambda s, order: 1.0, (0.0, 1.0)), "must give positions"),
    ],
)
def test_paths_that_cannot_be_made(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"torque": 0.0}, "torque: the bounds of entry 0 leave nothing, -0 to 0"),
        ({"torque": [60.0, -1.0]}, "entry 1 leave nothing"),
        ({"torque": ([1.0, 1.0], [0.5, 2.0])}, "leave nothing"),
        ({"torque": [1.0, 2.0, 3.0]}, "expected a number, 2 numbers or a pair"),
        ({"torque": "strong"}, "must be numbers"),
        ({"velocity": 0.0}, "velocity: the bounds"),
        ({"velocity": np.nan}, "with NaN"),
        ({"acceleration": ([0.1, -1.0], [1.0, 1.0])}, "acceleration: the bounds of entry 0"),
        ({"grid": 1}, "two or more"),
        ({"grid": True}, "two or more"),
        ({"grid": 10.5}, "two or more"),
        ({"grid": [0.0, 0.5]}, "must go from 0 to 1"),
        ({"grid": [0.0, 0.7, 0.5, 1.0]}, "must rise"),
        ({"start_speed": -1.0}, "zero or more"),
        ({"end_speed": np.inf}, "and finite"),
        ({"start_speed": [1.0, 2.0]}, "one for each of the paths"),
        ({"start_speed": 100.0}, r"start speed sdot = 100 is too high, at most .* at s = 0"),
        ({"end_speed": 100.0}, r"end speed sdot = 100 is too high, at most .* at s = 1 \(velocity of joint"),
        ({"failed": "quietly"}, "'raise' or 'nan'"),
    ],
)
def test_bad_bounds(change, words):
    with pytest.raises(InputError, match=words):
        time_path(ROBOT, POINTS, **{**BOUNDS, **change})


def test_nothing_that_bounds():
    with pytest.raises(InputError, match="nothing bounds the motion"):
        time_path(ROBOT, POINTS, robot_limits=False)


def test_a_robot_that_cannot_carry_itself():
    rod = neuler.from_dh([{"a": 0.5, "mass": 2.0}], gravity=(9.81, 0, 0))
    with pytest.raises(InputError, match=r"torque of joint1 is .* at s = .*beyond its upper bound 6"):
        time_path(rod, [[0.0], [2.0]], torque=6.0)


def test_friction_that_is_more_than_the_force():
    with pytest.raises(InputError, match=r"torque of joint1 is 5 at s = 0 .* bound 3"):
        time_path(slide(2.0, coulomb=5.0), [[0.0], [1.0]], torque=3.0)


def test_an_end_that_is_too_fast_names_rows():
    """From rest over a short way to a speed that force does not give."""
    with pytest.raises(InputError, match=r"torque of joint1|start speed"):
        time_path(slide(2.0), [[0.0], [0.01]], torque=1.0, end_speed=500.0)


def test_elastic_drives_are_refused():
    from motor_robots import motor_robot

    robot = motor_robot(3)
    assert any(joint.series for joint in robot.moving_joints)
    with pytest.raises(InputError, match="elastic drives"):
        time_path(robot, np.zeros((2, robot.nq)) + [[0.0], [1.0]], torque=1e3)


def test_quaternions_need_samples():
    base, body = neuler.Link("base"), neuler.Link("body", mass=1.0, inertia=(1, 1, 1))
    ball = neuler.Robot("ball", [base, body], [neuler.Joint("ball", "spherical", "base", "body")])
    with pytest.raises(InputError, match="no points to draw a spline through"):
        time_path(ball, np.zeros((3, ball.nq)), torque=1.0)


def test_joints_without_motors_are_refused():
    base, body = neuler.Link("base"), neuler.Link("body", mass=1.0, inertia=(1, 1, 1))
    free = neuler.Robot("free", [base, body], [neuler.Joint("free", "free", "base", "body")])
    with pytest.raises(neuler.RobotError, match="no motor drives 'free'"):
        time_path(free, np.zeros((3, free.nq)), torque=1.0)
    loose = neuler.robots.two_link().with_passive("joint2")
    with pytest.raises(neuler.RobotError, match="no motor drives 'joint2'"):
        time_path(loose, [[0, 0], [0.5, 1], [1, 0.5]], torque=20.0)


def test_one_bad_path_of_a_batch():
    """Named with its number; or NaN, and the others as they are alone."""
    rod = neuler.from_dh([{"a": 0.5, "mass": 2.0}], gravity=(9.81, 0, 0))
    points = np.array([[[0.0], [0.3]], [[0.0], [2.0]], [[0.0], [-0.4]]])
    with pytest.raises(InputError, match=r"path 1: .*torque of joint1 is .* at s = "):
        time_path(rod, points, torque=6.0)
    found = time_path(rod, points, torque=6.0, failed="nan")
    np.testing.assert_array_equal(np.isnan(found.duration), [False, True, False])
    np.testing.assert_array_equal(found.valid, [True, False, True])
    assert "path 1" in found.message
    for k in (0, 2):
        assert found.duration[k] == pytest.approx(time_path(rod, points[k], torque=6.0).duration, rel=1e-6)


def test_two_points_are_a_grid():
    """One interval: from rest to rest it cannot move; with speeds at the ends it can."""
    with pytest.raises(InputError, match="cannot move on"):
        time_path(slide(), [[0.0], [1.0]], torque=3.0, grid=2)
    timed = time_path(slide(2.0), [[0.0], [1.0]], torque=3.0, grid=2, start_speed=0.5, end_speed=1.0)
    assert timed.duration == pytest.approx(2 / 1.5)


def test_a_nan_inside_a_path_is_found():
    path = Path.of(lambda s, order: np.stack([np.where(s > 0.5, np.nan, s), s], axis=-1), (0.0, 1.0))
    with pytest.raises(InputError, match=r"the path's q is nan at s = "):
        time_path(ROBOT, path, **BOUNDS)


def test_times_outside_are_those_of_the_ends():
    timed = time_path(ROBOT, ways(ROBOT, 1)[0], **BOUNDS)
    np.testing.assert_allclose(timed.at(-1.0).q, timed.q[0])
    np.testing.assert_allclose(timed.at(timed.duration + 1.0).q, timed.q[-1])
    with pytest.raises(InputError, match="NaN"):
        timed.at(np.nan)

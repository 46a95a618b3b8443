"""Inverse kinematics of frames: where results put the frame, by Pinocchio and by our own forward kinematics."""

import dataclasses
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import neuler
from every_robot import made
from kind_robots import kind_robot
from neuler import InputError, Joint, Limits, Link, Robot, RobotError, Transform
from neuler.peers.pinocchio import pinocchio_model
from neuler.solve.inverse_kinematics import Reached
from pinocchio_model import positions
from random_robots import few, random_robot, real_files

pin = pytest.importorskip("pinocchio")


def poses(robot, q, frame):
    return np.asarray(robot.compile("link_poses", frame=frame)(q))


def misses(found, wanted):
    """Largest distance (m) and angle (rad) between poses."""
    place = np.linalg.norm(found[..., :3, 3] - wanted[..., :3, 3], axis=-1)
    turn = np.swapaxes(found[..., :3, :3], -2, -1) @ wanted[..., :3, :3]
    across = np.linalg.norm(turn - np.eye(3), axis=(-2, -1)) / np.sqrt(2)  # of small angles
    return float(place.max()), float(across.max())


def arm(*lengths, limits=None, kind="revolute"):
    """Bars in the plane of x and y, joined at their ends; frame "tip" at the end of the last."""
    links = [Link("base"), *(Link.from_com(f"bar{k}", mass=1.0) for k, _ in enumerate(lengths, start=1))]
    joints = []
    for k, _ in enumerate(lengths, start=1):
        at = (0.0, 0.0, 0.0) if k == 1 else (lengths[k - 2], 0.0, 0.0)
        bounds = Limits() if limits is None else Limits(*limits)
        joints.append(Joint(f"joint{k}", kind, links[k - 1].name, f"bar{k}", Transform(translation=at), limits=bounds))
    robot = Robot("bars", links, joints)
    return robot.with_frame("tip", f"bar{len(lengths)}", Transform(translation=(lengths[-1], 0.0, 0.0)))


def test_results_against_pinocchio():
    """Pinocchio, which nobody here wrote, sees the frame where it was wanted."""
    path = next(path for path in real_files() if path.name == "ur5_robot.urdf")
    robot = neuler.load(path)
    model = pinocchio_model(robot)
    data, number = model.createData(), model.getFrameId(robot.tip)
    wanted = poses(robot, robot.random_configuration(3, 40), robot.tip)
    found = robot.inverse_kinematics(wanted)
    assert found.converged.all()
    for q, goal in zip(positions(robot, model, found.q), wanted, strict=True):
        pin.framesForwardKinematics(model, data, q)
        error = pin.log6(data.oMf[number].inverse() * pin.SE3(goal)).vector
        assert np.abs(error).max() < 2e-10


@pytest.mark.parametrize("name", ["puma560", "stanford", "rx90"])
def test_six_joints_reach_every_pose(name):
    robot = neuler.robots.get(name)
    wanted = poses(robot, robot.random_configuration(1, 500), robot.tip)
    found = robot.inverse_kinematics(wanted)
    assert found.converged.all()
    place, turn = misses(poses(robot, found.q, robot.tip), wanted)
    assert max(place, turn) < 2e-10
    assert found.distance.max() < 1e-10
    assert found.angle.max() < 1e-10


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_round_trips_on_random_trees(seed):
    """Few joints or many, slides and turns, branches: what a position reaches is reached again."""
    robot = random_robot(seed)
    q = robot.random_configuration(seed, 60)
    wanted = poses(robot, q, "tool")
    found = robot.inverse_kinematics(wanted, frame="tool", starts=128)
    assert found.converged.mean() > 0.98  # two joints, four errors: some targets are points of a curve
    right = found.converged
    place, turn = misses(poses(robot, found.q[right], "tool"), wanted[right])
    assert max(place, turn) < 2e-10


@pytest.mark.parametrize("seed", few(range(5), 2))
def test_every_kind_of_joint(seed):
    """Quaternions, screws, plates: from a guess not far away all is found, and q keeps its unit length."""
    robot = kind_robot(seed)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, 50)
    near = robot.integrate(q, 0.1 * rng.normal(size=(50, robot.nv)), 1.0)
    wanted = poses(robot, q, robot.tip)
    found = robot.inverse_kinematics(wanted, near, frame=robot.tip)
    assert found.converged.all()
    place, turn = misses(poses(robot, found.q, robot.tip), wanted)
    assert max(place, turn) < 2e-10
    np.testing.assert_allclose(robot.normalize(found.q), found.q, atol=1e-14)


def test_a_free_base_moves_or_stays():
    robot = neuler.robots.puma560().with_free_base()
    rng = np.random.default_rng(4)
    goal = poses(robot, robot.random_configuration(rng, 20), "link6")
    guess = robot.neutral()
    found = robot.inverse_kinematics(goal, guess)
    assert found.converged.all()
    arm_alone = poses(neuler.robots.puma560(), neuler.robots.puma560().random_configuration(rng, 20), "link6")
    held = robot.inverse_kinematics(arm_alone, guess, joints=robot.joint_names[1:])
    assert held.converged.all()
    np.testing.assert_array_equal(held.q[:, :7], np.broadcast_to(guess[:7], (20, 7)))


@pytest.mark.slow
def test_joints_that_do_not_move_the_frame_stay_as_in_the_guess():
    path = next(path for path in real_files() if path.name == "talos_reduced.urdf")
    robot = neuler.load(path)
    rng = np.random.default_rng(0)
    frame = "wrist_left_tool_link" if "wrist_left_tool_link" in robot.frame_names else "arm_left_7_link"
    guess, other = robot.random_configuration(rng, 2)
    found = robot.inverse_kinematics(poses(robot, other, frame), guess, frame=frame)
    assert found.converged
    moved = {name for name, a, b in zip(robot.joint_names, guess, found.q, strict=True) if a != b}
    assert len(moved) >= 7
    assert all(name.startswith(("torso", "arm_left")) for name in moved)


def test_the_nearest_way_round_is_taken():
    """Joints without limits may turn on: whole turns are counted from the guess."""
    robot = neuler.robots.rx90()
    robot = robot.replace(joints=[dataclasses.replace(joint, limits=Limits()) for joint in robot.joints])
    q = np.array([0.3, -0.4, 0.5, 0.2, 0.6, -0.7])
    found = robot.inverse_kinematics(poses(robot, q, robot.tip), q + 4 * np.pi + 0.05)
    np.testing.assert_allclose(found.q, q + 4 * np.pi, atol=1e-8)
    far = robot.inverse_kinematics(poses(robot, robot.random_configuration(2, 200), robot.tip), robot.neutral())
    assert np.abs(far.q).max() <= np.pi + 1e-9


# ---- limits ------------------------------------------------------------------------------------------


def test_limits_are_kept_where_a_solution_is_within_them():
    """Panda: seven joints, narrow limits; every target has a solution within them, and that is found."""
    path = next(path for path in real_files() if path.name == "panda.urdf")
    robot = neuler.load(path)
    lower, upper = np.array([(limits.lower, limits.upper) for limits in robot.coordinate_limits]).T
    wanted = poses(robot, robot.random_configuration(7, 300), "panda_link7")
    found = robot.inverse_kinematics(wanted, frame="panda_link7")
    assert found.converged.all()
    assert (found.q >= lower).all()
    assert (found.q <= upper).all()
    place, turn = misses(poses(robot, found.q, "panda_link7"), wanted)
    assert max(place, turn) < 2e-10


def test_a_target_at_the_limits_is_found_with_joints_on_them():
    robot = arm(1.0, 0.8, 0.6, limits=(-0.7, 0.9))
    q = np.array([0.9, 0.9, -0.7])  # the other elbow is beyond them
    found = robot.inverse_kinematics(poses(robot, q, "tip"), [0.0, 0.1, 0.2], frame="tip")
    np.testing.assert_allclose(found.q, q, atol=1e-8)
    assert (found.q <= 0.9).all()
    assert (found.q >= -0.7).all()


def test_the_other_elbow_is_beyond_the_limits():
    """Two solutions, one of them within: both guesses lead to it; without limits to the other."""
    robot = arm(1.0, 1.0, limits=(-0.2, 2.0))
    goal = poses(robot, [0.3, 1.1], "tip")[:3, 3]
    other = np.array([0.3 + 1.1, -1.1])
    found = robot.inverse_kinematics(goal, [1.4, 0.0], frame="tip", orientation=False)
    np.testing.assert_allclose(found.q, [0.3, 1.1], atol=1e-8)
    free = robot.inverse_kinematics(goal, other, frame="tip", orientation=False, limits=False)
    np.testing.assert_allclose(free.q, other, atol=1e-12)


def test_what_limits_forbid_is_missed_by_what_they_forbid():
    """One bar that stops at 0.5 rad: a target at 0.8 is missed by the chord between them."""
    robot = arm(2.0, limits=(-0.5, 0.5))
    goal = [2 * np.cos(0.8), 2 * np.sin(0.8), 0.0]
    with pytest.raises(
        RobotError, match=rf"within the limits of its joints that brings 'tip' there.*{4 * np.sin(0.15):.3g} m away"
    ):
        robot.inverse_kinematics(goal, frame="tip", orientation=False)


# ---- out of reach, and at its edge -------------------------------------------------------------------


def test_out_of_reach_says_by_how_much():
    robot = arm(1.0, 0.5)
    with pytest.raises(RobotError, match=r"robot 'bars' that brings 'tip' there, from 65 starts .* 0.25 m away"):
        robot.inverse_kinematics([1.05, 1.4, 0.0], frame="tip", orientation=False)
    goals = np.array([[1.2, 0.3, 0.0], [1.05, 1.4, 0.0], [0.1, 0.2, 0.0], [1.2, 0.3, 0.4]])
    with pytest.warns(RuntimeWarning, match=r"that brings 'tip' there in 3 of 4 rows: 1, 2, 3; there q is NaN"):
        found = robot.inverse_kinematics(goals, frame="tip", orientation=False)
    np.testing.assert_array_equal(found.converged, [True, False, False, False])
    np.testing.assert_array_equal(np.isnan(found.q).all(axis=-1), ~found.converged)
    np.testing.assert_allclose(found.distance[1:], [0.25, 0.5 - np.hypot(0.1, 0.2), 0.4], rtol=1e-6)
    assert found.angle is None


def test_a_plane_cannot_turn_out_of_itself():
    """The origin can be reached, the turn by 0.3 rad about x cannot: the least error is a balance of both."""
    robot = arm(1.0, 1.0, 1.0)
    goal = poses(robot, [0.3, 0.5, 0.4], "tip")
    tilt = np.eye(4)
    tilt[1:3, 1:3] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    with pytest.raises(RobotError, match=r"m and 0.3 rad away"):
        robot.inverse_kinematics(goal @ tilt, frame="tip", starts=4)


@pytest.mark.parametrize("lengths", [(1.0, 0.7), (1.0, 0.8, 0.5), (0.5, 0.4, 0.3, 0.2, 0.1)])
def test_stretched_out(lengths):
    """At the edge of what can be reached the Jacobian is singular: the error falls, but as a square."""
    robot = arm(*lengths)
    angles = np.linspace(-3, 3, 7)
    goals = sum(lengths) * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    found = robot.inverse_kinematics(goals, frame="tip", orientation=False, iterations=200)
    assert found.converged.all()
    np.testing.assert_allclose(found.q[:, 1:], 0, atol=1e-4)  # the root of the tolerance
    robot6 = neuler.robots.puma560()
    q = np.array([0.4, 0.3, np.arctan2(0.0203, 0.4318), 0.5, 0.0, 0.2])  # wrist singular, elbow nearly stretched
    assert robot6.inverse_kinematics(poses(robot6, q, "link6"), q + 0.3).converged


def test_half_a_turn_away():
    """The logarithm of a turn by pi has two directions: one is taken, and leads there."""
    robot = arm(1.0, 0.5, 0.3)
    goal = poses(robot, [0.2, np.pi - 0.2, 0.0], "tip")
    goal[:3, :3] = np.diag([-1.0, -1.0, 1.0])
    goal[:3, 3] = [0.4, 0.3, 0.0]
    found = robot.inverse_kinematics(goal, [0.0, 0.0, 0.0], frame="tip")
    assert misses(poses(robot, found.q, "tip"), goal)[0] < 2e-10
    assert misses(poses(robot, found.q, "tip"), goal)[1] < 2e-10


# ---- loops and couplings ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["five_bar", "sr400", "geared", "geared_loop", "gripper"])
def test_loops_and_couplings(name):
    robot = made(name)
    rng = np.random.default_rng(2)
    q = robot.random_configuration(rng, 30)
    goal = poses(robot, q, robot.tip)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = robot.inverse_kinematics(goal, frame=robot.tip)
    assert found.converged.all()
    assert max(misses(poses(robot, found.q, robot.tip), goal)) < 2e-10
    if robot.loops:
        assert np.abs(robot.closure(found.q).open_by).max() < 1e-9


def test_a_frame_of_a_parallel_robot():
    """By the platform's frame the same as by its joint."""
    robot = neuler.robots.delta()
    q = robot.inverse_kinematics([0.05, 0.02, -0.55]).q
    found = robot.inverse_kinematics(poses(robot, q, "platform"), robot.neutral(), frame="platform")
    assert isinstance(found, Reached)
    np.testing.assert_allclose(found.q, q, atol=1e-8)


def test_limits_of_joints_that_follow():
    """A rocker that may not go there: its limit is seen, though the crank leads."""
    free = neuler.robots.four_bar()
    q = free.assemble([1.3]).q
    goal = poses(free, q, free.tip)
    stopped = [
        dataclasses.replace(joint, limits=Limits(upper=float(q[1]) - 0.1))
        if joint.name == free.joint_names[1]
        else joint
        for joint in free.joints
    ]
    assert free.inverse_kinematics(goal).converged
    with pytest.raises(RobotError, match="within the limits"):
        free.replace(joints=stopped).inverse_kinematics(goal, starts=4)
    with pytest.raises(InputError, match=r"joints= holds the other joints.*loops of robot 'four_bar'"):
        free.inverse_kinematics(goal, joints=free.joint_names[0])


# ---- batches ------------------------------------------------------------------------------------------


def test_batches_broadcast_and_rows_do_not_see_each_other():
    robot = neuler.robots.puma560()
    q = robot.random_configuration(5, (3, 4))
    goals = poses(robot, q, "link6")
    found = robot.inverse_kinematics(goals)
    assert found.q.shape == (3, 4, 6)
    assert found.distance.shape == found.angle.shape == found.converged.shape == found.iterations.shape == (3, 4)
    alone = robot.inverse_kinematics(goals[1, 2])
    np.testing.assert_allclose(alone.q, found.q[1, 2], atol=1e-9)
    guesses = robot.inverse_kinematics(goals[0, 0], q[0])
    assert guesses.q.shape == (4, 6)
    none = robot.inverse_kinematics(np.zeros((0, 4, 4)))
    assert none.q.shape == (0, 6)


def test_the_same_seed_the_same_result():
    robot = arm(1.0, 0.8, 0.6, limits=(-0.9, 2.5))
    goals = poses(robot, robot.random_configuration(3, 50), "tip")[:, :3, 3]
    options = {"frame": "tip", "orientation": False}
    first, again = (robot.inverse_kinematics(goals, **options) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
    assert robot.inverse_kinematics(goals, seed=9, **options).converged.all()


def test_rows_that_are_no_numbers_or_no_poses():
    robot = neuler.robots.puma560()
    goals = poses(robot, robot.random_configuration(5, 4), "link6")
    goals[1, 0, 3] = np.nan
    with pytest.warns(RuntimeWarning, match="in 1 of 4 rows: 1; there q is NaN"):
        found = robot.inverse_kinematics(goals)
    np.testing.assert_array_equal(found.converged, [True, False, True, True])
    assert np.isnan(found.q[1]).all()
    goals[1] = goals[0]
    goals[2, :3, :3] *= 2
    with (
        pytest.warns(RuntimeWarning, match="no homogeneous matrix in 1 of 4 rows: 2"),
        pytest.warns(RuntimeWarning, match="there in 1 of 4 rows: 2"),
    ):
        found = robot.inverse_kinematics(goals)
    np.testing.assert_array_equal(found.converged, [True, True, False, True])


def test_rounded_poses_are_rotations():
    """Of six digits, as files have them: the nearest rotation counts."""
    robot = neuler.robots.puma560()
    goal = poses(robot, [0.1, -0.5, 0.3, 0.2, 0.7, -0.4], "link6").round(6)
    found = robot.inverse_kinematics(goal)
    assert found.converged
    assert misses(poses(robot, found.q, "link6"), goal)[1] < 3e-6


def test_bad_input():
    robot = neuler.robots.puma560()
    goal = poses(robot, np.zeros(6), "link6")
    mirrored = goal.copy()
    mirrored[:3, 0] *= -1
    for target, message in [
        (np.eye(3), r"homogeneous matrices \(4, 4\), got shape \(3, 3\); orientation=False takes positions alone"),
        (np.eye(4)[:3], r"homogeneous matrices \(4, 4\), got shape \(3, 4\)"),
        ("here", "pose must be real numbers"),
        (2 * np.eye(4), "no homogeneous matrix: its rotation must be orthogonal"),
        (mirrored, "right-handed"),
        (np.full((4, 4), np.nan), "must be finite"),
    ]:
        with pytest.raises(InputError, match=message):
            robot.inverse_kinematics(target)
    for options, message in [
        ({"orientation": False}, r"positions with last axis 3 \(m\), got shape \(4, 4\)"),
        ({"orientation": 1}, "orientation must be True or False"),
        ({"tolerance": 0.0}, r"tolerance must be above zero \(m, rad\)"),
        ({"iterations": 0}, "iterations must be a whole number, 1 or more, got 0"),
        ({"starts": -1}, "starts must be a whole number, 0 or more"),
        ({"joints": "joint9"}, "no moving joint 'joint9'; did you mean"),
        ({"joints": ()}, "joints must be names"),
        ({"frame": "base"}, "no joint that may move moves 'base'"),
        ({"frame": 3}, "frame must be the name"),
        ({"guess": np.zeros(5)}, r"expected guess with last axis 6, got shape \(5,\)"),
        ({"guess": np.full(6, np.nan)}, "guess is not finite"),
        ({"guess": np.zeros((3, 6)), "pose": np.tile(goal, (2, 1, 1))}, "batch axes do not broadcast"),
    ]:
        with pytest.raises(InputError, match=message):
            robot.inverse_kinematics(**{"pose": goal, **options})
    with pytest.raises(RobotError, match="no link or frame 'hand'"):
        robot.inverse_kinematics(goal, frame="hand")
    with pytest.raises(InputError, match=r"unknown option 'attempts'; its options are orientation, joints, limits"):
        robot.inverse_kinematics(goal, attempts=3)
    floating = robot.with_free_base()
    with pytest.raises(InputError, match="guess: the quaternion of joint 'root_joint' has the length 0 instead of 1"):
        floating.inverse_kinematics(goal, np.zeros(13))


def test_one_pose_is_judged_as_in_a_batch():
    """In plain numbers or by arrays: the same poses are refused, the same are made rotations."""
    robot = neuler.robots.puma560()
    good = poses(robot, [0.1, -0.5, 0.3, 0.2, 0.7, -0.4], "link6")
    guess = np.array([0.0, -0.4, 0.2, 0.0, 0.5, 0.0])
    rough = good.copy()
    rough[:3, :3] *= 1.0 + 1e-9
    for pose in (good, rough):
        one, many = robot.inverse_kinematics(pose, guess), robot.inverse_kinematics(pose[None], guess)
        np.testing.assert_array_equal(one.q, many.q[0])
        for name in ("distance", "angle", "converged", "iterations"):
            alone, row = getattr(one, name), getattr(many, name)
            assert type(alone) is type(row) is np.ndarray
            assert (alone.shape, row.shape) == ((), (1,))
            np.testing.assert_array_equal(alone, row[0])
    mirrored = good.copy()
    mirrored[:3, 0] *= -1.0
    for bad in (mirrored, 2 * good, np.full((4, 4), np.nan), good + np.array([[0], [0], [0], [0.1]])):
        with pytest.raises(InputError):
            robot.inverse_kinematics(bad, guess)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not robot.inverse_kinematics(np.stack([good, bad]), guess).converged[1]
    place = robot.inverse_kinematics(good[:3, 3], guess, orientation=False)
    assert place.angle is None
    assert place.distance.shape == ()


def test_threads_with_different_seeds():
    robot = neuler.robots.puma560()
    goals = poses(robot, robot.random_configuration(5, 40), "link6")
    alone = [robot.inverse_kinematics(goal, seed=k).q for k, goal in enumerate(goals)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda k: robot.inverse_kinematics(goals[k], seed=k).q, range(40)))
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("size", [1e3, 1e7, 1e16, 1e300])
def test_far_guesses_do_not_spoil_what_was_found(size):
    """Whole turns are added to be near the guess; where these are rounded more than the tolerance, they are not."""
    robot = neuler.robots.puma560()
    goal = poses(robot, robot.random_configuration(3), "dh6")
    found = robot.inverse_kinematics(goal, np.full(6, size), frame="dh6")
    place, turn = misses(poses(robot, found.q, "dh6")[None], goal[None])
    assert max(place, turn) < 1e-9


def test_what_is_not_found_is_not_blamed_on_limits_that_are_not_there():
    robot = neuler.robots.puma560()
    goal = poses(robot, robot.random_configuration(1), "link6")
    with pytest.raises(
        RobotError, match=r"found no position of robot 'puma560' that brings 'link6' there, from 1 start of 1 s"
    ):
        robot.inverse_kinematics(goal, iterations=1, starts=0)
    far = np.eye(4)
    far[0, 3] = 1e200
    with pytest.raises(RobotError, match="none is near"):
        robot.inverse_kinematics(far, starts=1)


def test_open_guesses_and_platforms():
    machine = neuler.robots.four_bar()
    goal = poses(machine, machine.neutral(), "coupler")
    with pytest.raises(InputError, match="inverse_kinematics: guess: the loops are open"):
        machine.inverse_kinematics(goal, machine.neutral() + 0.1, frame="coupler")
    with pytest.raises(InputError, match="name a frame: frame='platform'"):
        neuler.robots.delta().inverse_kinematics(np.eye(4))


def test_numbers_that_are_not_real():
    robot = neuler.robots.puma560()
    goal = poses(robot, np.full(6, 0.3), "link6")
    masked = np.ma.masked_array(goal, mask=goal > 0.9)
    for bad, message in ((goal + 0j, "pose must be real numbers, got complex numbers"), (masked, "is a masked array")):
        with pytest.raises(InputError, match=message):
            robot.inverse_kinematics(bad)

"""Test motions: closed, continuous, within limits; the forces along them, and how these change with the position."""

import dataclasses
import itertools

import numpy as np
import pytest

import neuler
from neuler import Limits
from neuler.view.report_motion import forces_along, paths, sensitivity
from neuler.view.sample_motion import margins, sample_motion, travel
from shown_robots import LOOPS, PARALLEL, afloat, all_kinds, at, geared, under_actuated

Joint = neuler.Joint


def velocities(robot, motion):
    """Of all joints with a coordinate, and their rates, along a motion."""
    return (np.asarray(x) for x in robot.tree_motion(motion.q, motion.qd, motion.qdd))


@pytest.mark.parametrize("name", [*LOOPS, *PARALLEL])
def test_the_motion_of_a_robot_with_loops_is_closed_and_continuous(name):
    robot = neuler.robots.get(name)
    motion = sample_motion(robot)
    assert np.abs(robot.closure(motion.q)[0]).max() < 1e-11
    assert margins(robot, motion.q).min() > 0
    assert not np.allclose(motion.q[0], motion.q[-1], atol=0.02)
    assert not motion.qd[[0, -1]].any()
    qd, qdd = velocities(robot, motion)
    step = motion.times[1]
    away = np.array([robot.tree.difference(a, b) for a, b in itertools.pairwise(motion.q)]) / step
    np.testing.assert_allclose(away, (qd[1:] + qd[:-1]) / 2, atol=3e-3 * np.abs(qd).max())  # no jump, right speed
    np.testing.assert_allclose(np.gradient(qd, step, axis=0)[2:-2], qdd[2:-2], atol=5e-3 * np.abs(qdd).max())


@pytest.mark.parametrize("name", [*LOOPS, *PARALLEL, "stanford", "kinds", "geared"])
def test_the_motors_give_the_power_that_the_robot_takes(name):
    robot = {"kinds": all_kinds, "geared": geared}.get(name, lambda: neuler.robots.get(name).without_friction())()
    motion = sample_motion(robot)
    found = forces_along(robot, motion)
    qd = next(velocities(robot, motion)) if robot.loops else motion.qd
    power = sum(one.force * qd[:, k] for one, k in zip(found, robot.mobility.active_numbers, strict=True))
    kinetic, potential = robot.energy(motion.q, motion.qd)
    rate = np.gradient(np.asarray(kinetic) + np.asarray(potential), motion.times)
    np.testing.assert_allclose(rate[2:-2], power[2:-2], atol=2e-3 * np.abs(power).max())
    for one in found:  # at rest both are the same
        assert one.still[0] == pytest.approx(one.force[0], rel=1e-6, abs=1e-9)


def test_forces_have_the_names_and_units_of_their_numbers():
    robot = all_kinds()
    found = forces_along(robot, sample_motion(robot))
    assert [one.name for one in found[:6]] == ["cart x", "cart y", "cart angle", "hip mx", "hip my", "hip mz"]
    assert [one.unit for one in found[:7]] == ["N", "N", "N m", "N m", "N m", "N m", "N m"]
    assert found[3].ends is None  # of a quaternion
    assert found[0].ends[0] == 0.0 != found[0].ends[1]


def test_positions_of_quaternions_are_told_as_turns():
    robot = neuler.robots.gough_stewart()
    motion = sample_motion(robot)
    found = paths(robot.coordinates.entries[0], motion.q)
    assert [name for name, _, _ in found] == ["platform x", "platform y", "platform z", "platform turned by"]
    assert [unit for _, _, unit in found] == ["m", "m", "m", "rad"]
    assert found[3][1][-1] == pytest.approx(np.linalg.norm(robot.difference(motion.q[0], motion.q[-1])[3:]))


# ---- sensitivities -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["five_bar", "sr400", "delta", "puma560", "two_link", "geared"])
def test_sensitivities_by_differences_are_those_of_the_kernel(name):
    robot = geared() if name == "geared" else neuler.robots.get(name)
    q = sample_motion(robot).q[-1]
    exact = robot.inverse_dynamics_sensitivities(q, np.zeros(robot.nv), np.zeros(robot.nv))[0]
    np.testing.assert_allclose(sensitivity(robot, q), exact, atol=1e-6 * np.abs(exact).max())


def test_sensitivities_of_more_motors_than_freedoms():
    robot = neuler.robots.five_bar()
    robot = robot.replace(joints=[dataclasses.replace(joint, role="driven") for joint in robot.joints])
    assert any("4 motors for 2 degrees of freedom" in finding.message for finding in robot.check())
    q = sample_motion(robot).q[-1]
    exact = robot.inverse_dynamics_sensitivities(q, np.zeros(2), np.zeros(2))[0]
    assert exact.shape == (4, 2)
    np.testing.assert_allclose(sensitivity(robot, q), exact, atol=1e-6 * np.abs(exact).max())


@pytest.mark.slow
def test_sensitivities_to_the_motors_of_a_parallel_robot_are_symmetric():
    robot = neuler.robots.delta().replace(independent=None)
    matrix = sensitivity(robot, sample_motion(robot).q[-1])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-6 * np.abs(matrix).max())


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_motion_keeps_limits_of_places_and_speeds():
    robot = neuler.robots.four_bar()
    joints = list(robot.joints)
    lower, upper = robot.reference[2] - 0.05, robot.reference[2] + 0.02
    joints[2] = Joint(
        "rocker", "revolute", "ground", "rocker", at(0.675), role="passive", limits=Limits(lower, upper, 0.01, 5.0)
    )
    held = robot.replace(joints=joints)
    motion = sample_motion(held)
    assert lower <= motion.q[:, 2].min() < motion.q[:, 2].max() <= upper
    qd, _ = velocities(held, motion)
    assert np.abs(qd[:, 2]).max() <= 0.01 * (1 + 1e-9)
    assert motion.times[-1] > 1.5
    joints[2] = dataclasses.replace(joints[2], limits=Limits(lower, upper, 100.0, 5.0))
    assert sample_motion(robot.replace(joints=joints)).times[-1] == 1.5


def test_a_reference_at_its_limits_is_left_inwards():
    motion = sample_motion(geared(limits=Limits(-0.3, 0.0)))
    assert motion.q[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert -0.3 <= motion.q[-1, 0] < -0.1


def test_every_robot_of_the_catalogue_moves_within_its_limits():
    for name in neuler.robots.names():
        robot = neuler.robots.get(name)
        motion = sample_motion(robot)
        assert robot.difference(motion.q[0], motion.q[-1]).all(), name
        for entry in robot.coordinates:
            if entry.one:
                assert entry.joint.limits.lower <= motion.q[:, entry.q].min(), name
                assert motion.q[:, entry.q].max() <= entry.joint.limits.upper, name


def test_the_motion_is_smooth_and_slow_enough():
    robot = neuler.robots.two_link()
    joints = [dataclasses.replace(joint, limits=Limits(velocity=2.0)) for joint in robot.joints]
    motion = travel(robot.replace(joints=joints), [0.0, 0.0], [10.0, -1.0], count=2001)
    assert np.abs(motion.qd).max() == pytest.approx(2.0)
    assert not motion.qd[[0, -1]].any()
    assert not motion.qdd[[0, -1]].any()
    step = motion.times[1]
    np.testing.assert_allclose(np.gradient(motion.q, step, axis=0)[1:-1], motion.qd[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.qd, step, axis=0)[1:-1], motion.qdd[1:-1], atol=1e-4)


def test_robots_that_motors_do_not_decide_move_all_the_same():
    assert under_actuated().mobility.independent[0] == "left_arm"
    assert afloat().mobility.independent == ("root_joint", "crank")
    for robot in (under_actuated(), afloat(), geared()):
        motion = sample_motion(robot)
        assert motion.moves
        assert not robot.loops or np.abs(robot.closure(motion.q)[0]).max() < 1e-11


@pytest.mark.parametrize("robot", [neuler.robots.two_link().with_free_base(), all_kinds()], ids=lambda r: r.name)
def test_what_turns_freely_goes_along_a_screw(robot):
    start = robot.neutral()
    way = 0.3 * np.cos(np.arange(robot.nv))
    motion = travel(robot, start, way, count=401)
    np.testing.assert_allclose(robot.difference(start, motion.q[-1]), way, atol=1e-12)
    step = motion.times[1]
    away = np.array([robot.difference(a, b) for a, b in itertools.pairwise(motion.q)]) / step
    np.testing.assert_allclose(away, (motion.qd[1:] + motion.qd[:-1]) / 2, atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.qd, step, axis=0)[2:-2], motion.qdd[2:-2], atol=1e-3)

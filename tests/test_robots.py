"""The catalogue against the published numbers."""

import math
from math import pi

import numpy as np
import pytest

from neuler import Robot, robots
from neuler.diagnose.doctor import examine
from neuler.errors import RobotError
from neuler.robot.inertia_matrix import inertia_matrix


def gravity_torque(robot, q):
    """What holds a chain still: minus the work of the weights."""
    pose = np.eye(4)
    axes, found, q = [], np.zeros(robot.nq), iter(q)
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        pose = pose @ joint.placement.matrix
        axis = pose[:3, :3] @ joint.axis
        axes.append((joint.kind, axis, pose[:3, 3]))
        moved, k = np.eye(4), np.cross(joint.axis, np.eye(3)).T
        angle = next(q)
        if joint.kind == "revolute":
            moved[:3, :3] += math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
        else:
            moved[:3, 3] = np.multiply(joint.axis, angle)
        pose = pose @ moved
        com = pose[:3, :3] @ link.com + pose[:3, 3]
        for i, (kind, z, p) in enumerate(axes):
            found[i] -= link.mass * np.dot(robot.gravity, np.cross(z, com - p) if kind == "revolute" else z)
    return found


def test_names_and_get():
    trees = {"eel", "stanford", "two_link", "prismatic_revolute", "puma560", "rx90", "shuttle_arm", "hua_3r"}
    trees |= {"human"}
    machines = {"five_bar", "four_bar", "slider_crank", "sr400"}
    parallel = {"delta", "gough_stewart", "orthoglide", "planar_3rrr"}
    assert set(robots.names()) == trees | machines | parallel
    assert list(robots.names()) == sorted(robots.names())
    for name in robots.names():
        robot = robots.get(name)
        assert robot.name == name
        assert robot == robots.get(name) == getattr(robots, name)()
        assert isinstance(robot, Robot)
        assert bool(robot.loops) == (name in machines | parallel)
        assert (robot.tree is robot) == (name in trees and not robot.motors)
        assert ("platform" in robot.link_names) == (robot.independent == ("platform",)) == (name in parallel)
        assert not [finding for finding in (*examine(robot), *robot.check()) if finding.severity == "error"]
    with pytest.raises(RobotError, match="no robot 'puma'; did you mean 'puma560'"):
        robots.get("puma")
    with pytest.raises(RobotError, match="no robot 'fourbar'; did you mean 'four_bar'"):
        robots.get("fourbar")
    with pytest.raises(RobotError, match="it has: delta"):
        robots.get("zzzzzz")


def test_every_public_name_has_a_docstring():
    assert all(getattr(robots, name).__doc__ for name in robots.__all__)


def test_puma_gravity():
    found = gravity_torque(robots.puma560(), [0, pi / 4, pi, 0, pi / 4, 0])
    np.testing.assert_allclose(found, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5)


def test_puma_drives():
    joint = robots.puma560().joints[0]
    assert joint.rotor_inertia == pytest.approx(62.6111**2 * 200e-6)
    assert joint.viscous == pytest.approx(62.6111**2 * 1.48e-3)
    assert (joint.coulomb, joint.coulomb_reverse) == pytest.approx((62.6111 * 0.395, 62.6111 * 0.435))
    assert joint.gear_ratio == -62.6111


def test_stanford_is_guarinos():
    robot = robots.stanford()
    assert [joint.kind for joint in robot.joints] == ["revolute", "revolute", "prismatic"] + 3 * ["revolute"]
    assert robot.mass == pytest.approx(9.29 + 5.01 + 4.25 + 1.08 + 0.63 + 0.51)
    assert robot.joints[1].placement.translation == (0, 0.154, 0)
    np.testing.assert_allclose(robot.links[3].inertia_about_com, np.diag([2.51, 2.51, 0.006]), atol=1e-15)
    # Upright and at rest nothing loads joints 1, 4 and 6; the slide carries all beyond it.
    torque = gravity_torque(robot, [0.3, 0.0, 0.5, 0.2, 0.0, 0.4])
    assert torque[2] == pytest.approx(9.81 * (4.25 + 1.08 + 0.63 + 0.51))
    np.testing.assert_allclose(torque[[0, 3, 5]], 0, atol=1e-12)


def test_two_link_inertia_matrix_in_closed_form():
    robot = robots.two_link()
    q2 = -0.7
    c, inertia, m = 0.2, 0.1, 0.5
    m22 = inertia + m * c**2
    m12 = m22 + m * 0.4 * c * math.cos(q2)
    m11 = 2 * inertia + m * c**2 + m * (0.4**2 + c**2 + 2 * 0.4 * c * math.cos(q2))
    np.testing.assert_allclose(inertia_matrix(robot, np.array([0.4, q2])), [[m11, m12], [m12, m22]], rtol=1e-14)
    assert robot.gravity == (0, 0, 0)
    assert robot.joints[0].limits.effort == 10


@pytest.mark.parametrize("theta2", [0.0, pi / 2])
def test_prismatic_revolute_inertia_matrix_in_closed_form(theta2):
    robot = robots.prismatic_revolute(theta2)
    q2 = 0.6
    # The slide moves along y of frame 1, in which link 2 points at the angle theta2 + q2.
    coupling = 0.5 * 0.2 * math.cos(theta2 + q2)
    expected = [[1.0, coupling], [coupling, 0.1 + 0.5 * 0.2**2]]
    np.testing.assert_allclose(inertia_matrix(robot, np.array([0.1, q2])), expected, rtol=1e-14)


def test_rx90_geometry():
    robot = robots.rx90()
    assert robot.joints[2].placement.translation == (0.45, 0, 0)
    assert robot.joints[3].placement.translation == (0, 0.45, 0)
    assert not examine(robot)


def test_shuttle_arm():
    robot = robots.shuttle_arm()
    assert robot.mass == pytest.approx(358.52)
    assert robot.links[2].inertia == (3.225, 998.63, 997.18, -1.928, 9.185, -0.0302)
    assert not examine(robot)


@pytest.mark.parametrize("seed", range(5))
def test_general_chain_is_general_and_possible(seed):
    robot = robots.general_chain(12, seed)
    assert robot.nq == 12
    assert not examine(robot)
    for link, joint in zip(robot.links[1:], robot.joints, strict=True):
        assert all((link.mass, *link.first_moment, *link.inertia))
        assert all(joint.placement.translation)
    assert robot != robots.general_chain(12, seed + 1)


def test_general_chain_needs_a_joint():
    with pytest.raises(RobotError, match="at least one joint"):
        robots.general_chain(0)

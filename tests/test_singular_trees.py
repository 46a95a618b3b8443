"""Robots whose inertia matrix is singular, in every pose or in some: refused by name, or NaN and a warning."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import warnings

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot, RobotError, Transform
from neuler.passes.trees import grouped_tree
from neuler.passes.weightless import weightless
from random_robots import close, random_robot, random_states

BODY = {"mass": 3.0, "com": (0.1, 0.2, 0.3), "inertia": (0.2, 0.3, 0.4, 0.01, 0.02, 0.03)}
TURNED = Transform.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
METHODS = ("articulated", "nasser", "walker_orin")


def free_arm(placement=TURNED, base=None):
    """An arm of one joint on a free base, massless unless told."""
    links = [base or Link("body"), Link.from_com("arm", **BODY)]
    return Robot("free arm", links, [Joint("hinge", "revolute", "body", "arm", placement)]).with_free_base()


def two_slides(first=(1, 0, 0), second=(1, 0, 0), between=None, placement=None):
    links = [Link("base"), between or Link("carriage"), Link.from_com("load", **BODY)]
    joints = [
        Joint("x", "prismatic", "base", "carriage", axis=first),
        Joint("y", "prismatic", "carriage", "load", placement or Transform(), axis=second),
    ]
    return Robot("slides", links, joints)


def cardan():
    """Two hinges with nothing between and a rod: singular where the rod lies along the first axis."""
    links = [Link("base"), Link("cross"), Link.from_com("rod", mass=2.0, com=(0, 0, 0.5), inertia=(0.2, 0.2, 0.0))]
    joints = [
        Joint("turn", "revolute", "base", "cross", TURNED),
        Joint("tilt", "revolute", "cross", "rod", axis=(1, 0, 0)),
    ]
    return Robot("cardan", links, joints)


# ---- in every pose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placement", [Transform(), TURNED, Transform.rot_y(0.3, 0.1)])
@pytest.mark.parametrize("quantity", ["forward_dynamics", "forward_dynamics_sensitivities"])
def test_a_free_arm_with_a_massless_base_is_refused(placement, quantity):
    robot = free_arm(placement)
    assert any("singular" in str(finding) for finding in robot.check())
    with pytest.raises(
        RobotError, match=rf"^{quantity} of 'free arm': the joints .*'hinge'.* move no inertia together"
    ):
        robot.compile(quantity)
    assert np.isfinite(robot.inverse_dynamics(robot.neutral(), np.ones(7), np.ones(7))).all()
    whole = free_arm(placement, Link.from_com("body", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    assert np.isfinite(whole.forward_dynamics(whole.neutral(), np.ones(7), np.ones(7))).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("placement", [None, Transform(translation=(0.3, 0.1, 0.7)), Transform.rot_x(0.3)])
def test_two_parallel_slides_are_named_together(method, placement):
    robot = two_slides(placement=placement)
    with pytest.raises(RobotError, match="the joints 'x', 'y' move no inertia together, in any pose") as caught:
        robot.compile("forward_dynamics", method=method)
    assert "mass and inertia, one of them a rotor inertia, or fix one" in str(caught.value)


def test_what_makes_up_for_it():
    """Mass between, a rotor, or another direction; and a joint told its motion needs no inertia."""
    q = np.array([0.1, 0.2])
    rotor = two_slides()
    rotor = rotor.replace(joints=[dataclasses.replace(rotor.joints[0], rotor_inertia=0.1), rotor.joints[1]])
    for robot in (two_slides(between=Link("carriage", 0.5)), rotor, two_slides(second=(0, 1, 0))):
        found = robot.forward_dynamics(q, q, robot.inverse_dynamics(q, q, q))
        close(found, q, 1e-12)
    mixed = two_slides().compile("hybrid_dynamics", motion=("x",))
    assert np.isfinite(mixed(q, q, q)).all()
    with pytest.raises(RobotError, match="hybrid_dynamics of 'slides': the joints 'x', 'y'"):
        two_slides().compile("hybrid_dynamics", motion=())


def test_several_joints_that_move_nothing_are_all_named():
    links = [Link("base"), Link.from_com("arm", **BODY), Link("wrist"), Link("tip")]
    joints = [Joint(n, "revolute", links[k].name, links[k + 1].name, TURNED) for k, n in enumerate("abc")]
    with pytest.raises(RobotError, match="the joints 'b', 'c' move no inertia, so that accelerations"):
        Robot("arm", links, joints).compile("forward_dynamics")


# ---- in some poses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("off", [0.0, 1e-17, 5e-17, -1e-16, np.pi])
def test_a_singular_pose_is_nan_and_told_at_the_level_of_rounding(method, off):
    """Not only where the zero is exact: the sine of pi is 1e-16."""
    kernel = cardan().compile("forward_dynamics", method=method)
    q = np.array([[0.3, 0.5], [0.3, off]])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = kernel(q, np.ones((2, 2)), np.ones((2, 2)))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).any()
    (only,) = told
    assert "forward_dynamics of 'cardan': the inertia matrix is singular in this pose" in str(only.message)
    assert "'turn'" in str(only.message)
    assert "in 1 of 2 rows: 1" in str(only.message)


def test_near_a_singular_pose_the_numbers_are_right():
    robot = cardan()
    for tilt in (1e-3, 1e-2, 0.1, 1.0, 2.0):
        q, qd, tau = np.array([0.3, tilt]), np.array([0.2, -0.1]), np.array([1e-3, 0.5])
        expected = np.linalg.solve(robot.mass_matrix(q), tau - robot.bias_force(q, qd))
        for method in METHODS:
            close(robot.compile("forward_dynamics", method=method)(q, qd, tau), expected, 1e-9 / tilt)


def test_sensitivities_and_hybrid_dynamics_are_marked_too():
    robot, q = cardan(), np.array([0.3, 0.0])
    with pytest.warns(RuntimeWarning, match="singular in this pose"):
        assert np.isnan(robot.forward_dynamics_sensitivities(q, q, q)[2]).any()
    with pytest.warns(RuntimeWarning, match="hybrid_dynamics of 'cardan'.*'turn'"):
        assert np.isnan(robot.compile("hybrid_dynamics", motion=("tilt",))(q, q, q)).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(robot.compile("hybrid_dynamics", motion=("turn",))(q, q, q)).all()
        assert np.isnan(robot.forward_dynamics(np.array([np.nan, 1.0]), q, q)).any()  # NaN in, NaN out


def test_a_mass_that_slides_onto_the_axis():
    """What it feels falls with the square of the distance: rounding of zero is zero."""
    links = [Link("base"), Link("arm"), Link.from_com("bead", mass=1.0)]
    joints = [Joint("turn", "revolute", "base", "arm"), Joint("slide", "prismatic", "arm", "bead", axis=(1, 0, 0))]
    robot = Robot("bead", links, joints)
    with pytest.warns(RuntimeWarning, match="singular in this pose"):
        assert np.isnan(robot.forward_dynamics([0.1, 0.1 + 0.2 - 0.3], [0, 0], [1, 1])).any()
    close(robot.forward_dynamics([0.1, 1e-3], [0, 0], [1e-6, 1]), [1.0, 1.0], 1e-9)


# ---- who carries a guard ------------------------------------------------------------------------------------------


def test_only_robots_that_can_need_it_carry_a_guard():
    assert weightless(cardan()) == {"turn"}
    assert weightless(two_slides()) == {"x"}
    for name in neuler.robots.names():
        robot = neuler.robots.get(name)
        if not robot.loops and name != "human":  # whose joints lie at one point with nothing between them
            assert not weightless(robot), name
    seen = 0
    for seed in range(20):
        robot = random_robot(seed)
        physical = all(link.mass > 0 and np.linalg.eigvalsh(link.inertia_about_com)[0] > 0 for link in robot.links[1:])
        if physical:
            assert not grouped_tree(robot).usual
            seen += 1
    assert seen >= 3


def test_a_guard_changes_no_number():
    """A massless link in the middle of random trees: forward after inverse is the identity."""
    compared = 0
    for seed in range(8):
        robot = random_robot(seed)
        light = [Link(link.name) if k == 1 else link for k, link in enumerate(robot.links)]
        robot = robot.replace(links=light).without_motors()
        if not weightless(robot):
            continue  # that link is carried by no moving joint
        try:
            kernel = robot.compile("forward_dynamics")
        except RobotError:
            continue  # nothing behind it
        q, qd, qdd = random_states(robot, 50, seed)
        condition = np.linalg.cond(robot.mass_matrix(q)).max()
        close(kernel(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, 1e-14 * condition + 1e-11)
        compared += 1
    assert compared >= 3


def test_unphysical_links_keep_their_numbers():
    """A negative mass may cancel others: every joint below it is guarded, and where nothing cancels nothing changes."""
    links = [Link("base"), Link.from_com("arm", **BODY), Link("hole", mass=-0.5, first_moment=(-0.1, 0, 0))]
    joints = [Joint("a", "revolute", "base", "arm"), Joint("b", "revolute", "arm", "hole", TURNED, axis=(0, 1, 0))]
    robot = Robot("odd", links, [joints[0], dataclasses.replace(joints[1], rotor_inertia=0.1)])
    assert weightless(robot) == {"a", "b"}
    q = np.array([0.1, 0.2])
    close(robot.forward_dynamics(q, q, robot.inverse_dynamics(q, q, q)), q, 1e-12)


# ---- nothing that is there is taken for nothing ----------------------------------------------------------------------


@pytest.mark.slow
def test_light_fingers_of_heavy_robots_are_not_refused():
    """One massless link elsewhere, and inertias that differ by a factor of 1e12."""
    links = [
        Link("base"),
        Link.from_com("boom", mass=1e4, com=(5, 0, 0), inertia=(1e3, 1e5, 1e5)),
        Link("cross"),
        Link.from_com("hook", mass=100.0, com=(0, 0, -1), inertia=(10, 10, 1)),
        Link.from_com("finger", mass=1e-3, com=(0.003, 0, 0), inertia=(1e-8, 1e-8, 1e-8)),
    ]
    axes = [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    joints = [
        Joint(
            name, "revolute", links[k].name, links[k + 1].name, Transform.from_rpy((0.3 * k, 0, 0), (0, 0, 0.1)), axis
        )
        for k, (name, axis) in enumerate(zip("abcf", axes, strict=True))
    ]
    robot = Robot("crane", links, joints)
    assert not [finding for finding in robot.check() if finding.severity == "error"]
    q = np.array([0.1, 0.4, -0.3, 0.2])
    close(robot.forward_dynamics(q, 0 * q, robot.inverse_dynamics(q, 0 * q, np.ones(4))), np.ones(4), 1e-9)


def test_a_small_machine_is_not_singular_by_its_size():
    """A bead that travels micrometres: what it feels is measured by its own limits."""
    links = [Link("base"), Link("arm"), Link.from_com("bead", mass=1e-9)]
    limits = neuler.Limits(1e-6, 5e-6)
    joints = [
        Joint("turn", "revolute", "base", "arm"),
        Joint("slide", "prismatic", "arm", "bead", axis=(1, 0, 0), limits=limits),
    ]
    robot = Robot("bead", links, joints)
    q, rates = np.array([0.1, 2e-6]), np.zeros(2)
    close(robot.forward_dynamics(q, rates, robot.inverse_dynamics(q, rates, np.ones(2))), np.ones(2), 1e-9)


@pytest.mark.slow
def test_a_singular_pose_of_a_real_robot_is_told():
    """iCub's neck at zero: errors of the earlier eliminations make of nothing 1e-11 of what is felt elsewhere."""
    package = importlib.metadata.distribution("example-robot-data")
    path = package.locate_file("cmeel.prefix/share/example-robot-data/robots/icub_description/robots/icub.urdf")
    robot = neuler.load(str(path), floating="fixed")
    q, still = robot.neutral(), np.zeros(robot.nv)
    with pytest.warns(RuntimeWarning, match=r"singular in this pose: inertia that .*neck"):
        assert np.isnan(robot.forward_dynamics(q, still, still)).any()


@pytest.mark.parametrize("method", METHODS)
def test_single_precision_knows_its_own_rounding(method):
    kernel = cardan().compile("forward_dynamics", method=method, dtype="float32")
    with pytest.warns(RuntimeWarning, match="singular in this pose"):
        assert np.isnan(kernel([0.3, 1e-4], [0.1, 0.1], [1, 1])).any()
    assert np.isfinite(kernel([0.3, 0.3], [0.1, 0.1], [1, 1])).all()


def test_a_point_on_a_free_base_lacks_inertia_in_some_direction():
    for com in ((0, 0, 0), (0.1, 0.2, 0.3)):
        point = Robot("point", [Link.from_com("mass", mass=2.0, com=com)]).with_free_base()
        with pytest.raises(RobotError, match=r"'root_joint' moves no inertia in some direction.*about all axes"):
            point.compile("forward_dynamics")

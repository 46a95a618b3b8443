"""Free links along a motion: rates, sensitivities, centre of mass and momentum."""

import warnings

import numpy as np
import pytest

import neuler
from free_robots import (
    floating,
    motion,
    several,
    smooth,
    states,
)
from neuler import Joint, Link, Robot, RobotError, robots
from neuler.passes.trees import whole_tree
from neuler.recursions.hybrid import hybrid
from neuler.recursions.rates import torque_rates
from random_robots import (
    along,
    close,
    few,
    random_robot,
)

TOLERANCE = 1e-10

# ---- rates and sensitivities ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few([250, 251, 252], 1))
def test_torque_rates_along_a_motion(seed):
    robot = floating(seed) if seed % 2 else several(seed)
    path = motion(robot, seed)
    now = path(0.0)
    first = robot.inverse_dynamics_rate
    second = robot.compile("inverse_dynamics_rate", order=2)
    tau, rate = first(*now[:4])
    close(tau, robot.inverse_dynamics(*now[:3]), 1e-13)
    close(rate, along(lambda t: smooth(robot).inverse_dynamics(*path(t)[:3])) + _lost(robot, now), 1e-9)
    again, same, twice = second(*now)
    close(again, tau, 1e-13)
    close(same, rate, 1e-12)
    close(twice, along(lambda t: first(*path(t)[:4])[1]), 1e-9)


def _lost(robot, now):
    """The rate of viscous friction; Coulomb friction has none."""
    return np.array([joint.viscous for joint in robot.moving_joints for _ in range(joint.nv)]) * now[2]


@pytest.mark.parametrize("seed", [251, 252])
def test_reaction_rates_along_a_motion(seed):
    """Of every link and of the base itself: the rates of the components of the wrench that it feels."""
    robot = smooth(floating(seed) if seed % 2 else several(seed))
    tree, path = whole_tree(robot), motion(robot, seed)

    def reactions(t):
        q, v, a = (x.tolist() for x in path(t)[:3])
        return np.array(hybrid(tree, q, v, a, [True] * robot.nv).reactions)

    found = torque_rates(tree, *(x.tolist() for x in path(0.0)[:4]))
    close(found.reactions, reactions(0.0), 1e-13)
    close(found.reaction_rates, along(reactions), 1e-9)


@pytest.mark.parametrize("seed", [253, 254])
def test_link_motions_along_a_motion(seed):
    """Velocity, acceleration and jerk of every link's origin and of its rotation, by differences of poses."""
    robot = floating(seed) if seed % 2 else several(seed)
    path = motion(robot, seed)
    velocities, accelerations, jerks = robot.link_motions(*path(0.0)[:4])
    turn = robot.link_poses(path(0.0)[0])[:, :3, :3]

    def in_base(which, t):
        found = robot.link_motions(*path(t)[:4])[which].reshape(len(robot.links), 2, 3)
        return np.einsum("kij,kpj->kpi", robot.link_poses(path(t)[0])[:, :3, :3], found)

    def in_links(found):
        return np.einsum("kji,kpj->kpi", turn, found).reshape(-1, 6)

    close(velocities, robot.link_velocities(*path(0.0)[:2]), 1e-14)
    origin = along(lambda t: robot.link_poses(path(t)[0])[:, :3, 3])
    close(np.einsum("kji,kj->ki", turn, origin), velocities[:, :3], 1e-9, scale=1.0)
    close(accelerations, in_links(along(lambda t: in_base(0, t))), 1e-9)
    close(jerks, in_links(along(lambda t: in_base(1, t))), 1e-9)


def shifted(robot, q):
    """q moved along every velocity in turn by t: what a column of a sensitivity is the derivative to."""
    return lambda t: robot.integrate(q, np.eye(robot.nv), t)


@pytest.mark.parametrize("seed", few([255, 256], 1))
def test_sensitivities_by_differences(seed):
    robot = floating(seed) if seed % 2 else several(seed)
    q, v, a = (x[0] for x in states(robot, 1, seed))
    there, unit = shifted(robot, q), np.eye(robot.nv)
    bare = smooth(robot)
    expected = [
        along(lambda t: robot.inverse_dynamics(there(t), v, a)).T,
        along(lambda t: bare.inverse_dynamics(q, v + t * unit, a)).T
        + np.diag([joint.viscous for joint in robot.moving_joints for _ in range(joint.nv)]),
        along(lambda t: robot.inverse_dynamics(q, v, a + t * unit)).T,
    ]
    for method in ("recursion", "pass"):
        found = robot.compile("inverse_dynamics_sensitivities", method=method)(q, v, a)
        for mine, theirs in zip(found, expected, strict=True):
            close(mine, theirs, 1e-9)
    reactions = robot.reaction_sensitivities(q, v, a)
    close(reactions[0], np.moveaxis(along(lambda t: robot.reaction_wrenches(there(t), v, a)), 0, -1), 1e-9)
    close(reactions[1], np.moveaxis(along(lambda t: robot.reaction_wrenches(q, v + t * unit, a)), 0, -1), 1e-9)
    close(reactions[2], np.moveaxis(along(lambda t: robot.reaction_wrenches(q, v, a + t * unit)), 0, -1), 1e-9)


@pytest.mark.parametrize("seed", few([257, 258], 1))
def test_jacobians_and_outside_wrenches(seed):
    """J qd is the frame's screw, and J^T wrench is what a wrench changes in the joint forces."""
    robot = random_robot(seed).with_free_base()
    q, v, a = states(robot, 4, seed)
    wrench = np.random.default_rng(seed).normal(size=(4, 6))
    jacobian = robot.compile("jacobian", frame="tool")(q)
    close(np.einsum("kij,kj->ki", jacobian, v), robot.compile("link_velocities", frame="tool")(q, v), 1e-13)
    pushed = robot.compile("inverse_dynamics", external="tool")(q, v, a, wrench)
    tau = robot.inverse_dynamics(q, v, a)
    close(tau - pushed, np.einsum("kij,ki->kj", jacobian, wrench), 1e-11)
    world = robot.compile("jacobian", frame="tool", reference="world")(q)
    loaded = robot.compile("inverse_dynamics", loads="tool")(q, v, a, wrench)
    close(tau - loaded, np.einsum("kij,ki->kj", world, wrench), 1e-11)


# ---- the whole ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "robot", [random_robot(260), random_robot(261), floating(262), several(5)], ids=lambda robot: robot.name
)
def test_mass_centre_and_momentum_by_definition(robot):
    """Sums over links, from poses and velocities; the base's own mass counts."""
    q, v, _ = states(robot, 5)
    poses, screws = robot.link_poses(q), robot.link_velocities(q, v)
    place, turn = poses[..., :3, 3], poses[..., :3, :3]
    masses = np.array([link.mass for link in robot.links])
    coms = np.array([link.com for link in robot.links])
    about = np.array([link.inertia_about_com for link in robot.links])
    points = place + np.einsum("klij,lj->kli", turn, coms)
    centre = np.einsum("l,kli->ki", masses, points) / robot.mass
    close(robot.center_of_mass(q), centre, 1e-13)
    speeds = np.einsum("klij,klj->kli", turn, screws[..., :3] + np.cross(screws[..., 3:], coms))
    linear = np.einsum("l,kli->ki", masses, speeds)
    spin = np.einsum("klij,ljm,klm->kli", turn, about, screws[..., 3:])
    arms = np.cross(points - centre[:, None], masses[:, None] * speeds)
    momentum = np.hstack([linear, (spin + arms).sum(axis=1)])
    close(robot.centroidal_momentum(q, v), momentum, 1e-12)
    close(np.einsum("kij,kj->ki", robot.centroidal_matrix(q), v), momentum, 1e-12)
    close(np.einsum("kij,kj->ki", robot.center_of_mass_jacobian(q), v), linear / robot.mass, 1e-12)
    about_base = robot.momentum(q, v)
    close(about_base[:, 3:] - np.cross(centre, linear), momentum[:, 3:], 1e-11)
    _, potential = robot.energy(q, v)
    close(potential, -robot.mass * centre @ np.array(robot.gravity), 1e-12)


@pytest.mark.parametrize("seed", [263, 264])
def test_the_momentum_rate_along_a_motion(seed):
    robot = floating(seed) if seed % 2 else random_robot(seed)
    path = motion(robot, seed)
    rate = along(lambda t: robot.centroidal_momentum(*path(t)[:2]))
    close(robot.centroidal_momentum_rate(*path(0.0)[:3]), rate, 1e-9)
    speed = along(lambda t: robot.center_of_mass(path(t)[0]))
    close(robot.center_of_mass_jacobian(path(0.0)[0]) @ path(0.0)[1], speed, 1e-9)


def test_the_base_counts_where_it_has_mass():
    """A fixed base of 3 kg at x = 1 m, a slider of 1 kg at x = 5 m: the centre of mass is at x = 2 m."""
    robot = Robot(
        "slide",
        [Link.from_com("base", mass=3.0, com=(1, 0, 0)), Link.from_com("car", mass=1.0)],
        [Joint("rail", "prismatic", "base", "car", axis=(1, 0, 0))],
    )
    close(robot.center_of_mass([5.0]), [2.0, 0, 0], 1e-15)
    close(robot.center_of_mass_jacobian([5.0]), [[0.25], [0], [0]], 1e-15)
    close(robot.with_free_base().center_of_mass([0, 0, 0, 0, 0, 0, 1, 5.0]), [2.0, 0, 0], 1e-15)


def test_far_away_no_digit_is_lost():
    """Momentum about the centre of mass does not know how far the robot has flown."""
    robot = floating(265)
    q, v, a = states(robot, 10)
    far = q.copy()
    far[:, :3] += 1e9
    for found, expected in (
        (robot.centroidal_momentum(far, v), robot.centroidal_momentum(q, v)),
        (robot.centroidal_momentum_rate(far, v, a), robot.centroidal_momentum_rate(q, v, a)),
        (robot.centroidal_matrix(far), robot.centroidal_matrix(q)),
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_robot_without_mass_has_no_mass_centre():
    robot = Robot("air", [Link("base"), Link("a")], [Joint("j", "revolute", "base", "a", rotor_inertia=1.0)])
    for quantity in ("center_of_mass", "center_of_mass_jacobian", "centroidal_momentum", "centroidal_matrix"):
        with pytest.raises(RobotError, match="robot 'air' has a mass of 0 kg, so it has no centre of mass"):
            robot.compile(quantity)


def test_an_arm_in_free_fall():
    """By default hybrid dynamics is told the driven joints' motion and the free link's wrench."""
    robot = robots.puma560().with_free_base()
    assert (robot.nq, robot.nv, robot.joint_names[0]) == (13, 12, "root_joint")
    fall = robot.hybrid_dynamics(robot.neutral(), np.zeros(12), np.zeros(12))
    close(fall[:3], [0, 0, -9.81], 1e-12)
    close(fall[3:], np.zeros(9), 1e-11, scale=1.0)


def test_bad_quaternions_are_told_once_in_our_own_words():
    robot = neuler.robots.puma560().with_free_base()
    q, v = np.tile(robot.neutral(), (3, 1)), np.zeros((3, robot.nv))
    q[1, 3:7] = 0.0
    q[2, 3:7] *= 3.0
    for quantity in ("inverse_dynamics", "forward_dynamics", "link_poses", "energy", "inverse_dynamics_rate"):
        kernel = getattr(robot, quantity)
        for rows in (q[1], q[2]):  # an error, and no warning before it
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(neuler.InputError, match="the quaternion of joint 'root_joint'"):
                    kernel(rows, *[v[0]] * (len(kernel.inputs) - 1))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kernel(q, *[v] * (len(kernel.inputs) - 1))
        (only,) = told
        text = "has the length 0 instead of 1 in 2 of 3 rows: 1, 2 (that is no rotation at all: robot.neutral()"
        assert text in str(only.message)
    with pytest.raises(
        neuler.InputError, match=r"has the length 0 instead of 1; that is no rotation at all: robot.neutral\(\)"
    ):
        robot.inverse_dynamics(q[1], v[1], v[1])
    with pytest.raises(
        neuler.InputError, match=r"normalize: .* is zero; that is no rotation at all: robot.neutral\(\)"
    ):
        robot.normalize(q[1])
    assert np.isnan(robot.inverse_dynamics.ufunc(q, v, v)[1:]).any(axis=-1).all()

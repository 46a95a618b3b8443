"""Small plans of every kind of robot, each looked at without the planner: limits, ends, loops, momentum, springs."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import Coupling, Joint, Limits, Link, Motor, Robot, Transform, plan

POINTS = 3001


def times(found, count=POINTS):
    return np.linspace(0.0, found.duration, count)


def whole(robot, q):
    """Torques of all joints by the robot's own verb, of positions that the plan gives."""
    return robot.inverse_dynamics(q.q, q.qd, q.qdd)


def derived(found, count=4001):
    """Positions, velocities and accelerations belong together: differences of one are the next."""
    t = times(found, count)
    motion = found.at(t)
    for value, rate in ((motion.qd, motion.qdd),):
        slope = np.gradient(value, t, axis=0, edge_order=2)
        far = np.abs(t[:, None] - found.knots).min(axis=1) > 2.0 * (t[1] - t[0])  # at knots rates have corners
        assert np.abs(slope - rate)[far].max() < 2e-3 * (1.0 + np.abs(rate).max())
    return motion


def ends(found, start, goal, rest=True):
    motion = found.at(np.array([0.0, found.duration]))
    np.testing.assert_allclose(motion.q[0], start, atol=1e-9)
    np.testing.assert_allclose(motion.q[1], goal, atol=1e-9)
    if rest:
        np.testing.assert_allclose(motion.qd, 0.0, atol=1e-9)


def sure(found):
    assert found.valid, str(found)
    assert found.optimal
    return found


# ---- trees ---------------------------------------------------------------------------------------------------------


def body(name, mass):
    return Link.from_com(name, mass=mass, com=(0.2, 0.02, 0.0), inertia=(0.02, 0.05, 0.05))


def branched(**more):
    """A trunk with two arms, limits on all joints."""
    seats = [Transform(translation=(0.4, y, 0.0)) for y in (0.1, -0.1)]
    joints = [
        Joint("waist", "revolute", "base", "trunk", axis=(0, 0, 1), limits=Limits(-2.0, 2.0, 3.0, 15.0)),
        Joint("left", "revolute", "trunk", "arm", seats[0], (0, 0, 1), limits=Limits(-0.6, 2.0, 6.0, 8.0)),
        Joint("right", "prismatic", "trunk", "hand", seats[1], (1, 0, 0), limits=Limits(-0.1, 0.5, 1.0, 30.0)),
    ]
    links = [Link("base"), body("trunk", 2.0), body("arm", 1.0), body("hand", 0.8)]
    return Robot("branched", links, joints, gravity=(0.0, -9.81, 0.0), **more)


def test_a_tree_with_a_slide_keeps_its_joints_limits():
    robot = branched()
    start, goal = [0.0, 0.3, 0.0], [1.0, -0.55, 0.4]
    found = sure(plan.Plan(robot, start=start, goal=goal, control_points=10).solve())
    ends(found, start, goal)
    motion = derived(found)
    low, high, speed, effort = np.array(
        [[getattr(j.limits, name) for j in robot.joints] for name in ("lower", "upper", "velocity", "effort")]
    )
    assert (motion.q >= low - 1e-6 * (1 + abs(low))).all()
    assert (motion.q <= high + 1e-6 * (1 + abs(high))).all()
    assert (np.abs(motion.qd) <= speed + 1e-6 * (1 + speed)).all()
    tau = whole(robot, motion)
    assert (np.abs(tau) <= effort + 1e-6 * (1 + effort)).all()
    used = np.maximum(np.abs(tau) / effort, np.abs(motion.qd) / speed).max(axis=1)
    assert (used > 0.9).mean() > 0.8  # least time: something is always near its bound


@pytest.mark.slow
def test_a_coupled_joint_follows():
    """What follows has no profile: its motion is that of its leader, its inertia is felt."""
    robot = branched(couplings=[Coupling("right", "left", 0.2, 0.1)])
    assert robot.nq == 2
    start, goal = [0.0, 0.3], [1.0, -0.5]
    found = sure(plan.Plan(robot, start=start, goal=goal, control_points=10).solve())
    ends(found, start, goal)
    motion = derived(found)
    tau = whole(robot, motion)
    assert (np.abs(tau) <= np.array([15.0, 8.0]) * (1 + 1e-6) + 1e-6).all()
    free = branched()
    follow = 0.2 * motion.q[:, 1] + 0.1, 0.2 * motion.qd[:, 1], 0.2 * motion.qdd[:, 1]
    q, qd, qdd = (np.column_stack([x, y]) for x, y in zip(motion[:3], follow, strict=True))
    each = free.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, np.column_stack([each[:, 0], each[:, 1] + 0.2 * each[:, 2]]), atol=1e-9)


@pytest.mark.slow
def test_a_ball_joint():
    """Positions are quaternions of unit length, velocities their rates in the body's axes."""
    top = Link.from_com("top", mass=1.0, com=(0.0, 0.05, -0.3), inertia=(0.1, 0.12, 0.03))
    robot = Robot("top", [Link("base"), top], [Joint("neck", "spherical", "base", "top")], gravity=(0, 0, -9.81))
    axis = np.array([0.6, 0.64, 0.48])
    start, goal = np.array([0.0, 0.0, 0.0, 1.0]), np.array([*np.sin(0.9) * axis, np.cos(0.9)])
    task = plan.Plan(robot, start=start, goal=goal, limits=[plan.within(plan.torque, 4.0)], control_points=8)
    found = sure(task.solve())
    ends(found, start, goal)
    t = times(found)
    motion = derived(found)
    motion = found.at(t)
    np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 1.0, atol=1e-12)
    step = t[1] - t[0]
    for k in (300, 1500, 2700):  # log of the turn over two steps
        before, after = motion.q[k - 1], motion.q[k + 1]
        v, w = before[:3], before[3]
        turned = w * after[:3] - after[3] * v - np.cross(v, after[:3])
        np.testing.assert_allclose(turned / step, motion.qd[k], rtol=1e-4, atol=1e-4)
    assert np.abs(whole(robot, motion)).max() <= 4.0 + 5e-6


# ---- springs -------------------------------------------------------------------------------------------------------


def elastic():
    """Spong's model: rotors that turn with their gears alone."""
    motors = [
        Motor("one", "joint1", 50, inertia=2e-5, stiffness=100.0, viscous=1e-5, coupled=False),
        Motor("two", "joint2", 50, inertia=1e-5, stiffness=50.0, viscous=1e-5, coupled=False),
    ]
    return neuler.robots.two_link().replace(motors=motors)


@pytest.fixture(scope="module")
def sprung():
    limits = [plan.within(plan.torque, 10.0)]
    return plan.Plan(elastic(), start=[0.0, -2.0], goal=[1.0, -1.0], limits=limits, control_points=12).solve()


def test_springs_are_at_rest_at_both_ends(sprung):
    sure(sprung)
    motion = sprung.at(np.array([0.0, sprung.duration]))
    np.testing.assert_allclose(motion.q, [[0, -2, 0, -2], [1, -1, 1, -1]], atol=1e-9)  # slack: motors as the joints
    np.testing.assert_allclose(motion.qd, 0.0, atol=1e-8)
    np.testing.assert_allclose(motion.qdd[:, :2], 0.0, atol=1e-6)
    assert sprung.motion.profiles[0].degree == 5


def test_springs_alone_move_the_links(sprung):
    """The whole robot's equations: no force on the links but the springs', the motors' within their bounds."""
    robot, motion = sprung.robot, derived(sprung)
    tau = whole(robot, motion)
    np.testing.assert_allclose(tau[:, :2], 0.0, atol=1e-8)
    assert np.abs(tau[:, 2:]).max() <= 10.0 * (1 + 1e-6)
    np.testing.assert_allclose(sprung.torques(times(sprung, 4001)), tau, atol=1e-7)
    link = neuler.robots.two_link()
    spring = np.array([100.0, 50.0]) * (motion.q[:, 2:] - motion.q[:, :2])
    links = link.inverse_dynamics(motion.q[:, :2], motion.qd[:, :2], motion.qdd[:, :2])
    links[:, 0] += 1e-5 * motion.qdd[:, 0]  # the second rotor turns with the link that carries it
    np.testing.assert_allclose(spring, links, atol=1e-8)


def test_springs_cost_time(sprung):
    assert sprung.duration > 0.3919  # that of the same arm, rigid and without rotors


# ---- loops ---------------------------------------------------------------------------------------------------------


def closed(robot, q):
    return np.abs(np.asarray(robot.closure(q).open_by)).max()


@pytest.fixture(scope="module")
def linkage():
    robot = neuler.robots.five_bar()
    own = np.asarray(robot.neutral())[list(robot.mobility.choice.independent)]
    limits = [plan.within(plan.torque, 20.0)]
    return plan.Plan(robot, start=own, goal=own + [0.3, -0.2], limits=limits, control_points=8).solve()


def test_a_linkage_stays_closed(linkage):
    robot = sure(linkage).robot
    motion = linkage.at(times(linkage))
    assert motion.q.shape == (POINTS, robot.nq)
    assert closed(robot, motion.q) < 1e-9
    own = list(robot.mobility.choice.independent)
    expected = np.asarray(robot.neutral())[own]
    np.testing.assert_allclose(motion.q[0, own], expected, atol=1e-9)
    np.testing.assert_allclose(motion.q[-1, own], expected + [0.3, -0.2], atol=1e-9)
    np.testing.assert_allclose(motion.qd[[0, -1]], 0.0, atol=1e-9)
    assert np.abs(np.diff(motion.q, axis=0)).max() < 0.01  # no leap to another way of closing


def test_a_linkage_keeps_its_torques(linkage):
    robot = linkage.robot
    tau = whole(robot, linkage.at(times(linkage)))
    assert np.abs(tau).max() <= 20.0 * (1 + 1e-6)
    assert np.abs(tau).max() >= 20.0 * (1 - 1e-3)
    np.testing.assert_allclose(linkage.torques(times(linkage)), tau, atol=1e-8)


@pytest.mark.slow
def test_a_delta_robot():
    robot = neuler.robots.delta()
    names = ("platform_x", "platform_y", "platform_z")
    start, goal = (dict(zip(names, at, strict=True)) for at in ((-0.1, -0.03, -0.55), (0.12, 0.05, -0.5)))
    limits = [plan.within(plan.torque, 6.0)]
    found = plan.Plan(robot, start={"q": start}, goal={"q": goal}, limits=limits, control_points=10).solve()
    sure(found)
    motion = found.at(times(found))
    assert closed(robot, motion.q) < 1e-9
    assert np.abs(whole(robot, motion)).max() <= 6.0 * (1 + 1e-6)
    places = np.asarray(robot.compile("link_poses", frame="platform")(motion.q[[0, -1]]))[..., :3, 3]
    np.testing.assert_allclose(places, [list(start.values()), list(goal.values())], atol=1e-9)


# ---- bases without motors ------------------------------------------------------------------------------------------


def test_a_cart_without_a_motor_is_moved_by_its_arm():
    """Nothing pushes along the rail: momentum stays zero, and the common centre of mass where it was."""
    joints = [
        Joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0), role="passive"),
        Joint("hinge", "revolute", "cart", "arm", axis=(0, 0, 1)),
    ]
    arm = Link.from_com("arm", mass=1.0, com=(0.4, 0.0, 0.0), inertia=(0.01, 0.05, 0.05))
    cart = Link.from_com("cart", mass=3.0, com=(0.0, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    robot = Robot("cart", [Link("base"), cart, arm], joints, gravity=(0, 0, 0))
    goal = plan.Boundary(q={"hinge": 2.0}, qd={"hinge": 0.0})
    found = plan.Plan(robot, plan.effort(), start=[0.0, 0.3], goal=goal, duration=1.0, control_points=30).solve()
    sure(found)
    t = times(found)
    motion = found.at(t)
    momentum = np.asarray(robot.centroidal_momentum(motion.q, motion.qd))
    assert np.abs(momentum[:, 0]).max() < 1e-5
    centre = 4.0 * motion.q[:, 0] + 0.4 * np.cos(motion.q[:, 1])
    np.testing.assert_allclose(centre, centre[0], atol=1e-6)
    tau = whole(robot, motion)
    assert np.abs(tau[:, 0]).max() <= 1e-6
    assert motion.q[-1, 1] == pytest.approx(2.0, abs=1e-9)
    assert motion.qd[-1, 1] == pytest.approx(0.0, abs=1e-9)
    assert abs(motion.q[-1, 0] - 0.1 * (np.cos(0.3) - np.cos(2.0))) < 1e-6


@pytest.mark.slow
def test_a_free_base_keeps_its_momentum():
    craft = Link.from_com("craft", mass=3.0, com=(0.02, 0.0, 0.01), inertia=(0.1, 0.12, 0.15))
    arm = Link.from_com("arm", mass=1.0, com=(0.3, 0.0, 0.02), inertia=(0.01, 0.05, 0.05))
    hinge = Joint("hinge", "revolute", "craft", "arm", Transform(translation=(0.2, 0.1, 0.0)), (0.0, 0.6, 0.8))
    robot = Robot("craft", [craft, arm], [hinge], gravity=(0, 0, 0)).with_free_base()
    start = np.asarray(robot.neutral(), dtype=float)
    task = plan.Plan(robot, plan.effort(), start=start, goal={"hinge": 0.8}, duration=0.6, control_points=16)
    found = sure(task.solve())
    motion = found.at(times(found))
    np.testing.assert_allclose(motion.q[0], start, atol=1e-9)
    assert motion.q[-1, 7] == pytest.approx(0.8, abs=1e-9)
    momentum = np.asarray(robot.centroidal_momentum(motion.q, motion.qd))
    assert np.abs(momentum).max() < 1e-5
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    assert np.abs(whole(robot, motion)[:, :6]).max() <= 1e-6
    assert np.abs(motion.q[-1, 3:6]).max() > 0.01  # the base turns
    np.testing.assert_allclose(motion.qd[-1], 0.0, atol=1e-5)


@pytest.mark.slow
def test_joints_that_loops_move_keep_their_limits():
    robot = neuler.robots.five_bar()
    start = np.asarray(robot.neutral(), dtype=float)
    places = [robot.joint_names.index(name) for name in robot.mobility.independent]
    goal = start[places] + [0.3, -0.2]
    follower = next(k for k in range(robot.nq) if k not in places)
    name = robot.joint_names[follower]

    def planned(limits):
        joints = [dataclasses.replace(j, limits=limits) if j.name == name else j for j in robot.joints]
        torque = plan.within(plan.torque, 30.0)
        return plan.Plan(
            robot.replace(joints=joints), start=start, goal=goal, limits=[torque], control_points=10
        ).solve()

    def speeds(found):
        t = np.linspace(0.0, found.duration, 2001)
        motion = found.at(t)
        return (robot.coupling_matrix(motion.q) @ motion.qd[..., None])[:, follower, 0], motion.q[:, follower]

    free = planned(neuler.Limits())
    fast, way = speeds(free)
    slow = planned(neuler.Limits(velocity=0.5 * np.abs(fast).max()))
    assert slow.valid
    assert np.abs(speeds(slow)[0]).max() <= 0.5 * np.abs(fast).max() + 1e-5
    assert slow.duration > 1.1 * free.duration
    ends = sorted([way[0], way[-1]])
    wall = planned(neuler.Limits(lower=ends[0] - 1e-3, upper=ends[1] + 1e-3))
    assert wall.valid
    assert ends[0] - 1.1e-3 < speeds(wall)[1].min() < speeds(wall)[1].max() < ends[1] + 1.1e-3

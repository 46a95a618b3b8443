"""Plans that problem files ask for."""

from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import FormatError, Transform, plan
from neuler.files.problems import Problem
from neuler.plan.problem import read_plan

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
HEAD = """
[robot]
name = "two_link"
[start]
q = [0.0, -2.0]
[goal]
q = [1.0, -1.0]
[plan]
control_points = 8
"""


def planning(text, head=HEAD):
    return read_plan(Problem.of_text(head + text))


def told(text, head=HEAD):
    with pytest.raises(FormatError) as error:
        planning(text, head)
    return str(error.value)


# ---- what is asked for -----------------------------------------------------------------------------


def test_a_problem_is_what_it_says():
    """The same plan, stated in Python."""
    task = planning("""
duration = [0.2, 2.0]
degree = 4
[objective]
duration = 0.9
effort = 1e-3
torque_rate = 1e-6
[[limit]]
measure = "torque"
bound = {joint1 = 12.0, joint2 = 9.0}
[[limit]]
measure = "velocity"
lower = -9.0
upper = 6.0
joints = "joint1"
[[via]]
at = 0.5
q = {joint1 = 0.7}
[[payload]]
frame = "tool"
mass = 0.3
""")
    found = task.run()
    wanted = plan.Plan(
        neuler.robots.two_link(),
        0.9 * plan.duration() + 1e-3 * plan.effort() + 1e-6 * plan.torque_rate_effort(),
        start=[0.0, -2.0],
        goal=[1.0, -1.0],
        limits=[
            plan.within(plan.torque, {"joint1": 12.0, "joint2": 9.0}),
            plan.limit(plan.velocity, -9.0, 6.0, joints="joint1"),
        ],
        via=[plan.Via(0.5, q={"joint1": 0.7})],
        payload=plan.Payload("tool", 0.3),
        duration=(0.2, 2.0),
        degree=4,
        control_points=8,
    ).solve()
    assert found.valid
    assert found.duration == wanted.duration
    t = np.linspace(0, found.duration, 50)
    np.testing.assert_array_equal(found.torques(t), wanted.torques(t))
    assert found.at(found.duration / 2).q[0] == pytest.approx(0.7, abs=1e-9)
    assert found.at(t).qd[:, 0].max() < 6.0 + 1e-5
    assert found.robot == neuler.robots.two_link().with_payload("tool", 0.3)


def test_poses_of_frames_in_every_spelling():
    """Position alone, and turned by rpy, a quaternion or a matrix: the same pose."""
    text = """
[robot]
name = "puma560"
friction = false
[start]
q = [0.0, 0.6, 2.6, 0.0, 0.5, 0.0]
[[goal.pose]]
frame = "link6"
position = [0.3, 0.35, 0.2]
{}
"""
    half = float(np.sqrt(0.5))
    turns = [
        "rpy = [3.141592653589793, 0.0, 1.5707963267948966]",
        f"quaternion = [{half!r}, {half!r}, 0.0, 0.0]",
        "rotation = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]",
    ]
    goals = []
    for turn in turns:
        task = planning(text.format(turn), "")
        goals.append(task.plan._given["goal"].poses["link6"])
    for pose in goals:
        np.testing.assert_allclose(pose[:3, :3], [[0, 1, 0], [1, 0, 0], [0, 0, -1]], atol=1e-12)
        np.testing.assert_allclose(pose[:3, 3], [0.3, 0.35, 0.2])
    assert planning(text.format(""), "").plan._given["goal"].poses["link6"].shape == (3,)


def test_phases_with_ends_and_limits_of_their_own():
    task = planning(
        """
[robot]
name = "two_link"
[start]
q = [0.0, 0.0]
[[phase]]
name = "out"
control_points = 8
[phase.end]
q = {joint1 = 0.6}
qd = "free"
[[phase]]
name = "back"
control_points = 8
[phase.end]
q = [0.2, 0.3]
[[phase.limit]]
measure = "torque"
bound = 4.0
""",
        "",
    )
    found = task.run()
    assert found.valid
    assert len(found.phases) == 2
    middle = found.motion.breaks[1]
    assert found.at(middle).q[0] == pytest.approx(0.6, abs=1e-8)
    late = np.linspace(middle, found.duration, 200)
    assert np.abs(found.torques(late)).max() < 4.0 + 1e-4
    assert np.abs(found.torques(np.linspace(0, 0.9 * middle, 200))).max() > 6.0
    assert "phases:" in str(found)


def test_obstacles_are_kept_clear_of_and_drawn():
    """The straight way of the tip leads through the sphere."""
    task = planning("""
[objective]
duration = 1.0
effort = 1e-3
[[obstacle]]
kind = "sphere"
center = [0.62, -0.05, 0.0]
radius = 0.1
[[obstacle]]
kind = "capsule"
a = [1.5, 0.0, 0.0]
b = [1.5, 1.0, 0.0]
radius = 0.1
[[obstacle]]
kind = "half_space"
point = [0.0, -2.0, 0.0]
normal = [0.0, 1.0, 0.0]
[[obstacle]]
kind = "box"
name = "crate"
center = [-0.9, 0.0, 0.1]
size = [0.2, 0.3, 0.4]
rpy = [0.0, 0.0, 0.5]
[[ball]]
frame = "tool"
radius = 0.02
[clearance]
margin = 0.01
""")
    found = task.run()
    assert found.valid
    q = found.at(np.linspace(0, found.duration, 400)).q
    x = 0.4 * np.cos(q[:, 0]) + 0.4 * np.cos(q.sum(axis=1))
    y = 0.4 * np.sin(q[:, 0]) + 0.4 * np.sin(q.sum(axis=1))
    assert np.hypot(x - 0.62, y + 0.05).min() > 0.13 - 1e-6
    assert len(found.scenery) == 4
    assert found.scenery[3] == plan.Box((-0.9, 0.0, 0.1), (0.2, 0.3, 0.4), Transform.rot_z(0.5).rotation, "crate")
    figure = found.figures()["motion"]
    assert len(figure.axes[0].collections) > 5


def test_relations():
    swing = planning(
        """
[robot]
name = "two_link"
[plan]
duration = 1.0
control_points = 8
[objective]
effort = 1.0
[start]
q = {joint1 = 0.1}
qd = "free"
[[via]]
at = 0.5
q = {joint1 = 0.5, joint2 = 0.3}
[[relation]]
end = "joint1"
start = "joint1"
[[relation]]
end = "joint2"
start = "joint2"
""",
        "",
    ).run()
    for a, b in zip(swing.at(0.0)[:3], swing.at(1.0)[:3], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


# ---- Barman --------------------------------------------------------------------------------------


def test_barman_4_1():
    """With 80 control points T <= 0.3920; torques within their bounds; the exact switching times; a double peak."""
    found = read_plan(Problem.read(EXAMPLES / "barman_4_1.toml")).run()
    assert found.valid
    assert 0.39185454 < found.duration <= 0.3920
    t = np.linspace(0, found.duration, 20001)
    tau = found.torques(t)
    assert np.abs(tau).max() <= 10.0 + 1.1e-5
    first = t[np.flatnonzero(np.diff(np.sign(tau[:, 0])))]
    second = t[np.flatnonzero(np.diff(np.sign(tau[:, 1])))]
    np.testing.assert_allclose(first, [0.19592727], rtol=0.02)
    np.testing.assert_allclose(second, [0.04570932, 0.23530043], rtol=0.02)
    force = found.forces(t)
    early, between, late = (force[(t > a) & (t < b)] for a, b in ((0, 0.04), (0.06, 0.18), (0.2, 0.23)))
    assert (early.max(axis=0) > 2.5 * between.max(axis=0)).all()  # Figure 4.3: two peaks
    assert (late.max(axis=0) > 2.0 * between.max(axis=0)).all()
    assert early[:, 0].max() > early[:, 1].max()
    run = found.replay(audit=False)
    assert np.abs(run.q[-1] - [1.0, -1.0]).max() < 1e-4


@pytest.mark.parametrize(
    ("name", "duration", "objective"), [("barman_4_2", 0.6463, 0.8531), ("barman_4_2_no_offset", 0.5858, 0.7733)]
)
def test_barman_4_2(name, duration, objective):
    found = read_plan(Problem.read(EXAMPLES / f"{name}.toml")).run()
    assert found.valid
    assert found.duration == pytest.approx(duration, rel=2e-3)
    assert found.objective == pytest.approx(objective, rel=2e-3)


def test_the_other_reading_is_the_robot_without_an_offset():
    """q_2 less pi/2 on the catalogue's robot is q_2 on that of theta2 = 0."""
    robot, bare = neuler.robots.prismatic_revolute(), neuler.robots.prismatic_revolute(theta2=0.0)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 20, 2))
    shifted = q - [0.0, np.pi / 2]
    np.testing.assert_allclose(robot.inverse_dynamics(shifted, qd, qdd), bare.inverse_dynamics(q, qd, qdd), atol=1e-12)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("control_point = 3", "control_point: unknown key; did you mean 'control_points'"),
        ('solver = "ipop"', "did you mean 'ipopt'"),
        ("mesh = [20, 8]", "whole numbers of control points that grow"),
        ("duration = [2.0, 1.0]", "the least duration 2 s is above the most"),
        ('knots = "uniforn"', "did you mean 'uniform'"),
        ("[objective]\ntime = 1.0", "time: unknown key"),
        ("[objective]\neffort = -1.0", "0 or more"),
        ('[[limit]]\nmeasure = "torqe"\nbound = 1.0', "did you mean 'torque'"),
        ('[[limit]]\nmeasure = "jerk"', "[limit] 1: within: robots have no limits of jerk"),
        ('[[limit]]\nmeasure = "torque"\nbound = 1.0\nupper = 2.0', "stands for both sides"),
        ('[[limit]]\nmeasure = "torque"\nlower = 2.0\nupper = 1.0', "is above the upper bound"),
        ('[[limit]]\nmeasure = "torque"\nbound = 1.0\njoints = ["joint9"]', "there is no 'joint9'"),
        ('[[limit]]\nmeasure = "frame_position"\nupper = 1.0', "expected a key 'frame'"),
        ("[[via]]\nat = 1.5\nq = [0.0, 0.0]", "a share between 0 and 1"),
        ("[[via]]\nat = 0.5", "give a position q"),
        ('[[goal.pose]]\nframe = "hand"\nposition = [0, 0, 0]', "there is no 'hand'"),
        ('[[goal.pose]]\nframe = "tool"\nposition = [0, 0]', "a list of 3 numbers"),
        ('[[goal.pose]]\nframe = "tool"\nposition = [0, 0, 0]\nquaternion = [0, 0, 0, 2]', "of length one"),
        ('[[goal.pose]]\nframe = "tool"\nposition = [0, 0, 0]\nrpy = [0, 0, 0]\nquaternion = [0, 0, 0, 1]', "keep one"),
        ('[[obstacle]]\nkind = "sphere"\ncenter = [0, 0, 0]\nradius = 0.1', "expected tables [[ball]]"),
        ('[[obstacle]]\nkind = "box"\ncenter = [0, 0, 0]\nsize = [1, 1, 0]', "size must be three edges above zero"),
        ('[[obstacle]]\nkind = "box"\ncenter = [0, 0, 0]', "size"),
        ('[[obstacle]]\nkind = "cube"', "there is no 'cube'"),
        ('[[ball]]\nframe = "tool"\nradius = 0.0', "positive number"),
        ('[output]\ntables = ["xls"]', "there is no 'xls'"),
        ('[[payload]]\nframe = "tool"\nmass = "x"', "expected a number"),
        ("[[phase]]\nduration = 1.0\n[phase.end]\nq = [0.0, 0.0]", "goal and the end of the last phase"),
        ('[[relation]]\nend = "joint1"\nstart = "joint8"', "joint8"),
    ],
)
def test_what_is_refused(text, words):
    assert words in told(text)


def test_the_start_may_be_wrong():
    head = '[robot]\nname = "two_link"\n[start]\nq = {}\n'
    assert "expected 2 numbers" in told("", head.format("[0.0]"))
    assert "expected a list of numbers or a table" in told("", head.format('"zero"'))
    assert "there is no 'joint7'" in told("", head.format("{joint7 = 0.0}"))
    assert "expected a list of 2 numbers" in told("", head.format('[0.0, "a"]'))

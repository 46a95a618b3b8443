"""Hard tasks of planning: weak motors, passive joints, friction, idle joints and jumps, beside their known answers."""

import importlib.metadata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import Joint, Limits, Link, Robot, plan
from neuler.errors import InputError
from neuler.plan import solve as solving
from neuler.plan.polish import LOSS, squared_jerks
from random_robots import few

BANG_BANG = 0.39185454
"""Least time of Barman's first task (s), of the exact switching times."""


def two_link(**more):
    given = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "limits": [plan.within(plan.torque, 10.0)]} | more
    return plan.Plan(neuler.robots.two_link(), **given)


def sure(found):
    assert found.valid, str(found)
    return found


def points(found):
    return [mine.control_point_count for mine in found.motion.profiles]


def point_mass(name, mass, at=(0.0, 0.0, 0.0)):
    return Link.from_com(name, mass=mass, com=at, inertia=(0.0, 0.0, 0.0))


# ---- jumps between phases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("continuity", "more", "valid", "words"),
    [
        (None, [plan.within(plan.torque_rate, 500.0)], True, ""),
        (0, [], False, "velocity where phases 1 and 2 meet"),
        (1, [], True, ""),
        (1, [plan.within(plan.torque_rate, 500.0)], False, "acceleration where phases 1 and 2 meet"),
    ],
)
def test_jumps_count_against_the_limits_that_they_imply(continuity, more, valid, words):
    way = plan.Boundary([0.5, -1.2], qd=None)
    phases = [plan.Phase(end=way, continuity=continuity), plan.Phase(end=[1.0, -1.0])]
    limits = [plan.within(plan.torque, 10.0), *more]
    found = two_link(goal=None, phases=phases, limits=limits, control_points=10).solve(guesses=1)
    assert found.valid is valid, str(found)
    assert words in str(found)
    before, after = (found.at(found.breaks[1] + side) for side in (-1e-9, 0.0))
    jump = np.abs(after.qd - before.qd).max()
    assert (jump > 1.0) == (continuity == 0)
    if not valid:
        assert "would be infinite" in found.violations[0].remedy


# ---- switches and idle joints ----------------------------------------------------------------------------------------


def test_knots_stand_at_the_switches():
    found = sure(two_link(degree=4).solve())
    assert points(found)[0] <= 30
    assert 0.0 < found.duration - BANG_BANG < 1e-4
    torques = np.abs(found.torques(np.linspace(0.0, found.duration, 4001)))
    assert torques.max() <= 10.0 + 1.1e-5
    coarse = sure(two_link(degree=4, knots=np.linspace(0.0, 1.0, 17)).solve())  # knots that are given stay
    assert points(coarse) == [20]
    assert coarse.duration - BANG_BANG > 1e-3


def test_one_switch_in_the_middle_is_exact():
    slide = Joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), limits=Limits(effort=10.0))
    robot = Robot("slider", [Link("base"), point_mass("block", 2.0)], [slide])
    found = sure(plan.Plan(robot, start=[0.0], goal=[1.7]).solve())
    assert found.duration == pytest.approx(2.0 * np.sqrt(1.7 * 2.0 / 10.0), rel=5e-5)


@pytest.fixture(scope="module")
def ur5():
    package = importlib.metadata.distribution("example-robot-data")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return neuler.load(folder / "ur_description/urdf/ur5_robot.urdf")


def travel(found, joint):
    q, qd = found.evaluate(np.linspace(0.0, found.duration, 4001), 1)
    moving = np.sign(qd[np.abs(qd[:, joint]) > 1e-6, joint])
    return np.abs(np.diff(q[:, joint])).sum(), int((np.diff(moving) != 0.0).sum())


@pytest.mark.slow
def test_a_joint_that_need_not_move_rests(ur5):
    task = plan.Plan(ur5, start=np.zeros(6), goal=[0.0, -1.2, 1.0, -0.5, -1.57, 0.0])
    rough, smooth = sure(task.solve(polish=False)), sure(task.solve())
    way, turns = travel(smooth, 5)
    assert way < 0.05
    assert turns <= 2
    assert smooth.duration <= 0.5168
    assert smooth.objective <= rough.objective + LOSS * (1.0 + rough.objective)
    assert squared_jerks(smooth.motion).sum() < 0.1 * squared_jerks(rough.motion).sum()
    assert any("polished" in note for note in smooth.notes)
    assert not any("polished" in note for note in rough.notes)
    limits = np.array([joint.limits.effort for joint in ur5.joints if joint.moves])
    torques = np.abs(smooth.torques(np.linspace(0.0, smooth.duration, 4001)))
    assert (torques <= limits + 1.01e-6 * (1.0 + limits)).all()


def test_what_the_objective_decides_is_not_polished():
    for objective in (plan.effort(), plan.energy()):
        found = sure(two_link(objective=objective, duration=0.6, control_points=10).solve())
        assert not any("polished" in note for note in found.notes)


# ---- first guesses ---------------------------------------------------------------------------------------------------


def pendulum():
    hinge = Joint("hinge", "revolute", "base", "bob", axis=(0, 0, 1))
    return Robot("pendulum", [Link("base"), point_mass("bob", 1.0, (0.0, -1.0, 0.0))], [hinge], gravity=(0, -9.81, 0))


def swing():
    return plan.Plan(pendulum(), start=[0.5], goal=[np.pi - 0.5], limits=[plan.within(plan.torque, 9.9)])


def test_weak_motors_get_several_first_guesses():
    one, several = sure(swing().solve(guesses=1)), sure(swing().solve())
    assert one.duration > 1.5
    assert several.duration == pytest.approx(1.34029, rel=3e-3)  # bang-bang, by its phase plane
    assert any("first guesses" in note for note in several.notes)


def test_the_answer_does_not_depend_on_processes(monkeypatch):
    here = swing().solve()
    monkeypatch.setattr(solving, "WORTH", 0.0)
    monkeypatch.setattr(solving, "cores", lambda: 2)
    there = swing().solve()
    assert np.array_equal(here.motion.x, there.motion.x)
    assert here.iterations == there.iterations


def test_strong_motors_need_one_guess():
    assert not any("first guesses" in note for note in two_link(control_points=10).solve().notes)


def test_a_goal_pose_is_reached_within_the_limits_of_positions():
    """The nearest posture has its elbow on the side that limits forbid."""
    limits = [plan.limit(plan.position, lower={"joint2": -2.5}, upper={"joint2": -0.3}), plan.within(plan.torque, 20.0)]
    robot = neuler.robots.two_link()
    pose = robot.link_poses([0.2, -0.9], frame="tool")[:3, 3]
    for start in ([0.0, -0.4], [-1.5, -0.35]):
        goal = plan.Boundary(poses={"tool": pose})
        found = sure(plan.Plan(robot, start=start, goal=goal, limits=limits, control_points=12).solve())
        end = found.evaluate(np.array([found.duration]), 0)[0][0]
        np.testing.assert_allclose(robot.link_poses(end, frame="tool")[:3, 3], pose, atol=1e-6)


def test_iterations_are_those_of_all_solves_together():
    found = two_link(control_points=10).solve(iterations=7, guesses=1)
    assert found.iterations <= 7
    assert found.status == "limit"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"guesses": 0}, "guesses must be a whole number"),
        ({"guesses": 2.5}, "guesses must be a whole number"),
        ({"polish": 1}, "polish must be True or False"),
        ({"iterations": 0}, "iterations"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(InputError, match=words):
        two_link(control_points=10).solve(**options)


# ---- magnitudes ------------------------------------------------------------------------------------------------------


def test_energy_is_the_integral_of_the_size_of_power():
    task = two_link(objective=plan.energy(), duration=0.6, control_points=12)
    found = sure(task.solve())
    t = np.linspace(0.0, found.duration, 20001)
    power = np.abs(found.along(plan.power, t)).sum(axis=1)
    assert found.objective == pytest.approx(np.trapezoid(power, t), rel=1e-4)
    assert found.optimal
    assert found.iterations < 300
    least = two_link(objective=plan.effort(), duration=0.6, control_points=12).solve()
    other = np.abs(least.along(plan.power, t)).sum(axis=1)
    assert found.objective < np.trapezoid(other, t) - 1e-3


def test_a_limit_of_energy_over_the_whole_motion():
    free = sure(two_link(control_points=10).solve(polish=False))
    t = np.linspace(0.0, free.duration, 20001)
    spent = np.trapezoid(np.abs(free.along(plan.power, t)).sum(axis=1), t)
    limits = [plan.within(plan.torque, 10.0), plan.total(plan.energy(), upper=0.8 * spent)]
    found = sure(two_link(limits=limits, control_points=10).solve(polish=False))
    t = np.linspace(0.0, found.duration, 20001)
    assert np.trapezoid(np.abs(found.along(plan.power, t)).sum(axis=1), t) <= 0.8 * spent * (1.0 + 1e-4)
    assert found.duration > free.duration


def test_magnitudes_are_made_small_alone():
    with pytest.raises(InputError, match="must not be negative"):
        -1.0 * plan.energy()
    with pytest.raises(InputError, match="upper bound alone"):
        plan.total(plan.energy(), lower=1.0)


# ---- joints without motors -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cart_swings_its_pole_up():
    """Least effort 58.807667 N^2 s, by Pontryagin's conditions; the hinge is free at all times."""
    links = [Link("base"), point_mass("cart", 1.0), point_mass("pole", 0.3, (0.0, -0.5, 0.0))]
    joints = [
        Joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0)),
        Joint("hinge", "revolute", "cart", "pole", axis=(0, 0, 1), role="passive"),
    ]
    robot = Robot("cart_pole", links, joints, gravity=(0.0, -9.81, 0.0))
    found = sure(plan.Plan(robot, plan.effort(), start=[0, 0], goal=[1.0, np.pi], duration=2.0).solve())
    assert found.objective == pytest.approx(58.807667, rel=1e-5)
    q, qd, qdd = found.evaluate(np.linspace(0.0, 2.0, 5001), 2)
    assert np.abs(robot.inverse_dynamics(q, qd, qdd)[:, 1]).max() <= 1e-6


# ---- friction --------------------------------------------------------------------------------------------------------

MOST = np.array([97.6, 186.4, 89.4, 24.2, 20.1, 21.3])


@pytest.mark.parametrize("seed", few([2, 0], 1))
def test_torques_hold_with_the_friction_that_the_robot_has(seed):
    robot = neuler.robots.puma560()
    start, goal = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, 6))
    limits = [plan.within(plan.torque, MOST), plan.within(plan.velocity, 4.0)]
    found = sure(plan.Plan(robot, start=start, goal=goal, limits=limits).solve())
    q, qd, qdd = found.evaluate(np.linspace(0.0, found.duration, 20001), 2)
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)) <= MOST + 1.01e-6 * (1.0 + MOST)).all()
    assert found.summary()["valid"]
    assert found.summary()["valid_smoothed"]


def test_what_holds_with_rounded_friction_alone_is_told():
    """Not refined, the plan knows nothing of the friction that is rounded off at its ends."""
    arm = neuler.robots.two_link()
    robot = arm.replace(joints=[replace(joint, coulomb=2.0) if joint.moves else joint for joint in arm.joints])
    limits = [plan.within(plan.torque, 10.0)]
    task = plan.Plan(robot, start=[0.0, -2.0], goal=[1.0, -1.0], limits=limits, grid=5, friction_width=1.0)
    found = task.solve(refine=False, valid_to=5e-2, guesses=1)
    assert not found.valid
    assert found.valid_smoothed
    assert "rounded friction only" in str(found).splitlines()[0]
    summary = found.summary()
    assert (summary["valid"], summary["valid_smoothed"]) == (False, True)

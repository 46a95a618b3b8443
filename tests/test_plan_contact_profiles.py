"""Forces of all contacts as variables at grid points; contacts that carry in turn; contacts that are not held."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np
import pytest

from legged_robots import biped, crouched, hopper, sole, standing, tip
from neuler import plan
from neuler.errors import InputError
from neuler.moments.contact import PROFILES
from neuler.moments.sharing import in_turn

pytest.importorskip("scipy")
sys.path.append(str(Path(__file__).parents[1] / "examples"))
import plan_step


@functools.cache
def stepped(split):
    return plan_step.task(plan_step.robot(), split).solve()


@pytest.mark.slow
def test_a_step_with_forces_at_grid_points():
    """The effort is that of splines of forces, within what two minima side by side differ by; nothing else pushes."""
    found = stepped(PROFILES)
    assert found.valid, str(found)
    assert found.objective == pytest.approx(stepped("free").objective, rel=0.03)
    t = np.linspace(0.0, found.duration, 777)
    assert np.abs(found.torques(t)[:, :3]).max() < 1e-9


@pytest.mark.slow
def test_forces_between_grid_points_are_those_of_the_motion():
    """The loads of the contacts and the motion give the torques of the plan, by the robot's own inverse dynamics."""
    found, robot = stepped(PROFILES), plan_step.robot()
    t = np.linspace(0.0, found.duration, 333)
    motion = found.at(t)
    tau = robot.inverse_dynamics(motion.q, motion.qd, motion.qdd, loads=found.contact_loads(t))
    np.testing.assert_allclose(tau, found.torques(t), atol=1e-8)
    weight = robot.mass * 9.81
    pressed = found.measure(plan.contact_force("left"), t[t > found.breaks[1]])[:, 2] / weight
    assert pressed.min() > -1e-5


@pytest.mark.slow
def test_feet_that_carry_in_turn():
    """A toe carries on where a heel lifts: with windows that meet, neither lasts the whole phase."""
    heel, toe = (-0.06, 0.0, -0.05), (0.14, 0.0, -0.05)
    both = [
        plan.Contact("right_foot", [heel, toe], (0.0, 0.5), name="flat"),
        plan.Contact("right_foot", [heel, toe], (0.5, 1.0), name="later"),
    ]
    windows = dict(in_turn(both))
    assert windows == {both[0]: (0.0, 0.5), both[1]: (0.5, 1.0)}
    robot = biped()
    start = standing(robot)
    parts = [sole("right"), sole("left")]
    halves = [
        plan.Contact(each.frame, each.points, when, name=f"{each.name}{k}")
        for each in parts
        for k, when in enumerate([(0.0, 0.5), (0.5, 1.0)])
    ]
    task = {"start": start, "goal": plan.Boundary(q={"x": 0.03}), "duration": 0.6, "split": "free"}
    whole = plan.Plan(robot, 1e-3 * plan.effort(), contacts=parts, control_points=10, **task).solve()
    turned = plan.Plan(robot, 1e-3 * plan.effort(), contacts=halves, control_points=10, **task).solve()
    assert whole.valid
    assert turned.valid, str(turned)
    t = np.linspace(0.0, turned.duration, 301)
    assert np.abs(turned.torques(t)[:, :3]).max() < 1e-9
    before = turned.measure(plan.contact_force("right1"), t[:140])
    assert not before.any()  # it does not last yet


def test_a_contact_that_is_not_held():
    """It carries force; a limit says where its points are."""
    robot = hopper()
    start = crouched(robot)
    point = (0.0, 0.0, -0.5)
    place = np.asarray(robot.compile("link_poses", frame="shank")(start))
    there = place[:3, :3] @ np.array(point) + place[:3, 3]

    def foot(moment):
        pose = moment.pose("shank")
        return (pose[:3, :3] @ np.array(point) + pose[:3, 3])[[0, 2]]

    within = plan.limit(plan.measure(foot, "foot", labels=["x", "z"]), there[[0, 2]] - 5e-4, there[[0, 2]] + 5e-4)
    loose = plan.Contact("shank", [point], hold=False, name="tip")
    found = plan.Plan(
        robot, plan.effort() + 1e-5 * plan.jerk_effort(), start=start,
        goal=plan.Boundary(q={"z": start[1] + 0.03}, qd=None), duration=0.4, contacts=[loose], limits=[within],
        control_points=10,
    ).solve()  # fmt: skip
    assert found.valid, str(found)
    q = found.at(np.linspace(0.0, 0.4, 201)).q
    poses = np.asarray(robot.compile("link_poses", frame="shank")(q))
    moved = np.einsum("nij,j->ni", poses[:, :3, :3], point) + poses[:, :3, 3] - there
    assert 1e-6 < np.abs(moved[:, [0, 2]]).max() < 5.01e-4  # it uses what it is allowed


def test_a_foot_that_is_a_point():
    """Its forces at grid points have no moment by themselves; in turn, points cannot carry what others leave."""
    robot = hopper(turns=True)
    task = {"start": crouched(robot), "duration": 0.3, "control_points": 8}
    whole = tip()
    made = plan.Plan(robot, plan.effort(), contacts=[whole], split=PROFILES, **task)
    assert not made.transcription.phases[0].collocated
    parts = [plan.Contact("shank", whole.points, when, name=str(when)) for when in ((0.0, 0.5), (0.5, 1.0))]
    with pytest.raises(InputError, match="is a point and carries what others leave"):
        plan.Plan(robot, plan.effort(), contacts=parts, split="free", **task)


def test_what_is_refused():
    with pytest.raises(InputError, match="hold must be True or False"):
        plan.Contact("foot", [(0.0, 0.0, 0.0)], hold="no")
    with pytest.raises(InputError, match="split must be 'line', 'free', 'profiles' or a function"):
        plan.Plan(biped(), start=standing(biped()), duration=1.0, contacts=[sole("right")], split="nodal")

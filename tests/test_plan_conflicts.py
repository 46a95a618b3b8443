"""Limits that contradict each other are named, with the motion that violates them least."""

from __future__ import annotations

import numpy as np
import pytest

from neuler import plan, robots

pytest.importorskip("scipy")


def task(torque, duration=0.4):
    """Two links that are to move by a radian in a given time."""
    limits = [
        plan.within(plan.torque, torque, family="motors"),
        plan.limit(plan.velocity, -30.0, 30.0, family="speeds"),
    ]
    return plan.Plan(
        robots.two_link(), plan.effort(), start=[0.0, -2.0], goal=[1.0, -1.0], duration=duration, limits=limits,
        robot_limits=False, control_points=10,
    )  # fmt: skip


def test_weak_motors_are_named():
    """By how much torques pass the bound that is too low is the relaxation, and no motion needs less."""
    needed = task(1e3).solve(polish=False)
    assert needed.valid
    most = float(np.abs(needed.torques(np.linspace(0.0, 0.4, 401))).max())
    found = task(0.2 * most).conflicts()
    assert list(found.families) == ["motors"]
    assert "motors" in str(found)
    assert not found.nearest.valid
    assert found.nearest.status == "infeasible"
    assert any("cannot hold together" in note for note in found.nearest.notes)
    reached = float(np.abs(found.nearest.torques(np.linspace(0.0, 0.4, 401))).max())
    assert reached < most  # least torque, not least effort
    grid = 0.4 * task(1.0).transcription.profiles()[0].grid
    relaxed = 0.2 * most * (1.0 + found.families["motors"])
    assert np.abs(found.nearest.torques(grid)).max() == pytest.approx(relaxed, rel=1e-2)


def test_where_all_hold_the_motion_is_a_start():
    found = task(1e3).conflicts()
    assert not found.families
    assert str(found) == "all limits hold together"
    assert task(1e3).solve(guess=found.nearest, polish=False).valid


def test_two_families_that_contradict_each_other():
    """A place that is asked for and a wall before it: one of both is relaxed, and others are not."""
    limits = [
        plan.limit(plan.position, {"joint1": 0.6}, when=(0.4, 0.6), family="beyond"),
        plan.limit(plan.measure(lambda moment: [moment.q[0]], "angle"), None, 0.3, when=(0.45, 0.55), family="wall"),
        plan.limit(plan.velocity, -50.0, 50.0, family="speeds"),
    ]
    made = plan.Plan(
        robots.two_link(), plan.effort(), start=[0.0, -2.0], goal=[0.2, -1.0], duration=2.0, limits=limits,
        robot_limits=False, control_points=14,
    )  # fmt: skip
    found = made.conflicts()
    assert set(found.families) <= {"beyond", "wall"}
    assert found.families
    assert not made.solve(polish=False, guesses=1, iterations=200).valid

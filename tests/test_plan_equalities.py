"""Limits whose bounds are equal: what they impose, where, and what is refused before a solve."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

import neuler
from neuler import plan
from neuler.errors import InputError
from neuler.plan.collocation import with_edges

ARM = neuler.robots.two_link()
ONE, TWO = ARM.joint_names
LENGTH, WALL = 0.4, 0.5


def tool_place(moment: Any) -> Any:
    """x and y of the end of the second link."""
    pose = moment.pose(ARM.tip)
    return [pose[0, 3] + LENGTH * pose[0, 0], pose[1, 3] + LENGTH * pose[1, 0]]


TOOL = plan.measure(tool_place, "tool", labels=["x", "y"])
ALONG = plan.limit(TOOL, {"x": WALL}, {"x": WALL})


def place(q: Any) -> Any:
    """The same by hand."""
    q1, q12 = q[..., 0], q[..., 0] + q[..., 1]
    return LENGTH * np.stack([np.cos(q1) + np.cos(q12), np.sin(q1) + np.sin(q12)], axis=-1)


def reached(y: float) -> np.ndarray:
    """The position with the tool at the wall, by the law of cosines; the elbow bent to the left."""
    far = np.hypot(WALL, y)
    bend = 2.0 * np.arccos(np.clip(far / (2.0 * LENGTH), -1.0, 1.0))
    return np.array([np.arctan2(y, WALL) - bend / 2.0, bend])


LOW, HIGH = reached(-0.3), reached(0.3)


def off_the_wall(found: plan.Planned, begin: float = 0.0, end: float = 1.0) -> float:
    """The largest distance from the wall on a fine grid."""
    t = found.duration * np.linspace(begin, end, 4001)
    return float(np.abs(place(found.at(t).q)[:, 0] - WALL).max())


def test_the_tool_slides_along_a_wall() -> None:
    """A straight line of the tool, at no more points than splines have freedom for, holds between them too."""
    found = plan.Plan(
        ARM, plan.effort(), start=LOW, goal=HIGH, duration=1.0, limits=[ALONG, plan.within(plan.torque, 10.0)]
    ).solve()
    assert found.valid
    assert found.optimal
    assert off_the_wall(found) < 1.5e-6
    y = place(found.at(np.linspace(0.0, 1.0, 101)).q)[:, 1]
    assert y[0] == pytest.approx(-0.3)
    assert y[-1] == pytest.approx(0.3)
    assert (np.diff(y) > -1e-9).all()


def wall_state(y: Any, v: Any, a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations of the arm whose tool moves along the wall by y, v, a; (N, 2) each."""
    q = np.array([reached(float(x)) for x in y])
    q1, q12 = q[:, 0], q[:, 0] + q[:, 1]
    J = LENGTH * np.moveaxis(
        np.array([[-np.sin(q1) - np.sin(q12), -np.sin(q12)], [np.cos(q1) + np.cos(q12), np.cos(q12)]]), 2, 0
    )
    zero = np.zeros_like(v)
    qd = np.linalg.solve(J, np.stack([zero, v], axis=-1)[..., None])[..., 0]
    w1, w12 = qd[:, 0], qd.sum(axis=1)
    bias = -LENGTH * np.stack([np.cos(q1) * w1**2 + np.cos(q12) * w12**2, np.sin(q1) * w1**2 + np.sin(q12) * w12**2], 1)
    qdd = np.linalg.solve(J, (np.stack([zero, a], axis=-1) - bias)[..., None])[..., 0]
    return q, qd, qdd


def test_the_same_optimum_as_in_the_coordinate_of_the_wall() -> None:
    """A spline of y alone, by another optimiser, has the same least effort."""
    found = plan.Plan(ARM, plan.effort(), start=LOW, goal=HIGH, duration=1.0, limits=[ALONG]).solve()
    count, degree = 16, 5
    knots = np.concatenate([np.zeros(degree), np.linspace(0.0, 1.0, count - degree + 1), np.ones(degree)])
    t, weights = np.polynomial.legendre.leggauss(60)
    t, weights = 0.5 * (t + 1.0), 0.5 * weights
    basis = [BSpline(knots, np.eye(count), degree).derivative(k)(t) for k in range(3)]
    ends = np.concatenate([[-0.3, -0.3], np.zeros(count - 4), [0.3, 0.3]])

    def torques(inner: np.ndarray) -> np.ndarray:
        points = ends.copy()
        points[2:-2] = inner
        tau = ARM.inverse_dynamics(*wall_state(*(each @ points for each in basis)))
        return np.asarray(np.sqrt(weights)[:, None] * tau).ravel()

    best = least_squares(torques, np.linspace(-0.3, 0.3, count)[2:-2], xtol=1e-14, ftol=1e-14)
    assert found.objective == pytest.approx(2.0 * best.cost, rel=1e-5)


def test_what_follows_from_the_goal_is_not_asked_twice() -> None:
    """A goal of one joint at rest, the other decided by the wall, has the optimum of the whole goal."""
    whole = plan.Plan(ARM, plan.effort(), start=LOW, goal=HIGH, duration=1.0, limits=[ALONG]).solve()
    part = plan.Plan(
        ARM, plan.effort(), start=LOW, goal=plan.Boundary(q={ONE: HIGH[0]}, qd=0.0), duration=1.0, limits=[ALONG]
    ).solve()
    assert part.valid
    assert part.objective == pytest.approx(whole.objective, rel=1e-6)


def test_over_phases_and_at_a_via_point() -> None:
    """Where phases join, and at a position on the way, equalities leave room for what decides them already."""
    middle = reached(0.05)
    parts = [plan.Phase(duration=0.5, end=plan.Boundary(q=middle, qd=None)), plan.Phase(duration=0.5, end=HIGH)]
    found = plan.Plan(ARM, plan.effort(), start=LOW, phases=parts, limits=[ALONG]).solve()
    assert found.valid
    assert off_the_wall(found) < 1.5e-6
    via = plan.Plan(
        ARM, plan.effort(), start=LOW, goal=HIGH, duration=1.0, via=[plan.Via(at=0.5, q=middle)], limits=[ALONG]
    ).solve()
    assert via.valid
    assert off_the_wall(via) < 1.5e-6
    assert via.objective == pytest.approx(found.objective, rel=1e-3)


def test_round_a_cycle() -> None:
    """A cycle that repeats: what the end decides is not asked again at the start."""
    found = plan.Plan(
        ARM, plan.effort(), start=plan.Boundary(q=LOW, qd=None), via=[plan.Via(at=0.5, q={ONE: HIGH[0]})],
        duration=1.0, limits=[ALONG], relations=plan.repeats(ONE, TWO),
    ).solve()  # fmt: skip
    assert found.valid
    assert off_the_wall(found) < 1.5e-6


def test_in_a_window() -> None:
    """Profiles get knots where the window begins and ends, and are free outside."""
    line = plan.limit(TOOL, {"x": WALL}, {"x": WALL}, when=(0.3, 0.7))
    found = plan.Plan(ARM, plan.effort(), start=[0.0, 1.0], goal=[1.0, 1.0], duration=1.0, limits=[line]).solve()
    assert found.valid
    assert off_the_wall(found, 0.3, 0.7) < 1.5e-6
    assert off_the_wall(found) > 1e-2
    assert {0.3, 0.7} <= set(found.motion.profiles[0].knots.tolist())


@pytest.mark.parametrize(
    ("measure", "degree"),
    [(plan.velocity, 3), (plan.acceleration, 3), (plan.jerk, 3), (plan.torque, 5), (plan.torque_rate, 5)],
)
def test_of_every_derivative(measure: plan.Measure, degree: int) -> None:
    """A joint's velocity, acceleration, jerk, torque or torque rate has one value for a while."""
    value = 1.0 if measure is plan.velocity else 0.0
    held = plan.limit(measure, {ONE: value}, {ONE: value}, when=(0.4, 0.6))
    found = plan.Plan(
        ARM, plan.effort(), start=[0.0, 0.0], goal=[1.0, 1.0], duration=1.0, limits=[held], degree=degree
    ).solve(valid_to=1e-3 if measure is plan.torque_rate else 1e-6)
    assert found.valid, found
    inside = found.measure(measure, np.linspace(0.4, 0.6 - 1e-6, 501))
    assert np.abs(inside[:, 0] - value).max() < 3.0 * found.valid_to


def test_a_joint_without_torque_is_a_passive_one() -> None:
    """Torque zero along the whole motion: the same optimum as of the robot whose joint has no motor."""
    held = plan.limit(plan.torque, {TWO: 0.0}, {TWO: 0.0})
    task = {"start": [0.0, 0.0], "goal": plan.Boundary(q={ONE: 1.0}, qd=None), "duration": 1.0, "degree": 5}
    found = plan.Plan(ARM, plan.effort(), limits=[held], **task).solve()
    joints = [dataclasses.replace(joint, role="passive") if joint.name == TWO else joint for joint in ARM.joints]
    passive = dataclasses.replace(ARM, joints=joints)
    other = plan.Plan(passive, plan.effort(), **task).solve()
    assert found.valid
    assert other.valid
    assert found.objective == pytest.approx(other.objective, rel=1e-6)


def test_with_closed_loops() -> None:
    """Of a robot with loops, whose other joints are variables at points of the grid."""
    robot = neuler.robots.four_bar()
    held = plan.limit(plan.velocity, 1.6, 1.6, when=(0.3, 0.7))
    found = plan.Plan(robot, plan.effort(), start=[1.5], goal=[3.0], duration=1.0, limits=[held]).solve()
    assert found.valid
    assert np.ptp(found.measure(plan.velocity, np.linspace(0.3, 0.7, 101))) < 1e-9


def test_more_equalities_than_variables() -> None:
    """What cannot be is said in numbers before anything is solved."""
    limits = [plan.limit(TOOL, [WALL, 0.1], [WALL, 0.1]), plan.limit(plan.velocity, {ONE: 0.0}, {ONE: 0.0})]
    task = plan.Plan(ARM, plan.effort(), duration=1.0, limits=limits)
    with pytest.raises(InputError, match=r"more equality rows than free variables: \d+ rows .*tool.*velocity"):
        task.solve()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": LOW + 0.1}, "start: tool of x is .* a limit asks for 0.5 at all times; move the start"),
        ({"goal": HIGH - 0.1}, "goal: tool of x is .* move the goal"),
        ({"start": plan.Boundary(q=LOW, qd=[1.0, 0.0])}, "start: tool of x changes by 0.3 per second"),
    ],
)
def test_ends_that_contradict(change: dict[str, Any], words: str) -> None:
    """A start or goal off the wall, or moving away from it, is named."""
    with pytest.raises(InputError, match=words):
        plan.Plan(ARM, plan.effort(), **{"start": LOW, "goal": HIGH, "duration": 1.0, "limits": [ALONG], **change})


def test_a_degree_too_low() -> None:
    """A derivative that profiles do not have."""
    held = plan.limit(plan.jerk, 0.0, 0.0, when=(0.4, 0.6))
    with pytest.raises(InputError, match="degree"):
        plan.Plan(ARM, start=[0, 0], goal=[1, 1], duration=1.0, degree=2, limits=[held]).solve()


def test_friction_that_is_rounded_off_is_said() -> None:
    """An equality of torques holds for the friction of the solve, not at rest for the robot's own."""
    joints = [dataclasses.replace(joint, friction=neuler.Coulomb(0.2)) for joint in ARM.joints]
    robot = dataclasses.replace(ARM, joints=joints)
    held = plan.limit(plan.torque, {ONE: 0.5}, {ONE: 0.5}, when=(0.45, 0.55))
    task = plan.Plan(robot, plan.effort(), start=[0, 0], goal=[1, 1], duration=1.0, degree=5, limits=[held])
    assert task.transcription.phases[0].rounds_friction
    plain = task.replace(limits=[plan.within(plan.torque, 9.0)])
    assert not plain.transcription.phases[0].rounds_friction


def test_edges_among_breaks() -> None:
    """New breaks at edges, in the place of those that are all but there."""
    assert with_edges(None, 4, []) is None
    assert with_edges(None, 4, [0.0, 0.6]).tolist() == [0.0, 0.25, 0.5, 0.6, 0.75, 1.0]  # type: ignore[union-attr]
    near = with_edges(np.array([0.0, 0.5, 1.0]), 2, [0.5 + 1e-5])
    assert near is not None
    assert near.tolist() == [0.0, 0.5 + 1e-5, 1.0]


def test_a_joint_whose_limits_have_no_width_has_no_variables():
    """It stays where it is held; its control points are not part of the programme."""
    held = plan.limit(plan.position, {TWO: 0.3}, {TWO: 0.3})
    task = plan.Plan(
        ARM, plan.effort(), start={ONE: 0.0}, goal={ONE: 1.0}, duration=1.0, limits=[held], control_points=8
    )
    transcription = task.transcription
    profiles = transcription.profiles()
    x = np.zeros(transcription.size(profiles))
    x[profiles[0].duration] = 1.0
    assert transcription.transcribe(profiles, x).programme.n == 8 - 4  # of the other joint, at rest at both ends
    found = task.solve()
    assert found.valid, str(found)
    np.testing.assert_allclose(found.at(np.linspace(0.0, 1.0, 21)).q[:, 1], 0.3, atol=1e-12)
    with pytest.raises(InputError, match=f"limits of {TWO}"):
        task.replace(goal={ONE: 1.0, TWO: 0.5}).solve()

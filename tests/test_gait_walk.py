"""Prediction of walking: what a step asks for, its objective, and the walk that comes out."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

from neuler import gait, plan, robots
from neuler.errors import InputError, NeulerError
from neuler.gait import costs
from neuler.gait.soles import Sole
from neuler.motions.recorded import Recorded
from neuler.robots.humans import PARTNERS, Person, skeleton, strengths

pytest.importorskip("scipy")


@functools.cache
def walk():
    return gait.Walk(Person(1.75, 75.0), speed=1.33, step=0.69)


def place(robot, q, frame, offset=(0.0, 0.0, 0.0)):
    pose = np.asarray(robot.compile("link_poses", frame=frame)(q))
    return pose[:3, :3] @ np.array(offset) + pose[:3, 3]


# ---- soles -------------------------------------------------------------------------------------------------------


def test_soles_stand_on_the_ground():
    """Of a person who stands upright all points of the soles are on the plane z = 0, one behind the other."""
    robot = walk().robot
    q = np.zeros(robot.nq)
    for sole, side in zip(walk().soles, (-1.0, 1.0), strict=True):
        points = [sole.heel_point(), sole.ball_point(), sole.tip_point()]
        there = np.array([place(robot, q, each.frame, each.offset) for each in points])
        np.testing.assert_allclose(there[:, 2], 0.0, atol=1e-12)
        np.testing.assert_allclose(np.diff(there[:, 0]), [sole.arch, sole.length - sole.arch], atol=1e-12)
        assert np.sign(there[0, 1]) == side
        corners = [place(robot, q, sole.foot, each) for each in sole.hind_corners()]
        corners += [place(robot, q, sole.toes, each) for each in sole.toe_corners()]
        np.testing.assert_allclose(np.array(corners)[:, 2], 0.0, atol=1e-12)
        assert np.ptp(np.array(corners)[:, 1]) == pytest.approx(2.0 * sole.half)


def test_the_ball_stays_where_it_is_while_the_heel_rises():
    """The toes turn about a joint above the sole: a point of the hind foot below it would move."""
    robot, sole = walk().robot, walk().soles[0]
    names = list(robot.joint_names)
    q = np.zeros(robot.nq)
    flat = place(robot, q, sole.toes, sole.ball)
    q[names.index("r_toe_extension")] = 0.5  # the same posture of the toes, the hind foot raised
    relative = place(robot, q, sole.foot, sole.heel) - place(robot, q, sole.toes, sole.ball)
    assert np.linalg.norm(relative) != pytest.approx(sole.arch, abs=1e-3)
    assert np.linalg.norm(flat - place(robot, np.zeros(robot.nq), "r_ball")) < 1e-12


def test_other_robots_have_no_soles():
    robot = skeleton(Person())
    assert Sole.of(robot, "r_", 0.1).half == 0.05
    with pytest.raises(NeulerError, match="has no link or frame 'r_heel'"):
        Sole.of(robots.two_link(), "r_", 0.1)


# ---- the objective -----------------------------------------------------------------------------------------------


def test_terms_of_the_objective_against_plain_numbers():
    """Every term along a given motion, by NumPy from torques, powers and accelerations."""
    mine = gait.Walk(Person(1.7, 70.0), speed=1.2, step=0.6)
    robot = mine.robot
    t = np.linspace(0.0, mine.duration, 60)
    rng = np.random.default_rng(1)
    sway = rng.normal(size=(2, robot.nq)) * 0.1
    q = sway[0] * np.sin(3.0 * t)[:, None] + sway[1] * np.cos(2.0 * t)[:, None]
    motion = Recorded(robot, t, q)
    at = np.linspace(0.05, mine.duration - 0.05, 7)
    state = motion.at(at)
    tau = np.asarray(robot.inverse_dynamics(state.q, state.qd, state.qdd))
    low, high = strengths(robot)
    driven = np.flatnonzero(high > 0.0)
    assert len(driven) == robot.nv - 6
    effort = costs.Effort(tuple(driven), tuple(np.abs(low[driven])), tuple(high[driven]))
    expected = (np.maximum(tau[:, driven], 0.0) / high[driven]) ** 2 + (
        np.minimum(tau[:, driven], 0.0) / low[driven]
    ) ** 2
    found = motion.measure(plan.measure(effort, "effort"), at)
    np.testing.assert_allclose(found[:, 0], expected.sum(axis=1), rtol=1e-10)
    power = tau[:, driven] * state.qd[:, driven] / robot.mass
    size = np.sqrt(power**2 + 0.01) - 0.1
    work = 0.5 * (size + power) + 0.15 * (size - power)
    found = motion.measure(plan.measure(costs.Work(tuple(driven), robot.mass, 0.3), "work"), at)
    np.testing.assert_allclose(found[:, 0], work.sum(axis=1), rtol=1e-10, atol=1e-12)
    found = motion.measure(plan.measure(costs.Shaking(), "acceleration"), at)
    np.testing.assert_allclose(found[:, 0], ((state.qdd / 50.0) ** 2).sum(axis=1), rtol=1e-10)


def test_weights_are_means_over_a_step():
    """Each term has its weight over the duration; terms without weight are left out."""
    task = walk().statement
    sizes = {term.name: term.weight * walk().duration for term in task.objective.terms}
    assert sizes == pytest.approx(
        {
            "effort": 1.0,
            "force rate": 0.01,
            "work": 0.2,
            "posture": 1.0,
            "acceleration": 0.002,
            "contact": 0.1,
            "contact rate": 0.001,
        }
    )
    lean = gait.Walk(weights=gait.Weights(power=0.0, contact=0.0, contact_rate=0.0)).statement
    assert {term.name for term in lean.objective.terms} == {"effort", "force rate", "posture", "acceleration"}


# ---- the statement -------------------------------------------------------------------------------------------------


def test_the_step_ends_as_its_mirrored_start():
    """Whatever the variables are: at the end positions and all derivatives mirror those at the start."""
    transcription = walk().statement.transcription
    profiles = transcription.profiles()
    found = transcription._elimination(profiles, transcription.size(profiles))
    x = found.Z @ np.random.default_rng(0).normal(size=len(found.free)) + found.c
    names = list(walk().robot.joint_names)
    ends = [profiles[0].evaluate(x, np.array([share]), 4) for share in (0.0, 1.0 - 1e-13)]
    for order in range(5):
        start, end = ends[0][order][0], ends[1][order][0]
        for k, name in enumerate(names):
            other, sign = PARTNERS[name]
            shift = 0.69 if name == "pelvis_x" and order == 0 else 0.0
            scale = 1.0 + np.abs(ends[0][order]).max()
            assert end[k] == pytest.approx(sign * start[names.index(other)] + shift, abs=1e-8 * scale)


def test_the_search_begins_upright():
    """All angles are zero; the pelvis moves ahead by a step."""
    start = walk().start()
    q = start.at(np.linspace(0.0, start.duration, 7)).q
    assert (q[:, 1:] == 0.0).all()
    assert q[-1, 0] - q[0, 0] == pytest.approx(0.69)
    assert start.duration == walk().duration


def test_contacts_and_families():
    task = walk().statement
    phase = task.transcription.phases[0]
    assert phase.model.support is not None
    assert [contact.name for contact in phase.model.support.contacts] == [
        "left, before toes", "right foot", "right toes"
    ]  # fmt: skip
    families = {limit.family for limit in phase.limits}
    assert {"foot contact", "foot speed", "ground", "joint range", "strength", "knee in swing", "contact"} <= families
    assert {"arm-leg coupling", "self-avoidance"} <= families
    again = pickle.loads(pickle.dumps(walk()))
    assert again.duration == walk().duration


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"speed": 0.0}, "speed must be above zero"),
        ({"speed": float("nan")}, "speed"),
        ({"step": 2.0}, "longer than the legs allow: both of them stretched out reach"),
        ({"person": 75.0}, "a person is needed"),
        ({"band": -1e-3}, "band must be above zero"),
        ({"clearance": -0.1}, "clearance must not be below zero"),
        ({"control_points": 6}, "control_points"),
        ({"degree": 3}, "degree"),
        ({"friction": "high"}, "friction"),
        ({"width": float("nan")}, "width"),
        ({"knee": (60.0,)}, "knee must be two numbers"),
        ({"weights": {"effort": 1.0}}, r"weights must be gait.Weights\(...\)"),
        ({"ranges": {"wing": (0.0, 1.0)}}, "there is no joint 'wing'"),
        ({"ranges": {"knee_flexion": (9.0, 1.0)}}, "range of r_knee_flexion: two angles"),
    ],
)
def test_bad_input(change, words):
    with pytest.raises(InputError, match=words):
        gait.Walk(**change)


def test_weights_are_not_negative():
    with pytest.raises(InputError, match="weight of effort must not be negative"):
        gait.Weights(effort=-1.0)


def test_events_in_order():
    with pytest.raises(InputError, match="events must be in order"):
        gait.Events(flat=0.3, double=0.25)


# ---- the walk ------------------------------------------------------------------------------------------------------


@functools.cache
def walked():
    return walk().solve(refine=False)


def foot_force(found):
    """Vertical and fore-aft force on the right foot over a stride, body weights."""
    t = np.linspace(0.0, found.duration, 401)[:-1]
    front, toes, rear = (
        found.measure(plan.contact_force(name), t) for name in ("right foot", "right toes", "left, before toes")
    )
    weight = walk().robot.mass * 9.81
    return [np.concatenate([front[:, k] + toes[:, k], rear[:, k]]) / weight for k in (2, 0)]


@pytest.mark.slow
def test_a_walk_is_found():
    """Two vertical peaks with a valley between them, one change from braking to pushing, a bent knee in swing."""
    found = walked()
    assert found.status in ("optimal", "acceptable")
    assert found.worst_violation < 0.05
    vertical, fore_aft = foot_force(found)
    peaks = np.array([peak.value for peak in gait.Stride.of(found).peaks()])
    assert len(peaks) == 2
    assert ((peaks > 0.95) & (peaks < 1.35)).all()
    assert 0.6 < vertical[120:380].min() < 0.95
    standing = fore_aft[vertical > 0.02]
    assert int(np.count_nonzero(np.diff(np.sign(standing)))) == 1
    knee = np.degrees(
        found.at(np.linspace(0.0, found.duration, 201)).q[:, walk().robot.joint_names.index("l_knee_flexion")]
    )
    assert 54.9 < knee.max() < 75.0


@pytest.mark.slow
def test_the_ground_alone_carries_the_walk():
    """Nothing pushes the pelvis; the impulse of the ground over a step is weight times duration."""
    found = walked()
    t = np.linspace(0.0, found.duration, 2001)
    assert np.abs(found.torques(t)[:, :6]).max() < 1e-8
    force = found.measure(plan.ground_force, t)
    mean = np.trapezoid(force, t, axis=0) / found.duration / (walk().robot.mass * 9.81)
    np.testing.assert_allclose(mean[[0, 2]], [0.0, 1.0], atol=1e-4)
    jump = np.abs(force[-1] * [1.0, -1.0, 1.0] - force[0]) / (walk().robot.mass * 9.81)
    assert jump.max() < 1e-4

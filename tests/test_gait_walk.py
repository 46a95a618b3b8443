"""Prediction of walking: what a step asks for, its objective, and the walk that comes out."""

from __future__ import annotations

import dataclasses
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


@pytest.mark.slow
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


# ---- unsolved walks ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_that_are_zero_whatever_the_motion_is_are_not_posed():
    """Where forces are zero by their bounds, no limit of a contact is a row: it would leave no room inside."""
    transcription = walk().statement.transcription
    profiles = transcription.profiles()
    found = transcription.transcribe(profiles, np.zeros(transcription.size(profiles)))
    programme = found.programme
    random = np.random.default_rng(2)
    x = 0.3 * random.normal(size=programme.n)
    fixed = programme.lower == programme.upper
    x[fixed] = programme.lower[fixed]
    J = np.zeros((programme.m, programme.n))
    J[programme.jacobian_at] = programme.jacobian(x)
    assert fixed.sum() > 100
    assert np.abs(J[:, ~fixed]).max(axis=1).min() > 1e-9


# ---- the walk ------------------------------------------------------------------------------------------------------


@functools.cache
def walked():
    return walk().solve()


@pytest.mark.slow
def test_a_walk_is_found():
    """From an upright person: valid on a fine grid, and like the measured adult, whom weights were fitted to."""
    found = walked()
    assert found.optimal
    assert found.valid, str(found)
    assert found.checked_points >= 400
    worst = {name: each.excess for name, each in found.family_reports.items()}
    assert worst["foot contact"] <= 0.6e-3  # beyond the band of 1.4 mm: 2 mm in all
    assert worst["strength"] == 0.0
    assert found.grid_objective == pytest.approx(found.objective, rel=0.02)
    facts = gait.Stride.of(found).summary()
    assert len(facts["grf_peaks"]) == 2
    assert all(0.95 < peak < 1.35 for peak in facts["grf_peaks"])
    assert facts["grf_valley"] < min(facts["grf_peaks"]) - 0.1
    assert facts["braking_to_propulsion"] == 1
    assert 55.0 < facts["swing_knee_deg"] < 75.0
    assert facts["stance_knee_deg"] < 30.0
    assert facts["rms_hip_deg"] < 4.0
    assert facts["rms_knee_deg"] < 8.0
    assert facts["rms_ankle_deg"] < 8.0
    assert facts["pressure_outside"] < 1e-3
    assert max(facts["step_jump_xyz"]) < 0.02
    assert facts["step_jump_zmp"] < 0.01
    assert facts["release"] < 1e-3 * facts["weight"]
    assert facts["root_residual"] < 1e-9
    assert abs(facts["impulse_error"]) < 1e-4


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


@pytest.mark.slow
def test_internal_forces_follow_the_vertical_reaction():
    stride = gait.Stride.of(walked())
    stance = stride.stance
    for joint in ("hip", "knee", "ankle"):
        assert np.corrcoef(stride.joint_force(joint)[stance], stride.vertical[stance])[0, 1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("change", "grid"), [({"control_points": 15}, None), ({"control_points": 19}, None), ({}, 5)])
def test_peaks_persist(change, grid):
    """With two control points less or more, and with a finer grid."""
    made = dataclasses.replace(walk(), **change)
    if grid is not None:
        made.statement.transcription.grid = grid
    found = made.solve()
    assert found.valid, str(found)
    facts = gait.Stride.of(found).summary()
    assert len(facts["grf_peaks"]) == 2
    assert facts["braking_to_propulsion"] == 1
    assert facts["rms_knee_deg"] < 8.0


PAIRS = [
    (0.8, 0.5),
    (0.9, 0.54),
    (1.0, 0.56),
    (1.1, 0.58),
    (1.2, 0.6),
    (1.2, 0.7),
    (1.4, 0.7),
    (1.5, 0.74),
    (1.6, 0.78),
]


@pytest.mark.slow
def test_speeds_and_steps():
    """Ten pairs are valid; the vertical force rises with the speed."""
    highest = {}
    for speed, step in [*PAIRS, (1.33, 0.69)]:
        found = walked() if speed == 1.33 else gait.Walk(Person(1.75, 75.0), speed, step).solve()
        assert found.valid, f"{speed} m/s, {step} m: {found}"
        highest[speed, step] = gait.Stride.of(found).vertical.max()
    rising = [highest[pair] for pair in ((0.8, 0.5), (1.0, 0.56), (1.2, 0.6), (1.4, 0.7), (1.6, 0.78))]
    assert (np.diff(rising) > 0.0).all()
    assert rising[-1] < 1.35 * 75.0 * 9.81


@pytest.mark.slow
def test_starts_end_alike():
    """The best of four starts, and how far the others are from it."""
    found = gait.predict(walk(), starts=4, workers=2)
    low, high = found.objectives
    assert found.valid
    assert len(found.starts) == 4
    assert high < 1.02 * low


@pytest.mark.slow
def test_a_stride_of_two_steps_is_the_step_and_its_mirror_image():
    """Nothing says that both steps are alike: they are since the person is."""
    person = Person(1.75, 75.0)
    step, stride = (gait.Walk(person, 1.2, 0.6, symmetric=each).solve() for each in (True, False))
    assert stride.valid, str(stride)
    assert stride.objective == pytest.approx(step.objective, rel=0.02)
    both = gait.Stride.of(stride, symmetric=False), gait.Stride.of(step)
    assert np.abs(both[0].angle("knee") - both[1].angle("knee")).max() < 6.0
    stiff = {**walk().ranges, "r_knee_flexion": (0.0, 40.0)}
    limp = gait.Walk(person, 1.2, 0.6, symmetric=False, ranges=stiff).solve()
    assert limp.valid, str(limp)
    names = limp.robot.joint_names
    q = np.degrees(limp.at(np.linspace(0.0, limp.duration, 401)).q)
    assert q[:, names.index("r_knee_flexion")].max() < 40.01
    assert q[:, names.index("l_knee_flexion")].max() > 55.0


@pytest.mark.slow
def test_loads_and_slopes():
    """A heavier pack and a steeper way cost more, and load joints more."""
    person = Person(1.75, 75.0)
    packs = [gait.Walk(person, 1.2, 0.6, loads=(gait.Load.backpack(mass),)).solve() for mass in (0.0, 15.0, 30.0)]
    assert all(found.valid for found in packs)
    for joint in ("hip", "knee", "ankle"):
        peaks = [gait.Stride.of(found).joint_force(joint).max() for found in packs]
        assert (np.diff(peaks) > 50.0).all()
    up, down = (gait.Walk(person, 1.2, 0.6, slope=slope).solve() for slope in (5.0, -5.0))
    assert up.valid
    assert down.valid
    assert up.objective > packs[0].objective
    assert up.parts["work"] > packs[0].parts["work"] > down.parts["work"]


@pytest.mark.slow
def test_another_person():
    """Nothing was fitted to her."""
    found = gait.Walk(Person(1.62, 58.0, sex="female"), 1.2, 0.6).solve()
    assert found.valid, str(found)
    facts = gait.Stride.of(found).summary()
    assert len(facts["grf_peaks"]) == 2
    assert facts["swing_knee_deg"] > 55.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"speed": 5.0}, {"ranges": {"knee_flexion": (0.0, 1.0), "ankle_flexion": (-1.0, 1.0)}}]
)
def test_walks_that_cannot_be_name_what_conflicts(change):
    found = dataclasses.replace(walk(), **change).solve()
    assert not found.valid
    assert found.status == "infeasible"
    told = [note for note in found.notes if "cannot hold together" in note]
    assert len(told) == 1
    assert "contact" in told[0]

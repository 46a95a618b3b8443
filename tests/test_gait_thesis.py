"""The thesis's setting of the gait problem: what it asks for, how large it is, and the step that comes out."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest

from neuler import gait, plan
from neuler.errors import InputError
from neuler.gait.thesis import EVENTS, FAMILIES, Torques
from neuler.robots.humans import PARTNERS, WALKING_FIXED, Person, strengths

pytest.importorskip("scipy")
WEIGHT = 75.0 * 9.80665


@functools.cache
def walk():
    return gait.ThesisWalk(Person(1.75, 75.0), speed=1.2, step=0.6)


@functools.cache
def programme():
    """The first programme, from all variables zero."""
    transcription = walk().statement.transcription
    profiles = transcription.profiles()
    guess = np.zeros(transcription.size(profiles))
    guess[profiles[0].duration] = walk().duration
    return transcription.transcribe(profiles, guess)


# ---- its size ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_as_many_variables_as_in_the_thesis():
    """55 joints with six control points; less those of 17 frozen joints and two relations of each other one."""
    (profiles,) = programme().profiles
    assert profiles.count * profiles.control_point_count == 330
    assert programme().programme.n == 330 - 17 * 6 - 38 * 2
    still = profiles.control_points(programme().x(np.ones(programme().programme.n)))
    frozen = [walk().robot.joint_names.index(name) for name in WALKING_FIXED]
    assert not still[:, frozen].any()


@pytest.mark.slow
def test_about_as_many_rows_as_in_the_thesis():
    """1726 there; rows of symmetry are not among them here."""
    path, block = walk().statement.transcription.phases[0].path, programme().programme.blocks[0]
    counts: Counter[str] = Counter()
    for family in path.families:
        if family.limit is not None:
            counts[family.limit.family] += int(block.bounded[:, family.rows].sum())
    assert set(counts) == set(FAMILIES) - {"joint range"}  # which bounds control points
    assert counts["strength"] == 32 * len(programme().profiles[0].grid)
    assert 1650 < counts.total() < 1800


def test_no_row_stays_at_its_bound_whatever_the_motion_is():
    """Such a row leaves an interior point no room."""
    own = programme().programme
    some = np.random.default_rng(0).normal(size=(2, own.n)) * 0.1
    one, other = (own.rows(y) for y in some)
    stuck = (one == other) & ((one == own.row_lower) | (one == own.row_upper))
    assert not stuck.any()


# ---- what it asks for ----------------------------------------------------------------------------------------------


def test_symmetry_is_of_positions_and_velocities_alone():
    """(5.8): whatever the variables are, the end mirrors the start, and accelerations do not."""
    (profiles,) = programme().profiles
    x = programme().x(np.random.default_rng(1).normal(size=programme().programme.n))
    start, end = (profiles.evaluate(x, np.array([share]), 2) for share in (0.0, 1.0))
    names = list(walk().robot.joint_names)
    others = [names.index(PARTNERS[name][0]) for name in names]
    signs = np.array([PARTNERS[name][1] for name in names], dtype=float)
    ahead = np.array([walk().step if name == "pelvis_x" else 0.0 for name in names])
    np.testing.assert_allclose(end[0][0], signs * start[0][0][others] + ahead, atol=1e-12)
    np.testing.assert_allclose(end[1][0], signs * start[1][0][others], atol=1e-10)
    assert np.abs(end[2][0] - signs * start[2][0][others]).max() > 1.0


def test_two_contacts_at_once_at_most_and_the_line_shares():
    support = walk().statement.transcription.phases[0].model.support
    assert support.split == "line"
    windows = {contact.name: contact.when for contact in support.contacts}
    assert windows == {
        "rear toes": (0.0, EVENTS.double),
        "front foot": (0.0, EVENTS.heel_off),
        "front toes": (EVENTS.heel_off, 1.0),
    }


def test_the_objective_is_effort_over_the_largest_strength():
    (term,) = walk().statement.objective.terms
    assert (term.name, term.weight) == ("effort", 1.0)
    robot, mine = walk().robot, walk().start()
    low, high = strengths(robot)
    places = tuple(walk().moving)
    assert len(places) == 32
    effort = Torques(places, tuple(float(max(-low[k], high[k])) for k in places))
    t = np.array([0.1, 0.3])
    state = mine.at(t)
    tau = np.asarray(robot.inverse_dynamics(state.q, state.qd, state.qdd))[:, places]
    expected = ((tau / np.maximum(-low, high)[list(places)]) ** 2).sum(axis=1)
    np.testing.assert_allclose(mine.measure(plan.measure(effort, "effort"), t)[:, 0], expected, rtol=1e-10)


def test_the_start_is_zero_but_for_the_way_ahead():
    q = walk().start().at(np.linspace(0.0, 0.5, 7)).q
    assert not q[:, 1:].any()
    np.testing.assert_allclose(q[[0, -1], 0], [0.0, 0.6], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"person": 75.0}, "a person is needed"),
        ({"speed": 0.0}, "speed must be above zero"),
        ({"step": 2.0}, "longer than the legs allow"),
    ],
)
def test_bad_input(change, words):
    with pytest.raises(InputError, match=words):
        gait.ThesisWalk(**change)


# ---- the step that comes out ---------------------------------------------------------------------------------------


@functools.cache
def walked():
    return walk().solve()


@pytest.mark.slow
def test_a_step_is_found_from_zero():
    """Within the thesis's tolerances; between grid points limits are violated by less than 1 %."""
    found = walked()
    assert found.status == "optimal"
    assert found.iterations < 400
    assert 0.15 < found.objective < 0.19
    assert found.worst_violation < 0.01
    knee = np.degrees(found.at(0.25).q[walk().robot.joint_names.index("l_knee_flexion")])
    assert 54.5 < knee < 65.5


@pytest.mark.slow
def test_the_ground_carries_it_and_forces_jump_between_steps():
    """Nothing pushes the pelvis; accelerations are not symmetric, so that the ground's force jumps."""
    found = walked()
    t = np.linspace(0.0, found.duration, 2001)
    assert np.abs(found.torques(t)[:, :6]).max() < 1e-9
    force = found.measure(plan.ground_force, t) / WEIGHT
    assert force[:, 2].min() > 0.4
    assert force[:, 2].max() < 1.6
    assert abs(force[-1, 0] - force[0, 0]) > 0.1
    assert (np.linalg.norm(force[:, :2], axis=1) / force[:, 2]).max() < 0.5  # though friction is not limited


@pytest.mark.slow
def test_the_zero_moment_point_stays_below_the_feet():
    """(5.5) between grid points, too: in single support inside the front sole, to millimetres."""
    found = walked()
    t = np.linspace(EVENTS.double, 1.0, 500) * found.duration
    place, sole = found.measure(plan.zero_moment_point, t), walk().soles[0]
    beside = place[:, 1] - walk().footfalls[1].place[1]
    assert place[:, 0].min() > -0.005
    assert place[:, 0].max() < sole.length + 0.005
    assert np.abs(beside).max() < sole.half + 0.005


@pytest.mark.slow
def test_two_barriers_find_the_same_minimum():
    """The thesis's tolerance ends an interior point early, at an objective that is too large by 4 %."""
    adaptive = {"mu_strategy": "adaptive", "mu_oracle": "quality-function"}
    one, other = walk().solve(tolerance=1e-5), walk().solve(tolerance=1e-4, options=adaptive)
    assert one.optimal
    assert other.optimal
    assert one.objective == pytest.approx(other.objective, rel=5e-3)
    assert one.objective < walked().objective
    assert one.valid, str(one)

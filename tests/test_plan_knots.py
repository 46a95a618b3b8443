"""Knots at switches: closed forms with few control points, and where solves on other knots begin."""

from dataclasses import replace

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot, plan
from neuler.errors import InputError
from neuler.optimize import solvers
from neuler.plan import insertion, solve
from neuler.plan.attempt import Attempt
from neuler.plan.guess import FirstGuess
from neuler.plan.knots import dependence, with_switches
from neuler.plan.options import SolveOptions
from neuler.plan.transcribed import respread
from random_robots import few

MEASURES = (plan.velocity, plan.acceleration, plan.jerk)


def slides(count):
    """Masses on rails that do not know of each other."""
    bodies = [Link.from_com(f"mass{k}", mass=1.0, com=(0, 0, 0), inertia=(0, 0, 0)) for k in range(count)]
    joints = [Joint(f"rail{k}", "prismatic", "base", f"mass{k}", axis=(1, 0, 0)) for k in range(count)]
    return Robot("slides", [Link("base"), *bodies], joints, gravity=(0, 0, 0))


def rest_to_rest(way, v, a, j):
    """The least time of a way with bounds on velocity, acceleration and jerk, at rest and unaccelerated at both ends.

    Half of it is a rise to the top speed: with a part of full acceleration, if that is reached, else with jerks alone.
    """
    a = min(a, (v * j) ** 0.5)
    rise = v / a + a / j  # to the full speed
    if way >= v * rise:
        return rise + way / v
    top = 0.5 * a * ((a**2 / j**2 + 4.0 * way / a) ** 0.5 - a / j)  # speed
    if top >= a**2 / j:
        return 2.0 * (top / a + a / j)
    return (32.0 * way / j) ** (1 / 3)


def tasks(seed):
    rng = np.random.default_rng(seed)
    for n in range(1, 8):
        start, goal = rng.uniform(-2.0, 2.0, (2, n))
        yield start, goal, rng.uniform(0.5, 2.0, (3, n)) * np.array([[1.0], [4.0], [30.0]])


def stated(start, goal, bounds, **more):
    limits = [plan.within(measure, bound) for measure, bound in zip(MEASURES, bounds, strict=True)]
    ends = [plan.Boundary(q=q, qd=0.0, qdd=0.0) for q in (start, goal)]
    return plan.Plan(slides(len(start)), start=ends[0], goal=ends[1], limits=limits, **more)


def two_link(**more):
    given = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "limits": [plan.within(plan.torque, 10.0)]} | more
    return plan.Plan(neuler.robots.two_link(), **given)


def test_the_closed_form_itself():
    assert rest_to_rest(0.7, 100.0, 100.0, 40.0) == pytest.approx((32.0 * 0.7 / 40.0) ** (1 / 3))
    assert rest_to_rest(2.0, 1.0, 1e3, 1e9) == pytest.approx(2.0, rel=1e-2)  # nothing but speed
    assert rest_to_rest(1.0, 1e3, 4.0, 1e9) == pytest.approx(1.0, rel=1e-4)  # nothing but acceleration
    a, j = 3.0, 30.0
    both = a**2 / j * (2.0 * a / j)  # of two rises that just reach the full acceleration
    assert rest_to_rest(both * (1 + 1e-9), 100.0, a, j) == pytest.approx(4.0 * a / j)


@pytest.mark.parametrize("seed", few([1, 0, 2, 3, 4, 5], 1))
def test_bounded_jerk_with_thirty_control_points(seed):
    for start, goal, bounds in tasks(seed):
        exact = max(rest_to_rest(abs(b - a), *each) for a, b, each in zip(start, goal, bounds.T, strict=True))
        found = stated(start, goal, bounds, control_points=20).solve()
        assert found.valid
        assert found.motion.profiles[0].control_point_count <= 30
        assert exact * (1.0 - 1e-6) < found.duration < 1.007 * exact, (seed, len(start))


def test_joints_that_do_not_decide_get_no_knots():
    """Of a joint with a long way and one that may take its time: knots stand where the first one switches."""
    bounds = np.array([[1.0, 1.0], [4.0, 4.0], [30.0, 30.0]])
    alone = stated([0.0], [2.0], bounds[:, :1]).solve(polish=False)
    both = stated([0.0, 0.0], [2.0, 0.9], bounds).solve(polish=False)
    exact = rest_to_rest(2.0, *bounds[:, 0])
    assert both.duration == pytest.approx(alone.duration, rel=1e-3)
    assert both.duration == pytest.approx(exact, rel=2e-3)
    rise = np.array([4.0 / 30.0, 1.0 / 4.0, 1.0 / 4.0 + 4.0 / 30.0])
    switches = np.concatenate([rise, exact - rise]) / exact
    edges = np.unique(both.motion.profiles[0].knots)
    assert np.abs(edges[:, None] - switches).min(axis=0).max() < 1e-3
    first = both.at(np.linspace(0.0, both.duration, 999)).qddd[:, 0]
    assert (np.abs(first) > 29.0).mean() > 0.2  # a fifth of the time and more


def test_velocities_that_rise_faster_than_a_span():
    """Neither acceleration nor jerk is at its bound while knots are even: those of the velocity bring them there."""
    bounds = np.array([[0.6], [3.5], [50.0]])
    exact = rest_to_rest(3.2, *bounds[:, 0])
    even = stated([0.0], [3.2], bounds, knots=np.linspace(0.0, 1.0, 18)).solve(polish=False)
    found = stated([0.0], [3.2], bounds).solve(polish=False)
    assert even.duration > 1.05 * exact
    assert found.duration < 1.005 * exact


def attempt(statement, **options):
    settings = SolveOptions(**options)
    return Attempt(statement.robot, statement.transcription, settings, FirstGuess())


def begun(statement, tolerance=1e-8):
    made = attempt(statement)
    made.transcription.compile()
    profiles = made.transcription.profiles()
    state = made.transcribed(profiles, made.guess(profiles))
    return made, state, made.solved(state, None, tolerance)


def test_multipliers_say_what_a_switch_is_worth():
    made, state, found = begun(two_link())
    motion = made.motion(state.profiles, state.x(found.x))
    base, (phase,) = np.unique(state.profiles[0].knots), made.transcription.phases
    (multipliers,) = state.path_multipliers(found)
    free = with_switches(motion, 0, phase, multipliers, base, 10, 1e-5)
    assert len(free.breaks) == len(base) + 6  # two at each of three switches
    switches = np.array([0.04570932, 0.19592727, 0.23530043]) / 0.39185454
    inserted = np.setdiff1d(free.breaks, base).reshape(3, 2)
    np.testing.assert_allclose(inserted.mean(axis=1), switches, atol=0.01)
    after = two_link().solve(polish=False).objective
    assert 0.2 < free.gain / (found.objective - after) < 5.0
    none = with_switches(motion, 0, phase, 0.0 * multipliers, base, 10, 1e-5)
    assert none.gain == 0.0
    np.testing.assert_array_equal(none.breaks, base)
    few = with_switches(motion, 0, phase, multipliers, base, 3, 1e-5)
    assert len(few.breaks) == len(base) + 2
    assert with_switches(motion, 0, phase, multipliers, base, 10, 1.0).gain == 0.0


def test_which_profiles_rows_depend_on():
    apart = stated([0.0, 0.0], [1.0, 0.5], np.array([[1.0, 1.0], [4.0, 4.0], [30.0, 30.0]]))
    path = apart.transcription.phases[0].path
    np.testing.assert_array_equal(dependence(path), np.tile(np.eye(2, dtype=bool), (3, 1)))
    assert dependence(two_link().transcription.phases[0].path).all()


def test_multipliers_on_other_grids():
    rng = np.random.default_rng(0)
    grid, finer = np.linspace(0.0, 1.0, 21), np.unique(rng.uniform(0.0, 1.0, 80))
    values = rng.uniform(size=21)
    np.testing.assert_allclose(respread(grid, values, grid), values, rtol=1e-14)
    smooth = np.sin(3.0 * grid) * np.array([0.025, *[0.05] * 19, 0.025])
    finer = np.concatenate([[0.0], finer, [1.0]])
    assert respread(grid, smooth, finer).sum() == pytest.approx((1.0 - np.cos(3.0)) / 3.0, rel=1e-2)
    assert respread(np.zeros(0), np.zeros(0), grid).tolist() == [0.0] * 21


def test_a_solve_on_other_knots_begins_with_what_is_known():
    made, state, found = begun(two_link(), 1e-4)
    profiles = made.transcription.profiles(26)
    finer = made.transcribed(profiles, made.carried(state.profiles, state.x(found.x), profiles))
    warm = finer.warm(state, found)
    (before,), (after,) = state.path_multipliers(found), finer.path_multipliers(warm)
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), rtol=0.2, atol=0.1 * np.abs(before).sum())
    cold = made.solved(finer, None, 1e-8)
    quick = made.solved(finer, warm, 1e-8, insertion.PUSH)
    assert quick.objective == pytest.approx(cold.objective, rel=1e-6)
    assert quick.iterations < cold.iterations
    np.testing.assert_allclose(state.warm(state, found).multipliers, found.multipliers, rtol=1e-14)


def test_coarse_solves_end_in_one_of_the_full_tolerance(monkeypatch):
    asked = []
    before = solvers.solve

    def watched(programme, *arguments, **options):
        asked.append(options["tolerance"])
        return before(programme, *arguments, **options)

    monkeypatch.setattr(solvers, "solve", watched)
    two_link().solve(polish=False)
    assert asked[0] == insertion.COARSE
    assert asked[-1] == 1e-8
    asked.clear()
    two_link(knots=np.linspace(0.0, 1.0, 18)).solve(polish=False)
    assert set(asked) == {1e-8}
    asked.clear()
    rough = two_link().solve(polish=False, tolerance=1e-3)
    assert set(asked) == {1e-3}
    assert rough.duration < 0.4
    asked.clear()
    short = two_link().solve(polish=False, guesses=1, iterations=10)
    assert asked[-1] == 1e-8
    assert not short.optimal


def test_a_failed_insertion_changes_nothing(monkeypatch):
    even = two_link(knots=np.linspace(0.0, 1.0, 18)).solve(polish=False)

    class Fails(Attempt):
        def solved(self, state, warm, tolerance, push=solvers.PUSH):
            found = super().solved(state, warm, tolerance, push)
            more = state.profiles[0].control_point_count > 20
            return replace(found, status="failed") if more else found

    monkeypatch.setattr(solve, "Attempt", Fails)
    found = two_link().solve(polish=False, guesses=1)
    assert found.valid
    assert found.optimal
    assert found.motion.profiles[0].control_point_count == 20
    assert found.duration == pytest.approx(even.duration, rel=1e-5)


@pytest.mark.slow
def test_a_given_motion_is_where_the_solve_begins():
    """Of a motion at its bounds: a solve that begins well inside them loses it, and may not come back."""
    first = two_link(control_points=12).solve()
    for points in (12, 16, 30):
        found = two_link(control_points=points).solve(guess=first, polish=False)
        assert found.valid
        assert found.iterations < 100
        assert found.duration < (1.0 + 1e-4) * first.duration


def test_pushes_are_checked():
    made, state, found = begun(two_link(control_points=8))
    for push in (0.0, 0.5, -1.0):
        with pytest.raises(InputError, match="push"):
            made.solved(state, found, 1e-8, push)

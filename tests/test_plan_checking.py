"""Limits between grid points: what the dense check finds, and that no plan counts as valid that is not."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from neuler import plan
from neuler.optimize import dense as judge

GRID = np.linspace(0.0, 1.0, 41)


def held(lower, upper):
    """Bounds that are the same everywhere."""

    def side(bound):
        row = np.atleast_1d(np.asarray(bound, dtype=float))
        return lambda shares: np.broadcast_to(row, (len(shares), len(row)))

    return side(lower), side(upper)


def worst(found, row):
    """Relative violation and share of the largest peak of a row."""
    peaks = [(relative, share, value) for which, share, relative, value in found.peaks if which == row]
    return max(peaks) if peaks else (-np.inf, np.nan, np.nan)


# ---- made-up rows --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.floats(2e-3, 1.0 - 2e-3), st.floats(1.0, 2e4), st.sampled_from([-1.0, 1.0]), st.floats(-50.0, 50.0))
def test_a_narrow_passage_between_points_is_found(at, bend, side, bound):
    """A parabola that passes its bound by 5e-6 (1 + |bound|), between all points that are looked at first."""
    size = 1.0 + abs(bound)
    excess = 5e-6 * size

    def values(s):
        return (bound + side * (excess - bend * size * (s - at) ** 2))[:, None]

    lower, upper = held(-np.inf, bound) if side > 0 else held(bound, np.inf)
    found = judge.dense(values, lower, upper, GRID)
    relative, share, value = worst(found, 0)
    assert relative == pytest.approx(5e-6, abs=5e-7)
    assert share == pytest.approx(at, abs=1e-5 + 1e-3 / np.sqrt(bend))
    assert value == pytest.approx(bound + side * excess, abs=1e-6 * size)


@pytest.mark.parametrize("at", [0.0, 1e-5, 1.0 - 1e-5, 1.0])
def test_a_narrow_passage_just_inside_an_end_is_found(at):
    found = judge.dense(lambda s: (1.0 + 1e-5 - 2e4 * (s - at) ** 2)[:, None], *held(-np.inf, 1.0), GRID)
    assert worst(found, 0)[0] == pytest.approx(5e-6, abs=2e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_waves_are_found_wherever_they_pass(seed):
    """Rows of many waves on a grid that is uneven, against a look at twenty thousand points."""
    rng = np.random.default_rng(seed)
    grid = np.sort(np.concatenate([[0.0, 1.0], rng.random(30)]))
    frequency = rng.uniform(0.0, 60.0, size=(4, 3))
    phase, height = rng.uniform(0, 6.3, size=(2, 4, 3))

    def values(s):
        return (height * np.sin(frequency * s[:, None, None] + phase)).sum(axis=-1)

    s = np.linspace(0.0, 1.0, 20_001)
    every = values(s)
    low = every.min(axis=0) + rng.choice([-1.0, 0.01, 1e-5], size=4)
    high = every.max(axis=0) - rng.choice([-1.0, 0.01, 1e-5], size=4)
    found = judge.dense(values, *held(low, high), grid)
    for row in range(4):
        passed = np.maximum(
            (low[row] - every[:, row]) / (1 + abs(low[row])), (every[:, row] - high[row]) / (1 + abs(high[row]))
        )
        if passed.max() > 0.0:
            relative, share, value = worst(found, row)
            assert relative >= passed.max() - 2e-7
            assert value == pytest.approx(values(np.array([share]))[0, row], rel=1e-12, abs=1e-12)
        else:
            assert worst(found, row)[0] <= 2e-7


def test_all_peaks_of_a_row_are_told():
    """Grids are refined at each of them."""
    tops = np.array([0.113, 0.4567, 0.81234])

    def values(s):
        return (1.0 + 1e-4 - 30.0 * np.abs(s[:, None] - tops).min(axis=1) ** 2)[:, None]

    found = judge.dense(values, *held(-np.inf, 1.0), GRID)
    at = sorted(share for _, share, relative, _ in found.peaks if relative > 1e-6)
    assert len(at) == 3
    np.testing.assert_allclose(at, tops, atol=1e-5)


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_ends_count(end):
    found = judge.dense(lambda s: (np.exp(-np.abs(s - end)) + 1e-3)[:, None], *held(-np.inf, 1.0), GRID)
    relative, share, _ = worst(found, 0)
    assert share == end
    assert relative == pytest.approx(5e-4, rel=1e-9)


def test_bounds_in_windows():
    """Outside its window a row is not limited: what is high there does not count."""

    def upper(s):
        return np.where((s >= 0.4) & (s <= 0.6), 1.0, np.inf)[:, None]

    def lower(s):
        return np.full((len(s), 1), -np.inf)

    grid = np.unique(np.concatenate([GRID, [0.4, 0.6]]))
    out = judge.dense(lambda s: (2.0 - 10.0 * (s - 0.2) ** 2)[:, None], lower, upper, grid)
    relative, share, _ = worst(out, 0)
    assert relative == pytest.approx(0.5 * (1.0 - 10.0 * 0.04), rel=1e-6)
    assert share == pytest.approx(0.4, abs=1e-9)
    good = judge.dense(lambda s: (0.9 + 100.0 * (np.abs(s - 0.5) - 0.1).clip(0))[:, None], lower, upper, grid)
    assert worst(good, 0)[0] < 0.0


def test_numbers_that_are_none_are_violations():
    def values(s):
        return np.where(np.abs(s - 0.5123) < 0.02, np.nan, 0.0)[:, None] * np.ones(2)

    with np.errstate(invalid="ignore"):
        found = judge.dense(values, *held([-1.0, -np.inf], [1.0, np.inf]), GRID)
    assert worst(found, 0)[0] == np.inf
    assert all(row == 0 for row, *_ in found.peaks)  # a row without bounds may be anything


def test_rows_without_bounds_and_rows_far_below_are_left_alone():
    found = judge.dense(lambda s: np.stack([100 * s, -s], axis=1), *held([-np.inf, -9.0], [np.inf, 9.0]), GRID)
    assert found.peaks == []
    assert (found.relative <= -0.5).all()


def test_equalities_have_two_sides():
    found = judge.dense(lambda s: (1e-5 * np.sin(7.0 * s))[:, None], *held(0.0, 0.0), GRID)
    assert worst(found, 0)[0] == pytest.approx(1e-5, rel=1e-4)
    values = sorted(value for *_, value in found.peaks)
    assert values[0] < -9e-6
    assert values[-1] > 9e-6


# ---- plans ---------------------------------------------------------------------------------------------------------


@functools.cache
def arm(rough=False):
    robot = neuler.robots.two_link().replace(gravity=(0.0, -9.81, 0.0))
    if rough:
        joints = [dataclasses.replace(j, coulomb=0.6, viscous=0.1) if j.moves else j for j in robot.joints]
        robot = robot.replace(joints=joints)
    return robot


def task(seed, rough=False):
    """Start, goal and bounds at random; some of them too narrow, some solves cut short."""
    rng = np.random.default_rng([5, seed])
    start, goal = rng.uniform(-2.0, 2.0, size=(2, 2))
    bounds = {plan.torque: rng.uniform(6.0, 25.0), plan.velocity: rng.uniform(1.5, 8.0)}
    bounds[plan.acceleration] = rng.uniform(15.0, 150.0)
    limits = [plan.within(measure, most) for measure, most in bounds.items()]
    robot = arm(rough)
    made = plan.Plan(robot, start=start, goal=goal, limits=limits, control_points=int(rng.integers(6, 13)))
    cut = [{}, {}, {"refine": False}, {"iterations": int(rng.integers(3, 12))}][seed % 4]
    return start, goal, bounds, made.solve(**cut)


def looked(found, bounds):
    """The worst relative violation at fifty times as many points as the solver had, and about its own."""
    segment = found.motion.profiles[0]
    shares = np.concatenate([segment.grid, *(segment.grid[:, None] + np.array([-1e-6, 1e-6])).T])
    shares = np.concatenate([shares.clip(0, 1), np.linspace(0.0, 1.0, 50 * len(segment.grid))])
    motion = found.at(np.sort(shares) * found.duration)
    still = np.where(np.abs(motion.qd) < 1e-7, 0.0, motion.qd)  # where friction is any force up to that of motion
    seen = {
        plan.torque: found.robot.inverse_dynamics(motion.q, still, motion.qdd),
        plan.velocity: motion.qd,
        plan.acceleration: motion.qdd,
    }
    return max(float((np.abs(seen[measure]).max() - most) / (1.0 + most)) for measure, most in bounds.items())


def never_falsely(seeds, rough=False):
    valid = 0
    for seed in seeds:
        start, goal, bounds, found = task(seed, rough)
        passed = looked(found, bounds)
        motion = found.at(np.array([0.0, found.duration]))
        if found.valid:
            valid += 1
            assert passed <= 2e-6, f"seed {seed}: {passed}"
            np.testing.assert_allclose(motion.q, [start, goal], atol=1e-9, err_msg=f"seed {seed}")
            np.testing.assert_allclose(motion.qd, 0.0, atol=1e-8, err_msg=f"seed {seed}")
            assert found.worst_violation <= 1e-6
        else:
            assert found.worst_violation > 1e-6
            assert found.violations
        assert passed <= 1.001 * found.worst_violation + 2e-6, f"seed {seed}"  # it is never understated
        if not rough:  # friction jumps between any two points
            assert found.worst_violation <= 1.5 * max(passed, 0.0) + 2e-6, f"seed {seed}"
    return valid


@pytest.mark.slow
def test_no_plan_is_falsely_valid():
    assert 6 <= never_falsely(range(16)) < 16


def test_no_plan_with_friction_is_falsely_valid():
    assert never_falsely(range(100, 106), rough=True) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("rough", [False, True])
def test_no_plan_of_many_is_falsely_valid(rough):
    assert never_falsely(range(200, 280), rough) > 25

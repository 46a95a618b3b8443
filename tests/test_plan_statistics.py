"""What a plan says of its solve: sizes, active rows, seconds, and how families of limits hold on the fine grid."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import neuler
from neuler import plan
from neuler.optimize import solvers
from neuler.optimize.block_programme import BlockProgramme
from neuler.optimize.blocks import Block
from neuler.plan.families import active_rows
from neuler.plan.planned import with_costs

MIDDLE = -1.8
"""Where the second joint has to be half-way (rad), which it would not be by itself."""


def asked(upper=MIDDLE, **more):
    """Least effort in 1 s; half-way the second joint is below a bound, and both joints have ranges."""
    limits = [
        plan.limit(plan.position, None, {"joint2": upper}, when=(0.5, 0.5), family="half-way"),
        plan.limit(plan.position, -3.0, 3.0, family="range"),
        plan.within(plan.torque, 500.0, family="strength"),
    ]
    arm = neuler.robots.two_link()
    given = {"start": [0.0, -1.0], "goal": [1.0, -1.0], "duration": 1.0, "control_points": 10, **more}
    return plan.Plan(arm, plan.effort(), limits=limits, **given)


@functools.cache
def found():
    return asked().solve(tolerance=1e-10)


def test_rows_that_are_active():
    """min (x - 2)^2 + (y - 1)^2 with x <= 1, y <= 5 and x + y = 2: the first and the last row are."""
    square = neuler.function(lambda z: [(z[0] - 2.0) ** 2 + (z[1] - 1.0) ** 2], {"z": 2})
    line = neuler.function(lambda z: [z[0], z[1], z[0] + z[1]], {"z": 2})
    one = sparse.eye(2, format="csr")
    blocks = [
        Block.of(square, {"z": one}, 1, weights=1.0),
        Block.of(line, {"z": one}, 1, lower=[-np.inf, -np.inf, 2.0], upper=[1.0, 5.0, 2.0]),
    ]
    free = np.full(2, np.inf)
    programme = BlockProgramme(np.zeros(2), blocks, (-free, free))
    solution = solvers.solve(programme, "auto", tolerance=1e-8)
    assert solution.x == pytest.approx([1.0, 1.0], abs=1e-6)
    assert active_rows(programme, solution).tolist() == [True, False, True]
    rough = replace(solution, rows=solution.rows - [1e-3, 0.0, 0.0])  # as an interior point leaves it
    assert active_rows(programme, rough).tolist() == [True, False, True]
    away = replace(rough, multipliers=np.array([1e-6, 0.0, 1.0]))
    assert active_rows(programme, away).tolist() == [False, False, True]
    lost = replace(solution, rows=np.full(3, np.nan))
    assert not active_rows(programme, lost).any()


def test_sizes_and_seconds():
    planned = found()
    assert planned.valid
    assert planned.variables > 0
    assert 0 < planned.active < planned.constraints
    assert 0.0 < planned.first_solve_seconds <= planned.seconds
    assert planned.solver_seconds == pytest.approx(planned.seconds - planned.function_seconds)
    assert replace(planned, function_seconds=planned.seconds + 1.0).solver_seconds == 0.0
    assert planned.checked_points >= 1000
    told = planned.summary()
    for name in ("variables", "constraints", "active", "first_solve_seconds", "solver_seconds"):
        assert told[name] == getattr(planned, name)


def test_lazy_limits_belong_to_the_first_solve():
    """Until the solve in which those that are violated are posed."""
    limits = [plan.limit(plan.torque, -11.0, 11.0, lazy=True, family="strength")]
    task = plan.Plan(
        neuler.robots.two_link(), plan.effort(), start=[0, -2], goal=[1, -1], duration=0.4, limits=limits,
        control_points=10,
    )  # fmt: skip
    quick, whole = task.solve(refine=False), task.solve()
    assert quick.family_reports["strength"].rows == 0
    assert quick.family_reports["strength"].excess > 0.1
    assert whole.family_reports["strength"].rows > 0
    assert whole.family_reports["strength"].active > 0
    assert whole.first_solve_seconds <= whole.seconds


def test_multipliers_say_what_a_bound_costs():
    """The objective falls by the multiplier where the bound is relaxed by a little."""
    mine = found().family_reports["half-way"]
    assert (mine.rows, mine.active, mine.unit) == (1, 1, "rad")
    assert mine.multiplier > 0.0
    eased = asked(MIDDLE + 1e-3).solve(tolerance=1e-10)
    assert (found().objective - eased.objective) / 1e-3 == pytest.approx(mine.multiplier, rel=0.02)
    idle = asked(2.0).solve().family_reports["half-way"]
    assert (idle.rows, idle.active) == (1, 0)
    assert abs(idle.multiplier) < 1e-3 * mine.multiplier


def test_families_on_the_fine_grid():
    """All of them are there; what holds is violated by nothing, and the rest has its unit, place and time."""
    reports = found().family_reports
    assert {"half-way", "range", "strength"} <= set(reports)
    assert reports["range"].excess == 0.0
    assert (reports["range"].unit, reports["strength"].unit) == ("rad", "N m")
    hasty = asked(duration=0.05).solve(refine=False, iterations=60)
    worst = max((each for each in hasty.violations if each.family == "strength"), key=lambda each: each.relative)
    strength = hasty.family_reports["strength"]
    assert strength.excess == worst.excess > 1.0
    assert (strength.name, strength.label, strength.time) == ("torque", worst.label, worst.time)
    assert worst.unit == "N m"


def test_ranges_of_joints_have_their_family():
    """They bound control points, and have no rows; where they are violated, their family is told."""
    limits = [plan.limit(plan.position, -0.5, 0.5, family="range")]
    guess = plan.Plan(neuler.robots.two_link(), plan.effort(), start=[0, 0], goal=[1, 0], duration=1.0).solve()
    task = plan.Plan(neuler.robots.two_link(), plan.effort(), start=[0, 0], duration=1.0, limits=limits,
                     goal=plan.Boundary(q=None))  # fmt: skip
    held = task.solve(guess=guess)
    assert held.family_reports["range"].excess <= 1e-6
    assert held.family_reports["range"].rows == 0
    assert {each.family for each in held.violations} <= {"range"}


def test_several_solves_are_summed_up():
    """The first solve is the first that was successful, whatever refinement made of it."""
    costs = {"function_seconds": 1.0, "iterations": 6}
    first = replace(found(), seconds=2.0, first_solve_seconds=1.5, first_solve_status="failed", **costs)
    second = replace(found(), seconds=3.0, first_solve_seconds=1.0, first_solve_status="optimal", **costs)
    both = with_costs(second, [first, second])
    assert (both.seconds, both.function_seconds, both.iterations) == (5.0, 2.0, 12)
    assert (both.first_solve_seconds, both.first_solve_status) == (3.0, "optimal")
    assert with_costs(first, [first]).first_solve_seconds == 1.5
    spoiled = replace(second, status="limit")
    assert with_costs(first, [spoiled, first]).first_solve_seconds == 1.0
    assert found().first_solve_status == found().summary()["first_solve_status"] == "optimal"

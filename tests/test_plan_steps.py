"""Steps by quadratic programmes: what a solution needs between its points, and the second stage."""

import numpy as np
import pytest

import neuler
from neuler import plan
from neuler.optimize.block_programme import BlockProgramme
from neuler.plan import refine
from neuler.plan.attempt import Attempt
from neuler.plan.guess import FirstGuess
from neuler.plan.options import SolveOptions
from neuler.plan.polish import JerkBlocks, squared_jerks
from neuler.plan.refinement import FAR
from neuler.plan.steps import approached, can_approach, smoothed

LIMITS = [plan.within(plan.torque, 10.0)]


def two_link(**more):
    given = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "limits": LIMITS} | more
    return plan.Plan(neuler.robots.two_link(), **given)


def attempt_of(task, **options):
    solver = task._solver
    return Attempt(solver.robot, solver.transcription, SolveOptions(**options), FirstGuess())


def first_solve(attempt):
    """The solution on the first grid, and what is violated between its points."""
    attempt.transcription.compile()
    profiles = attempt.transcription.profiles()
    state = attempt.transcribed(profiles, attempt.guess(profiles))
    solution = attempt.solved(state, None, attempt.tolerance)
    return state, solution, attempt.checked(state.profiles, state.x(solution.x))


def worst(checks):
    return max(each.worst for each in checks)


@pytest.fixture
def hessians(monkeypatch):
    """Points at which second derivatives of limits were evaluated, programme by programme."""
    found, own = [], BlockProgramme.hessian

    def counted(self, *given):
        found.append(sum(block.points for block in self.blocks if block.count) if self.bent_rows else 0)
        return own(self, *given)

    monkeypatch.setattr(BlockProgramme, "hessian", counted)
    return found


# ---- about a solution ------------------------------------------------------------------------------------------------


def test_steps_find_the_points_of_a_solution():
    attempt = attempt_of(two_link(control_points=14))
    state, solution, checks = first_solve(attempt)
    assert worst(checks) > 1e-4
    found = approached(attempt, state, solution, checks)
    assert found is not None
    after, better = found
    assert better.status == "optimal"
    left = worst(attempt.checked(after.profiles, after.x(better.x)))
    assert left < 1e-2 * worst(checks)
    assert better.objective == pytest.approx(solution.objective, rel=1e-2)
    assert len(after.profiles[0].grid) > len(state.profiles[0].grid)


def test_steps_take_no_second_derivatives_of_limits(hessians):
    attempt = attempt_of(two_link(control_points=14))
    state, solution, checks = first_solve(attempt)
    hessians.clear()
    approached(attempt, state, solution, checks)
    few = len(state.profiles[0].grid)
    assert hessians[0] == few  # the curvature of the solution, for all steps
    assert len(set(hessians[1:])) == 1  # the solve at the end


def test_margins_go_back_where_steps_lead_nowhere(monkeypatch):
    attempt = attempt_of(two_link(control_points=14))
    state, solution, checks = first_solve(attempt)
    (known,) = attempt.refinements
    known.tighter.append((0, 0.5, 0.1, 1e-3))
    before = known.saved_margins()
    good = [check.worst for check in checks]
    monkeypatch.setattr("neuler.plan.steps._worst", lambda checks: good[0])  # no step is better
    assert approached(attempt, state, solution, checks) is None
    assert known.saved_margins() == before


def test_large_plans_are_refined_by_steps_and_come_to_the_same(monkeypatch):
    task = two_link(control_points=14)
    plain = task.solve(polish=False)
    monkeypatch.setattr(refine, "can_approach", lambda attempt: True)
    called = []
    monkeypatch.setattr(refine, "approached", lambda *given: (called.append(1), approached(*given))[1])
    found = two_link(control_points=14).solve(polish=False)
    assert called
    assert found.valid
    assert found.optimal
    assert found.duration == pytest.approx(plain.duration, rel=1e-4)


def test_where_steps_pay():
    small = attempt_of(two_link(control_points=10))
    assert not can_approach(small)  # derivatives are written out
    for phase in small.transcription.phases:
        phase.path.derivatives.by_products = True
    try:
        assert can_approach(small)
        small.refinements[0].lazy[:1] = True
        assert not can_approach(small)
    finally:
        for phase in small.transcription.phases:
            phase.path.derivatives.by_products = False


# ---- points and rows -------------------------------------------------------------------------------------------------


def test_points_that_are_there_are_not_added_again():
    attempt = attempt_of(two_link(control_points=10))
    state, _, checks = first_solve(attempt)
    (known,), (mine,), (check,) = attempt.refinements, state.profiles, checks
    on_grid = [peak for peak in check.peaks if peak.share in mine.grid]
    assert on_grid
    finer, _ = known.refined(mine, check, -1.0)
    assert len(np.unique(finer.grid)) == len(finer.grid)
    assert not known.left_out(mine.grid).any()  # limits stay at the points where all of them were


def test_limits_that_are_far_from_bounds_are_left_out_of_dense_grids():
    attempt = attempt_of(two_link(control_points=10))
    state, _, checks = first_solve(attempt)
    (known,), (check,) = attempt.refinements, checks
    (phase,) = attempt.transcription.phases
    dense = attempt.transcription.phase_profiles(phase, 0, breaks=np.unique(state.profiles[0].knots), grid=5)
    known.pose_near(dense, check, state.profiles[0].grid)
    out = known.left_out(dense.grid)
    added = ~np.isin(dense.grid, state.profiles[0].grid)
    assert not out[~added].any()
    assert out[added].any()
    assert not out[added].all()
    columns = {each.path_row: k for k, each in enumerate(check.columns) if each.path_row >= 0}
    nearest = np.abs(check.shares[:, None] - dense.grid).argmin(axis=0)
    for point, row in zip(*np.nonzero(out), strict=True):
        assert check.relative[nearest[point], columns[row]] <= -FAR


# ---- the second stage ------------------------------------------------------------------------------------------------


def idle():
    """Two slides that do not know of each other: one has to go far, the other nowhere."""
    joints = [
        neuler.Joint(name, "prismatic", "base", f"mass_{name}", axis=(1, 0, 0), limits=neuler.Limits(effort=10.0))
        for name in ("far", "idle")
    ]
    links = [neuler.Link.from_com(f"mass_{each.name}", mass=2.0, com=(0, 0, 0), inertia=(0, 0, 0)) for each in joints]
    robot = neuler.Robot("slides", [neuler.Link("base"), *links], joints, gravity=(0, 0, 0))
    return plan.Plan(robot, start=[0.0, 0.0], goal=[1.7, 0.0], control_points=14)


def shaken(found):
    """The motion of a plan with an idle joint that shakes a little."""
    motion = found.motion
    (mine,) = motion.profiles
    x = motion.x.copy()
    shake = np.zeros((mine.control_point_count, mine.count))
    shake[3:-3, 1] = 1e-3 * (-1.0) ** np.arange(mine.control_point_count - 6)
    x[mine.first : mine.duration] += shake.ravel()
    return type(motion)(motion.models, motion.profiles, x)


def test_every_motion_of_the_second_stage_holds(hessians):
    task = idle()
    found = task.solve(polish=False)
    assert found.valid
    motion = shaken(found)
    attempt = attempt_of(task)
    limit = found.objective + 1e-4
    weights = 1.0 / squared_jerks(motion).sum() / motion.durations[:, None] ** 5 * np.ones((1, 2))
    attempt.more, attempt.ceiling = [JerkBlocks(tuple(map(tuple, weights)))], limit
    before = squared_jerks(motion)[0, 1]
    hessians.clear()
    seen = list(smoothed(attempt, motion))
    assert seen
    assert not any(hessians)  # none of limits
    for state, solution, checks in seen:
        planned = attempt.planned(state, solution, checks)
        assert planned.valid
        assert planned.objective <= limit + 1e-9
        assert squared_jerks(planned.motion)[0, 1] < 1e-4 * before

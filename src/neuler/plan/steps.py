"""Steps from one motion to the next by quadratic programmes: limits linearised, at many points.

A step takes one Jacobian of the limits and none of their second derivatives: points cost little, and limits are posed
at their peaks along every motion of the sequence. The gradient of a peak's height is that of the limit at its place, so
that what a step violates is of second order in its length. Two things are done by steps: :func:`approached` finds the
points and margins that a solution needs between its own, before it is solved for again; :func:`smoothed` goes from a
valid motion to better ones of a second objective.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neuler.motions.profiles import Profiles, placed
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.linearised import Curvature
from neuler.optimize.programme import Array, Solution
from neuler.plan.attempt import Attempt
from neuler.plan.judge import PhaseCheck
from neuler.plan.options import SOLVED
from neuler.plan.refinement import CLOSE, COUNTS, Refinement, SavedMargins
from neuler.plan.transcribed import Transcribed

TOLERANCE, COARSE = 1e-6, 1e-5
"""Of quadratic programmes about a solution, and of the second objective: how small it is need not be exact."""
STEPS = 10
"""Steps about a solution at most."""
ALMOST = 0.3
"""Of the tolerance: violations with which steps about a solution end."""
WORSE = 3.0
"""Times the least violation of the steps so far: where one violates limits more, it is the last."""
PATIENCE = 2
"""Steps without a smaller violation, one after the other, after which they end."""
HELD = 1e-6
"""Damping of steps about a solution: what the objective leaves open stays where it is."""
GRID = 5
"""Grid points in every span, of the second objective; as many as the plan has where there are variables at them."""
PEAKS = 2e-2
"""Of 1 + |bound|: peaks that come so near to a bound along the first motion get points of their own."""
FREE, DAMPING, MORE = 2, 1e-6, 30.0
"""Steps of the second objective that are not damped, damping of the next, and how many times as much others have."""
ENOUGH = 0.8
"""Of the second objective before a step: where more of it is left after one, it is the last."""
LEAST = 1e-12
"""What the second objective counts for at least: steps are scaled by it."""


def can_approach(attempt: Attempt) -> bool:
    """Whether :func:`approached` applies and pays.

    It does where second derivatives of limits are by far the most of the work, not written out for they are so many;
    there are no variables at grid points, and no limit is left out altogether.
    """
    phases = attempt.transcription.phases
    at_points = any(phase.collocated or phase.held or phase.magnitudes or phase.model.dependent for phase in phases)
    return attempt.transcription.large and not at_points and not any(known.lazy.any() for known in attempt.refinements)


def approached(
    attempt: Attempt, state: Transcribed, solution: Solution, checks: Sequence[PhaseCheck]
) -> tuple[Transcribed, Solution] | None:
    """The solution with the points and margins that steps about it find to be needed.

    The curvature of the Lagrangian in all steps is that of the solution. They end where limits hold between points, or
    are violated much more than before; the solve begins at the best of them. None where none is better than the
    solution, or the solve fails.
    """
    known, programme = attempt.refinements, state.programme
    curvature = Curvature(programme.hessian_at, programme.hessian(solution.x, 1.0, solution.multipliers))
    before = [each.saved_margins() for each in known]
    best: tuple[Transcribed, Solution, list[SavedMargins]] | None = None
    least, patience = _worst(checks), PATIENCE
    for turn in range(STEPS):
        x = state.x(solution.x)
        profiles = _with_peaks(attempt, state.profiles, x, checks, COUNTS * attempt.valid_to, more=turn > 0)
        margins = [each.saved_margins() for each in known]
        after = attempt.transcribed(profiles, attempt.carried(state.profiles, x, profiles), bent_rows=False)
        warm = after.warm(state, solution)
        state, solution = after, attempt.stepped(after, TOLERANCE, damping=HELD, curvature=curvature, warm=warm)
        if solution.status not in SOLVED or attempt.exhausted:
            break
        checks = attempt.checked(state.profiles, state.x(solution.x))
        worst = _worst(checks)
        if worst < least:
            best, least, patience = (state, solution, margins), worst, PATIENCE
        else:
            patience -= 1
        if worst <= ALMOST * attempt.valid_to or not worst <= WORSE * least or not patience:
            break
        for each, mine, check in zip(known, state.profiles, checks, strict=True):
            each.tighten(mine, check, attempt.valid_to)
    if best is not None:
        state, solution, margins = best
        _restore(known, margins)
        again = attempt.transcribed(state.profiles, state.x(solution.x))
        found = attempt.solved(again, again.warm(state, solution), attempt.tolerance)
        if found.status in SOLVED or attempt.exhausted:
            return again, found
    _restore(known, before)
    return None


def _restore(known: Sequence[Refinement], margins: Sequence[SavedMargins]) -> None:
    for each, saved in zip(known, margins, strict=True):
        each.restore_margins(saved)


def smoothed(attempt: Attempt, motion: SplineMotion) -> Iterator[tuple[Transcribed, Solution, list[PhaseCheck]]]:
    """The motions of a sequence of steps that hold between points, too.

    The objective is a convex quadratic: ``more`` blocks of the attempt, with its ``ceiling``. The sequence ends where a
    step fails or gains little, or after as many steps as there may be refinements.
    """
    transcription, known, valid_to = attempt.transcription, attempt.refinements, attempt.valid_to
    profiles: Sequence[Profiles] = placed([
        transcription.phase_profiles(phase, 0, breaks=np.unique(mine.knots), grid=None if mine.dependent else GRID)
        for phase, mine in zip(transcription.phases, motion.profiles, strict=True)
    ])  # fmt: skip
    x = attempt.carried(motion.profiles, motion.x, profiles)
    checks, above = attempt.checked(profiles, x), -PEAKS
    for each, mine, check in zip(known, profiles, checks, strict=True):
        each.pose_near(mine, check, np.unique(mine.knots))
    for turn in range(attempt.settings.rounds + 1):
        finer = _with_peaks(attempt, profiles, x, checks, above, more=True)
        state = attempt.transcribed(finer, attempt.carried(profiles, x, finer), bent_rows=False)
        value = max(abs(state.programme.objective(state.programme.start)), LEAST)
        damping = DAMPING * MORE ** (turn - FREE) if turn >= FREE else 0.0
        solution = attempt.stepped(state, COARSE, damping=damping, weight=1.0 / value)
        if solution.status not in SOLVED:
            return
        profiles, x, above = finer, state.x(solution.x), COUNTS * valid_to
        checks, excess = attempt.checked(profiles, x), attempt.total_excess(state, x)
        if max([_worst(checks), *excess, _missed(state, solution)]) <= valid_to:
            yield state, solution, checks
            if solution.objective > ENOUGH * value:
                return
        if attempt.exhausted:
            return
        for each, mine, check in zip(known, profiles, checks, strict=True):
            each.tighten(mine, check, valid_to)
        attempt.leave_for_totals(excess)


def _with_peaks(
    attempt: Attempt, profiles: Sequence[Profiles], x: Array, checks: Sequence[PhaseCheck], above: float, *, more: bool
) -> list[Profiles]:
    """Profiles with points at the peaks of limits that are violated by more than ``above``, and room for friction."""
    known = attempt.refinements
    found = placed([
        each.refined(mine, check, above, CLOSE)[0] for each, mine, check in zip(known, profiles, checks, strict=True)
    ])  # fmt: skip
    motion = attempt.motion(profiles, x)
    for k, (each, mine) in enumerate(zip(known, found, strict=True)):
        each.leave_for_friction(motion, k, mine.grid, more=more)
    return found


def _worst(checks: Sequence[PhaseCheck]) -> float:
    return max(each.worst for each in checks)


def _missed(state: Transcribed, solution: Solution) -> float:
    """By how much equalities do not hold."""
    programme = state.programme
    equal = programme.row_lower == programme.row_upper
    return float(np.abs(solution.rows - programme.row_lower)[equal].max(initial=0.0))

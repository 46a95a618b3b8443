"""Refinement of a solution: points of integrals, points and margins where limits are violated.

A solution holds at the points of its grid. Limits are checked between them: where one is violated, the grid gets
points and, after some rounds, the bound a margin; once violations are small, steps by quadratic programmes find both
(``plan/steps.py``). Where undriven forces are not zero between the points, the splines
themselves are too coarse and get more control points.
"""

from __future__ import annotations

import numpy as np

from neuler.motions.profiles import Profiles, placed
from neuler.optimize.programme import Solution
from neuler.plan import judge
from neuler.plan.attempt import Attempt
from neuler.plan.judge import PhaseCheck
from neuler.plan.options import SOLVED
from neuler.plan.phases import Phase
from neuler.plan.planned import Planned
from neuler.plan.refinement import COUNTS, SMALL
from neuler.plan.steps import approached, can_approach
from neuler.plan.transcribed import Transcribed

TIGHTEN_AFTER = 3
"""Refinements after which bounds are tightened by what is left."""
QUADRATURE_STEPS, QUADRATURE = 2, 1e-5
"""Refinements of integrals, and what they may be off by beside 1 + |objective|."""
GROWTHS = 6
"""How often splines may get more control points by themselves."""
DENSE = 5
"""Grid points in every span of a denser grid, used where points at single violations would be more."""
NEARLY = 0.05
"""Violations, of 1 + |bound|, up to which steps by quadratic programmes find what a solution needs between points."""


def add_lazy_limits(
    attempt: Attempt, state: Transcribed, solution: Solution, tolerance: float
) -> tuple[Transcribed, Solution]:
    """Solve again, from the first guess, as long as limits that were left out are violated."""
    known = attempt.refinements
    while any(each.lazy.any() for each in known) and solution.status in SOLVED and not attempt.exhausted:
        checks = attempt.checked(state.profiles, state.x(solution.x))
        added = [each.add_lazy(check, attempt.valid_to) for each, check in zip(known, checks, strict=True)]
        if not any(added):
            break
        near = all(not phase.forces_jump for phase in attempt.transcription.phases)  # strong enough, or nearly so
        x = state.x(solution.x) if near else attempt.guess(state.profiles)
        state = attempt.transcribed(state.profiles, x)
        solution = attempt.solved(state, None, tolerance)
    return state, solution


def refine_quadrature(attempt: Attempt, state: Transcribed, solution: Solution) -> tuple[Transcribed, Solution]:
    """More points for integrals, where the motion's own differ from what the solve took them for."""
    transcription = attempt.transcription
    for turn in range(1, QUADRATURE_STEPS + 1):
        if not any(phase.integrates for phase in transcription.phases) or not attempt.settings.refine:
            break
        if not all(phase.forces_jump for phase in transcription.phases):  # more points would be more variables
            break
        if attempt.exhausted or solution.status not in SOLVED:
            break
        x = state.x(solution.x)
        true = sum(attempt.costs(state, x).values())
        good = abs(true - solution.objective) <= QUADRATURE * (1.0 + abs(true))
        if transcription.totals:
            good &= bool((attempt.total_excess(state, x) <= attempt.valid_to).all())
        if good or not np.isfinite(true):
            break
        profiles = placed([
            transcription.phase_profiles(phase, 0, 4 * 2**turn, breaks=np.unique(mine.knots))
            for phase, mine in zip(transcription.phases, state.profiles, strict=True)
        ])  # fmt: skip
        finer = attempt.transcribed(profiles, attempt.carried(state.profiles, x, profiles))
        found = attempt.solved(finer, None, attempt.tolerance)
        if found.status not in SOLVED:
            break
        state, solution = finer, found
    return state, solution


def refined(attempt: Attempt, state: Transcribed, solution: Solution) -> Planned:
    """Add points where limits are violated between them, until none is; later also tighten bounds.

    Limits that were left out come in as soon as they are violated. Where undriven forces are not zero between the
    points, the splines themselves are too coarse: they get more control points.
    """
    phases, settings, valid_to = attempt.transcription.phases, attempt.settings, attempt.valid_to
    growths_left, since = GROWTHS, 0
    best: tuple[tuple[bool, float], Transcribed, Solution, list[PhaseCheck]] | None = None
    for turn in range(settings.rounds + 1):
        x = state.x(solution.x)
        checks = attempt.checked(state.profiles, x)
        excess = attempt.total_excess(state, x)
        worst = max([*(each.worst for each in checks), *excess])
        good = solution.status in SOLVED
        rank = not good, max(worst, valid_to)
        if best is None or rank <= best[0]:
            best = rank, state, solution, checks
        if worst <= valid_to or not settings.refine or turn == settings.rounds or not good or attempt.exhausted:
            break
        if worst <= NEARLY and not (excess > valid_to).any() and can_approach(attempt):
            near = approached(attempt, state, solution, checks)
            if near is not None:
                state, solution = near
                continue
        profiles, added, more, tightened = [], False, False, False
        for phase, mine, check, known in zip(phases, state.profiles, checks, attempt.refinements, strict=True):
            finer, new = known.refined(mine, check, COUNTS * valid_to)
            dense = _denser(attempt, phase, mine) if turn == 0 and mine.nodes is None else None
            if dense is not None and len(dense.grid) < len(finer.grid):
                known.pose_near(dense, check, mine.grid)
                finer = dense
            more |= new
            added |= known.add_lazy(check, valid_to) | known.astray(check)
            breaks = judge.grown_breaks(mine, check, valid_to) if growths_left > 0 else None
            if breaks is not None:
                finer = attempt.transcription.phase_profiles(phase, 0, breaks=breaks)
                known.restarted()
            elif turn > since or not new:  # also at once where limits are posed at all places that count
                most = np.inf if turn - since >= TIGHTEN_AFTER else SMALL
                tightened |= known.tighten(mine, check, valid_to, most)
            profiles.append(finer)
        profiles = placed(profiles)
        same = all(len(new.knots) == len(old.knots) for new, old in zip(profiles, state.profiles, strict=True))
        tightening = tightened or (turn >= TIGHTEN_AFTER and judge.violated(checks, valid_to))
        tightening |= bool((excess > valid_to).any())
        attempt.leave_for_totals(excess)
        if same and not added and not more and not tightening:
            break
        if not same:
            growths_left -= 1
            since = turn + 1
        guess = attempt.carried(state.profiles, x, profiles)
        if added and all(phase.forces_jump for phase in phases):  # without these limits it may have gone far astray
            guess, since = attempt.guess(profiles), turn + 1
            for known in attempt.refinements:
                known.relaxed()
        for k, known in enumerate(attempt.refinements):
            known.leave_for_friction(attempt.motion(state.profiles, x), k, profiles[k].grid, more=turn >= TIGHTEN_AFTER)
        next_one = attempt.transcribed(profiles, guess)
        warm = next_one.warm(state, solution) if same and not added else None
        state, solution = next_one, attempt.solved(next_one, warm, attempt.tolerance)
        if solution.status not in SOLVED and warm is not None and not attempt.exhausted:
            solution = attempt.solved(state, None, attempt.tolerance)
    assert best is not None
    return attempt.planned(*best[1:])


def _denser(attempt: Attempt, phase: Phase, profiles: Profiles) -> Profiles | None:
    """The profiles with more points in every span, those of the grid among them; None where they are not."""
    found = attempt.transcription.phase_profiles(phase, 0, breaks=np.unique(profiles.knots), grid=DENSE)
    return found if np.isin(profiles.grid, found.grid).all() else None

"""Insertion of knots between solves: coarse ones that find the switches, the last one to the full tolerance.

A coarse solve takes half the iterations or less, and says as well which rows switch where and how much they matter.
The next one begins with its multipliers: per share, times what the points of the new grid stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuler.motions.profiles import placed
from neuler.optimize.programme import Array, Solution
from neuler.plan.attempt import Attempt
from neuler.plan.knots import Following, with_switches
from neuler.plan.options import SOLVED
from neuler.plan.polish import is_undecided
from neuler.plan.transcribed import Transcribed

PASSES = 4
"""How often knots are inserted or moved."""
COARSE = 1e-4
"""Tolerance of solves whose solution is only where the next one begins."""
EACH, FIRST, LATER = 1e-4, 2e-4, 2e-3
"""Of the objective: what following a switch gains at least, by estimate; all those of the first pass; and those of
later ones, half of it where the pass before has really gained as much: estimates are too low where spans are wide."""
PUSH, CLOSE = 1e-2, 1e-4
"""How far from bounds solves on other knots begin, and those that go on on the same ones."""


def follows_switches(attempt: Attempt) -> bool:
    """Whether knots are inserted: objectives of durations and peaks alone make rows switch, given knots stay.

    Not where second derivatives are so large that they are not written out: solves on more knots cost too much there.
    """
    transcription, settings = attempt.transcription, attempt.settings
    if not (settings.refine and settings.switches and transcription.breaks is None):
        return False
    return is_undecided(transcription.phases) and not transcription.large


def insert_switches(attempt: Attempt, state: Transcribed, solution: Solution) -> tuple[Transcribed, Solution]:
    """Knots where limited rows switch between their bounds, as many as half the control points at most.

    Begins with a solution of the tolerance ``COARSE`` and ends with one of the attempt's own.
    """
    transcription = attempt.transcription
    base = [np.unique(mine.knots) for mine in state.profiles]
    needed = FIRST
    for turn in range(PASSES):
        if solution.status not in SOLVED:
            return state, solution
        if attempt.exhausted:
            break
        size = abs(solution.objective)
        found = _followed(attempt, state, solution, base)
        if sum(each.gain for each in found) <= needed * size:
            break
        profiles = placed([
            transcription.phase_profiles(phase, 0, breaks=each.breaks)
            for phase, each in zip(transcription.phases, found, strict=True)
        ])  # fmt: skip
        finer = attempt.transcribed(profiles, attempt.carried(state.profiles, state.x(solution.x), profiles))
        last = turn == PASSES - 1 or sum(each.left for each in found) <= LATER * size
        tolerance = attempt.tolerance if last else max(COARSE, attempt.tolerance)
        again = attempt.solved(finer, finer.warm(state, solution), tolerance, PUSH)
        if again.status not in SOLVED or again.objective > solution.objective:
            break
        needed = 0.5 * LATER if solution.objective - again.objective > LATER * size else LATER
        state, solution = finer, again
        if last:
            return state, solution
    if attempt.interrupted or attempt.tolerance >= COARSE:
        return state, solution
    again = attempt.solved(state, solution, attempt.tolerance, CLOSE)
    if again.status not in SOLVED and not attempt.exhausted:
        again = attempt.solved(state, None, attempt.tolerance)
    return state, again


def _followed(attempt: Attempt, state: Transcribed, solution: Solution, base: Sequence[Array]) -> list[Following]:
    """Breaks of every phase for a solution."""
    motion = attempt.motion(state.profiles, state.x(solution.x))
    multipliers = state.path_multipliers(solution)
    degree = attempt.transcription.degree
    found = []
    for k, (phase, edges) in enumerate(zip(attempt.transcription.phases, base, strict=True)):
        most = (len(edges) - 1 + degree) // 2
        found.append(with_switches(motion, k, phase, multipliers[k], edges, most, EACH * abs(solution.objective)))
    return found

"""Steps from a valid motion to better ones by quadratic programmes: limits linearised about each motion in turn.

A step costs one Jacobian of the limits and no second derivatives of them. Therefore limits are posed at many points,
wherever they come near their bounds, and at their peaks along every motion of the sequence. The gradient of a peak's
height is that of the limit at its place: what a step violates is of second order in its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neuler.motions.profiles import Profiles, placed
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array, Solution
from neuler.plan.attempt import Attempt
from neuler.plan.judge import PhaseCheck
from neuler.plan.options import SOLVED
from neuler.plan.refine import COUNTS
from neuler.plan.refinement import CLOSE, SMALL
from neuler.plan.transcribe import Transcribed

GRID = 5
"""Grid points in every span."""
FAR = 0.2
"""Of 1 + |bound|: limits that stay so far from their bounds along the first motion are not posed there."""
PEAKS = 2e-3
"""Of 1 + |bound|: peaks that come so near to a bound get points of their own."""
TOLERANCE = 1e-6
"""Of the quadratic programmes."""
DAMPING, MORE = 1e-6, 10.0
"""Damping of the second step, and how much more of it every other one has."""


def steps(attempt: Attempt, motion: SplineMotion) -> Iterator[tuple[Transcribed, Solution, list[PhaseCheck]]]:
    """The motions of a sequence that hold between points, too; it ends where steps fail, or after ``rounds`` of them.

    The objective is that of the attempt: ``more`` blocks, and a ``ceiling``.
    """
    transcription, known = attempt.transcription, attempt.refinements
    profiles = placed([
        transcription.phase_profiles(phase, 0, breaks=np.unique(mine.knots), grid=GRID)
        for phase, mine in zip(transcription.phases, motion.profiles, strict=True)
    ])  # fmt: skip
    x = attempt.carried(motion.profiles, motion.x, profiles)
    checks = attempt.checked(profiles, x)
    for each, mine, check in zip(known, profiles, checks, strict=True):
        each.pose_near(mine, check, FAR)
    valid_to, level = attempt.valid_to, -PEAKS
    for turn in range(attempt.settings.rounds + 1):
        finer = placed([
            each.refined(mine, check, level, CLOSE)[0] for each, mine, check in zip(known, profiles, checks, strict=True)
        ])  # fmt: skip
        for k, each in enumerate(known):
            each.leave_for_friction(attempt.motion(profiles, x), k, finer[k].grid, more=True)
        state = attempt.transcribed(finer, attempt.carried(profiles, x, finer), bent_rows=False)
        solution = attempt.stepped(state, DAMPING * MORE ** (turn - 1) if turn else 0.0, TOLERANCE)
        if solution.status not in SOLVED:
            return
        profiles, x, level = finer, state.x(solution.x), COUNTS * valid_to
        checks, excess = attempt.checked(profiles, x), attempt.total_excess(state, x)
        if max([*(each.worst for each in checks), *excess, _missed(state, solution)]) <= valid_to:
            yield state, solution, checks
        if attempt.exhausted:
            return
        for each, mine, check in zip(known, profiles, checks, strict=True):
            each.tighten(mine, check, valid_to, SMALL)
        if (excess > valid_to).any():
            attempt.total_margins = attempt.total_margins + 1.2 * np.maximum(excess, 0.0) * attempt.total_sizes


def _missed(state: Transcribed, solution: Solution) -> float:
    """By how much equalities do not hold."""
    programme = state.programme
    equal = programme.row_lower == programme.row_upper
    return float(np.abs(solution.rows - programme.row_lower)[equal].max(initial=0.0))

"""Many starts of one plan, each a function of a seed, on all cores; the best valid one is returned."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neuler.errors import InputError
from neuler.inputs import whole
from neuler.optimize.programme import Progress
from neuler.optimize.progress import reporting
from neuler.plan.guess import FirstGuess
from neuler.plan.options import SolveOptions
from neuler.plan.planned import Planned
from neuler.workers import best_of
from neuler.workers.jobs import job_of

STRAIGHT = -1
"""The number of the start that is not perturbed."""
MOST_STARTS = 100_000
"""Starts of one solve: each is a programme of its own, solved and kept."""


Solve = Callable[[SolveOptions, FirstGuess], Planned]
"""A solve from one first guess."""


def started(solve: Solve, settings: SolveOptions, seed: int) -> Planned:
    """The solve from one start."""
    return solve(settings, FirstGuess(None if seed == STRAIGHT else seed))


def solve_starts(
    solve: Solve,
    name: str,
    settings: SolveOptions,
    starts: Any,
    seed: int | None,
    where: tuple[int | None, Any],
    progress: Any,
) -> Planned:
    """The best of ``starts``: the straight guess, then seeds from ``seed`` (0) on.

    ``where`` they are solved: so many processes here, or an executor.
    """
    workers, executor = where
    starts = whole("solve: starts", starts, 1, MOST_STARTS)
    first = 0 if seed is None else seed
    seeds = [STRAIGHT, *range(first, first + starts - 1)]
    notes = []
    try:
        job_of("the plan", solve, here="start once")
    except InputError as error:
        workers, executor = 1, None
        notes.append(f"starts ran one after the other: {error}")
    with reporting(progress, f"plan of {name}, {starts} starts") as report:

        def told(done: int, of: int, best: Planned | None) -> bool | None:
            if report is None or best is None:
                return None
            return report(Progress(done, best.objective, best.worst_violation, best.seconds))

        found = best_of(functools.partial(started, solve, settings), seeds, workers, executor=executor, progress=told)
    objectives = found.objectives
    good = objectives[objectives == objectives]
    spread = f", objectives from {good.min():.6g} to {good.max():.6g}" if len(good) else ""
    notes.append(f"best of {len(found.starts)} starts, {len(good)} of them feasible{spread}")
    best: Planned = found.best
    status = "interrupted" if found.interrupted else best.status
    return replace(best, notes=(*best.notes, *notes), status=status)

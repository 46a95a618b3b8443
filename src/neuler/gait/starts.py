"""Where searches for a walk begin: with another walk that is solved first, or with several starts, the best kept.

The objective of a walk has several minima. A solve finds the one near its start, so that a walk that begins with its
neighbour stays close to it, and several starts tell how far minima are apart.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.inputs import whole
from neuler.motions.motion import Motion
from neuler.motions.recorded import Recorded
from neuler.optimize.programme import Progress
from neuler.optimize.progress import reporting
from neuler.plan.options import SOLVED
from neuler.plan.planned import Planned
from neuler.workers import best_of

if TYPE_CHECKING:
    from neuler.gait.walk import Walk

MOST_STARTS = 1000
"""Starts of one walk."""
STRAIGHT = -1
"""The number of the start that is not perturbed."""
SPREAD = 0.08, 0.01
"""Standard deviations of what is added to joints (rad) and to the path of the pelvis (m)."""
SAMPLES = 101
"""Points of a perturbed start."""
_CACHED = 16
"""Walks to start from that a process remembers."""
_solved: dict[str, Planned] = {}


@dataclass(frozen=True)
class StartReport:
    """What came of one start."""

    seed: int
    """-1: the start as it is; else what it was perturbed with."""
    objective: float
    """NaN where there is no answer."""
    valid: bool
    status: str
    """The solver's, or what went wrong."""
    seconds: float


# ---- another walk -----------------------------------------------------------------------------------------------


def solved_first(walk: Walk, options: Mapping[str, Any]) -> Planned:
    """Return the first solve of a walk to start from, without refinement; remembered in this process.

    Equal walks with equal options give equal starts, whichever process solves them.
    """
    given = {name: options[name] for name in ("solver", "tolerance", "iterations", "seconds") if name in options}
    key = f"{walk!r} {sorted(given.items())}"
    if key not in _solved:
        found = walk.solve(**given, refine=False)
        if found.status == "interrupted":
            raise KeyboardInterrupt
        while len(_solved) >= _CACHED:
            _solved.pop(next(iter(_solved)))
        _solved[key] = found
    return _solved[key]


# ---- several starts ---------------------------------------------------------------------------------------------


def perturbed(motion: Motion, seed: int) -> Recorded:
    """Return a motion with smooth bumps added to all coordinates; its ends stay as they are.

    The same seed gives the same bumps.
    """
    share = np.linspace(0.0, 1.0, SAMPLES)
    q = np.asarray(motion.at(motion.duration * share).q)
    slides = np.array([unit == "m" for unit in motion.robot.coordinates.units("q")])
    bumps = np.random.default_rng(seed).normal(size=(2, q.shape[1])) * np.where(slides, SPREAD[1], SPREAD[0])
    shapes = np.sin(np.pi * share) ** 2, np.sin(2.0 * np.pi * share) * np.sin(np.pi * share) ** 2
    return Recorded(motion.robot, motion.duration * share, q + np.stack(shapes, axis=-1) @ bumps)


def rank(found: Planned) -> tuple[bool, bool, float]:
    """Less is better: valid before not valid, then solved, then by the objective."""
    return not found.valid, found.status not in SOLVED, found.objective if np.isfinite(found.objective) else np.inf


def best_start(
    walk: Walk, guess: Motion, starts: int, seed: int, workers: int | None, progress: Any, options: Mapping[str, Any]
) -> tuple[Planned, tuple[StartReport, ...]]:
    """Return the best of so many solves, the first from the guess, the others from guesses that seeds perturb.

    Each goes to a process of its own, ``workers`` at a time (all cores).
    """
    count = whole("gait: starts", starts, 2, MOST_STARTS)
    first = whole("gait: seed", seed, 0)
    with reporting(progress, f"walk, {count} starts") as report:

        def told(done: int, of: int, best: Planned | None) -> bool | None:
            if report is None or best is None:
                return None
            return report(Progress(done, best.objective, best.worst_violation, best.seconds))

        make = functools.partial(_from, walk, guess, dict(options))
        seeds = [STRAIGHT, *range(first, first + count - 1)]
        found = best_of(make, seeds, workers, progress=told, rank=rank)
    reports = tuple(
        StartReport(each.seed, np.nan, False, each.error, each.seconds)
        if each.answer is None
        else StartReport(each.seed, each.answer.objective, each.answer.valid, each.answer.status, each.seconds)
        for each in found.starts
    )
    best = replace(found.best, status="interrupted") if found.interrupted else found.best
    return best, reports


def _from(walk: Walk, guess: Motion, options: Mapping[str, Any], seed: int) -> Planned:
    """The solve from one start."""
    return walk.solve(**options, guess=guess if seed == STRAIGHT else perturbed(guess, seed))

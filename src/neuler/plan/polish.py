"""The second stage: of the motions that are equally good, the smoothest.

Least time is decided by the joints that reach their limits; what the others do meanwhile the objective leaves open,
and a solver returns anything, joints that shake among it. The second stage keeps all limits and the objective within
1e-4 of one and its size, and minimises squared jerks: the sum over all profiles of the integral of the squared jerk
beside 720 d^2 / T^5, its least value for a way d from rest to rest in a time T. Idle joints, whose way is short, count
most. Durations in it are those of the plan, so that it is a convex quadratic of the control points, which
``plan/steps.py`` minimises by quadratic programmes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neuler.functions.function import Function, function
from neuler.motions import splines
from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.blocks import Block
from neuler.optimize.programme import Array
from neuler.plan.attempt import Attempt
from neuler.plan.objectives import DURATION, PEAK
from neuler.plan.phases import Phase
from neuler.plan.planned import Planned
from neuler.plan.steps import smoothed

LOSS = 1e-4
"""What the objective may lose, beside one and its size."""
QUINTIC = 720.0
"""The least integral of the squared jerk for a way of one in a time of one, from rest to rest."""
SHORT = 1e-3
"""Ways that are shorter count as so much of the longest one."""
ROUGH, SLIGHT = 3000.0, 1e-2
"""Times the least squared jerk over its range: a profile that has more shakes. One that switches between bounds a few
times has some hundred times the least. Ranges below the share of the largest are of no account."""
RANGE = 501
"""Points of a phase at which the range of its profiles is looked at."""


def is_undecided(phases: Sequence[Phase]) -> bool:
    """Whether an objective is made of durations and peaks alone, which do not decide how every joint moves."""
    return all(term.kind in (DURATION, PEAK) for phase in phases for term in phase.terms)


def polished(attempt: Attempt, found: Planned) -> Planned:
    """The smoothest motion whose objective is that of a valid plan within ``LOSS``; the plan where none is found."""
    jerks = squared_jerks(found.motion)
    weights, shaking = _weights(found.motion, SHORT, 2), _weights(found.motion, SLIGHT, RANGE)
    if weights is None or shaking is None or (shaking * jerks).sum(axis=0).max() < ROUGH:
        return found
    weights = weights / float((weights * jerks).sum())
    limit = found.objective + LOSS * (1.0 + abs(found.objective))
    scaled = weights / found.motion.durations[:, None] ** 5
    attempt.more, attempt.ceiling = [JerkBlocks(tuple(map(tuple, scaled)))], limit - 0.01 * LOSS
    plan, left = found, 1.0
    for state, solution, checks in smoothed(attempt, found.motion):
        motion = attempt.motion(state.profiles, state.x(solution.x))
        now = float((weights * squared_jerks(motion)).sum())
        if now < left:
            plan, left = attempt.planned(state, solution, checks), now
    if not (plan.valid and plan.objective <= limit and left < 1.0):
        return found
    note = (
        f"polished: of the motions whose objective is the same within {LOSS:g} a smooth one, with {left:.2g} of the "
        "squared jerk (polish=False leaves this stage out)"
    )
    return replace(plan, notes=(*plan.notes, note), optimal=found.optimal, status=found.status, message=found.message)


def squared_jerks(motion: SplineMotion) -> Array:
    """The integral of the squared jerk over time, (phases, profiles)."""
    found = []
    for k, mine in enumerate(motion.profiles):
        shares, weights = _points(mine)
        third = motion.at_shares(k, shares, 3)[3]
        found.append(weights @ (third * third) / motion.durations[k] ** 5)
    return np.array(found)


def _weights(motion: SplineMotion, short: float, points: int) -> Array | None:
    """One over the least squared jerk of every profile's way, (phases, profiles); None where nothing moves.

    The way is the range of the profile at so many ``points`` of each phase: of two of them, between its ends.
    """
    shares = np.linspace(0.0, 1.0, points)
    ways = [np.ptp(motion.at_shares(k, shares, 0)[0], axis=0) for k in range(len(motion.profiles))]
    way = np.sqrt(sum(each * each for each in ways))
    longest = float(np.max(way, initial=0.0))
    if not longest > 0.0 or not np.isfinite(longest):
        return None
    least = QUINTIC * np.maximum(way, short * longest) ** 2
    found: Array = float(motion.duration) ** 5 / np.tile(least, (len(ways), 1))
    return found


@dataclass(frozen=True)
class JerkBlocks:
    """Makes the blocks of a plan's programme that weigh squared jerks."""

    weights: tuple[tuple[float, ...], ...]
    """Of every phase and profile."""

    def __call__(self, profiles: Sequence[Profiles], n: int) -> list[Block]:
        """A block for each phase."""
        found = []
        for mine, weight in zip(profiles, self.weights, strict=True):
            shares, weights = _points(mine)
            maps = mine.inputs(["c3"], shares, n)
            scaled = weights[:, None] * np.array(weight)
            found.append(Block.of(_squares(mine.count), maps, len(shares), weights=scaled, name="jerk"))
        return found


def _points(profiles: Profiles) -> tuple[Array, Array]:
    """Shares and weights that integrate squares of third derivatives exactly."""
    shares, weights = splines.gauss(profiles.knots, max(profiles.degree - 2, 1))
    return np.asarray(shares), np.asarray(weights)


@functools.cache
def _squares(count: int) -> Function:
    return function(lambda c3: [x * x for x in c3], {"c3": count}, "rows", "jerk")

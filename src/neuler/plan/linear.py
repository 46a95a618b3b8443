"""What is linear in the variables of a plan: equalities, which remove some of them, and bounds of the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError
from neuler.motions.profiles import Profiles
from neuler.optimize.elimination import Elimination, Equality
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.relations import Relation

BRIEFEST = 1e-3
"""The least duration that is tried, as a share of the guessed one."""


def equalities(phases: Sequence[Phase], relations: Sequence[Relation], profiles: Sequence[Profiles]) -> list[Equality]:
    """Durations that are given, positions and velocities at ends and via points, joined phases, relations."""
    found: list[Equality] = []
    for phase, mine in zip(phases, profiles, strict=True):
        low, high = phase.span
        if low == high:
            found.append(Equality({mine.duration: 1.0}, low, f"{phase.title}duration"))
        found += _held(phase, mine)
        for condition in phase.conditions:
            for derivative, values in condition.linear:
                for k in np.flatnonzero(np.isfinite(values)):
                    what = condition.what
                    found.append(_condition(phase, mine, condition.share, derivative, int(k), values[k], what))
    for before, after in itertools.pairwise(profiles):
        for number, name in enumerate(phases[0].model.names):
            terms = before.coefficients(1.0, 0, number)
            for place, value in after.coefficients(0.0, 0, number).items():
                terms[place] = terms.get(place, 0.0) - value
            found.append(Equality(terms, 0.0, f"{name}: phases joined"))
    for relation in relations:
        found += relation.equalities(phases[0].model, profiles)
    return found


def _held(phase: Phase, profiles: Profiles) -> list[Equality]:
    """Control points of profiles whose positions have limits of zero width."""
    low, high = phase.boxes()
    return [
        Equality(
            {profiles.first + i * profiles.count + int(k): 1.0}, float(low[k]), f"limits of {phase.model.names[k]}"
        )
        for k in np.flatnonzero(low == high)
        for i in range(profiles.control_point_count)
    ]


def _condition(
    phase: Phase, profiles: Profiles, share: float, derivative: int, k: int, value: float, what: str
) -> Equality:
    words = ("position", "velocity", "acceleration", "jerk", "snap")
    name = f"{what}: {words[derivative]} of {phase.model.names[k]}"
    terms = profiles.condition(share, derivative, k, float(value))
    if not terms:
        raise InputError(f"{name}: profiles of degree {profiles.degree} have no such derivative; raise the degree")
    return Equality(terms, float(value) if derivative == 0 else 0.0, name)


def variable_bounds(phases: Sequence[Phase], profiles: Sequence[Profiles], n: int, guess: Array) -> tuple[Array, Array]:
    """Bounds of all variables."""
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for phase, mine in zip(phases, profiles, strict=True):
        lower, upper = phase.boxes()
        low[mine.first : mine.duration] = np.tile(lower, mine.control_point_count)
        high[mine.first : mine.duration] = np.tile(upper, mine.control_point_count)
        least, most = phase.span
        low[mine.duration] = max(least, BRIEFEST * guess[mine.duration]) if least < most else -np.inf
        high[mine.duration] = most if least < most else np.inf
        idle = _idle_forces(phase, mine)
        low[mine.first_force : mine.last][idle] = high[mine.first_force : mine.last][idle] = 0.0
    return low, high


def _idle_forces(phase: Phase, profiles: Profiles) -> NDArray[np.bool_]:
    """Control points of forces that have no part in them, since their contact does not last then."""
    support, count = phase.model.support, profiles.last - profiles.first_force
    if support is None or not count:
        return np.zeros(count, dtype=bool)
    begin, end = support.force_windows.T
    if profiles.nodes is not None:
        place, (first_none, last_none) = profiles.nodes[:, None], support.force_weightless.T
        return np.asarray(((place <= begin) & first_none) | ((place >= end) & last_none)).ravel()
    knots, degree = profiles.force_knots, profiles.force_degree
    first, last = knots[: -degree - 1], knots[degree + 1 :]
    return np.asarray((last[:, None] <= begin + 1e-9) | (first[:, None] >= end - 1e-9)).ravel()


def dependent_bounds(
    phases: Sequence[Phase], found: Elimination, profiles: Sequence[Profiles], low: Array, high: Array
) -> tuple[Any, Array, Array]:
    """Bounds of variables that equalities decide, as linear rows of the free ones."""
    free = np.zeros(len(low), dtype=bool)
    free[found.free] = True
    held = np.flatnonzero(~free & (np.isfinite(low) | np.isfinite(high)))
    if not len(held):
        return sparse.csr_matrix((0, len(found.free))), np.zeros(0), np.zeros(0)
    rows = found.Z[held]
    fixed = np.diff(rows.indptr) == 0
    for k in held[fixed]:
        slack = 1e-9 * (1.0 + abs(found.c[k]))
        if not low[k] - slack <= found.c[k] <= high[k] + slack:
            raise InputError(_outside(phases, profiles, int(k), found.c[k], low[k], high[k]))
    rest = held[~fixed]
    return found.Z[rest], low[rest] - found.c[rest], high[rest] - found.c[rest]


def _outside(
    phases: Sequence[Phase], profiles: Sequence[Profiles], k: int, value: float, low: float, high: float
) -> str:
    """A boundary that limits do not allow, in words."""
    for phase, mine in zip(phases, profiles, strict=True):
        if mine.first <= k < mine.duration:
            point, profile = divmod(k - mine.first, mine.count)
            near, last = mine.degree - 1, mine.control_point_count
            end = "start" if point < near else "goal" if point >= last - near else "position asked for"
            return (
                f"{end}: position {value:g} of {phase.model.names[profile]} is outside its limits, {low:g} to "
                f"{high:g}; move it or widen the limit (plan.limit(plan.position, ...) replaces the robot's own, "
                "robot_limits=False takes them all away)"
            )
    return f"a duration of {value:g} s is outside {low:g} to {high:g} s"

"""What came out of a solve: the costs of a motion term by term, and which limits it violates, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from neuler.motions import splines
from neuler.motions.motion import Bound
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.blocks import Block
from neuler.optimize.composed import ComposedBlock
from neuler.optimize.programme import Array, Solution
from neuler.plan.families import family_of, unit_of
from neuler.plan.judge import CheckedRow, PhaseCheck
from neuler.plan.jumps import DERIVATIVES, jump_violations
from neuler.plan.objectives import DURATION, END, INTEGRAL, MAGNITUDE, OVERALL, PEAK, Term
from neuler.plan.phase_blocks import (
    FromClearance,
    FromCollocation,
    FromCondition,
    FromJoint,
    FromPath,
    FromRelation,
    FromUser,
    Origin,
)
from neuler.plan.planned import Violation
from neuler.plan.rows import COLLOCATED, LIMIT, OBJECTIVE, TOTAL
from neuler.plan.transcribe import Transcription
from neuler.plan.transcribed import Transcribed

MANY, LEAST = 12, 400
"""Points of integrals in every span, and of all spans together."""


# ---- costs --------------------------------------------------------------------------------------------------------


def integrals(transcription: Transcription, motion: SplineMotion) -> dict[Term, Array]:
    """By the term: integrals of its rows over all phases, on many more points than the solve has."""
    found: dict[Term, Array] = {}
    for k, (phase, mine) in enumerate(zip(transcription.phases, motion.profiles, strict=True)):
        if not phase.integrates or phase.path is None:
            continue
        edges = np.unique(mine.knots)
        pieces = -(-LEAST // (MANY * (len(edges) - 1)))  # of every span
        places = np.linspace(0.0, len(edges) - 1.0, pieces * (len(edges) - 1) + 1)
        shares, weights = splines.gauss(np.interp(places, np.arange(len(edges)), edges), MANY)
        slacks = {name: np.zeros(len(shares)) for name in phase.slacks}
        values = motion.values(phase.path.function, k, shares, slacks)
        for family in phase.path.of_kind(OBJECTIVE, TOTAL, OVERALL, MAGNITUDE):
            assert family.term is not None
            if family.kind != MAGNITUDE:
                if family.term.kind == MAGNITUDE:  # a sum of bounds, which there are at the points of the solve alone
                    continue
                total = weights @ values[:, family.rows]
            else:
                rows = values[:, family.rows][:, : family.count // 2]
                total = motion.durations[k] * (weights @ np.abs(rows))
            found[family.term] = found.get(family.term, 0.0) + total
    return found


def costs(
    transcription: Transcription, motion: SplineMotion, slacks: Mapping[str, float], checks: Sequence[PhaseCheck] = ()
) -> dict[str, float]:
    """By the names of the objective's terms, weights included.

    Peaks are those that dense checks found, where there were any, else the values of their ``slacks``.
    """
    sums = integrals(transcription, motion)
    found: dict[str, float] = {}
    done: set[Term] = set()
    for k, phase in enumerate(transcription.phases):
        for term in phase.terms:
            value = _cost(transcription, motion, k, term, sums, slacks, checks)
            if term.kind not in (DURATION, END):
                value = 0.0 if term in done else value
            done.add(term)
            found[term.name] = found.get(term.name, 0.0) + term.weight * value
    return found


def _cost(
    transcription: Transcription, motion: SplineMotion, k: int, term: Term, sums: Mapping[Term, Array],
    slacks: Mapping[str, float], checks: Sequence[PhaseCheck],
) -> float:  # fmt: skip
    """Of a term without its weight: of durations and ends that of a phase, of others that of the whole motion."""
    phase = transcription.phases[k]
    if term.kind == DURATION:
        return float(motion.durations[k])
    if term.kind in (INTEGRAL, MAGNITUDE):
        return float(sums[term].sum())
    if term.kind == PEAK:
        return _peak(transcription, term, slacks, checks)
    if term.kind == OVERALL:
        with np.errstate(all="ignore"):  # a function of integrals may not be finite along a motion that is none
            return float(transcription.overall[term](sums[term])[0])
    ends = k == len(transcription.phases) - 1 or phase.objective is not None
    if not ends or term.measure is None:
        return 0.0
    return float(motion.along(term.measure, motion.breaks[k + 1 : k + 2] * (1.0 - 1e-15)).sum())


def _peak(transcription: Transcription, term: Term, slacks: Mapping[str, float], checks: Sequence[PhaseCheck]) -> float:
    """The largest value of a peak's rows."""
    name = next(slack for slack, each in transcription.slacks.items() if each is term)
    found = []
    for each in checks:
        rows = [i for i, c in enumerate(each.columns) if c.family is not None and c.family.slack == name]
        if rows:
            found.append(float((each.upper[rows] + each.relative[:, rows] * each.sizes[rows]).max()))
            mine = set(rows)
            found += [peak.value for peak in each.peaks if peak.row in mine]
    return max(found) if found else float(slacks[name])


# ---- violations -----------------------------------------------------------------------------------------------------


def violations_of(
    transcription: Transcription, motion: SplineMotion, checks: Sequence[PhaseCheck], state: Transcribed,
    solution: Solution, tolerance: float,
) -> list[Violation]:  # fmt: skip
    """The worst of every row that is violated, the largest first."""
    found = []
    for k, check in enumerate(checks):
        worst: dict[int, Any] = {}
        for peak in check.peaks:
            if peak.excess > 0.0 and (peak.row not in worst or peak.excess > worst[peak.row].excess):
                worst[peak.row] = peak
        for row, peak in worst.items():
            column, low, high = check.columns[row], check.lower[row], check.upper[row]
            bound = low if abs(peak.value - low) < abs(peak.value - high) else high
            at = motion.time(k, peak.share)
            remedy = _remedy(column)
            family, unit = (of(column, transcription.phases[k]) for of in (family_of, unit_of))
            found.append(Violation(column.name, column.label, at, peak.value, float(bound), remedy, family, unit))
    for origin, block in zip(state.origins, state.programme.blocks, strict=True):
        found += _of_block(motion, origin, block, solution, tolerance)
    found += total_violations(transcription, motion, tolerance)
    found += jump_violations(transcription, motion, tolerance)
    return sorted(found, key=lambda each: -each.relative)


def _of_block(
    motion: SplineMotion, origin: Origin, block: Block | ComposedBlock, solution: Solution, tolerance: float
) -> list[Violation]:
    """Rows that are not checked densely: conditions, rows over two times, users' own blocks."""
    if isinstance(origin, FromPath | FromCollocation | FromClearance) or isinstance(block, ComposedBlock):
        return []
    value = block.values(block.inputs(solution.x))
    if isinstance(origin, FromJoint):
        return _not_joined(motion, origin.phase, value[0], block.bounded[0], tolerance)
    excess = np.fmax(block.lower - value, value - block.upper)
    finite = np.where(np.isfinite(block.lower), block.lower, np.where(np.isfinite(block.upper), block.upper, 0.0))
    found = []
    for point, row in np.argwhere(~(excess <= tolerance * (1.0 + np.abs(finite))) & block.bounded):
        low = value[point, row] < block.lower[point, row]
        bound = float((block.lower if low else block.upper)[point, row])
        if isinstance(origin, FromCondition):
            bound = float(finite[point, row])
        told = _told(motion, origin, block, int(point), int(row))
        found.append(Violation(told.name, told.label, told.time, float(value[point, row]), bound, told.remedy))
    return found


class _Told(NamedTuple):
    """A row of a block in words: what it is, of what, when (s), and what to do where it is violated."""

    name: str
    label: str
    time: float
    remedy: str


def _told(
    motion: SplineMotion, origin: FromCondition | FromRelation | FromUser, block: Block, point: int, row: int
) -> _Told:
    if isinstance(origin, FromCondition):
        condition = origin.condition
        assert condition.rows is not None
        family, label = condition.rows.find(row)
        at = motion.time(origin.phase, condition.share)
        return _Told(f"{condition.what}: {family.name}", label, at, "it cannot be met so")
    if isinstance(origin, FromRelation):
        two = origin.two
        label = two.labels[row] if row < len(two.labels) else str(row)
        remedy = "relax it, or change what is asked for at both times"
        return _Told(two.name, label, motion.time(*two.at[1]), remedy)
    return _Told(block.name, f"point {point}, row {row}", 0.0, "relax its bounds, or allow more control points")


def _not_joined(motion: SplineMotion, k: int, value: Array, used: Array, tolerance: float) -> list[Violation]:
    """Rates that jump from a phase to the next."""
    count, T = motion.models[k].profile_count, motion.durations[k]
    rates = motion.at_shares(k, np.ones(1), len(value) // count)
    found = []
    for row in np.flatnonzero(used):
        order, profile = divmod(int(row), count)
        end = float(rates[order + 1][0, profile] / T ** (order + 1))
        if not abs(value[row]) <= tolerance * (1.0 + abs(end)):
            name = DERIVATIVES[order + 1] if order + 1 < len(DERIVATIVES) else f"derivative {order + 1}"
            what = f"phases {k + 1} and {k + 2} are not joined: {name}"
            remedy = "more iterations, or a lower continuity of the phase"
            label = motion.models[k].names[profile]
            found.append(Violation(what, label, float(motion.breaks[k + 1]), end, end - float(value[row]), remedy))
    return found


def totals_of(transcription: Transcription, motion: SplineMotion) -> Array:
    """What is limited over the whole motion, on many more points than the solve has: a number for each limit."""
    sums = integrals(transcription, motion) if transcription.totals else {}
    return np.array([
        sum(
            term.weight * (motion.duration if term.kind == DURATION else float(sums[term].sum()))
            for term in limit.objective.terms
        )
        for limit in transcription.totals
    ])  # fmt: skip


def total_violations(transcription: Transcription, motion: SplineMotion, tolerance: float) -> list[Violation]:
    """Limits of the whole motion that are violated."""
    found = []
    for limit, value in zip(transcription.totals, map(float, totals_of(transcription, motion)), strict=True):
        bound = limit.lower if value < limit.lower else limit.upper
        if not abs(value - min(max(value, limit.lower), limit.upper)) <= tolerance * (1.0 + abs(bound)):
            remedy = "relax it, allow more time, or use more control points"
            found.append(Violation(f"total of {limit.name}", "", motion.duration, value, bound, remedy))
    return found


def _remedy(column: CheckedRow) -> str:
    who = f" of {column.label}" if column.label else ""
    if column.family is not None and column.family.kind == COLLOCATED:
        return (
            "use more control points, a higher degree, or a smooth objective: profiles cannot follow forces that jump"
        )
    return f"relax the limit on {column.name}{who}, allow more time, or use more control points"


# ---- what is drawn and noted ---------------------------------------------------------------------------------------


def bounds_of(transcription: Transcription, motion: SplineMotion) -> tuple[Bound, ...]:
    """Limits of all phases with the times at which they hold; those that are alike in all phases once."""
    by_name: dict[str, list[Bound]] = {}
    for k, phase in enumerate(transcription.phases):
        begin, T = float(motion.breaks[k]), float(motion.durations[k])
        low, high = phase.boxes()
        if np.isfinite(low).any() or np.isfinite(high).any():
            mine = Bound("position", tuple(phase.model.names), low, high, (begin, begin + T))
            by_name.setdefault("position", []).append(mine)
        families = phase.path.of_kind(LIMIT) if phase.path is not None else []
        for family in (*families, *(each.family for each in phase.clearances)):
            assert family.limit is not None
            when = begin + T * family.limit.when[0], begin + T * family.limit.when[1]
            mine = Bound(family.name, tuple(family.names), family.lower, family.upper, when)
            by_name.setdefault(family.name, []).append(mine)
    found: list[Bound] = []
    for group in by_name.values():
        first = group[0]
        alike = [
            each for each in group
            if each.labels == first.labels and np.array_equal(each.lower, first.lower)
            and np.array_equal(each.upper, first.upper)
        ]  # fmt: skip
        covered = sum(each.when[1] - each.when[0] for each in alike)
        if len(alike) == len(group) and covered >= motion.duration * (1.0 - 1e-9):
            found.append(Bound(first.name, first.labels, first.lower, first.upper, (0.0, motion.duration)))
        else:
            found += group
    return tuple(found)


def obstacles_of(transcription: Transcription) -> tuple[Any, ...]:
    """Obstacles of the limits that keep clear of them, each once."""
    found: list[Any] = []
    for phase in transcription.phases:
        for limit in phase.limits:
            clearance = getattr(limit.measure.rows, "clearance", None)
            found += [each for each in getattr(clearance, "obstacles", ()) if each not in found]
    return tuple(found)

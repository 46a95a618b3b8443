"""Families of limits: which rows of the last programme are active, and by how much limits are violated between points.

A row of a programme is active if its bounds are equal, if it is within 1e-6 (1 + |bound|) of a bound, or if its
multiplier exceeds its slack: interior-point methods stop where the product of both is small, and the larger of them
tells which is zero. Both are scaled: the slack by 1 + |bound|, the multiplier by (1 + |objective|) / (1 + |bound|).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.programme import Array, Programme, Solution
from neuler.plan.judge import CheckedRow, PhaseCheck
from neuler.plan.phase_blocks import FromPath
from neuler.plan.phases import Phase, is_box
from neuler.plan.planned import FamilyReport, Violation
from neuler.plan.rows import LIMIT
from neuler.plan.transcribe import Transcription
from neuler.plan.transcribed import Transcribed

TOUCHING = 1e-6
"""Of 1 + |bound|: slacks of rows that are at their bounds."""


# ---- rows of a programme ----------------------------------------------------------------------------------------


def active_rows(programme: Programme, solution: Solution) -> NDArray[np.bool_]:
    """Return which rows are active at a solution, (m,); see the definition above."""
    low, high = programme.row_lower, programme.row_upper
    with np.errstate(invalid="ignore"):  # rows that are not finite are not active
        below, above = solution.rows - low, high - solution.rows
        slack, bound = np.minimum(below, above), np.where(below < above, low, high)
        size = 1.0 + np.abs(np.where(np.isfinite(bound), bound, 0.0))
        held = np.abs(solution.multipliers) * size / (1.0 + abs(solution.objective)) > slack / size
        found: NDArray[np.bool_] = (low == high) | (slack <= TOUCHING * size) | held
    return found & np.isfinite(solution.rows)


def statistics(
    transcription: Transcription, checks: Sequence[PhaseCheck], violations: Sequence[Violation], state: Transcribed,
    solution: Solution,
) -> dict[str, Any]:  # fmt: skip
    """Return what ``Planned`` says of the last programme and of families of limits: its arguments by name."""
    programme = state.programme
    return {
        "variables": int(programme.n),
        "constraints": int(programme.m),
        "active": int(active_rows(programme, solution).sum()),
        "family_reports": family_reports(transcription, checks, violations, state, solution),
        "checked_points": sum(len(check.shares) for check in checks),
    }


# ---- families ---------------------------------------------------------------------------------------------------


def family_of(column: CheckedRow, phase: Phase) -> str:
    """Return the family of a checked row; its name where its limit has none."""
    if column.family is not None:
        return (column.family.limit.family if column.family.limit is not None else "") or column.name
    names, place = phase.model.names, phase.model.names.index(column.label)
    for limit in phase.limits:
        if is_box(limit) and limit.family:
            low, high = limit.bounds(names)
            if np.isfinite(low[place]) or np.isfinite(high[place]):
                return limit.family
    return column.name


def unit_of(column: CheckedRow, phase: Phase) -> str:
    """Return the unit of a checked row: of measures of coordinates that of the coordinate, "rad" or "m"."""
    if column.family is None:
        both = "rad, m"
    else:
        both = column.family.limit.measure.unit if column.family.limit is not None else ""
    turning, _, sliding = both.partition(", ")
    coordinates = phase.model.robot.coordinates
    slides = dict(zip(coordinates.names("q"), coordinates.units("q"), strict=True)).get(column.label) == "m"
    return sliding if sliding and slides else turning


def family_reports(
    transcription: Transcription, checks: Sequence[PhaseCheck], violations: Sequence[Violation], state: Transcribed,
    solution: Solution,
) -> Mapping[str, FamilyReport]:  # fmt: skip
    """Return by family of limits how it holds on the fine grid, and what its rows in the last programme say."""
    found: dict[str, FamilyReport] = {}
    for phase, check in zip(transcription.phases, checks, strict=True):
        bounded = np.isfinite(check.lower) | np.isfinite(check.upper)
        for column, has in zip(check.columns, bounded, strict=True):
            if has:
                found.setdefault(family_of(column, phase), FamilyReport(unit=unit_of(column, phase)))
    for each in reversed(violations):  # the largest of a family, as a share of 1 + |bound|, is the last
        mine = found.get(each.family, FamilyReport())
        found[each.family] = replace(
            mine, excess=each.excess, unit=each.unit, name=each.name, label=each.label, time=each.time
        )
    for family, active, multipliers in _rows_by_family(transcription, state, solution):
        largest = float(multipliers[np.argmax(np.abs(multipliers))])
        mine = found.get(family, FamilyReport())
        if abs(largest) <= abs(mine.multiplier):
            largest = mine.multiplier
        rows, count = mine.rows + len(active), mine.active + int(active.sum())
        found[family] = replace(mine, rows=rows, active=count, multiplier=largest)
    return found


def _rows_by_family(
    transcription: Transcription, state: Transcribed, solution: Solution
) -> Iterator[tuple[str, NDArray[np.bool_], Array]]:
    """Of limits along the path: their family, which rows are active, and multipliers for a unit of the measure."""
    active = active_rows(state.programme, solution)
    flags = state.programme.multipliers_of(active.astype(float))[0]
    prices = state.programme.multipliers_of(solution.multipliers)[0]
    for origin, block, flag, price in zip(state.origins, state.programme.blocks, flags, prices, strict=True):
        path = transcription.phases[origin.phase].path if isinstance(origin, FromPath) else None
        for family in path.of_kind(LIMIT) if path is not None else ():
            assert family.limit is not None
            used = block.bounded[:, family.rows]
            if used.any():
                per_unit = price[:, family.rows] / block.scale[family.rows]
                yield family.limit.family or family.name, flag[:, family.rows][used] > 0.0, per_unit[used]

"""Judging a motion between the grid points of its solve: limits, costs, and what to say of them.

A row is violated by (value - bound) / (1 + |bound|); a plan is valid where that is below a tolerance (1e-6) everywhere
on a grid ten times finer than the solver's, and at the local maxima between its points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.dense import LEAST, DenseCheck, Peak, dense
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.rows import COLLOCATED, LIMIT, SLACK, Family, Rows

TIGHTENED_MOST = 0.05
"""How much each of two bounds is tightened at most, as a share of their distance."""


class CheckedRow(NamedTuple):
    """What a checked row is: of positions, of a phase's path, or of its collocated rows."""

    name: str
    label: str
    family: Family | None
    """None for positions."""
    path_row: int
    """Its number among the rows of the path; -1 for others."""


@dataclass(frozen=True, eq=False)
class PhaseCheck(DenseCheck):
    """Rows of a phase on a fine grid: relative violations, and where each row is worst."""

    columns: list[CheckedRow] = field(default_factory=list)
    """What each row is."""
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    """Bounds of every row; the slack for a peak."""

    @cached_property
    def sizes(self) -> Array:
        """1 + |bound| of every row."""
        low, high = (np.where(np.isfinite(side), np.abs(side), 0.0) for side in (self.lower, self.upper))
        return 1.0 + np.fmax(low, high)

    def of_path(self, above: float) -> list[tuple[Peak, int]]:
        """Peaks above a violation among the rows of the path, with the numbers of these."""
        found = [(peak, self.columns[peak.row].path_row) for peak in self.peaks if peak.excess > above]
        return [(peak, row) for peak, row in found if row >= 0]


# ---- a phase ------------------------------------------------------------------------------------------------------


def check_phase(motion: SplineMotion, k: int, phase: Phase, slacks: dict[str, float]) -> PhaseCheck:
    """Limits of one phase, positions among them, peaks of the objective, and what must be zero."""
    parts = [phase.path] if phase.path is not None else []
    parts += [each.rows for each in phase.collocated]
    low_box, high_box = phase.boxes()
    columns = [CheckedRow("position", name, None, -1) for name in phase.model.names]
    lows, highs = [low_box], [high_box]
    windows = [(0.0, 1.0)] * len(columns)
    for rows in parts:
        low, high = rows.bounds()
        for family in rows.families:
            if family.kind == SLACK:  # measure <= slack
                high[family.rows] = slacks[family.slack]
            elif family.kind not in (LIMIT, COLLOCATED):
                low[family.rows], high[family.rows] = -np.inf, np.inf
            when = (0.0, 1.0) if family.limit is None else family.limit.when
            numbers = range(family.rows.start, family.rows.stop)
            windows += [when] * len(numbers)
            columns += [
                CheckedRow(family.name, label, family, row if rows is phase.path else -1)
                for row, label in zip(numbers, family.names, strict=True)
            ]
        lows.append(low)
        highs.append(high)

    slip = phase.slip
    if slip is not None:
        began = slip.began(motion, k)
        columns += [CheckedRow(slip.family.name, label, slip.family, -1) for label in slip.family.names]
        lows.append(slip.family.lower)
        highs.append(slip.family.upper)
        windows += slip.windows

    def values(shares: Array) -> Array:
        none = {name: np.zeros(len(shares)) for name in slacks}
        found = [motion.at_shares(k, shares, 0)[0]]
        found += [motion.values(rows.function, k, shares, none) for rows in parts]
        if slip is not None:
            found.append(motion.values(slip.function, k, shares) - began)
        return np.concatenate(found, axis=1)

    low, high = np.concatenate(lows), np.concatenate(highs)
    begin, end = np.array(windows).T

    def side(bound: Array, none: float) -> Callable[[Array], Array]:
        def at(shares: Array) -> Array:
            inside = (shares[:, None] >= begin - 1e-12) & (shares[:, None] <= end + 1e-12)
            return np.where(inside, bound, none)

        return at

    more = _slow_shares(motion, k) if phase.model.friction_width else None
    found = dense(values, side(low, -np.inf), side(high, np.inf), motion.profiles[k].grid, more)
    return PhaseCheck(found.shares, found.relative, found.peaks, columns, low, high)


def _slow_shares(motion: SplineMotion, k: int) -> Array:
    """Shares at which joints turn back, and about them: there friction changes within a small part of the motion."""
    T = motion.durations[k]
    shares = np.linspace(0.0, 1.0, LEAST + 1)
    c1, c2 = motion.at_shares(k, shares, 2)[1:]
    at, joint = np.nonzero((c1[1:] * c1[:-1] <= 0.0) & (np.abs(c1[1:]) + np.abs(c1[:-1]) > 0.0))
    slope = (c1[at + 1, joint] - c1[at, joint]) / (shares[1] - shares[0])
    turn = shares[at] - c1[at, joint] / slope
    bend = np.maximum(np.abs(c2[at, joint]), np.abs(slope))
    width = motion.models[k].friction_width
    reach = width * T / np.maximum(bend, 1e-300)  # the share in which the speed changes by the width
    steps = np.linspace(-4.0, 4.0, 33)
    return np.unique(np.clip(turn[:, None] + reach[:, None] * steps, 0.0, 1.0))


# ---- what to change before the next solve ---------------------------------------------------------------------------


def refined_grid(profiles: Profiles, check: PhaseCheck, tolerance: float) -> tuple[Array, Array]:
    """The grid with points at the maxima that count, and its weights; new points have none in integrals."""
    new = sorted(peak.share for peak, _ in check.of_path(0.1 * tolerance))
    grid = profiles.grid
    span = np.diff(np.unique(profiles.knots)).min()
    chosen: list[float] = []
    for share in new:
        near = np.abs(grid - share).min() if len(grid) else 1.0
        if near > 1e-5 * span and all(abs(share - other) > 1e-3 * span for other in chosen[-2:]):
            chosen.append(share)
    places = np.searchsorted(grid, chosen)
    return np.insert(grid, places, chosen), np.insert(profiles.weights, places, 0.0)


def tightened(rows: Rows, check: PhaseCheck, margin: Array, tolerance: float) -> Array:
    """Margins of the path's rows, larger where limits are violated between points."""
    more = margin.copy()
    limited = np.zeros(rows.count, dtype=bool)
    for family in rows.of_kind(LIMIT, SLACK):
        limited[family.rows] = True
    for peak, row in check.of_path(0.5 * tolerance):
        if limited[row]:
            more[row] = max(more[row], margin[row] + 1.5 * peak.excess * check.sizes[peak.row])
    low, high = rows.bounds()
    return np.minimum(more, TIGHTENED_MOST * np.where(np.isfinite(high - low) & (high > low), high - low, np.inf))


def needs_control_points(check: PhaseCheck, tolerance: float) -> bool:
    """Whether collocated rows are not zero between the points at which they were asked to be: splines too coarse."""
    violated = (check.columns[peak.row].family for peak in check.peaks if peak.excess > tolerance)
    return any(family is not None and family.kind == COLLOCATED for family in violated)


def violated(checks: Sequence[PhaseCheck], tolerance: float) -> bool:
    """Whether rows other than positions are violated: positions at ends are as they are."""
    return any(
        peak.excess > tolerance and each.columns[peak.row].family is not None for each in checks for peak in each.peaks
    )

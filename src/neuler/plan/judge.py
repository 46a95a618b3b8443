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
from neuler.plan.rows import COLLOCATED, LIMIT, SLACK, Family

AT_REST = 1e-7
"""Speeds (rad/s, m/s) below which a joint is at rest."""
SMALL = 0.2
"""Of the tolerance: what collocated rows should be between their points."""
EDGE = 1e-9
"""Of a phase: how far before the end of a window rows are judged that jump at knots."""
MOST_PARTS, MOST_SPANS = 3, 600
"""Parts into which a span is split at a time, and spans of a phase that splines may grow to by themselves."""


class CheckedRow(NamedTuple):
    """What a checked row is: of positions, of a phase's path, or of its collocated rows."""

    name: str
    label: str
    family: Family | None
    """None for positions."""
    path_row: int
    """Its number among the rows of the path, and behind these the pairs of clearances; -1 for others."""


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


def check_phase(
    motion: SplineMotion, k: int, phase: Phase, slacks: dict[str, float], *, given: bool = True
) -> PhaseCheck:
    """Limits of one phase, positions among them, peaks of the objective, and what must be zero.

    ``given``: of the robot as it is given; else its Coulomb friction is rounded off, as in the solve.
    """
    parts = [phase.path] if phase.path is not None else []
    parts += [each.rows for each in phase.collocated]
    low_box, high_box = phase.boxes()
    columns = [CheckedRow("position", name, None, -1) for name in phase.model.names]
    lows, highs = [low_box], [high_box]
    windows = [(0.0, 1.0)] * len(columns)
    for rows in parts:
        low, high = rows.bounds()
        jumps = rows.jumps_at_knots(motion.profiles[k].degree)
        for family in rows.families:
            if family.kind == SLACK:  # measure <= slack
                high[family.rows] = slacks[family.slack]
            elif family.kind not in (LIMIT, COLLOCATED):
                low[family.rows], high[family.rows] = -np.inf, np.inf
            when = (0.0, 1.0) if family.limit is None else family.limit.when
            numbers = range(family.rows.start, family.rows.stop)
            before = family.kind == COLLOCATED and 0.0 < when[1] < 1.0  # at the edge a row has its value behind a jump
            windows += [(when[0], when[1] - EDGE if before and jumps[row] else when[1]) for row in numbers]
            columns += [
                CheckedRow(family.name, label, family, row if rows is phase.path else -1)
                for row, label in zip(numbers, family.names, strict=True)
            ]
        lows.append(low)
        highs.append(high)

    first = phase.path.count if phase.path is not None else 0
    for each in phase.clearances:
        family = each.family
        lows.append(family.lower)
        highs.append(family.upper)
        windows += [each.limit.when] * each.count
        columns += [CheckedRow(family.name, label, family, first + row) for row, label in enumerate(family.names)]
        first += each.count
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
        if given and phase.as_given is not None:
            rough = given_values(motion, k, phase, shares)
            for row, values in rough.items():
                found[1][:, row] = values
        found += [each.distances(motion, k, shares) for each in phase.clearances]
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


def given_values(motion: SplineMotion, k: int, phase: Phase, shares: Array) -> dict[int, Array]:
    """By the number of a row of the path: its values with the friction that the robot has, (shares).

    Where a joint is at rest, its friction is any force within its bounds, and none is taken.
    """
    assert phase.as_given is not None
    assert phase.path is not None
    profiles = motion.profiles[k]
    function = phase.as_given.function
    names = [operand.name for operand in function.inputs]
    known = {**profiles.constants_at(shares), **{name: np.zeros(len(shares)) for name in phase.slacks}}
    known |= profiles.inputs_at(motion.x, [name for name in names if name not in known], shares)
    if "c1" in known:
        known["c1"] = np.where(np.abs(known["c1"]) < AT_REST * motion.durations[k], 0.0, known["c1"])
    values = np.asarray(function(**{name: known[name] for name in names}))
    found = {}
    for family in phase.as_given.families:
        mine = next(each for each in phase.path.families if each.limit is family.limit)
        for i in range(family.count):
            found[mine.rows.start + i] = values[:, family.rows.start + i]
    return found


def friction_margins(motion: SplineMotion, k: int, phase: Phase, grid: Array) -> Array:
    """What limits leave at grid points for friction that was rounded off, (grid, rows): the most of it near a point."""
    assert phase.path is not None
    found = np.zeros((len(grid), phase.path.count))
    if phase.as_given is None:
        return found
    shares = np.unique(np.concatenate([np.linspace(0.0, 1.0, LEAST + 1), grid, _slow_shares(motion, k)]))
    slacks = {name: np.zeros(len(shares)) for name in phase.slacks}
    smooth = motion.values(phase.path.function, k, shares, slacks)
    for row, values in given_values(motion, k, phase, shares).items():
        more = np.abs(values - smooth[:, row])
        place = np.searchsorted(grid, shares)
        for point in (np.clip(place - 1, 0, len(grid) - 1), np.clip(place, 0, len(grid) - 1)):
            np.maximum.at(found[:, row], point, more)
    low, high = phase.path.bounds()
    return np.minimum(found, np.where(np.isfinite(high - low), 0.45 * (high - low), np.inf))


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


def grown_breaks(profiles: Profiles, check: PhaseCheck, tolerance: float) -> Array | None:
    """Breaks with more of them where collocated rows are not zero between their points: splines are too coarse there.

    A span is split into as many parts as make the rest small, if it falls with the fourth power of their length, and
    spans beside it not much less. None where all is well.
    """
    columns = [k for k, each in enumerate(check.columns) if each.family is not None and each.family.kind == COLLOCATED]
    edges = np.unique(profiles.knots)
    if not columns or not (check.relative[:, columns] > tolerance).any():
        return None
    worst = np.zeros(len(edges) - 1)
    span = np.clip(np.searchsorted(edges, check.shares, side="right") - 1, 0, len(worst) - 1)
    np.maximum.at(worst, span, check.relative[:, columns].max(axis=1))
    parts = np.clip(np.ceil((worst / (SMALL * tolerance)) ** 0.25), 1, MOST_PARTS)
    beside = np.pad(parts, 1, mode="edge")
    parts = np.maximum(parts, np.ceil(0.5 * np.maximum(beside[:-2], beside[2:])))
    more = [np.linspace(a, b, int(n) + 1)[:-1] for a, b, n in zip(edges[:-1], edges[1:], parts, strict=True)]
    found = np.append(np.concatenate(more), 1.0)
    return found if len(edges) < len(found) <= MOST_SPANS else None


def violated(checks: Sequence[PhaseCheck], tolerance: float) -> bool:
    """Whether rows other than positions are violated: positions at ends are as they are."""
    return any(
        peak.excess > tolerance and each.columns[peak.row].family is not None for each in checks for peak in each.peaks
    )

"""Torques that were not measured while a joint moves: saturated at a limit of the drive, in a dead zone, or frozen.

A measured torque has noise and does not stay constant from row to row. Where it does, the value is not the torque: the
drive is at its limit, reports zero for small torques, or the last value was repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify.lapses import spans

Array = NDArray[np.float64]

_LIVELY = 0.5
"""Share of rows, but for those in question, in which a torque may be that of the row before: else it is coarse."""
_FEW = 8
"""Rows that a torque must stay at one number to be said to."""
_TOP, _NEXT = 5.0, 3
"""Rows at a limit for each row at any of the next levels below it, and how many of these are compared."""
_ZONE, _LEVELS, _NEAR, _FILLED = 10.0, 5.0, 20, 0.2
"""Width of a dead zone in mean distances of the least torques outside of it, and in the largest distance of their
levels; their number; and the share of the rows that one would expect in it, had it none, which are zero at least."""
_EDGES, _BESIDE = 4, 3.0
"""Ends of a dead zone's rows that are needed to tell, and how many times its width a torque is there at most."""
_NOISE = 1e-4
"""Share of a torque that its noise is at least: without noise, as in simulations, it may well be constant."""
_CHANCE = 1e-6
"""Probability of a chance."""
_LONGER = 5.0
"""A stuck torque stays so many times as long as it does elsewhere."""


class Flats(NamedTuple):
    """Rows (n,) in which a torque was not measured, by kind, and the width of its dead zone."""

    lower: NDArray[np.bool_]
    upper: NDArray[np.bool_]
    zone: NDArray[np.bool_]
    stuck: NDArray[np.bool_]
    width: float = 0.0
    """The smallest torque outside the dead zone."""

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Rows at a limit, in the dead zone or stuck: no measurement of the torque."""
        return self.lower | self.upper | self.zone | self.stuck

    @property
    def replaced(self) -> NDArray[np.bool_]:
        """Rows in which interpolation between their neighbours is a better estimate than the logged value."""
        return self.zone | self.stuck


def flats(column: Array, moves: NDArray[np.bool_]) -> Flats:
    """Rows of a torque (n,) that are at a limit, in a dead zone or frozen while its joint moves (``moves``).

    >>> random, t = np.random.default_rng(0), np.arange(400) / 20.0
    >>> torque = np.clip(np.sin(t) + 0.01 * random.normal(size=400), -0.9, 2.0)
    >>> torque[60:90] = torque[60]
    >>> found = flats(torque, np.ones(400, bool))
    >>> int(found.lower.sum()) > 30, int(found.upper.sum()), int(found.zone.sum()), int(found.stuck.sum())
    (True, 0, 0, 30)
    """
    none = np.zeros(len(column), bool)
    if not moves.any() or np.ptp(column) == 0.0:
        return Flats(none, none, none, none)
    zone, width = _zone(column, moves)
    lower, upper = (_limit(column, moves & ~zone, way) for way in (-1.0, 1.0))
    stuck = _stuck(column, moves, lower | upper | zone)
    return Flats(lower, upper, zone, stuck, width)


def _repeats(column: Array, rows: NDArray[np.bool_]) -> float:
    """The share of rows in which a column is that of the row before."""
    same = (np.diff(column) == 0.0) & rows[1:]
    return float(same.sum()) / max(1, int(rows[1:].sum()))


def _zone(column: Array, moves: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], float]:
    """Rows in which a torque is zero, where it never is nearly zero."""
    none, zero = np.zeros(len(column), bool), moves & (column == 0.0)
    sizes = np.sort(np.abs(column[moves & ~zero]))
    if zero.sum() < _FEW or len(sizes) < 2 * _NEAR or not sizes[0] > 0.0:
        return none, 0.0
    apart = float(sizes[_NEAR] - sizes[0]) / _NEAR
    expected = float(sizes[0]) / max(apart, 1e-300)
    if sizes[0] < _LEVELS * np.diff(np.unique(sizes[:_NEAR])).max(initial=0.0):
        return none, 0.0  # rounded: zero is one of its levels
    if expected < _ZONE or zero.sum() < _FILLED * expected or _repeats(column, moves & ~zero) > _LIVELY:
        return none, 0.0
    edges = np.array([column[row] for a, b in spans(column == 0.0) for row in (a - 1, b) if 0 <= row < len(column)])
    if len(edges) < _EDGES or np.median(np.abs(edges)) > _BESIDE * sizes[0]:
        return none, 0.0  # torques that are lost for a while are not small before and after
    return zero, float(sizes[0])


def _limit(column: Array, moves: NDArray[np.bool_], way: float) -> NDArray[np.bool_]:
    """Rows in which a torque is at its largest number (``way`` 1) or its least (-1), which it has far too often."""
    none, values = np.zeros(len(column), bool), way * column[moves]
    largest = values.max()
    if largest == 0.0 or (values == largest).sum() < _FEW:
        return none
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) <= _NEXT or counts[-1] < _TOP * counts[-1 - _NEXT : -1].max():
        return none
    at, other = way * column == largest, way * column == levels[0]
    return moves & at if _repeats(column, moves & ~at & ~other) < _LIVELY else none


def _stuck(column: Array, moves: NDArray[np.bool_], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows in which a torque repeats its last value for longer than it can by chance."""
    found = np.zeros(len(column), bool)
    same = np.concatenate([[False], np.diff(column) == 0.0])
    runs = [(a - 1, b) for a, b in spans(same) if not known[a - 1 : b].any() and moves[a - 1 : b].mean() > 0.5]
    third = np.abs(np.diff(column, 3))
    noise = float(np.median(third[third > 0.0])) / 0.6745 / math.sqrt(20.0) if third.any() else 0.0
    if not runs or noise < _NOISE * math.sqrt(float((column**2).mean())):
        return found
    for a, b in sorted(runs, key=lambda run: run[0] - run[1]):
        if b - a < _FEW:
            break
        found[a:b] = True
        share = _repeats(column, moves & ~found & ~known)
        others = [last - first for first, last in runs if not found[first]]
        by_chance = len(column) * max(share, 1e-3) ** (b - a - 1)
        if share > _LIVELY or by_chance > _CHANCE or b - a < _LONGER * _usual(others):
            found[a:b] = False
            break
    return found


def _usual(lengths: list[int]) -> float:
    """The length that few of the runs exceed."""
    return float(np.quantile(lengths, 0.95)) if lengths else 1.0


def said(found: Sequence[tuple[str, str, Array, Flats]]) -> list[str]:
    """Notes of torques with such rows: their names, units and series, and what was found."""
    notes = []
    limits = []
    for name, unit, column, flat in found:
        ends = [f"{column[at][0]:.4g} {unit} in {int(at.sum())} rows" for at in (flat.lower, flat.upper) if at.any()]
        limits += [f"{name!r} at {' and at '.join(ends)}"] if ends else []
    if limits:
        notes.append(
            f"torques stay at a limit while their joints move: {', '.join(limits)}; a drive gave no more, or they were "
            "cut to it. These rows are left out; move more slowly"
        )
    if zones := [
        f"{name!r} in {int(flat.zone.sum())} rows, else {flat.width:.3g} {unit} or more"
        for name, unit, _, flat in found
        if flat.zone.any()
    ]:
        notes.append(
            f"torques are zero where they are small, in a dead zone: {', '.join(zones)}; such rows are left out"
        )
    if stuck := [
        f"{name!r} in {int(flat.stuck.sum())} rows, at {column[first]:.4g} {unit} from row {first} on"
        for name, unit, column, flat in found
        if flat.stuck.any()
        for first in [int(np.argmax(flat.stuck))]
    ]:
        notes.append(
            f"torques stay at one number while their joints move: {', '.join(stuck)}; they were not measured there. "
            "These rows are left out"
        )
    return notes

"""Knots where limited rows switch: from one bound to the other, or away from a bound.

Least-time motions switch between bounds. A spline of degree d follows a switch of a row that depends on derivative k
of the profiles (2 of a torque) by a ramp over a span or two; with d - k + 1 knots close together the ramp is as short
as they are. Where k = d (a jerk, by cubic splines) the row is constant in each span and has a value between the bounds
in the one with the switch; one knot at the switch follows it.

Which switches matter the multipliers of the rows say: those of joints that do not decide the duration have none. Near a
switch the multipliers of a row per share are about a |s - s_0|, with a slope a (the switching function of Pontryagin's
conditions). What the objective loses by a ramp is the integral of multiplier times room to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.moments.tracing import is_profile
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.rows import LIMIT, Rows

SLIGHT = 0.05
"""Of a row's range: changes within a span that do not count; and of a step, what is as good as none."""
NARROW = 0.1
"""Of a ramp's width: half the width of the span that it gets."""
SHORTEST = 0.02
"""Of the mean span: the shortest one that is made."""
REACH = 2.0
"""Mean spans beside a switch in which multipliers are added up."""
LONGEST = 3.0
"""Mean spans: wider changes are no switches."""
BETWEEN = 17
"""Points in a span at which rows are looked at."""


@dataclass(frozen=True)
class Switch:
    """A switch of a row: where knots would follow it, and what that is worth."""

    breaks: tuple[float, ...]
    gain: float
    """By how much the objective falls, about, if there are knots at ``breaks``."""
    worth: float
    """What the objective loses, about, if there is none at all."""


@dataclass(frozen=True, eq=False)
class Breaks:
    """Breaks of a phase with some of them at switches, and by how much the objective falls by those that are new."""

    breaks: Array
    gain: float


def with_switches(
    motion: SplineMotion, k: int, phase: Phase, multipliers: Array, base: Array, most: int, least: float
) -> Breaks:
    """The breaks of a phase's profiles: those of ``base``, and up to ``most`` at switches.

    ``multipliers`` are those of the phase's path, (grid, rows), of the motion's solve. Breaks that are not of ``base``
    move to better estimates of their switches, where the objective falls by more than ``least``.
    """
    profiles = motion.profiles[k]
    edges = np.unique(profiles.knots)
    if phase.path is None or most <= 0 or not (multipliers != 0.0).any():
        return Breaks(edges, 0.0)
    found = _Phase(motion, k, phase, multipliers, base, least).switches()
    return _chosen(edges, base, sorted(found, key=lambda each: -each.worth), most)


class _Phase:
    """Rows of a phase in every span, and how much they matter where."""

    def __init__(
        self, motion: SplineMotion, k: int, phase: Phase, multipliers: Array, base: Array, least: float
    ) -> None:
        assert phase.path is not None
        self.path, self.least = phase.path, least
        self.profiles = motion.profiles[k]
        self.edges = np.unique(self.profiles.knots)
        self.inserted = np.setdiff1d(self.edges, base)
        self.span = 1.0 / (len(base) - 1)
        inside = np.linspace(1e-6, 1.0 - 1e-6, BETWEEN)
        self.shares = self.edges[:-1, None] + np.diff(self.edges)[:, None] * inside
        slacks = {name: np.zeros(self.shares.size) for name in phase.slacks}
        values = motion.values(self.path.function, k, self.shares.ravel(), slacks) / self.path.scales()
        self.values = values.reshape(*self.shares.shape, -1)
        low, high = self.path.bounds()
        self.low, self.high = low / self.path.scales(), high / self.path.scales()
        self.at_bound = (self.values > self.high - 0.05) | (self.values < self.low + 0.05)
        self.sums = np.concatenate([np.zeros((1, multipliers.shape[1])), np.cumsum(np.abs(multipliers), axis=0)])
        limited = np.zeros(self.path.count, dtype=bool)
        for family in self.path.of_kind(LIMIT):
            limited[family.rows] = True
        matters = self.sums[-1] > 1e-3 * self.sums[-1].sum()
        self.rows = np.flatnonzero(limited & matters & (self.path.orders >= 1))
        self.profiles_of = _dependence(phase.path)

    def weight(self, row: int | NDArray[np.intp], begin: float, end: float) -> float:
        """The sum of multipliers of a row at grid points from one share to another."""
        first, last = np.searchsorted(self.profiles.grid, [begin - 1e-12, end + 1e-12])
        return float((self.sums[last, row] - self.sums[first, row]).sum())

    def slope(self, row: int, begin: float, end: float) -> float:
        """How fast multipliers of a row grow per share, away from a switch between two shares."""
        reach = REACH * self.span
        return self.weight(row, begin - reach, end + reach) / reach**2

    def switches(self) -> list[Switch]:
        """Of all rows that matter."""
        found: list[Switch] = []
        for row in self.rows.tolist():
            if not np.isfinite(self.values[:, :, row]).all():
                continue
            repeated = self.profiles.degree - int(self.path.orders[row]) + 1  # a knot repeated so often lets it jump
            found += self._steps(row) if repeated <= 1 else self._ramps(row, repeated)
        return found

    def _ramps(self, row: int, count: int) -> list[Switch]:
        """Changes within a few spans, and ``count`` breaks about the middle of each that let it be steep."""
        found = []
        values = self.values[:, :, row]
        range_ = float(np.ptp(values))
        change = values[:, -1] - values[:, 0]
        at = 0
        while at < len(change):
            last = at + 1
            while last < len(change) and change[last] * change[at] > 0.0 and abs(change[last]) > SLIGHT * range_:
                last += 1
            size = float(change[at:last].sum())
            if abs(size) > 4 * SLIGHT * range_:
                s, way = self.shares[at:last].ravel(), (values[at:last].ravel() - values[at, 0]) / size
                before, middle, after = (float(np.interp(x, np.maximum.accumulate(way), s)) for x in (0.1, 0.5, 0.9))
                width = (after - before) / 0.8
                if width < LONGEST * self.span and not self._held(row, before, after):
                    a = abs(size) * self.slope(row, before, after) / 24.0
                    gain = a * width**2
                    new = middle + NARROW * width * np.linspace(-1.0, 1.0, count)
                    if self.path.orders[row] == 1 or at == 0 or last == len(change):
                        reach = REACH * self.span
                        a = abs(size) * self.weight(row, before - reach, after + reach) / reach / 4.0
                        gain = a * width
                        a = gain / max(width, self.span) ** 2
                        lo, hi = max(0.0, middle - 0.5 * width), min(middle + 0.5 * width, 1.0)
                        new = lo + (hi - lo) * np.arange(1, count + 1) / (count + 1)
                    breaks = new if gain > self.least else self.inserted[(self.inserted >= self.edges[at]) & (self.inserted <= self.edges[last])]
                    found.append(Switch(tuple(breaks.tolist()), gain if gain > self.least else 0.0, a * max(width, self.span) ** 2))
            at = last
        return found

    def _held(self, row: int, begin: float, end: float) -> bool:
        """Whether a change of a row is as steep as limits on rows of higher order allow."""
        higher = self.rows[self.path.orders[self.rows] > self.path.orders[row]]
        higher = higher[(self.profiles_of[higher] & self.profiles_of[row]).any(axis=1)]
        inside = (self.shares >= begin) & (self.shares <= end)
        weights = np.broadcast_to(np.diff(self.edges)[:, None], self.shares.shape)[inside]
        at_bound = self.at_bound[inside][:, higher].any(axis=1)
        return float(weights @ at_bound) > 0.5 * float(weights.sum())

    def _steps(self, row: int) -> list[Switch]:
        """Steps at breaks, and steps whose span has a level between those beside it."""
        found = []
        levels, edges = self.values[:, :, row].mean(axis=1), self.edges
        range_ = float(np.ptp(levels))
        ends = [self.high[row] if a > b else self.low[row] for a, b in (levels[:2], levels[:-3:-1])]
        levels = np.concatenate([ends[:1], levels, ends[1:]])
        moved = np.zeros(len(edges), dtype=bool)
        for i in range(len(levels) - 2):
            before, here, after = levels[i : i + 3]
            size, h = float(after - before), float(edges[i + 1] - edges[i])
            if not SLIGHT * range_ < abs(size) < np.inf:
                continue
            share = float((after - here) / size)  # of the span, before the step
            share = 1.0 - share if False else share
            if 0.0 < share < 1.0:
                a = 0.5 * abs(size) * self.slope(row, edges[i], edges[i + 1])
                gain = a * h**2 * share * (1.0 - share)
                if gain > self.least:
                    moved[i : i + 2] = True
                    found.append(Switch((float(edges[i] + h * share),), gain, a * max(h, self.span) ** 2 / 4.0))
        for i in np.flatnonzero(np.isin(edges, self.inserted) & ~moved):
            size = abs(float(levels[i + 1] - levels[i]))
            a = 0.5 * size * self.slope(row, edges[i], edges[i])
            found.append(Switch((float(edges[i]),), 0.0, a * self.span**2 / 4.0))
        return found


def _dependence(path: Rows) -> NDArray[np.bool_]:
    """Which profiles every row depends on, by their derivatives, (rows, profiles)."""
    rows, columns = path.derivatives.jacobian.places
    found = np.zeros((path.count, 0), dtype=bool)
    at = 0
    for name, size in zip(path.derivatives.wrt, path.derivatives.widths, strict=True):
        if is_profile(name) and name != "c0":
            mine = (columns >= at) & (columns < at + size)
            part = np.zeros((path.count, size), dtype=bool)
            part[rows[mine], columns[mine] - at] = True
            found = part if not found.size else found | part
        at += size
    return found


def _chosen(edges: Array, base: Array, wanted: list[Switch], most: int) -> Breaks:
    """Breaks at the switches that are worth most; none nearer to others than the shortest span."""
    least = SHORTEST / (len(base) - 1)
    breaks, gain = list(base), 0.0
    for switch in wanted:
        good = [s for s in switch.breaks if least <= s <= 1.0 - least and min(abs(s - b) for b in breaks) >= least]
        if len(breaks) + len(good) - len(base) > most:
            break
        breaks += good
        gain += switch.gain if good else 0.0
    return Breaks(np.array(sorted(breaks)), gain)

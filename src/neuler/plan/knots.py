"""Knots where limited rows switch: from one bound to the other, away from a bound, or up to it.

Least-time motions switch between bounds. A spline of degree d follows a switch of a row that depends on derivative k
of the profiles (2 of a torque) by a ramp over a span or two; with d - k + 1 knots close together the ramp is as short
as they are. Where k = d (a jerk, by cubic splines) the row is constant in each span and has a value between the bounds
in the one with the switch; one knot at the switch follows it.

Multipliers say which switches matter: rows of joints that do not decide the objective have none. What a ramp costs is
the integral of the row's multiplier per share times its room to the bound. At a switch from one bound to the other the
multiplier is zero and grows on both sides (it is the switching function of Pontryagin's conditions); where a velocity
rises to its bound, or a ramp begins with the phase, it is about as large as it is beside the ramp.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuler.moments.tracing import is_profile
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.rows import LIMIT, Rows

SLIGHT = 0.05
"""Of a row's range: changes within a span that end a ramp, and steps that are none."""
NARROW = 0.05
"""Of a ramp's width: half the width of the span that it gets."""
SHORTEST = 0.02
"""Of the mean span: the shortest one that is made."""
REACH, LONGEST = 2.0, 3.0
"""Mean spans: how far beside a switch multipliers are added up, and the width from which on a change is no switch."""
MATTERS = 1e-3
"""Of all multipliers: rows with less are left out."""
AT_BOUND = 0.1
"""Of a bound: how near rows are to it that count as at it."""
BETWEEN = 17
"""Points in a span at which rows are looked at."""
LEFT_OF_RAMP, LEFT_OF_ESTIMATE = 0.05, 0.3
"""Of a gain: what the next estimate of a switch may add, where knots are about a ramp's middle, and elsewhere."""


@dataclass(frozen=True)
class Switch:
    """A switch of a row: the breaks that follow it, and what they are worth."""

    breaks: tuple[float, ...]
    worth: float
    """What the objective loses, about, without any of them."""
    gain: float = 0.0
    """By how much the objective falls, about, by those that are not there yet."""
    left: float = 0.0
    """By how much it may fall once more, by a better estimate afterwards."""


@dataclass(frozen=True, eq=False)
class Following:
    """Breaks of a phase, some of them at switches."""

    breaks: Array
    gain: float = 0.0
    left: float = 0.0
    """Sums over the switches that they follow: see :class:`Switch`."""


def with_switches(
    motion: SplineMotion, k: int, phase: Phase, multipliers: Array, base: Array, most: int, least: float
) -> Following:
    """Breaks for the profiles of phase k: those of ``base``, and up to ``most`` at switches.

    ``multipliers`` are those of the phase's path, (grid, rows), of the solve that gave the motion. Breaks of its
    profiles that are not of ``base`` stay as long as they follow a switch, and move to a better estimate of it where
    the objective falls by more than ``least``.
    """
    if phase.path is None or most <= 0 or not multipliers.any():
        return Following(np.unique(motion.profiles[k].knots))
    wanted = sorted(_Spans(motion, k, phase, multipliers, base, least).switches(), key=lambda each: -each.worth)
    shortest = SHORTEST / (len(base) - 1)
    breaks, taken = list(base), []
    for switch in wanted:
        good = [s for s in switch.breaks if shortest <= min(s, 1.0 - s, *(abs(s - other) for other in breaks))]
        if len(breaks) + len(good) - len(base) > most:
            break
        breaks += good
        taken += [switch] if good else []
    return Following(np.array(sorted(breaks)), sum(each.gain for each in taken), sum(each.left for each in taken))


class _Spans:
    """Rows of a phase in every span, as shares of their bounds, and how much they matter where."""

    def __init__(
        self, motion: SplineMotion, k: int, phase: Phase, multipliers: Array, base: Array, least: float
    ) -> None:
        assert phase.path is not None
        self.path, self.least, self.grid = phase.path, least, motion.profiles[k].grid
        self.degree = motion.profiles[k].degree
        self.edges = np.unique(motion.profiles[k].knots)
        self.inserted = np.setdiff1d(self.edges, base)
        self.span = 1.0 / (len(base) - 1)
        inside = np.linspace(1e-6, 1.0 - 1e-6, BETWEEN)
        self.shares = self.edges[:-1, None] + np.diff(self.edges)[:, None] * inside
        slacks = {name: np.zeros(self.shares.size) for name in phase.slacks}
        values = motion.values(self.path.function, k, self.shares.ravel(), slacks) / self.path.scales()
        self.values = values.reshape(*self.shares.shape, -1)
        self.lower, self.upper = (side / self.path.scales() for side in self.path.bounds())
        self.sums = np.concatenate([np.zeros((1, multipliers.shape[1])), np.cumsum(np.abs(multipliers), axis=0)])
        limited = np.zeros(self.path.count, dtype=bool)
        for family in self.path.of_kind(LIMIT):
            limited[family.rows] = True
        self.rows = np.flatnonzero(limited & (self.sums[-1] > MATTERS * self.sums[-1].sum()) & (self.path.orders >= 1))

    def switches(self) -> list[Switch]:
        """Switches of all rows that matter."""
        found: list[Switch] = []
        for row in self.rows.tolist():
            if np.isfinite(self.values[:, :, row]).all():
                count = self.degree - int(self.path.orders[row]) + 1  # a knot repeated so often lets the row jump
                found += self._steps(row) if count <= 1 else self._ramps(row, count)
        return found

    def _beside(self, row: int, begin: float, end: float) -> float:
        """The multiplier of a row per share beside a switch between two shares, a mean over both sides."""
        reach = REACH * self.span
        first, last = np.searchsorted(self.grid, [begin - reach - 1e-12, end + reach + 1e-12])
        return float(self.sums[last, row] - self.sums[first, row]) / reach

    def _lost(self, row: int, before: float, after: float, wide: float) -> float:
        """The integral of the multiplier over a span of a step, beside that next to it: less where it crosses zero."""
        bounds = np.array([self.lower[row], self.upper[row]])
        crosses = all(np.abs(bounds - level).min() < AT_BOUND for level in (before, after))
        return wide * (0.5 * wide / (REACH * self.span) if crosses else 1.0)

    # ---- ramps ------------------------------------------------------------------------------------------------

    def _ramps(self, row: int, count: int) -> list[Switch]:
        """Changes of a row that go on over one or a few spans, and ``count`` breaks for each."""
        found = []
        values = self.values[:, :, row]
        slight = SLIGHT * float(np.ptp(values))
        change = values[:, -1] - values[:, 0]
        at = 0
        while at < len(change):
            last = at + 1
            while last < len(change) and change[last] * change[at] > 0.0 and abs(change[last]) > slight:
                last += 1
            if abs(float(change[at:last].sum())) > 4.0 * slight:
                found += self._ramp(row, count, at, last)
            at = last
        return found

    def _ramp(self, row: int, count: int, at: int, last: int) -> list[Switch]:
        """The ramp of a row over the spans from ``at`` to before ``last``; none where other limits make it so wide."""
        values, shares = self.values[at:last, :, row].ravel(), self.shares[at:last].ravel()
        size = abs(float(values[-1] - values[0]))
        way = np.maximum.accumulate((values - values[0]) / (values[-1] - values[0]))
        begin, middle, end = (float(np.interp(x, way, shares)) for x in (0.1, 0.5, 0.9))
        width = (end - begin) / 0.8
        if width > LONGEST * self.span or self._held(row, begin, end):
            return []
        beside, wide = self._beside(row, begin, end), max(width, self.span)
        ends = at == 0 or last == len(self.values)
        if ends or self.path.orders[row] == 1:
            gain, worth = (0.25 * size * beside * each for each in (width, wide))
            breaks = middle + width * (np.arange(1, count + 1) / (count + 1) - 0.5)
            left = LEFT_OF_ESTIMATE
        else:
            gain, worth = (size * beside * each**2 / (24.0 * REACH * self.span) for each in (width, wide))
            breaks = middle + NARROW * width * np.linspace(-1.0, 1.0, count)
            left = LEFT_OF_RAMP
        if gain > self.least:
            return [Switch(tuple(breaks.tolist()), worth, gain, left * gain)]
        mine = (self.inserted >= self.edges[at]) & (self.inserted <= self.edges[last])
        return [Switch(tuple(self.inserted[mine].tolist()), worth)]

    def _held(self, row: int, begin: float, end: float) -> bool:
        """Whether a change is mostly as steep as limits on higher derivatives of the same profiles allow."""
        higher = self.rows[self.path.orders[self.rows] > self.path.orders[row]]
        higher = higher[(self._profiles[higher] & self._profiles[row]).any(axis=1)]
        inside = (self.shares >= begin) & (self.shares <= end)
        spans = np.broadcast_to(np.diff(self.edges)[:, None], self.shares.shape)[inside]
        values = self.values[inside][:, higher]
        bound = (values > self.upper[higher] - AT_BOUND) | (values < self.lower[higher] + AT_BOUND)
        return float(spans @ bound.any(axis=1)) > 0.5 * float(spans.sum())

    @cached_property
    def _profiles(self) -> NDArray[np.bool_]:
        """Which profiles every row depends on by their derivatives, (rows, profiles)."""
        return dependence(self.path)

    # ---- steps ------------------------------------------------------------------------------------------------

    def _steps(self, row: int) -> list[Switch]:
        """Spans whose level is between those beside it, a break in each that makes one step of two; steps at breaks.

        Beside the phase the level is that of the bound.
        """
        found = []
        levels, edges = self.values[:, :, row].mean(axis=1), self.edges
        if len(levels) < 2:
            return []
        slight = SLIGHT * float(np.ptp(levels))
        ends = [self.upper[row] if here > beside else self.lower[row] for here, beside in (levels[:2], levels[:-3:-1])]
        levels = np.concatenate([ends[:1], levels, ends[1:]])
        moved = np.zeros(len(edges), dtype=bool)
        for i, h in enumerate(np.diff(edges).tolist()):
            before, here, after = levels[i : i + 3].tolist()
            size = after - before
            if not slight < abs(size) < np.inf or not 0.0 < (after - here) / size < 1.0:
                continue
            share = (after - here) / size  # of the span, before the step
            gain, worth = (
                abs(size) * self._beside(row, edges[i], edges[i + 1]) * self._lost(row, before, after, wide) * part
                for wide, part in ((h, share * (1.0 - share)), (max(h, self.span), 0.25))
            )
            if gain > self.least:
                moved[i : i + 2] = True
                found.append(Switch((float(edges[i] + h * share),), worth, gain, LEFT_OF_ESTIMATE * gain))
        for i in np.flatnonzero(np.isin(edges, self.inserted) & ~moved).tolist():
            before, after = levels[i : i + 2].tolist()
            lost = self._lost(row, before, after, self.span)
            worth = 0.25 * abs(after - before) * self._beside(row, edges[i], edges[i]) * lost
            found.append(Switch((float(edges[i]),), worth))
        return found


def dependence(path: Rows) -> NDArray[np.bool_]:
    """Which profiles every row depends on by their derivatives, (rows, profiles)."""
    rows, columns = path.derivatives.jacobian.places
    names = [name if is_profile(name) and name != "c0" else "" for name in path.derivatives.wrt]
    count = max((size for name, size in zip(names, path.derivatives.widths, strict=True) if name), default=0)
    found = np.zeros((path.count, count), dtype=bool)
    at = 0
    for name, size in zip(names, path.derivatives.widths, strict=True):
        mine = (columns >= at) & (columns < at + size)
        if name:
            found[rows[mine], columns[mine] - at] = True
        at += size
    return found

"""A phase whose knots are variables, too: Barman (4.14) with s among the variables.

Lengths h of the spans between knots stand behind the duration, T = sum of h. A grid point keeps its place in its span.
Profiles there depend on the degree + 1 control points near it and, by de Boor's recursion, on the knots around: a
traced function takes both, and with them every derivative with respect to the knots is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neuler.optimize.elimination import Equality
from neuler.optimize.programme import Array
from neuler.plan import bspline
from neuler.plan.segment import Segment

NEAR, AROUND, SINCE, WITHIN = "near", "around", "since", "within"
SHORTEST = 0.02
"""Of the mean length of a span, that of the shortest."""


def inputs(nc: int, degree: int) -> dict[str, Any]:
    """What a traced function takes instead of profiles: control points near, knots around, when its span began."""
    return {NEAR: (degree + 1) * nc, AROUND: 2 * degree, SINCE: (), WITHIN: ()}


def profiles(values: Mapping[str, Any], nc: int, degree: int, order: int) -> tuple[list[Any], Any, Any]:
    """Profiles and their derivatives per second, the time in the phase, and the length of the span."""
    near = np.asarray(values[NEAR], dtype=object).reshape(degree + 1, nc)
    around = list(values[AROUND])
    length = around[degree] - around[degree - 1]
    at = values[WITHIN] * length
    basis = bspline.derivatives(around, degree, at, order)
    found = [sum(row[a] * near[a] for a in range(degree + 1)) for row in basis]
    found += [np.zeros(nc, dtype=object)] * (order + 1 - len(found))
    return found, values[SINCE] + at, length


@dataclass(frozen=True, eq=False)
class FreeSegment(Segment):
    """Splines on knots that move. Shares of the phase count spans, each as one of as many parts."""

    @cached_property
    def spans(self) -> int:
        """Between knots."""
        return len(np.unique(self.knots)) - 1

    @property
    def lengths(self) -> int:
        """Variables behind T."""
        return self.spans

    @property
    def _lengths(self) -> slice:
        return slice(self.duration + 1, self.duration + 1 + self.spans)

    def breaks(self, x: Array) -> Array:
        """Shares of the duration at which spans begin, and 1."""
        h = np.maximum(x[self._lengths], 1e-6 * np.abs(x[self._lengths]).max(initial=1e-300))
        edges = np.concatenate([[0.0], np.cumsum(h)])
        found: Array = edges / edges[-1]
        found[-1] = 1.0
        return found

    def knots_at(self, x: Array) -> Array:
        """Knots as shares of the duration."""
        return bspline.clamped(self.m, self.degree, self.breaks(x))

    def times(self, x: Array, shares: Array) -> Array:
        """Shares of the duration at shares of the phase."""
        return np.interp(shares, np.linspace(0.0, 1.0, self.spans + 1), self.breaks(x))

    def shares(self, x: Array, times: Array) -> Array:
        """The other way round."""
        return np.interp(times, self.breaks(x), np.linspace(0.0, 1.0, self.spans + 1))

    def given(self, T: float) -> dict[int, float]:
        """Uniform knots of a duration."""
        return {self.duration: T} | dict.fromkeys(range(*self._lengths.indices(self.last)), T / self.spans)

    def total(self) -> Equality:
        """T = sum of h."""
        terms = dict.fromkeys(range(*self._lengths.indices(self.last)), 1.0)
        return Equality({**terms, self.duration: -1.0}, 0.0, "knots")

    def condition(self, share: float, derivative: int, k: int, value: float) -> dict[int, float] | None:
        """At an end: the position is a control point, the velocity p (P1 - P0) / h; at rest P0 = P1 = P2 = ..."""
        if share not in (0.0, 1.0) or (derivative > 1 and value):
            return None
        points = [self.first + i * self.nc + k for i in range(self.m)]
        near, h = (points, self._lengths.start) if share == 0.0 else (points[::-1], self._lengths.stop - 1)
        if derivative == 0:
            return {near[0]: 1.0}
        sign = 1.0 if share == 0.0 else -1.0
        terms = {near[derivative]: sign, near[0]: -sign}
        if value:
            terms[h] = -value / self.degree
        return terms

    def profile_entries(self, names: Sequence[str], points: Array) -> dict[str, tuple[Any, Any, Any]]:
        """By input: the row within its part of z, the variable and the coefficient, points first."""
        span = self._span(points)
        wide = (self.degree + 1) * self.nc
        near = self.first + span[:, None] * self.nc + np.arange(wide)
        place = np.arange(self.spans)
        # knot i around a span, from 1 - degree to degree spans on, clamped: the lengths between it and the span's start
        steps = np.arange(1 - self.degree, self.degree + 1)
        target = np.clip(span[:, None] + steps, 0, self.spans)[..., None]
        begin = span[:, None, None]
        around = ((place >= begin) & (place < target)) * 1.0 - ((place < begin) & (place >= target)) * 1.0
        column = np.broadcast_to(self._lengths.start + place, around.shape)
        since = (place < span[:, None]) * 1.0
        return {
            NEAR: (np.arange(wide), near, np.ones(1)),
            AROUND: (np.arange(2 * self.degree)[:, None], column, around),
            SINCE: (np.zeros(1, dtype=np.intp), np.broadcast_to(self._lengths.start + place, since.shape), since),
        }

    def taken(self, x: Array, names: Sequence[str], points: Array) -> dict[str, Array]:
        """Inputs that are variables, in numbers."""
        z = (self.operator(names, points, len(x)) @ x).reshape(len(points), -1)
        found: dict[str, Array] = {}
        at = 0
        for name in names:
            part = z[:, at : at + self.width(name)]
            found[name] = part[:, 0] if name in (SINCE, "T") else part
            at += self.width(name)
        return found

    def known(self, points: Array) -> dict[str, Array]:
        """Inputs that are no variables."""
        return {**super().known(points), WITHIN: points * self.spans - self._span(points)}

    def _span(self, points: Array) -> Any:
        return np.clip(np.floor(points * self.spans + 1e-9).astype(np.intp), 0, self.spans - 1)

    def width(self, name: str) -> int:
        """Numbers of an input."""
        sizes = {NEAR: (self.degree + 1) * self.nc, AROUND: 2 * self.degree, SINCE: 1}
        return sizes[name] if name in sizes else super().width(name)

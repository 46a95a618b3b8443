"""Knots where limited rows switch: from one bound to the other, or away from a bound.

Least-time motions switch between bounds. A spline of degree d follows a switch of a row that depends on derivative k
of the profiles (2 of a torque) by a ramp over a span or two; with d - k + 1 knots close together the ramp is as short
as they are. Where k = d (a jerk, by cubic splines) the row is constant in each span and has a value between the bounds
in the one with the switch; one knot at the switch follows it.
"""

from __future__ import annotations

import numpy as np

from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.rows import LIMIT

JUMP = 0.25
"""Of the largest change of a row: what counts as a switch within a span."""
NARROW = 0.1
"""Of a span: half the width of the span that a ramp gets."""
SHORTEST = 0.02
"""Of the mean span: the shortest one that is made."""
LONG = 0.02
"""Of a phase: shorter spans follow switches closely enough."""
TOO_MANY = 4
"""Times as many breaks as may be inserted: where switches ask for more, none is."""
BETWEEN = 17
"""Points in a span at which rows are looked at."""


def with_switches(motion: SplineMotion, k: int, phase: Phase, most: int) -> Array | None:
    """The breaks of a phase's profiles with up to ``most`` more of them at switches; None where there are none."""
    if phase.path is None or most <= 0:
        return None
    profiles = motion.profiles[k]
    edges = np.unique(profiles.knots)
    limited = np.zeros(phase.path.count, dtype=bool)
    for family in phase.path.of_kind(LIMIT):
        limited[family.rows] = True
    inside = np.linspace(1e-6, 1.0 - 1e-6, BETWEEN)
    shares = edges[:-1, None] + np.diff(edges)[:, None] * inside
    slacks = {name: np.zeros(shares.size) for name in phase.slacks}
    values = motion.values(phase.path.function, k, shares.ravel(), slacks).reshape(*shares.shape, -1)
    found: list[tuple[float, list[float]]] = []
    for row in np.flatnonzero(limited & (phase.path.orders >= 2)):
        mine = values[:, :, row]
        span = float(np.ptp(mine))
        if not np.isfinite(span) or not span > 0.0:
            continue
        repeated = profiles.degree - int(phase.path.orders[row]) + 1  # a knot repeated so often lets the row jump
        if repeated <= 1:
            found += _steps(edges, mine.mean(axis=1) / span)
        else:
            found += _ramps(edges, shares, mine / span, repeated)
    return _inserted(edges, sorted(found, key=lambda each: -each[0]), most)


def _ramps(edges: Array, shares: Array, values: Array, count: int) -> list[tuple[float, list[float]]]:
    """Sizes of changes within a few spans, and ``count`` breaks about the middle of each that let it be steep."""
    found = []
    change = values[:, -1] - values[:, 0]
    at = 0
    while at < len(change):
        last = at + 1
        while last < len(change) and change[last] * change[at] > 0.0 and abs(change[last]) > 0.2 * JUMP:
            last += 1
        size = float(change[at:last].sum())
        h = float(np.diff(edges)[at:last].mean())
        if abs(size) > JUMP and h > LONG:
            way = values[at:last].ravel()
            middle = float(shares[at:last].ravel()[int(np.argmin(np.abs(way - 0.5 * (way[0] + way[-1]))))])
            about = NARROW * h * np.linspace(-1.0, 1.0, count)
            found.append((abs(size) * (edges[last] - edges[at]), [middle + float(x) for x in about]))
        at = last
    return found


def _steps(edges: Array, levels: Array) -> list[tuple[float, list[float]]]:
    """Sizes of steps whose span has a level between those beside it, and the break at which they would be one step."""
    found = []
    for i in range(1, len(levels) - 1):
        before, here, after = levels[i - 1 : i + 2]
        size = after - before
        h = edges[i + 1] - edges[i]
        if h > LONG and abs(size) > JUMP and min((here - before) / size, (after - here) / size) > 0.05:
            found.append((abs(float(size)) * h, [edges[i] + h * (after - here) / size]))
    return found


def _inserted(edges: Array, wanted: list[tuple[float, list[float]]], most: int) -> Array | None:
    """The breaks with new ones, the largest switches first; none nearer to others than the shortest span.

    None where there are far more switches than new breaks: following a few of them gains nothing.
    """
    if sum(len(places) for _, places in wanted) > TOO_MANY * most:
        return None
    least = SHORTEST / (len(edges) - 1)
    breaks = list(edges)
    for _, places in wanted:
        good = [s for s in places if least <= s <= 1.0 - least and min(abs(s - b) for b in breaks) >= least]
        if len(breaks) + len(good) - len(edges) > most:
            break
        breaks += good
    return np.array(sorted(breaks)) if len(breaks) > len(edges) else None

"""The law of a scaled trajectory, step by step, as one compiled loop over points that are looked at.

A step tries jerks one after the other. Rows are looked at along the step, then along stops from its end, the shortest
first; the first jerk with a stop that holds all rows is taken. Where none has, the last stop goes on. Every turn of
the loop looks at one point: the state of the search is carried along, and the line of the tables for the point that
comes next. Trajectories are lanes that do not wait for each other.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.functions.scan import Scan, scan
from neuler.timing.torque_rates.programme import cubic_values, rows_and_rates
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]
SHORTEST, GENTLEST, STOPS = 4.0, 400.0, 7
"""Durations of stops from full speed, in steps, and how many there are: the shortest is tried first."""
JERKS, SMALLEST = 16, 1e-5
"""How many jerks there are to choose from, on either side of zero; the smallest one, of that of the shortest stop."""
CHOICES = 2 * JERKS + 1
NEAR = 5
"""Jerks about the last one that are tried first."""
LOOKS = (1e-9, 0.25, 0.5, 0.75, 1.0)
"""Where rows are looked at in a step."""
HALF = 33
"""Points at which they are in either half of a stop."""
SPEEDS = 40
"""Parts of full speed to start with."""
TURNS = 4096
"""Of the loop in one call."""
MOST = 20_000
"""Turns for every step that the trajectory has as it is given, after which it hardly moves."""
RUNNING, STARTING, DONE, STUCK = 1.0, 2.0, 0.0, -1.0


def after(sigma: Any, v: Any, w: Any, h: Any, j: Any) -> tuple[Any, Any, Any]:
    """Return the state h seconds later, with a jerk j."""
    return sigma + h * (v + h * (w / 2 + h * j / 6)), v + h * (w + h * j / 2), w + h * j


def stop(v: Any, w: Any, j: Any) -> tuple[Any, Any]:
    """Return the durations of both halves of a stop with jerks -j and j; the first is negative where there is none."""
    m = nm.sqrt(nm.maximum(j * v + w * w / 2, 0.0))
    return (m + w) / j, m / j


class Steps(NamedTuple):
    """The steps of one trajectory, how its search ended, and after how many turns of the loop."""

    taken: Array
    """Of every step the time, sigma, v and w where it begins, and its jerk: (n, 5)."""
    last: Array
    """sigma, v, w and the time behind the last step."""
    mode: float
    turns: int


_SEARCH = (
    "sigma", "v", "w", "t", "choice", "last", "stop", "point", "first", "second", "brake", "mode",
    "at", "speed", "push", "jerk", "can",
)  # fmt: skip
"""What is carried from turn to turn: the state at the beginning of the step and its time; which jerk is tried, by its
place in the order, and the number of the last one taken; which stop (-1: the step itself) and which point of it; what
is left of the last stop, both halves and its jerk; the mode; then the point looked at, and whether its stop can be."""


def _chosen(search: SimpleNamespace) -> Any:
    """The number of the jerk that is tried: some about the last one, then all others from the greatest on."""
    base = nm.clip(search.last - 3.0, 0.0, float(CHOICES - NEAR))
    rest = search.choice - NEAR
    rest = rest + nm.where(nm.less(rest, base), 0.0, float(NEAR))
    return nm.where(nm.less(search.choice, float(NEAR)), base + search.choice, rest)


def _jerk(number: Any, dt: Any) -> Any:
    """Of a number: the greatest one first, zero in the middle."""
    size = nm.exp(math.log(SMALLEST) / (JERKS - 1) * nm.minimum(number, 2.0 * JERKS - number))
    sign = nm.sign(float(JERKS) - number)
    return sign * size * (4.0 / (SHORTEST * dt * (SHORTEST * dt)))


def _look(search: SimpleNamespace, dt: Any) -> None:
    """The point that is looked at next."""
    starts = nm.greater(search.mode, 1.5)
    jerk = nm.where(starts, 0.0, _jerk(_chosen(search), dt))
    moved = after(search.sigma, search.v, search.w, dt, jerk)
    speed = 1.0 - search.choice / SPEEDS
    s1, v1, w1 = moved[0], nm.where(starts, speed, moved[1]), nm.where(starts, 0.0, moved[2])
    s1 = nm.where(starts, search.sigma, s1)
    h: Any = 0.0
    for k, share in enumerate(LOOKS):
        h = nm.where(nm.greater(search.point, k - 0.5), share, h)
    stepped = after(search.sigma, search.v, search.w, h * dt, jerk)
    number = nm.maximum(search.stop, 0.0)
    whole = SHORTEST * dt * nm.exp(math.log(GENTLEST / SHORTEST) / (STOPS - 1) * number)
    brake = 4.0 / (whole * whole)
    first, second = stop(v1, w1, brake)
    can = nm.greater_equal(first, -1e-12) * nm.greater_equal(v1, 0.0)
    first = nm.maximum(first, 0.0)
    late = nm.greater(search.point, HALF - 0.5)
    middle = after(s1, v1, w1, first, -brake)
    share = search.point / (HALF - 1)
    early = after(s1, v1, w1, first * share * share, -brake)  # closer where a stop begins, of which more is used
    final = after(*middle, second * ((search.point - HALF) / (HALF - 1)), brake)
    stopping = nm.greater(search.stop, -0.5)
    halves = [nm.where(late, b, a) for a, b in zip(early, final, strict=True)]
    halves[1] = nm.where(nm.less(nm.absolute(halves[1]), 1e-9), 0.0, halves[1])
    search.at, search.speed, search.push = (nm.where(stopping, a, b) for a, b in zip(halves, stepped, strict=True))
    search.jerk = nm.where(stopping, nm.where(late, brake, -brake), jerk)
    search.can = nm.where(stopping, can, 1.0)


def _turn(search: SimpleNamespace, good: Any, dt: Any, end: Any) -> Any:
    """Go on after one point; return what is to be kept: whether a step was taken, its time, state and jerk."""
    starts, busy = nm.greater(search.mode, 1.5), nm.greater(search.mode, 0.5)
    stopping = nm.greater(search.stop, -0.5)
    last_point = nm.where(stopping, 2.0 * HALF - 1.0, len(LOOKS) - 1.0)
    more = good * nm.less(search.point, last_point - 0.5)
    complete = good * (1.0 - more)
    accepted = complete * stopping * busy
    to_stops = complete * (1.0 - stopping)
    other_stop = (1.0 - good) * stopping * nm.less(search.stop, STOPS - 1.5)
    next_choice = (1.0 - good) * (1.0 - other_stop)
    none_left = nm.greater(search.choice, nm.where(starts, SPEEDS - 0.5, CHOICES - 1.5))
    given_up = next_choice * none_left * busy
    has_first, has_second = nm.greater(search.first, 0.0), nm.greater(search.second, 0.0)
    goes_on = given_up * (1.0 - starts) * nm.maximum(has_first, has_second)
    stuck = given_up * (1.0 - goes_on)
    # a step is taken: the one that was tried, or what is left of the last stop
    number = _chosen(search)
    left = nm.where(has_first, search.first, search.second)
    use = nm.minimum(left, dt)
    jerk = nm.where(accepted, _jerk(number, dt), nm.where(has_first, -search.brake, search.brake))
    taken = nm.maximum(accepted * (1.0 - starts), goes_on)
    seconds = nm.where(accepted, dt, use)
    kept = [taken, search.t, search.sigma, search.v, search.w, jerk]
    moved = after(search.sigma, search.v, search.w, seconds, jerk)
    # what is left of the stop: of a new one all, of the last one less
    whole = SHORTEST * dt * nm.exp(math.log(GENTLEST / SHORTEST) / (STOPS - 1) * nm.maximum(search.stop, 0.0))
    brake = 4.0 / (whole * whole)
    v1 = nm.where(starts, 1.0 - search.choice / SPEEDS, moved[1])
    w1 = nm.where(starts, 0.0, moved[2])
    new_first, new_second = stop(v1, w1, brake)
    first = nm.where(
        accepted, nm.maximum(new_first, 0.0), nm.where(goes_on * has_first, search.first - use, search.first)
    )
    second = nm.where(accepted, new_second, nm.where(goes_on * (1.0 - has_first), search.second - use, search.second))
    rests = goes_on * nm.less_equal(first, 0.0) * nm.less_equal(second, 0.0)
    changes = nm.maximum(taken, accepted)
    sigma = nm.where(taken, moved[0], search.sigma)
    search.v = nm.where(rests, 0.0, nm.where(changes, nm.where(accepted, v1, moved[1]), search.v))
    search.w = nm.where(rests, 0.0, nm.where(changes, nm.where(accepted, w1, moved[2]), search.w))
    search.t = search.t + nm.where(taken, seconds, 0.0)
    search.sigma = sigma
    search.first, search.second = first, second
    search.brake = nm.where(accepted, brake, search.brake)
    search.last = nm.where(accepted * (1.0 - starts), number, search.last)
    search.mode = nm.where(
        taken * nm.greater_equal(sigma, end), DONE, nm.where(stuck, STUCK, nm.where(accepted, RUNNING, search.mode))
    )
    begins = nm.greater(search.mode, 1.5)
    search.choice = nm.where(changes, 0.0, search.choice + next_choice)
    search.stop = nm.where(
        nm.maximum(changes, next_choice), nm.where(begins, 0.0, -1.0), search.stop + to_stops + other_stop
    )
    search.point = nm.where(more, search.point + 1.0, 0.0)
    return np.array(kept, dtype=object)


def _mask(rows: int, speeds: int, viscous: bool) -> NDArray[np.bool_]:
    """Which of a, b, c, d there are, (4, rows + speeds): speeds are d alone."""
    found = np.zeros((4, rows + speeds), bool)
    found[: 4 if viscous else 3, :rows] = True
    found[3, rows:] = True
    return found


@functools.cache
def stepping(rows: int, speeds: int, rated: tuple[int, ...], viscous: bool) -> Scan:
    """Return the loop for tables of so many rows: of constraints, of speeds behind them, and rates of some."""
    mask, size = _mask(rows, speeds, viscous), rows + speeds + len(rated)
    width = 4 * int(mask.sum())

    def turn(index: Any, search: Any, held: Any, line: Any) -> Any:
        dt, end, spacing = held
        now = SimpleNamespace(**dict(zip(_SEARCH, search, strict=True)))
        cubics = np.zeros((4, *mask.shape), dtype=object)
        cubics[:, mask] = line[1 : 1 + width].reshape(4, -1)
        way = nm.clip(now.at, 0.0, end) - line[0]
        values = rows_and_rates(*cubic_values(cubics, way), (now.speed, now.push, now.jerk), 1.0, rated)
        bounds = line[1 + width :].reshape(2, size)
        gap: Any = 1e300
        for value, low, high in zip(values, *bounds, strict=True):
            gap = nm.minimum(gap, nm.minimum(value - low, high - value))
        good = nm.greater_equal(gap, -1e-12) * nm.greater_equal(now.speed, -1e-12) * now.can
        kept = _turn(now, good, dt, end)
        _look(now, dt)
        found = np.array([getattr(now, name) for name in _SEARCH], dtype=object)
        return nm.clip(now.at, 0.0, end) / spacing, found, kept

    tables = {"line": (1 + width + 2 * size, "index")}
    return scan(turn, {"index": (), "search": len(_SEARCH)}, {}, "kept", {"held": 3}, name="path_steps", tables=tables)


class Stepper:
    """The loop of some trajectories (K) with their tables; bounds may be narrower from one run to the next."""

    def __init__(self, tables: RateTables, dt: float) -> None:
        constraints = tables.constraints
        rows, rated = len(constraints.lower), len(tables.rated)
        speeds = len(tables.lower) - rows - rated
        self.tables, self.dt, self.size = tables, dt, len(tables.lower)
        self.scan = stepping(rows, speeds, tables.rates, constraints.nonlinear)
        cubics = tables.cubics.reshape((-1, *tables.cubics.shape[-4:]))
        cubics = cubics[..., _mask(rows, speeds, constraints.nonlinear)]
        self.count, cells, _, columns = cubics.shape
        self.lines = np.empty((self.count, cells, 1 + 4 * columns + 2 * self.size))
        self.lines[..., 0] = tables.edges[:-1]
        self.lines[..., 1 : 1 + 4 * columns] = cubics.reshape((self.count, cells, -1))

    def run(self, margins: Array, which: NDArray[np.intp]) -> list[Steps]:
        """Return the steps of some trajectories, by number; bounds are narrower by ``margins`` (K, cells, 2, rows)."""
        for k in which:
            bounds = np.stack([self.tables.lower + margins[k, :, 0], self.tables.upper - margins[k, :, 1]], axis=1)
            self.lines[k, :, -2 * self.size :] = bounds.reshape((len(bounds), -1))
        lines = self.lines if len(which) == self.count else self.lines[which]
        edges = self.tables.edges
        end = float(edges[-1])
        held = np.array([self.dt, end, edges[1] - edges[0]])
        start = dict.fromkeys(_SEARCH, 0.0) | {"last": float(JERKS), "mode": STARTING, "speed": 1.0, "can": 1.0}
        start["jerk"] = -4.0 / (SHORTEST * self.dt) ** 2
        index = np.zeros(len(which))
        search = np.broadcast_to([start[name] for name in _SEARCH], (len(which), len(_SEARCH)))
        mode = _SEARCH.index("mode")
        kept, turns = [], 0
        while (search[:, mode] > 0.0).any() and turns < MOST * end / self.dt:
            found = self.scan(index, search, held, lines, steps=TURNS)
            index, search, turns = found.index, found.search, turns + TURNS
            kept.append([mine[mine[:, 0] > 0.5, 1:] for mine in found.kept])
        return [
            Steps(np.concatenate([part[k] for part in kept]), search[k, :4], float(search[k, mode]), turns)
            for k in range(len(which))
        ]

"""``scale_time``: a given trajectory slowed as it goes, so that bounds on torques and torque rates hold.

The trajectory is played by a law sigma(t) with 0 <= sigma' <= 1, one step after the other, as a controller would:
the law's jerk is constant over a step, the greatest of a few that keeps every row, and after which the motion can still
be stopped. A stop from v = sigma', w = sigma'' by jerks -j and then j has its greatest deceleration m at

    m^2 = j v + w^2 / 2,   after (m + w) / j, and rests m / j later

Rows hold along the stop, so there is always one way to go on: what is left of the last stop. It looks no further ahead
than that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.robot import Robot
from neuler.timing.constraint_set import ConstraintSet, given_constraints
from neuler.timing.fine_grid import TOLERANCE
from neuler.timing.paths import Path, PathPoints
from neuler.timing.timed_path import TimedPath
from neuler.timing.torque_rates.programme import rate_gaps
from neuler.timing.torque_rates.solve import slowed
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]
STOPS = np.geomspace(4.0, 400.0, 7)
"""Durations of stops from full speed, in steps."""
JERKS = np.geomspace(1.0, 1e-5, 16)
"""Jerks to choose from, of that of the shortest stop."""
POINTS = np.linspace(0.0, 1.0, 17)
"""Where rows are looked at, in either half of a stop."""
AT_ONCE = 5
"""Jerks whose stops are looked at together."""
TIGHTER = 6


class ScalingState(NamedTuple):
    """Of the law: sigma (s), sigma' (1), sigma'' (1/s)."""

    sigma: float
    v: float
    w: float

    def after(self, h: Any, j: Any) -> tuple[Any, Any, Any]:
        """With a jerk j for h seconds."""
        return after(self.sigma, self.v, self.w, h, j)


def after(sigma: Any, v: Any, w: Any, h: Any, j: Any) -> tuple[Any, Any, Any]:
    """A state h seconds later, with a jerk j."""
    return sigma + h * (v + h * (w / 2 + h * j / 6)), v + h * (w + h * j / 2), w + h * j


Stop = list[tuple[float, float]]
"""Jerks: seconds, and 1/s^2."""


class Scaling:
    """The law of one trajectory, step by step: ``step()`` gives the jerks of the next one."""

    def __init__(self, tables: RateTables, end: float, dt: float, margins: Array | None = None) -> None:
        """``margins``, (2, samples of the tables, rows), are what lower and upper bounds are narrower by."""
        self.tables, self.end, self.dt = tables, end, dt
        self._gaps = rate_gaps(len(tables.lower) - len(tables.rated), tables.rates)
        narrower = np.zeros((2, len(tables.spline.x), len(tables.lower))) if margins is None else margins
        self._bounds = np.stack([tables.lower + narrower[0], tables.upper - narrower[1]], axis=1)
        self.jerks = 4.0 / (STOPS * dt) ** 2
        some = self.jerks[0] * JERKS
        self.choices = np.concatenate([some, [0.0], -some[::-1]])
        self._knots, self._cubics = tables.spline.x, np.ascontiguousarray(np.moveaxis(tables.spline.c, 0, 1))
        self.state = ScalingState(0.0, 0.0, 0.0)
        self.stop: Stop = []
        self.last = 0
        """The jerk of the last step, among the choices."""

    def holds(self, s: Array, v: Array, w: Array, j: Array) -> NDArray[np.bool_]:
        """Whether rows hold at points; behind the end they are those of the end."""
        at = np.clip(s, self._knots[0], self._knots[-1])
        k = np.clip(((at - self._knots[0]) / (self._knots[1] - self._knots[0])).astype(int), 0, len(self._knots) - 2)
        gap = self._gaps(self._cubics[k], at - self._knots[k], np.stack([v, w, j], axis=-1), self._bounds[k])
        found: NDArray[np.bool_] = (gap >= 0.0) & (v >= -1e-12)
        return found

    def stops(self, states: list[ScalingState]) -> list[Stop | None]:
        """Of each state the first stop that keeps every row, from the gentlest on."""
        v, w = np.array([x.v for x in states])[:, None], np.array([x.w for x in states])[:, None]
        sigma, j = np.array([x.sigma for x in states])[:, None], self.jerks[None, ::-1]
        m = np.sqrt(np.maximum(j * v + w * w / 2, 0.0))
        first, last = (m + w) / j, m / j
        can = (first >= -1e-12) & (v >= 0)
        first = np.maximum(first, 0.0)
        parts = []
        s_, v_, w_ = (x[..., None] for x in np.broadcast_arrays(sigma, v, w, j)[:3])
        for seconds, jerk in ((first, -j), (last, j)):
            h, g = seconds[..., None], jerk[..., None]
            way, speed, push = after(s_, v_, w_, h * POINTS, g)
            speed = np.where(np.abs(speed) < 1e-9, 0.0, speed)
            parts.append(np.stack(np.broadcast_arrays(way, speed, push, g), axis=-1))
            s_, v_, w_ = after(s_, v_, w_, h, g)
        points = np.concatenate(parts, axis=-2)
        good = self.holds(*points.reshape(-1, 4).T).reshape(points.shape[:-1]).all(axis=-1) & can
        found: list[Stop | None] = []
        for row, mine in enumerate(good):
            if not mine.any():
                found.append(None)
                continue
            k = int(np.argmax(mine))
            brake = float(j[0, k])
            found.append([(float(first[row, k]), -brake), (float(last[row, k]), brake)])
        return found

    def begin(self) -> None:
        """The greatest speed to start with, of those from which it can be stopped."""
        speeds = np.linspace(1.0, 0.0, 41)
        states = [ScalingState(0.0, float(v), 0.0) for v in speeds]
        for state, stop in zip(states, self.stops(states), strict=True):
            if stop is not None:
                self.state, self.stop = state, stop
                return
        raise InputError(
            f"scale_time: no speed holds the bounds at the start: {self._why(ScalingState(0.0, 0.0, 0.0))}"
        )

    def step(self) -> Stop:
        """The jerks of the next step, which is taken."""
        h = self.dt * np.array([1e-9, 0.5, 1.0])
        moved = self.state.after(h[None, :], self.choices[:, None])
        jerks = np.broadcast_to(self.choices[:, None], moved[0].shape)
        good = self.holds(*(x.ravel() for x in (*moved, jerks))).reshape(jerks.shape).all(axis=1)
        order = np.flatnonzero(good)
        near = np.abs(order - self.last + 1) <= AT_ONCE // 2  # a little more than the last jerk, and less
        for some in _parts(order[near], order[~near]):
            states = [ScalingState(*(float(x[k, -1]) for x in moved)) for k in some]
            for k, state, stop in zip(some, states, self.stops(states), strict=True):
                if stop is not None:
                    self.state, self.stop, self.last = state, stop, int(k)
                    return [(self.dt, float(self.choices[k]))]
        taken, left, rest = [], self.dt, list(self.stop)
        while rest and left > 0.0:
            seconds, jerk = rest.pop(0)
            use = min(seconds, left)
            if use > 0.0:
                self.state = ScalingState(*self.state.after(use, jerk))
                taken.append((use, jerk))
            left -= use
            if seconds > use:
                rest.insert(0, (seconds - use, jerk))
        if not taken:
            raise InputError(f"scale_time: the motion has stopped and cannot go on: {self._why(self.state)}")
        if not rest:
            self.state = ScalingState(self.state.sigma, 0.0, 0.0)
        self.stop = rest
        return taken

    def _why(self, state: ScalingState) -> str:
        """The row that is the nearest to its bound, or beyond."""
        rows = np.append(self.tables.spline(state.sigma)[2], np.zeros(len(self.tables.rated)))
        gaps = np.minimum(rows - self.tables.lower, self.tables.upper - rows) / (1 + np.abs(self.tables.upper))
        k = int(np.argmin(np.where(np.isfinite(gaps), gaps, np.inf)))
        names = self.tables.labels
        return (
            f"at rest at sigma = {state.sigma:g} s the {names[k]} is {rows[k]:.4g}, its bounds are "
            f"{self.tables.lower[k]:.4g} to {self.tables.upper[k]:.4g}"
        )


def scale_time(
    robot: Robot,
    t: Any,
    q: Any,
    qd: Any = None,
    qdd: Any = None,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    torque_rate: Any = None,
    constraints: Any = (),
    robot_limits: bool = True,
    dt: float | None = None,
) -> TimedPath:
    """A given trajectory, slowed so that bounds hold, and never faster than it is given.

    ``q`` (N, nq) at times ``t`` (N) (s), with velocities ``qd`` and accelerations ``qdd`` (N, nv) where they are known;
    bounds as those of :func:`time_path`. The result's ``s`` is the time of the given trajectory, ``sdot`` <= 1 how fast
    it is played. ``dt`` (s) is the step of the law, a five-hundredth of the trajectory by default. Steps are decided
    one after the other and look ahead as far as it takes to stop; the whole is checked on points ten times finer, and
    done again with narrower bounds where they did not hold to 1e-6 (1 + |bound|).

    >>> import neuler
    >>> t = np.linspace(0.0, 1.0, 201)
    >>> q = np.stack([0.5 - 0.5 * np.cos(np.pi * t), 0 * t], axis=-1)
    >>> slow = scale_time(neuler.robots.two_link(), t, q, torque=1.0, torque_rate=50.0, robot_limits=False)
    >>> slow.valid, bool(slow.duration > 1.0), bool(slow.sdot.max() <= 1.0)
    (True, True, True)
    """
    bounds = velocity, acceleration, torque, torque_rate
    parts = given_constraints("scale_time", robot, bounds, constraints, bool(robot_limits))
    path = Path.sampled(t, q, qd, qdd) if qd is not None else Path.sampled(t, q)
    if path.shape or path.sizes != (robot.nq, robot.nv):
        raise InputError(
            f"scale_time: expected q of one trajectory, (N, {robot.nq}), and velocities (N, {robot.nv}), "
            f"got {np.shape(q)}"
        )
    path = path.moved()
    length = path.end
    step = length / 500.0 if dt is None else dt
    if not np.isfinite(step) or not 0 < step < length:
        raise InputError(f"scale_time: dt must be above zero and less than the trajectory's {length:g} s, got {dt!r}")
    points = np.linspace(0.0, length, max(len(np.asarray(t)), 501))
    zero = np.zeros(points.shape)
    every = ConstraintSet(*parts, PathPoints.of(path, points[:2]))
    given = TimedPath(every, path, points, points, zero + 1.0, zero, zero, 0.0)
    tables = RateTables.of(every, path, given, 1.0)
    margins, best = np.zeros((2, len(tables.spline.x), len(tables.lower))), None
    for _ in range(TIGHTER):
        timed = _run(given, Scaling(tables, length, step, margins))
        below, above, worst = tables.excess(timed)
        if best is None or worst < best[1]:
            best = timed, worst
        if worst <= TOLERANCE:
            break
        _narrow(margins, tables, timed, (below, above), 2.0 * step)
    assert best is not None
    timed, worst = best
    if worst > TOLERANCE:
        timed, worst, share = slowed(timed, tables)
        return replace(timed, worst=worst, message=f"slowed by {100 * (share - 1):.3g} %")
    return replace(timed, worst=worst)


def _narrow(margins: Array, tables: RateTables, timed: TimedPath, excess: tuple[Array, Array], pad: float) -> None:
    """Margins grow where a row was beyond its bound, and a little around."""
    nodes = tables.spline.x
    room = 0.4 * (np.minimum(tables.upper, 1e9) - np.maximum(tables.lower, -1e9))
    for side, values in zip(margins, excess, strict=True):
        more = np.zeros(side.shape)
        for k in np.flatnonzero((values > 0.0).any(axis=-1)):
            first, last = np.searchsorted(nodes, [timed.s[k] - pad, timed.s[k + 1] + pad])
            cut = slice(max(first - 1, 0), last + 1)
            more[cut] = np.maximum(more[cut], values[k])
        side[:] = np.minimum(side + 1.25 * more, room)


def _run(given: TimedPath, scaling: Scaling) -> TimedPath:
    """All steps to the end."""
    scaling.begin()
    nodes: list[tuple[float, float, float, float, float]] = []
    now, steps = 0.0, 0
    most = int(200 * scaling.end / scaling.dt)
    done = False
    while not done:
        state = scaling.state
        steps += 1
        if steps > most:
            raise InputError(f"scale_time: after {now:g} s the trajectory is at {state.sigma:g} s; it hardly moves")
        for seconds, jerk in scaling.step():
            after = ScalingState(*state.after(seconds, jerk))
            nodes.append((now, *state, jerk))
            if after.sigma >= scaling.end:
                seconds = _reaches(state, jerk, seconds, scaling.end)
                after, done = ScalingState(*state.after(seconds, jerk)), True
            now, state = now + seconds, after
            if done:
                nodes.append((now, scaling.end, after.v, after.w, jerk))
                break
    t, s, v, w, j = np.array(nodes).T
    return replace(given, t=t, s=s, sdot=np.clip(v, 0.0, 1.0), sddot=w, sdddot=j, iterations=steps)


def _parts(first: Any, rest: Any) -> list[Any]:
    """The first ones, then the rest, a few at a time."""
    return [x for x in (first, *(rest[k : k + AT_ONCE] for k in range(0, len(rest), AT_ONCE))) if len(x)]


def _reaches(state: ScalingState, jerk: float, seconds: float, end: float) -> float:
    """When the end is reached within a step."""
    low, high = 0.0, seconds
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if state.after(middle, jerk)[0] < end else (low, middle)
    return high

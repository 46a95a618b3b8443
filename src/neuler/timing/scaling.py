"""``scale_time``: a given trajectory slowed as it goes, so that bounds on torques and torque rates hold.

The trajectory is played by a law sigma(t) with 0 <= sigma' <= 1, one step after the other, as a controller would:
the law's jerk is constant over a step, the greatest of a few that keeps every row, and after which the motion can still
be stopped. A stop from v = sigma', w = sigma'' by jerks -j and then j has its greatest deceleration m at

    m^2 = j v + w^2 / 2,   after (m + w) / j, and rests m / j later

Rows hold along the stop, so there is always one way to go on: what is left of the last stop. It looks no further ahead
than that. All steps of all trajectories are one compiled loop: see :mod:`neuler.timing.stepping`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.robot import Robot
from neuler.timing.constraint_set import ConstraintSet, given_constraints
from neuler.timing.fine_grid import TOLERANCE
from neuler.timing.paths import Path, PathPoints
from neuler.timing.stepping import DONE, STUCK, Stepper, Steps, after
from neuler.timing.timed_path import TimedPath
from neuler.timing.torque_rates.solve import slowed
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]
TIGHTER = 6
"""Times that bounds are tightened, after which the law is slowed."""
ENOUGH = 5e-4
"""A law that is slowed as a whole by no more is not tightened again."""
TOGETHER = 128
"""Trajectories that are done at once: their tables are about a megabyte each."""


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
    """Return a given trajectory slowed so that bounds hold; it is never faster than it is given.

    ``q`` (..., N, nq) at times ``t`` (N) (s), with velocities ``qd`` and accelerations ``qdd`` (..., N, nv) where they
    are known; leading axes are a batch of trajectories. Bounds and ``constraints`` are those of :func:`time_path`. The
    result's ``s`` is the time of the given trajectory, ``sdot`` <= 1 how fast it is played. ``dt`` (s) is the step of
    the law, a five-hundredth of the trajectory by default. Steps are decided one after the other and look ahead as far
    as it takes to stop; the whole is checked on points ten times finer, and done again with narrower bounds where they
    did not hold to 1e-6 (1 + |bound|). In a batch those that arrive first rest at their end until the last does.

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
    if path.sizes != (robot.nq, robot.nv) or not path.everywhere:
        raise InputError(
            f"scale_time: expected q of trajectories, (..., N, {robot.nq}), and velocities (..., N, {robot.nv}), "
            f"got {np.shape(q)}"
        )
    path = path.moved()
    length = path.end
    step = length / 500.0 if dt is None else dt
    if not np.isfinite(step) or not 0 < step < length:
        raise InputError(f"scale_time: dt must be above zero and less than the trajectory's {length:g} s, got {dt!r}")
    cells = max(len(np.asarray(t)) - 1, 500)
    every = ConstraintSet(*parts, PathPoints.of(path, np.linspace(0.0, length, 2)))
    found: list[TimedPath] = []
    for first in range(0, math.prod(path.shape), TOGETHER):
        group = path.part(slice(first, first + TOGETHER)) if path.shape else path
        found += _scaled_group(every, group, step, cells, first)
    return _together(found, path) if path.shape else found[0]


def _scaled_group(constraints: ConstraintSet, path: Path, dt: float, count: int, first: int) -> list[TimedPath]:
    """Some trajectories, the first with number ``first``: run with narrower bounds each time, until all hold.

    The quickest law of all runs is taken, each slowed as a whole by what it needs to hold its bounds.
    """
    tables = RateTables.of(constraints, path, count, lambda s: np.ones(s.shape), 1.0)
    stepper = Stepper(tables, dt)
    room = 0.4 * (np.minimum(tables.upper, 1e9) - np.maximum(tables.lower, -1e9))
    margins = np.zeros((stepper.count, len(tables.edges) - 1, 2, len(tables.lower)))
    paths = [path[k] for k in range(stepper.count)] if path.shape else [path]
    best: list[TimedPath | None] = [None] * stepper.count
    busy = np.arange(stepper.count)
    for turn in range(TIGHTER):
        done = []
        for k, steps in zip(busy, stepper.run(margins, busy), strict=True):
            timed = _as_timed(constraints, paths[k], steps, tables, f"trajectory {first + k}: " if path.shape else "")
            below, above, worst = tables.excess(timed)
            known, share = best[k], 1.0
            if known is None or timed.t[-1] < known.t[-1] or known.worst > TOLERANCE:
                law = replace(timed, worst=worst)
                if worst > TOLERANCE:
                    slow, worst, share = slowed(timed, tables)
                    law = replace(slow, worst=worst, message=f"slowed by {100 * (share - 1):.3g} %")
                if known is None or (worst > TOLERANCE, law.t[-1]) < (known.worst > TOLERANCE, known.t[-1]):
                    best[k] = law
            done.append(worst <= TOLERANCE and share < 1.0 + ENOUGH)
            if not done[-1]:
                _narrow(margins[k], tables, timed, (below, above), 2.0 * dt * 2**turn, room)
        busy = busy[~np.array(done)]
        if not len(busy):
            break
    return [law for law in best if law is not None]


def _narrow(
    margins: Array, tables: RateTables, timed: TimedPath, excess: tuple[Array, Array], pad: float, room: Array
) -> None:
    """Margins (cells, 2, rows) grow where a row was beyond its bound, and a little around."""
    nodes = tables.edges
    for side, values in enumerate(excess):
        more = np.zeros((len(margins), values.shape[-1]))
        for k in np.flatnonzero((values > 0.0).any(axis=-1)):
            first, last = np.searchsorted(nodes, [timed.s[k] - pad, timed.s[k + 1] + pad])
            cut = slice(max(first - 1, 0), last + 1)
            more[cut] = np.maximum(more[cut], values[k])
        margins[:, side] = np.minimum(margins[:, side] + 1.25 * more, room)


def _as_timed(constraints: ConstraintSet, path: Path, steps: Steps, tables: RateTables, called: str) -> TimedPath:
    """The steps as a law that ends where the trajectory does; a search that did not get there is an error."""
    sigma, v, _, t = steps.last
    if steps.mode == STUCK:
        what = (
            "no speed holds the bounds at the start"
            if not len(steps.taken)
            else "the motion has stopped and cannot go on"
        )
        raise InputError(f"scale_time: {called}{what}: {_why(tables, path, float(sigma))}")
    if steps.mode != DONE:
        raise InputError(f"scale_time: {called}after {t:g} s the trajectory is at {sigma:g} s; it hardly moves")
    t, s, v, w, j = steps.taken.T
    low, high = 0.0, float(steps.last[3] - t[-1])
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if after(s[-1], v[-1], w[-1], middle, j[-1])[0] < path.end else (low, middle)
    _, last_v, last_w = after(s[-1], v[-1], w[-1], high, j[-1])
    t, s = np.append(t, t[-1] + high), np.append(s, path.end)
    v, w, j = np.append(v, last_v), np.append(w, last_w), np.append(j, j[-1])
    return TimedPath(
        constraints, path, t, s, np.clip(v, 0.0, 1.0), w, j, worst=None, iterations=len(steps.taken), message=""
    )


def _why(tables: RateTables, path: Path, sigma: float) -> str:
    """The row that is the nearest to its bound at rest, or beyond."""
    constraints = tables.constraints
    points, none = PathPoints.of(path, np.array([sigma])), np.zeros(1)
    count = len(constraints.lower)
    rows = constraints.values(points, none, none)[0]
    lower, upper = constraints.lower, constraints.upper
    with np.errstate(invalid="ignore"):
        gaps = np.fmin((rows - lower) / (1 + np.abs(lower)), (upper - rows) / (1 + np.abs(upper)))
    if not count:
        return f"at rest at sigma = {sigma:g} s its constraints leave no speed"
    k = int(np.argmin(np.where(np.isfinite(gaps), gaps, np.inf)))
    return (
        f"at rest at sigma = {sigma:g} s the {tables.labels[k]} is {rows[k]:.4g}, its bounds are {lower[k]:.4g} to "
        f"{upper[k]:.4g}"
    )


def _together(found: list[TimedPath], path: Path) -> TimedPath:
    """Laws of all trajectories with as many points each: those that are shorter rest at their end."""
    count = max(len(one.t) for one in found)

    def stacked(name: str) -> Array:
        rows = [getattr(one, name) for one in found]
        padded = np.stack([np.concatenate([x, np.full(count - len(x), x[-1])]) for x in rows])
        return padded.reshape((*path.shape, count))

    parts: dict[str, Any] = {name: stacked(name) for name in ("t", "s", "sdot", "sddot", "sdddot")}
    return replace(
        found[0], path=path, **parts, worst=np.array([one.worst for one in found]).reshape(path.shape),
        iterations=max(one.iterations for one in found),
        message="; ".join(f"trajectory {k}: {one.message}" for k, one in enumerate(found) if one.message),
    )  # fmt: skip

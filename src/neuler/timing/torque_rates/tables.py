"""Rows of a path over s, as tables for optimisers; and as they are along a law, by the robot itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from neuler.errors import InputError
from neuler.timing.constraints import PathDynamics, PathPoints
from neuler.timing.fine_grid import BETWEEN, TOLERANCE
from neuler.timing.paths import Path
from neuler.timing.timed_path import TimedPath

Array = NDArray[np.float64]
TABLE = 4
"""Samples of a, b, c, d for every point of the grid."""


@dataclass(frozen=True)
class RateTables:
    """a, b, c, d of all rows over s, with three derivatives; which rows they are, and their bounds.

    Rows are torques, accelerations, velocities, ds/dt where it has a ceiling, and behind them rates of torques.
    """

    model: PathDynamics
    spline: CubicSpline
    fast: NDArray[np.intp]
    rated: NDArray[np.intp]
    ceiling: float
    lower: Array
    upper: Array

    @classmethod
    def of(cls, model: PathDynamics, path: Path, timed: TimedPath, ceiling: float = np.inf) -> RateTables:
        """``ceiling`` is that of ds/dt."""
        bounds = model.bounds
        s = np.linspace(path.start, path.end, TABLE * timed.t.shape[-1])
        at = PathPoints.of(path, s)
        rows = model.rows(at)
        a, b, c = rows.a, rows.b, rows.c
        d = np.zeros(a.shape)
        if model.rubs:
            x = np.square(np.interp(s, timed.s, timed.sdot))
            x = np.maximum(x, 1e-6 * x.max())
            _jumps(model, at)
            still = model.friction_force(at, np.zeros(x.shape), np.zeros(x.shape))
            d = (model.friction_force(at, x, np.zeros(x.shape)) - still) / np.sqrt(x)[:, None]
            c = c + still
        fast = np.flatnonzero(np.isfinite(bounds.velocity[0]) | np.isfinite(bounds.velocity[1]))
        capped = [ceiling] if np.isfinite(ceiling) else []
        none = np.zeros((len(s), len(fast) + len(capped)))
        slopes = np.concatenate([at.first[:, fast], np.ones((len(s), len(capped)))], axis=-1)
        tables = [np.concatenate([x, y], -1) for x, y in ((a, none), (b, none), (c, none), (d, slopes))]
        rate = bounds.torque_rate
        rated = np.flatnonzero(np.isfinite(rate[0]) | np.isfinite(rate[1]))
        sides = [
            np.concatenate(
                [side, bounds.velocity[k][fast], [-np.inf] * len(capped) if not k else capped, rate[k][rated]]
            )
            for k, side in enumerate((model.lower, model.upper))
        ]
        return cls(model, CubicSpline(s, np.stack(tables, axis=1)), fast, rated, ceiling, sides[0], sides[1])

    @property
    def labels(self) -> list[str]:
        """Names of all rows."""
        model = self.model
        speeds = [model.velocity_labels[k] for k in self.fast] + ["speed of the path"] * bool(np.isfinite(self.ceiling))
        return [*model.labels, *speeds, *(f"rate of the {model.labels[k]}" for k in self.rates)]

    @property
    def rates(self) -> tuple[int, ...]:
        """Which rows have rates, too."""
        return tuple(int(k) for k in np.searchsorted(self.model.torque_rows, self.rated))

    def measured(self, timed: TimedPath) -> Array:
        """All rows of a law as they are, by the robot itself: (intervals, points of each, rows)."""
        s, v, w, j = _dense(timed)
        model = self.model
        q, first, second, third = (timed.path(s, k) for k in range(4))
        speed = np.maximum(v, 1e-12 * max(float(v.max()), 1e-300)) if model.rubs else v
        v_, w_, j_ = speed[:, None], w[:, None], j[:, None]
        qd = first * v_
        qdd = first * w_ + second * v_**2
        qddd = first * j_ + 3 * second * v_ * w_ + third * v_**3
        tau, rate = model.robot.inverse_dynamics_rate(q, qd, qdd, qddd)
        capped = [v_] if np.isfinite(self.ceiling) else []
        parts = [
            tau[:, model.torque_rows],
            qdd[:, model.acceleration_rows],
            qd[:, self.fast],
            *capped,
            rate[:, self.rated],
        ]
        return np.concatenate(parts, axis=-1).reshape((-1, BETWEEN + 1, len(self.lower)))

    def excess(self, timed: TimedPath) -> tuple[Array, Array, float]:
        """What every row of every interval is below and above its bounds; and the worst, of 1 + |bound|."""
        values = self.measured(timed)
        below = np.maximum(self.lower - values.min(axis=1), 0.0)
        above = np.maximum(values.max(axis=1) - self.upper, 0.0)
        worst = 0.0
        for side, bound in ((below, self.lower), (above, self.upper)):
            held = np.isfinite(bound)
            worst = max(worst, float((side[:, held] / (1.0 + np.abs(bound[held]))).max(initial=0.0)))
        return below, above, worst if np.isfinite(values).all() else np.inf


def _jumps(model: PathDynamics, at: PathPoints) -> None:
    """A joint that turns back with Coulomb friction: its torque jumps, at any speed."""
    turns = (at.first[:-1] * at.first[1:] < 0).any(axis=0)
    if not turns.any():
        return
    still = np.zeros(at.s.shape)
    force = model.friction_force(at, still, still)
    jump = np.abs(np.diff(force, axis=0))
    rated = np.isfinite(model.bounds.torque_rate[1][model.torque_rows])
    for k in np.flatnonzero(turns):
        where = int(np.argmax(at.first[:-1, k] * at.first[1:, k] < 0))
        here = jump[where, : len(rated)] * rated
        if here.max(initial=0.0) > TOLERANCE:
            name = model.velocity_labels[k].removeprefix("velocity of ")
            raise InputError(
                f"time_path: {name} turns back at s = {at.s[where]:g}, where its Coulomb friction jumps: no speed "
                "holds a bound on the torque rate there. Use a smooth law (robot.with_smooth_friction), or a path that "
                "does not turn"
            )


def _dense(timed: TimedPath) -> tuple[Array, Array, Array, Array]:
    """s, v, w, j at points ten times finer, both sides of every knot."""
    h = np.diff(timed.t)[:, None] * np.linspace(0.0, 1.0, BETWEEN + 1)
    s, v, w, j = (x[:-1, None] for x in (timed.s, timed.sdot, timed.sddot, timed.sdddot))
    found = s + h * (v + h * (w / 2 + h * j / 6)), v + h * (w + h * j / 2), w + h * j, j + 0 * h
    s, v, w, j = (x.ravel() for x in found)
    return np.clip(s, timed.path.start, timed.path.end), np.maximum(v, 0.0), w, j

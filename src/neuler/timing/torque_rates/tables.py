"""Rows of a path over s, as tables for optimisers; and as they are along a law, by the robot itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from neuler.errors import InputError
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.constraints import TorqueBound, entry_names
from neuler.timing.fine_grid import BETWEEN, TOLERANCE
from neuler.timing.paths import Path, PathPoints
from neuler.timing.timed_path import TimedPath

Array = NDArray[np.float64]
TABLE = 4
"""Samples of a, b, c, d for every point of the grid."""


@dataclass(frozen=True)
class RateTables:
    """a, b, c, d of all rows over s as cubic splines; what the rows are, and their bounds.

    A row is a u + b x + c + d sdot. First come the rows of all constraints, then their ceilings as rows d sdot (the
    velocities of joints), then sdot itself where it has a ceiling, then the rates of torques.
    """

    constraints: ConstraintSet
    spline: CubicSpline
    """Of (4, rows without rates)."""
    rates: tuple[int, ...]
    """Rows whose rates are bounded."""
    rated: NDArray[np.intp]
    """The entries of tau they are."""
    ceiling: float
    """Of sdot."""
    lower: Array
    upper: Array
    labels: list[str]

    @classmethod
    def of(cls, constraints: ConstraintSet, path: Path, timed: TimedPath, ceiling: float = np.inf) -> RateTables:
        """Return the tables of one path; ``timed`` says how fast it is about, which viscous friction needs to know."""
        s = np.linspace(path.start, path.end, TABLE * timed.t.shape[-1])
        points = PathPoints.of(path, s)
        a, b, c, _ = constraints.rows(points)
        d = np.zeros(a.shape)
        if constraints.nonlinear:
            x = np.square(np.interp(s, timed.s, timed.sdot))
            x = np.maximum(x, 1e-6 * x.max())
            _refuse_jumps(constraints, points)
            still = constraints.nonlinear_part(points, np.zeros(x.shape), np.zeros(x.shape))
            d = (constraints.nonlinear_part(points, x, np.zeros(x.shape)) - still) / np.sqrt(x)[:, None]
            c = c + still
        speeds, lower, upper, labels = _speed_rows(constraints, points, ceiling)
        none = np.zeros(speeds.shape)
        tables = [np.concatenate([x, y], -1) for x, y in ((a, none), (b, none), (c, none), (d, speeds))]
        rate = constraints.torque_rate
        rated = np.flatnonzero(np.isfinite(rate[0]) | np.isfinite(rate[1]))
        torques = _torques(constraints)
        rates = () if torques is None else torques.start + np.searchsorted(_torque_rows(constraints), rated)
        rates = tuple(int(k) for k in rates)
        return cls(
            constraints, CubicSpline(s, np.stack(tables, axis=1)), rates, rated, ceiling,
            np.concatenate([constraints.lower, lower, rate[0][rated]]),
            np.concatenate([constraints.upper, upper, rate[1][rated]]),
            [*constraints.labels, *labels, *(f"rate of the {constraints.labels[k]}" for k in rates)],
        )  # fmt: skip

    def measured(self, timed: TimedPath) -> Array:
        """Return all rows of a law as they are, by the robot itself: (intervals, points of each, rows)."""
        s, v, w, j = _dense(timed)
        constraints = self.constraints
        q, first, second, third = (timed.path(s, k) for k in range(4))
        points = PathPoints(s, q, first, second)
        speed = np.maximum(v, 1e-12 * max(float(v.max()), 1e-300)) if constraints.dynamics.has_friction else v
        v_, w_, j_ = speed[:, None], w[:, None], j[:, None]
        qdd = first * w_ + second * v_**2
        qddd = first * j_ + 3 * second * v_ * w_ + third * v_**3
        tau, rate = constraints.robot.inverse_dynamics_rate(q, first * v_, qdd, qddd)
        values = np.empty((len(s), len(self.lower)))
        rows, x = len(constraints.lower), v * v
        if any(not isinstance(constraint, TorqueBound) for constraint in constraints.constraints):
            values[:, :rows] = constraints.values(points, x, w)
        torques = _torques(constraints)
        if torques is not None:
            values[:, torques] = tau[:, _torque_rows(constraints)]
        values[:, rows : len(self.lower) - len(self.rated)] = _speed_rows(constraints, points, self.ceiling)[0] * v_
        values[:, len(self.lower) - len(self.rated) :] = rate[:, self.rated]
        return values.reshape((-1, BETWEEN + 1, len(self.lower)))

    def excess(self, timed: TimedPath) -> tuple[Array, Array, float]:
        """Return what every row of every interval is below and above its bounds; and the worst, of 1 + |bound|."""
        values = self.measured(timed)
        below = np.maximum(self.lower - values.min(axis=1), 0.0)
        above = np.maximum(values.max(axis=1) - self.upper, 0.0)
        worst = 0.0
        for side, bound in ((below, self.lower), (above, self.upper)):
            held = np.isfinite(bound)
            worst = max(worst, float((side[:, held] / (1.0 + np.abs(bound[held]))).max(initial=0.0)))
        return below, above, worst if np.isfinite(values).all() else np.inf


def _torques(constraints: ConstraintSet) -> slice | None:
    """Where torques stand among the rows."""
    found = next((each for each in constraints.constraints if isinstance(each, TorqueBound)), None)
    return None if found is None else constraints.of(found)


def _torque_rows(constraints: ConstraintSet) -> NDArray[np.intp]:
    """The entries of tau that have rows."""
    return next(each.rows for each in constraints.constraints if isinstance(each, TorqueBound))


def _speed_rows(
    constraints: ConstraintSet, points: PathPoints, ceiling: float
) -> tuple[Array, Array, Array, list[str]]:
    """Ceilings of all constraints, and of sdot, as rows d sdot: d (N, C), their bounds and names."""
    count = len(points.s)
    rows, lower, upper, labels = [np.zeros((count, 0))], [np.zeros(0)], [np.zeros(0)], []
    for constraint in constraints.with_ceiling:
        d, low, high = constraint.speed_rows(points)
        rows.append(d)
        lower.append(low)
        upper.append(high)
        labels += constraint.speed_labels(len(low))
    if np.isfinite(ceiling):
        rows.append(np.ones((count, 1)))
        lower.append(np.array([-np.inf]))
        upper.append(np.array([ceiling]))
        labels.append("speed of the path")
    return np.concatenate(rows, axis=-1), np.concatenate(lower), np.concatenate(upper), labels


def _refuse_jumps(constraints: ConstraintSet, points: PathPoints) -> None:
    """A joint that turns back with Coulomb friction: its torque jumps, at any speed."""
    turns = (points.first[:-1] * points.first[1:] < 0).any(axis=0)
    if not turns.any() or not constraints.dynamics.has_friction:
        return
    still = np.zeros(points.s.shape)
    jump = np.abs(np.diff(constraints.dynamics.friction(points, still, still), axis=0))
    rated = np.isfinite(constraints.torque_rate).any(axis=0)
    for k in np.flatnonzero(turns):
        where = int(np.argmax(points.first[:-1, k] * points.first[1:, k] < 0))
        if (jump[where] * rated).max(initial=0.0) > TOLERANCE:
            name = entry_names(constraints.robot, "qd")[k]
            raise InputError(
                f"time_path: {name} turns back at s = {points.s[where]:g}, where its "
                "Coulomb friction jumps: no speed holds a bound on the torque rate there. Use a smooth law "
                "(robot.with_smooth_friction), or a path that does not turn"
            )


def _dense(timed: TimedPath) -> tuple[Array, Array, Array, Array]:
    """s, v, w, j at points ten times finer, both sides of every knot."""
    h = np.diff(timed.t)[:, None] * np.linspace(0.0, 1.0, BETWEEN + 1)
    s, v, w, j = (x[:-1, None] for x in (timed.s, timed.sdot, timed.sddot, timed.sdddot))
    found = s + h * (v + h * (w / 2 + h * j / 6)), v + h * (w + h * j / 2), w + h * j, j + 0 * h
    s, v, w, j = (x.ravel() for x in found)
    return np.clip(s, timed.path.start, timed.path.end), np.maximum(v, 0.0), w, j

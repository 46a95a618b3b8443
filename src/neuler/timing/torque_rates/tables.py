"""Rows of a path over s, as tables for optimisers; and as they are along a law, by the robot itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.constraints import TorqueBound
from neuler.timing.fine_grid import BETWEEN, TOLERANCE
from neuler.timing.paths import Path, PathPoints
from neuler.timing.timed_path import TimedPath

Array = NDArray[np.float64]
NODES = np.array([1e-9, 1.0 / 3.0, 2.0 / 3.0, 1.0 - 1e-9])
"""Places of a cell where its cubics are those of the path; at its ends inside, where derivatives may jump."""


@dataclass(frozen=True)
class RateTables:
    """a, b, c, d of all rows over s, cubics on cells of one length; what the rows are, and their bounds.

    A row is a u + b x + c + d sdot. First come the rows of all constraints, then their ceilings as rows d sdot (the
    velocities of joints), then sdot itself where it has a ceiling, then the rates of torques.
    """

    constraints: ConstraintSet
    edges: Array
    """s at the ends of cells."""
    cubics: Array
    """(..., cells, 4, 4, rows without rates): by powers of the way along a cell, the third first; by a, b, c, d."""
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
    def of(
        cls,
        constraints: ConstraintSet,
        path: Path,
        count: int,
        speed: Callable[[Array], Array],
        ceiling: float = np.inf,
    ) -> RateTables:
        """Return the tables of paths on ``count`` cells, or some more so that a path's pieces end where cells do.

        ``speed`` gives sdot at s, (N) both, as it is about: viscous friction is taken as linear up to it.
        """
        edges = _edges(path, count)
        width = edges[1] - edges[0]
        s = (edges[:-1, None] + width * NODES).ravel()
        points = PathPoints.of(path, s)
        a, b, c, _ = constraints.rows(points)
        d = np.zeros(a.shape)
        if constraints.nonlinear:
            x = np.square(speed(s))
            x = np.broadcast_to(np.maximum(x, 1e-6 * x.max()), points.q.shape[:-1])
            _refuse_jumps(constraints, points)
            still = constraints.nonlinear_part(points, np.zeros(x.shape), np.zeros(x.shape))
            d = (constraints.nonlinear_part(points, x, np.zeros(x.shape)) - still) / np.sqrt(x)[..., None]
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
            constraints, edges, _cubics(np.stack(tables, axis=-2), width), rates, rated, ceiling,
            np.concatenate([constraints.lower, lower, rate[0][rated]]),
            np.concatenate([constraints.upper, upper, rate[1][rated]]),
            [*constraints.labels, *labels, *(f"rate of the {constraints.labels[k]}" for k in rates)],
        )  # fmt: skip

    def measured(self, timed: TimedPath, intervals: Any = slice(None)) -> Array:
        """Return all rows of a law as they are, by the robot itself: (..., intervals, points of each, rows)."""
        s, v, w, j = _dense(timed, intervals)
        constraints = self.constraints
        q, first, second, third = (timed.path(s, k) for k in range(4))
        points = PathPoints(s, q, first, second)
        speed = np.maximum(v, 1e-12 * max(float(v.max()), 1e-300)) if constraints.dynamics.has_friction else v
        v_, w_, j_ = speed[..., None], w[..., None], j[..., None]
        qdd = first * w_ + second * v_**2
        qddd = first * j_ + 3 * second * v_ * w_ + third * v_**3
        tau, rate = constraints.robot.inverse_dynamics_rate(q, first * v_, qdd, qddd)
        values = np.empty((*s.shape, len(self.lower)))
        rows, x = len(constraints.lower), v * v
        if any(not isinstance(constraint, TorqueBound) for constraint in constraints.constraints):
            values[..., :rows] = constraints.values(points, x, w)
        torques = _torques(constraints)
        if torques is not None:
            values[..., torques] = tau[..., _torque_rows(constraints)]
        values[..., rows : len(self.lower) - len(self.rated)] = _speed_rows(constraints, points, self.ceiling)[0] * v_
        values[..., len(self.lower) - len(self.rated) :] = rate[..., self.rated]
        return values.reshape((*s.shape[:-1], -1, BETWEEN + 1, len(self.lower)))

    def excess(self, timed: TimedPath, intervals: Any = slice(None)) -> tuple[Array, Array, Any]:
        """Return what every row of all intervals, or of some, is beyond its lower and its upper bound; and the worst.

        The worst is a share of 1 + |bound|.
        """
        values = self.measured(timed, intervals)
        below = np.maximum(self.lower - values.min(axis=-2), 0.0)
        above = np.maximum(values.max(axis=-2) - self.upper, 0.0)
        worst = np.zeros(values.shape[:-3])
        for side, bound in ((below, self.lower), (above, self.upper)):
            held = np.isfinite(bound)
            parts = side[..., held] / (1.0 + np.abs(bound[held]))
            worst = np.maximum(worst, parts.max(axis=(-2, -1), initial=0.0))
        worst = np.where(np.isfinite(values).all(axis=(-3, -2, -1)), worst, np.inf)
        return below, above, worst if worst.ndim else float(worst)


def _edges(path: Path, count: int) -> Array:
    """Ends of cells of one length: between the knots of a path as many each, where these are even."""
    knots = path.knots
    pieces = (
        1 if knots is None or len(knots) > 4 * count or np.ptp(np.diff(knots)) > 1e-9 * path.end else len(knots) - 1
    )
    return np.linspace(path.start, path.end, -(-count // pieces) * pieces + 1)


def _cubics(values: Array, width: float) -> Array:
    """Values (..., 4 cells, 4, rows) at the nodes of all cells as cubics (..., cells, 4, 4, rows)."""
    inverse = np.linalg.inv(np.vander(width * NODES, 4))
    split = values.reshape((*values.shape[:-3], -1, len(NODES), *values.shape[-2:]))
    return np.einsum("pn,...nar->...par", inverse, split, optimize=True)


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
    shape = points.q.shape[:-1]
    rows, lower, upper, labels = [np.zeros((*shape, 0))], [np.zeros(0)], [np.zeros(0)], []
    for constraint in constraints.with_ceiling:
        d, low, high = constraint.speed_rows(points)
        rows.append(d)
        lower.append(low)
        upper.append(high)
        labels += constraint.speed_labels(len(low))
    if np.isfinite(ceiling):
        rows.append(np.ones((*shape, 1)))
        lower.append(np.array([-np.inf]))
        upper.append(np.array([ceiling]))
        labels.append("speed of the path")
    return np.concatenate(rows, axis=-1), np.concatenate(lower), np.concatenate(upper), labels


def _refuse_jumps(constraints: ConstraintSet, points: PathPoints) -> None:
    """A joint that turns back with Coulomb friction: its torque jumps, at any speed."""
    turns = points.first[..., :-1, :] * points.first[..., 1:, :] < 0
    if not turns.any() or not constraints.dynamics.has_friction:
        return
    still = np.zeros(points.q.shape[:-1])
    jump = np.abs(np.diff(constraints.dynamics.friction(points, still, still), axis=-2))
    jump = (jump * np.isfinite(constraints.torque_rate).any(axis=0)).max(axis=-1)
    for *path, where, k in np.argwhere(turns):
        if jump[(*path, where)] > TOLERANCE:
            name = constraints.robot.coordinates.names("qd")[k]
            raise InputError(
                f"time_path: {name} turns back at s = {points.s[where]:g}, where its "
                "Coulomb friction jumps: no speed holds a bound on the torque rate there. Use a smooth law "
                "(robot.with_smooth_friction), or a path that does not turn"
            )


def _dense(timed: TimedPath, intervals: Any) -> tuple[Array, Array, Array, Array]:
    """s, v, w, j at points ten times finer, both sides of every knot of some intervals: (..., points)."""
    h = np.diff(timed.t)[..., intervals, None] * np.linspace(0.0, 1.0, BETWEEN + 1)
    every = (timed.s, timed.sdot, timed.sddot, timed.sdddot)
    s, v, w, j = (x[..., :-1][..., intervals, None] for x in every)
    found = s + h * (v + h * (w / 2 + h * j / 6)), v + h * (w + h * j / 2), w + h * j, j + 0 * h
    s, v, w, j = (x.reshape((*x.shape[:-2], -1)) for x in found)
    return np.clip(s, timed.path.start, timed.path.end), np.maximum(v, 0.0), w, j

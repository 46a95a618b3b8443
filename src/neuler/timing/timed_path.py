"""A path with its time law: what ``time_path`` and ``scale_time`` give."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.motions.motion import Bound, Motion
from neuler.plain import number
from neuler.robot import Robot
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.constraints import AccelerationBound, TorqueBound, VelocityBound
from neuler.timing.fine_grid import FineGrid
from neuler.timing.paths import Path, PathPoints

Array = NDArray[np.float64]


class Kinematics(NamedTuple):
    """A motion at some times: positions (..., n, nq), velocities and accelerations (..., n, nv)."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class TimedPath(Motion):
    """A path and its time law, at the points of its grid; a batch of paths has leading axes everywhere.

    One path, ``timed[k]`` of a batch, is a motion: sampled, saved, drawn, played, replayed and tracked like any other.

    Between points sddot is constant, or grows evenly by ``sdddot`` where torque rates are bounded. An array of a grid
    is (..., N); of ``sddot`` and ``sdddot`` an entry is that of the interval which begins there.

    >>> import neuler
    >>> from neuler import timing
    >>> arm = neuler.robots.two_link()
    >>> timed = timing.time_path(arm, [[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]], torque=20.0, velocity=3.0, grid=200)
    >>> timed.valid, timed.q.shape, bool(abs(timed.tau).max() < 20.0001)
    (True, (200, 2), True)
    >>> timed.at(0.5 * timed.duration).q.shape
    (2,)
    """

    constraints: ConstraintSet
    path: Path
    t: Array
    """Times (s)."""
    s: Array
    sdot: Array
    sddot: Array
    sdddot: Array
    worst: Any = None
    """The worst violation, where it is known."""
    iterations: int = 1
    """Linearisations of friction, or iterations of the solver of torque rates."""
    rounds: int = 1
    """Times that bounds were tightened between points."""
    message: str = ""
    tolerance: float = 1e-6

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        """The robot that moves along the path."""
        return self.constraints.robot

    @property
    def duration(self) -> Any:
        """The duration (s): a number, or one for each path of a batch; NaN for a path that has no time law."""
        return self.t[..., -1][()]

    @property
    def valid(self) -> Any:
        """Whether every bound holds to 1e-6 (1 + |bound|) on a grid ten times finer."""
        found = np.asarray(self.worst_violation) <= self.tolerance
        return bool(found) if not found.ndim else found

    @functools.cached_property
    def worst_violation(self) -> Any:
        """The greatest violation of a bound, as a share of 1 + |bound|, on a grid ten times finer, of each path."""
        if self.worst is not None:
            return self.worst
        found = FineGrid(self.constraints, self.path, self.s.reshape(-1, self.s.shape[-1])[0]).excess(
            np.square(self.sdot), self.sddot[..., :-1]
        )[-1]
        return found if found.ndim else float(found)

    @functools.cached_property
    def _points(self) -> PathPoints:
        alike = not self.sdddot.any()
        s = self.s.reshape(-1, self.s.shape[-1])[0] if alike else self.s
        return PathPoints(s, *(self.path(s, order) for order in range(3)))

    @property
    def q(self) -> Array:
        """Positions at the points of the grid, (..., N, nq)."""
        return self._points.q

    @property
    def qd(self) -> Array:
        """Velocities at the points of the grid, (..., N, nv)."""
        return self._points.first * self.sdot[..., None]

    @property
    def qdd(self) -> Array:
        """Accelerations just after the points of the grid, (..., N, nv)."""
        return self._points.first * self.sddot[..., None] + self._points.second * np.square(self.sdot)[..., None]

    @functools.cached_property
    def tau(self) -> Array:
        """Torques just after the points of the grid, (..., N, nu), friction included."""
        return self.constraints.dynamics.torques(self._points, np.square(self.sdot), self.sddot)

    def law(self, t: Any) -> tuple[Array, Array, Array, Array]:
        """Return s and its derivatives up to the third at times t: (n) for all paths, or (..., n) for each its own."""
        times = np.asarray(t, dtype=float)
        if np.isnan(times).any():
            raise InputError("TimedPath: a time is NaN")
        batch = self.t.shape[:-1]
        times = np.broadcast_to(times, (*batch, times.shape[-1])).reshape(-1, times.shape[-1])
        nodes = self.t.reshape(-1, self.t.shape[-1])
        k = np.stack([np.searchsorted(mine, at, side="right") for mine, at in zip(nodes, times, strict=True)]) - 1
        k = np.clip(k, 0, nodes.shape[-1] - 2)
        grown = [
            np.broadcast_to(x, self.t.shape).reshape(nodes.shape) for x in (self.s, self.sdot, self.sddot, self.sdddot)
        ]
        s, v, w, j = (np.take_along_axis(x, k, axis=-1) for x in grown)
        h = np.clip(times, nodes[:, :1], nodes[:, -1:]) - np.take_along_axis(nodes, k, axis=-1)
        found = (
            s + h * (v + h * (w / 2.0 + h * j / 6.0)),
            v + h * (w + h * j / 2.0),
            w + h * j,
            j,
        )
        shape = (*batch, times.shape[-1])
        at, v, w, j = (x.reshape(shape) for x in found)
        return np.clip(at, self.path.start, self.path.end), np.maximum(v, 0.0), w, j

    def at(self, t: Any) -> Kinematics:  # type: ignore[override]  # of batches, too
        """Return positions, velocities and accelerations at times t: one, (n) or (..., n) for each path its own.

        Before the start and after the end the motion is that of the end.
        """
        alone = not np.ndim(t)
        s, v, w, j = self.law(np.atleast_1d(t))
        found = Kinematics(*_derivatives([self.path(s, order) for order in range(3)], v, w, j))
        return Kinematics(*(x[..., 0, :] for x in found)) if alone else found

    def torques(self, t: Any) -> Array:
        """Return torques (N m, N) at such times, (..., n, nu)."""
        s, v, w, _ = self.law(np.atleast_1d(t))
        at = PathPoints(s, *(self.path(s, order) for order in range(3)))
        found = self.constraints.dynamics.torques(at, np.square(v), w)
        return found if np.ndim(t) else found[..., 0, :]

    def _torques(self, t: Array) -> Array:
        return self.torques(t)

    def _torque_rates(self, t: Array) -> Array:
        return self.torque_rates(t)

    def torque_rates(self, t: Any) -> Array:
        """Return the rates of torques (N m/s) at such times, (..., n, nu), between jumps of sddot."""
        s, v, w, j = self.law(np.atleast_1d(t))
        if self.constraints.dynamics.has_friction:
            v = np.maximum(v, 1e-12)
        motion = _derivatives([self.path(s, order) for order in range(4)], v, w, j)
        found: Array = self.robot.inverse_dynamics_rate(*motion).tau_rate
        return found if np.ndim(t) else found[..., 0, :]

    def evaluate(self, t: Any, order: int) -> list[Array]:
        """Return q (n, nq), and qd, qdd, qddd (n, nv) up to an order from 0 to 3, of one path at times t (n).

        Times before the start and after the end are taken as those of the ends.

        >>> import neuler
        >>> from neuler import timing
        >>> timed = timing.time_path(neuler.robots.two_link(), [[0.0, 0.0], [1.0, 0.5]], velocity=1.0, grid=100)
        >>> q, qd, qdd = timed.evaluate([0.0, 0.5 * timed.duration], 2)
        >>> q.shape, qd[0].tolist()
        ((2, 2), [0.0, 0.0])
        """
        if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 0 <= order <= 3:
            raise InputError(f"TimedPath.evaluate: order must be 0, 1, 2 or 3, got {order!r}")
        self._one("evaluate")
        times = np.asarray(t, dtype=float)
        if times.ndim != 1:
            raise InputError(f"TimedPath.evaluate: t must have one axis, got shape {times.shape}")
        s, v, w, j = self.law(times)
        return _derivatives([self.path(s, k) for k in range(order + 1)], v, w, j)

    @property
    def breaks(self) -> Array:
        """The times between which the motion is smooth but for its knots: [0, duration], of one path."""
        self._one("breaks")
        return np.array([0.0, float(self.t[-1])])

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Bounds of velocity, acceleration and torque, to be drawn beside them."""
        kinds = {VelocityBound: "velocity", AccelerationBound: "acceleration", TorqueBound: "torque"}
        found = []
        for each in self.constraints.constraints:
            if isinstance(each, VelocityBound | AccelerationBound | TorqueBound):
                labels = tuple(label.partition(" of ")[2] for label in each.labels)
                found.append(Bound(kinds[type(each)], labels, each.lower, each.upper))
        return tuple(found)

    @property
    def headline(self) -> str:
        """How long it takes, and whether it is valid."""
        return f"{number(float(self.duration))} s along a path, {'' if self.valid else 'NOT '}valid"

    @property
    def knots(self) -> Array:
        """The times of the grid, at which sddot or its derivative may jump, of one path: (N)."""
        self._one("knots")
        return self.t

    def _one(self, what: str) -> None:
        if self.t.ndim > 1:
            raise InputError(f"TimedPath.{what}: this is a batch of {len(self)} paths; take one of them: timed[0]")

    def __len__(self) -> int:
        """Return the length of the first batch axis."""
        if self.t.ndim == 1:
            raise TypeError("one timed path has no length; a batch has")
        return len(self.t)

    def __bool__(self) -> bool:
        """Return True, also of one path, which has no length."""
        return True

    def __iter__(self) -> Iterator[TimedPath]:
        """Return an iterator over the first batch axis."""
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> TimedPath:
        """Return one path of a batch, or several of them: what ``key`` picks from the batch axes."""
        batch = self.t.shape[:-1]
        path = self.path[key]
        chosen = np.arange(math.prod(batch)).reshape(batch)[key]

        def picked(values: Array) -> Array:
            found: Array = np.broadcast_to(values, self.t.shape).reshape(-1, self.t.shape[-1])[chosen]
            return found

        t, s, sdot, sddot, sdddot = map(picked, (self.t, self.s, self.sdot, self.sddot, self.sdddot))
        worst = None if self.worst is None else np.broadcast_to(self.worst, batch).reshape(-1)[chosen]
        if worst is not None and not worst.ndim:
            worst = float(worst)
        return replace(self, path=path, t=t, s=s, sdot=sdot, sddot=sddot, sdddot=sdddot, worst=worst)

    @functools.cached_property
    def active(self) -> NDArray[np.str_]:
        """What bounds the motion in each interval, (..., N - 1): "torque of joint2, upper"; "" where nothing does."""
        every, x = self.constraints, np.square(self.sdot)
        least = np.full((*self.t.shape[:-1], self.t.shape[-1] - 1), 1e-3)
        found: Any = np.full(least.shape, "", dtype=object)
        for end, cut in enumerate((slice(None, -1), slice(1, None))):
            points, here = self._points[cut], x[..., cut]
            u = self.sddot[..., :-1] + end * self.sdddot[..., :-1] * np.diff(self.t, axis=-1)
            gaps: list[tuple[Any, Array]] = []
            values = every.values(points, here, u)
            for k, label in enumerate(every.labels):
                for side, bound, gap in (
                    ("lower", every.lower[k], values[..., k] - every.lower[k]),
                    ("upper", every.upper[k], every.upper[k] - values[..., k]),
                ):
                    if np.isfinite(bound):
                        gaps.append((f"{label}, {side}", gap / (1.0 + abs(bound))))
            ceiling, names = every.ceiling(points)
            gaps.append((names, 1.0 - np.sqrt(here / ceiling)))
            for name, gap in gaps:
                found, least = np.where(gap < least, name, found), np.fmin(gap, least)
        return found.astype(str)

    def __repr__(self) -> str:
        count = f"{self.t[..., 0].size} paths" if self.t.ndim > 1 else f"{float(self.duration):.6g} s"
        good = "valid" if np.all(self.valid) else "not valid"
        return f"<TimedPath: {count}, {self.t.shape[-1]} points, {good}>"


def _derivatives(path: list[Array], v: Array, w: Array, j: Array) -> list[Array]:
    """q, qd, qdd, qddd by the derivatives of a path by s, and of s by time."""
    v, w, j = v[..., None], w[..., None], j[..., None]
    found = path[:1]
    if len(path) > 1:
        found.append(path[1] * v)
    if len(path) > 2:
        found.append(path[1] * w + path[2] * v**2)
    if len(path) > 3:
        found.append(path[1] * j + 3.0 * path[2] * v * w + path[3] * v**3)
    return found


def times(d: Array, x: Array) -> Array:
    """Return the times of the points of a grid between which sddot is constant: dt = 2 d / (sdot_i + sdot_j)."""
    speed = np.sqrt(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = 2.0 * d / (speed[..., :-1] + speed[..., 1:])
    return np.concatenate([np.zeros((*x.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)

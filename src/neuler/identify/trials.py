"""Some rows of all logs, fitted again and again: with other torques, at other times, with a column more.

The rows of a fit are thinned, and the regressor of every joint is kept as orthogonal and triangular factors, so that
least squares of any torques take a moment.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify.causes import SMALL
from neuler.identify.noise import torque_noise
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, Rows
from neuler.identify.stacked import Triangles, solved

Array = NDArray[np.float64]
ROWS = 1500
"""Rows of all logs that are looked at."""
SURE = 8.0
"""Logarithm of a ratio of likelihoods that is no chance, of a parameter that is one of many."""
_BURST, _FAR, _HUBER = 20.0, 5.0, 1.345
"""Usual deviations of a row that friction does not explain; beyond which rows of such torques are left out; and beyond
which a residual counts linearly."""
_ROBUST = 12
"""Passes of Huber's estimate."""
_PASSES, _SETTLED = 8, 0.01
"""Of weighted least squares, and the relative change of standard deviations at which they end."""


class Sample:
    """Some rows of all logs, and their torques at any delay."""

    def __init__(self, regression: Regression, logs: Sequence[Prepared], runs: Sequence[Rows]) -> None:
        self.regression = regression
        self.rate = min(each.rate / each.settings["decimate"] for each in logs)
        self.seconds = min(float(each.t[-1] - each.t[0]) for each in logs)
        self.series = [(each.decimated(each.t), each.filter(each.tau)) for each in logs]
        steps = [max(1, len(run.y) // -(-ROWS // len(logs))) for run in runs]
        self.states = [_some(each, step) for each, step in zip(logs, steps, strict=True)]
        self.W = np.concatenate([run.W[::step] for run, step in zip(runs, steps, strict=True)])
        y = np.concatenate([run.y[::step] for run, step in zip(runs, steps, strict=True)])
        self.moving = np.concatenate([run.moving[::step] for run, step in zip(runs, steps, strict=True)])
        self.rates = np.concatenate([each.qd for each in self.states])
        self.ends = np.cumsum([0, *(len(each.t) for each in self.states)]).tolist()
        """Rows at which runs begin, and the last one ends."""
        self.independent = self.moving.mean(axis=0) * sum(_independent(each) for each in logs)
        """Rows of each torque that filters leave independent, (nu,)."""
        size = (len(logs), y.shape[1])
        self.delays, self.offsets, self.gains = np.zeros(size), np.zeros(size), np.ones(size)
        """What torques are mended by, of each run: delays (s), offsets and factors, (runs, nu)."""
        self.run = slice(None)
        """The runs in which offsets and delays are looked for."""
        self.known = self.tau() - y
        level = np.sqrt((y**2).mean(axis=0))
        least = SMALL * np.maximum(level, SMALL * level.max()) + np.finfo(float).tiny
        self.noise = np.maximum(torque_noise(logs), least)
        """Of each torque, standard deviation, (nu,)."""

    @property
    def y(self) -> Array:
        """Torques less what is known beside the columns, (n, nu), behind the filter, as the columns are; mended."""
        return self.tau() - self.known

    def moment(self, row: int) -> tuple[str, float]:
        """The log of a row, and its time (s)."""
        for state in self.states:
            if row < len(state.t):
                return state.name, float(state.t[row])
            row -= len(state.t)
        raise IndexError(row)

    def tau(self, delays: Array | None = None) -> Array:
        """Torques (n, nu), those of later times by ``delays`` (nu,) in s, in the runs that are looked at; mended."""
        return self.mended(self.states, delays)

    def slopes(self, delays: Array) -> Array:
        """Derivatives of the torques, likewise."""
        slopes = [np.gradient(tau, t, axis=0) for t, tau in self.series]
        return self._read(self.states, slopes, delays) * self.of_run(self.gains * self.looked)

    @property
    def looked(self) -> Array:
        """One for each run that is looked at, zero for others, (runs, 1)."""
        found = np.zeros((len(self.states), 1))
        found[self.run] = 1.0
        return found

    @property
    def where(self) -> str:
        """ " of run 'name'" where one is looked at, of several."""
        return f" of run {self.states[self.run.start].name!r}" if self.run.start is not None else ""

    def of_run(self, values: Array, states: Sequence[Prepared] | None = None) -> Array:
        """Numbers of each run (runs, k) in all of its rows, (n, k)."""
        return np.repeat(values, [len(each.t) for each in states or self.states], axis=0)

    def mended(self, states: Sequence[Prepared], delays: Array | None = None) -> Array:
        """Torques (n, nu) at the times of states, of each log."""
        found = self._read(states, [tau for _, tau in self.series], delays)
        return found * self.of_run(self.gains, states) - self.of_run(self.offsets, states)

    def _read(self, states: Sequence[Prepared], values: Sequence[Array], delays: Array | None) -> Array:
        found = []
        every = self.delays + (0.0 if delays is None else delays * self.looked)
        for state, (t, _), own, late in zip(states, self.series, values, every, strict=True):
            found.append(np.stack([np.interp(state.t + d, t, x) for d, x in zip(late, own.T, strict=True)], axis=1))
        return np.concatenate(found)


def _independent(ready: Prepared) -> float:
    """Of noise below a cut-off f, 2 f T numbers are independent."""
    cutoff = ready.settings["torque_cutoff"] or np.inf
    return min(2.0 * cutoff * float(ready.t[-1] - ready.t[0]), float(len(ready.t)))


def _some(ready: Prepared, step: int) -> Prepared:
    """Every so many rows of a prepared log."""
    keys = ("t", "q", "qd", "qdd", "tau", "moving", "rows")
    rows: dict[str, Any] = {key: ready.decimated(getattr(ready, key))[::step] for key in keys}
    return dataclasses.replace(ready, **rows)


class Usual(NamedTuple):
    """Rows that are no bursts of bad torques, and how far these are."""

    moving: NDArray[np.bool_]
    """Moving rows without bursts, (n, nu); the sample's own where there are none."""
    spread: Array
    """Root mean square of each torque's residuals, bursts among them, in usual deviations, (nu,)."""
    usually: Array
    """These deviations, in the torque's unit, (nu,)."""
    worst: int
    """The row that is farthest away."""


def usual(W: Array, y: Array, moving: NDArray[np.bool_], ends: Sequence[int] = ()) -> Usual:
    """Tell bursts of bad torques from what is usual, which they would else decide; ``ends`` of runs, if several.

    Huber's estimate leaves them residuals of many times the usual deviation, beyond those of friction where joints turn
    round.
    """
    trials = Trials(W, moving)
    size, usually = _sizes(trials, W, y, moving, trials.fitted(y).values, ends)
    for _ in range(_ROBUST):
        if size.max(initial=0.0) <= _FAR:
            break
        root = np.sqrt(_HUBER / np.maximum(size, _HUBER))
        values = Trials(W * root[:, :, None], moving).fitted(y * root, passes=1).values
        before, (size, usually) = size, _sizes(trials, W, y, moving, values, ends)
        if np.allclose(np.minimum(size, _FAR), np.minimum(before, _FAR), atol=0.1):
            break
    kept = moving & ((size <= _FAR) | (size.max(axis=0, initial=0.0) <= _BURST))
    kept = np.where(kept.sum(axis=0) > 0.5 * moving.sum(axis=0), kept, moving)
    spread = np.sqrt((size**2).sum(axis=0) / trials.counts)
    return Usual(
        moving if (kept == moving).all() else kept, spread, usually, int(np.argmax(size.max(axis=1, initial=0.0)))
    )


def _sizes(
    trials: Trials, W: Array, y: Array, moving: NDArray[np.bool_], values: Array, ends: Sequence[int]
) -> tuple[Array, Array]:
    """Residuals (n, nu) of moving rows, divided by 1.4826 times the median of each torque's; and that, (nu,).

    In a run, whose rows are between two of ``ends``, by its own median where that is larger: the filter of a short one
    leaves more noise.
    """
    away = np.where(moving, np.abs(y - W @ values), 0.0)
    middle = [np.median(own[at]) if at.any() else 0.0 for own, at in zip(away.T, moving.T, strict=True)]
    levels = trials.levels(y)
    least = 1e-6 * np.maximum(levels, 1e-3 * levels.max()) + 1e-300
    scale = np.broadcast_to(np.array(middle), away.shape).copy()
    for a, b in itertools.pairwise(ends) if len(ends) > 2 else ():
        for j in np.flatnonzero(moving[a:b].any(axis=0)).tolist():
            scale[a:b, j] = max(scale[a, j], np.median(away[a:b, j][moving[a:b, j]]))
    return away / np.maximum(1.4826 * scale, least), np.maximum(1.4826 * np.array(middle), least)


class Fitted(NamedTuple):
    """Weighted least squares: parameters, those of the columns beside them, and what is left of every torque."""

    values: Array
    extra: Array
    sd: Array


class _Joint(NamedTuple):
    """Rows of one joint: which, the columns that are not zero, and their factors."""

    at: NDArray[np.intp]
    used: NDArray[np.intp]
    Q: Array
    R: Array


class Trials:
    """The regressor of every joint as orthogonal and triangular factors, for any torques."""

    def __init__(self, W: Array, moving: NDArray[np.bool_]) -> None:
        _, self.nu, self.p = W.shape
        self.joints: list[_Joint] = []
        for j in range(self.nu):
            at = np.flatnonzero(moving[:, j])
            own = W[at, j]
            used = np.flatnonzero(own.any(axis=0))
            Q, R = np.linalg.qr(own[:, used])
            self.joints.append(_Joint(at, used, Q, R))
        self.counts = np.array([float(max(len(joint.at), 1)) for joint in self.joints])

    def levels(self, y: Array) -> Array:
        """Root mean squares of torques (n, nu) in the rows of their joints, (nu,)."""
        squares = [(y[joint.at, j] ** 2).sum() for j, joint in enumerate(self.joints)]
        return np.asarray(np.sqrt(np.array(squares) / self.counts))

    def alone(self, tau: Array, known: Array) -> Array:
        """Of each joint, the share of each torque's power that its own best parameters leave, (nu, nu)."""
        shares = np.ones((self.nu, self.nu))
        for j, joint in enumerate(self.joints):
            y = tau[joint.at] - known[joint.at, j, None]
            power = (y**2).sum(axis=0)
            left = np.maximum(power - ((joint.Q.T @ y) ** 2).sum(axis=0), 0.0)
            shares[j] = np.divide(left, power, out=np.ones(self.nu), where=power > 0.0)
        return shares

    def own(self, tau: Array, known: Array) -> Array:
        """Root mean square of what its own best parameters leave of each joint's torque, (nu,)."""
        return np.sqrt(self.alone(tau, known).diagonal()) * self.levels(tau - known)

    def _triangles(self, y: Array, beside: Array | None) -> Triangles:
        size = self.p + (0 if beside is None else self.nu)
        factors = np.zeros((self.nu, size + 1, size + 1))
        for j, (at, used, Q, R) in enumerate(self.joints):
            both = y[at, j, None]
            if beside is not None:
                both = np.column_stack([beside[at, j], both])
            inside = Q.T @ both
            left = np.linalg.qr(both - Q @ inside, mode="r")
            columns = np.array([size] if beside is None else [self.p + j, size])
            factors[j][: len(R), used] = R
            factors[j][: len(R), columns] = inside
            factors[j][len(R) : len(R) + len(left), columns] = left
        return Triangles(factors, self.counts)

    def fitted(self, y: Array, sd: Array | None = None, beside: Array | None = None, passes: int = _PASSES) -> Fitted:
        """Fit torques y (n, nu), from standard deviations on; ``beside`` (n, nu) is a column of each joint's own."""
        rows = self._triangles(y, beside)
        least = 1e-9 * max(float(rows.levels.max()), 1e-300)
        sd = np.maximum(rows.levels if sd is None else sd, least)
        for _ in range(passes):
            values = solved(rows.combined(sd)).values
            before, sd = sd, np.maximum(np.sqrt(rows.squares(values) / self.counts), least)
            if np.allclose(sd, before, rtol=_SETTLED, atol=0.0):
                break
        return Fitted(values[: self.p], values[self.p :], sd)

    def step(self, y: Array, beside: Array, sd: Array, at: Array, prior: float) -> Array:
        """How far to go from numbers ``at`` (nu,), one of each joint, whose columns are ``beside`` (n, nu).

        All parameters adapt themselves. The numbers have the deviation ``prior`` from zero: those that parameters take
        up as well stay small.
        """
        factor = self._triangles(y, beside).combined(sd)[self.p : self.p + self.nu, self.p :]
        R, rest = factor[:, :-1], factor[:, -1]
        return np.asarray(np.linalg.solve(R.T @ R + np.eye(self.nu) / prior**2, R.T @ rest - at / prior**2))

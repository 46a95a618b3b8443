"""Some rows of all logs, fitted again and again: with other torques, at other times, with a column more.

The rows of a fit are thinned, and the regressor of every joint is kept as orthogonal and triangular factors, so that
least squares of any torques take a moment.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        self.y = np.concatenate([run.y[::step] for run, step in zip(runs, steps, strict=True)])
        """Torques less what is known beside the columns, (n, nu), behind the filter, as the columns are."""
        self.moving = np.concatenate([run.moving[::step] for run, step in zip(runs, steps, strict=True)])
        self.rates = np.concatenate([each.qd for each in self.states])
        self.independent = self.moving.mean(axis=0) * sum(_independent(each) for each in logs)
        """Rows of each torque that filters leave independent, (nu,)."""
        self.known = self.tau() - self.y

    def moment(self, row: int) -> tuple[str, float]:
        """The log of a row, and its time (s)."""
        for state in self.states:
            if row < len(state.t):
                return state.name, float(state.t[row])
            row -= len(state.t)
        raise IndexError(row)

    def tau(self, delays: Array | None = None) -> Array:
        """Torques (n, nu), those of later times by ``delays`` (nu,) in s."""
        return self._read([tau for _, tau in self.series], delays)

    def slopes(self, delays: Array) -> Array:
        """Derivatives of the torques, likewise."""
        return self._read([np.gradient(tau, t, axis=0) for t, tau in self.series], delays)

    def _read(self, values: Sequence[Array], delays: Array | None) -> Array:
        found = []
        for state, (t, _), own in zip(self.states, self.series, values, strict=True):
            late = np.zeros(own.shape[1]) if delays is None else delays
            found.append(np.stack([np.interp(state.t + d, t, x) for d, x in zip(late, own.T, strict=True)], axis=1))
        return np.concatenate(found)

    def along(self, motion: Callable[[Array], Array]) -> Fitted | None:
        """What is fitted along another motion, which a function makes of q, qd and qdd; None where no robot can be.

        The columns are not behind the filter, for which all rows would be needed: to be compared with each other alone.
        """
        states = [
            dataclasses.replace(each, q=motion(each.q), qd=motion(each.qd), qdd=motion(each.qdd))
            for each in self.states
        ]
        parts = [self.regression.columns_along(each) for each in states]
        W = np.concatenate([W for W, _ in parts])
        if not np.isfinite(W).all():
            return None
        return Trials(W, self.moving).fitted(self.tau() - np.concatenate([known for _, known in parts]))


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
    worst: int
    """The row that is farthest away."""


def usual(sample: Sample) -> Usual:
    """Tell bursts of bad torques from what is usual, which they would else decide.

    Huber's estimate leaves them residuals of many times the usual deviation, beyond those of friction where joints turn
    round.
    """
    W, y, moving = sample.W, sample.y, sample.moving
    trials = Trials(W, moving)
    ends = np.cumsum([0, *(len(state.t) for state in sample.states)]).tolist()
    size = _sizes(trials, W, y, moving, trials.fitted(y).values, ends)
    for _ in range(_ROBUST):
        if size.max(initial=0.0) <= _FAR:
            break
        root = np.sqrt(_HUBER / np.maximum(size, _HUBER))
        values = Trials(W * root[:, :, None], moving).fitted(y * root, passes=1).values
        before, size = size, _sizes(trials, W, y, moving, values, ends)
        if np.allclose(np.minimum(size, _FAR), np.minimum(before, _FAR), atol=0.1):
            break
    kept = moving & ((size <= _FAR) | (size.max(axis=0, initial=0.0) <= _BURST))
    kept = np.where(kept.sum(axis=0) > 0.5 * moving.sum(axis=0), kept, moving)
    spread = np.sqrt((size**2).sum(axis=0) / trials.counts)
    return Usual(moving if (kept == moving).all() else kept, spread, int(np.argmax(size.max(axis=1, initial=0.0))))


def _sizes(trials: Trials, W: Array, y: Array, moving: NDArray[np.bool_], values: Array, ends: Sequence[int]) -> Array:
    """Residuals (n, nu) of moving rows, divided by 1.4826 times the median of each torque's.

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
    return np.asarray(away / np.maximum(1.4826 * scale, least))


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

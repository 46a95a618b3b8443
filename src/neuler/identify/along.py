"""Rows of the logs along another motion than the one that was measured, all behind the filter.

Filters need rows that follow each other: as many as the cut-off allows are left out evenly, and of long logs a stretch
is taken.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.identify.prepared import Prepared
from neuler.identify.rows import moving_rows
from neuler.identify.singular import singular
from neuler.identify.smoothing import lowpass
from neuler.identify.stacked import RANK
from neuler.identify.trials import Fitted, Sample, Trials, usual

Array = NDArray[np.float64]
Motion = Callable[[Array], Array]
_ROWS, _RATIO = 1000, 10.0
"""Rows of all logs, and their rate as a multiple of the cut-off, at least."""


class Along:
    """Columns and torques along any motion that a function makes of the measured one."""

    def __init__(self, sample: Sample, logs: Sequence[Prepared]) -> None:
        self.sample, self.regression = sample, sample.regression
        self.steps = [_step(each) for each in logs]
        most = -(-_ROWS // len(logs))
        self.states = [_stretch(each, step, most) for each, step in zip(logs, self.steps, strict=True)]
        self.moving = np.concatenate([moving_rows(_plain(each), each.tau.shape) for each in self.states])
        self.tau = sample.mended(self.states)
        W, known = self.columns()
        self.fine = bool(np.isfinite(W).all())
        if self.fine:
            self.moving = usual(W, self.tau - known, self.moving).moving

    def columns(self, q: Motion = np.asarray, rates: Motion = np.asarray) -> tuple[Array, Array]:
        """Columns (n, nu, p), and what is known beside them (n, nu), along positions q(q), rates(qd) and rates(qdd)."""
        W, known = self.filtered(
            lambda each: self.regression.columns_along(
                dataclasses.replace(each, q=q(each.q), qd=rates(each.qd), qdd=rates(each.qdd))
            )
        )
        return W, known

    def filtered(self, make: Callable[[Prepared], Sequence[Array]]) -> list[Array]:
        """Arrays with a row for each sample, which a function makes of every run, behind the filter."""
        found = []
        for each, step in zip(self.states, self.steps, strict=True):
            cutoff, order = each.settings["torque_cutoff"] or math.inf, each.settings["order"]
            found.append([lowpass(part, each.rate / step, cutoff, order) for part in make(each)])
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def fitted(
        self, q: Motion = np.asarray, rates: Motion = np.asarray, sd: Array | None = None, passes: int = 8
    ) -> Fitted | None:
        """What is fitted along a motion; None where no robot can move so."""
        W, known = self.columns(q, rates)
        if not np.isfinite(W).all():
            return None
        return Trials(W, self.moving).fitted(self.tau - known, sd, passes=passes)

    def own(self, q: Motion = np.asarray, rates: Motion = np.asarray) -> Array:
        """What separate parameters of every joint leave along a motion, (nu,)."""
        W, known = self.columns(q, rates)
        return Trials(W, self.moving).own(self.tau, known)

    def step(self, W: Array, y: Array, beside: Array, sd: Array, at: Any, prior: float) -> Array:
        """How far to go in directions that change the torques by ``beside`` (n, nu, k), with W x adapting itself, (k,).

        Torques have deviations ``sd`` (nu,), numbers ``at`` (k,) that of ``prior`` from zero: what
        the columns W take up as well stays small.
        """
        weights = np.where(self.moving, 1.0 / sd, 0.0)
        A, B, r = ((x * weights.reshape(weights.shape + (1,) * (x.ndim - 2))).reshape(weights.size, -1) for x in
                   (W, beside, y))  # fmt: skip
        norms = np.linalg.norm(A, axis=0)
        U, s, _ = singular(A[:, norms > 0.0] / norms[norms > 0.0], full=False)
        Q = U[:, s > RANK * s[0]]
        B, r = B - Q @ (Q.T @ B), r - Q @ (Q.T @ r)
        return np.asarray(np.linalg.solve(B.T @ B + np.eye(B.shape[1]) / prior**2, (B.T @ r)[:, 0] - at / prior**2))


def _plain(ready: Prepared) -> Prepared:
    return dataclasses.replace(ready, settings=ready.settings | {"decimate": 1})


def _step(ready: Prepared) -> int:
    cutoff = ready.settings["torque_cutoff"]
    return max(1, int(ready.rate / (_RATIO * cutoff))) if cutoff else 1


def _stretch(ready: Prepared, step: int, most: int) -> Prepared:
    """Every so many rows of the middle of a log."""
    keys = ("t", "q", "qd", "qdd", "tau", "moving", "rows")
    first = max(0, (-(-len(ready.t) // step) - most) // 2)
    return dataclasses.replace(ready, **{key: getattr(ready, key)[::step][first : first + most] for key in keys})

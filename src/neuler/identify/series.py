"""Measured and predicted forces over time, run by run: what pictures and tables of a fit are made of.

All are behind the filter of their run, and at the rows that decimation leaves, as in the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.identify.prepared import Prepared
from neuler.identify.rows import moving_rows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Series:
    """One run: forces (m, nu) at the times t (m,), in N m or N."""

    name: str
    held_out: bool
    """Whether it was kept from the fit."""
    t: Array
    measured: Array
    predicted: Array
    """By the identified robot."""
    given: Array
    """By the robot as it was given."""
    moving: NDArray[np.bool_]
    """Whether a force counts in the fit: its joint moves."""

    @property
    def residual(self) -> Array:
        """Measured minus predicted, (m, nu)."""
        return self.measured - self.predicted


def series_of(ready: Prepared, predicted: Array, *, held_out: bool = False) -> Series:
    """The forces of a run that was prepared, as measured, as ``predicted`` (n, nu), and as the given robot needs them.

    >>> import neuler
    >>> arm, t = neuler.robots.two_link(), np.arange(0.0, 5.0, 0.01)
    >>> q = np.stack([np.sin(2 * t), np.cos(3 * t)], -1)
    >>> qd, qdd = np.stack([2 * np.cos(2 * t), -3 * np.sin(3 * t)], -1), q * [-4, -9]
    >>> ready = neuler.identify.Log(arm, t, q, arm.inverse_dynamics(q, qd, qdd)).prepare(5.0, decimate=2)
    >>> found = series_of(ready, arm.inverse_dynamics(ready.q, ready.qd, ready.qdd))
    >>> found.measured.shape, bool(np.abs(found.residual).max() < 0.02 * np.abs(found.measured).max())
    ((211, 2), True)
    """
    measured, fitted, given = (  # in one order in memory, so that sums are the same after pickling
        np.ascontiguousarray(ready.filter(each))
        for each in (ready.tau, predicted, ready.robot.inverse_dynamics(ready.q, ready.qd, ready.qdd))
    )
    moving = moving_rows(ready, measured.shape)
    return Series(ready.name, held_out, ready.decimated(ready.t), measured, fitted, given, moving)


def rms(values: Array) -> Array:
    """Root mean square of each column, (nu,)."""
    return np.asarray(np.sqrt((values**2).mean(axis=0)))


def autocorrelation(values: Array, lags: int) -> Array:
    """Of a signal (n,) about its mean: r_0 = 1 to r_lags, (lags + 1,); zeros where it is constant.

    >>> autocorrelation(np.array([1.0, -1.0, 1.0, -1.0]), 2).tolist()
    [1.0, -0.75, 0.5]
    """
    e = values - values.mean()
    size = 2 ** int(np.ceil(np.log2(2 * len(e))))
    spectrum = np.fft.rfft(e, size)
    found = np.fft.irfft(spectrum * np.conj(spectrum), size)[: lags + 1]
    return np.asarray(found / found[0]) if found[0] > 0 else np.zeros(lags + 1)


def columns_of(runs: Sequence[Series], forces: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    """All runs one below the other, by the names of columns: run, held_out, t, then measured_, predicted_, given_."""
    found: dict[str, NDArray[np.generic]] = {
        "run": np.concatenate([np.full(len(each.t), each.name) for each in runs]),
        "held_out": np.concatenate([np.full(len(each.t), int(each.held_out)) for each in runs]),
        "t": np.concatenate([each.t for each in runs]),
    }
    for key in ("measured", "predicted", "given"):
        values = np.concatenate([getattr(each, key) for each in runs])
        found |= {f"{key}_{name}": values[:, k] for k, name in enumerate(forces)}
    return found


def arrays_of(runs: Sequence[Series], forces: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    """All runs one below the other as whole arrays: run, held_out and t (n,); measured, predicted, ... (n, nu)."""
    found: dict[str, NDArray[np.generic]] = {
        name: values for name, values in columns_of(runs, forces).items() if name in ("run", "held_out", "t")
    }
    found |= {
        key: np.concatenate([getattr(each, key) for each in runs])
        for key in ("measured", "predicted", "given", "moving")
    }
    return found | {"forces": np.array(list(forces))}

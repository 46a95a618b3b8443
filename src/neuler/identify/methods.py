"""The methods of ``fit``, one function each: from the rows of all runs to an estimate.

Methods of ``BASE`` estimate base parameters, those of ``ALL`` all parameters at once, of real bodies, with a prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify import least_squares
from neuler.identify.bootstrap import resampled
from neuler.identify.consistent import constrained
from neuler.identify.estimate import Estimate, listed
from neuler.identify.instrumental import hausman, instrumental
from neuler.identify.rows import Rows
from neuler.identify.weight import choose_weight

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The rows of all runs, and what is known beside them."""

    names: tuple[str, ...]
    runs: Sequence[Rows]
    prior: Array
    """(p,), NaN where there is none."""
    lower: Mapping[str, float]
    prior_sd: float
    instruments: Any = None
    """(N, nu, p), or a function of the last estimate that returns them."""

    @cached_property
    def W(self) -> Array:
        """Columns of all runs, one below the other, (N, nu, p)."""
        return self.runs[0].W if len(self.runs) == 1 else np.concatenate([run.W for run in self.runs])

    @cached_property
    def y(self) -> Array:
        """Forces of all runs, less what is known, (N, nu)."""
        return np.concatenate([run.y for run in self.runs])

    @cached_property
    def weights(self) -> Array:
        """Weights of squared residuals, (N, nu); zero where a joint rests."""
        return np.concatenate([run.weight * run.moving for run in self.runs])


@dataclass(frozen=True, eq=False)
class Found:
    """An estimate, what to know of it, and what was chosen."""

    estimate: Estimate
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def _least_squares(name: str) -> Callable[[RegressionData], Found]:
    def method(data: RegressionData) -> Found:
        call = getattr(least_squares, name)
        return Found(call(data.W, data.y, data.names, weights=data.weights))

    return method


def _bootstrap(data: RegressionData) -> Found:
    W, y, weights = data.W, data.y, data.weights
    estimate = resampled(least_squares.weighted(W, y, data.names, weights=weights), W, y, weights=weights)
    return Found(estimate, (), {"resamples": len(estimate.resamples), "block": estimate.block})


def _instrumental(data: RegressionData) -> Found:
    """Instrumental variables, and the test whether they were needed."""
    if data.instruments is None:
        raise InputError(
            "fit: method 'instrumental' needs instruments: a log of the same motion, run again, for each log "
            "(instruments=), whose noise is another; or the controller, by which the motion is simulated (controller=)"
        )
    W, y, weights, Z = data.W, data.y, data.weights, data.instruments
    plain = least_squares.weighted(W, y, data.names, weights=weights)
    estimate = instrumental(W, y, Z, data.names, weights=weights, lag=plain.lag)
    test = hausman(plain, estimate)
    if test.biased:
        says = f"weighted least squares is biased (Durbin-Wu-Hausman, p = {test.p_value:.2g})"
        note = says + (f", most in {listed(test.columns)}" if test.columns else "")
    else:
        note = (
            f"no bias of weighted least squares was found (Durbin-Wu-Hausman, p = {test.p_value:.2g}), which spreads "
            "less: use method='weighted'"
        )
    settings = {"hausman": {"statistic": test.statistic, "p_value": test.p_value, "columns": list(test.columns)}}
    return Found(estimate, (note,), settings)


def _consistent(data: RegressionData) -> Found:
    W, y, names, weights = data.W, data.y, data.names, data.weights
    chosen = choose_weight(W, y, names, data.prior, lower=data.lower, weights=weights)
    estimate = constrained(W, y, names, prior=data.prior, weight=chosen.weight, lower=data.lower, weights=weights)
    return Found(estimate, tuple(_drawn(estimate, chosen.force_sd)), {"weight": chosen.weight})


def _bayesian(data: RegressionData) -> Found:
    """The posterior mode under an entropic prior about the given robot, of relative standard deviation ``prior_sd``.

    Residuals that are correlated in time hold less than their number says: the prior counts by as much more as robust
    variances of least squares exceed the classical ones.
    """
    W, y, names, weights = data.W, data.y, data.names, data.weights
    plain = least_squares.weighted(W, y, names, weights=weights, undetermined="report")
    known = np.isfinite(np.diag(plain.covariance)) & (np.diag(plain.classical) > 0)
    ratio = np.diag(plain.covariance)[known] / np.diag(plain.classical)[known]
    inflation = max(1.0, float(np.median(ratio))) if len(ratio) else 1.0
    weight = inflation / (float(np.count_nonzero(weights)) * data.prior_sd**2)
    try:
        estimate = constrained(
            W, y, names, prior=data.prior, weight=weight, metric="entropic", lower=data.lower, weights=weights
        )
    except InputError as error:
        raise InputError(
            f"fit: the solver finds nothing with prior_sd={data.prior_sd:g}, which lets the prior count {weight:.2g} "
            f"times as much as the measurements ({error}); give another prior_sd"
        ) from None
    least = np.maximum(plain.force_sd, 1e-3 * np.sqrt((y**2).mean(axis=0)))
    notes = _drawn(estimate, least, f", or give a prior_sd above {data.prior_sd:g}")
    return Found(estimate, tuple(notes), {"weight": weight, "prior_sd": data.prior_sd, "inflation": inflation})


def _drawn(estimate: Estimate, least: Array, more: str = "") -> list[str]:
    """What to say where an estimate explains the forces much worse than the ``least`` deviations without a prior."""
    times = float((estimate.force_sd / np.maximum(least, 1e-300)).max())
    if times <= WORSE:
        return []
    return [
        f"the given robot draws the estimate away from what was measured: errors are up to {times:.3g} times those of "
        f"least squares; use method='weighted', begin with masses nearer to the real ones{more}"
    ]


WORSE = 1.5
"""Times the errors of an estimate, from which on one that real bodies or a prior allow is no more the same."""
BASE: dict[str, Callable[[RegressionData], Found]] = {
    "weighted": _least_squares("weighted"),
    "ordinary": _least_squares("ordinary"),
    "reweighted": _least_squares("reweighted"),
    "bootstrap": _bootstrap,
    "instrumental": _instrumental,
}
CLOSED = ("didim", "input_error", "output_error")
"""Methods that simulate the closed loop (``closed_loop.py``); they estimate base parameters, too."""
ALL: dict[str, Callable[[RegressionData], Found]] = {"consistent": _consistent, "bayesian": _bayesian}

"""Uncertainty by resampling: the moving-block bootstrap over samples.

Blocks of neighbouring samples, long enough to contain what is correlated, are drawn with replacement until they are as
many samples as the log has, and the parameters are estimated again (Kuensch 1989). In coordinates z in which the
regressor Q is orthonormal, a resample needs only sums of the blocks' cross products,

    z* = (sum_b Q_b^T Q_b)^-1  sum_b Q_b^T e_b,        x* = x + root z*,

so that a thousand resamples are two matrix products and a batch of small solves.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> W = rng.normal(size=(400, 1, 2))
>>> y = W @ [1.0, 2.0] + 0.1 * rng.normal(size=(400, 1))
>>> found = bootstrap(W, y, ["a", "b"], seed=1)
>>> found.resamples.shape, found.sd.round(3).tolist()
((1000, 2), [0.005, 0.004])
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.correlation import automatic_lag, equivalent_freedom, windows
from neuler.identify.estimate import Estimate
from neuler.identify.least_squares import Undetermined, force_deviations
from neuler.identify.stacked import Stacked, solved
from neuler.inputs import number, whole

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Parameters of every resample, (resamples, p), around the ``values`` (p,) of weighted least squares."""

    names: tuple[str, ...]
    values: Array
    resamples: Array
    block: int
    """Samples of a block."""
    freedom: Array
    """Degrees of freedom of each standard deviation, (p,): resamples of few blocks vary too little."""

    @property
    def sd(self) -> Array:
        """Standard deviations, (p,)."""
        return self.resamples.std(axis=0, ddof=1)

    def interval(self, level: float = 0.95) -> Array:
        """Percentiles of the resamples, (p, 2), expanded for few blocks as t intervals are (Hesterberg 2015)."""
        level = number("interval: level", level, above=0.0)
        if level >= 1:
            raise InputError(f"interval: level must be below 1, such as 0.95, got {level}")
        from scipy.special import ndtr, stdtrit

        tails = ndtr(stdtrit(self.freedom, 0.5 - level / 2))
        columns = zip(self.resamples.T, tails, strict=True)
        return np.array([np.quantile(column, [tail, 1 - tail]) for column, tail in columns])


@dataclass(frozen=True, eq=False)
class ResampledEstimate(Estimate):
    """An estimate whose uncertainty is that of resamples, (resamples, p), of blocks of neighbouring samples."""

    resamples: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    block: int = 1

    def interval(self, level: float = 0.95) -> Array:
        """Percentiles of the resamples, (p, 2), as those of :class:`Bootstrap`."""
        return Bootstrap(self.names, self.values, self.resamples, self.block, self.freedom).interval(level)


def resampled(estimate: Estimate, W: Any, y: Any, **options: Any) -> ResampledEstimate:
    """An estimate by weighted least squares with the uncertainty of :func:`bootstrap`, whose ``options`` are taken."""
    found = bootstrap(W, y, estimate.names, **options)
    fields = {each.name: getattr(estimate, each.name) for each in dataclasses.fields(Estimate)}
    fields |= {"method": "bootstrap", "covariance": np.cov(found.resamples.T, ddof=1).reshape(len(found.values), -1)}
    fields |= {"freedom": found.freedom, "influences": np.zeros((0, len(found.values)))}
    return ResampledEstimate(**fields, resamples=found.resamples, block=found.block)


def bootstrap(
    W: Any,
    y: Any,
    names: Iterable[str] | None = None,
    *,
    resamples: int = 1000,
    block: int | None = None,
    weights: Any = None,
    seed: int = 0,
) -> Bootstrap:
    """Resamples of weighted least squares; the standard deviations of the forces are those of the whole log.

    ``W`` (N, nu, p), ``y`` (N, nu), ``weights`` as for ``ordinary``. ``block`` is the number of samples of a block, by
    default chosen from the correlation of the residuals; a log must have ten blocks at least. Equal seeds give equal
    results.
    """
    data = Stacked.checked("bootstrap", W, y, names, weights)
    resamples = whole("bootstrap: resamples", resamples, 10)
    n = len(data.y)
    if block is not None and whole("bootstrap: block", block, 1) > n // 10:
        raise InputError(
            f"bootstrap: a block of {block} samples leaves less than ten blocks of {n} samples; shorten it"
        )
    reduced = data.triangles()
    sd, _, _ = force_deviations(reduced)
    found = solved(reduced.combined(sd))
    if found.free.any():
        missing = tuple(name for name, free in zip(data.names, found.free, strict=True) if free)
        raise Undetermined(data, missing, found.rank, "")
    scores = data.scores(data.W, data.residuals(found.values), sd) @ found.root
    size, wide = windows(n, block or min(automatic_lag(scores), max(1, n // 10)))
    count, r = -(-n // size), scores.shape[1]
    h = np.concatenate([scores, np.zeros((count * size - n, r))]).reshape(count, size, r).sum(axis=1)
    leverages = data.leverages(data.W, found.root, sd, size)
    freedom = equivalent_freedom(((found.root @ leverages) * found.root).sum(axis=2), wide)
    G = leverages.reshape(count, r * r)
    rng = np.random.default_rng(whole("bootstrap: seed", seed, 0))
    starts = rng.integers(0, count - wide + 1, size=(resamples, -(-count // wide)))
    drawn = np.zeros((resamples, count))  # how often each chunk occurs in each resample
    for k in range(wide):
        np.add.at(drawn, (np.arange(resamples)[:, None], starts + k), 1.0)
    moved = np.linalg.solve((drawn @ G).reshape(-1, r, r) + 1e-12 * np.eye(r), (drawn @ h)[..., None])[..., 0]
    blocks = max(2, -(-count // wide))
    moved *= np.sqrt(blocks / (blocks - 1))  # what is drawn from so many blocks varies less than they do
    return Bootstrap(data.names, found.values, found.values + moved @ found.root.T, size * wide, freedom)

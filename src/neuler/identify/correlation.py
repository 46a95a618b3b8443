"""Correlated residuals: tests that detect them, and covariances that remain valid with them.

Filtering makes the residuals of neighbouring samples alike. Least squares then has fewer independent rows than it
counts, and its usual standard deviations are too small. Newey and West (1987) sum the covariance of the estimate's
influences psi_t over lags instead, with weights that fall linearly to zero at ``lag`` (the Bartlett kernel):

    C = sum_k (1 - |k| / lag) sum_t psi_t psi_{t+k}^T,

which is the mean outer product of the influences' moving sums over ``lag`` samples. Residuals are smaller than errors,
most of all where a few samples determine a parameter. Each moving sum is therefore multiplied by (1 - H)^(-1/2), where
H is the leverage of its samples (Bell and McCaffrey 2002, there for clusters): without it, intervals of 95 % cover 89 %
for a robot of six joints and 10 s of motion filtered at a tenth of the sampling rate; with it, 93 to 95 %. The lag is
chosen from the influences themselves (Andrews 1991, first-order autoregressions). A variance that few windows decide is
itself uncertain: each value has degrees of freedom of its own.

>>> import numpy as np
>>> e = np.random.default_rng(1).normal(size=500)
>>> bool(ljung_box(e[:, None]).correlated), bool(ljung_box(np.cumsum(e)[:, None]).correlated)
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require

Array = NDArray[np.float64]
LEVEL = 0.001
"""Probability below which residuals are called correlated: of white ones, one log in a thousand is."""
_CHUNKS = 400
"""Chunks of samples that are summed at most."""
_SMALL, _MOST = 0.3, 0.999
"""Norm of a leverage up to which eight terms of the series are enough (1e-4), and the largest leverage."""


@dataclass(frozen=True)
class LjungBox:
    """Test of Ljung and Box (1978) that no autocorrelation up to ``lags`` differs from zero, of each force.

    ``statistic`` and ``p_value`` are (nu,); ``first`` is the autocorrelation of neighbouring samples, (nu,).
    """

    statistic: Array
    p_value: Array
    first: Array
    lags: int

    @property
    def correlated(self) -> bool:
        """Whether some force has correlated residuals: a probability below ``LEVEL``, shared among the forces."""
        return bool((self.p_value * len(self.p_value) < LEVEL).any())


def ljung_box(residuals: Array, lags: int | None = None) -> LjungBox:
    """Q = n (n + 2) sum_k r_k^2 / (n - k), chi-squared with ``lags`` degrees of freedom if residuals are white.

    ``residuals`` are (N, nu); ``lags`` is at most 20 by default. A force whose residuals are all zero passes.
    """
    require("scipy", "ljung_box: probabilities are computed by SciPy", "identify")
    from scipy.special import chdtrc

    n = len(residuals)
    lags = lags or max(1, min(20, n // 5))
    e = residuals - residuals.mean(axis=0)
    power = (e**2).sum(axis=0)
    r = np.array([(e[k:] * e[: n - k]).sum(axis=0) for k in range(1, lags + 1)]) / np.where(power > 0, power, 1.0)
    statistic = n * (n + 2) * (r**2 / (n - np.arange(1, lags + 1))[:, None]).sum(axis=0)
    return LjungBox(statistic, np.asarray(chdtrc(lags, statistic)), r[0], lags)


def automatic_lag(influences: Array) -> int:
    """Lag of the Bartlett kernel, 1 (no correlation) or more, from influences (N, p) (Andrews 1991, (6.4))."""
    n = len(influences)
    power = np.einsum("tk,tk->k", influences, influences)
    used = power > 0
    if n < 4 or not used.any():
        return 1
    rho = np.einsum("tk,tk->k", influences[1:], influences[:-1])[used] / power[used]
    rho = np.clip(rho, 0.0, 0.98)
    alpha = np.sum(4 * rho**2 / ((1 - rho) ** 6 * (1 + rho) ** 2)) / np.sum(1 / (1 - rho) ** 4)
    return int(np.clip(np.ceil(1.1447 * (alpha * n) ** (1 / 3)), 1, max(1, n // 8)))


def windows(samples: int, lag: int) -> tuple[int, int]:
    """Samples of a chunk and chunks of a window, so that windows of about ``lag`` samples are few enough to compute."""
    size = max(-(-lag // 4), -(-samples // _CHUNKS))
    return size, -(-lag // size)


def moving_sums(scores: Array, leverages: Array, size: int, wide: int) -> Array:
    """Sums of scores (N, r) over windows of ``wide`` chunks of ``size`` samples, corrected for leverage, (K, r).

    ``leverages`` (chunks, r, r) are those of the chunks. They are divided by sqrt(wide), so that the covariance is
    the sum of their outer products. Newey and West's estimate has ``size`` 1 and no leverages.
    """
    n, r = scores.shape
    short = -n % size
    h = np.concatenate([scores, np.zeros((short, r))]).reshape(-1, size, r).sum(axis=1)
    return _enlarged(_moving(leverages, wide), _moving(h, wide)) / np.sqrt(wide)


def _moving(x: Array, wide: int) -> Array:
    """Sums over ``wide`` neighbours, also those that begin before the first or end after the last one."""
    zeros = np.zeros((wide - 1, *x.shape[1:]))
    padded = np.concatenate([zeros, x, zeros])
    return sum((padded[k : len(padded) - wide + 1 + k] for k in range(wide)), np.zeros(()))


def _enlarged(H: Array, h: Array) -> Array:
    """(1 - H)^(-1/2) h of every window: a binomial series where H is small, else by eigenvalues."""
    term, found = h[..., None], h[..., None].copy()
    for k in range(1, 8):
        term = (2 * k - 1) / (2 * k) * (H @ term)
        found += term
    large = np.flatnonzero(np.linalg.norm(H, axis=(1, 2)) > _SMALL)
    if len(large):
        w, V = np.linalg.eigh(H[large])
        inner = np.swapaxes(V, 1, 2) @ h[large, :, None]
        found[large] = V @ (inner / np.sqrt(1 - np.clip(w, 0.0, _MOST))[..., None])
    return found[..., 0]


def equivalent_freedom(shares: Array, wide: int) -> Array:
    """Degrees of freedom of variances (p,): their spread is that of a chi-squared of so many (Satterthwaite 1946).

    ``shares`` (chunks, p) are what each chunk of samples adds to the variances of the p values. With moving sums over
    ``wide`` chunks, whose covariances are the shares of the chunks that they have in common,

        (sum_w cov_ww)^2 / sum_vw cov_vw^2.

    Of n chunks that count alike it is about 1.5 n / wide; a value that a few of them decide has less, as Bell and
    McCaffrey (2002) found for clusters.

    >>> equivalent_freedom(np.ones((400, 1)), 8).round(1).tolist(), equivalent_freedom(np.eye(9)[:, :1], 1).tolist()
    ([74.8], [1.0])
    """
    beyond = np.zeros((wide, shares.shape[1]))
    sums = np.cumsum(np.concatenate([beyond, shares, beyond[1:]]), axis=0)
    count = len(shares) + wide - 1
    squares = np.zeros(shares.shape[1])
    for apart in range(wide):  # windows that begin so many chunks apart
        common = sums[wide : wide + count - apart] - sums[apart:count]
        squares += (2.0 if apart else 1.0) * (common**2).sum(axis=0)
    whole = wide * shares.sum(axis=0)
    return np.maximum(1.0, np.divide(whole**2, squares, out=np.ones_like(whole), where=squares > 0))

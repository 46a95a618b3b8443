"""What makes an experiment good: smooth functions of its information matrix, with exact derivatives.

M = sum of Y^T S Y over all samples is the information matrix: its inverse is the covariance of least squares. With
D = diag M, R = D^-1/2 M D^-1/2 is that of the column-scaled regressor, and the square root of the ratio of the largest
to the least eigenvalue of R its condition number. A criterion is

f(M) = c log kappa_s(R) - i (log det M) / p,    kappa_s(R)^2 = |l|_s |1/l|_s

of the eigenvalues l of R; |.|_s is the s-norm, so that kappa_s is above the condition number and tends to it as s
grows. log det M = log det R + sum of log D does not depend on the units of parameters but for a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ALIKE = 1e-9
"""Of the largest eigenvalue: how near to each other two are the same."""
LEAST = 1e-14
"""Of the largest eigenvalue: what the least one counts for at least, so that logarithms exist."""


class Judged(NamedTuple):
    """A criterion at an information matrix: its value, its gradient and its second derivative."""

    value: float
    gradient: Array
    """df/dM, (p, p), symmetric: the change is the sum over df/dM * dM."""
    second: Callable[[Array], Array]
    """From changes of M, (k, p, p), to the second derivatives along each two of them, (k, k)."""


@dataclass(frozen=True)
class Criterion:
    """Weights of the condition number and of the information, and the exponent s of the smoothed condition number."""

    condition: float = 0.0
    information: float = 1.0
    exponent: float = 4.0

    def __call__(self, M: Array) -> Judged:
        """The criterion at an information matrix M (p, p), positive definite.

        >>> float(round(Criterion(1.0, 0.0, 8.0)(np.diag([1.0, 100.0])).value, 3))  # scaled columns: both alike
        0.087
        """
        size, p = np.sqrt(np.diag(M)), len(M)
        R = M / np.outer(size, size)
        values, U = np.linalg.eigh(R)
        values = np.maximum(values, LEAST * values[-1])
        value, slope, bend = self._of_eigenvalues(values)
        value -= 2.0 * self.information / p * float(np.log(size).sum())
        in_R = (U * slope) @ U.T
        rows = (in_R * R).sum(axis=1)
        gradient = in_R / np.outer(size, size) - np.diag((rows + self.information / p) / size**2)

        def second(changes: Array) -> Array:
            moved = changes / np.outer(size, size)
            share = np.einsum("kii->ki", moved)
            turned = U.T @ (moved - 0.5 * (share[:, :, None] + share[:, None, :]) * R) @ U
            flat = turned.reshape(len(turned), -1)
            along = np.einsum("kii->ki", turned)
            pulled = (in_R * moved).sum(axis=2) @ share.T
            found = (flat * _divided(values, slope, bend).ravel()) @ flat.T + along @ bend @ along.T
            found += share @ (1.5 * np.diag(rows) + 0.5 * in_R * R + self.information / p * np.eye(p)) @ share.T
            return np.asarray(found - pulled - pulled.T)

        return Judged(value, gradient, second)

    def _of_eigenvalues(self, x: Array) -> tuple[float, Array, Array]:
        """The part that depends on eigenvalues, its gradient and its second derivatives."""
        s, c, i = self.exponent, 0.5 * self.condition, self.information / len(x)
        high, low = (x / x[-1]) ** s, (x / x[0]) ** -s
        a, b = high / high.sum(), low / low.sum()
        value = c * (np.log(x[-1] / x[0]) + (np.log(high.sum()) + np.log(low.sum())) / s) - i * np.log(x).sum()
        slope = (c * (a - b) - i) / x
        bend = c * (np.diag((s - 1.0) * a + (s + 1.0) * b) - s * (np.outer(a, a) + np.outer(b, b)))
        return float(value), slope, (bend + i * np.eye(len(x))) / np.outer(x, x)


def _divided(values: Array, slope: Array, bend: Array) -> Array:
    """(slope_i - slope_j) / (value_i - value_j), its limit where both are alike, and zero on the diagonal."""
    apart = values[:, None] - values
    alike = np.abs(apart) <= ALIKE * values[-1]
    limit = np.diag(bend)[:, None] - bend
    found = np.where(alike, limit, (slope[:, None] - slope) / np.where(alike, 1.0, apart))
    np.fill_diagonal(found, 0.0)
    return found


def condition_of(M: Array) -> tuple[float, float, float]:
    """The condition number of the column-scaled regressor, the plain one, and log det of an information matrix.

    Infinite, and minus infinity, where it is singular.
    """
    size = np.sqrt(np.diag(M))
    if not (size > 0.0).all():
        return np.inf, np.inf, -np.inf
    scaled, plain = (np.asarray(np.linalg.eigvalsh(x), dtype=float) for x in (M / np.outer(size, size), M))
    log_det = float(np.log(np.maximum(scaled, 0.0)).sum() + 2.0 * np.log(size).sum()) if scaled[0] > 0.0 else -np.inf
    return _root(scaled), _root(plain), log_det


def _root(values: Array) -> float:
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf

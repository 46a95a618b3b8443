"""What an estimator returns: values with their uncertainty, how well they are determined, and what to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.extras import require
from neuler.identify.correlation import LjungBox
from neuler.inputs import number

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters x of y_t = W_t x + e_t, in the order and units of the columns of W.

    ``rms`` (nu,) is the root mean square of the residuals of each force, in its unit, and ``force_sd`` the standard
    deviation by which its rows were divided. A column in ``undetermined`` has no unique value: its standard deviation
    is infinite, and only the products W x mean something.
    """

    method: str
    names: tuple[str, ...]
    values: Array
    covariance: Array
    """(p, p), valid for correlated residuals if ``lag`` is above 1."""
    rms: Array
    force_sd: Array
    condition: float
    scaled_condition: float
    """Condition number with every column divided by its norm, of the directions that the data determines: it does not
    depend on units."""
    rank: int
    undetermined: tuple[str, ...]
    samples: int
    freedom: Array
    """Degrees of freedom of each standard deviation, (p,): those that few stretches of the log decide have few."""
    lag: int
    correlation: LjungBox
    iterations: int = 1
    converged: bool = True
    notes: tuple[str, ...] = ()
    influences: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """(K, p): what windows of ``lag`` samples add to the error of ``values``, to first order; the covariance is the sum
    of their outer products."""
    classical: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """(p, p): the covariance if residuals are not correlated, whichever ``covariance`` is; it has full rank."""

    @property
    def sd(self) -> Array:
        """Standard deviations, (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_sd(self) -> Array:
        """Standard deviations in % of the absolute values, (p,); infinite where a value is zero."""
        size = np.abs(self.values)
        return np.where(size > 0, 100 * self.sd / np.where(size > 0, size, 1.0), np.inf)

    def interval(self, level: float = 0.95) -> Array:
        """Confidence intervals (p, 2) by Student's t distributions with ``freedom`` degrees of freedom.

        >>> from neuler.identify.least_squares import ordinary
        >>> W = np.ones((9, 1, 1))
        >>> ordinary(W, np.arange(9.0)[:, None], covariance="classical").interval().round(3).tolist()
        [[1.895, 6.105]]
        """
        level = number("interval: level", level, above=0.0)
        if level >= 1:
            raise InputError(f"interval: level must be below 1, such as 0.95, got {level}")
        require("scipy", "interval: Student's t distribution is computed by SciPy", "identify")
        from scipy.special import stdtrit

        half = stdtrit(self.freedom, 0.5 + level / 2) * self.sd
        return np.stack([self.values - half, self.values + half], axis=1)

    def predict(self, W: Array) -> Array:
        """Forces W x, (..., nu), of regressors (..., nu, p)."""
        return np.asarray(W) @ self.values

    def index(self, name: str) -> int:
        """The position of a column, by its name."""
        if name not in self.names:
            raise InputError(f"estimate: no column {name!r}; there are {', '.join(self.names[:8])}, ...")
        return self.names.index(name)

    def __str__(self) -> str:
        rows = zip(self.names, self.values, self.sd, self.relative_sd, strict=True)
        width = max(len(name) for name in self.names)
        lines = [f"{name:<{width}}  {x: .6g}  +- {sd:.2g}  ({rel:.2g} %)" for name, x, sd, rel in rows]
        head = (
            f"{self.method}: {len(self.names)} columns, rank {self.rank}, scaled condition {self.scaled_condition:.3g}"
        )
        return "\n".join([head, *lines, *self.notes])


def spread_over(covariance: Array, free: NDArray[np.bool_]) -> Array:
    """A covariance with infinite variances, and no covariances (NaN), of the columns that are not determined."""
    found = np.array((covariance + covariance.T) / 2)
    found[free, :] = np.nan
    found[:, free] = np.nan
    found[free, free] = np.inf
    return found


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names for a message, shortened."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more

"""Instrumental variables: estimates without bias where the regressor itself is noisy.

Least squares is biased when noise of measured positions enters the regressor W, because W and the residuals are then
correlated. Instruments Z, (N, nu, p), are correlated with W but not with the noise: the regressor of a motion that was
simulated with the last estimate, along the same reference (Janot, Vandanjon and Gautier 2014). Then

    x = (Z^T W)^-1 Z^T y,

computed in two stages by orthogonal transformations: W is projected on Z, and y is regressed on the projection. Rows of
each force are divided by its standard deviation.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> Z = rng.normal(size=(4000, 1, 1))
>>> W, y = Z + rng.normal(size=Z.shape), 2 * Z[..., 0] + 0.1 * rng.normal(size=(4000, 1))
>>> from neuler.identify.least_squares import ordinary
>>> least = ordinary(W, y)
>>> iv = instrumental(W, y, Z, lag=least.lag)
>>> least.values.round(1).item(), iv.values.round(1).item(), hausman(least, iv).biased
(1.0, 2.0, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.extras import require
from neuler.identify.estimate import Estimate, listed
from neuler.identify.least_squares import Options, Undetermined, assembled, force_deviations
from neuler.identify.singular import singular, singular_values
from neuler.identify.stacked import RANK, Solution, Stacked, Triangles, regressor, solved, triangle
from neuler.inputs import array, number, whole

Array = NDArray[np.float64]
BIASED = 0.05
"""Probability below which ``hausman`` says that least squares is biased."""
WEAK = 0.1
"""Part of a column of W, in the direction that is worst, which instruments must explain at least."""


def instrumental(
    W: Any,
    y: Any,
    Z: Any,
    names: Iterable[str] | None = None,
    *,
    force_sd: Any = None,
    weights: Any = None,
    covariance: str = "robust",
    lag: int | None = None,
    undetermined: str = "refuse",
    tolerance: float = 0.01,
    passes: int = 20,
) -> Estimate:
    """Instrumental variables with instruments ``Z`` (N, nu, p) or more columns, or a function of the last estimate.

    A function Z is called with the estimate x (p,), first that of weighted least squares, and returns instruments,
    until no value changes by more than ``tolerance`` standard deviations. ``force_sd`` (nu,) are standard deviations
    of the forces, by default those of the residuals of each pass. Other arguments are those of ``ordinary``.
    Instruments that explain less than a tenth of W in some direction are mentioned in the notes: the estimate is then
    spread widely and not normal.
    """
    data = Stacked.checked("instrumental", W, y, names, weights)
    options = Options("instrumental", covariance, lag, undetermined)
    tolerance = number("instrumental: tolerance", tolerance, above=0.0)
    passes = whole("instrumental: passes", passes, 1)
    given = None if force_sd is None else _deviations(force_sd, data.y.shape[1])
    reduced = data.triangles()
    sd = force_deviations(reduced)[0] if given is None else given
    start = solved(reduced.combined(sd))
    values, spread = start.values, np.linalg.norm(start.root, axis=1)
    changing: Callable[[Array], Any] | None = Z if callable(Z) else None
    count, converged = 0, False
    stages = None if changing is not None else _Stages(data, Z)
    while count < passes and not converged:
        count += 1
        if changing is not None:
            stages = _Stages(data, changing(values.copy()))
        assert stages is not None
        found, last = stages.solved(sd), values
        values, before = found.values, sd
        if given is None:
            left = np.maximum(reduced.rows - found.rank / len(sd), 1.0)
            sd = np.maximum(np.sqrt(reduced.squares(values) / left), reduced.least(1e-9))
        spread = np.linalg.norm(found.root, axis=1)
        small = np.abs(values - last) <= tolerance * spread + 1e-12 * np.abs(values)
        converged = bool(small.all()) and bool(np.allclose(sd, before, rtol=0.01))
        if changing is None and given is not None:
            converged = True
    assert stages is not None
    found = stages.solved(sd)
    missing = tuple(name for name, free in zip(data.names, found.free, strict=True) if free)
    if missing and options.undetermined == "refuse":
        raise Undetermined(data, missing, found.rank)
    notes = [f"not determined by these rows: {listed(missing)}"] * bool(missing)
    if (strength := stages.strength(sd)) < WEAK:
        notes.append(
            f"the instruments are weak: they explain {100 * strength:.2g} % of the regressor in some direction"
        )
    residuals = data.residuals(found.values)
    parts = (stages.Z @ stages.first(sd), residuals, residuals)
    return assembled(options, data, found, found.root, parts, sd, missing, count, converged, notes)


class _Stages:
    """The factors of (Z, W, y), and the projection of W on Z, which is Z times ``first``."""

    def __init__(self, data: Stacked, Z: Any) -> None:
        self.Z = regressor("instrumental", "Z", Z)
        n, nu, p = data.W.shape
        if self.Z.shape[:2] != (n, nu) or self.Z.shape[2] < p:
            raise InputError(
                f"instrumental: Z must have shape ({n}, {nu}, {p}) or more columns, as many samples and forces as W, "
                f"got {self.Z.shape}"
            )
        both = Stacked("instrumental", data.names, np.concatenate([self.Z, data.W], axis=2), data.y, data.root)
        self.reduced: Triangles = both.triangles()
        self.size = self.Z.shape[2]

    def _projected(self, sd: Array) -> tuple[Array, Array]:
        """The factor of (Z, W, y), and an orthonormal basis of the columns of Z in it."""
        factor = self.reduced.combined(sd)
        Z = factor[:, : self.size]
        norms = np.linalg.norm(Z, axis=0)
        U, s, _ = singular(Z / np.where(norms > 0, norms, 1.0), full=False)
        return factor, U[:, s > RANK * s[0]]

    def solved(self, sd: Array) -> Solution:
        """Least squares of y on the projection of W on Z."""
        factor, U = self._projected(sd)
        held = triangle(np.array(U.T @ factor[:, self.size :], order="F"))
        square = np.zeros((held.shape[1], held.shape[1]))
        square[: len(held)] = held
        return solved(square)

    def first(self, sd: Array) -> Array:
        """Coefficients (columns of Z, p) of the projection of W on Z."""
        factor = self.reduced.combined(sd)
        U, s, Vt = singular(factor[:, : self.size], full=False)
        kept = s > 1e-12 * s[0]
        return np.asarray(Vt[kept].T @ (U[:, kept].T @ factor[:, self.size : -1] / s[kept, None]))

    def strength(self, sd: Array) -> float:
        """Least ratio, over all combinations of columns, of the norms of the projection of W and of W."""
        factor, U = self._projected(sd)
        W = factor[:, self.size : -1]
        norms = np.linalg.norm(W, axis=0)
        Q, s, _ = singular(W / np.where(norms > 0, norms, 1.0), full=False)
        return float(singular_values(U.T @ Q[:, s > RANK * s[0]])[-1])


def _deviations(value: Any, size: int) -> Array:
    found = array("instrumental", "force_sd", value, (size,))
    if found.shape != (size,) or not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(f"instrumental: force_sd must be {size} standard deviations above zero, got {found.tolist()}")
    return found


# ---- was least squares biased? -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hausman:
    """Test of Durbin, Wu and Hausman that two estimates differ by chance alone.

    ``statistic`` is d^T V^-1 d of the difference d with covariance V, and ``p_value`` that of an F distribution; where
    the log is too short for all columns together, the statistic is the largest squared ratio of a difference to its
    standard deviation, and the probability is multiplied by the number of columns (Bonferroni).
    """

    statistic: float
    p_value: float
    columns: tuple[str, ...]
    """Those whose own difference is beyond chance, worst first."""

    @property
    def biased(self) -> bool:
        """Whether least squares is biased: a probability below 5 %."""
        return self.p_value < BIASED


def hausman(least_squares: Estimate, iv: Estimate) -> Hausman:
    """Compares an estimate by least squares with one by instrumental variables of the same rows.

    The covariance of their difference is computed from their influences, so that it holds for correlated residuals.
    Both must have ``covariance="robust"`` and the same ``lag``: give the first one's lag to the second.
    """
    require("scipy", "hausman: probabilities are computed by SciPy", "identify")
    from scipy.special import fdtrc, stdtr

    if least_squares.names != iv.names or least_squares.samples != iv.samples:
        raise InputError("hausman: the estimates must have the same columns and samples")
    if not len(iv.influences) or least_squares.influences.shape != iv.influences.shape:
        raise InputError(
            'hausman: both estimates need covariance="robust" and the same lag: call '
            f"instrumental(..., lag={least_squares.lag})"
        )
    d, psi = iv.values - least_squares.values, iv.influences - least_squares.influences
    sd = np.sqrt((psi**2).sum(axis=0))
    used = sd > 1e-8 * iv.sd
    each = np.minimum(least_squares.freedom, iv.freedom)
    freedom = float(np.median(each))
    t = np.where(used, d / np.where(used, sd, 1.0), 0.0)
    own = 2 * stdtr(each, -np.abs(t)) * max(1, int(used.sum()))
    columns = tuple(iv.names[k] for k in np.argsort(own) if own[k] < BIASED and used[k])
    _, s, V = singular(psi[:, used] / sd[used], full=False)
    rank = int(np.count_nonzero(s > 1e-7 * s[0])) if used.any() else 0
    if rank == 0:
        return Hausman(0.0, 1.0, ())
    if freedom < 4 * rank:
        return Hausman(float((t**2).max()), float(min(1.0, own[used].min())), columns)
    statistic = float((((V[:rank] @ t[used]) / s[:rank]) ** 2).sum())
    scaled = statistic * (freedom - rank + 1) / (freedom * rank)
    return Hausman(statistic, float(fdtrc(rank, freedom - rank + 1, scaled)), columns)

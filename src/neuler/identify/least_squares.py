"""Ordinary, weighted and iteratively reweighted least squares of y_t = W_t x + e_t.

    minimise  sum_tj  w_tj ((y_tj - W_tj x) / sd_j)^2,

with one standard deviation for all forces (``ordinary``), one for each force from its residuals (``weighted``,
known in robotics as IDIM-WLS), or, in addition, weights of Huber (1964) that limit the influence of outliers
(``reweighted``). All are solved by orthogonal transformations (see ``stacked``).

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> W = rng.normal(size=(200, 2, 3))
>>> y = W @ [1.0, -2.0, 0.5] + rng.normal(size=(200, 2)) * [0.1, 1.0]
>>> found = weighted(W, y, ["a", "b", "c"])
>>> found.values.round(1).tolist(), found.force_sd.round(1).tolist()
([1.0, -2.0, 0.5], [0.1, 1.0])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.correlation import automatic_lag, equivalent_freedom, ljung_box, moving_sums, windows
from neuler.identify.estimate import Estimate, listed, spread_over
from neuler.identify.stacked import Solution, Stacked, Triangles, solved
from neuler.inputs import choice, number, whole

Array = NDArray[np.float64]
BADLY = 100.0
"""Scaled condition number above which a motion excites badly: one per cent of error in y may be the whole of x."""
_PASSES = 50
_REMEDY, _REPORT = "Drop or group these columns (base parameters), or excite them", ', or set undetermined="report"'
_FLOOR = 1e-9
"""Least standard deviation of a force, as a part of its root mean square: a perfect fit has none."""


def ordinary(
    W: Any,
    y: Any,
    names: Iterable[str] | None = None,
    *,
    weights: Any = None,
    covariance: str = "robust",
    lag: int | None = None,
    undetermined: str = "refuse",
) -> Estimate:
    """Least squares with the same standard deviation for all forces.

    ``W`` (N, nu, p), ``y`` (N, nu), ``names`` of the p columns, ``weights`` (N,) or (N, nu) of squared residuals; zero
    leaves a row out. ``covariance`` is "robust" (Newey and West, ``lag`` chosen from the data unless it is given) or
    "classical", which supposes residuals of one variance without correlation. Columns that the data does not
    determine are refused by name, or with ``undetermined="report"`` listed in the estimate.

    >>> W = np.array([[[1.0, 0.0]], [[1.0, 1.0]], [[1.0, 2.0]], [[1.0, 3.0]]])
    >>> ordinary(W, [[1.0], [3.0], [5.0], [7.0]], ["offset", "slope"]).values.round(9).tolist()
    [1.0, 2.0]
    """
    data = Stacked.checked("ordinary", W, y, names, weights)
    options = Options("ordinary", covariance, lag, undetermined)
    reduced = data.triangles()
    found = solved(reduced.combined(np.ones(data.y.shape[1])))
    sd = np.sqrt(reduced.squares(found.values).sum() / max(1.0, reduced.rows.sum() - found.rank))
    sd = max(float(sd), _FLOOR * float(reduced.levels.max()), 1e-300)
    return options.finished(data, reduced, np.full(data.y.shape[1], sd), 1, True)


def weighted(
    W: Any,
    y: Any,
    names: Iterable[str] | None = None,
    *,
    weights: Any = None,
    covariance: str = "robust",
    lag: int | None = None,
    undetermined: str = "refuse",
) -> Estimate:
    """Least squares with a standard deviation for each force, estimated from its residuals, repeated until both agree.

    sd_j^2 = sum_t e_tj^2 / (n_j - p_j), where p_j is the part of the p parameters that force j determines. Arguments
    are those of ``ordinary``.
    """
    data = Stacked.checked("weighted", W, y, names, weights)
    options = Options("weighted", covariance, lag, undetermined)
    reduced = data.triangles()
    sd, passes, converged = force_deviations(reduced)
    return options.finished(data, reduced, sd, passes, converged)


def force_deviations(reduced: Triangles) -> tuple[Array, int, bool]:
    """Standard deviation of the residuals of each force (nu,), passes taken, and whether they converged."""
    floor = reduced.least(_FLOOR)
    sd = np.ones(len(floor))
    for passes in range(1, _PASSES + 1):
        found = solved(reduced.combined(sd))
        share = ((reduced.factors[:, :, :-1] @ found.root) ** 2).sum(axis=(1, 2)) / sd**2
        left = np.maximum(reduced.rows - share, 0.01 * np.maximum(reduced.rows, 1.0))
        before, sd = sd, np.maximum(np.sqrt(reduced.squares(found.values) / left), floor)
        if passes > 1 and np.allclose(sd, before, rtol=1e-8, atol=0.0):
            return sd, passes, True
    return sd, _PASSES, bool(np.allclose(sd, before, rtol=1e-3, atol=0.0))


def reweighted(
    W: Any,
    y: Any,
    names: Iterable[str] | None = None,
    *,
    threshold: float = 1.345,
    weights: Any = None,
    covariance: str = "robust",
    lag: int | None = None,
    undetermined: str = "refuse",
) -> Estimate:
    """Huber's estimate: residuals beyond ``threshold`` standard deviations count linearly instead of by their square.

    The standard deviation of each force is 1.4826 times the median absolute deviation of its residuals, which outliers
    hardly change. With the default threshold the estimate has 95 % of the efficiency of least squares on normal
    residuals. Other arguments are those of ``ordinary``.

    >>> W, y = np.ones((9, 1, 1)), np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02, 0.98, 100.0])[:, None]
    >>> ordinary(W, y).values.round(2).item(), reweighted(W, y).values.round(2).item()
    (12.0, 1.01)
    """
    threshold = number("reweighted: threshold", threshold, above=0.0)
    data = Stacked.checked("reweighted", W, y, names, weights)
    options = Options("reweighted", covariance, lag, undetermined)
    reduced = data.triangles()
    sd, _, _ = force_deviations(reduced)
    values = solved(reduced.combined(sd)).values
    floor = reduced.least(_FLOOR)
    passes, converged = 0, False
    while passes < _PASSES and not converged:
        passes += 1
        residuals = data.residuals(values)
        sd = np.maximum(_median_deviation(residuals, data.root), floor)
        size = np.abs(residuals) / sd
        scaled = data.weighing(np.minimum(1.0, threshold / np.maximum(size, threshold)))
        found = solved(scaled.triangles().combined(sd))
        moved, values = found.values - values, found.values
        own = np.linalg.norm(found.root, axis=1)
        converged = bool(np.all(np.abs(moved) <= 1e-3 * own + 1e-12 * np.abs(values)))
    residuals = data.residuals(values)
    inside = np.abs(residuals) <= threshold * sd
    bent = solved(data.weighing(inside.astype(float)).triangles().combined(sd))
    if bent.rank < found.rank:  # the outliers alone determine some columns
        bent = found
    outside = 1 - float(inside.mean())
    clipped = np.clip(residuals, -threshold * sd, threshold * sd)
    notes = [f"{100 * outside:.2g} % of the rows lie beyond {threshold:g} standard deviations"]
    return options.finished(
        data, reduced, sd, passes, converged, values=found, root=bent.root, used=clipped, notes=notes
    )


def _median_deviation(residuals: Array, root: Array | None) -> Array:
    """1.4826 times the median absolute residual of each force, of rows with a weight."""
    columns = residuals.T if root is None else [e[r > 0] for e, r in zip(residuals.T, root.T, strict=True)]
    return np.array([1.4826 * np.median(np.abs(e)) if len(e) else 0.0 for e in columns])


class Options:
    """How covariances are computed and what happens to columns that are not determined, checked."""

    def __init__(self, called: str, covariance: str, lag: int | None, undetermined: str) -> None:
        self.called = called
        self.covariance = choice(f"{called}: covariance", covariance, ("robust", "classical"))
        self.lag = None if lag is None else whole(f"{called}: lag", lag, 1)
        self.undetermined = choice(f"{called}: undetermined", undetermined, ("refuse", "report"))

    def finished(
        self,
        data: Stacked,
        reduced: Triangles,
        sd: Array,
        passes: int,
        converged: bool,
        *,
        values: Solution | None = None,
        root: Array | None = None,
        used: Array | None = None,
        notes: Iterable[str] = (),
    ) -> Estimate:
        """The estimate; ``used`` are the residuals that count, ``root`` is that of a ``Solution``."""
        found = solved(reduced.combined(sd)) if values is None else values
        root = found.root if root is None else root
        undetermined = tuple(name for name, free in zip(data.names, found.free, strict=True) if free)
        if undetermined and self.undetermined == "refuse":
            raise Undetermined(data, undetermined, found.rank)
        residuals = data.residuals(found.values)
        used = residuals if used is None else used
        notes = [*notes]
        if undetermined:
            notes.append(f"not determined by these rows: {listed(undetermined)}")
        return assembled(self, data, found, root, (data.W, residuals, used), sd, undetermined, passes, converged, notes)


def assembled(
    options: Options,
    data: Stacked,
    found: Solution,
    root: Array,
    parts: tuple[Array, Array, Array],
    sd: Array,
    undetermined: tuple[str, ...],
    passes: int,
    converged: bool,
    notes: list[str],
) -> Estimate:
    """Covariance, residual tests and notes of a solution: influences are root root^T times scores Z^T w e / sd^2."""
    Z, residuals, used = parts
    rows, n = float(data.rows.sum()), len(residuals)
    test = ljung_box(residuals if data.root is None else residuals * data.root)
    mask = None if used is residuals else np.asarray(used == residuals, dtype=float)
    scores = data.scores(Z, used, sd) @ root
    lag = options.lag or automatic_lag(scores) if options.covariance == "robust" else 1
    influences = np.zeros((0, len(root)))
    spread = 1.0 if mask is None else float(((used / sd) ** 2).mean() / (mask.mean() or 1.0))
    classical = spread * root @ root.T
    freedom = np.full(len(root), rows - found.rank)
    if options.covariance == "robust":
        size, wide = windows(n, lag)
        lag = size * wide
        leverages = data.leverages(Z, root, sd, size, mask)
        influences = moving_sums(scores, leverages, size, wide) @ root.T
        covariance = influences.T @ influences
        freedom = np.minimum(freedom, equivalent_freedom(((root @ leverages) * root).sum(axis=2), wide))
    else:
        covariance = classical
        if test.correlated:
            notes.append(
                "residuals are correlated in time (Ljung-Box), so these standard deviations are too small: "
                'use covariance="robust"'
            )
    if found.scaled_condition > BADLY:
        notes.append(
            f"the motion excites badly: the scaled condition number is {found.scaled_condition:.3g}, more than "
            f"{BADLY:g}; do not rely on single values (see neuler.identify.diagnosis)"
        )
    if not converged:
        notes.append(f"did not converge in {passes} passes")
    counted = np.ones_like(residuals) if data.root is None else np.asarray(data.root > 0, dtype=float)
    rms = np.sqrt((counted * residuals**2).sum(axis=0) / np.maximum(counted.sum(axis=0), 1.0))
    return Estimate(
        options.called, data.names, found.values, spread_over(covariance, found.free), rms, sd, found.condition,
        found.scaled_condition, found.rank, undetermined, n, freedom, lag, test, passes, converged,
        tuple(notes), influences, spread_over(classical, found.free),
    )  # fmt: skip


class Undetermined(InputError):
    """Columns that the data does not determine; ``told`` says which, without what can be done."""

    def __init__(self, data: Stacked, missing: tuple[str, ...], rank: int, remedy: str = _REPORT) -> None:
        idle = tuple(name for k, name in enumerate(data.names) if name in missing and not data.W[:, :, k].any())
        tied = tuple(name for name in missing if name not in idle)
        parts = [f"without any effect: {listed(idle)}"] * bool(idle)
        parts += [f"only in combination with others: {listed(tied)}"] * bool(tied)
        self.told = f"the data determines {rank} of {len(data.names)} columns; {'; '.join(parts)}"
        super().__init__(f"{data.called}: {self.told}. {_REMEDY}{remedy}")

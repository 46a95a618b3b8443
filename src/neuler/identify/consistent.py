"""Estimates that a real robot can have: least squares with linear matrix inequalities, drawn towards a prior.

    minimise  (1/n) sum_tj ((y_tj - W_tj x) / sd_j)^2 + weight * sum_links || P^(-1/2) (J(x) - P) P^(-1/2) ||^2
    subject to  J(x) >= least * P  for every link,    x_k >= lower_k  (friction, rotor inertia)

n is the number of rows, J the pseudo-inertia of a link (see ``physical``) and P that of the prior. Both terms are
dimensionless: the first is about one at the solution, the second is the square of a link's relative change. As Bayes
would have it, a prior with a relative standard deviation s has weight = 1 / (n s^2). ``metric="entropic"`` takes twice
the entropic divergence instead of the square: the same near the prior, infinite at the boundary of consistency. Other
columns with a prior add weight * ((x_k - prior_k) / prior_k)^2.

>>> import numpy as np
>>> W = np.zeros((20, 1, 10))
>>> W[:, 0, 0] = 1.0  # a log that shows the mass alone, and says that it is negative
>>> from neuler.identify.bodies import PARTS
>>> names = [f"tool.{part}" for part in PARTS]
>>> prior = np.array([1.0, 0, 0, 0, 0.01, 0.01, 0.01, 0, 0, 0])
>>> found = constrained(W, -np.ones((20, 1)), names, prior=prior, weight=1e-2, force_sd=[1.0])
>>> bool(found.values[0] > 0), found.converged, found.on_boundary
(True, True, ('tool',))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.bodies import Bodies, upper_root
from neuler.identify.estimate import Estimate, listed
from neuler.identify.least_squares import Options, assembled, force_deviations
from neuler.identify.stacked import Stacked, column_names, solved
from neuler.inputs import array

Array = NDArray[np.float64]
TOUCHES = 1e-4
"""A link whose least eigenvalue of P^-1 J is below this lies on the boundary of consistency."""


@dataclass(frozen=True, eq=False)
class ConsistentEstimate(Estimate):
    """An estimate whose links are those of real bodies.

    The covariance is that of the quadratic objective, prior included, without regard to constraints: where a link lies
    ``on_boundary`` it is too large.
    """

    margins: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Of each link the least eigenvalue of P^-1 J: above zero if it is consistent."""
    status: str = ""

    @property
    def on_boundary(self) -> tuple[str, ...]:
        """Links that would not be consistent without the constraint."""
        return tuple(link for link, margin in self.margins.items() if margin < TOUCHES)


def constrained(
    W: Any,
    y: Any,
    names: Iterable[str],
    *,
    prior: Any = None,
    weight: float = 1e-4,
    metric: str = "quadratic",
    links: Mapping[str, Sequence[int]] | None = None,
    lower: Mapping[str, float] | None = None,
    least: float = 1e-6,
    force_sd: Any = None,
    weights: Any = None,
    covariance: str = "robust",
    lag: int | None = None,
) -> ConsistentEstimate:
    """Physically consistent least squares.

    ``W`` (N, nu, p), ``y`` (N, nu), ``names`` (p). ``prior`` (p,) has NaN where there is none; ``links`` maps a link to
    its ten columns, by default those called LINK.mass to LINK.yz; ``lower`` bounds other columns by their names.
    ``force_sd`` (nu,) are estimated from the residuals unless they are given. Columns that neither the data nor
    the prior determines have an infinite standard deviation.
    """
    data = Stacked.checked("constrained", W, y, names, weights)
    options = Options("constrained", covariance, lag, "report")
    body = Bodies("constrained", data.names, prior, weight, metric, links, lower, least)
    reduced = data.triangles()
    rows = float(reduced.rows.sum())
    if force_sd is None:
        # the constraints may leave residuals that are many times those of a fit without them
        sd, passes = np.maximum(force_deviations(reduced)[0], reduced.least(1e-3)), 4
    else:
        sd, passes = array("constrained", "force_sd", force_sd, (data.y.shape[1],)), 1
        if not (np.isfinite(sd).all() and (sd > 0).all()):
            raise InputError(f"constrained: force_sd must be finite and above zero, got {sd.tolist()}")
    iterations = 0
    for _ in range(passes):
        factor = reduced.combined(sd)
        point = body.minimised(factor[:, :-1] / np.sqrt(rows), factor[:, -1] / np.sqrt(rows))
        iterations += point.iterations
        if not point.usable or passes == 1:
            break
        before, sd = (
            sd,
            np.maximum(np.sqrt(reduced.squares(point.values) / np.maximum(reduced.rows, 1)), reduced.least(1e-6)),
        )
        if np.allclose(sd, before, rtol=0.01):
            break
    plain = solved(factor)
    hessian = rows * body.curvature(point.values)
    both = np.concatenate([factor[:-1, :-1], upper_root(hessian), np.zeros((1, len(data.names)))])
    posterior = solved(np.column_stack([both, np.zeros(len(both))]))
    found = dataclasses.replace(
        posterior, values=point.values, condition=plain.condition, scaled_condition=plain.scaled_condition
    )
    residuals = data.residuals(found.values)
    missing = tuple(name for name, free in zip(data.names, found.free, strict=True) if free)
    notes = [f"neither the data nor the prior determines {listed(missing)}"] * bool(missing) + body.notes
    estimate = assembled(
        options, data, found, found.root, (data.W, residuals, residuals), sd, missing, iterations, True, notes
    )
    inverse = found.root @ found.root.T
    added = estimate.covariance + inverse @ hessian @ inverse if options.covariance == "robust" else estimate.covariance
    margins = body.margins(found.values)
    notes = list(estimate.notes) + [f"the solver did not converge: {point.status}"] * (not point.usable)
    if touching := [link for link, margin in margins.items() if margin < TOUCHES]:
        notes.append(f"on the boundary of consistency: {listed(touching)}")
    fields = {each.name: getattr(estimate, each.name) for each in dataclasses.fields(Estimate)}
    fields |= {"covariance": added, "notes": tuple(notes), "converged": point.usable}
    return ConsistentEstimate(**fields, margins=margins, status=point.status)


@dataclass(frozen=True, eq=False)
class StandardParameters:
    """All parameters of a robot, nearest to a prior, with given base parameters; ``error`` is K x - b."""

    names: tuple[str, ...]
    values: Array
    error: Array
    margins: Mapping[str, float]
    status: str


def nearest_standard(
    K: Any,
    b: Any,
    names: Iterable[str],
    prior: Any,
    *,
    covariance: Any = None,
    weight: float = 1e-4,
    links: Mapping[str, Sequence[int]] | None = None,
    lower: Mapping[str, float] | None = None,
    least: float = 1e-6,
) -> StandardParameters:
    """From base parameters b = K x back to consistent standard parameters x nearest to a ``prior`` (p,).

    ``K`` is (n, p). Without a ``covariance`` of b, K x = b holds exactly; if no consistent robot has these base
    parameters that is refused. With a covariance (n, n) the objective of this module is minimised, where
    (K x - b)^T covariance^-1 (K x - b) / n takes the place of the residuals.

    >>> from neuler.identify.bodies import PARTS
    >>> prior = np.array([1.0, 0, 0, 0, 0.01, 0.01, 0.01, 0, 0, 0])
    >>> K = np.zeros((1, 10)); K[0, 0] = 1.0
    >>> found = nearest_standard(K, [1.2], [f"tool.{part}" for part in PARTS], prior)
    >>> found.values[:1].round(6).tolist(), found.status
    ([1.2], 'Solved')
    """
    K, b = array("nearest_standard", "K", K, ()), array("nearest_standard", "b", b, ())
    if K.ndim != 2 or b.shape != K.shape[:1]:
        raise InputError(f"nearest_standard: expected K (n, p) and b (n,), got shapes {K.shape} and {b.shape}")
    if not (np.isfinite(K).all() and np.isfinite(b).all()):
        raise InputError("nearest_standard: K and b must be finite")
    taken = column_names("nearest_standard", names, K.shape[1])
    exact = covariance is None
    body = Bodies("nearest_standard", taken, prior, 1.0 if exact else weight, "quadratic", links, lower, least)
    if exact:
        size = np.linalg.norm(K * body.scale, axis=1)
        size = np.where(size > 0, size, 1.0)
        point = body.minimised(np.zeros((0, K.shape[1])), np.zeros(0), (K / size[:, None], b / size))
    else:
        root = _whitening(array("nearest_standard", "covariance", covariance, (len(b), len(b))))
        point = body.minimised(root @ K / np.sqrt(len(b)), root @ b / np.sqrt(len(b)))
    if not point.usable:
        raise InputError(
            f"nearest_standard: no consistent robot with these base parameters was found (Clarabel: {point.status}); "
            "give their covariance, so that they need not be met exactly"
        )
    return StandardParameters(taken, point.values, K @ point.values - b, body.margins(point.values), point.status)


def _whitening(covariance: Array) -> Array:
    try:
        return np.linalg.inv(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise InputError("nearest_standard: covariance must be symmetric and positive definite") from None

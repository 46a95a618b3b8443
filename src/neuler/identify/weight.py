"""How much a prior is to count: cross-validation over stretches of a log.

The log is cut into stretches of time. Each is predicted by a fit to the others, for several weights of the prior. Of
the weights whose error is within one standard error of the least, the largest is taken (Breiman et al. 1984): where
the motion excites badly, errors hardly depend on the weight, and the prior is the better guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.bodies import Bodies
from neuler.identify.least_squares import force_deviations
from neuler.identify.stacked import Stacked, Triangles
from neuler.identify.stretches import Stretches
from neuler.inputs import number, row, whole

Array = NDArray[np.float64]
TRIED = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Weights that are compared by default; where the least is the best, lesser ones follow, down to ``LEAST``."""
LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class WeightChoice:
    """The ``weight`` chosen, the weights ``tried`` (k,), and the mean squared normalised errors (k, folds).

    An error is that of forces divided by their standard deviations, of a stretch that was not fitted.
    """

    weight: float
    tried: Array
    errors: Array
    force_sd: Array
    """Standard deviations of the forces, of residuals of least squares; a thousandth of the force at least, (nu,)."""

    @property
    def best(self) -> float:
        """The weight with the least mean error."""
        return float(self.tried[np.argmin(self.errors.mean(axis=1))])


def choose_weight(
    W: Any,
    y: Any,
    names: Iterable[str],
    prior: Any,
    *,
    tried: Any = TRIED,
    folds: int = 5,
    gap: int = 0,
    metric: str = "quadratic",
    links: Mapping[str, Sequence[int]] | None = None,
    lower: Mapping[str, float] | None = None,
    least: float = 1e-6,
    weights: Any = None,
) -> WeightChoice:
    """The weight for ``constrained``, by cross-validation over ``folds`` stretches of the log.

    ``gap`` samples on both sides of a stretch are not fitted, so that filters do not carry it over. Other arguments are
    those of ``constrained``.
    """
    data = Stacked.checked("choose_weight", W, y, names, weights)
    folds = whole("choose_weight: folds", folds, 2)
    gap = whole("choose_weight: gap", gap, 0)
    candidates = np.sort(row("choose_weight: tried", tried))
    stretches = Stretches(data, folds, gap)
    sd = np.maximum(force_deviations(stretches.every)[0], stretches.every.least(1e-3))
    known: dict[int, Array] = {}

    def factor(fitted: Triangles) -> Array:  # one for all weights
        if id(fitted) not in known:
            known[id(fitted)] = fitted.combined(sd) / np.sqrt(float(fitted.rows.sum()))
        return known[id(fitted)]

    def judged(weight: float) -> Array:
        number("choose_weight: tried", weight, least=0.0)
        bodies = Bodies("choose_weight", data.names, prior, weight, metric, links, lower, least)
        return stretches.errors(partial(_values, bodies, factor), sd)

    errors = np.stack([judged(weight) for weight in candidates.tolist()])
    while tried is TRIED and np.argmin(errors.mean(axis=1)) == 0 and candidates[0] > 1.5 * LEAST:
        candidates = np.concatenate([candidates[:1] / 10.0, candidates])
        errors = np.concatenate([judged(float(candidates[0]))[None], errors])
    mean = errors.mean(axis=1)
    best = int(np.argmin(mean))
    if not np.isfinite(mean[best]):
        raise InputError("choose_weight: the solver converged for no weight; try larger ones, or repair the data")
    solved = np.where(np.isfinite(mean)[:, None], errors, 0.0)
    margin = np.std(solved - errors[best], axis=1, ddof=1) / np.sqrt(folds)  # of differences within the same stretch
    good = np.flatnonzero(mean <= mean[best] + margin)
    return WeightChoice(float(candidates[good[-1]]), candidates, errors, sd)


def _values(bodies: Bodies, factors: Callable[[Triangles], Array], fitted: Triangles) -> Array | None:
    """The minimiser, or None where the solver failed."""
    factor = factors(fitted)
    point = bodies.minimised(factor[:, :-1], factor[:, -1])
    return point.values if point.usable else None

"""Cross-validation over stretches of time: each is predicted by a fit to the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.stacked import Stacked, Triangles

Array = NDArray[np.float64]
Estimator = Callable[[Triangles], "Array | None"]
"""From reduced rows to values (p,), or None where there are none."""


class Stretches:
    """Rows of a log, cut into stretches of time, each reduced; ``gap`` samples beside one are not fitted to predict it.

    A gap keeps filters from carrying a stretch over into its neighbours.
    """

    def __init__(self, data: Stacked, folds: int, gap: int = 0) -> None:
        n = len(data.y)
        if n < folds * (2 * gap + 10):
            raise InputError(
                f"{data.called}: {n} samples are too few for {folds} stretches with gaps of {gap}; give fewer folds or "
                "a shorter gap"
            )
        edges = np.linspace(0, n, folds + 1).astype(int)
        parts = [[slice(a, a + gap), slice(a + gap, b - gap), slice(b - gap, b)] for a, b in itertools.pairwise(edges)]
        self.parts = [[_part(data, at) for at in part] for part in parts]
        self.every = joined([one for part in self.parts for one in part])
        self._fitted: dict[int, Triangles] = {}

    def fitted(self, fold: int) -> Triangles:
        """All rows but those of a stretch and the gaps beside it."""
        if fold not in self._fitted:
            others = [(k, part) for k, part in enumerate(self.parts) if k != fold]
            self._fitted[fold] = joined([one for k, part in others for one in _near(part, k, fold)])
        return self._fitted[fold]

    def errors(self, estimator: Estimator, sd: Array) -> Array:
        """Mean squared errors of each stretch, (folds,), forces divided by ``sd`` (nu,); infinite without an estimate.

        >>> rng = np.random.default_rng(0)
        >>> W = rng.normal(size=(500, 1, 2))
        >>> y = W @ [1.0, 2.0] + rng.normal(size=(500, 1))
        >>> found = Stretches(Stacked.checked("example", W, y, None, None), 5)
        >>> from neuler.identify.stacked import solved
        >>> found.errors(lambda rows: solved(rows.combined(np.ones(1))).values, np.ones(1)).mean().round(1).item()
        1.0
        """
        return np.array([self._error(estimator(self.fitted(fold)), fold, sd) for fold in range(len(self.parts))])

    def _error(self, values: Array | None, fold: int, sd: Array) -> float:
        if values is None:
            return np.inf
        part = self.parts[fold]
        count = sum(float(one.rows.sum()) for one in part)
        return float(sum((one.squares(values) / sd**2).sum() for one in part) / max(1.0, count))


def _part(data: Stacked, at: slice) -> Triangles:
    root = None if data.root is None else data.root[at]
    return Stacked(data.called, data.names, data.W[at], data.y[at], root).triangles()


def _near(part: list[Triangles], own: int, left_out: int) -> list[Triangles]:
    """Of a stretch that is fitted, all but the gap next to the one that is left out."""
    before, middle, after = part
    return [*([before] if own - 1 != left_out else []), middle, *([after] if own + 1 != left_out else [])]


def _factor(rows: Array) -> Array:
    """The triangular factor of rows (m, n), (n, n); many are zero, and so are columns, of which a force knows some."""
    kept = rows[rows.any(axis=1)]
    used = np.flatnonzero(kept.any(axis=0))
    found = np.zeros((rows.shape[1], rows.shape[1]))
    factor = np.linalg.qr(kept[:, used], mode="r")
    found[np.ix_(np.arange(len(factor)), used)] = factor
    return found


def joined(parts: list[Triangles]) -> Triangles:
    """Rows of several parts as one."""
    stacked = np.concatenate([part.factors for part in parts], axis=1)
    factors = np.stack([_factor(rows) for rows in stacked])
    return Triangles(factors, sum((part.rows for part in parts), np.zeros(len(stacked))))

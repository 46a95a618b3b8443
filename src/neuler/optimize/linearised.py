"""A programme linearised about a point: rows replaced by their tangents, the objective by a quadratic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from neuler.optimize.programme import Array, Places, Programme


class Curvature(NamedTuple):
    """The lower triangle of second derivatives: places and entries."""

    places: Places
    entries: Array


class Linearised:
    """The quadratic programme about a point x0 of another one; a ``Programme`` over the same variables.

    Its rows are g(x0) + J d with d = x - x0, its objective is ``weight`` (f(x0) + df . d + d^T H d / 2), H the Hessian
    of the objective alone, which is convex where the objective is. ``curvature`` takes the place of ``weight`` H: that
    of a Lagrangian, say. ``damping`` makes steps shorter: so many times the largest entry on the diagonal is added to
    all entries there.
    """

    quadratic = True
    """Solvers may take its derivatives for constant."""

    def __init__(
        self,
        programme: Programme,
        x0: Array,
        damping: float = 0.0,
        curvature: Curvature | None = None,
        weight: float = 1.0,
    ) -> None:
        self.n, self.m = programme.n, programme.m
        self.lower, self.upper = programme.lower, programme.upper
        self.row_lower, self.row_upper = programme.row_lower, programme.row_upper
        self.start = self.x0 = np.array(x0, float)
        self.jacobian_at = programme.jacobian_at
        self._value, self._slope = weight * programme.objective(x0), weight * np.array(programme.gradient(x0))
        self._rows, self._jacobian = np.array(programme.rows(x0)), np.array(programme.jacobian(x0))
        self._J = sparse.csr_matrix((self._jacobian, self.jacobian_at), shape=(self.m, self.n))
        if curvature is None:
            curvature = Curvature(programme.hessian_at, programme.hessian(x0, weight, np.zeros(self.m)))
        lower = sparse.csr_matrix((curvature.entries, curvature.places), shape=(self.n, self.n))
        if damping:
            rows, columns = curvature.places
            bent = np.zeros(self.n)
            bent[rows[rows == columns]] = np.abs(lower.diagonal()).max()
            lower = (lower + sparse.diags(damping * bent)).tocsr()
        self._H = (lower + sparse.tril(lower, -1).T).tocsr()
        places = lower.tocoo()
        self.hessian_at, self._hessian = (places.row.astype(np.intp), places.col.astype(np.intp)), places.data

    def objective(self, x: Array) -> float:
        """Of the quadratic."""
        d = x - self.x0
        return float(self._value + self._slope @ d + 0.5 * d @ (self._H @ d))

    def gradient(self, x: Array) -> Array:
        """Of the quadratic, (n)."""
        return np.asarray(self._slope + self._H @ (x - self.x0))

    def rows(self, x: Array) -> Array:
        """Tangents of the rows, (m)."""
        return np.asarray(self._rows + self._J @ (x - self.x0))

    def jacobian(self, x: Array) -> Array:
        """Entries of J, the same everywhere."""
        return self._jacobian

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Entries of H, the same everywhere."""
        return weight * self._hessian

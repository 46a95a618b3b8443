"""A programme linearised about a point: rows replaced by their tangents, the objective by a quadratic."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from neuler.optimize.programme import Array, Programme


class Linearised:
    """The quadratic programme about a point x0 of another one; a ``Programme`` over the same variables.

    Rows are g(x0) + J (x - x0), the objective f(x0) + df . (x - x0) + (x - x0)^T H (x - x0) / 2 with the Hessian of the
    objective alone: for a convex objective it is convex. ``damping`` makes steps shorter: so many times the largest number
    on the diagonal of H is added to all of them.
    """

    quadratic = True
    """Solvers may take its derivatives for constant."""

    def __init__(self, programme: Programme, x0: Array, damping: float = 0.0) -> None:
        self.n, self.m = programme.n, programme.m
        self.lower, self.upper = programme.lower, programme.upper
        self.row_lower, self.row_upper = programme.row_lower, programme.row_upper
        self.start = self.x0 = np.array(x0, float)
        self.jacobian_at = programme.jacobian_at
        self._value, self._slope = programme.objective(x0), np.array(programme.gradient(x0))
        self._rows, self._jacobian = np.array(programme.rows(x0)), np.array(programme.jacobian(x0))
        self._J = sparse.csr_matrix((self._jacobian, self.jacobian_at), shape=(self.m, self.n))
        entries = programme.hessian(x0, 1.0, np.zeros(self.m))
        lower = sparse.csr_matrix((entries, programme.hessian_at), shape=(self.n, self.n))
        if damping:
            lower = (lower + damping * lower.diagonal().max() * sparse.eye(self.n)).tocsr()
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

"""Small programmes with a convex quadratic objective, linear matrix inequalities and logarithms, solved by Clarabel.

    minimise  (1/2) || C v - d ||^2 + q^T v
    subject to  A v = b,  A' v >= b',  F_0 + sum_k v_k F_k positive semidefinite,  exp(v_i) <= v_j

The variables are u with C v - d = u where C has independent columns; else C v - d are variables of their own. C^T C is
never formed. Rows are dense here: a robot has some hundred columns.

>>> import numpy as np
>>> programme = ConeProgramme(2)
>>> programme.at_least(np.eye(2), np.array([0.0, 1.0]))
>>> found = programme.minimised(np.eye(2), np.array([-1.0, 3.0]))
>>> found.values.round(6).tolist(), found.status
([0.0, 3.0], 'Solved')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require

Array = NDArray[np.float64]
GOOD = ("Solved", "AlmostSolved")
"""Statuses of the solver with which a point may be used."""
_TOLERANCES = {"gap_abs": (1e-12, 1e-8), "gap_rel": (1e-12, 1e-8), "feas": (1e-10, 1e-8)}
"""Of Solved and AlmostSolved: tighter than the solver's own, because a prior with a small weight hardly changes the
objective and yet decides what the data does not."""
_DEPENDENT = 1e10
"""Condition number of column-scaled C from which its columns count as dependent."""
_INDICES: dict[int, tuple[NDArray[np.int64], NDArray[np.int64], Array]] = {}


@dataclass(frozen=True)
class ConePoint:
    """``values`` (n,) of the variables, the solver's ``status`` and its ``iterations``."""

    values: Array
    status: str
    iterations: int

    @property
    def usable(self) -> bool:
        """Whether the solver reached its tolerances, at least the reduced ones."""
        return self.status in GOOD


class ConeProgramme:
    """Constraints on ``size`` variables, added one after another; each addition returns nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[tuple[str, Array, Array]] = []  # kind, A, b: b - A v lies in the cone

    def equal(self, A: Array, b: Array) -> None:
        """Add the equalities A v = b."""
        self._rows.append(("zero", A, b))

    def at_least(self, A: Array, b: Array) -> None:
        """Add the inequalities A v >= b, row by row."""
        self._rows.append(("positive", -A, -b))

    def semidefinite(self, F: Array, F0: Array) -> None:
        """F0 + sum_k v_k F_k >= 0, for F (size, n, n) and F0 (n, n)."""
        self._rows.append(("semidefinite", -_packed(F).T, _packed(F0)))

    def exponential(self, i: int, j: int) -> None:
        """exp(v_i) <= v_j."""
        A = np.zeros((3, self.size))
        A[0, i], A[2, j] = -1.0, -1.0
        self._rows.append(("exponential", A, np.array([0.0, 1.0, 0.0])))

    def minimised(self, C: Array, d: Array, q: Array | None = None) -> ConePoint:
        """The minimiser of (1/2) || C v - d ||^2 + q^T v within the constraints."""
        require("clarabel", "Linear matrix inequalities are solved by Clarabel", "identify")
        q = np.zeros(self.size) if q is None else q
        A = np.vstack([np.zeros((0, self.size)), *(rows for _, rows, _ in self._rows)])
        b = np.concatenate([np.zeros(0), *(right for _, _, right in self._rows)])
        used = np.flatnonzero(C.any(axis=0))
        whitened = _whitened(C[:, used], d)
        if whitened is not None:
            start, turn = np.zeros(self.size), np.eye(self.size)
            start[used], turn[np.ix_(used, used)] = whitened
            squares = np.isin(np.arange(self.size), used).astype(float)
            found = self._solved(A @ turn, b - A @ start, turn.T @ q, squares)
            if found.usable:
                return ConePoint(start + turn @ found.values, found.status, found.iterations)
        m = len(C)
        A = np.block([[A, np.zeros((len(A), m))], [C, -np.eye(m)]])
        squares = np.append(np.zeros(self.size), np.ones(m))
        return self._solved(A, np.append(b, d), np.append(q, np.zeros(m)), squares, m)

    def _solved(self, A: Array, b: Array, q: Array, squares: Array, more: int = 0) -> ConePoint:
        """Half the sum of some squares, plus q^T v; ``more`` are equalities after all other rows."""
        import clarabel
        from scipy import sparse

        cones: list[Any] = []
        for kind, rows, _ in self._rows:
            if kind == "semidefinite":
                cones.append(clarabel.PSDTriangleConeT(int(np.sqrt(2 * len(rows)))))
            elif kind == "exponential":
                cones.append(clarabel.ExponentialConeT())
            else:
                cones.append((clarabel.ZeroConeT if kind == "zero" else clarabel.NonnegativeConeT)(len(rows)))
        if more:
            cones.append(clarabel.ZeroConeT(more))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for name, (tight, loose) in _TOLERANCES.items():
            setattr(settings, f"tol_{name}", tight)
            setattr(settings, f"reduced_tol_{name}", loose)
        P = sparse.diags(squares, format="csc")
        found = clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), b, cones, settings).solve()
        return ConePoint(np.array(found.x)[: self.size], str(found.status), int(found.iterations))


def _whitened(C: Array, d: Array) -> tuple[Array, Array] | None:
    """v0 and T with || C v - d ||^2 = || u ||^2 + constant for v = v0 + T u; None if C has dependent columns."""
    if len(C) < C.shape[1] or not C.shape[1]:
        return None
    R = np.linalg.qr(np.column_stack([C, d]))[1]
    R, c = R[: C.shape[1], : C.shape[1]], R[: C.shape[1], -1]
    norms = np.linalg.norm(R, axis=0)
    if not np.linalg.cond(R / norms) < _DEPENDENT:
        return None
    return np.linalg.solve(R, c), np.linalg.inv(R)


def _packed(F: Array) -> Array:
    """The upper triangle, column by column, what is off the diagonal times sqrt(2), (..., n (n + 1) / 2)."""
    n = F.shape[-1]
    if n not in _INDICES:
        pairs = [(i, j) for j in range(n) for i in range(j + 1)]
        scale = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in pairs])
        _INDICES[n] = np.array([i for i, _ in pairs]), np.array([j for _, j in pairs]), scale
    i, j, scale = _INDICES[n]
    return F[..., i, j] * scale

"""Small programmes with a convex quadratic objective, linear matrix inequalities and logarithms, solved by Clarabel.

    minimise  (1/2) || C v - d ||^2 + q^T v
    subject to  A v = b,  A' v >= b',  F_0 + sum_k v_k F_k positive semidefinite,  exp(v_i) <= v_j

C v - d is a variable of its own, so that C^T C is never formed. Rows are dense here: a robot has some hundred columns.

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
        """A v = b."""
        self._rows.append(("zero", A, b))

    def at_least(self, A: Array, b: Array) -> None:
        """A v >= b."""
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
        import clarabel
        from scipy import sparse

        m, n = C.shape
        cones: list[Any] = [clarabel.ZeroConeT(m)]
        A = [np.hstack([C, -np.eye(m)])]
        b = [d]
        for kind, rows, right in self._rows:
            A.append(np.hstack([rows, np.zeros((len(rows), m))]))
            b.append(right)
            if kind == "semidefinite":
                cones.append(clarabel.PSDTriangleConeT(int(np.sqrt(2 * len(rows)))))
            elif kind == "exponential":
                cones.append(clarabel.ExponentialConeT())
            else:
                cones.append((clarabel.ZeroConeT if kind == "zero" else clarabel.NonnegativeConeT)(len(rows)))
        P = sparse.diags(np.append(np.zeros(n), np.ones(m)), format="csc")
        linear = np.zeros(n + m) if q is None else np.append(q, np.zeros(m))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        solver = clarabel.DefaultSolver(P, linear, sparse.csc_matrix(np.vstack(A)), np.concatenate(b), cones, settings)
        found = solver.solve()
        return ConePoint(np.array(found.x)[:n], str(found.status), int(found.iterations))


def _packed(F: Array) -> Array:
    """The upper triangle, column by column, what is off the diagonal times sqrt(2), (..., n (n + 1) / 2)."""
    n = F.shape[-1]
    if n not in _INDICES:
        pairs = [(i, j) for j in range(n) for i in range(j + 1)]
        scale = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in pairs])
        _INDICES[n] = np.array([i for i, _ in pairs]), np.array([j for _, j in pairs]), scale
    i, j, scale = _INDICES[n]
    return F[..., i, j] * scale

"""Singular values and vectors A = U diag(s) V^T of any finite matrix.

LAPACK's divide and conquer (gesdd), which is quicker, does not converge on some finite matrices of deficient rank;
QR iterations (gesvd) do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Singular(NamedTuple):
    """U, s (largest first) and V^T."""

    U: Array
    s: Array
    Vt: Array


def singular(A: Array, full: bool = True) -> Singular:
    """The decomposition of A (m, n); U and V^T are square, or with ``full=False`` have min(m, n) columns and rows.

    >>> singular(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), full=False).s.tolist()
    [4.0, 3.0]
    """
    try:
        found = np.linalg.svd(A, full_matrices=full)
    except np.linalg.LinAlgError:
        if not np.isfinite(A).all():
            raise
        from scipy.linalg import svd

        found = svd(A, full_matrices=full, lapack_driver="gesvd")
    return Singular(*found)


def singular_values(A: Array) -> Array:
    """Those of A alone, largest first.

    >>> singular_values(np.diag([1.0, 5.0])).tolist()
    [5.0, 1.0]
    """
    try:
        return np.asarray(np.linalg.svd(A, compute_uv=False), dtype=float)
    except np.linalg.LinAlgError:
        return singular(A).s

"""The pseudo-inertia of a body, P = integral of (r, 1) (r, 1)^T dm: the matrix that its ten parameters are entries of.

P = sum of ten_k BASIS_k = [[S, h], [h^T, m]] with S = tr(I) / 2 - I, of the ten in the order mass, mx, my, mz, xx, yy,
zz, xy, xz, yz.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _basis() -> Array:
    P = np.zeros((10, 4, 4))
    P[0, 3, 3] = 1.0
    for k in range(3):
        P[1 + k, k, 3] = P[1 + k, 3, k] = 1.0
        P[4 + k, :3, :3] = np.diag([0.5 - (i == k) for i in range(3)])
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        P[7 + k, i, j] = P[7 + k, j, i] = -1.0
    return P


BASIS = _basis()
"""P of each unit vector of the ten, (10, 4, 4)."""
DUAL = np.linalg.pinv(BASIS.reshape(10, 16)).T.reshape(10, 4, 4)
"""Symmetric matrices that read the ten off P, (10, 4, 4): the sum of the entries of DUAL_k * P is ten_k."""
BASIS.flags.writeable = DUAL.flags.writeable = False

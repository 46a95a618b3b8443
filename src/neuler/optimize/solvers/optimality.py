"""The conditions of a minimum (Karush, Kuhn and Tucker), measured at any point.

grad f + J^T y - z_lower + z_upper = 0,  z >= 0,  y_i < 0 only at a lower bound of row i, y_i > 0 only at an upper one
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuler.optimize.programme import Array, Programme, infeasibility

Transposed = Callable[[Array], Array]


def transposed(programme: Programme, x: Array) -> Transposed:
    """y -> J^T y at x."""
    i, j = programme.jacobian_at
    values = np.asarray(programme.jacobian(x), float)
    return lambda y: np.bincount(j, values * y[i], programme.n).astype(float)


def stationarity(programme: Programme, x: Array, y: Array, z: tuple[Array, Array]) -> float:
    """Largest entry of the Lagrangian's gradient, less where the multipliers are large (IPOPT's scaling)."""
    residual = np.asarray(programme.gradient(x), float) + transposed(programme, x)(y) - z[0] + z[1]
    total = sum(float(np.abs(part).sum()) for part in (y, *z))
    scale = max(1.0, total / (programme.m + 2 * programme.n) / 100)
    return float(np.max(np.abs(residual), initial=0.0)) / scale


def complementarity(programme: Programme, x: Array, rows: Array, y: Array, z: tuple[Array, Array]) -> float:
    """Largest product of a multiplier and the distance to the bound that it belongs to."""
    worst = 0.0
    for weight, gap in (
        (np.maximum(-y, 0), rows - programme.row_lower),
        (np.maximum(y, 0), programme.row_upper - rows),
        (z[0], x - programme.lower),
        (z[1], programme.upper - x),
    ):
        at = weight > 0
        with np.errstate(invalid="ignore"):
            worst = max(worst, float(np.max(weight[at] * np.abs(gap[at]), initial=0.0)))
    return worst


def least_violation(programme: Programme, x: Array, rows: Array) -> float:
    """How far x is from a local minimum of the violation of the rows within the bounds: 0 at one, at most 1.

    Slope of half the squared violations, of directions that the bounds leave, over the violations and the Jacobian.
    """
    over = np.maximum(rows - programme.row_upper, 0) - np.maximum(programme.row_lower - rows, 0)
    size = float(np.linalg.norm(over))
    if size == 0:
        return 0.0
    slope = transposed(programme, x)(over)
    near = 1e-6 * (1 + np.abs(x))
    slope[(x <= programme.lower + near) & (slope > 0)] = 0
    slope[(x >= programme.upper - near) & (slope < 0)] = 0
    stiff = max(1.0, float(np.max(np.abs(programme.jacobian(x)), initial=0.0)))
    return float(np.linalg.norm(slope)) / (size * stiff)


def estimated(programme: Programme, x: Array, rows: Array, near: float = 1e-6) -> tuple[Array, tuple[Array, Array]]:
    """Multipliers of rows and bounds that leave the least gradient of the Lagrangian, of those within ``near``."""
    from scipy.optimize import lsq_linear
    from scipy.sparse import coo_array, eye_array, hstack

    n, m = programme.n, programme.m
    margin, edge = near * (1 + np.abs(rows)), near * (1 + np.abs(x))
    low, high = rows <= programme.row_lower + margin, rows >= programme.row_upper - margin
    at = np.flatnonzero(low | high)
    below, above = np.flatnonzero(x <= programme.lower + edge), np.flatnonzero(x >= programme.upper - edge)
    y, z = np.zeros(m), (np.zeros(n), np.zeros(n))
    if at.size + below.size + above.size == 0:
        return y, z
    jacobian = coo_array((programme.jacobian(x), programme.jacobian_at), shape=(m, n)).tocsr()
    unit = eye_array(n, format="csr")
    columns = hstack([jacobian[at].T, -unit[:, below], unit[:, above]], format="csr")
    least = np.concatenate([np.where(low[at], -np.inf, 0.0), np.zeros(below.size + above.size)])
    most = np.concatenate([np.where(high[at], np.inf, 0.0), np.full(below.size + above.size, np.inf)])
    dense = columns.toarray() if columns.shape[0] * columns.shape[1] < 4_000_000 else columns
    found = lsq_linear(dense, -np.asarray(programme.gradient(x)), (least, most), method="bvls" if n < 500 else "trf").x
    y[at] = found[: at.size]
    z[0][below], z[1][above] = found[at.size : at.size + below.size], found[at.size + below.size :]
    return y, z


def polished(programme: Programme, x: Array, steps: int = 3) -> tuple[Array, Array, tuple[Array, Array]]:
    """A point that is nearly a minimum, and its multipliers, after Newton steps on the conditions (dense).

    Rows and bounds with a multiplier are held as equalities; a step that does not help is not taken.
    """

    def state(point: Array) -> tuple[Array, Array, tuple[Array, Array], float]:
        rows = np.asarray(programme.rows(point), float)
        y, z = estimated(programme, point, rows)
        error = max(
            stationarity(programme, point, y, z),
            complementarity(programme, point, rows, y, z),
            infeasibility(programme, point, rows),
        )
        return rows, y, z, error

    n, m = programme.n, programme.m
    rows, y, z, error = state(x)
    for _ in range(steps):
        at = np.flatnonzero((y != 0) | (programme.row_lower == programme.row_upper))
        free = np.flatnonzero((z[0] == 0) & (z[1] == 0) & (programme.lower < programme.upper))
        hessian, jacobian = np.zeros((n, n)), np.zeros((m, n))
        hessian[programme.hessian_at] = programme.hessian(x, 1.0, y)
        hessian = np.tril(hessian) + np.tril(hessian, -1).T
        jacobian[programme.jacobian_at] = programme.jacobian(x)
        J = jacobian[np.ix_(at, free)]
        matrix = np.block([[hessian[np.ix_(free, free)], J.T], [J, np.zeros((at.size, at.size))]])
        bound = np.where(y[at] < 0, programme.row_lower[at], programme.row_upper[at])
        right = np.concatenate([-(np.asarray(programme.gradient(x), float) + jacobian.T @ y)[free], bound - rows[at]])
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            break
        step = np.zeros(n)
        step[free] = np.linalg.lstsq(matrix, right, rcond=1e-12)[0][: free.size]
        new = np.clip(x + step, programme.lower, programme.upper)
        after = state(new)
        if not after[3] < error:
            break
        x, (rows, y, z, error) = new, after
    return x, y, z

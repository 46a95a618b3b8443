"""Programmes relaxed by groups of rows: derivatives, the least relaxation, and which groups it names."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from hock_schittkowski import INF, Symbolic
from neuler.optimize import solvers
from neuler.optimize.relaxed import Relaxed

ROWS = ("x0*x1 + x2", "x0**2 + x1**2", "sin(x2) - x1", "x0 + x1 + x2")
BOUNDS = [(1.0, INF), (-INF, 2.0), (-0.5, 0.5), (1.0, 1.0)]


def relaxed(group=(0, 0, 1, -1)):
    return Relaxed(Symbolic("x0**2", ROWS, (0.3, -0.4, 2.0), BOUNDS), np.array(group))


def test_derivatives_by_complex_and_finite_differences():
    programme, x = relaxed(), np.array([0.7, 0.2, -0.3, 0.5, 0.25])
    assert (programme.n, programme.m) == (5, 5)  # both sides of the third row are rows of their own
    J = np.zeros((programme.m, programme.n))
    J[programme.jacobian_at] = programme.jacobian(x)
    y = np.array([0.3, -0.7, 1.1, 0.4, -0.2])
    H = np.zeros((programme.n, programme.n))
    H[programme.hessian_at] = programme.hessian(x, 0.8, y)
    H = H + np.tril(H, -1).T
    step = 1e-6
    for k in range(programme.n):
        e = step * np.eye(programme.n)[k]
        np.testing.assert_allclose(J[:, k], (programme.rows(x + e) - programme.rows(x - e)) / (2 * step), atol=1e-9)
        slope = (programme.objective(x + e) - programme.objective(x - e)) / (2 * step)
        assert programme.gradient(x)[k] == pytest.approx(slope, abs=1e-9)

        def lagrangian_slope(z):
            full = np.zeros((programme.m, programme.n))
            full[programme.jacobian_at] = programme.jacobian(z)
            return 0.8 * programme.gradient(z) + y @ full

        bent = (lagrangian_slope(x + e) - lagrangian_slope(x - e)) / (2 * step)
        np.testing.assert_allclose(H[k], bent, atol=1e-8)


def test_it_begins_inside():
    """Relaxed rows hold at the start with room: an interior point method may begin there."""
    programme = relaxed()
    rows = programme.rows(programme.start)
    assert (rows[1:] > programme.row_lower[1:] + 0.05).all()
    assert (rows[1:] < programme.row_upper[1:] - 0.05).all()


@pytest.mark.skipif("ipopt" not in solvers.available(), reason="needs IPOPT")
def test_the_least_relaxation_against_a_linear_programme():
    """Linear rows that contradict each other: slacks and their sum by SciPy's simplex."""
    rows = ("x0 + x1", "x0 - x1", "x0", "x1", "x0 + 2*x1")
    bounds = [(4.0, INF), (-INF, 1.0), (-INF, 1.0), (-INF, 1.5), (2.0, INF)]
    group = np.array([0, 1, 2, 2, 3])
    programme = Relaxed(Symbolic("0*x0", rows, (0.0, 0.0), bounds, -10, 10), group)
    found = solvers.solve(programme, "ipopt", tolerance=1e-8)
    A = np.array([[1, 1], [1, -1], [1, 0], [0, 1], [1, 2]], float)
    table, right = [], []
    for row, (low, high), k in zip(A, bounds, group, strict=True):
        unit = np.eye(4)[k]
        if np.isfinite(low):
            table.append(np.concatenate([-row, -unit]))
            right.append(-low)
        if np.isfinite(high):
            table.append(np.concatenate([row, -unit]))
            right.append(high)
    known = linprog([0, 0, 1, 1, 1, 1], table, right, bounds=[(-10, 10)] * 2 + [(0, None)] * 4)
    assert known.fun > 0.5
    assert programme.slacks(found.x).sum() == pytest.approx(known.fun, abs=2e-3)  # the distance counts a little
    assert programme.slacks(found.x)[[1, 3]].max() < 1e-4  # two groups have no part in it

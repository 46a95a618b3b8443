"""neuler.math.solve: traced linear equations against NumPy's, also where elimination would need exchanges of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import neuler
from neuler import math as nm
from random_robots import close

ROUNDING = np.finfo(float).eps


def backward(matrix, x, b):
    """The least relative change of A and b for which x is exact, of the worst row of a batch."""
    left = np.abs(np.einsum("...ij,...j->...i", matrix, x) - b).max(-1)
    size = np.abs(matrix).sum(-1).max(-1) * np.abs(x).max(-1) + np.abs(b).max(-1)
    return (left / size).max()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_any_matrix_is_solved_to_rounding(n):
    """Random ones, and those with condition numbers up to 1e12."""
    rng = np.random.default_rng(n)
    f = neuler.function(nm.solve, {"A": (n, n), "b": n})
    turned, other = (np.linalg.qr(rng.normal(size=(200, n, n)))[0] for _ in range(2))
    sizes = 10.0 ** -np.linspace(0.0, rng.uniform(0.0, 12.0, size=200), n, axis=-1)
    for matrix in (rng.normal(size=(200, n, n)), turned * sizes[:, None, :] @ other):
        b = rng.normal(size=(200, n))
        assert backward(matrix, f(matrix, b), b) < 2 * n * ROUNDING


def test_rows_need_no_exchange():
    """Permutations have zeros on the diagonal at run time, and a tiny pivot ruins elimination without exchanges."""
    f = neuler.function(nm.solve, {"A": (4, 4), "b": 4})
    b = np.arange(1.0, 5.0)
    for order in itertools.permutations(range(4)):
        matrix = np.eye(4)[list(order)]
        close(f(matrix, b), np.linalg.solve(matrix, b), 1e-15)
    small = np.array([[1.0, 2.0, 0.0, 1.0], [2.0, 1.0, 1.0, 0.0], [0.0, 3.0, 2.0, 1.0], [1.0, 1.0, -1.0, 1e-18]])
    close(f(small, b), np.linalg.solve(small, b), 1e-14)
    eliminated = neuler.function(lambda A, b: nm.solve(A, b, positive=True), {"A": (4, 4), "b": 4})
    assert np.abs(eliminated(small, b) - np.linalg.solve(small, b)).max() > 0.1


def test_several_right_sides_and_batches():
    rng = np.random.default_rng(0)
    matrix, right = rng.normal(size=(5, 3, 3)), rng.normal(size=(5, 3, 2))
    f = neuler.function(nm.solve, {"A": (3, 3), "B": (3, 2)})
    close(f(matrix, right), np.linalg.solve(matrix, right), 1e-12)
    whole = neuler.function(nm.solve, {"A": (5, 3, 3), "B": (3, 2)})
    close(whole(matrix, right[0]), np.linalg.solve(matrix, right[0]), 1e-12)
    close(nm.solve(matrix, right[0]), np.linalg.solve(matrix, right[0]), 0)
    inverse = neuler.function(lambda A: nm.solve(A, np.eye(3)), {"A": (3, 3)})
    close(inverse(matrix), np.linalg.inv(matrix), 1e-12)
    fixed = neuler.function(lambda b: nm.solve(matrix[0], b), {"b": 3})
    close(fixed(right[0, :, 0]), np.linalg.solve(matrix[0], right[0, :, 0]), 1e-13)


def test_derivatives():
    """dx/db = A^-1 and dx/dA_ij = -A^-1 e_i x_j."""
    rng = np.random.default_rng(1)
    matrix, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    f = neuler.function(nm.solve, {"A": (3, 3), "b": 3})
    inverse, x = np.linalg.inv(matrix), np.linalg.solve(matrix, b)
    close(f.jacobian("b")(matrix, b), inverse, 1e-12)
    close(f.jacobian("A")(matrix, b), -np.einsum("ki,j->kij", inverse, x), 1e-11)


def test_the_inertia_matrix_of_a_robot():
    """In a function the verb's result is a matrix of traced values; positive definite ones take fewer operations."""
    arm = neuler.robots.puma560().without_friction()
    q, qd, tau = np.random.default_rng(2).normal(size=(3, 20, 6))

    def made(positive):
        def accelerations(q, qd, tau):
            return nm.solve(arm.mass_matrix(q), tau - arm.bias_force(q, qd), positive=positive)

        return neuler.function(accelerations, {"q": 6, "qd": 6, "tau": 6})

    general, positive = made(False), made(True)
    for f in (general, positive):
        close(f(q, qd, tau), arm.forward_dynamics(q, qd, tau), 1e-10)
    assert positive.operations.mul < general.operations.mul


def test_singular_matrices_are_nan_compiled_and_plain():
    f = neuler.function(nm.solve, {"A": (2, 2), "b": 2})
    matrices, b = np.array([[[1.0, 2.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 4.0]]]), np.array([1.0, 2.0])
    for found in (f(matrices, b), nm.solve(matrices, b)):
        assert np.isnan(found[0]).all()
        close(found[1], [0.5, 0.5], 1e-15)
    structural = neuler.function(lambda x: nm.solve([[x, x], [0.0, 0.0]], [1.0, x]), {"x": ()})
    assert np.isnan(structural(2.0)).all()


def test_bad_input():
    for a, b in ((np.eye(3), np.ones(2)), (np.ones((2, 3)), np.ones(2)), (1.0, 1.0), (np.eye(2), 1.0), (np.eye(2), [])):
        with pytest.raises(neuler.InputError, match=r"solve: expected A with last axes \(n, n\) and b with shape"):
            nm.solve(a, b)
    with pytest.raises(neuler.InputError, match="positive=True, but a pivot of A is zero"):
        neuler.function(lambda x: nm.solve([[x, 1.0], [1.0, 0.0]], [1.0, 2.0], positive=True), {"x": ()})


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.solve,
        lambda A, b: np.linalg.inv(A) @ b,
        lambda A, b: np.linalg.det(A),
        lambda A, b: np.linalg.qr(A)[0],
        lambda A, b: np.linalg.lstsq(A, b)[0],
    ],
)
def test_numpys_linear_algebra_points_here(f):
    with pytest.raises(neuler.InputError, match=r"numpy.linalg takes numbers alone.*neuler.math.solve\(A, b\) solves"):
        neuler.function(f, {"A": (3, 3), "b": 3})


def test_what_is_wrong_with_numbers_stays_numpys():
    """A constant matrix that is singular has nothing to do with tracing."""
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        neuler.function(lambda b: np.linalg.inv(np.zeros((3, 3))) @ b, {"b": 3})

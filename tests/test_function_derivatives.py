"""Derivatives of functions: against SymPy, the complex step and each other; dense, sparse, as products."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import neuler
from neuler import math as nm
from random_robots import along, close

EXACT = 1e-12
STEP = 1e-40


def vector(x, u):
    """Smooth in x (3) and u (2); written so that numbers, complex ones, traced values and SymPy all do."""
    sin, exp, sqrt = (_of(x[0], name) for name in ("sin", "exp", "sqrt"))
    return [
        sin(x[0] * u[0]) / sqrt(x[1] ** 2 + u[1] ** 2 + 1),
        exp(-x[2] * u[1]) * x[0] - u[0] ** 3,
        x[1] * x[2] * u[0] / (1 + x[0] ** 2),
        x[2],
    ]


def _of(x, name):
    return getattr(sympy, name) if isinstance(x, sympy.Basic) else getattr(np, name)


def number(x, u):
    parts = vector(x, u)
    return parts[0] * parts[1] + parts[2] ** 2


VECTOR = neuler.function(vector, {"x": 3, "u": 2})
NUMBER = neuler.function(number, {"x": 3, "u": 2})
SYMBOLS = sympy.symbols("x0:3 u0:2", real=True)
X, U = (np.random.default_rng(1).uniform(-1.5, 1.5, (20, n)) for n in (3, 2))
W = np.random.default_rng(2).normal(size=(20, 4))
DX, DU = (np.random.default_rng(3).normal(size=(20, n)) for n in (3, 2))


def exact(expressions):
    """By SymPy: an array function of the 20 points."""
    made = sympy.lambdify(SYMBOLS, expressions, "numpy")
    return np.array([np.array(made(*x, *u), dtype=float) for x, u in zip(X, U, strict=True)])


def symbolic(f):
    found = f(SYMBOLS[:3], SYMBOLS[3:])
    return sympy.Matrix(found if isinstance(found, list) else [found])


def by_complex_step(f):
    """(20, outputs, 5)."""
    rows = []
    for x, u in zip(X, U, strict=True):
        columns = []
        for k in range(5):
            moved = np.concatenate([x, u]).astype(complex)
            moved[k] += 1j * STEP
            columns.append(np.array(f(moved[:3], moved[3:])).imag / STEP)
        rows.append(np.stack(columns, -1))
    return np.array(rows)


def test_jacobians_against_sympy_and_the_complex_step():
    expected = exact(symbolic(vector).jacobian(SYMBOLS))
    close(by_complex_step(vector), expected, EXACT)
    close(VECTOR.jacobian()(X, U), expected, EXACT)
    close(VECTOR.jacobian("x")(X, U), expected[..., :3], EXACT)
    close(VECTOR.jacobian("u")(X, U), expected[..., 3:], EXACT)
    close(VECTOR.jacobian(["u", "x"])(X, U), np.concatenate([expected[..., 3:], expected[..., :3]], -1), EXACT)
    close(NUMBER.jacobian()(X, U), by_complex_step(number), EXACT)
    close(NUMBER.jacobian("x")(X, U), exact(symbolic(number).jacobian(SYMBOLS))[:, 0, :3], EXACT)


def test_hessians_against_sympy_and_differences():
    expected = exact(sympy.hessian(symbolic(number)[0], SYMBOLS))
    found = NUMBER.hessian()(X, U)
    close(found, expected, EXACT)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))
    close(NUMBER.hessian("u")(X, U), expected[:, 3:, 3:], EXACT)
    order = [3, 4, 0, 1, 2]
    close(NUMBER.hessian(["u", "x"])(X, U), expected[:, order][:, :, order], EXACT)
    slope = NUMBER.jacobian("x")
    for k in range(3):
        close(found[:, k, :3], along(lambda t, k=k: slope(X + t * np.eye(3)[k], U)), 1e-9)
    weighted = sum(W[:, k, None, None] * exact(sympy.hessian(part, SYMBOLS)) for k, part in enumerate(symbolic(vector)))
    close(VECTOR.hessian()(X, U, W), weighted, EXACT)
    assert [operand.name for operand in VECTOR.hessian().inputs] == ["x", "u", "weights"]


def test_products_against_sympy():
    matrix = exact(symbolic(vector).jacobian(SYMBOLS))
    direction = np.hstack([DX, DU])
    close(VECTOR.jvp()(X, U, DX, DU), np.einsum("kij,kj->ki", matrix, direction), EXACT)
    close(VECTOR.jvp("u")(X, U, du=DU), np.einsum("kij,kj->ki", matrix[..., 3:], DU), EXACT)
    pulled = np.einsum("ki,kij->kj", W, matrix)
    found = VECTOR.vjp()(X, U, W)
    assert found._fields == ("gradient_x", "gradient_u")
    close(np.hstack(found), pulled, EXACT)
    close(VECTOR.vjp("x")(X, U, weights=W), pulled[:, :3], EXACT)
    bent = exact(sympy.hessian(symbolic(number)[0], SYMBOLS))
    close(np.hstack(NUMBER.hvp()(X, U, DX, DU)), np.einsum("kij,kj->ki", bent, direction), EXACT)
    close(NUMBER.vjp("u")(X, U, 2.0), 2.0 * NUMBER.jacobian("u")(X, U), EXACT)


def test_products_are_those_with_the_matrices():
    """J dx, w^T J, H dx by themselves and through the matrices; w^T (J dx) both ways."""
    matrix, direction = VECTOR.jacobian()(X, U), np.hstack([DX, DU])
    forward = VECTOR.jvp()(X, U, DX, DU)
    backward = np.hstack(VECTOR.vjp()(X, U, W))
    close(forward, np.einsum("kij,kj->ki", matrix, direction), EXACT)
    close(backward, np.einsum("ki,kij->kj", W, matrix), EXACT)
    close(np.einsum("ki,ki->k", W, forward), np.einsum("ki,ki->k", backward, direction), EXACT)
    bent = VECTOR.hessian("x")(X, U, W)
    close(VECTOR.hvp("x")(X, U, W, DX), np.einsum("kij,kj->ki", bent, DX), EXACT)
    close(VECTOR.vjp("x").jvp("x")(X, U, W, DX), VECTOR.hvp("x")(X, U, W, DX), EXACT)


def test_products_grow_with_the_function_alone():
    """Operations of the products are a small multiple of the function's, those of the matrices are not."""

    def chain(x):
        for k in range(6):
            x = np.sin(x) * np.roll(x, 1 + k) + 0.1 * x**2
        return x

    def work(f):
        return f.operations.mul + f.operations.add + f.operations.trig

    f = neuler.function(chain, {"x": 24})
    assert work(f.jvp()) < 4 * work(f)
    assert work(f.vjp()) < 4 * work(f)
    assert work(f.hvp()) < 12 * work(f)
    assert work(f.jacobian()) > 10 * work(f)


def test_matrices_and_numbers_among_the_inputs():
    """Shapes are out + in; structure indexes the dense array along every axis."""
    f = neuler.function(lambda A, s: s * (A @ A.T), {"A": (2, 3), "s": ()})
    A, s = np.random.default_rng(4).normal(size=(2, 3)), 1.7
    full = f.jacobian("A")(A, s)
    assert full.shape == (2, 2, 2, 3)
    for i in range(2):
        for j in range(3):
            d = np.zeros((2, 3))
            d[i, j] = 1.0
            close(full[..., i, j], s * (d @ A.T + A @ d.T), EXACT)
    np.testing.assert_allclose(f.jacobian("s")(A, s), A @ A.T, rtol=1e-14)
    assert f.jacobian()(A, s).shape == (2, 2, 7)
    assert f.hessian("A").outputs[0].shape == (2, 3, 2, 3)
    assert f.vjp("A")(A, s, np.eye(2)).shape == (2, 3)
    sparse = f.jacobian("A", sparse=True)
    dense = np.zeros((2, 2, 2, 3))
    dense[sparse.structure["dy_dA"]] = sparse(A, s)
    np.testing.assert_allclose(dense, full, rtol=1e-14, atol=1e-15)
    assert sparse.outputs[0].size < 24


@pytest.mark.parametrize("wrt", [None, "x", "u", ["u", "x"]])
def test_sparse_matrices_are_the_dense_ones(wrt):
    for name, arguments in (("jacobian", (X, U)), ("hessian", (X, U, W))):
        full, sparse = getattr(VECTOR, name)(wrt), getattr(VECTOR, name)(wrt, sparse=True)
        key = sparse.outputs[0].name
        rebuilt = np.zeros(full(*arguments).shape)
        rebuilt[(slice(None), *sparse.structure[key])] = sparse(*arguments)
        close(rebuilt, full(*arguments), EXACT)
        assert sparse.outputs[0].size == len(sparse.structure[key][0]) <= full.outputs[0].size


def test_structural_zeros_are_left_out():
    """An arrow: the first with all, the others with themselves; both triangles of the Hessian are given."""
    f = neuler.function(lambda x: x[0] * (x[1:] @ x[1:]) + np.sin(x[1:]).sum(), {"x": 6})
    bend = f.hessian(sparse=True)
    places = set(zip(*(axis.tolist() for axis in bend.structure["hessian"]), strict=True))
    assert places == {(0, k) for k in range(1, 6)} | {(k, 0) for k in range(1, 6)} | {(k, k) for k in range(1, 6)}
    x, dense = np.linspace(0.1, 0.6, 6), np.zeros((6, 6))
    dense[bend.structure["hessian"]] = bend(x)
    np.testing.assert_allclose(dense, f.hessian()(x), rtol=1e-14)
    slope = neuler.function(lambda x: x[:-1] - x[1:] ** 2, {"x": 4}).jacobian(sparse=True)
    assert [axis.tolist() for axis in slope.structure["dy_dx"]] == [[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3]]
    np.testing.assert_array_equal(slope(np.arange(4.0)), [1, -2, 1, -4, 1, -6])


def test_several_outputs():
    f = neuler.function(lambda x: (x @ x, 3 * x, 5.0), {"x": 2}, ["a", "b", "c"])
    found = f.jacobian()([1.0, 2.0])
    assert found._fields == ("da_dx", "db_dx", "dc_dx")
    np.testing.assert_array_equal(found.da_dx, [2, 4])
    np.testing.assert_array_equal(found.db_dx, 3 * np.eye(2))
    np.testing.assert_array_equal(found.dc_dx, [0, 0])
    assert f.jacobian(of=["b", "a"]).outputs[0].name == "db_dx"
    np.testing.assert_array_equal(f.hessian(of="a")([1.0, 2.0]), 2 * np.eye(2))
    assert [x.name for x in f.vjp().inputs] == ["x", "weights_a", "weights_b", "weights_c"]
    np.testing.assert_array_equal(f.vjp()([1.0, 2.0], 1.0, [10.0, 20.0], 7.0), [32.0, 64.0])
    np.testing.assert_array_equal(f.hessian()([1.0, 2.0], 4.0, [1, 1], 1), 8 * np.eye(2))
    rates = f.jvp()([1.0, 2.0], [1.0, 0.0])
    assert rates._fields == ("da", "db", "dc")
    assert (rates.da, rates.db.tolist(), rates.dc) == (2.0, [3.0, 0.0], 0.0)


def test_names_that_are_taken():
    f = neuler.function(lambda x, dx, weights: x * dx + weights, {"x": 2, "dx": 2, "weights": 2}, "dy")
    assert [x.name for x in f.jvp("x").inputs] == ["x", "dx", "weights", "dx_"]
    assert [x.name for x in f.vjp("x").inputs] == ["x", "dx", "weights", "weights_"]
    twice = neuler.function(lambda x: x**3, {"x": 2}).jvp().jvp("x")
    assert [x.name for x in twice.inputs] == ["x", "dx", "dx_"]
    np.testing.assert_allclose(twice([2.0, 1.0], [1.0, 1.0], [1.0, 1.0]), [12.0, 6.0])


def test_derivatives_of_derivatives():
    f = neuler.function(lambda x: x[0] ** 3 * x[1] ** 2, {"x": 2})
    bend = f.jacobian().jacobian()
    np.testing.assert_allclose(bend([2.0, 3.0]), f.hessian()([2.0, 3.0]), rtol=1e-14)
    third = f.hessian().jacobian()([2.0, 3.0])
    np.testing.assert_allclose(third, [[[54, 72], [72, 24]], [[72, 24], [24, 0]]], rtol=1e-14)


def test_what_is_not_chosen_has_no_effect_on_derivatives():
    """Behind a choice a root of a negative number, and a quotient by zero: forwards, backwards and twice."""

    def f(x):
        safe = nm.where(x[0] > 0, np.sqrt(x[0]) * x[1] + 1.0 / x[0], x[0] ** 2 * x[1])
        return safe + nm.where(x[0] > 0, nm.where(x[1] > 0, np.log(x[1]) * np.sqrt(x[0]), x[1] ** 2), x[1])

    made = neuler.function(f, {"x": 2})
    with np.errstate(all="ignore"):
        for x in ([-2.0, 3.0], [0.0, 3.0], [-2.0, -3.0]):
            a, b = x
            slope, bend = [2 * a * b, a**2 + 1], [[2 * b, 2 * a], [2 * a, 0.0]]
            np.testing.assert_allclose(made.jacobian()(x), slope)
            np.testing.assert_allclose(made.vjp()(x, 1.0), slope)
            np.testing.assert_allclose(made.hessian()(x), bend)
            np.testing.assert_allclose(made.hvp()(x, [1.0, 2.0]), np.array(bend) @ [1, 2])
        a, b = 4.0, -2.0
        np.testing.assert_allclose(made.vjp()([a, b], 1.0), [0.25 * b - 1 / a**2, 2.0 + 2 * b])
        np.testing.assert_allclose(made.jacobian()([a, b]), [0.25 * b - 1 / a**2, 2.0 + 2 * b])


def test_what_two_choices_hide_is_hidden():
    """A root that both choices may take, and a third beside them: taken by some, by all or by none."""

    def f(x, a, b):
        root = np.sqrt(x) * 1.0
        return nm.where(a > 0, root, x) + nm.where(b > 0, 2.0 * root, 0.0) + nm.where((a > 0) & (b > 0), root * x, 0.0)

    made = neuler.function(f, {"x": (), "a": (), "b": ()})
    for x in (4.0, 0.0, -1.0):
        for a in (-1.0, 1.0):
            for b in (-1.0, 1.0):
                slope = 0.5 / np.sqrt(x) if x > 0 else np.nan
                expected = (slope if a > 0 else 1.0) + (2 * slope if b > 0 else 0.0)
                expected += slope * x + np.sqrt(x) if a > 0 and b > 0 and x > 0 else 0.0
                with np.errstate(all="ignore"):
                    pair = made.vjp("x")(x, a, b, 1.0), made.jvp("x")(x, a, b, 1.0)
                if np.isfinite(expected):
                    np.testing.assert_allclose(pair, expected, rtol=1e-14)
                else:
                    assert not np.isfinite(pair).any()


def test_the_lesser_and_the_greater_hide_the_other():
    """Where the root is not taken its infinite slope does no harm; where it is, the slope is its own."""
    f = neuler.function(lambda x: [nm.maximum(np.sqrt(x), 0.1), nm.clip(1.0 / x, -2.0, 2.0)], {"x": ()})
    for x, slope, bend in ((0.0, [0.0, 0.0], 0.0), (4.0, [0.25, -1 / 16], -1 / 32 + 2 / 64)):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(f.jacobian()(x), slope)
            np.testing.assert_allclose(f.jvp()(x, 1.0), slope)
            np.testing.assert_allclose(f.vjp()(x, [1.0, 0.0]), slope[0])
            np.testing.assert_allclose(f.vjp()(x, [0.0, 1.0]), slope[1])
            np.testing.assert_allclose(f.hvp()(x, [1.0, 1.0], 1.0), bend, atol=1e-15)


def test_random_functions_against_the_complex_step():
    """Long programs that share values, every derivative of each against every other."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        plan = [(int(rng.integers(6)), *rng.integers(0, 6, 2), float(rng.normal())) for _ in range(25)]

        def f(x, plan=plan):
            pool = list(x)
            for kind, i, j, c in plan:
                a, b = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
                pool.append(
                    (a * b, a + c * b, np.sin(a) - b, a / (b * b + 1.5), np.sqrt(a * a + 1) * c, np.tanh(a + b))[kind]
                )
            return [pool[-1], pool[-4], pool[-9]]

        made = neuler.function(f, {"x": 4})
        x = rng.uniform(-1, 1, 4)
        expected = np.stack([np.imag(f(x + 1j * STEP * unit)) / STEP for unit in np.eye(4)], -1)
        scale = max(1.0, float(np.abs(expected).max()))
        close(made.jacobian()(x), expected, EXACT, scale)
        w, d = rng.normal(size=3), rng.normal(size=4)
        close(made.vjp()(x, w), w @ expected, EXACT, 3 * scale)
        close(made.jvp()(x, d), expected @ d, EXACT, 4 * scale)
        bend = made.hessian()(x, w)
        slope = made.vjp()
        close(bend @ d, along(lambda t, x=x, d=d, w=w, s=slope: s(x + t * d, w), step=1e-2), 1e-5)
        close(made.hvp()(x, w, d), bend @ d, EXACT, max(1.0, 4 * float(np.abs(bend).max())))

"""The differentiation pass against the complex step and differences: tangents, gradients, Jacobians, Hessians."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler import robots
from neuler.compiler.build import compile_recipe
from neuler.quantities.setup import grouped_tree
from neuler.recursions.hybrid import hybrid
from neuler.trace import graph as g
from neuler.trace.differentiate import dense, gradient, hessian, jacobian, tangents
from neuler.trace.graph import Graph, Node, cos, sign, sin, sqrt
from neuler.trace.recipe import Operand, Recipe
from random_robots import close

STEP = 1e-40
EXACT = 1e-12

_MEANING = {
    g.ADD: lambda a, b: a + b,
    g.SUB: lambda a, b: a - b,
    g.MUL: lambda a, b: a * b,
    g.DIV: lambda a, b: a / b,
    g.NEG: lambda a, b: -a,
    g.SIN: lambda a, b: cmath.sin(a),
    g.COS: lambda a, b: cmath.cos(a),
    g.SQRT: lambda a, b: cmath.sqrt(a),
    g.SIGN: lambda a, b: float(np.sign(a.real)),
}


def value(outputs, inputs, numbers):
    """The graph at a point, complex numbers included: written from what each operation means."""
    known = dict(zip(inputs, map(complex, numbers), strict=True))
    nodes = [x for x in outputs if isinstance(x, Node)]
    for node in nodes[0].graph.live(nodes) if nodes else ():
        if node not in known:
            a, b = (known[x] if isinstance(x, Node) else complex(x) for x in (node.a, node.b))
            known[node] = _MEANING[node.op](a, b)
    return np.array([known[x] if isinstance(x, Node) else complex(x) for x in outputs])


def real(outputs, inputs, numbers):
    return value(outputs, inputs, numbers).real


def by_complex_step(outputs, inputs, numbers):
    columns = []
    for j in range(len(inputs)):
        moved = [complex(x) for x in numbers]
        moved[j] += 1j * STEP
        columns.append(value(outputs, inputs, moved).imag / STEP)
    return np.stack(columns, -1)


_OPERATIONS = [
    lambda a, b, c: a + b * sign(a),
    lambda a, b, c: a - b,
    lambda a, b, c: a * b,
    lambda a, b, c: a * c,
    lambda a, b, c: c - a,
    lambda a, b, c: c / (a * a + 2.0),
    lambda a, b, c: -a,
    lambda a, b, c: sin(a),
    lambda a, b, c: cos(a),
    lambda a, b, c: a / (b * b + 1.0),
    lambda a, b, c: sqrt(a * a + 1.0),
]
"""All smooth but for the jump of a sign, far from any point that is drawn."""


def random_graph(seed, inputs, size, outputs=5):
    """Random expressions that share values; values stay of the size of one."""
    rng = np.random.default_rng(seed)
    x = Graph().inputs("x", inputs)
    pool = list(x)
    for _ in range(size):
        a, b = (pool[int(k)] for k in rng.integers(0, len(pool), 2))
        if not isinstance(a, Node):
            a = x[0]
        pool.append(_OPERATIONS[int(rng.integers(len(_OPERATIONS)))](a, b, float(rng.normal())) * 0.6)
    return x, pool[-outputs:], rng.uniform(0.3, 1.2, inputs) * rng.choice([-1.0, 1.0], inputs)


graphs = given(st.integers(0, 10**6), st.integers(1, 5), st.integers(5, 60))
quickly = settings(max_examples=40, deadline=None, derandomize=True)


@quickly
@graphs
def test_jacobians_are_the_complex_step(seed, inputs, size):
    x, outputs, at = random_graph(seed, inputs, size)
    expected = by_complex_step(outputs, x, at)
    scale = max(float(np.abs(expected).max()), 1.0)
    for backward in (False, True):
        entries = jacobian(outputs, x, backward=backward)
        found = real(dense(entries, len(outputs), inputs), x, at).reshape(expected.shape)
        close(found, expected, EXACT, scale, f"backward={backward}")


@quickly
@graphs
def test_tangents_and_gradients_are_products_with_the_jacobian(seed, inputs, size):
    x, outputs, at = random_graph(seed, inputs, size)
    rng = np.random.default_rng(seed)
    matrix = by_complex_step(outputs, x, at)
    scale = max(float(np.abs(matrix).max()), 1.0)
    way = rng.normal(size=inputs)
    found = real(tangents(outputs, dict(zip(x, way.tolist(), strict=True))), x, at)
    close(found, matrix @ way, EXACT, scale * inputs)
    for out, row in zip(outputs, matrix, strict=True):
        close(real(gradient(out, x, 2.5), x, at), 2.5 * row, EXACT, scale)


@quickly
@graphs
def test_hessians_are_the_complex_step_of_the_gradient(seed, inputs, size):
    x, outputs, at = random_graph(seed, inputs, size)
    weights = np.random.default_rng(seed).normal(size=len(outputs)).tolist()
    entries = hessian(outputs, weights, x)
    found = real(dense(entries, inputs, inputs), x, at).reshape(inputs, inputs)
    slopes = [gradient(out, x, w) for out, w in zip(outputs, weights, strict=True)]
    expected = sum(by_complex_step(slope, x, at) for slope in slopes)
    close(found, expected, EXACT, max(float(np.abs(expected).max()), 1.0))
    assert all(entries[i, j] is entries[j, i] for i, j in entries)


def test_a_long_expression_against_many_digits():
    """Every operation once, against 40-digit differences."""
    mp = pytest.importorskip("mpmath")
    x, y = Graph().inputs("x", 2)

    def f(a, b, sine, cosine, root):
        return sine(a * b) / root(a * a + b + 3) - cosine(a - b) * (1.5 - a) / b

    made = f(x, y, sin, cos, sqrt)
    second = hessian([made], [1.0], [x, y])
    with mp.workdps(40):
        exact = lambda a, b: f(a, b, mp.sin, mp.cos, mp.sqrt)  # noqa: E731
        orders = {(0, 0): (2, 0), (1, 0): (1, 1), (1, 1): (0, 2)}
        for k, order in enumerate(((1, 0), (0, 1))):
            expected = float(mp.diff(exact, (0.7, -0.4), order))
            assert real([gradient(made, [x, y])[k]], [x, y], [0.7, -0.4])[0] == pytest.approx(expected, rel=1e-14)
        for place, order in orders.items():
            expected = float(mp.diff(exact, (0.7, -0.4), order))
            assert real([second[place]], [x, y], [0.7, -0.4])[0] == pytest.approx(expected, rel=1e-13)


# ---- structure -------------------------------------------------------------------------------------------


def test_structural_zeros_are_absent():
    x, y, z = Graph().inputs("x", 3)
    outputs = [x * y, z + 2.0, 7.0, sin(x) * 0.0]
    for backward in (False, True):
        assert set(jacobian(outputs, [x, y, z], backward=backward)) == {(0, 0), (0, 1), (1, 2)}
    assert set(hessian(outputs, [1.0] * 4, [x, y, z])) == {(0, 1), (1, 0)}
    assert hessian([3.0, 4.0], [1.0, 2.0], [x]) == {}
    assert jacobian([], [x]) == jacobian([2.0], [x]) == {}


def test_linear_functions_have_numbers_for_derivatives():
    x, y = Graph().inputs("x", 2)
    for backward in (False, True):
        assert jacobian([2.0 * x - y, x], [x, y], backward=backward) == {(0, 0): 2.0, (0, 1): -1.0, (1, 0): 1.0}
    assert hessian([2.0 * x - y], [1.0], [x, y]) == {}


def test_the_sign_has_derivative_zero():
    """Also at zero, where it is not defined: the factor of a sign keeps its own derivative."""
    (x,) = Graph().inputs("x", 1)
    assert jacobian([sign(x), sign(sin(x))], [x]) == {}
    assert gradient(sign(x), [x]) == tangents([sign(x)], {x: 1.0}) == [0.0]
    slope = gradient(x * sign(x), [x])
    assert [real(slope, [x], [at])[0] for at in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]


def test_derivatives_divide_by_nothing_new():
    """Without a division in the graph there is none in its derivatives; that of a / b divides by b alone."""
    x, y = Graph().inputs("x", 2)
    plain = list(jacobian([sin(x) * y + x * x * cos(y)], [x, y]).values())
    assert g.count(plain)["div"] == 0
    quotient = dense(jacobian([x / y], [x, y]), 1, 2)
    assert np.isfinite(real(quotient, [x, y], [0.0, 2.0])).all()  # a numerator of zero does no harm
    assert real(quotient, [x, y], [0.0, 2.0]).tolist() == [0.5, 0.0]
    root = gradient(sqrt(x * x + 1.0), [x])
    assert real(root, [x], [0.0])[0] == 0.0


def test_an_input_that_is_an_output():
    x, y = Graph().inputs("x", 2)
    for backward in (False, True):
        assert jacobian([x, y, x], [x, y], backward=backward) == {(0, 0): 1.0, (1, 1): 1.0, (2, 0): 1.0}
    twice = x + 0.0
    assert gradient(twice, [x, y], weight=y) == [y, 0.0]


# ---- torques ---------------------------------------------------------------------------------------------


def weighted_torques():
    """w . tau of a three-joint arm: its gradient and Hessian to (q, qd, qdd), compiled."""
    tree, n = grouped_tree(robots.general_chain(3)), 3
    weights = [0.7, -1.3, 2.1]

    def trace(values):
        state = [values[name] for name in ("q", "qd", "qdd")]
        tau = hybrid(tree, *state, [True] * n).coordinates
        inputs = [x for block in state for x in block]
        slope = [0.0] * len(inputs)
        for out, w in zip(tau, weights, strict=True):
            slope = [a + b for a, b in zip(slope, gradient(out, inputs, w), strict=True)]
        return [slope, dense(hessian(tau, weights, inputs), 3 * n, 3 * n)]

    inputs = tuple(Operand(name, (n,)) for name in ("q", "qd", "qdd"))
    outputs = (Operand("slope", (3 * n,)), Operand("bend", (3 * n, 3 * n)))
    return compile_recipe(Recipe(inputs, outputs, trace), "weighted", "", "float64", ("weighted torques", 3)).ufunc


def test_hessian_of_torques():
    kernel = weighted_torques()
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (20, 9))
    slope, bend = kernel(x[:, :3], x[:, 3:6], x[:, 6:])
    np.testing.assert_array_equal(bend, np.swapaxes(bend, 1, 2))
    step, columns = 1e-3, []
    for j in range(9):
        total = 0.0
        for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for side in (1, -1):
                moved = x.copy()
                moved[:, j] += side * k * step
                total = total + side * weight * kernel(moved[:, :3], moved[:, 3:6], moved[:, 6:])[0]
        columns.append(total / (60 * step))
    close(bend, np.stack(columns, -1), 1e-10)
    assert not bend[:, 6:, 6:].any()  # torques are linear in the accelerations
    assert not bend[:, 3:6, 6:].any()  # and the inertia matrix depends on q alone
    tau = robots.general_chain(3).inverse_dynamics_sensitivities(x[:, :3], x[:, 3:6], x[:, 6:])
    close(slope, np.hstack([np.einsum("i,kij->kj", [0.7, -1.3, 2.1], m) for m in tau]), 1e-12)
    assert math.isfinite(float(np.abs(bend).max()))

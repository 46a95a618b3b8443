"""The graph folds as it grows, and never changes a value."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler.compiler.build import compile_recipe
from neuler.compiler.schedule import schedule
from neuler.compiler.target import available_levels, level
from neuler.trace.differentiate import jacobian
from neuler.trace.graph import Graph, cos, count, inverse_above, one_if_above, sign, sin, sqrt
from neuler.trace.recipe import Operand, Recipe, evaluate, traced


def test_interning_and_folding():
    x, y = Graph().inputs("x", 2)
    assert x * y is y * x
    assert x + y is y + x
    assert (x - y) is -(y - x)
    assert x * 0.0 == 0.0
    assert x * 1 is x
    opposite = -x
    assert -opposite is x
    assert x + 0.0 is x
    assert x - x == 0.0
    assert x / x == 1.0
    assert (-x) * (-y) is x * y
    assert x - (-y) is x + y
    assert (x * 2.0) * 3.0 is x * 6.0
    assert (x + 1.0) + 2.0 is x + 3.0
    assert 0.0 / x == 0.0
    assert sin(-x) is -sin(x)
    assert cos(-x) is cos(x)
    assert sign(-x) is -sign(x)


def test_plain_numbers_stay_numbers():
    assert sin(0.5) == math.sin(0.5)
    assert cos(0.5) == math.cos(0.5)
    assert sqrt(4.0) == 2.0
    assert [sign(v) for v in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]
    assert math.isnan(sign(math.nan))


def test_a_traced_value_is_not_a_number():
    (x,) = Graph().inputs("x", 1)
    with pytest.raises(TypeError, match="no truth"):
        bool(x)
    with pytest.raises(TypeError, match="not a number yet"):
        float(x)


def test_count_takes_only_what_is_needed():
    x, y = Graph().inputs("x", 2)
    _ = x * y * 5.0
    assert count([x * y + 1.0, sin(x), 3.0]) == {"mul": 1, "add": 1, "div": 0, "trig": 1}
    assert count([2.0]) == {"mul": 0, "add": 0, "div": 0, "trig": 0}


_OPERATIONS = [
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a * b,
    lambda a, b, c: a * c,
    lambda a, b, c: c - a,
    lambda a, b, c: -a,
    lambda a, b, c: sin(a),
    lambda a, b, c: cos(a),
    lambda a, b, c: a / (b * b + 1.0),
    lambda a, b, c: sqrt(a * a + 1.0),
]


def _random_expressions(seed: int, inputs: int, size: int):
    """A trace that builds a random graph: shared values, constants, all operations."""

    def trace(values):
        rng = np.random.default_rng(seed)
        pool = list(values["x"])
        for _ in range(size):
            a, b = (pool[int(k)] for k in rng.integers(0, len(pool), 2))
            kind = int(rng.integers(0, len(_OPERATIONS)))
            c = float(rng.normal())
            made = _OPERATIONS[kind](a, b, c)
            if kind == 0:
                made = made * sign(values["x"][0])  # of an input: a sum's sign may hang on its rounding
            pool.append(made * 0.7)
        return [pool[-8:]]

    return Recipe((Operand("x", (inputs,)),), (Operand("y", (8,)),), trace)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 200))
def test_compiled_graphs_equal_plain_floats(seed, inputs, size):
    recipe = _random_expressions(seed, inputs, max(size, 8))
    kernel = compile_recipe(recipe, "random", "", "float64", ("random graph", seed, inputs, size)).ufunc
    x = np.random.default_rng(seed).normal(size=(11, inputs))
    expected = np.array([evaluate(recipe, {"x": row})[0] for row in x])
    np.testing.assert_allclose(kernel(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("chunk", [1, 3, 17, 1000])
def test_chunks_do_not_change_the_result(chunk, monkeypatch):
    monkeypatch.setitem(schedule.__kwdefaults__, "chunk", chunk)
    recipe = _random_expressions(7, 4, 120)
    kernel = compile_recipe(recipe, "chunked", "", "float64", ("chunks", chunk)).ufunc
    x = np.random.default_rng(0).normal(size=(9, 4))
    expected = np.array([evaluate(recipe, {"x": row})[0] for row in x])
    np.testing.assert_allclose(kernel(x), expected, rtol=1e-11, atol=1e-11)


def test_slots_are_used_again():
    recipe = Recipe(
        (Operand("x", (1,)),), (Operand("y", (1,)),), lambda v: [[_long_chain(v["x"][0], 4000)]]
    )  # fmt: skip
    nodes, outputs = traced(recipe)
    assert schedule(nodes, outputs, fma=True, chunk=50).slots < 20


def _long_chain(x, length):
    y = x
    for k in range(length):
        y = y * x + float(k + 1)
    return y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", available_levels())
def test_marks_compare_without_a_flag(name, dtype):
    """1 above a number, NaN elsewhere, at every edge; NumPy has nothing to warn of."""
    least = (0.0, 1e-12, 0.25)
    recipe = Recipe(
        (Operand("x", ()),), (Operand("y", (3,)),), lambda v: [[one_if_above(v["x"][0], c) for c in least]]
    )  # fmt: skip
    kernel = compile_recipe(recipe, "marks", "", dtype, "marks", level(name)).ufunc
    kind = np.dtype(dtype).type
    edges = [edge for c in least for edge in (c, np.nextafter(kind(c), kind(9)), np.nextafter(kind(c), kind(-9)))]
    x = np.array([*edges, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, np.finfo(kind).tiny, 1e30, -1e30], kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kernel(x)
    with np.errstate(invalid="ignore"):
        expected = np.where(x[:, None] > np.array(least, kind), kind(1), kind(np.nan))
    np.testing.assert_array_equal(found, expected)
    assert one_if_above(0.3, 0.25) == 1.0
    assert np.isnan(one_if_above(0.25, 0.25))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", available_levels())
@pytest.mark.parametrize("sizes", [(1,), (2,), (5, 4), (16,), (17,), (9, 24)], ids=str)
def test_calls_with_nan_among_their_results_are_counted(name, dtype, sizes):
    """Wherever it stands, in whole blocks of rows and in what is left of them; infinity is none."""
    inputs = tuple(Operand(f"x{k}", (size,)) for k, size in enumerate(sizes))
    outputs = tuple(Operand(f"y{k}", (size,)) for k, size in enumerate(sizes))
    recipe = Recipe(inputs, outputs, lambda v: [[x * 2.0 for x in v[operand.name]] for operand in inputs])
    made = compile_recipe(recipe, "doubled", "", dtype, ("doubled", sizes), level(name), reports=True)
    for rows in (1, 3, 37):
        given = [np.ones((rows, size), dtype) for size in sizes]
        given[-1][-1, -1] = np.inf
        before = made.code.nans.value
        made.ufunc(*given)
        assert made.code.nans.value == before
        for x in given:
            for row, column in {(0, 0), (rows // 2, x.shape[1] // 2), (rows - 1, x.shape[1] - 1)}:
                number, x[row, column] = x[row, column], np.nan
                before = made.code.nans.value
                made.ufunc(*given)
                assert made.code.nans.value == before + 1
                x[row, column] = number
    assert compile_recipe(recipe, "doubled", "", dtype, ("doubled", "silent"), level(name)).code.nans is None


def test_a_mark_has_no_derivative():
    x, y = Graph().inputs("x", 2)
    inverse = inverse_above(x * y, 0.1)
    kernel = compile_recipe(
        Recipe((Operand("x", (2,)),), (Operand("d", (2,)),), lambda v: [_slopes(v["x"])]),
        "slopes",
        "",
        "float64",
        "slopes",
    ).ufunc
    assert count([inverse]) == {"mul": 1, "add": 0, "div": 1, "trig": 0}
    np.testing.assert_allclose(kernel([0.5, 3.0]), [-1 / (0.25 * 3), -1 / (0.5 * 9)], rtol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(kernel([0.0, 3.0])).all()


def _slopes(x):
    entries = jacobian([inverse_above(x[0] * x[1], 0.1)], x)
    return [entries[0, 0], entries[0, 1]]


def test_core_shapes_of_any_rank():
    """Four and five axes, with any strides, alone and in blocks."""
    shape = (2, 3, 4, 2)
    recipe = Recipe(
        (Operand("x", shape), Operand("y", (3,))),
        (Operand("z", shape), Operand("w", (4, 2, 3, 1, 2))),
        lambda v: [[2.0 * a + v["y"][0] for a in v["x"]], [a + 1.0 for a in reversed(v["x"])]],
    )
    kernel = compile_recipe(recipe, "ranks", "", "float64", "ranks").ufunc
    rng = np.random.default_rng(0)
    for batch in ((), (1,), (5,), (8,), (19,), (2, 9)):
        x, y = rng.normal(size=(*batch, *shape)), rng.normal(size=3)
        for array in (x, np.asfortranarray(x), np.repeat(x, 2, axis=-1)[..., ::2], x[..., ::-1, :, :]):
            z, w = kernel(array, y)
            np.testing.assert_array_equal(z, 2 * array + y[0])
            np.testing.assert_array_equal(w.reshape(*batch, -1), (array + 1).reshape(*batch, -1)[..., ::-1])
            out = np.zeros((*batch, 2, 6, 4, 4))[..., ::2, :, ::2]
            kernel(array, y, out=(out, None))
            np.testing.assert_array_equal(out, 2 * array + y[0])

"""The graph folds as it grows, and never changes a value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler.compiler.build import Recipe, compile_recipe, evaluate, traced
from neuler.compiler.graph import Graph, cos, count, sign, sin, sqrt
from neuler.compiler.llvm import Operand
from neuler.compiler.schedule import plan


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
    monkeypatch.setitem(plan.__kwdefaults__, "chunk", chunk)
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
    assert plan(nodes, outputs, fma=True, chunk=50).slots < 20


def _long_chain(x, length):
    y = x
    for k in range(length):
        y = y * x + float(k + 1)
    return y

"""Functions that cannot be compiled, and calls that do not fit: each error names the thing and the remedy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import neuler
from neuler import math as nm

X = {"x": 3}
LEAK = []


def branch(x):
    return x if x[0] > 0 else -x


def leak(x):
    LEAK.append(x[0])
    return x


def assign(x):
    z = np.zeros(3)
    z[0] = x[0]
    return z


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (branch, r"has no truth: a function must not branch on it.*neuler.math.where\(c, x, y\) chooses"),
        (lambda x: np.where(x[0] > 0, x, -x), r"neuler.math.where"),
        (lambda x: np.minimum(x, 0), "neuler.math has minimum"),
        (lambda x: np.sign(x), "neuler.math has .*sign"),
        (lambda x: max(x), "neuler.math has minimum, maximum"),
        (lambda x: x > 0, "neuler.math has .*less"),
        (lambda x: x[0] > 0 and x[1] > 0, "has no truth"),
        (lambda x: nm.where(x[0] == 0, 1.0, x[0]), "not known to equal another: compare with < or <="),
        (lambda x: x if x[0] != 0 else -x, "not known to equal another"),
        (lambda x: math.sin(x[0]), "not a number yet: use np.sin or neuler.math.sin, not math.sin"),
        (lambda x: int(x[0]), "not a number yet"),
        (lambda x: complex(x[0]), "not a number yet"),
        (lambda x: [1, 2, 3][x[0]], "not a number yet"),
        (lambda x: x.astype(float), r"keep it in arrays of objects \(np.zeros\(3, dtype=object\)"),
        (assign, r"np.zeros\(3, dtype=object\)"),
        (lambda x: np.floor(x), "not a number yet"),
        (lambda x: np.arctan2(1.0, x), "no attribute 'arctan2'; neuler.math has functions that take numbers"),
        (lambda x: np.sin(np.array([x[0], 1.0])), "no callable sin method; neuler.math has functions that take"),
        (lambda x: (-2.0) ** x, "-2 to the power of a traced value: the base must be above zero"),
        (lambda x: None, "output y is None; does the function lack a return"),
        (lambda x: "text", "output y must hold real numbers or traced values, got str 'text'"),
        (lambda x: [x[0], "text"], "got str 'text'"),
        (lambda x: [x[0], None], "got NoneType None"),
        (lambda x: [x[0], 1j], "got complex 1j"),
        (lambda x: np.array([1j, 2]), "got complex 1j"),
        (lambda x: {1, 2}, "got set {1, 2}"),
        (lambda x: (k for k in x), "got generator"),
        (lambda x: [x, x[0]], "not a regular array|got ndarray"),
        (lambda x: [[x[0]], [x[0], x[1]]], "not a regular array|got list"),
        (lambda x: [], r"output y has shape \(0,\): there is nothing in it"),
        (lambda x: (), "gave no results"),
        (lambda x: (x, None), "output y1 is None"),
        (lambda x: np.ma.masked_array([1.0, 2.0], [True, False]), "masked array"),
        (lambda x: {"x": x}, "'x' names an input and an output"),
        (lambda x: {"my y": x}, "a name that Python takes for an argument, got 'my y'"),
        (lambda x: {3: x}, "got 3"),
        (lambda: 1.0, r"called with its inputs \(x\): too many positional arguments"),
        (lambda x, u: x, r"called with its inputs \(x\): missing a required argument: 'u'"),
        ("sin", "a function is needed, got str"),
        (None, "a function is needed, got NoneType"),
    ],
)
def test_functions_that_cannot_be_traced(f, message):
    with pytest.raises(neuler.InputError, match=message):
        neuler.function(f, X)


def test_what_python_refuses_stays_pythons():
    for f in (lambda x: x + "3", lambda x: x[0] + 1j, lambda x: x[0] + None, lambda x: x[0] % 2, lambda x: x[7:][0]):
        with pytest.raises((TypeError, IndexError)):
            neuler.function(f, X)
    with pytest.raises(KeyError, match="mine"):
        neuler.function(lambda x: {}["mine"], X)


def test_values_of_another_function():
    neuler.function(leak, X)
    for f in (
        lambda x: x + LEAK[0],
        lambda x: [LEAK[0]],
        lambda x: nm.minimum(x, LEAK[0]),
        lambda x: neuler.robots.two_link().gravity_force([x[0], LEAK[0]]),
    ):
        with pytest.raises(neuler.InputError, match=r"of two functions meet|a traced value of another function"):
            neuler.function(f, X)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, "inputs must map names to shapes"),
        ({}, "inputs must map names to shapes"),
        (["x"], "inputs must map names to shapes"),
        (3, "inputs must map names to shapes"),
        ({"x": 0}, "shape of x must be a length.*got 0"),
        ({"x": -2}, "got -2"),
        ({"x": (2, 0)}, r"got \(2, 0\)"),
        ({"x": 2.0}, "got 2.0"),
        ({"x": "3"}, "got '3'"),
        ({"x": None}, "got None"),
        ({"x": True}, "got True"),
        ({"x": (1,) * 9}, "x has 9 axes, at most 8"),
        ({"x": (2000, 2000)}, "4000000 numbers together, at most 1048576"),
        ({"out": 3}, "an input may not be named 'out', which means something else"),
        ({"pool": 3}, "may not be named 'pool'"),
        ({"2x": 3}, "got '2x'"),
        ({"lambda": 3}, "got 'lambda'"),
        ({"_x": 3}, "got '_x'"),
        ({3: 3}, "got 3"),
    ],
)
def test_bad_inputs(inputs, message):
    with pytest.raises(neuler.InputError, match=message):
        neuler.function(lambda x: x, inputs)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["a", "b"], r"gave 1 results, its outputs are a, b \(a tuple is several results, a list is one array\)"),
        ({"a": 2}, r"output a should have shape \(2,\), the function gave \(3,\)"),
        ({"a": ()}, r"should have shape \(\)"),
        ({"a": "3"}, "shape of a must be a length"),
        ("x", "'x' names an input and an output"),
        (["a", "a"], "named twice"),
        ([], "outputs must be a name, names or a mapping"),
        (3, "outputs must be a name, names or a mapping"),
        ("a b", "got 'a b'"),
        ("inputs", "may not be named 'inputs'"),
    ],
)
def test_bad_outputs(outputs, message):
    with pytest.raises(neuler.InputError, match=message):
        neuler.function(lambda x: 2 * x, X, outputs)
    with pytest.raises(neuler.InputError, match="gave \\['b'\\], its outputs are \\['a'\\]"):
        neuler.function(lambda x: {"b": x}, X, "a")


def test_bad_names_types_and_numbers_of_arguments():
    with pytest.raises(neuler.InputError, match="got 'my function'"):
        neuler.function(lambda x: x, X, name="my function")
    for dtype in ("float16", None, int):
        with pytest.raises(neuler.InputError, match="dtype must be float64 or float32"):
            neuler.function(lambda x: x, X, dtype=dtype)
    with pytest.raises(neuler.InputError, match="65 inputs and outputs, NumPy takes 64; stack some"):
        neuler.function(lambda *x: sum(x), {f"x{k}": () for k in range(64)})
    with pytest.raises(neuler.InputError, match="leave them away"):
        neuler.function(neuler.robots.two_link().energy, outputs="e")
    large = neuler.function(lambda x: x * 1e300, X, dtype="float32")
    with pytest.raises(neuler.InputError, match=r"1e\+300 does not fit in single precision"):
        large([1.0, 2.0, 3.0])


F = neuler.function(lambda x, u: x * u, {"x": 3, "u": ()}, name="scaled")


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (([1, 2],), {"u": 1.0}, r"scaled: expected x with last axis 3, got shape \(2,\)"),
        (([1, 2, 3],), {}, r"scaled: takes 2 arrays \(x, u\), got 1"),
        (([1, 2, 3], 1.0, 2.0), {}, r"scaled: takes 2 arrays \(x, u\), got 3"),
        (([1, 2, 3],), {"v": 1.0}, "scaled: there is no input 'v'"),
        (([1, 2, 3],), {"uu": 1.0}, "did you mean 'u'|there are 'x', 'u'"),
        (([1, 2, 3],), {"x": 1.0}, "input 'x' is given twice"),
        ((), {"x": [1, 2, 3]}, "input 'u' is not given; it takes x, u"),
        (([1, 2, 3], "a"), {}, "u must be real numbers"),
        (([1, 2, 3j], 1), {}, "x must be real numbers, got complex numbers"),
        (([1, 2, None], 1), {}, "x must be real numbers, got values of type NoneType"),
        ((np.ones((2, 3)), np.ones(3)), {}, "batch axes do not broadcast"),
        (([1, 2, 3], 1.0), {"out": np.zeros(2)}, "out does not fit"),
        (([1, 2, 3], 1.0), {"out": [0, 0, 0]}, "out for y must be an array, got list"),
        ((np.ma.ones(3), 1.0), {}, "x is a masked array"),
    ],
)
def test_calls_that_do_not_fit(arguments, named, message):
    with pytest.raises(neuler.InputError, match=message):
        F(*arguments, **named)


@pytest.mark.parametrize("what", ["jacobian", "hessian", "jvp", "vjp", "hvp"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wrt": "y"}, "there is no input 'y'; there are 'x', 'u'"),
        ({"wrt": ["x", "x"]}, "a name stands twice in wrt"),
        ({"wrt": []}, "wrt must be a name or a list of names"),
        ({"wrt": 0}, "wrt must be a name or a list of names, got 0"),
        ({"wrt": {"x"}}, "wrt must be a name or a list of names"),
        ({"of": "x"}, "there is no output 'x'; there are 'y'"),
        ({"of": [3]}, "of must be a name or a list of names"),
    ],
)
def test_derivatives_that_are_not_there(what, options, message):
    with pytest.raises(neuler.InputError, match=f"scaled.{what}: {message}"):
        getattr(F, what)(**options)


def test_sparse_matrices_without_entries():
    f = neuler.function(lambda x, u: 2 * x, {"x": 3, "u": ()})
    with pytest.raises(neuler.InputError, match="y does not depend on u: it has no entries"):
        f.jacobian("u", sparse=True)
    with pytest.raises(neuler.InputError, match="y is linear in x, u: it has no entries"):
        f.hessian(sparse=True)
    with pytest.raises(neuler.InputError, match="sparse must be True, False or 'lower', got 1"):
        f.hessian(sparse=1)
    assert not f.jacobian("u")([1, 2, 3], 4).any()

"""Comparison, choice, exponential and their kin: within 2 ulp, at every edge, with exact derivatives."""

from __future__ import annotations

import math
import re
import warnings

import mpmath
import numpy as np
import pytest

from neuler.compiler.build import compile_recipe
from neuler.compiler.llvm import Emitter
from neuler.compiler.lower import lower
from neuler.compiler.support import SupportPart
from neuler.compiler.target import Target, available_levels, level, llvm_binding
from neuler.trace import scalars as f
from neuler.trace.differentiate import gradient, jacobian
from neuler.trace.graph import Graph, cos, sin, sqrt
from neuler.trace.recipe import Operand, Recipe, evaluate
from random_robots import few

LEVELS = available_levels() or (None,)
EDGES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -5e-324, 710.0, -746.0, 2e-308]
)


def kernel(function, takes, name, at=None, dtype="float64"):
    recipe = Recipe((Operand("x", (takes,)),), (Operand("y", ()),), lambda v: [[function(*v["x"])]])
    target = None if at is None else level(at)
    return compile_recipe(recipe, name, "", dtype, ("function", name, dtype), target).ufunc


def ulps(found, exact):
    """The largest error, in units of the last place of the true value."""
    worst = 0.0
    with mpmath.workprec(300):
        for mine, true in zip(found.tolist(), exact, strict=True):
            near = float(true)
            if math.isinf(near):
                assert mine == near
                continue
            worst = max(worst, float(abs(mpmath.mpf(mine) - true) / mpmath.mpf(float(np.spacing(abs(near))))))
    return worst


def exactly(function, *columns):
    with mpmath.workprec(300):
        return [function(*(mpmath.mpf(float(x)) for x in row)) for row in zip(*columns, strict=True)]


def either_sign(rng, x):
    return x * rng.choice([-1.0, 1.0], x.shape)


@pytest.mark.parametrize("at", LEVELS)
def test_one_argument_within_two_ulp(at):
    rng = np.random.default_rng(0)
    wide = either_sign(rng, 10.0 ** rng.uniform(-300, 2, 600))
    near_one = 1 + either_sign(rng, 10.0 ** rng.uniform(-16, -1, 600))
    cases = {
        "exp": (f.exp, mpmath.exp, np.concatenate([rng.uniform(-745, 709.7, 1500), rng.normal(size=600), wide])),
        "log": (f.log, mpmath.log, np.concatenate([10.0 ** rng.uniform(-320, 308, 1500), near_one, [5e-324, 1.0]])),
        "tanh": (f.tanh, mpmath.tanh, np.concatenate([rng.uniform(-25, 25, 1500), rng.normal(size=600), wide])),
    }
    for name, (mine, true, x) in cases.items():
        assert ulps(kernel(mine, 1, name, at)(x[:, None]), exactly(true, x)) <= 2.0, name


@pytest.mark.parametrize("at", LEVELS)
def test_angles_within_two_ulp(at):
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.normal(size=1500), either_sign(rng, 10.0 ** rng.uniform(-200, 200, 600))])
    x = np.concatenate([rng.normal(size=1500), either_sign(rng, 10.0 ** rng.uniform(-100, 100, 600))])
    found = kernel(f.atan2, 2, "atan2", at)(np.stack([y, x], 1))
    assert ulps(found, exactly(mpmath.atan2, y, x)) <= 2.0


@pytest.mark.parametrize("at", LEVELS)
@pytest.mark.parametrize("p", few([0.3, -40.3, 1 / 3, -0.7, 2.7, 17.0, 0.01], 2))
def test_powers_within_two_ulp(at, p):
    rng = np.random.default_rng(2)
    span = 300 / max(abs(p), 1)
    x = np.concatenate([10.0 ** rng.uniform(-span, span, 800), rng.uniform(0.5, 2, 400)])
    found = kernel(lambda x: f.power(x, p), 1, f"power {p}", at)(x[:, None])
    assert ulps(found, exactly(lambda v: mpmath.power(v, mpmath.mpf(p)), x)) <= 2.0


@pytest.mark.parametrize("p", [17.0, 18.0, -31.0, -40.0])
def test_whole_powers_of_negative_numbers(p):
    x = np.linspace(-2.0, 2.0, 41)
    with np.errstate(divide="ignore"):
        found = kernel(lambda x: f.power(x, p), 1, f"signed {p}")(x[:, None])
        np.testing.assert_allclose(found, np.where(x, x**p, 0.0 if p > 0 else np.inf), rtol=2e-15)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, 7.0, -1.0, -2.0, 0.5, 1.5, -0.5, 2.5])
def test_whole_and_half_powers_are_products_and_roots(p):
    x = np.linspace(0.1, 5.0, 40)
    found = kernel(lambda x: f.power(x, p) + 0.0 * x, 1, f"product {p}")(x[:, None])
    np.testing.assert_allclose(found, x**p, rtol=1e-15)
    assert f.power(2.0, p) == pytest.approx(2.0**p, rel=1e-15)


def same(mine, theirs):
    """Equal, both NaN, or within 2 ulp."""
    with np.errstate(all="ignore"):
        near = np.abs(mine - theirs) <= 2 * np.spacing(np.abs(theirs))
    return (mine == theirs) | (np.isnan(mine) & np.isnan(theirs)) | near


@pytest.mark.parametrize("at", LEVELS)
def test_every_edge(at):
    """Zeros of both signs, infinities, NaN, the largest and the least: as NumPy has them, and no flag but its own."""
    a, b = (x.ravel() for x in np.meshgrid(EDGES, EDGES))
    pairs = {
        "atan2": (f.atan2, np.arctan2),
        "min": (f.minimum, np.minimum),
        "max": (f.maximum, np.maximum),
        "less": (f.less, lambda x, y: (x < y) * 1.0),
        "less_equal": (f.less_equal, lambda x, y: (x <= y) * 1.0),
        "mask": (lambda x, y: f.mask(f.less(x, 0.5), y), lambda x, y: np.where(x < 0.5, y, 0.0)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, (mine, theirs) in pairs.items():
            found = kernel(mine, 2, f"{name} at edges", at)(np.stack([a, b], 1))
            assert same(found, theirs(a, b)).all(), name
        for name, mine, theirs in (("tanh", f.tanh, np.tanh), ("abs", f.absolute, np.abs)):
            found = kernel(mine, 1, f"{name} at edges", at)(EDGES[:, None])
            np.testing.assert_array_equal(found, theirs(EDGES))
            np.testing.assert_array_equal(np.signbit(found), np.signbit(theirs(EDGES)))
    for name, mine, theirs in (
        ("exp", f.exp, np.exp), ("log", f.log, np.log), ("power", lambda x: f.power(x, -0.3), lambda x: x**-0.3),
    ):  # fmt: skip
        for x in EDGES:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = kernel(mine, 1, f"{name} at edges", at)(np.array([x]))
            with warnings.catch_warnings(record=True) as expected:
                warnings.simplefilter("always")
                true = theirs(np.array([x]))[0]
            if name == "power" and x == -np.inf:
                true = np.nan  # C says 0; here a power that is not whole needs x >= 0
                expected = told
            assert same(found, true), (name, x)
            kinds = [sorted(str(w.message).split(" encountered")[0] for w in caught) for caught in (told, expected)]
            assert kinds[0] == kinds[1], (name, x)


CPUS = {"haswell": ("", 32), "skylake-avx512": ("-prefer-256-bit", 64)}


def cpu_target(cpu):
    """A target that need not be this machine's."""
    llvm_binding().initialize_all_targets()
    llvm_binding().initialize_all_asmprinters()
    features, size = CPUS[cpu]
    return Target("x86_64-unknown-linux-gnu", cpu, features, size, True)


def assembly(text, target):
    """The instructions of a module's functions, by their names."""
    found, name = {}, ""
    for line in target.machine().emit_assembly(llvm_binding().parse_assembly(text)).splitlines():
        label = re.match(r"(\w+):", line)
        name = label[1] if label else name
        found.setdefault(name, []).append(line.split("#")[0].split())
    return {name: [words[0] for words in lines if words] for name, lines in found.items()}


@pytest.mark.parametrize("cpu", CPUS)
def test_operations_that_raise_flags_are_in_the_machine_code(cpu):
    target = cpu_target(cpu)
    code = assembly(SupportPart("functions", target, "float64", target.lanes("float64")).text(), target)
    assert code["raise_flags"].count("vdivsd") == 2  # a pole, and an invalid value
    code = assembly(SupportPart("values", target, "float64", target.lanes("float64")).text(), target)
    assert "vsubsd" in code["undefined"]
    for function in (
        lambda x: 1.0 / f.less(x, 0.0),
        lambda x: 3.0 / -f.less_equal(x, 0.0),
        lambda x: 1.0 / (2.0 * f.less(x, 0.0) - 2.0),
        lambda x: 1.0 / f.mask(f.less(x, 0.0), 5.0),
    ):
        recipe = Recipe((Operand("x", (1,)),), (Operand("y", ()),), lambda v, of=function: [[of(*v["x"])]])
        for dtype, division in (("float64", "vdivpd"), ("float32", "vdivps")):
            text = Emitter(lower(recipe, fma=True), target, dtype).module()
            assert division in assembly(text, target)["chunk0"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("at", LEVELS)
def test_one_state_of_a_batch_raises_its_flag(at, dtype):
    """Whichever lane it is in; and a zero to a positive power raises none."""
    cases = {
        "log": (f.log, 0.0, "divide by zero"),
        "log of less": (f.log, -1.0, "invalid value"),
        "falling power": (lambda x: f.power(x, -0.3), 0.0, "divide by zero"),
        "falling power of less": (lambda x: f.power(x, -0.3), -1.0, "invalid value"),
        "rising power": (lambda x: f.power(x, 2.7), 0.0, None),
        "sine": (sin, np.inf, "invalid value"),
        "one by a comparison": (lambda x: 1.0 / f.less(0.0, x), 0.0, "divide by zero"),
        "one by a choice": (lambda x: -1.0 / f.mask(f.less(0.0, x), 2.0), 0.0, "divide by zero"),
    }
    for name, (function, odd, flag) in cases.items():
        ufunc = kernel(function, 1, f"{name} in a batch", at, dtype)
        for place in range(19):
            x = np.full((19, 1), 0.75, dtype)
            for expected in (None, flag):
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    ufunc(x)
                said = [str(w.message).split(" encountered")[0] for w in told]
                assert said == ([] if expected is None else [expected]), (name, place)
                x[place] = odd


def test_single_precision_goes_through_double():
    x = np.linspace(0.1, 3.0, 50, dtype=np.float32)
    for name, mine, theirs in (("exp", f.exp, np.exp), ("log", f.log, np.log), ("tanh", f.tanh, np.tanh)):
        found = kernel(mine, 1, name, dtype="float32")(x[:, None])
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, theirs(x.astype(float)), rtol=1e-7)
    found = kernel(f.minimum, 2, "min", dtype="float32")(np.stack([x, x[::-1]], 1))
    np.testing.assert_array_equal(found, np.minimum(x, x[::-1]))


# ---- derivatives ---------------------------------------------------------------------------------------------------


def mixture(x, y, z):
    """All functions, away from where they are not smooth."""
    bent = f.where(f.less(x, y), f.exp(x * y), f.log(2.0 + x * x)) + f.minimum(x, z) * f.maximum(y, z)
    return bent + f.atan2(y + 2.0, x) * f.tanh(z) + f.absolute(x - 3.0) * f.power(1.5 + x * x, 0.7) + sin(x) * cos(y)


def test_derivatives_agree_with_the_complex_step():
    def trace(values):
        x = values["x"]
        out = mixture(*x)
        forward = [jacobian([out], x)[0, k] for k in range(3)]
        return [[out], forward, gradient(out, x)]

    outputs = (Operand("y", ()), Operand("forward", (3,)), Operand("backward", (3,)))
    recipe = Recipe((Operand("x", (3,)),), outputs, trace)
    compiled = compile_recipe(recipe, "mixture", "", "float64", "mixture").ufunc
    for point in np.random.default_rng(4).normal(size=(50, 3)):
        value, forward, backward = compiled(point)
        assert value == pytest.approx(mixture(*point.tolist()), rel=1e-13)
        steps = [mixture(*(complex(x, 1e-40 * (j == k)) for j, x in enumerate(point.tolist()))) for k in range(3)]
        expected = [step.imag / 1e-40 for step in steps]
        np.testing.assert_allclose(forward, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(backward, expected, rtol=1e-12, atol=1e-12)


def test_what_is_not_chosen_has_no_effect():
    """Neither on the value nor on its derivative: the root of a negative number behind a mask."""

    def trace(values):
        (x,) = values["x"]
        out = f.where(f.less(0.0, x), sqrt(x), x * x)
        return [[out], [jacobian([out], [x])[0, 0]], gradient(out, [x])]

    outputs = (Operand("y", ()), Operand("forward", ()), Operand("backward", (1,)))
    kernel = compile_recipe(Recipe((Operand("x", (1,)),), outputs, trace), "hidden", "", "float64", "hidden").ufunc
    with np.errstate(invalid="ignore"):
        value, forward, backward = kernel(np.array([[-2.0], [4.0]]))
    np.testing.assert_allclose(value, [4.0, 2.0])
    np.testing.assert_allclose(forward, [-4.0, 0.25])
    np.testing.assert_allclose(backward[:, 0], [-4.0, 0.25])


def test_compiled_equals_plain_floats():
    recipe = Recipe((Operand("x", (3,)),), (Operand("y", ()),), lambda v: [[mixture(*v["x"])]])
    compiled = compile_recipe(recipe, "plain mixture", "", "float64", "plain mixture").ufunc
    points = np.random.default_rng(5).normal(size=(37, 3))
    expected = [float(evaluate(recipe, {"x": point})[0]) for point in points]
    np.testing.assert_allclose(compiled(points), expected, rtol=1e-13)


def test_arrays_of_nodes_work_with_numpy():
    x = np.array(Graph().inputs("x", 3), dtype=object)
    for found in (np.sin(x), np.cos(x), np.sqrt(x), np.exp(x), np.log(x), np.tanh(x), np.arctan2(x, x[::-1]), abs(x)):
        assert found.shape == (3,)
    assert (x @ x) is not None
    assert (x**2)[0] is x[0] * x[0]
    assert (x[0] < 1.0).op == "less"
    assert (x[0] > 1.0).op == "less"
    with pytest.raises(TypeError, match="where"):
        bool(x[0] < 1.0)
    with pytest.raises(TypeError, match="exponent must be a number"):
        f.power(x[0], x[1])

"""Code for one state: fewer lanes than batches on some CPUs, the same bits on all; made when it is asked for."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import neuler
from neuler.compiler import build, cache, jit, support
from neuler.compiler.build import compile_recipe
from neuler.compiler.gufunc import Code
from neuler.compiler.llvm import Emitter
from neuler.compiler.lower import lower
from neuler.compiler.support import SupportPart
from neuler.compiler.target import available_levels, host, level
from neuler.trace import scalars as f
from neuler.trace.graph import cos, sign, sin, sqrt
from neuler.trace.recipe import Operand, Recipe

pytestmark = pytest.mark.usefixtures("shipped")
LEVELS = available_levels() or (None,)


def everything(v):
    """Every operation, results that are constant, a matrix."""
    x, y = v["x"], v["y"]
    found = [
        f.exp(x[0]), f.log(x[1] * x[1] + 0.1), f.tanh(x[2]), f.atan2(x[0], y[1]), f.power(f.absolute(x[1]) + 0.2, 0.3),
        sin(x[0]), cos(x[1] * 1e9), sqrt(f.absolute(x[2])), sign(x[0]), f.minimum(x[0], y[0]), f.maximum(x[1], y[1]),
        f.mask(f.less(x[0], y[0]), x[2]), f.less_equal(x[1], 0.0), x[0] / (2.0 + sin(y[0])), x[0] * x[1] + y[0] * y[1],
    ]  # fmt: skip
    return [[*found, 3.0], [0.0, x[0], 2.5, -x[1], 0.0, y[0]]]


RECIPES = {
    "everything": Recipe(
        (Operand("x", (3,)), Operand("y", (2,))), (Operand("a", (16,)), Operand("b", (2, 3))), everything
    ),
    "inverse dynamics": neuler.robots.puma560().inverse_dynamics.recipe,
    "large": neuler.robots.general_chain(12).mass_matrix.recipe,  # scratch from a pool
}


def called(code, recipe, state, dtype):
    """Results of ``@one``."""
    results = [np.full(x.shape, np.nan, dtype) for x in recipe.outputs]
    arrays = (*state, *results)
    operands = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    one = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.one)
    one(ctypes.addressof(operands), code.pool)
    return results


def states(recipe, dtype, count=11):
    rng = np.random.default_rng(0)
    return [np.ascontiguousarray(rng.normal(size=(count, *x.shape)), dtype) for x in recipe.inputs]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("at", LEVELS)
@pytest.mark.parametrize("name", RECIPES)
def test_one_state_has_the_bits_of_a_batch(name, at, dtype):
    recipe = RECIPES[name]
    target = host() if at is None else level(at)
    built = compile_recipe(recipe, name, "", dtype, ("one state", name), target, one=True)
    assert built.one_state is not None
    arrays = states(recipe, dtype)
    batch = built.ufunc(*arrays)
    batch = batch if isinstance(batch, tuple) else (batch,)
    for k in range(len(arrays[0])):
        found = called(built.one_state, recipe, [x[k] for x in arrays], dtype)
        for mine, theirs in zip(found, batch, strict=True):
            assert mine.tobytes() == np.ascontiguousarray(theirs[k]).tobytes()


FEWER = [(at, n) for at in LEVELS for n in (1, 2, 4, 8) if n <= (level(at) if at else host()).lanes("float64")]


@pytest.mark.parametrize(("at", "lanes"), FEWER)
def test_any_number_of_lanes_gives_the_same_bits(at, lanes):
    """Whatever the rule says; the loop of a batch is valid code, too."""
    target = host() if at is None else level(at)
    recipe = RECIPES["everything"]
    plan = lower(recipe, fma=target.fma)
    batch = compile_recipe(recipe, "any", "", "float64", ("any lanes", at), target).ufunc
    arrays = states(recipe, "float64")
    expected = batch(*arrays)
    for part in support._PARTS:
        SupportPart(part, target, "float64", lanes).provide()
    emitter = Emitter(plan, target, "float64", lanes)
    found, owner = jit.load(jit.object_code(emitter.one_module(), target), target, ("one",))
    code = Code(owner, 0, found["one"], emitter.pool)
    for k in range(len(arrays[0])):
        for mine, theirs in zip(called(code, recipe, [x[k] for x in arrays], "float64"), expected, strict=True):
            assert mine.tobytes() == np.ascontiguousarray(theirs[k]).tobytes()
    loops = Emitter(plan, target, "float64", lanes).module()
    found, owner = jit.load(jit.object_code(loops, target), target, ("loop",))
    again = build.gufunc.make_gufunc(
        Code(owner, found["loop"], 0, emitter.pool), 2, 2, "(3),(2)->(16),(2,3)", "float64", "again", ""
    )
    for mine, theirs in zip(again(*arrays), expected, strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_the_rule():
    """Few lanes where vectors are long; else the code of batches."""
    lanes = {"sse2": (2, 2), "avx2": (4, 4), "avx512": (8, 2)}
    for name in available_levels():
        target = level(name)
        assert (target.lanes("float64"), target.one_lanes("float64")) == lanes[name]
        assert target.one_lanes("float32") == 2 * target.one_lanes("float64")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_ready", {})
    return tmp_path / "cache"


def test_it_is_made_when_it_is_asked_for(fresh):
    q = np.array([0.3, -0.7])
    apart = host().lanes("float64") != host().one_lanes("float64")
    kernel = neuler.robots.two_link().inverse_dynamics
    batch = kernel(*[q[None]] * 3)
    assert (kernel._compiled.one_state is None) is apart
    by_name = kernel(q=q, qd=q, qdd=q)  # emitted code takes no names
    assert (kernel._compiled.one_state is None) is apart
    one = kernel(q, q, q)
    assert kernel._compiled.one_state is not None
    assert one.tobytes() == batch[0].tobytes() == by_name.tobytes() == kernel(q, q, q).tobytes()
    assert kernel._one_state is kernel._compiled.one_state
    asked = neuler.robots.two_link().mass_matrix
    assert asked.operations.trig > 0  # code for batches is there before the first call
    asked(q)
    assert asked._compiled.one_state is not None
    bound = neuler.robots.stanford().inverse_dynamics.bind()
    assert bound.address == bound.kernel._compiled.one_state.one


def test_code_for_one_state_comes_from_the_cache_and_damage_is_mended(fresh, monkeypatch):
    if host().lanes("float64") == host().one_lanes("float64"):
        pytest.skip("one state runs the code of batches here")
    q = np.array([0.3, -0.7])
    expected = neuler.robots.two_link().inverse_dynamics(q, q, q)
    entries = {p: cache.load(p.name) for p in fresh.iterdir()}
    kernels = {p: code for p, (facts, code) in entries.items() if facts["name"] == "inverse_dynamics"}
    assert len(kernels) == 2
    for path, code in kernels.items():
        unnamed = code.replace(b"\0one\0", b"\0two\0").replace(b"\0loop\0", b"\0pool\0")
        for damaged in (b"", code[: len(code) // 2], unnamed):
            cache.store(path.name, entries[path][0], damaged)
            monkeypatch.setattr(build, "_ready", {})
            np.testing.assert_array_equal(neuler.robots.two_link().inverse_dynamics(q, q, q), expected)
            assert cache.load(path.name)[1] == code

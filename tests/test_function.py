"""neuler.function: values on any batch, every way to call, pickles and cached code by the listing alone."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import neuler
from neuler import math as nm
from neuler.compiler import build, gufunc
from neuler.trace import graph as g
from neuler.trace import listing
from neuler.trace.graph import Graph, Node
from neuler.trace.symbols import SymbolGraph

RNG = np.random.default_rng(0)


def smooth(x, A, u):
    """Arithmetic, products of matrices, slices and functions of NumPy; works on numbers too."""
    turned = A @ x[:2] + np.sin(u) * x[1:]
    return np.array([turned @ turned, np.exp(-(x[0] ** 2)), np.linalg.norm(x), *np.cross(x, x[::-1])])


SMOOTH = neuler.function(smooth, {"x": 3, "A": (2, 2), "u": ()})


def reference(function, batch, *arrays):
    """Row by row on plain numbers."""
    cores = [x.shape[len(batch) :] for x in arrays]
    rows = [x.reshape(-1, *core) for x, core in zip(arrays, cores, strict=True)]
    found = np.array([function(*(row[k] for row in rows)) for k in range(int(np.prod(batch)))])
    return found.reshape(*batch, *found.shape[1:])


@pytest.mark.parametrize("batch", [(), (1,), (7,), (3, 5), (2, 1, 9)])
def test_values_on_batches(batch):
    arrays = [RNG.normal(size=(*batch, *operand.shape)) for operand in SMOOTH.inputs]
    found = SMOOTH(*arrays)
    assert found.shape == (*batch, 6)
    np.testing.assert_allclose(found, reference(smooth, batch, *arrays), rtol=1e-13, atol=1e-14)
    names = {operand.name: x for operand, x in zip(SMOOTH.inputs, arrays, strict=True)}
    np.testing.assert_array_equal(SMOOTH(**names), found)
    np.testing.assert_array_equal(SMOOTH(arrays[0], u=arrays[2], A=arrays[1]), found)
    out = np.zeros_like(found)
    assert SMOOTH(*arrays, out=out) is out
    np.testing.assert_array_equal(out, found)


def test_names_that_python_uses():
    f = neuler.function(lambda self, arrays: self - arrays, {"self": 2, "arrays": ()}, "found")
    np.testing.assert_array_equal(f(self=[1.0, 2.0], arrays=3.0), [-2.0, -1.0])
    assert neuler.Function.__flags__ & (1 << 11), "called without a tuple"


def test_batches_broadcast():
    x, A, u = RNG.normal(size=(4, 1, 3)), RNG.normal(size=(2, 2)), RNG.normal(size=5)
    found = SMOOTH(x, A, u)
    assert found.shape == (4, 5, 6)
    np.testing.assert_array_equal(found[2, 3], SMOOTH(x[2, 0], A, u[3]))


def test_every_way_to_call_gives_the_same_bits():
    given = [RNG.normal(size=operand.shape) for operand in SMOOTH.inputs]
    expected = SMOOTH.ufunc(*given)
    np.testing.assert_array_equal(SMOOTH(*given), expected)
    bound = SMOOTH.bind()
    bound.x[:], bound.A[:], bound.u[...] = given
    assert bound() is bound.y
    np.testing.assert_array_equal(bound.y, expected)
    result = np.zeros(6)
    pointers = [x.ctypes.data for x in (*map(np.asarray, given), result)]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(bound.address)
    call((ctypes.c_void_p * 4)(*pointers), bound.pool)
    np.testing.assert_array_equal(result, expected)


def test_several_outputs_are_a_namedtuple():
    f = neuler.function(lambda x: {"length": np.sqrt(x @ x), "twice": 2 * x}, {"x": 3}, name="measures")
    x = RNG.normal(size=(4, 3))
    found = f(x)
    assert found._fields == ("length", "twice")
    np.testing.assert_allclose(found.length, np.linalg.norm(x, axis=1), rtol=1e-15)
    np.testing.assert_array_equal(found.twice, 2 * x)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found)
    out = np.zeros(4), np.zeros((4, 3))
    assert f(x, out=out).twice is out[1]
    swapped = neuler.function(lambda x: {"b": x, "a": 1.0}, {"x": 2}, ["a", "b"])
    assert swapped([1.0, 2.0]).a == 1.0


def test_shapes_and_names_of_outputs():
    takes = {"x": (2, 3)}
    assert [o.shape for o in neuler.function(lambda x: (x, x[0], x[0, 0], 3), takes).outputs] == [(2, 3), (3,), (), ()]
    assert neuler.function(lambda x: x, takes, "z").outputs[0].name == "z"
    assert neuler.function(lambda x: [x[0], x[1]], takes, {"z": (2, 3)}).outputs[0].shape == (2, 3)
    assert neuler.function(lambda x: (x,), takes).outputs[0].name == "y"
    assert neuler.function(lambda y: y, {"y": 2}).outputs[0].name == "y_"
    assert neuler.function(smooth, {"x": 3, "A": (2, 2), "u": ()}).name == "smooth"
    assert repr(neuler.function(lambda x: x[0] + x[1], {"x": 2})) == (
        "<function function: x (2,) -> y (); 0 mul, 1 add, 0 div, 0 trig>"
    )


def test_inputs_that_are_not_used_and_results_that_are_constant():
    f = neuler.function(lambda x, u: (x, 7.0, [np.nan, np.inf, -0.0]), {"x": 2, "u": 3})
    same, seven, odd = f(np.ones((4, 2)), np.zeros(3))
    np.testing.assert_array_equal(same, np.ones((4, 2)))
    np.testing.assert_array_equal(seven, np.full(4, 7.0))
    np.testing.assert_array_equal(odd[2], [np.nan, np.inf, 0.0])
    with pytest.raises(neuler.InputError, match="expected u with last axis 3"):
        f([1.0, 2.0], [1.0])


def test_single_precision():
    f = neuler.function(smooth, {"x": 3, "A": (2, 2), "u": ()}, dtype="float32")
    arrays = [RNG.normal(size=(6, *operand.shape)).astype(np.float32) for operand in f.inputs]
    found = f(*arrays)
    assert found.dtype == np.float32
    assert f.jacobian("x")(*arrays).dtype == np.float32
    np.testing.assert_allclose(found, SMOOTH(*arrays), rtol=1e-4, atol=1e-5)
    single = neuler.function(lambda x: [x * np.inf, x * 1e-30], {"x": ()}, dtype=np.float32)
    np.testing.assert_allclose(single(2.0), [np.inf, 2e-30], rtol=1e-6)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr("neuler.compiled.WORK_PER_THREAD", 20_000)
    f = neuler.function(lambda x: (np.sin(x), x @ x), {"x": 4})
    x = RNG.normal(size=(30_000, 4))
    f.threads = 1
    one = f(x)
    for count in (2, 3, None):
        f.threads = count
        found = f(x)
        np.testing.assert_array_equal(found.y0, one.y0)
        np.testing.assert_array_equal(found.y1, one.y1)
    f.threads = 1
    assert f.threads == 1


def test_first_calls_from_many_threads():
    """Code is made on the first call: all threads get it, none before it is ready."""
    for k in range(10):
        f = neuler.function(lambda x, k=k: np.sin(x) + k, {"x": 5})
        x, wrong = np.linspace(0, 1, 5), []

        def work(f=f, x=x, k=k, wrong=wrong):
            for _ in range(20):
                if not np.allclose(f(x), np.sin(x) + k, rtol=1e-14):
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not wrong


# ---- functions that NumPy has not for objects ---------------------------------------------------------------------


def chosen(x, y):
    return np.array(
        [
            nm.where(nm.less(x[0], y), nm.minimum(x[1], 0.3), nm.maximum(x[1], y)),
            nm.clip(x[2], -0.5, 0.5) * nm.sign(x[0]),
            nm.where((x[0] > 0) & ((x[1] <= y) | (x[2] >= 0)), 1.0, -1.0),
            nm.arctan2(1.0, x[0]) + nm.arctan2(x[0], x[1]) + nm.arctan2(x[1], 2.0),
            nm.where(nm.greater(x[0], 0.0), nm.greater_equal(x[1], y), nm.less_equal(x[1], y)),
        ]
    )


def test_choices_are_those_of_numpy():
    f = neuler.function(chosen, {"x": 3, "y": ()})
    x, y = RNG.normal(size=(200, 3)), RNG.normal(size=200)
    np.testing.assert_allclose(f(x, y), reference(chosen, (200,), x, y), rtol=1e-14, atol=1e-15)


ONE = ["sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "exp", "expm1", "absolute", "sign"]
INSIDE = ["arcsin", "arccos"]
POSITIVE = ["log", "sqrt", "log2", "log10"]


@pytest.mark.parametrize("name", [*ONE, *INSIDE, *POSITIVE, "square", "reciprocal", "deg2rad", "rad2deg", "fabs"])
def test_functions_of_one_argument(name):
    x = RNG.uniform(-0.99, 0.99, (50, 2)) * (1.0 if name in INSIDE else 3.0)
    x = np.abs(x) if name in POSITIVE else x
    expected = getattr(np, name)(x)
    ways = [getattr(module, name) for module in (np, nm) if hasattr(module, name) and (module, name) != (np, "sign")]
    assert ways
    for way in ways:
        np.testing.assert_allclose(neuler.function(way, {"x": 2})(x), expected, rtol=2e-15, atol=1e-16)
    tiny = np.array([1e-12, -1e-9])
    if name in ("expm1", "sinh", "arcsin", "arctan", "tan"):
        np.testing.assert_allclose(neuler.function(ways[0], {"x": 2})(tiny), getattr(np, name)(tiny), rtol=1e-15)


def test_functions_take_numbers_beside_traced_values():
    """What folds to a number in an array of traced values, too."""

    def f(x):
        mixed = np.array([x[0], 2.0, x[0] * 0.0])
        return nm.exp(mixed) + nm.hypot(mixed, 1.0) + nm.power(2.0, mixed) + nm.cosh(mixed) + nm.sqrt(mixed + 1)

    x = np.array([0.3])
    np.testing.assert_allclose(neuler.function(f, {"x": 1})(x), f(x), rtol=1e-14)
    assert nm.minimum(1.0, 2.0) == 1.0
    assert nm.where(np.array([True, False]), 1, 2).tolist() == [1, 2]
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        nm.minimum(1.0)


def test_numpy_on_arrays_of_traced_values():
    weights = RNG.normal(size=(3, 3))

    def f(x):
        parts = [
            weights @ x, x @ weights, np.outer(x, x).ravel(), np.einsum("i,ij->j", x, weights), np.cumsum(x),
            np.diff(x), x[0] * np.ones(2), np.ones(2) * x[0], np.float64(2.0) * x, x / np.float64(3.0), 2**x,
            x**x, x**-1.5, [x.sum(), x.mean(), np.prod(x), np.dot(x, x), np.trace(np.outer(x, x)), np.var(x)],
            np.concatenate([x, x[:1]]), np.polyval([1.0, 2.0, 3.0], x), [np.vdot(x, x), sum(x), +x[0], abs(-x[1])],
        ]  # fmt: skip
        return np.concatenate([np.asarray(part) for part in parts])

    x = RNG.uniform(0.5, 1.5, (20, 3))
    found = neuler.function(f, {"x": 3})(x)
    np.testing.assert_allclose(found, reference(f, (20,), x), rtol=1e-13)


# ---- the listing: what is pickled, and what names the code --------------------------------------------------------


def test_every_operation_has_its_place_in_listings():
    names = [name for name in vars(g) if name.isupper() and isinstance(getattr(g, name), str) and name != "INPUT"]
    assert len(names) == 22
    assert {getattr(g, name) for name in names} == set(listing.SCALARS)


def test_a_listing_runs_on_scalars_of_another_kind():
    """Arrays, by a table of NumPy's functions; an operation that a table lacks is named."""
    x, y = Graph().inputs("x", 2)
    body = listing.written([x, y], [2.0 * g.sin(x) - y, x / y, 3.0])
    table = {g.SUB: np.subtract, g.MUL: np.multiply, g.DIV: np.divide, g.SIN: lambda a, _: np.sin(a)}
    a, b = RNG.normal(size=(2, 5))
    found = listing.run(body, [a, b], table)
    np.testing.assert_allclose(found[0], 2.0 * np.sin(a) - b, rtol=1e-15)
    np.testing.assert_array_equal(found[1], a / b)
    assert found[2] == 3.0
    with pytest.raises(neuler.NeulerError, match=r"operation 'sin', the table has only sub, mul, div"):
        listing.run(body, [a, b], {op: function for op, function in table.items() if op != g.SIN})


def test_a_listing_is_the_same_graph():
    """Run on fresh inputs it gives nodes of the same operations; on numbers, the numbers; infinite ones too."""
    graph = SymbolGraph()
    x = np.array(graph.inputs("x", 3), dtype=object)
    results = [*chosen(x, x[0] - 0.2), *smooth(x, np.outer(x[:2], x[:2]), x[2])]
    body = listing.written(list(x), results)
    fresh = Graph().inputs("x", 3)
    again = listing.run(body, fresh)
    assert g.count(again) == g.count(results)
    assert listing.run(listing.written(fresh, again), [0.1, 0.2, 0.3]) == listing.run(body, [0.1, 0.2, 0.3])
    assert all(isinstance(x, float) for x in listing.run(body, [np.inf, 0.0, np.nan]))
    a, b = Graph().inputs("x", 2)
    quotient = listing.written([a, b], [a / b])
    assert listing.run(quotient, [1.0, -0.0]) == [-np.inf]
    assert np.isnan(listing.run(quotient, [0.0, 0.0])[0])
    (found,) = listing.run(quotient, [Graph().inputs("x", 1)[0], 0.0])
    assert isinstance(found, Node)


def test_damaged_listings_are_refused():
    body = SMOOTH._listing.body
    for bad in (b"", body[:-1], body + b"x", b"x" + body[1:]):
        with pytest.raises(neuler.InputError, match="no listing"):
            listing.run(bad, [0.0] * 8)
    with pytest.raises(neuler.InputError, match="takes 8 numbers, got 3"):
        listing.run(body, [0.0] * 3)
    with pytest.raises(neuler.InputError, match="does not fit the shapes"):
        listing.Listing(SMOOTH.inputs[:2], SMOOTH.outputs, body)


def test_functions_are_pickled_without_their_python():
    hidden = [1.5]  # a closure, which pickle does not take
    f = neuler.function(lambda x: np.sin(x) * hidden[0], {"x": 3}, name="scaled")
    f.threads = 1
    x = RNG.normal(size=(5, 3))
    expected, slope = f(x), f.jacobian(sparse=True)
    data = pickle.dumps(f)
    hidden[0] = 9.0
    for again in (pickle.loads(data), copy.copy(f), copy.deepcopy(f)):
        np.testing.assert_array_equal(again(x), expected)
        assert (again.name, again.threads, again.inputs) == ("scaled", 1, f.inputs)
        assert again.ufunc is f.ufunc, "equal listings share code"
        assert again.jacobian(sparse=True).ufunc is slope.ufunc
    third = pickle.loads(pickle.dumps(slope))
    np.testing.assert_array_equal(third.structure["dy_dx"], slope.structure["dy_dx"])


CHILD = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    f, hessian, x, expected, bend = pickle.load(file)
assert np.array_equal(f(x), expected) and np.array_equal(hessian(x), bend)
assert np.allclose(f.jacobian()(x) @ np.ones(3), f.jvp()(x, np.ones(3)), rtol=1e-13)
print(f.cached, hessian.cached, f.hessian().ufunc is hessian.ufunc)
"""


def test_another_process_unpickles_and_finds_the_code_on_disk(tmp_path):
    f = neuler.function(lambda x: np.sin(x[0]) * x[1] ** 3 + x[2], {"x": 3})
    x = RNG.normal(size=(5, 3))
    hessian = f.hessian()
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps((f, hessian, x, f(x), hessian(x))))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


SAME = """
import numpy as np, neuler
arm = neuler.robots.stanford()
f = neuler.function(lambda x, u: np.tanh(x) @ arm.gravity_force(x) + u, {"x": 6, "u": ()})
d, x = f.vjp("x"), np.linspace(0.1, 0.6, 6)
print(f(x, 4), d(x, 4, 1).tolist(), f.cached, d.cached)
"""


def test_the_same_function_in_another_process_comes_from_the_cache(tmp_path):
    environment = {**os.environ, "NEULER_CACHE_DIR": str(tmp_path / "cache")}
    runs = []
    for seed in ("1", "2"):  # names of Python's hashes differ
        command = [sys.executable, "-c", SAME]
        setting = {**environment, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=setting, capture_output=True, text=True, check=True, timeout=120)
        runs.append(done.stdout.rsplit(maxsplit=2))
    assert runs[0][0] == runs[1][0]
    assert [run[1:] for run in runs] == [["False", "False"], ["True", "True"]]


def test_equal_functions_share_code_and_unequal_ones_do_not():
    def made(scale):
        return neuler.function(lambda x: np.cos(x) * scale, {"x": 3})

    one, two, other = made(2.0), made(2.0), made(2.0 + 1e-15)
    assert one.ufunc is two.ufunc
    assert one.ufunc is not other.ufunc
    assert other._listing.digest not in (one._listing.digest,)
    assert neuler.function(lambda x: np.cos(x) * 2.0, {"x": 3}, dtype="float32").ufunc is not one.ufunc
    assert neuler.function(lambda u: np.cos(u) * 2.0, {"u": 3})._listing.digest != one._listing.digest


def test_code_is_made_when_it_is_needed_and_goes_with_the_function(monkeypatch):
    monkeypatch.setattr(build, "_ready", type(build._ready)())
    gc.collect()
    before = len(gufunc._codes)
    f = neuler.function(lambda x: np.sin(x) * 0.123, {"x": 3})
    inside = neuler.function(lambda x: f(x) @ f(2 * x), {"x": 3})
    slope = inside.jacobian()
    gc.collect()
    assert len(gufunc._codes) == before
    slope([1.0, 2.0, 3.0])
    gc.collect()
    assert len(gufunc._codes) == before + 1
    assert inside.jacobian() is slope is inside.jacobian(wrt=None, of=None)
    f = inside = slope = None
    gc.collect()
    assert len(gufunc._codes) == before


def test_what_is_not_finite_is_told():
    f = neuler.function(lambda x: np.log(x), {"x": 2})
    with pytest.warns(RuntimeWarning, match="invalid value encountered in function"):
        assert np.isnan(f(np.array([-1.0, 1.0]))[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(f(np.array([np.nan, 1.0]))[0])

"""Support code: compiled once, stored, loaded once in a process; kernels call it and carry no copy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import neuler
from neuler.compiler import build, cache, jit, objects, support
from neuler.compiler.build import compile_recipe
from neuler.compiler.llvm import Emitter
from neuler.compiler.lower import lower
from neuler.compiler.support import SupportPart
from neuler.compiler.target import Target, host, llvm_binding
from neuler.trace.recipe import Operand, Recipe
from random_robots import few

Q = np.array([0.3, -0.7])


def code_of(kernel, target, dtype="float64"):
    text = Emitter(lower(kernel.recipe, fma=target.fma), target, dtype).module()
    return jit.object_code(text, target)


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing yet."""
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_ready", {})
    monkeypatch.setattr(support, "_loaded", set())
    return tmp_path / "cache"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_call_support_code_and_carry_none(dtype):
    target = host()
    code = code_of(neuler.robots.two_link().inverse_dynamics, target, dtype)
    known = support.outside(target, dtype)
    needed = objects.needed(code, target.triple)
    assert {name.split("_", 2)[2] for name in needed} >= {"load", "save", "spread", "pick", "gather1", "scatter1"}
    assert any("sincos" in name for name in needed)
    assert needed <= known.keys()
    assert objects.linkable(code, target.triple, ("loop",), known)
    assert not objects.linkable(code, target.triple, ("loop",), known.keys() - {sorted(needed)[0]})
    assert not objects.linkable(code, target.triple, ("loop",))
    assert not objects.linkable(code, target.triple, ("loop", "other"), known)


def test_names_differ_with_all_that_decides_the_code(monkeypatch):
    target = host()
    other = Target(target.triple, target.cpu, target.features + ",", target.vector_bytes, target.fma)
    parts = [
        SupportPart(name, where, dtype, lanes)
        for name in ("values", "rows", "functions")
        for where in (target, other)
        for dtype in ("float64", "float32")
        for lanes in (2, 4)
    ]
    assert len({part.prefix for part in parts}) == len(parts)
    before = parts[0].prefix
    monkeypatch.setattr(cache, "__version__", "another")
    assert parts[0].prefix != before


def test_one_copy_in_a_process(fresh):
    robot = neuler.robots.puma560()
    for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics", "gravity_force"):
        assert robot.compile(quantity).ufunc
        assert len(support._loaded) == 2
    entries = [cache.load(path.name)[0]["name"] for path in fresh.iterdir()]
    assert sorted(name for name in entries if "support" in name) == ["support: rows", "support: values"]


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no list of memory maps here")
def test_support_code_costs_a_kernel_no_memory_map():
    robot = neuler.robots.two_link()
    robot.inverse_dynamics(Q, Q, Q)
    held, before = [], jit._maps()
    for quantity in ("mass_matrix", "bias_force", "coriolis_matrix", "gravity_force"):
        held.append(getattr(neuler.robots.stanford(), quantity).ufunc)
    assert jit._maps() - before <= 5 * len(held)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-100] + bytes([data[-100] ^ 0x80]) + data[-99:],
        lambda data: os.urandom(len(data)),
        None,
    ],
)
def test_damaged_support_code_is_made_anew(fresh, monkeypatch, damage):
    batch = [Q[None]] * 3
    expected = neuler.robots.two_link().inverse_dynamics(*batch)
    (path,) = [p for p in fresh.iterdir() if cache.load(p.name)[0]["name"] == "support: values"]
    whole = path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(whole))
    monkeypatch.setattr(build, "_ready", {})
    monkeypatch.setattr(support, "_loaded", set())
    again = neuler.robots.two_link().inverse_dynamics
    np.testing.assert_array_equal(again(*batch), expected)
    assert again._compiled.cached
    assert path.read_bytes() == whole


def test_support_code_that_is_whole_but_lacks_a_function_is_made_anew(fresh):
    part = SupportPart("values", host(), "float64", host().lanes("float64"))
    code = part.code()
    cache.store(part.key, {"name": "support: values"}, code.replace(b"_spread\0", b"_spreaD\0"))
    assert part.code() == code
    assert cache.load(part.key)[1] == code


def test_code_that_calls_what_nothing_defines_is_an_error():
    target = host()
    text = f'target triple = "{target.triple}"\ndeclare void @nowhere()\n'
    text += "define void @loop() {\n  call void @nowhere()\n  ret void\n}\n"
    with pytest.raises(neuler.errors.CompileError, match="'nowhere'"):
        support.provide(jit.object_code(text, target), target, "float64")


def test_symbols_of_mach_objects_are_read():
    llvm_binding().initialize_all_targets()
    llvm_binding().initialize_all_asmprinters()
    target = Target("x86_64-apple-darwin", "haswell", "", 32, True)
    code = code_of(neuler.robots.two_link().inverse_dynamics, target)
    assert code[:4] == b"\xcf\xfa\xed\xfe"
    known = support.outside(target, "float64")
    assert objects.linkable(code, target.triple, ("loop", "one"), known)
    assert not objects.linkable(code, target.triple, ("loop", "one"))
    assert not objects.linkable(code, target.triple, ("loop", "other"), known)
    assert not objects.linkable(code[: len(code) // 2], target.triple, ("loop", "one"), known)
    for part in set(known.values()):
        assert objects.linkable(jit.object_code(part.text(), target), target.triple, part.outer())


def test_more_axes_than_support_code_walks_along():
    shape = (2, 3, 1, 2)
    recipe = Recipe((Operand("x", shape),), (Operand("y", shape),), lambda v: [[2.0 * x for x in v["x"]]])
    ufunc = compile_recipe(recipe, "four axes", "", "float64", "four axes").ufunc
    x = np.random.default_rng(0).normal(size=(5, *shape[::-1])).transpose(0, 4, 3, 2, 1)
    np.testing.assert_array_equal(ufunc(x), 2.0 * x)
    np.testing.assert_array_equal(ufunc(np.ascontiguousarray(x)), 2.0 * x)


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


_NUMBERS = """
import sys, threading, os, numpy as np, neuler
Q = np.array([0.3, -0.7])
def torque(name="inverse_dynamics"):
    return getattr(neuler.robots.two_link(), name)(Q, Q, Q)
"""


def test_without_a_cache(tmp_path):
    script = _NUMBERS + "print(*torque(), *neuler.robots.two_link().rollout(Q, Q, np.zeros((1, 2)), 1e-3, 3).q.ravel())"
    off, first, second = (run(script, NEULER_CACHE_DIR=where) for where in ("off", str(tmp_path), str(tmp_path)))
    assert off == first == second


def test_threads_that_compile_their_first_kernels_at_once(tmp_path):
    script = (
        _NUMBERS
        + """
gate, found = threading.Barrier(6), []
def work(name):
    gate.wait()
    found.append(float(np.sum(torque(name))))
names = ["inverse_dynamics", "forward_dynamics"] * 3
threads = [threading.Thread(target=work, args=(name,)) for name in names]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(set(found)), len(found))
"""
    )
    assert run(script, NEULER_CACHE_DIR=str(tmp_path)) == ["2", "6"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.parametrize("before", few([False, True], 1))
def test_forked_processes_compile(before):
    script = (
        _NUMBERS
        + f"""
expected = torque() if {before} else None
child = os.fork()
same = np.array_equal(torque("forward_dynamics"), torque("forward_dynamics")) and np.all(np.isfinite(torque()))
if child:
    _, status = os.waitpid(child, 0)
    print(status, same)
else:
    os._exit(0 if same else 1)
"""
    )
    assert run(script, NEULER_CACHE_DIR="off") == ["0", "True"]

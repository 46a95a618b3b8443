"""Modules of WebAssembly, run by wasmtime with Python's mathematics in the place of JavaScript's Math."""

import math
import shutil
import subprocess

import numpy as np
import wasmtime

from neuler.compiler import trig
from neuler.trace import graph as g
from neuler.trace import listing

NODE = shutil.which("node")


def _of(name):
    """As JavaScript has it: infinities and NaN where Python has errors."""
    function = getattr(math, name)

    def called(*values):
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if name == "log" and values[0] == 0.0 else math.nan

    return called


class Instance:
    """A module that runs."""

    def __init__(self, binary):
        self.store = wasmtime.Store()
        module = wasmtime.Module(self.store.engine, binary)
        self.imports = [each.name for each in module.imports]
        real = wasmtime.ValType.f64()
        functions = []
        for each in module.imports:
            assert each.module == "math"
            kind = wasmtime.FuncType([real] * len(each.type.params), [real])
            functions.append(wasmtime.Func(self.store, kind, _of(each.name)))
        self.exports = wasmtime.Instance(self.store, module, functions).exports(self.store)
        self.memory, self.start = self.exports["memory"], self.exports["start"].value(self.store)

    def _placed(self, operands, count):
        """The byte offset of every operand for so many states."""
        offsets, at = [], self.start
        for operand in operands:
            offsets.append(at)
            at += 8 * operand.size * count
        missing = -(-at // 65536) - self.memory.size(self.store)
        if missing > 0:
            self.memory.grow(self.store, missing)
        return offsets

    def _wrote(self, recipe, states, offsets, rows):
        for operand, offset in zip(recipe.inputs, offsets, strict=False):
            data = np.ascontiguousarray(states[operand.name][rows], dtype=float).tobytes()
            self.memory.write(self.store, data, offset)

    def _read(self, recipe, offsets, count):
        found = []
        for operand, offset in zip(recipe.outputs, offsets[len(recipe.inputs) :], strict=True):
            data = bytes(self.memory.read(self.store, offset, offset + 8 * operand.size * count))
            found.append(np.frombuffer(data).reshape(count, *operand.shape))
        return found

    def batch(self, recipe, states):
        """Results of one call for all states."""
        count = len(states[recipe.inputs[0].name])
        offsets = self._placed((*recipe.inputs, *recipe.outputs), count)
        self._wrote(recipe, states, offsets, slice(None))
        self.exports["batch"](self.store, count, *offsets)
        return self._read(recipe, offsets, count)

    def each(self, recipe, states):
        """Results of a call for each state."""
        count = len(states[recipe.inputs[0].name])
        offsets, found = self._placed((*recipe.inputs, *recipe.outputs), 1), []
        for i in range(count):
            self._wrote(recipe, states, offsets, slice(i, i + 1))
            self.exports["run"](self.store, *offsets)
            found.append(self._read(recipe, offsets, 1))
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]


# ---- the same in Python, operation by operation --------------------------------------------------------------------


def _wave(x):
    """Sine and cosine up to 1e6 as ``compiler/trig.py`` has them without fused operations."""
    if not abs(x) <= 1e6:
        return (math.nan, math.nan) if not math.isfinite(x) else (math.sin(x), math.cos(x))
    big = x * trig.TWO_OVER_PI + trig.MAGIC
    k, n = big - trig.MAGIC, trig.bits_of(big)
    k0, k1, k2, k3 = (k * part for part in trig.parts(33, 4))
    r0 = x - k0
    r1 = r0 - k1
    t = k2 + k3
    r = r1 - t
    lost = ((r0 - r1) - k1) + ((r1 - r) - t)
    z = r * r
    z2 = z * z

    def polynomial(p):
        low, middle, high = (z * p[j + 1] + p[j] for j in (0, 2, 4))
        return z2 * (z2 * high + middle) + low

    sine = ((r * z) * polynomial(trig.SINE) + lost) + r
    cosine = (z * (z * polynomial(trig.COSINE) + -0.5) + -(r * lost)) + 1.0
    if n & 1:
        sine, cosine = cosine, sine
    return (-sine if n & 2 else sine), (-cosine if (n + 1) & 2 else cosine)


def _quotient(a, b):
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


TABLE = {
    **listing.SCALARS,
    g.SIN: lambda a, _: _wave(a)[0],
    g.COS: lambda a, _: _wave(a)[1],
    g.DIV: _quotient,
}


def plain(kernel, states):
    """Results of a kernel's listing, each operation rounded by itself."""
    recipe = kernel.recipe
    count = len(states[recipe.inputs[0].name])
    body = kernel._listing.body
    rows = np.concatenate([states[x.name].reshape(count, x.size) for x in recipe.inputs], axis=1).tolist()
    flat = np.array([listing.run(body, row, TABLE) for row in rows])
    edges = np.cumsum([x.size for x in recipe.outputs])[:-1]
    parts = np.split(flat, edges, axis=1)
    return [part.reshape(count, *x.shape) for part, x in zip(parts, recipe.outputs, strict=True)]


def node(script, folder):
    """What a script of Node prints."""
    path = folder / "asked.mjs"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run([NODE, str(path)], capture_output=True, text=True, encoding="utf-8", timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout

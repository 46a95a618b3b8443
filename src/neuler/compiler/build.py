"""From a recipe to a gufunc: trace, plan, emit, compile, link; or straight from the cache."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from neuler.compiler import cache, gufunc, jit
from neuler.compiler.graph import Graph, Node, Scalar, count
from neuler.compiler.llvm import Emitter, Operand
from neuler.compiler.objects import linkable
from neuler.compiler.schedule import plan
from neuler.compiler.target import Target, host

_LARGEST_POOL = 1 << 31
"""Bytes of scratch of one call that are believed of an entry of the cache."""

Trace = Callable[[Mapping[str, list[Scalar]]], Sequence[Sequence[Scalar]]]


@dataclass(frozen=True)
class Recipe:
    """What a kernel takes and gives, and how to trace it: inputs by name to flat outputs."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    trace: Trace = field(compare=False, repr=False)
    structure: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """For outputs that are sparse: by name, the index of every entry along each axis of the dense array."""
    may_vanish: tuple[str, ...] = ()
    """Joints that feel no inertia in some poses, where the results are NaN."""
    open_loops: bool = False
    """Of a machine with loops: meant for positions at which they are open, too."""
    unmarked: bool = False
    """Of a machine with loops: nothing is marked with NaN, the results are numbers at every position."""


@dataclass(frozen=True)
class Operations:
    """Operations for one state. Divisions include square roots; trig counts sines and cosines."""

    mul: int
    add: int
    div: int
    trig: int

    def __str__(self) -> str:
        return f"{self.mul} mul, {self.add} add, {self.div} div, {self.trig} trig"


@dataclass(frozen=True)
class Compiled:
    """A gufunc with its facts. ``seconds`` is what it took to get it, ``cached`` where it came from."""

    ufunc: np.ufunc
    operations: Operations
    seconds: float
    cached: bool


_ready: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()
"""What somebody holds: a kernel that nobody holds gives its code back."""
_locks: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
_guard = threading.Lock()


def _renew_locks() -> None:
    """In a forked child: whoever held a lock is not there."""
    global _guard, _locks
    _guard = threading.Lock()
    _locks = weakref.WeakValueDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def traced(recipe: Recipe) -> tuple[list[Node], list[Scalar]]:
    """Run the recipe on symbols."""
    graph = Graph()
    symbols: dict[str, list[Scalar]] = {}
    nodes: list[Node] = []
    for operand in recipe.inputs:
        fresh = graph.inputs(operand.name, operand.size)
        symbols[operand.name] = list(fresh)
        nodes.extend(fresh)
    outputs: list[Scalar] = []
    for operand, values in zip(recipe.outputs, recipe.trace(symbols), strict=True):
        flat = list(values)
        if len(flat) != operand.size:
            raise AssertionError(f"{operand.name}: traced {len(flat)} values, expected {operand.size}")
        outputs.extend(flat)
    return nodes, outputs


def compile_recipe(
    recipe: Recipe,
    name: str,
    doc: str,
    dtype: str,
    identity: object,
    target: Target | None = None,
    origin: str = __name__,
) -> Compiled:
    """The gufunc of a recipe. ``identity`` is all that decides the recipe; equal identities share code.

    ``origin`` is the module that makes the recipe of the identity: its source is part of the cache's key.
    """
    target = target or host()
    key = cache.key(identity, dtype, target, origin=origin)
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        found = _ready.get(key)
        if found is None:
            found = _ready[key] = _compile(recipe, name, doc, dtype, key, target)
        return found


def _compile(recipe: Recipe, name: str, doc: str, dtype: str, key: str, target: Target) -> Compiled:
    start = time.perf_counter()
    entry = cache.load(key)
    stored = None if entry is None else _understood(recipe, dtype, target, *entry)
    if stored is not None:
        operations, pool, code = stored
        ufunc = _link(recipe, name, doc, dtype, code, target, pool)
        return Compiled(ufunc, operations, time.perf_counter() - start, True)
    nodes, outputs = traced(recipe)
    operations = Operations(**count(outputs))
    emitter = Emitter(plan(nodes, outputs, fma=target.fma), target, dtype)
    code = jit.object_code(emitter.module(recipe.inputs, recipe.outputs), target)
    ufunc = _link(recipe, name, doc, dtype, code, target, emitter.pool)
    facts = {"operations": asdict(operations), "pool": emitter.pool, "name": name, **_shapes(recipe, dtype)}
    cache.store(key, facts, code)
    return Compiled(ufunc, operations, time.perf_counter() - start, False)


def _shapes(recipe: Recipe, dtype: str) -> dict[str, Any]:
    """What the code reads and writes: stored beside it, and compared before it is run on arrays."""
    sides = {"inputs": recipe.inputs, "outputs": recipe.outputs}
    return {"dtype": dtype, **{side: [[x.name, list(x.shape)] for x in operands] for side, operands in sides.items()}}


def _understood(
    recipe: Recipe, dtype: str, target: Target, facts: Mapping[str, Any], code: bytes
) -> tuple[Operations, int, bytes] | None:
    """An entry of the cache, if it is what this recipe would have written; else None: compile again."""
    counts: Any = facts.get("operations")
    pool: Any = facts.get("pool")
    names = [x.name for x in fields(Operations)]
    if not isinstance(counts, dict) or sorted(counts) != sorted(names) or not all(map(_natural, counts.values())):
        return None
    if not _natural(pool) or pool > _LARGEST_POOL:
        return None
    if any(facts.get(what) != value for what, value in _shapes(recipe, dtype).items()):
        return None
    if not linkable(code, target.triple, jit.ENTRY):
        return None
    return Operations(**counts), pool, code


def _natural(x: object) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def _link(recipe: Recipe, name: str, doc: str, dtype: str, code: bytes, target: Target, pool: int) -> np.ufunc:
    address, owner = jit.load(code, target)
    inputs = [operand.shape for operand in recipe.inputs]
    outputs = [operand.shape for operand in recipe.outputs]
    return gufunc.make_gufunc(address, inputs, outputs, dtype, name, doc, owner, pool)


def evaluate(recipe: Recipe, values: Mapping[str, Any]) -> list[np.ndarray]:
    """The recipe on plain floats: the readable reference that compiled code is tested against."""
    flat = {o.name: np.asarray(values[o.name], dtype=float).reshape(-1).tolist() for o in recipe.inputs}
    results = recipe.trace(flat)
    return [
        np.array([float(x) for x in result]).reshape(operand.shape)
        for operand, result in zip(recipe.outputs, results, strict=True)
    ]

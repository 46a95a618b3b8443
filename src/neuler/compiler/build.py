"""From a recipe to a gufunc: trace, plan, emit, compile, link; or straight from the cache."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from neuler.compiler import cache, gufunc, jit
from neuler.compiler.gufunc import Code
from neuler.compiler.llvm import Emitter
from neuler.compiler.lower import lower
from neuler.compiler.objects import linkable
from neuler.compiler.target import Target, host
from neuler.trace.recipe import Operations, Recipe

_LARGEST_POOL = 1 << 31
"""Bytes of scratch of one call that are believed of an entry of the cache."""


@dataclass(frozen=True)
class Built:
    """A gufunc with its facts. ``seconds`` is what it took to get it, ``cached`` where it came from."""

    ufunc: np.ufunc
    code: Code
    operations: Operations
    seconds: float
    cached: bool


_ready: weakref.WeakValueDictionary[str, Built] = weakref.WeakValueDictionary()
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


def compile_recipe(
    recipe: Recipe,
    name: str,
    doc: str,
    dtype: str,
    identity: object,
    target: Target | None = None,
    origin: str = __name__,
) -> Built:
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


def _compile(recipe: Recipe, name: str, doc: str, dtype: str, key: str, target: Target) -> Built:
    start = time.perf_counter()
    entry = cache.load(key)
    stored = None if entry is None else _understood(recipe, dtype, target, *entry)
    if stored is not None:
        operations, pool, code = stored
        ufunc, made = _link(recipe, name, doc, dtype, code, target, pool)
        return Built(ufunc, made, operations, time.perf_counter() - start, True)
    plan = lower(recipe, fma=target.fma)
    emitter = Emitter(plan, target, dtype)
    code = jit.object_code(emitter.module(), target)
    ufunc, made = _link(recipe, name, doc, dtype, code, target, emitter.pool)
    facts = {"operations": asdict(plan.operations), "pool": emitter.pool, "name": name, **_shapes(recipe, dtype)}
    cache.store(key, facts, code)
    return Built(ufunc, made, plan.operations, time.perf_counter() - start, False)


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


def _link(
    recipe: Recipe, name: str, doc: str, dtype: str, code: bytes, target: Target, pool: int
) -> tuple[np.ufunc, Code]:
    found, owner = jit.load(code, target)
    inputs = [operand.shape for operand in recipe.inputs]
    outputs = [operand.shape for operand in recipe.outputs]
    made = gufunc.Code(owner, found[jit.ENTRY], found[jit.ONE], pool)
    return gufunc.make_gufunc(made, inputs, outputs, dtype, name, doc), made

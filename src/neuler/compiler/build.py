"""From a recipe or a time loop to a gufunc: trace, schedule, emit, compile, link; or straight from the cache."""

from __future__ import annotations

import functools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from neuler.compiler import cache, gufunc, jit, support
from neuler.compiler.gufunc import Code
from neuler.compiler.llvm import Emitter
from neuler.compiler.looptext import signature
from neuler.compiler.lower import lower
from neuler.compiler.movement import NANS
from neuler.compiler.objects import linkable
from neuler.compiler.program import Program
from neuler.compiler.schedule import Schedule
from neuler.compiler.target import Target, host
from neuler.compiler.timeloop import TimeLoop
from neuler.trace.recipe import Operand, Operations, Recipe

_LARGEST_POOL = 1 << 31
"""Bytes of scratch of one call that are believed of an entry of the cache."""


@dataclass(eq=False)
class Built:
    """A gufunc with its facts. ``seconds`` is what it took to get it, ``cached`` whether it came from the cache."""

    ufunc: np.ufunc
    code: Code
    operations: Operations
    seconds: float
    cached: bool
    one_state: Code | None
    """Code for one state: that of batches where it has the lanes for it, else made apart when it is asked for."""
    compiled_in: float
    """Seconds that making the code took, when it was made on this machine."""


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


@dataclass(frozen=True)
class _Source:
    """What a gufunc is made of: its operands, its signature, and how its text is written when it must be."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    signature: str
    dtype: str
    write: Callable[[Target], tuple[str, int, Operations]]
    """The module's text, the bytes of scratch from a pool, and the operations."""
    entries: tuple[str, ...]


def compile_recipe(
    recipe: Recipe,
    name: str,
    doc: str,
    dtype: str,
    identity: object,
    target: Target | None = None,
    origin: str = __name__,
    *,
    reports: bool = False,
    one: bool = False,
) -> Built:
    """The gufunc of a recipe. ``identity`` is all that decides the recipe; equal identities share code.

    ``origin`` is the module that makes the recipe of the identity: its source is part of the cache's key. With
    ``reports`` the code counts its calls with NaN among their results. With ``one`` there is code for one state as
    well; it has fewer lanes than that of batches, or is the same.
    """
    target = target or host()
    lanes, few = target.lanes(dtype), target.one_lanes(dtype)
    schedules: list[Schedule] = []

    def write(target: Target, lanes: int, *, alone: bool) -> tuple[str, int, Operations]:
        if not schedules:
            schedules.append(lower(recipe, fma=target.fma))
        emitter = Emitter(schedules[0], target, dtype, lanes, reports=reports and not alone)
        return emitter.one_module() if alone else emitter.module(), emitter.pool, schedules[0].operations

    sizes = gufunc.signature([x.shape for x in recipe.inputs], [x.shape for x in recipe.outputs])
    entries = (jit.ENTRY, *([jit.ONE] if few == lanes else []), *([NANS] if reports else []))
    batch = functools.partial(write, lanes=lanes, alone=False)
    source = _Source(recipe.inputs, recipe.outputs, sizes, dtype, batch, entries)
    built = _built(source, name, doc, identity, target, origin)
    if one and built.one_state is None:
        alone = functools.partial(write, lanes=few, alone=True)
        source = _Source(recipe.inputs, recipe.outputs, sizes, dtype, alone, (jit.ONE,))
        key = cache.key(identity, dtype, target, "one state", few, origin=origin)
        with _lock(key):
            if built.one_state is None:
                made = _machine_code(source, name, key, target)
                built.one_state = _loaded(source, made.code, target, made.pool)
    return built


def compile_program(
    program: Program, name: str, doc: str, identity: object, target: Target | None = None, origin: str = __name__
) -> Built:
    """The gufunc of a time loop; the same otherwise, in double precision."""

    def write(target: Target) -> tuple[str, int, Operations]:
        schedules, operations = program.schedules(fma=target.fma)
        loop = TimeLoop(program, schedules, target)
        return loop.module(), loop.pool, operations

    source = _Source(program.inputs, program.outputs, signature(program), "float64", write, (jit.ENTRY,))
    return _built(source, name, doc, identity, target or host(), origin)


def _lock(key: str) -> threading.Lock:
    with _guard:
        return _locks.setdefault(key, threading.Lock())


def _built(source: _Source, name: str, doc: str, identity: object, target: Target, origin: str) -> Built:
    key = cache.key(identity, source.dtype, target, origin=origin)
    with _lock(key):
        found = _ready.get(key)
        if found is None:
            found = _ready[key] = _compile(source, name, doc, key, target)
        return found


def _compile(source: _Source, name: str, doc: str, key: str, target: Target) -> Built:
    start = time.perf_counter()
    made = _machine_code(source, name, key, target)
    code = _loaded(source, made.code, target, made.pool)
    sides = len(source.inputs), len(source.outputs)
    ufunc = gufunc.make_gufunc(code, *sides, source.signature, source.dtype, name, doc)
    seconds = time.perf_counter() - start
    return Built(ufunc, code, made.operations, seconds, made.cached, code if code.one else None, made.seconds)


class _Object(NamedTuple):
    """An object file, its bytes of scratch from a pool, its operations, what it took to make it, and whence it came."""

    code: bytes
    pool: int
    operations: Operations
    seconds: float
    cached: bool


def _machine_code(source: _Source, name: str, key: str, target: Target) -> _Object:
    entry = cache.load(key)
    stored = None if entry is None else _understood(source, target, *entry)
    if stored is not None:
        return stored
    start = time.perf_counter()
    text, pool, operations = source.write(target)
    code = jit.object_code(text, target)
    seconds = time.perf_counter() - start
    facts = {"operations": asdict(operations), "pool": pool, "seconds": seconds, "name": name, **_shapes(source)}
    cache.store(key, facts, code)
    return _Object(code, pool, operations, seconds, False)


def _loaded(source: _Source, code: bytes, target: Target, pool: int) -> Code:
    support.provide(code, target, source.dtype)
    found, owner = jit.load(code, target, source.entries)
    return Code(owner, found.get(jit.ENTRY, 0), found.get(jit.ONE, 0), pool, found.get(NANS, 0))


def _shapes(source: _Source) -> dict[str, Any]:
    """What the code reads and writes: stored beside it, and compared before it is run on arrays."""
    sides = {"inputs": source.inputs, "outputs": source.outputs}
    shapes = {side: [[x.name, list(x.shape)] for x in operands] for side, operands in sides.items()}
    return {"dtype": source.dtype, "signature": source.signature, **shapes}


def _understood(source: _Source, target: Target, facts: Mapping[str, Any], code: bytes) -> _Object | None:
    """An entry of the cache, if it is what this source would have written; else None: compile again."""
    counts: Any = facts.get("operations")
    pool, seconds = facts.get("pool"), facts.get("seconds")
    names = [x.name for x in fields(Operations)]
    if not isinstance(counts, dict) or sorted(counts) != sorted(names) or not all(map(_natural, counts.values())):
        return None
    if not isinstance(pool, int) or not _natural(pool) or pool > _LARGEST_POOL:
        return None
    if not isinstance(seconds, float) or not 0.0 <= seconds < math.inf:
        return None
    if any(facts.get(what) != value for what, value in _shapes(source).items()):
        return None
    if not linkable(code, target.triple, source.entries, support.outside(target, source.dtype)):
        return None
    return _Object(code, pool, Operations(**counts), seconds, True)


def _natural(x: object) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0

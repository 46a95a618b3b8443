"""Code that kernels call and none needs a copy of: moving data, sines, elementary functions.

It depends on the CPU, the precision and the number of lanes alone. Each of its parts is compiled once, stored in the
cache, and loaded once in a process, where it stays. Kernels declare what they call; the names begin with a digest of
all that decides the code, so that a kernel never meets the support code of another version.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from neuler.compiler import cache, elementary, jit, movement, trig
from neuler.compiler.elementary import FUNCTIONS, INLINE
from neuler.compiler.loading import Loading
from neuler.compiler.movement import AXES
from neuler.compiler.objects import linkable, needed
from neuler.compiler.saving import Saving
from neuler.compiler.target import Target, llvm_binding
from neuler.errors import CompileError

_WALKS = tuple(f"{way}{axes}" for axes in range(1, AXES + 1) for way in ("gather", "scatter"))
_PARTS = {
    "values": ("spread", "pick", "clear", "sincos_all", "sincos_floats"),
    "rows": ("load", "save", *_WALKS, "fetch", "put"),
    "functions": tuple(f"neuler_{name}" for name in sorted(FUNCTIONS) if name not in INLINE),
}
"""The functions of each part that kernels may call."""


@dataclass(frozen=True)
class SupportPart:
    """A part of the support code, by its name in ``_PARTS``."""

    name: str
    target: Target
    dtype: str
    lanes: int

    @property
    def key(self) -> str:
        """Its name in the cache."""
        return cache.key("support", self.name, self.lanes, self.dtype, self.target, origin=__name__)

    @property
    def prefix(self) -> str:
        """What the names of its functions begin with, outside."""
        return f"neuler_{self.key[-24:]}_"

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that kernels may call."""
        absent = ("sincos_floats",) if self.dtype == "float64" else ("fetch", "put")
        return tuple(name for name in _PARTS[self.name] if name not in absent)

    def outer(self) -> tuple[str, ...]:
        """The outer names of its functions."""
        prefix = self.prefix
        return tuple(prefix + name for name in self.functions)

    # ---- text ------------------------------------------------------------------------------

    def text(self) -> str:
        """The module: functions as kernels write them, those that kernels may call under their outer names."""
        written: list[str] = getattr(self, f"_{self.name}")()
        if self.target.fma and self.name != "rows":
            written.append(declare("fma", self.lanes, "double"))
        names = "|".join(self.functions)
        body = re.sub(rf"(?m)^define internal (.*?) @({names})\(", r"define \1 @\2(", "\n".join(written))
        return module(self.target, [re.sub(rf"@({names})\(", rf"@{self.prefix}\1(", body)])

    @property
    def _scalar(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    def _values(self) -> list[str]:
        """What code for one state needs."""
        loading = Loading(self.lanes, self._scalar)
        written = [loading.single(), movement.clear(loading.vector), trig.emit(self.lanes, self.target.fma)]
        return written if self._scalar == "double" else [*written, movement.sincos_of_floats(self.lanes)]

    def _rows(self) -> list[str]:
        """What code for batches needs besides."""
        loading = Loading(self.lanes, self._scalar)
        written = [loading.packed(), Saving(self.lanes, self._scalar).emit()]
        written += [loading.walks(axes) for axes in range(1, AXES + 1)]
        return [*written, loading.single(), movement.moved_rows(self.lanes)] if self._scalar == "double" else written

    def _functions(self) -> list[str]:
        names = (name for name in sorted(FUNCTIONS) if name not in INLINE)
        return [elementary.raise_flags(), *(elementary.emit(name, self.lanes, self.target.fma) for name in names)]

    def called(self, text: str) -> str:
        """A kernel's functions with their calls of this part by outer names, and what these calls need.

        A call goes through a pointer, for the two codes may lie further apart than a call reaches.
        """
        prefix, numbers, needs = self.prefix, itertools.count(), []
        for name in self.functions:
            pieces = text.split(f"@{name}(")
            if len(pieces) == 1:
                continue
            for k, piece in enumerate(pieces[:-1]):  # each ends within a line that is a call
                before, _, line = piece.rpartition("\n")
                pointer = f"%to{next(numbers)}_{name}"
                pieces[k] = f"{before}\n  {pointer} = load ptr, ptr @at_{prefix}{name}\n{line}{pointer}("
            text = "".join(pieces)
            needs.append(f"@at_{prefix}{name} = internal global ptr @{prefix}{name}")
            needs.append(_declarations(self, prefix)[name])
        return "\n".join([text, *needs])

    # ---- machine code ----------------------------------------------------------------------

    def code(self) -> bytes:
        """The object file, from the cache or made anew."""
        key = self.key
        entry = cache.load(key)
        if entry is not None and linkable(entry[1], self.target.triple, self.outer()):
            return entry[1]
        code = jit.object_code(self.text(), self.target)
        cache.store(key, {"name": f"support: {self.name}"}, code)
        return code

    def provide(self) -> None:
        """Load the part, unless this process has it, so that kernels can be linked with it."""
        prefix = self.prefix
        with _guard:
            if prefix in _loaded:
                return
            found, owner = jit.load(self.code(), self.target, self.outer())
            for name, address in found.items():
                llvm_binding().add_symbol(name, address)
            owner.detach()  # the code stays while the process lives: kernels have its addresses
            _loaded.add(prefix)


_loaded: set[str] = set()
"""Prefixes of the parts that this process has."""
_guard = threading.Lock()


def _renew_lock() -> None:
    """In a forked child: whoever held the lock is not there."""
    global _guard
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@functools.lru_cache(maxsize=32)
def _declarations(part: SupportPart, prefix: str) -> dict[str, str]:
    """Of all functions of a part, by their names."""
    found = {}
    for result, name, arguments in re.findall(rf"(?m)^define (.*?) @{prefix}(\w+)\((.*?)\) #", part.text()):
        types = re.sub(r" %\w+", "", arguments)
        found[name] = f"declare {result} @{prefix}{name}({types}) #0"
    return found


def outside(target: Target, dtype: str) -> dict[str, SupportPart]:
    """All support code that kernels may call, for batches or for one state: parts by outer names of their functions."""
    sizes = {target.lanes(dtype), target.one_lanes(dtype)}
    parts = [SupportPart(name, target, dtype, lanes) for lanes in sizes for name in _PARTS]
    return {name: part for part in parts for name in part.outer()}


def provide(code: bytes, target: Target, dtype: str) -> None:
    """Load all that an object file calls."""
    known = outside(target, dtype)
    needs = needed(code, target.triple)
    for name in needs - known.keys():
        raise CompileError(f"the object file calls {name!r}, which nothing defines")
    for part in {known[name] for name in needs}:
        part.provide()


def linked(text: str, target: Target, dtype: str, lanes: int) -> str:
    """A kernel's functions with calls of support code, ready for a module."""
    for name in _PARTS:
        text = SupportPart(name, target, dtype, lanes).called(text)
    return text


def declare(name: str, lanes: int, scalar: str) -> str:
    """An intrinsic function of LLVM over vectors."""
    v = f"<{lanes} x {scalar}>"
    count = {"fma": 3, "copysign": 2, "sqrt": 1, "arithmetic.fence": 1}[name]
    bits = 64 if scalar == "double" else 32
    return f"declare {v} @llvm.{name}.v{lanes}f{bits}({', '.join([v] * count)})"


def module(target: Target, body: Sequence[str]) -> str:
    """A module: functions, and the attributes that they name."""
    head = [
        f'target triple = "{target.triple}"',
        'attributes #0 = { nounwind "no-stack-arg-probe" "frame-pointer"="none" }',
        'attributes #1 = { nounwind noinline "no-stack-arg-probe" }',
        'attributes #2 = { nounwind noinline cold "no-stack-arg-probe" }',
        'attributes #3 = { nounwind noinline cold strictfp "no-stack-arg-probe" }',
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        "!1 = !{i32 1}",
        '!2 = !{!"branch_weights", i32 1000000, i32 1}',
        "!3 = !{}",
    ]
    return "\n".join([*head, *body]) + "\n"

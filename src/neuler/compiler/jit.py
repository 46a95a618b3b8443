"""LLVM text to object code, and object code to an address in this process."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from neuler.compiler.target import Target, llvm_binding
from neuler.errors import CompileError

ENTRY, ONE = "loop", "one"
"""The functions that a kernel's module defines: NumPy's inner loop, and the same for one state."""
_MAPS = "/proc/self/maps"
_LIMIT = "/proc/sys/vm/max_map_count"
_SPARE = 4096
"""Memory maps that are left to everybody else: threads, libraries, NumPy's arrays."""
_LOOK = 256
"""Kernels between two counts of the process's maps. A kernel takes three to five."""

_since_look = 0


def object_code(text: str, target: Target) -> bytes:
    """Compile a module to an object file, in memory."""
    llvm = llvm_binding()
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise CompileError(f"the emitted code is not valid LLVM: {error}") from error
    return target.machine().emit_object(module)


def load(code: bytes, target: Target, names: Sequence[str] = (ENTRY, ONE)) -> tuple[dict[str, int], Any]:
    """Link an object file into this process: addresses of what it defines, and the owner of the code.

    When the owner goes, code and memory maps go with it.
    """
    global _since_look
    if _since_look % _LOOK == 0:
        _refuse_beyond_the_limit()
    _since_look += 1
    llvm = llvm_binding()
    empty = llvm.parse_assembly(f'target triple = "{target.triple}"\n')
    engine = llvm.create_mcjit_compiler(empty, target.machine(), use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found = {name: engine.get_function_address(name) or engine.get_global_value_address(name) for name in names}
    for name, address in found.items():
        if not address:
            raise CompileError(f"the object file does not define {name!r}")
    return found, engine


def _refuse_beyond_the_limit() -> None:
    """Systems allow a process so many memory maps, and a process that asks for more does not survive it."""
    most = _number(_LIMIT)
    if most is None or (used := _maps()) <= most - _SPARE:
        return
    gc.collect()  # kernels that nobody holds any more
    if (used := _maps()) > most - _SPARE:
        global _since_look
        _since_look = 0  # look again next time
        raise CompileError(
            f"this process uses {used} memory maps, and the system allows {most} (vm.max_map_count): too many kernels "
            "are held at once. Let go of some; robots that differ in numbers alone can share one process after another"
        )


def _number(path: str) -> int | None:
    try:
        with open(path, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None  # not Linux: no such limit


def _maps() -> int:
    try:
        with open(_MAPS, "rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return 0

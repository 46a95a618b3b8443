"""The CPU that code is made for: vector width, fused multiply-add, the target machine."""

from __future__ import annotations

import dataclasses
import functools
import os
from dataclasses import dataclass
from typing import Any

from neuler.errors import CompileError

OPTIMIZE = range(4)
"""What NEULER_OPTIMIZE may be: how much work the code generator does. 0 is for kernels that are called a few times."""
LEVELS = {
    "sse2": ("x86-64", "", 16, False),
    "avx2": ("x86-64-v3", "", 32, True),
    "avx512": ("x86-64-v4", "-prefer-256-bit", 64, True),
}
"""Forced levels of x86-64: LLVM's name of the CPU, features, bytes of a vector, fused multiply-add."""


_ONE_STATE = {64: 16}
"""Bytes of a vector in code for one state, by those of a vector in code for batches; the same where nothing is said.

By the figures of ``benchmarks/calls.py``: with 16 bytes instead of 64 one state takes 0.6 to 0.7 of the time. With 16
instead of 32 it takes 0.8 to 1, which is not worth compiling a kernel twice.
"""


@dataclass(frozen=True)
class Target:
    """What the emitted code may use."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    fma: bool
    optimize: int = 2
    """Of ``OPTIMIZE``."""

    def lanes(self, dtype: str) -> int:
        """How many numbers fit in one vector."""
        return self.vector_bytes // (8 if dtype == "float64" else 4)

    def one_lanes(self, dtype: str) -> int:
        """Of code for one state: few where vectors have 64 bytes, else those of batches, whose code serves both.

        All lanes compute the same; long vectors take longer to load, to divide and to take roots of.
        """
        size = _ONE_STATE.get(self.vector_bytes, self.vector_bytes)
        return size // (8 if dtype == "float64" else 4)

    def machine(self) -> Any:
        """A code generator for this target."""
        return llvm_binding().Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=self.optimize, reloc="pic",
            codemodel="small", jit=True,
        )  # fmt: skip


@functools.cache
def llvm_binding() -> Any:
    """LLVM, loaded when it is first needed, with its native code generator ready."""
    import llvmlite.binding as llvm

    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except RuntimeError as error:  # pragma: no cover - a broken LLVM
        raise CompileError(f"LLVM has no code generator for this machine: {error}") from error
    _hold_across_forks(llvm.ffi.lib)
    return llvm


def _hold_across_forks(library: Any) -> None:
    """llvmlite lets one thread at a time into LLVM. A fork waits until none is inside, and keeps others out.

    Else the child would find the door locked by a thread that it does not have.
    """
    lock = getattr(library, "_lock", None)
    if lock is None or not hasattr(os, "register_at_fork"):  # pragma: no cover - another llvmlite, or no fork
        return

    def leave() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(before=lock.__enter__, after_in_parent=leave, after_in_child=leave)


@functools.cache
def host() -> Target:
    """The target of this process: the host's, or what NEULER_CPU and NEULER_OPTIMIZE force."""
    forced = os.environ.get("NEULER_CPU", "").strip().lower()
    target = level(forced) if forced else _detect()
    wanted = os.environ.get("NEULER_OPTIMIZE", "").strip()
    if wanted and wanted not in map(str, OPTIMIZE):
        raise CompileError(f"NEULER_OPTIMIZE: expected a number from 0 to {OPTIMIZE[-1]}, got {wanted!r}")
    return dataclasses.replace(target, optimize=int(wanted)) if wanted else target


def _detect() -> Target:
    triple, llvm = _triple(), llvm_binding()
    features = llvm.get_host_cpu_features()
    if triple.startswith(("x86_64", "amd64")):
        cpu = llvm.get_host_cpu_name()
        wide = all(features.get(f) for f in ("avx512f", "avx512dq", "avx512vl", "avx512bw"))
        if wide:
            return Target(triple, cpu, features.flatten() + ",-prefer-256-bit", 64, True)
        if features.get("avx2") and features.get("fma"):
            return Target(triple, cpu, features.flatten(), 32, True)
        return Target(triple, cpu, features.flatten(), 16, bool(features.get("fma")))
    arm = triple.startswith(("aarch64", "arm64"))
    return Target(triple, llvm.get_host_cpu_name(), features.flatten() if features else "", 16, arm)


def level(name: str) -> Target:
    """A forced level: sse2, avx2 or avx512. Refuses what this CPU cannot run."""
    if name not in LEVELS:
        raise CompileError(f"NEULER_CPU: expected one of {', '.join(LEVELS)}, got {name!r}")
    best = _detect()
    cpu, features, vector_bytes, fma = LEVELS[name]
    if not best.triple.startswith(("x86_64", "amd64")) or vector_bytes > best.vector_bytes:
        raise CompileError(f"NEULER_CPU={name}: this CPU ({best.cpu}) cannot run it")
    return Target(best.triple, cpu, features, vector_bytes, fma)


def available_levels() -> tuple[str, ...]:
    """The forced levels that this CPU can run."""
    best = _detect()
    if not best.triple.startswith(("x86_64", "amd64")):
        return ()
    return tuple(name for name, (_, _, size, _) in LEVELS.items() if size <= best.vector_bytes)


def _triple() -> str:
    triple = llvm_binding().get_process_triple()
    # The in-memory linker reads ELF on Windows as well.
    return f"{triple}-elf" if "windows" in triple and not triple.endswith("-elf") else triple

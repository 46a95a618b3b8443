"""A compiled function as a target of XLA's foreign function interface (FFI): a handler made by LLVM, no C compiler.

XLA calls ``XLA_FFI_Error *handler(XLA_FFI_CallFrame *)`` from threads of its own and gives it nothing else, so each
function has a handler of two instructions that knows the address of its :class:`Facts`; what all have in common is
``@answer``, compiled once. Types and shapes of all buffers are looked at before anything is read: whoever calls a
target with others gets XLA's INVALID_ARGUMENT. Inputs may have batch axes of length 1; nothing is copied out.

What is registered stays for as long as the process lives, and so does all that it points to.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from neuler.compiler import jit
from neuler.compiler.target import Target, host
from neuler.trace.recipe import Operand

VERSIONS = (0, 1), (0, 2), (0, 3)
"""Of XLA's interface, those in which all that is used here is the same. XLA refuses handlers of others than it takes:
jaxlib 0.5 takes 0.1 alone, 0.10 takes all of them."""
_TYPES = {"float32": 11, "float64": 12}
"""XLA's numbers of element types."""

_registered: dict[str, str] = {}
"""By name of a target: why XLA refused it, or nothing."""
_lock = threading.Lock()


def _renew_lock() -> None:
    """In a forked child: whoever held the lock is not there."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@dataclass(frozen=True)
class Code:
    """What a target calls: NumPy's inner loop, its data (scratch, or 0), and the objects that own both."""

    loop: int
    data: int
    owner: object


@functools.cache
def _answer(target: Target, version: tuple[int, int]) -> int:
    """The address of the code that all handlers share."""
    from neuler.export.xla_handler import answer  # llvmlite's way to write modules takes a moment to import

    found, owner = jit.load(jit.object_code(answer(target.triple, version), target), target, ("answer",))
    _immortal(owner)
    return found["answer"]


def _immortal(*things: object) -> None:
    """One reference that nobody gives up: threads of XLA may still be inside when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(things))


class _Facts:
    """What ``answer`` reads of a function; ``xla_handler`` has the order of its words."""

    def __init__(self, code: Code) -> None:
        self.kept: list[object] = [code.owner]

    def text(self, words: str) -> int:
        made = ctypes.create_string_buffer(words.encode())
        self.kept.append(made)
        return ctypes.addressof(made)

    def words(self, values: Sequence[int]) -> int:
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self.kept.append(made)
        return ctypes.addressof(made)


def _facts(code: Code, called: str, inputs: Sequence[Operand], outputs: Sequence[Operand], dtype: str) -> int:
    """The address of what a handler must know of a function: the words of ``FACTS``, kept for good."""
    made, size = _Facts(code), np.dtype(dtype).itemsize
    records: list[int] = []
    steps: list[int] = []
    for k, operand in enumerate((*inputs, *outputs)):
        axes = f"whose last axes are {operand.shape}" if operand.shape else "without axes of its own"
        batch = "those of the results, or 1" if k < len(inputs) else "the same for all results"
        wrong = f"{called}: {operand.name} must be a buffer of {dtype} {axes}; its batch axes are {batch}"
        records += [len(operand.shape), made.words(operand.shape), size * operand.size, made.text(wrong)]
        steps += [size * prod(operand.shape[axis + 1 :]) for axis in range(len(operand.shape))]
    count = f"{called}: takes {len(inputs)} buffers and gives {len(outputs)}"
    texts = [count, f"{called}: can be executed, nothing else", f"{called}: results must not overlap arguments"]
    head = [code.loop, code.data, _TYPES[dtype], len(inputs), len(outputs), made.words(records), len(steps)]
    found = made.words([*head, made.words(steps), *map(made.text, texts)])
    _immortal(made)
    return found


def _handler(facts: int, version: tuple[int, int]) -> Any:
    """A function of C for XLA."""
    target = host()
    text = f"""target triple = "{target.triple}"
define ptr @handler(ptr %frame) {{
  %error = tail call ptr inttoptr (i64 {_answer(target, version)} to ptr)(ptr %frame, ptr inttoptr (i64 {facts} to ptr))
  ret ptr %error
}}
"""
    found, owner = jit.load(jit.object_code(text, target), target, ("handler",))
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(found["handler"])
    _immortal(owner, handler)
    return handler


def register(
    name: str, code: Code, called: str, inputs: Sequence[Operand], outputs: Sequence[Operand], dtype: str
) -> str:
    """Make a function known to XLA on the CPU by a name; why XLA does not take it, or nothing.

    The name must say what the function computes: programmes that JAX has cached on disk ask for it again. What is
    registered already is not registered again.
    """
    import jax

    with _lock:
        if name not in _registered:
            jax.local_devices(backend="cpu")  # a refusal while the backend is being made would leave none
            facts, refusal = _facts(code, called, inputs, outputs, dtype), ""
            for version in VERSIONS:
                try:
                    handler = _handler(facts, version)
                    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
                except RuntimeError as error:  # XLA's errors have no class of their own
                    refusal = refusal or str(error).replace(name, "a function")
                else:
                    refusal = ""
                    break
            _registered[name] = refusal
        return _registered[name]


def names() -> tuple[str, ...]:
    """Of all targets that XLA has taken."""
    return tuple(name for name, refusal in list(_registered.items()) if not refusal)

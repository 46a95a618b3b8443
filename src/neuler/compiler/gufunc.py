"""Machine code to a NumPy gufunc, through NumPy's exported C table. No C compiler is needed."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neuler.compiler.movement import POOL, pool_stride
from neuler.errors import CompileError

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31
_TYPE_NUMBERS = {"float32": np.dtype(np.float32).num, "float64": np.dtype(np.float64).num}
_NO_IDENTITY = -1

_alive: list[Any] = []
"""What NumPy's ufuncs point to. It is never freed: a ufunc may outlive the kernel that made it."""


@functools.cache
def _factory() -> Callable[..., Any]:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    capsule = _multiarray_umath._UFUNC_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    address = table[_FROM_FUNC_AND_DATA_AND_SIGNATURE]
    if not address:  # pragma: no cover - a NumPy that is not NumPy
        raise CompileError(f"NumPy {np.__version__} does not export PyUFunc_FromFuncAndDataAndSignature")
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
    )  # fmt: skip
    return prototype(address)


def _scratch_pool(scratch: int) -> np.ndarray:
    """Locks, all open, and buffers behind them; the system gives memory only to those that are used."""
    size = POOL * 8 + POOL * pool_stride(scratch)
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    pool = raw[start : start + size]
    _pools.append(pool)
    return pool


_pools: list[np.ndarray] = []


def _open_locks() -> None:
    """In a forked child: the threads that held a buffer are not there."""
    for pool in _pools:
        pool[: POOL * 8] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_locks)


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """NumPy's core signature with literal sizes: ``(6),(6)->(6,6)``. A wrong length is an error."""

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join(f"({','.join(map(str, shape))})" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


def make_gufunc(
    address: int,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    dtype: str,
    name: str,
    doc: str,
    keep: Any,
    pool: int = 0,
) -> np.ufunc:
    """A gufunc with one loop, at ``address``. ``keep`` owns the machine code, ``pool`` is its scratch in bytes."""
    count = len(inputs) + len(outputs)
    functions = (ctypes.c_void_p * 1)(address)
    memory = _scratch_pool(pool) if pool else None
    data = (ctypes.c_void_p * 1)(None if memory is None else memory.ctypes.data)
    types = bytes([_TYPE_NUMBERS[dtype]] * count)
    texts = (name.encode(), doc.encode(), signature(inputs, outputs).encode())
    ufunc = _factory()(
        ctypes.cast(functions, ctypes.c_void_p), ctypes.cast(data, ctypes.c_void_p), types, 1,
        len(inputs), len(outputs), _NO_IDENTITY, texts[0], texts[1], 0, texts[2],
    )  # fmt: skip
    _alive.append((functions, data, types, texts, ufunc, keep, memory))
    return ufunc

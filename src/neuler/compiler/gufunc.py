"""Machine code to a NumPy gufunc, through NumPy's exported C table. No C compiler is needed."""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neuler.compiler import numpy_api
from neuler.compiler.movement import POOL, pool_stride
from neuler.errors import CompileError

_TYPE_NUMBERS = {"float32": np.dtype(np.float32).num, "float64": np.dtype(np.float64).num}
_NO_IDENTITY = -1

_codes: weakref.WeakSet[Code] = weakref.WeakSet()
"""Of all ufuncs that live."""


class Code:
    """What a ufunc points to: machine code, scratch, texts. The ufunc owns it and takes it along when it goes."""

    def __init__(self, owner: Any, loop: int, one: int, pool: int, nans: int = 0) -> None:
        self.owner = owner
        self.loop, self.one = loop, one
        """Addresses: NumPy's inner loop, and ``void one(double **operands, void *pool)`` for one dense state."""
        self.memory = _scratch_pool(pool) if pool else None
        self.pool = 0 if self.memory is None else self.memory.ctypes.data
        self.nans = ctypes.c_int64.from_address(nans) if nans else None
        """Where the code counts them: calls of the ufunc with NaN among their results, by all threads."""
        self.functions = (ctypes.c_void_p * 1)(loop)
        self.data = (ctypes.c_void_p * 1)(self.pool or None)
        self.types = b""
        self.texts: tuple[bytes, ...] = ()
        _codes.add(self)


@functools.cache
def _owned_object() -> int:
    """Bytes from a ufunc's start to its field ``obj``, a reference that it gives up when it goes.

    It is where NumPy keeps the function behind ``np.frompyfunc``, which shows that the place is right.
    """
    words = 9  # four ints; functions, data; two ints; name, types, doc, ptr
    offset = object.__basicsize__ + words * 8

    def probe(x: object) -> object:
        return x

    ufunc = np.frompyfunc(probe, 1, 1)
    if ctypes.c_void_p.from_address(id(ufunc) + offset).value != id(probe):
        raise CompileError(
            f"NumPy {np.__version__} lays out its ufuncs in an unknown way; use another version of NumPy"
        )
    return offset


def _give(ufunc: np.ufunc, code: Code) -> None:
    """Make the ufunc own an object."""
    place = ctypes.c_void_p.from_address(id(ufunc) + _owned_object())
    if place.value is not None:  # pragma: no cover - a NumPy that uses it itself
        raise CompileError(f"NumPy {np.__version__} keeps something of its own in its ufuncs")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    place.value = id(code)


@functools.cache
def _factory() -> Callable[..., Any]:
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
    )  # fmt: skip
    return prototype(numpy_api.address("PyUFunc_FromFuncAndDataAndSignature"))


def _scratch_pool(scratch: int) -> np.ndarray:
    """Locks, all open, and buffers behind them; the system gives memory only to those that are used."""
    size = POOL * 8 + POOL * pool_stride(scratch)
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def _open_locks() -> None:
    """In a forked child: the threads that held a buffer are not there."""
    for code in list(_codes):
        if code.memory is not None:
            code.memory[: POOL * 8] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_locks)


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """NumPy's core signature with literal sizes: ``(6),(6)->(6,6)``. A wrong length is an error."""

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join(f"({','.join(map(str, shape))})" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


def make_gufunc(code: Code, inputs: int, outputs: int, sizes: str, dtype: str, name: str, doc: str) -> np.ufunc:
    """A gufunc with one loop, which owns the code: machine code and scratch live as long as it does.

    ``sizes`` is its core signature.
    """
    code.types = bytes([_TYPE_NUMBERS[dtype]] * (inputs + outputs))
    code.texts = (name.encode(), doc.encode(), sizes.encode())
    ufunc = _factory()(
        ctypes.cast(code.functions, ctypes.c_void_p), ctypes.cast(code.data, ctypes.c_void_p), code.types, 1,
        inputs, outputs, _NO_IDENTITY, code.texts[0], code.texts[1], 0, code.texts[2],
    )  # fmt: skip
    _give(ufunc, code)
    return ufunc

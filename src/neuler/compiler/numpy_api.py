"""Functions that NumPy exports to C, by their places in its tables."""

from __future__ import annotations

import ctypes

import numpy as np

from neuler.errors import CompileError

_PLACES = {"PyArray_New": ("_ARRAY_API", 93), "PyUFunc_FromFuncAndDataAndSignature": ("_UFUNC_API", 31)}
"""The table that holds a function, and its number there: part of NumPy's binary interface."""


def address(name: str) -> int:
    """Where a function is in this process."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    table, number = _PLACES[name]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    found = ctypes.cast(pointer(getattr(_multiarray_umath, table), None), ctypes.POINTER(ctypes.c_void_p))[number]
    if not found:  # pragma: no cover - a NumPy that is not NumPy
        raise CompileError(f"NumPy {np.__version__} does not export {name}")
    return found

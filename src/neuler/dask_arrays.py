"""Dask arrays: known without importing Dask, and refused by name where numbers are needed at once.

Kernels and functions take them (``dask_calls.py``). Everything else would turn them into NumPy arrays, computing all
blocks on the machine of the caller without a word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from neuler.errors import InputError, NeulerError


def is_dask(value: Any) -> bool:
    """Whether it is a Dask array.

    >>> is_dask([1.0, 2.0])
    False
    """
    module = sys.modules.get("dask.array")  # who has a Dask array has imported it
    return module is not None and isinstance(value, getattr(module, "Array", ()))


def lazy(value: Any) -> str:
    """What a value is that Dask has still to compute, for messages; empty where it is none.

    Lists and arrays of objects are looked into, because NumPy would compute what they hold.

    >>> lazy([1.0, 2.0])
    ''
    """
    if "dask" not in sys.modules or type(value) in (float, int, str):
        return ""
    if is_dask(value):
        return "a Dask array"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} with Dask arrays in it" if any(map(lazy, value)) else ""
    if isinstance(value, np.ndarray):
        return "an array with Dask arrays in it" if value.dtype == object and any(map(lazy, value.flat)) else ""
    graph = getattr(type(value), "__dask_graph__", None)  # data frames, delayed values, data of xarray
    return f"a {type(value).__name__} of Dask" if graph is not None and graph(value) is not None else ""


def any_lazy(values: Iterable[Any]) -> bool:
    """Whether Dask has still to compute one of these; without Dask, known at once."""
    return "dask" in sys.modules and any(map(lazy, values))


def refuse_dask(called: str, name: str, value: Any, *, error: type[NeulerError] = InputError) -> None:
    """Raise an error where an argument is still to be computed by Dask: ``called`` takes numbers alone."""
    if what := lazy(value):
        raise error(
            f"{called}: {name} is {what}, which kernels and functions alone take; {name}.compute() gives its numbers, "
            "dask.array.map_blocks calls a function of yours on every block"
        )

"""Kernels and functions on Dask arrays: lazy results, computed block by block where Dask computes them.

Everything that can be wrong is known from the shapes and types of the arrays, and is an error at the call. Nothing is
compiled there: a kernel travels to the workers by its pickle, and each process compiles it once or finds it in its
cache.
"""

from __future__ import annotations

import copy
import functools
import math
import os
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.dask_arrays import is_dask, lazy
from neuler.errors import InputError

if TYPE_CHECKING:
    from neuler.compiled import Compiled
    from neuler.trace.recipe import Operand

KERNELS = 64
"""That a process keeps for the blocks that come to it."""


class DaskArgument(Exception):
    """Some argument is a Dask array, or holds some: the call is not one on numbers."""


class BlockCall:
    """A kernel as Dask calls it: on NumPy arrays, the blocks. It has one thread unless told, as Dask has several."""

    def __init__(self, kernel: Compiled, pickled: bytes) -> None:
        self.__name__ = kernel._called
        self._pickled = pickled
        self._kernel = copy.copy(kernel)  # the caller's own keeps its threads; machine code is shared
        if kernel.threads is None and not os.environ.get("NEULER_THREADS", "").strip():
            self._kernel.threads = 1

    def __call__(self, *blocks: Any) -> Any:
        """The results for one block of every argument; several as a tuple."""
        found = self._kernel(*blocks)
        return tuple(found) if isinstance(found, tuple) else found

    def __dask_tokenize__(self) -> Any:
        return self.__name__, self._pickled

    def __reduce__(self) -> Any:
        return _of_process, (self._pickled,)


@functools.lru_cache(KERNELS)
def _of_process(pickled: bytes) -> BlockCall:
    """The same for all blocks that come to a process, so that it gets the machine code once."""
    return BlockCall(pickle.loads(pickled), pickled)


def call(kernel: Compiled, arrays: Sequence[Any], out: Any) -> tuple[Any, ...]:
    """The results of a kernel for arguments of which some are Dask arrays: a Dask array for each output.

    Batch axes broadcast as NumPy's do, and keep their blocks; core axes become one block.
    """
    import cloudpickle  # Dask's own: it also takes classes of the script that is running
    from dask.array import apply_gufunc, from_array

    from neuler.compiler.gufunc import signature  # where nothing is called the compiler is not needed

    called, operands = kernel._called, kernel.inputs
    if out is not None:
        raise InputError(f"{called}: a call with Dask arrays writes nothing into out; use what it returns")
    if len(arrays) != len(operands):
        raise kernel._explain(arrays, TypeError())
    values: list[Any] = [
        _checked(kernel, x, operand) if is_dask(x) else _numbers(kernel, x, operand)
        for x, operand in zip(arrays, operands, strict=True)
    ]
    _check_batch(kernel, values)
    blocks = []
    for x, operand in zip(values, operands, strict=True):
        core = dict.fromkeys(range(x.ndim - len(operand.shape), x.ndim), -1)
        blocks.append(x.rechunk(core) if is_dask(x) else from_array(x, chunks=-1))
    sides = [[operand.shape for operand in side] for side in (operands, kernel.outputs)]
    metas = tuple(np.empty((0,) * len(operand.shape), kernel.dtype) for operand in kernel.outputs)
    found = apply_gufunc(
        BlockCall(kernel, cloudpickle.dumps(kernel)),
        signature(*sides),
        *blocks,
        meta=metas if len(metas) > 1 else metas[0],
        output_sizes={str(n): n for shape in sides[1] for n in shape},
        allow_rechunk=True,  # of batch axes whose blocks differ; those of core axes are one by now
    )
    return found if isinstance(found, tuple) else (found,)


def _checked(kernel: Compiled, x: Any, operand: Operand) -> Any:
    """A Dask array of which the kernel can take the blocks."""
    called, kind = kernel._called, type(x._meta)
    if issubclass(kind, np.ma.MaskedArray):
        raise InputError(f"{called}: {operand.name} has masked arrays as blocks; fill or drop what is masked first")
    if not issubclass(kind, np.ndarray):
        raise InputError(f"{called}: {operand.name} has blocks of type {kind.__name__}; NumPy arrays are needed")
    if any(math.isnan(n) for n in x.shape[max(x.ndim - len(operand.shape), 0) :]):
        raise InputError(
            f"{called}: {operand.name} has blocks of unknown size along its last axes, got shape {x.shape}; "
            f"{operand.name}.compute_chunk_sizes() finds them out"
        )
    kernel._check_array(x, operand)
    return x


def _numbers(kernel: Compiled, x: Any, operand: Operand) -> np.ndarray:
    """An argument beside Dask arrays, as an array of the kernel's type."""
    if what := lazy(x):
        raise InputError(
            f"{kernel._called}: {operand.name} is {what}, and one Dask array is needed: dask.array.stack makes it of "
            "several, to_dask_array(lengths=True) of a data frame, .data of xarray's"
        )
    if kernel._is_traced(x):
        raise InputError(
            f"{kernel._called}: {operand.name} holds traced values, which cannot stand beside Dask arrays; trace the "
            "function first, then call it with Dask arrays"
        )
    return kernel._cast(x, operand)


def _check_batch(kernel: Compiled, values: Sequence[Any]) -> None:
    """Refuse batch axes that do not broadcast, and one of unknown length where another argument has it, too."""
    batches = {o.name: x.shape[: x.ndim - len(o.shape)] for x, o in zip(values, kernel.inputs, strict=True)}
    unknown = {name: batch for name, batch in batches.items() if any(map(math.isnan, batch))}
    if not unknown:
        kernel._batch_shape(values)
        return
    for name, batch in unknown.items():
        axes = [len(batch) - k for k, n in enumerate(batch) if math.isnan(n)]  # counted from the last one
        other = next((x for x in batches if x != name and any(len(batches[x]) >= axis for axis in axes)), None)
        if other is not None:
            shown = ", ".join(f"{o.name} {x.shape}" for x, o in zip(values, kernel.inputs, strict=True))
            raise InputError(
                f"{kernel._called}: {name} has blocks of unknown size along a batch axis that {other} has, too: "
                f"{shown}; {name}.compute_chunk_sizes() finds them out"
            )

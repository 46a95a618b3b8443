"""Compiled loops on the rows of a batch, by one thread or by several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.batches import WORK_PER_THREAD, call_in_parts, threads

if TYPE_CHECKING:
    from neuler.compiler.build import Built

Array = NDArray[np.float64]


def run_rows(
    built: Built, batch: tuple[int, ...], work: int, arrays: list[Array], cores: list[int], out: list[Array],
    most: int | None,
) -> None:  # fmt: skip
    """Call a compiled loop on all rows of a batch, in this thread or, where the work is worth it, in several.

    ``work``: operations of one row. ``cores``: axes of the arrays that belong to a row. ``most``: threads at most.
    """
    workers = min(most or threads(), work * math.prod(batch) // WORK_PER_THREAD, max(batch, default=1))
    with np.errstate(all="ignore"):  # NaN in, NaN out
        if workers < 2:
            built.ufunc(*arrays, out=tuple(out))
            return
        call_in_parts(built.ufunc, batch, arrays, cores, out, workers)

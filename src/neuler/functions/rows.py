"""Compiled loops on the rows of a batch, by one thread or by several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import WORK_PER_THREAD, share, threads

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
        axis = int(np.argmax(batch))
        spread = [np.broadcast_to(x, batch + x.shape[x.ndim - n :]) for x, n in zip(arrays, cores, strict=True)]
        edges = np.linspace(0, batch[axis], workers + 1).astype(int)

        def part(k: int) -> None:
            cut = (*(slice(None),) * axis, slice(edges[k], edges[k + 1]))
            built.ufunc(*(x[cut] for x in spread), out=tuple(x[cut] for x in out))

        share(part, workers)

"""Batches shared among threads: how many there are, and a gufunc called on parts of a batch by several of them."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

WORK_PER_THREAD = 8_000_000
"""Operations, about a quarter of a millisecond, below which waking a thread costs more than it brings."""


def threads() -> int:
    """How many threads large batches use: NEULER_THREADS, else all cores of this process."""
    chosen = os.environ.get("NEULER_THREADS", "").strip()
    if not chosen:
        return _cores()
    if not chosen.isdecimal() or int(chosen) < 1:
        raise InputError(f"NEULER_THREADS must be a positive whole number, got {chosen!r}")
    return int(chosen)


@functools.cache
def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers, thread_name_prefix="neuler")


def in_threads(part: Callable[[int], None], parts: int, workers: int | None = None) -> None:
    """Do ``part(0)`` to ``part(parts - 1)`` in this thread and in others; in this one alone while the interpreter ends.

    ``workers`` is the number of threads where there are more parts than that: between two parts an interruption is
    heard.
    """
    waiting = list(range(parts))[::-1]
    workers = workers or parts

    def work() -> None:
        while waiting:
            try:
                k = waiting.pop()
            except IndexError:  # another thread was quicker
                return
            part(k)

    jobs: list[Future[None]] = []
    failures: list[BaseException | None] = []
    try:
        with contextlib.suppress(RuntimeError):  # no new threads at the interpreter's end
            for _ in range(workers - 1):  # np.errstate is part of the context, which threads do not inherit
                jobs.append(_pool(max(_cores(), workers), os.getpid()).submit(contextvars.copy_context().run, work))
        work()
    finally:  # nobody may write into out after this call
        waiting.clear()  # what was not begun is not done
        while jobs:
            try:
                failures.append(None if jobs[0].cancel() else jobs[0].exception())
                del jobs[0]
            except KeyboardInterrupt as stop:  # heard when the others have ended
                failures.append(stop)
    for failure in failures:
        if failure is not None:
            raise failure


def call_in_parts(
    ufunc: Callable[..., Any],
    batch: tuple[int, ...],
    arrays: Sequence[np.ndarray],
    cores: Sequence[int],
    out: Sequence[np.ndarray],
    parts: int,
    workers: int | None = None,
) -> None:
    """Call a gufunc on parts of a batch, cut along its longest axis, in several threads: NumPy releases the GIL.

    ``cores`` are the numbers of axes of the arrays that belong to one row of the batch; their other axes broadcast.
    ``out`` has all axes of the batch. There are no more parts than the axis is long, and ``workers`` threads at most.
    """
    axis = int(np.argmax(batch))
    parts = min(parts, batch[axis])
    spread = [np.broadcast_to(x, batch + x.shape[x.ndim - core :]) for x, core in zip(arrays, cores, strict=True)]
    edges = np.linspace(0, batch[axis], parts + 1).astype(int)
    before = (slice(None),) * axis

    def part(k: int) -> None:
        cut = (*before, slice(edges[k], edges[k + 1]))
        ufunc(*(x[cut] for x in spread), out=tuple(x[cut] for x in out))

    in_threads(part, parts, workers)

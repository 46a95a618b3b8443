"""Who runs many calls at once: any ``concurrent.futures.Executor``, here or on other machines.

On this machine it is a pool of threads, each of which drives a process of its own (``processes.py``): such a pool
survives whatever happens to the processes. On others it is what the user brings: Dask, Ray, MPI, Slurm. There too the
calls run in processes that can be killed, which the engine's workers start.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import queue
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from neuler.errors import InputError, NeulerError
from neuler.extras import require
from neuler.inputs import told, whole
from neuler.workers.jobs import GUARD

Item = TypeVar("Item")
Answer = TypeVar("Answer")
ATTEMPTS = 30
"""Times that a call is sent out before the engine is held to be unable to run it."""
FIRST_ATTEMPTS = 3
"""The same for an engine that has not answered yet."""
PATIENCE = 10.0
"""Seconds within which a scheduler must answer."""
OFTEN = 5.0
"""Seconds after which a scheduler is asked again how many workers it has."""
MOST_WORKERS = 1_000_000


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(eq=False)
class Engine:
    """An executor, and what is known of it."""

    executor: Executor
    """Who runs the calls now."""
    workers: Callable[[], int]
    """How many calls it runs at the same time, as far as that is known."""
    renew: Callable[[], Executor] | None = None
    """Makes another executor after this one broke."""
    check: Callable[[], None] = lambda: None
    """Raises an error when the executor is out of reach, which futures alone do not tell."""
    close: Callable[[], None] = lambda: None
    """Ends what was started for it."""
    local: bool = False
    """Whether the calls run in threads of this process."""

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        """A future of the call."""
        try:
            future = self.executor.submit(function, *arguments)
        except Exception as error:  # of whatever engine it is
            self._make_again(error)
            future = self.executor.submit(function, *arguments)
        if not hasattr(future, "add_done_callback"):
            raise InputError(
                f"an executor's submit must return a concurrent.futures.Future; that of {type(self.executor).__name__} "
                f"returned {told(future)}"
            )
        return future

    def _make_again(self, error: BaseException) -> None:
        if self.renew is None:
            raise NeulerError(
                f"the executor is broken ({type(error).__name__}: {error}). Where none of its processes ever started, "
                f"the script may need {GUARD} before what it does. Else start again with a new one, or give a function "
                "that makes executors, executor=lambda: ..., which is called again whenever one breaks"
            ) from error
        self.executor = self.renew()


def engine_of(what: str, workers: Any, executor: Any, scheduler: Any = None) -> Engine:
    """The engine that a user asks for: ``workers`` processes here, an executor or a function that makes one, or Dask.

    ``what`` stands before the messages. Of an executor, ``workers`` says how many calls it runs at a time.
    """
    count = None if workers is None else whole(f"{what}: workers", workers, 1, MOST_WORKERS)
    if executor is not None and scheduler is not None:
        raise InputError(f"{what}: expected an executor or the address of a scheduler, got both")
    if scheduler is not None:
        return _dask(what, scheduler, count)
    if executor is None:
        size = count or cores()
        pool = ThreadPoolExecutor(size, thread_name_prefix="neuler")
        return Engine(pool, lambda: size, close=lambda: pool.shutdown(cancel_futures=True), local=True)
    made = executor
    if not isinstance(executor, Executor) and callable(executor):
        made = executor()
    if not isinstance(made, Executor) and not callable(getattr(made, "submit", None)):
        raise InputError(
            f"{what}: executor must be a concurrent.futures.Executor or a function that makes one, got {told(executor)}"
        )
    engine = Engine(made, _size_of(made) if count is None else lambda: count)
    if made is not executor:
        engine.renew, engine.close = executor, lambda: engine.executor.shutdown(wait=False)
    return engine


def _size_of(executor: Any) -> Callable[[], int]:
    """How many calls an executor runs at a time: by what executors of several engines have, else two a core here."""
    client = getattr(executor, "_client", executor)  # Dask's executor has a client, which is one as well
    if hasattr(client, "nthreads"):
        return _Threads(client)
    found = getattr(executor, "_max_workers", None)
    size = found if isinstance(found, int) and found > 0 else 2 * cores()
    return lambda: size


class _Threads:
    """The threads of all workers that a client of Dask has: asked for now and then, as workers come and go."""

    def __init__(self, client: Any) -> None:
        self._client, self._size, self._asked = client, 1, -math.inf

    def __call__(self) -> int:
        if time.monotonic() > self._asked + OFTEN:
            with contextlib.suppress(OSError, TimeoutError):  # out of reach for a while: as before
                self._size = max(1, sum(self._client.nthreads().values()))
            self._asked = time.monotonic()
        return self._size


def _dask(what: str, address: Any, count: int | None) -> Engine:
    if not isinstance(address, str):
        raise InputError(f"{what}: scheduler must be an address such as 'tcp://host:8786', got {told(address)}")
    require("distributed", f"{what}: a scheduler needs dask.distributed, which is not installed", "cluster")
    distributed = importlib.import_module("distributed")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{what}: the scheduler {address!r} does not answer ({reason}): start it with 'dask scheduler', and "
            f"workers with 'dask worker --nthreads 1 {address}'"
        ) from None

    def check() -> None:
        if client.status not in ("running", "connecting", "newly-created"):
            raise NeulerError(f"the connection to the scheduler {address!r} is lost ({client.status})")

    made = client.get_executor(pure=False)
    return Engine(made, _size_of(made) if count is None else lambda: count, check=check, close=client.close)


# ---- many calls -----------------------------------------------------------------------------------------------------


def spread(
    engine: Engine, function: Callable[..., Answer], common: Any, items: Iterator[Item]
) -> Generator[tuple[Item, Answer], None, None]:
    """``function(common, item, attempt)`` of all items, as the answers come; items are taken when there is room.

    Two calls a worker are under way, so that none waits for the next one. ``function`` returns what went wrong with its
    work; errors of neuler's own that it raises are raised here, all others are the engine's, such as a worker that was
    lost: the call is sent out again.
    """
    done: queue.SimpleQueue[Future[Answer]] = queue.SimpleQueue()
    running: dict[Future[Answer], tuple[Item, int]] = {}

    def send(item: Item, attempt: int) -> None:
        future = engine.submit(function, common, item, attempt)
        running[future] = item, attempt
        future.add_done_callback(done.put)

    try:
        more, answered = True, False
        while more or running:
            while more and len(running) < 2 * engine.workers():
                item = next(items, _NONE)
                if item is _NONE:
                    more = False
                else:
                    send(item, 0)
            if not running:
                break
            try:
                future = done.get(timeout=0.2)  # not for ever: Ctrl-C is to be heard
            except queue.Empty:
                engine.check()
                continue
            if future not in running:  # said twice
                continue
            item, attempt = running.pop(future)
            try:
                answer = future.result()
            except NeulerError:
                raise
            except (Exception, CancelledError) as error:
                engine.check()
                if attempt + 1 >= (ATTEMPTS if answered else FIRST_ATTEMPTS):
                    raise NeulerError(
                        f"the executor could not run a call {attempt + 1} times ({type(error).__name__}: {error})"
                    ) from error
                time.sleep(min(0.05 * 2**attempt, 2.0))
                send(item, attempt + 1)
            else:
                answered = True
                yield item, answer
    finally:
        for future in running:
            future.cancel()


_NONE: Any = object()

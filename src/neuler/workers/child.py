"""The process that runs a function for another one: ``python -m neuler.workers.child``, started by ``processes.py``.

Messages come on standard input and go out on standard output, each a pickle with its length before it. The first one
is the :class:`~neuler.workers.jobs.Job`; each one after it is an argument, which the job's function is called with.
What the function prints goes to standard error. The process ends when its input does, so that none is left behind when
the one that started it is killed, and when it has waited for ``IDLE`` seconds.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import struct
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

IDLE = 60.0
"""Seconds without a message after which the process ends: a cluster's machines are not to keep those of old studies."""
LENGTH = struct.Struct("<Q")
"""Stands before every message."""
READY, REPORT, DONE, FAILED = "ready", "report", "done", "failed"
"""What a message to the parent is: the job is loaded, a part of an answer, the answer, an exception."""


def send(file: IO[bytes], data: bytes) -> None:
    """Write one message."""
    file.write(LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> bytes | None:
    """The next message; None where the other end is gone."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    data = file.read(LENGTH.unpack(head)[0])
    return data if len(data) == LENGTH.unpack(head)[0] else None


def main() -> None:
    """Load the job, then answer calls until there are no more."""
    inbox, outbox = _taken()
    own = os.getpid()
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    _end_with_parent()
    threading.Thread(target=_read, args=(inbox, messages), daemon=True).start()
    sys.path[:], start = pickle.loads(messages.get())
    jobs = importlib.import_module("neuler.workers.jobs")
    function = _answered(outbox, READY, jobs.load, start)
    if function is None:
        return
    jobs.limit_memory(pickle.loads(start).memory)

    def report(part: Any) -> None:
        send(outbox, jobs.packed((REPORT, part)))

    while os.getpid() == own:  # a fork that comes back from the function has nothing to say
        try:
            argument = messages.get(timeout=IDLE)
        except queue.Empty:
            return
        _answered(outbox, DONE, _called, function, argument, report)


def _called(function: Callable[..., Any], argument: bytes, report: Callable[[Any], None]) -> Any:
    return function(pickle.loads(argument), report)


def _answered(outbox: IO[bytes], kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function and send what it returned, or the exception that it raised."""
    jobs = importlib.import_module("neuler.workers.jobs")
    try:
        found = function(*arguments)
        data = jobs.packed((kind, None if kind == READY else found))
    except BaseException as error:
        found, data = None, jobs.packed_error(FAILED, error)
    send(outbox, data)
    return found


def _taken() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for messages alone: whatever the function reads is empty, what it prints is shown."""
    try:
        os.fstat(2)
    except OSError:  # who started this has no standard error, and the next file would take its place
        _lead_nowhere(2)
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _lead_nowhere(0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what a killed process printed is seen
    if hasattr(os, "register_at_fork"):  # or the parent would wait for forks of this process after it has died
        os.register_at_fork(after_in_child=lambda: _lead_nowhere(inbox.fileno(), outbox.fileno()))
    return inbox, outbox


def _lead_nowhere(*places: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place in places:
        os.dup2(nowhere, place, inheritable=place <= 2)
    if nowhere not in places:
        os.close(nowhere)


def _read(inbox: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Pass messages on; end the process when the parent is gone, whatever it is doing."""
    while (message := receive(inbox)) is not None:
        messages.put(message)
    os._exit(0)


def _end_with_parent() -> None:
    """Have the kernel kill this process when the parent dies (Linux): compiled code may keep ``_read`` from running."""
    if sys.platform != "linux":
        return
    import ctypes
    import signal

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()

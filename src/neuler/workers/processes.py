"""Processes that can be killed: the parent's side of ``child.py``.

They are started with :mod:`subprocess`, not with :mod:`multiprocessing`, so that they run in any engine's workers:
those of Dask are daemonic, and daemonic processes may have no children of ``multiprocessing``.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from neuler.workers import child
from neuler.workers.jobs import Job, packed

SINGLE = {"NEULER_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""In the environment of a process, unless it says otherwise: the other cores are taken by the other processes."""


class Ended(Exception):
    """A process that ended before it answered."""

    def __init__(self, code: int | None) -> None:
        super().__init__(ending(code))
        self.code = code


class TimedOut(Exception):
    """A call that took longer than it may; its process was killed."""


def ending(code: int | None) -> str:
    """How a process ended, in words.

    >>> ending(3), ending(-9)
    ('the process ended with code 3', 'the process was ended by SIGKILL')
    """
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with code {code}"


class Process:
    """A process that loads a job and calls its function."""

    def __init__(self) -> None:
        options: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined, unused-ignore]
            if os.name == "nt"
            else {"start_new_session": True}
        )  # Ctrl-C is the parent's
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, os.path.dirname(child.__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=SINGLE | dict(os.environ), **options,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        for pipe in (self._to, self._from):
            _widen(pipe)
        self._killed = self._late = False
        self._heard = 0.0

    def load(self, job: Job) -> None:
        """Wait until it has loaded the job."""
        self._send(pickle.dumps((sys.path, pickle.dumps(job))))
        self._answer()

    def call(
        self, argument: Any, *, report: Callable[[Any], None] | None = None, limit: float | None = None
    ) -> Any:  # fmt: skip
        """What the job's function returns; what it reports in between is passed on.

        ``limit`` is the longest time (s) from the start to the first report, from one to the next, and to the answer:
        beyond it the process is killed and :class:`TimedOut` raised. :class:`Ended` says that the process is gone. An
        exception of the function is raised here.
        """
        done = threading.Event()
        self._late, self._heard = False, time.monotonic()
        self._send(packed(argument))
        if limit is not None:
            threading.Thread(target=self._watch, args=(limit, done), daemon=True).start()
        try:
            while True:
                kind, value = self._answer()
                self._heard = time.monotonic()
                if kind == child.DONE:
                    return value
                if report is not None:
                    report(value)
        finally:
            done.set()

    def _watch(self, limit: float, done: threading.Event) -> None:
        """Kill the process when nothing was heard of it for too long."""
        while not done.wait(max(self._heard + limit - time.monotonic(), 0.0)):
            if time.monotonic() >= self._heard + limit:
                self._late = True
                self._signal()
                return

    @property
    def alive(self) -> bool:
        """Whether it can be called."""
        return not self._killed and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def kill(self) -> None:
        """End it and all that it started, whatever it is doing."""
        self._killed = True
        self._signal()
        self._process.wait()
        for file in (self._to, self._from):
            with contextlib.suppress(OSError):
                file.close()

    def _signal(self) -> None:
        if os.name != "posix":  # pragma: no cover - Windows
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _send(self, data: bytes) -> None:
        try:
            child.send(self._to, data)
        except (OSError, ValueError):
            raise self._gone() from None

    def _answer(self) -> tuple[str, Any]:
        try:
            data = child.receive(self._from)
        except (OSError, ValueError):  # closed by another thread
            data = None
        if data is None:
            gone = self._gone()
            raise TimedOut if self._late else gone
        kind, value = pickle.loads(data)
        if kind == child.FAILED:
            raise value
        return kind, value

    def _gone(self) -> Ended:
        self.kill()
        return Ended(self._process.returncode)


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe hold a megabyte where the system can: large answers then take fewer turns."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 2**20)


_BEGIN = "import runpy, sys; runpy.run_path(sys.argv[1] + '/child.py', run_name='__main__')"
"""The child finds itself by its path: what the parent imports from is the first thing that it is told."""


# ---- those that wait for the next call ------------------------------------------------------------------------------

_idle: dict[str, list[Process]] = {}
_busy: dict[str, list[Process]] = {}
_dismissed: set[str] = set()
_lock = threading.Lock()


class Dismissed(Exception):
    """A call for a job that is over."""


@contextlib.contextmanager
def borrowed(job: Job) -> Iterator[Process]:
    """A process that has loaded the job: one that waits, or a new one. It is kept for the next call."""
    waiting = _waiting(job)
    process = waiting or Process()
    with _lock:
        _busy.setdefault(job.key, []).append(process)
    try:
        if job.key in _dismissed:  # meanwhile; from here on ``dismiss`` finds the process
            raise Dismissed
        if waiting is None:
            process.load(job)
        yield process
    except BaseException as error:
        process.kill()  # nobody knows what it would say next
        if isinstance(error, Ended) and job.key in _dismissed:
            raise Dismissed from None
        raise
    finally:
        with _lock:
            _busy[job.key].remove(process)
            if not _busy[job.key]:
                del _busy[job.key]
            if keep := process.alive and job.key not in _dismissed:
                _idle.setdefault(job.key, []).append(process)
        if not keep:
            process.kill()


def _waiting(job: Job) -> Process | None:
    """One that has loaded the job; those that have ended while they waited, for whatever job, are cleared away."""
    with _lock:
        if job.key in _dismissed:
            raise Dismissed
        ended = [process for waiting in _idle.values() for process in waiting if not process.alive]
        for key in list(_idle):
            _idle[key] = [process for process in _idle[key] if process not in ended]
            if not _idle[key]:
                del _idle[key]
        found = _idle[job.key].pop() if job.key in _idle else None
    for process in ended:
        process.kill()
    return found


def dismiss(job: Job) -> None:
    """End all processes of a job that this one has started, and let no more be started."""
    with _lock:
        _dismissed.add(job.key)
        found = [*_idle.pop(job.key, []), *_busy.get(job.key, [])]
    for process in found:
        process.kill()


def _forget() -> None:
    """In a fork: the processes are the parent's."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

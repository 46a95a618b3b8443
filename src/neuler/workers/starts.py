"""Many starts, the best answer: a function of a seed, on all cores.

Local solvers find the minimum that is near. ``best_of(make, 16)`` calls ``make(0)`` to ``make(15)``, each in one of
``workers`` processes (solvers and compiled kernels then share nothing), and keeps the lowest of the feasible answers.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError

Array = NDArray[np.float64]
Answer = TypeVar("Answer")
SINGLE = {"NEULER_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""In a worker: the cores are taken by the others."""


@dataclass(frozen=True, eq=False)
class Start(Generic[Answer]):
    """What one seed gave: an answer, or what went wrong."""

    seed: int
    answer: Answer | None
    error: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Starts(Generic[Answer]):
    """The best answer and all that were found, in the order of the seeds."""

    best: Answer
    seed: int
    """That gave the best."""
    starts: tuple[Start[Answer], ...]
    interrupted: bool

    @property
    def objectives(self) -> Array:
        """Of every start, NaN where there is no feasible answer: their spread says how many minima there are."""
        values = [
            getattr(start.answer, "objective", np.nan) if start.answer is not None and rank(start.answer)[1] == 0
            else np.nan
            for start in self.starts
        ]  # fmt: skip
        return np.array(values, float)


def rank(answer: Any) -> tuple[int, float, float]:
    """Less is better: solved before not solved, then feasible, then low."""
    violation = float(getattr(answer, "infeasibility", getattr(answer, "worst_violation", 0.0)))
    solved = getattr(answer, "valid", None)
    if solved is None:
        solved = getattr(answer, "status", "optimal") in ("optimal", "acceptable")
    objective = float(answer.objective)
    over = 0.0 if violation <= 1e-6 else violation
    bad = not (np.isfinite(objective) and np.isfinite(over))
    return (2, np.inf, np.inf) if bad else (0 if solved else 1, over, objective)


def best_of(
    make: Callable[[int], Answer],
    seeds: int | Iterable[int],
    workers: int | None = None,
    *,
    progress: Callable[[int, int, Answer | None], bool | None] | None = None,
    rank: Callable[[Answer], Any] = rank,
) -> Starts[Answer]:
    """The best of ``make(seed)`` over seeds, several at a time.

    ``make`` gives a :class:`~neuler.optimize.programme.Solution` or anything with ``objective``, ``infeasibility`` and
    ``status``. It goes to other processes, so that it and its answers must be picklable: a function of a module, or
    ``functools.partial`` of one; a script needs ``if __name__ == "__main__":``. ``workers=1`` stays in this process.
    ``seeds`` are numbers, or how many (0, 1, ...). The same seed gives the same answer however many workers there
    are, and of equal ones the first seed wins. ``progress(done, of, best)`` is called after each, False stops;
    then and after Ctrl-C the best so far is given. A seed that fails is kept with its error; if all do, the first
    error is raised.

    >>> from types import SimpleNamespace
    >>> def make(seed):
    ...     return SimpleNamespace(objective=(seed - 2) ** 2, infeasibility=0.0, status="optimal")
    >>> found = best_of(make, 5, workers=1)
    >>> found.seed, found.objectives.tolist()
    (2, [4.0, 1.0, 0.0, 1.0, 4.0])
    """
    numbers = list(range(seeds)) if isinstance(seeds, int | np.integer) else [int(seed) for seed in seeds]
    if not numbers:
        raise InputError("seeds: expected at least one, got none")
    if len(set(numbers)) < len(numbers):
        raise InputError("seeds: expected each one once")
    if workers is not None and workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}")
    count = min(len(numbers), workers or _cores())
    done: dict[int, Start[Answer]] = {}
    failures: dict[int, Exception] = {}
    best: Answer | None = None
    interrupted = False
    source = _here(make, numbers) if count == 1 else _spread(make, numbers, count)
    try:
        for seed, answer, error, seconds in source:
            if error is not None:
                failures[seed] = error
            done[seed] = Start(seed, answer, "" if error is None else f"{type(error).__name__}: {error}", seconds)
            if answer is not None and (best is None or rank(answer) < rank(best)):
                best = answer
            go_on = None if progress is None else progress(len(done), len(numbers), best)
            if go_on is False or getattr(answer, "status", "") == "interrupted":
                interrupted = len(done) < len(numbers)
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    finally:
        source.close()
    ordered = tuple(done[seed] for seed in numbers if seed in done)
    answers = [start for start in ordered if start.answer is not None]
    if not answers:
        raise failures[ordered[0].seed]
    first = min(answers, key=lambda start: rank(start.answer))  # type: ignore[arg-type]
    assert first.answer is not None
    return Starts(first.answer, first.seed, ordered, interrupted)


Outcome = tuple[int, Any, Exception | None, float]
Outcomes = Generator[Outcome, None, None]


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _outcome(make: Callable[[int], Any], seed: int) -> Outcome:
    began = time.perf_counter()
    try:
        answer, error = make(seed), None
    except Exception as problem:
        answer, error = None, problem
    return seed, answer, error, time.perf_counter() - began


def _here(make: Callable[[int], Any], seeds: list[int]) -> Outcomes:
    for seed in seeds:
        yield _outcome(make, seed)


def _work(make: bytes, pipe: Connection) -> None:
    """A worker: seeds in, outcomes out, until None comes or the other end is gone."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    try:
        function: Callable[[int], Any] = pickle.loads(make)
        while (seed := pipe.recv()) is not None:
            outcome = _outcome(function, seed)
            try:
                data = pickle.dumps(outcome)
            except Exception as problem:
                reason = outcome[2] if outcome[2] is not None else problem
                error = InputError(f"the answer of seed {seed} cannot be pickled: {reason}")
                data = pickle.dumps((seed, None, error, outcome[3]))
            pipe.send_bytes(data)
    except EOFError:
        pass


@contextmanager
def _single() -> Iterator[None]:
    """Processes started here have one thread each and do not hear Ctrl-C."""
    before = {name: os.environ.get(name) for name in SINGLE}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update(SINGLE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if main:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _without_main(make: bytes) -> Iterator[None]:
    """A worker does not run the user's script again, unless what it is to do was defined there."""
    main = sys.modules.get("__main__")
    if main is None or b"__main__" in make:
        yield
        return
    hidden: dict[str, Any] = {
        name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
    }
    main.__dict__["__spec__"] = None
    try:
        yield
    finally:
        main.__dict__.update(hidden)


class _Worker:
    def __init__(self, make: bytes):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(make, other), daemon=True)
        with _single(), _without_main(make):
            self.process.start()
        other.close()
        self.seed: int | None = None
        self.began = 0.0
        self.answered = False

    def ask(self, seed: int) -> None:
        self.seed, self.began = seed, time.perf_counter()
        self.pipe.send(seed)

    def lost(self) -> Exception:
        self.process.join()
        code = self.process.exitcode
        if not self.answered and code == 1:
            return InputError(
                "a worker process did not start: a script that solves with several workers needs "
                'if __name__ == "__main__": around what it runs, and a function that is found by import'
            )
        return RuntimeError(f"the process of seed {self.seed} ended with code {code}")

    def end(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join()
        self.process.close()


def _spread(make: Callable[[int], Any], seeds: list[int], count: int) -> Outcomes:
    """Outcomes as they come, from so many processes."""
    try:
        data = pickle.dumps(make)
    except Exception as error:
        raise InputError(
            f"make cannot be sent to other processes ({error}): define it in a module, or take workers=1"
        ) from error
    waiting = list(reversed(seeds))
    workers: list[_Worker] = []
    try:
        for _ in range(count):
            workers.append(_Worker(data))
            workers[-1].ask(waiting.pop())
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=0.2)  # not for ever: Ctrl-C is to be heard
            for worker in [each for each in workers if each.pipe in ready]:
                seed = worker.seed
                assert seed is not None
                try:
                    outcome: Outcome = pickle.loads(worker.pipe.recv_bytes())
                    worker.answered = True
                except (EOFError, ConnectionError):
                    reason = worker.lost()
                    if isinstance(reason, InputError):
                        raise reason from None
                    outcome = (seed, None, reason, time.perf_counter() - worker.began)
                    workers.remove(worker)
                    worker.end()
                    if waiting:
                        workers.append(_Worker(data))
                        worker = workers[-1]
                if waiting:
                    worker.ask(waiting.pop())
                elif worker in workers:
                    workers.remove(worker)
                    worker.end()
                yield outcome
    finally:
        for worker in workers:
            worker.end()

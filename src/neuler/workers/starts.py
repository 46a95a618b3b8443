"""Many starts, the best answer: a function of a seed, on all cores.

Local solvers find the minimum that is near. ``best_of(make, 16)`` calls ``make(0)`` to ``make(15)``, each in one of
``workers`` processes (solvers and compiled kernels then share nothing), and keeps the lowest of the feasible answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import whole
from neuler.workers.engines import MOST_WORKERS, cores, engine_of, spread
from neuler.workers.jobs import Job, job_of
from neuler.workers.processes import Ended, borrowed, dismiss

Array = NDArray[np.float64]
Answer = TypeVar("Answer")


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
    executor: Any = None,
    progress: Callable[[int, int, Answer | None], bool | None] | None = None,
    rank: Callable[[Answer], Any] = rank,
) -> Starts[Answer]:
    """The best of ``make(seed)`` over seeds, several at a time.

    ``make`` gives a :class:`~neuler.optimize.programme.Solution` or anything with ``objective``, ``infeasibility`` and
    ``status``. It goes to other processes, so that it and its answers must be picklable: a function of a module, or
    ``functools.partial`` of one; with cloudpickle any function is. ``workers=1`` stays in this process. ``executor``,
    a ``concurrent.futures.Executor``, spreads the starts over other machines.
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
    if workers is not None:
        workers = whole("best_of: workers", workers, 1, MOST_WORKERS)
    count = min(len(numbers), workers or cores())
    done: dict[int, Start[Answer]] = {}
    failures: dict[int, Exception] = {}
    best: Answer | None = None
    interrupted = False
    source = _here(make, numbers) if count == 1 and executor is None else _spread(make, numbers, count, executor)
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


@dataclass(frozen=True)
class Made:
    """A function of a seed as a job calls it."""

    make: Callable[[int], Any]

    def __call__(self, seed: int, report: Callable[[Any], None]) -> Outcome:
        """What the function gives for a seed, or raises."""
        return _outcome(self.make, seed)


def called(job: Job, seed: int, attempt: int) -> Outcome:
    """The outcome of one seed, in a process; one that dies costs the seed."""
    began = time.perf_counter()
    with borrowed(job) as process:
        try:
            return process.call(seed)
        except Ended as error:
            problem: Exception = RuntimeError(f"the process of seed {seed} ended with code {error.code}")
        except Exception as error:
            problem = InputError(f"the answer of seed {seed} cannot be pickled: {error}")
    return seed, None, problem, time.perf_counter() - began


def _spread(make: Callable[[int], Any], seeds: list[int], count: int, executor: Any) -> Outcomes:
    """Outcomes as they come, from so many processes."""
    job = job_of("best_of: make", Made(make), here="take workers=1")
    engine = engine_of("best_of", count, executor)
    try:
        for _, outcome in spread(engine, called, job, iter(seeds)):
            yield outcome
    finally:
        dismiss(job)
        engine.close()

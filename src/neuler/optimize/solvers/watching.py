"""A programme as a solver sees it: timed, checked for NaN, its best point kept, interruption and errors held back.

Solvers call from foreign code that no Python exception may cross. Every call goes through ``Watched``: what a
function raises is kept and raised after the solve; an interruption (Ctrl-C, or a progress report that returns
False) ends the solve with the best point so far.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from neuler.optimize.programme import Array, Programme, Progress, Report, Solution, infeasibility

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Point:
    """A point on the way, with the multipliers that belonged to it."""

    x: Array
    objective: float
    infeasibility: float
    multipliers: Array
    bound_multipliers: tuple[Array, Array]


class Stopped(Exception):
    """Thrown through a solver written in Python to end it."""


class Watched:
    """The functions of a programme for a solver; ``stop`` once nothing more is to be computed."""

    def __init__(self, programme: Programme, report: Report | None, tolerance: float, seconds: float | None):
        self.programme = programme
        self.report = report
        self.tolerance = tolerance
        self.limit = np.inf if seconds is None else seconds
        self.began = time.perf_counter()
        self.function_seconds = 0.0
        self.best: Point | None = None
        self.interrupted = False
        self.timed_out = False
        self.error: BaseException | None = None
        self.finite = True
        """Whether the last value was."""
        self.not_finite = ""
        """Which function was NaN or infinite last, and where."""
        self._data, self._x = b"", np.empty(0)

    @property
    def stop(self) -> bool:
        """Whether the solve is to end here."""
        return self.interrupted or self.timed_out or self.error is not None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def at(self, x: Array | bytes) -> Array:
        """x as the programme gets it: its own and read-only, the same object as long as the values are."""
        data = x if isinstance(x, bytes) else np.asarray(x, float).tobytes()
        if data != self._data:
            self._data, self._x = data, np.frombuffer(data)
        return self._x

    def guarded(self, body: Callable[[], Value], otherwise: Value) -> Value:
        """What body gives; ``otherwise`` once stopped, or if it raises (which stops)."""
        if self.stop:
            return otherwise
        try:
            if self.seconds > self.limit:
                self.timed_out = True
                return otherwise
            return body()
        except KeyboardInterrupt:
            self.interrupted = True
        except BaseException as error:
            self.error = error
        return otherwise

    def objective(self, x: Array | bytes) -> float:
        """f(x), NaN allowed."""
        return float(self._timed("objective", self.programme.objective, self.at(x)))

    def gradient(self, x: Array | bytes) -> Array:
        """df/dx."""
        return self._timed("gradient of the objective", self.programme.gradient, self.at(x))

    def rows(self, x: Array | bytes) -> Array:
        """g(x)."""
        return self._timed("rows", self.programme.rows, self.at(x))

    def jacobian(self, x: Array | bytes) -> Array:
        """Entries of dg/dx."""
        return self._timed("Jacobian of the rows", self.programme.jacobian, self.at(x))

    def hessian(self, x: Array | bytes, weight: float, multipliers: Array) -> Array:
        """Entries of the Lagrangian's second derivatives."""
        return self._timed("Hessian of the Lagrangian", self.programme.hessian, self.at(x), weight, multipliers)

    def _timed(self, name: str, function: Callable[..., Any], *arguments: object) -> Any:
        began = time.perf_counter()
        try:
            value = function(*arguments)
        finally:
            self.function_seconds += time.perf_counter() - began
        finite = np.isfinite(value)
        self.finite = bool(np.all(finite))
        if not self.finite:
            at = np.flatnonzero(~np.atleast_1d(finite))
            self.not_finite = name if at.size == 1 else f"{name} ({at.size} entries, the first at {at[0]})"
        return value

    def visit(
        self,
        iteration: int,
        x: Array,
        rows: Array,
        objective: float | None,
        multipliers: Array | None = None,
        bound_multipliers: tuple[Array, Array] | None = None,
    ) -> bool:
        """An iterate of the solver: kept if it is the best so far, and reported; whether to go on."""
        if self.stop:
            return False
        if objective is None:
            objective = self.objective(x)
        violation = infeasibility(self.programme, x, rows)
        n, m = self.programme.n, self.programme.m
        if np.isfinite(objective) and np.isfinite(violation):
            best = self.best
            if best is None or self.rank(violation, objective) < self.rank(best.infeasibility, best.objective):
                self.best = Point(
                    np.array(x),
                    objective,
                    violation,
                    np.zeros(m) if multipliers is None else np.array(multipliers),
                    (np.zeros(n), np.zeros(n)) if bound_multipliers is None else bound_multipliers,
                )
        if self.report is not None and self.report(Progress(iteration, objective, violation, self.seconds)) is False:
            self.interrupted = True
        return not self.stop

    def rank(self, violation: float, objective: float) -> tuple[float, float]:
        """Less is better: first feasible, then low."""
        return (violation if violation > 100 * self.tolerance else 0.0, objective)

    def solution(
        self,
        x: Array,
        multipliers: Array,
        bound_multipliers: tuple[Array, Array],
        status: str,
        message: str,
        iterations: int,
        solver: str,
    ) -> Solution:
        """The answer; the best point instead of the last one where the solver did not come to an end of its own."""
        if self.error is not None:
            raise self.error
        programme = self.programme
        if self.interrupted:
            status, message = "interrupted", "stopped on request; the best point so far"
        elif self.timed_out:
            status, message = "limit", f"stopped after {self.seconds:.3g} s; the best point so far"
        x = np.clip(x, programme.lower, programme.upper)
        objective, rows = self.objective(x), np.array(self.rows(x), float)
        violation = infeasibility(programme, x, rows)
        best = self.best
        if status in ("interrupted", "limit", "failed") and best is not None:
            worse = not (np.isfinite(violation) and np.isfinite(objective))
            if worse or self.rank(best.infeasibility, best.objective) < self.rank(violation, objective):
                x = np.clip(best.x, programme.lower, programme.upper)
                multipliers, bound_multipliers = best.multipliers, best.bound_multipliers
                objective, rows = self.objective(x), np.array(self.rows(x), float)
                violation = infeasibility(programme, x, rows)
        if status == "failed" and self.not_finite:
            message = f"{message}; not finite: {self.not_finite}"
        return Solution(
            x,
            objective,
            rows,
            np.array(multipliers, float),
            bound_multipliers,
            status,
            message,
            iterations,
            self.seconds,
            self.function_seconds,
            solver,
            violation,
        )

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the solve at its next call, a second one at once (in Python's main thread)."""
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                signal.default_int_handler(number, frame)
            self.interrupted = True

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

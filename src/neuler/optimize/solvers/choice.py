"""Which solver: by name, or the best that is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from neuler.errors import InputError
from neuler.extras import install
from neuler.naming import hint
from neuler.optimize.programme import Programme, Report, Request, Solution, infeasibility
from neuler.optimize.solvers import ipopt, scipy, uno

PUSH = 1e-7
"""Relative distance of a warm start from bounds: pushed further, variables that hardly matter wander far."""


class Solver(NamedTuple):
    """A solver's library: whether it is here, and the solve."""

    available: Callable[[], bool]
    solve: Callable[..., Solution]
    extra: str
    """That installs it."""


SOLVERS = {
    "ipopt": Solver(ipopt.available, ipopt.solve, "plan"),
    "uno": Solver(uno.available, functools.partial(uno.solve, name="uno"), "uno"),
    "uno-sqp": Solver(uno.available, functools.partial(uno.solve, name="uno-sqp"), "uno"),
    "scipy": Solver(scipy.available, scipy.solve, "plan"),
}
"""By name, the best first."""


def available() -> tuple[str, ...]:
    """Names of the solvers that are installed, the best first.

    >>> from neuler.optimize import solvers
    >>> "ipopt" in solvers.available()
    True
    """
    return tuple(name for name, each in SOLVERS.items() if each.available())


def chosen(solver: str = "auto") -> str:
    """The solver that a name means here; refused where it is not known or not installed."""
    if solver == "auto":
        found = next((name for name, each in SOLVERS.items() if each.available()), None)
        if found is None:
            raise InputError("no solver of nonlinear programmes is installed: " + install("plan"))
        return found
    if solver not in SOLVERS:
        raise InputError(f"unknown solver {solver!r}: {hint(solver, ['auto', *SOLVERS])}")
    if not SOLVERS[solver].available():
        raise InputError(f"solver {solver!r} is not installed: {install(SOLVERS[solver].extra)}")
    return solver


def check(programme: Programme, warm: Solution | None = None) -> None:
    """Refuse a programme whose sizes, bounds or start make no sense."""
    n, m = programme.n, programme.m
    for name, size in (("lower", n), ("upper", n), ("start", n), ("row_lower", m), ("row_upper", m)):
        value = np.asarray(getattr(programme, name))
        if value.shape != (size,):
            raise InputError(f"{name} of the programme: expected shape ({size},), got {value.shape}")
        if np.isnan(value).any() or (name == "start" and not np.isfinite(value).all()):
            at = int(np.flatnonzero(~np.isfinite(value))[0])
            raise InputError(f"{name} of the programme: expected numbers, got {value[at]} at {at}")
    for word, lower, upper in (
        ("variable", programme.lower, programme.upper),
        ("row", programme.row_lower, programme.row_upper),
    ):
        crossed = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
        if crossed.size:
            at = int(crossed[0])
            raise InputError(f"bounds of {word} {at} leave nothing: from {lower[at]:g} to {upper[at]:g}")
    for name, height in (("jacobian_at", m), ("hessian_at", n)):
        i, j = (np.asarray(part) for part in getattr(programme, name))
        if i.shape != j.shape or i.ndim != 1:
            raise InputError(f"{name}: expected rows and columns of one length, got {i.shape} and {j.shape}")
        if i.size and not (i.min() >= 0 and i.max() < height and j.min() >= 0 and j.max() < n):
            raise InputError(f"{name}: a place outside the matrix of {height} rows and {n} columns")
        if name == "hessian_at" and (i < j).any():
            raise InputError("hessian_at: expected places of the lower triangle only, row >= column")
    if warm is not None:
        sizes = warm.x.shape, warm.multipliers.shape, *(part.shape for part in warm.bound_multipliers)
        if sizes != ((n,), (m,), (n,), (n,)):
            raise InputError(
                f"warm start: expected {n} variables and {m} rows, got {len(warm.x)} and {len(warm.multipliers)}"
            )
        if not all(np.isfinite(part).all() for part in (warm.x, warm.multipliers, *warm.bound_multipliers)):
            raise InputError("warm start: expected finite numbers; start without it")


def solve(
    programme: Programme,
    solver: str = "auto",
    *,
    warm: Solution | None = None,
    tolerance: float = 1e-8,
    iterations: int = 500,
    seconds: float | None = None,
    progress: Report | None = None,
    options: Mapping[str, Any] | None = None,
    push: float = PUSH,
) -> Solution:
    """A local minimum of a sparse nonlinear programme.

    ``warm`` begins at an earlier solution and its multipliers, ``push`` away from bounds (IPOPT, relative to their
    distance): the rougher the earlier solution, the more. ``tolerance`` is of the scaled optimality conditions;
    rows hold to a hundred times that, as they are given. ``progress`` is told every iteration and stops the solve by
    returning False; then, after Ctrl-C and at a limit (``iterations``, ``seconds``) the best point so far is given:
    the least infeasible, and of feasible ones the lowest. ``options`` go to the solver under its own names. What a
    function of the programme raises comes out here.
    """
    name = chosen(solver)
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance: expected a number between 0 and 1, got {tolerance!r}")
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer) or iterations < 0:
        raise InputError(f"iterations: expected a whole number, not negative, got {iterations!r}")
    if seconds is not None and not seconds > 0:
        raise InputError(f"seconds: expected a number above 0, got {seconds!r}")
    if not 0 < push < 0.5:
        raise InputError(f"push: expected a number between 0 and 0.5, got {push!r}")
    check(programme, warm)
    if programme.n == 0:
        return _nothing(programme, name)
    with np.errstate(all="ignore"):  # what is not finite is counted, and solvers step back from it
        request = Request(warm, float(tolerance), int(iterations), seconds, progress, options, float(push))
        return SOLVERS[name].solve(programme, request)


def _nothing(programme: Programme, name: str) -> Solution:
    """No variable left: the rows hold or they do not."""
    x = np.empty(0)
    rows = np.array(programme.rows(x), float)
    violation = infeasibility(programme, x, rows)
    status, message = ("optimal", "nothing to choose") if violation <= 1e-6 else ("infeasible", "nothing to choose")
    multipliers = np.zeros(programme.m)
    objective = float(programme.objective(x))
    return Solution(x, objective, rows, multipliers, (x, x), status, message, 0, 0.0, 0.0, name, violation)

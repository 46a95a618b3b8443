"""Uno from the ``unopy`` wheel (Vanaret and Leyffer): an interior point method and a filter SQP method.

Presets ``ipopt`` (line search, filter, MUMPS) and ``filtersqp`` (trust region, filter, BQPD).
"""

from __future__ import annotations

import importlib.util
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.naming import hint
from neuler.optimize.programme import Array, Programme, Request, Solution
from neuler.optimize.solvers.watching import Stopped, Watched

PRESETS = {"uno": "ipopt", "uno-sqp": "filtersqp"}
"""By the name of the solver."""
SUBSOLVERS = {"linear_solver": ("MUMPS",), "QP_solver": ("BQPD", "HiGHS"), "LP_solver": ("BQPD", "HiGHS")}
"""What the wheel has: Uno crashes when it is asked for another."""
ALONE = threading.RLock()
"""One solve at a time: Uno and BQPD have state of the whole process."""
RUNNING: list[str] = []
USUAL = ("max_iterations", "time_limit", "primal_tolerance", "dual_tolerance", "linear_solver", "QP_solver", "logger")


def available() -> bool:
    """Whether the wheel with Uno is installed."""
    try:
        return importlib.util.find_spec("unopy") is not None
    except (ImportError, ValueError):
        return False


def _set(solver: Any, name: str, value: Any) -> None:
    """An option of Uno's; a whole number will do for a number."""
    if name in SUBSOLVERS and value not in SUBSOLVERS[name]:
        raise InputError(f"Uno's option {name!r}: expected one of {', '.join(SUBSOLVERS[name])}, got {value!r}")
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    for each in (value, float(value)) if whole else (value,):
        try:
            solver.set_option(name, each)
            return
        except KeyError:
            raise InputError(f"Uno has no option {name!r}: {hint(name, USUAL)}") from None
        except TypeError as error:
            message = str(error).splitlines()[0]
    raise InputError(f"Uno's option {name!r} does not take {value!r}: {message}")


def _ends(status: str, point: str) -> tuple[str, str]:
    """Uno's words for the end and for the point."""
    if point == "FEASIBLE_KKT_POINT":
        return "optimal", "optimal within the tolerance"
    if point == "FEASIBLE_FJ_POINT":
        return "acceptable", "feasible, but the active rows depend on each other"
    if point == "INFEASIBLE_STATIONARY_POINT":
        return "infeasible", "no feasible point near: a least violation of the rows was found instead"
    if status == "ITERATION_LIMIT":
        return "limit", "the largest number of iterations was reached"
    if status == "TIME_LIMIT":
        return "limit", "the largest time was reached"
    if point == "UNBOUNDED_OBJECTIVE" or status == "DIVERGING_ITERATE" or point == "DIVERGING_ITERATE":
        return "failed", "the iterates diverge: the objective may be unbounded"
    if status == "EVALUATION_ERROR":
        return "failed", "a function or derivative was not finite"
    words = f"{status} {point}".replace("_", " ").lower()
    return "failed", f"Uno ended with: {words}"


def _model(watched: Watched, warm: Solution | None) -> Any:
    import unopy  # type: ignore[import-untyped, import-not-found, unused-ignore]

    programme = watched.programme

    def given(function: Callable[..., Any], *arguments: Any) -> Any:
        """A value of the programme; an exception here makes Uno shorten its step."""
        value = watched.guarded(lambda: function(*arguments), None)
        if value is None or not watched.finite:
            raise Stopped
        return value

    def gradient(x: Array, out: Array) -> None:
        out[:] = given(watched.gradient, x)

    def rows(x: Array, out: Array) -> None:
        out[:] = given(watched.rows, x)

    def jacobian(x: Array, out: Array) -> None:
        out[:] = given(watched.jacobian, x)

    def hessian(x: Array, weight: float, multipliers: Array, out: Array) -> None:
        out[:] = given(watched.hessian, x, weight, np.array(multipliers))

    model = unopy.Model(
        unopy.PROBLEM_NONLINEAR, programme.n, programme.lower, programme.upper, unopy.ZERO_BASED_INDEXING
    )
    model.set_objective(unopy.MINIMIZE, lambda x: given(watched.objective, x), gradient)
    if programme.m:
        i, j = programme.jacobian_at
        model.set_constraints(programme.m, rows, programme.row_lower, programme.row_upper, len(i), i, j, jacobian)
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    i, j = programme.hessian_at
    model.set_lagrangian_hessian(len(i), unopy.LOWER_TRIANGLE, i, j, hessian)
    model.set_initial_primal_iterate(np.array(programme.start if warm is None else warm.x))
    if warm is not None and programme.m:
        model.set_initial_dual_iterate(np.array(warm.multipliers))
    return model


def solve(programme: Programme, request: Request, name: str = "uno") -> Solution:
    """The programme's minimum by Uno; see :func:`neuler.optimize.solvers.solve`."""
    import unopy  # type: ignore[import-untyped, import-not-found, unused-ignore]

    solver = unopy.UnoSolver()
    solver.set_preset(PRESETS[name])
    settings: dict[str, Any] = {
        "print_solution": False,
        "logger": "SILENT",
        "primal_tolerance": request.tolerance,
        "dual_tolerance": request.tolerance,
        "max_iterations": request.iterations,
        **({} if request.seconds is None else {"time_limit": float(request.seconds)}),
        **(request.options or {}),
    }
    for option, value in settings.items():
        _set(solver, option, value)
    with ALONE:
        if RUNNING:
            raise InputError("Uno cannot solve within a solve of its own: take 'ipopt' for the inner one")
        RUNNING.append(name)
        try:
            watched = Watched(programme, request.progress, request.tolerance, request.seconds)
            return _run(solver, watched, request.warm, name)
        finally:
            RUNNING.clear()


def _run(solver: Any, watched: Watched, warm: Solution | None, name: str) -> Solution:
    programme = watched.programme
    n, m = programme.n, programme.m
    model = _model(watched, warm)
    counted = [0]

    def begin() -> None:
        x = np.array(programme.start if warm is None else warm.x)
        watched.visit(0, x, np.asarray(watched.rows(x), float), None)

    def visit(x: Array, lower: Array, upper: Array, y: Array) -> bool:
        x, y, z = np.array(x[:n]), np.array(y[:m]), (-np.minimum(lower[:n], 0), np.maximum(upper[:n], 0))  # no slacks
        counted[0] += 1
        return watched.visit(counted[0], x, np.asarray(watched.rows(x), float), None, y, z)

    def ended(x: Array, lower: Array, upper: Array, y: Array, *_rest: Any) -> bool:
        return not watched.guarded(lambda: visit(x, lower, upper, y), False)

    solver.set_termination_callback(ended)
    with watched.interruptible():
        watched.guarded(begin, None)
        found = None if watched.stop else solver.optimize(model)
    if threading.current_thread() is threading.main_thread() and (handler := signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, handler)  # Uno catches Ctrl-C itself and does not give it back
    if found is None:
        return watched.solution(programme.start, np.zeros(m), (np.zeros(n), np.zeros(n)), "failed", "", 0, name)
    watched.interrupted |= found.optimization_status.name == "USER_INTERRUPTION"
    status, message = _ends(found.optimization_status.name, found.solution_status.name)
    z = np.maximum(-np.array(found.lower_bound_dual_solution), 0), np.maximum(found.upper_bound_dual_solution, 0)
    y = np.array(found.constraint_dual_solution) if m else np.zeros(0)
    x = np.array(found.primal_solution)
    return watched.solution(x, y, z, status, message, int(found.number_iterations), name)

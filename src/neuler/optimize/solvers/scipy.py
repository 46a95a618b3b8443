"""SciPy's solvers: what there is without a solver of its own.

SLSQP (sequential least squares, dense) for small programmes, trust-constr (Byrd, Hribar and Nocedal's interior point
method with trust regions) with the exact sparse Jacobian and Hessian for others, and where SLSQP gives up.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.naming import hint
from neuler.optimize.programme import Array, Programme, Request, Solution, infeasibility
from neuler.optimize.solvers import optimality
from neuler.optimize.solvers.watching import Stopped, Watched

OPTIONS = {
    "slsqp": ("ftol", "maxiter"),
    "trust-constr": (
        "xtol", "gtol", "barrier_tol", "maxiter", "initial_constr_penalty", "initial_tr_radius",
        "initial_barrier_parameter", "initial_barrier_tolerance", "factorization_method",
    ),
}  # fmt: skip
SMALL = 60
"""Variables up to which SLSQP is tried first, with at most ten times as many rows."""


def available() -> bool:
    """Whether SciPy is installed."""
    try:
        return importlib.util.find_spec("scipy") is not None
    except (ImportError, ValueError):
        return False


def checked(options: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The method that is asked for (``{"method": "slsqp"}``) and its options, unknown names refused."""
    rest = dict(options)
    method = rest.pop("method", None)
    if method is not None and method not in OPTIONS:
        raise InputError(f"SciPy's method {method!r}: {hint(method, OPTIONS)}")
    known = OPTIONS[method] if method else {name for names in OPTIONS.values() for name in names}
    for name, value in rest.items():
        if name not in known:
            raise InputError(f"SciPy's solvers have no option {name!r}: {hint(name, ['method', *known])}")
        if name != "factorization_method" and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(f"SciPy's option {name!r}: expected a number, got {value!r}")
    return method, rest


class _Calls:
    """The programme's functions as SciPy calls them, and its iterates."""

    def __init__(self, watched: Watched):
        self.watched = watched
        self.x = np.empty(0)
        self.iterations = 0

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        watched = self.watched
        if watched.seconds > watched.limit:
            watched.timed_out = True
        if watched.stop:
            raise Stopped
        try:
            return function(*arguments)
        except Exception as error:
            watched.error = error
            raise

    def visit(self, x: Array) -> None:
        """An iterate."""
        watched = self.watched
        self.x = np.array(x)
        rows = np.asarray(self(watched.rows, x), float)
        if not self(watched.visit, self.iterations, self.x, rows, self(watched.objective, x)):
            raise Stopped
        self.iterations += 1


class _Guarded:
    """The programme again, its functions called like SciPy calls them."""

    def __init__(self, calls: _Calls):
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        watched = self.calls.watched
        if name in ("objective", "gradient", "rows", "jacobian", "hessian"):
            return lambda *arguments: self.calls(getattr(watched, name), *arguments)
        return getattr(watched.programme, name)


def solve(programme: Programme, request: Request) -> Solution:
    """The programme's minimum by SciPy; see :func:`neuler.optimize.solvers.solve`."""
    method, settings = checked(request.options or {})
    watched = Watched(programme, request.progress, request.tolerance, request.seconds)
    calls = _Calls(watched)
    x = np.clip(programme.start if request.warm is None else request.warm.x, programme.lower, programme.upper)
    y, z = np.zeros(programme.m), (np.zeros(programme.n), np.zeros(programme.n))
    status, message = "limit", "the largest number of iterations was reached"
    small = programme.n <= SMALL and programme.m <= 10 * SMALL
    tries = [method] if method else ["slsqp", "trust-constr"] if small else ["trust-constr"]
    with watched.interruptible():
        try:
            calls.visit(x)
            if watched.best is None:
                tries, status, message = [], "failed", "the functions are not finite at the start"
            if method is None and tries:
                tries.append("restored")
            for name in tries:
                if calls.iterations > request.iterations:
                    status, message = "limit", "the largest number of iterations was reached"
                    break
                if name == "restored":
                    x = _restored(programme, calls, x)
                    status, message = _judged(watched, x, y, z, request.tolerance)
                    if status == "infeasible":
                        break
                name = tries[0] if name == "restored" else name
                own = {key: value for key, value in settings.items() if key in OPTIONS[name]}
                own = {"maxiter": max(1, request.iterations + 1 - calls.iterations), **own}
                run = _slsqp if name == "slsqp" else _trust
                x, y, z = run(programme, calls, x, request.tolerance, own, request.warm if name == tries[0] else None)
                status, message = _judged(watched, x, y, z, request.tolerance)
                if status in ("optimal", "acceptable", "infeasible"):
                    break
            if status == "failed" and calls.iterations > request.iterations:
                status, message = "limit", "the largest number of iterations was reached"
        except (Stopped, KeyboardInterrupt) as error:
            watched.interrupted |= isinstance(error, KeyboardInterrupt)
            x = calls.x if calls.x.size else x
        except Exception as error:  # SciPy's own; the programme's is raised below
            status, message = "failed", f"SciPy gave up: {error}"
            x = calls.x if calls.x.size else x
    return watched.solution(x, y, z, status, message, max(0, calls.iterations - 1), "scipy")


def _judged(watched: Watched, x: Array, y: Array, z: tuple[Array, Array], tolerance: float) -> tuple[str, str]:
    """What a point is, by its own conditions: SciPy's methods also end where a step is short."""
    programme = _Guarded(_Calls(watched))
    rows = np.asarray(programme.rows(x), float)
    violation = infeasibility(programme, x, rows)
    slope = optimality.stationarity(programme, x, y, z)
    gap = optimality.complementarity(programme, x, rows, y, z)
    if violation <= 100 * tolerance:
        if max(slope, gap) <= 100 * tolerance:
            return "optimal", "optimal within a hundred times the tolerance"
        if max(slope, gap) <= 1e4 * tolerance:
            return "acceptable", f"feasible, conditions of a minimum within {max(slope, gap):.1e}"
        return "failed", f"feasible, but conditions of a minimum only within {max(slope, gap):.1e}"
    if violation > 1e4 * tolerance and optimality.least_violation(programme, x, rows) < 1e-3:
        return "infeasible", "no feasible point near: a least violation of the rows was found instead"
    return "failed", f"no feasible point was found, violation {violation:.1e}"


def _slsqp(
    programme: Programme, calls: _Calls, x: Array, tolerance: float, options: dict[str, Any], warm: Solution | None
) -> tuple[Array, Array, tuple[Array, Array]]:
    from scipy.optimize import minimize

    watched = calls.watched
    n, m = programme.n, programme.m
    low, high = programme.row_lower, programme.row_upper
    equal = np.flatnonzero(low == high)
    above, below = (np.flatnonzero(np.isfinite(bound) & (low != high)) for bound in (low, high))

    def dense(point: Array) -> Array:
        matrix = np.zeros((m, n))
        matrix[programme.jacobian_at] = calls(watched.jacobian, point)
        return matrix

    def rows(point: Array) -> Array:
        return np.asarray(calls(watched.rows, point), float)

    constraints: list[dict[str, Any]] = []
    if equal.size:
        constraints.append(
            {"type": "eq", "fun": lambda p: rows(p)[equal] - low[equal], "jac": lambda p: dense(p)[equal]}
        )
    if above.size + below.size:
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda p: (lambda g: np.concatenate([g[above] - low[above], high[below] - g[below]]))(rows(p)),
                "jac": lambda p: (lambda J: np.concatenate([J[above], -J[below]]))(dense(p)),
            }
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(
            lambda p: calls(watched.objective, p),
            x,
            jac=lambda p: np.array(calls(watched.gradient, p), float),
            bounds=list(zip(programme.lower, programme.upper, strict=True)),
            constraints=constraints,
            method="SLSQP",
            callback=calls.visit,
            options={"ftol": 1e-2 * tolerance, **options},
        ).x
    found = np.clip(found, programme.lower, programme.upper)
    if not np.isfinite(found).all():
        found = x if watched.best is None else watched.best.x
    return optimality.polished(_Guarded(calls), found)


def _trust(
    programme: Programme, calls: _Calls, x: Array, tolerance: float, options: dict[str, Any], warm: Solution | None
) -> tuple[Array, Array, tuple[Array, Array]]:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize
    from scipy.sparse import csr_array

    watched = calls.watched
    n, m = programme.n, programme.m
    zero = np.zeros(m)
    i, j = programme.hessian_at
    off = i != j
    both = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])

    def matrix(values: Any) -> Any:
        values = np.asarray(values, float)
        return csr_array((np.concatenate([values, values[off]]), both), shape=(n, n))

    bounded = np.isfinite(programme.lower).any() or np.isfinite(programme.upper).any()
    constraint = NonlinearConstraint(
        lambda p: np.asarray(calls(watched.rows, p), float),
        programme.row_lower,
        programme.row_upper,
        jac=lambda p: csr_array((np.asarray(calls(watched.jacobian, p), float), programme.jacobian_at), shape=(m, n)),
        hess=lambda p, v: matrix(calls(watched.hessian, p, 0.0, np.asarray(v, float))),
    )

    def parts(values: Any) -> tuple[Array, tuple[Array, Array]]:
        """Multipliers of rows and bounds out of SciPy's list."""
        z = np.asarray(values[-1], float) if bounded else np.zeros(n)
        return np.asarray(values[0], float) if m else zero, (np.maximum(-z, 0), np.maximum(z, 0))

    def done(point: Array, state: Any) -> bool:
        """SciPy's own test leaves out the distance to the bounds."""
        calls.visit(point)
        if max(state.optimality, state.constr_violation) >= tolerance:
            return False
        y, z = parts(state.v)
        rows = np.asarray(calls(watched.rows, point), float)
        return optimality.complementarity(programme, point, rows, y, z) < 50 * tolerance

    start = {"initial_barrier_parameter": 1e-6, "initial_barrier_tolerance": 1e-6} if warm is not None else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(
            lambda p: calls(watched.objective, p),
            x,
            jac=lambda p: np.array(calls(watched.gradient, p), float),
            hess=lambda p: matrix(calls(watched.hessian, p, 1.0, zero)),
            bounds=Bounds(programme.lower, programme.upper, keep_feasible=True) if bounded else None,
            constraints=[constraint] if m else [],
            method="trust-constr",
            callback=done,
            options={"gtol": 1e-4 * tolerance, "xtol": 1e-13, "barrier_tol": tolerance, **start, **options},
        )
    return np.clip(found.x, programme.lower, programme.upper), *parts(found.v)


def _restored(programme: Programme, calls: _Calls, x: Array) -> Array:
    """A point of least squared violation of the rows, within the bounds."""
    from scipy.optimize import least_squares
    from scipy.sparse import csr_array

    watched = calls.watched
    free = np.flatnonzero(programme.lower < programme.upper)
    low, high = programme.row_lower, programme.row_upper
    if not free.size:
        return x

    def whole(part: Array) -> Array:
        point = x.copy()
        point[free] = part
        return point

    def over(part: Array) -> Array:
        rows = np.asarray(calls(watched.rows, whole(part)), float)
        return np.asarray(np.maximum(rows - high, 0) - np.maximum(low - rows, 0))

    def slope(part: Array) -> Any:
        values = np.asarray(calls(watched.jacobian, whole(part)), float)
        values = np.where((over(part) != 0)[programme.jacobian_at[0]], values, 0.0)
        matrix = csr_array((values, programme.jacobian_at), shape=(programme.m, programme.n)).tocsc()[:, free]
        return matrix.toarray() if programme.n <= SMALL else matrix

    found = least_squares(
        over, x[free], slope, (programme.lower[free], programme.upper[free]), xtol=1e-15, ftol=1e-15, gtol=1e-12,
        max_nfev=200,
    )  # fmt: skip
    return np.clip(whole(found.x), programme.lower, programme.upper)

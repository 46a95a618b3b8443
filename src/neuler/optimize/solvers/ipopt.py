"""IPOPT 3.14 from the ``casadi`` wheel, by its C interface: CasADi itself is not imported.

A primal-dual interior point method with a filter line search (Waechter and Biegler, Mathematical Programming 106,
2006), here always with the Hessian that the programme gives.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.naming import hint
from neuler.optimize.programme import Array, Programme, Request, Solution, infeasibility
from neuler.optimize.solvers import optimality
from neuler.optimize.solvers.ipopt_options import INTEGERS, NUMBERS, WORDS
from neuler.optimize.solvers.watching import Watched

OBJECTIVE = ctypes.CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_void_p, c_void_p)
ROWS = ctypes.CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_int, c_void_p, c_void_p)
JACOBIAN = ctypes.CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p)
HESSIAN = ctypes.CFUNCTYPE(
    c_bool, c_int, c_void_p, c_bool, c_double, c_int, c_void_p, c_bool, c_int, c_void_p, c_void_p, c_void_p, c_void_p
)
ITERATION = ctypes.CFUNCTYPE(c_bool, c_int, c_int, *[c_double] * 8, c_int, c_void_p)

ENDS = {
    0: ("optimal", "optimal within the tolerance"),
    1: ("acceptable", "no further progress, but within a hundred times the tolerance"),
    2: ("infeasible", "no feasible point near: a least violation of the rows was found instead"),
    3: ("failed", "the steps became too small"),
    4: ("failed", "the iterates diverge: the objective may be unbounded"),
    5: ("interrupted", "stopped on request"),
    6: ("optimal", "a feasible point of as many equations as variables"),
    -1: ("limit", "the largest number of iterations was reached"),
    -2: ("failed", "no way back to feasible points was found: the rows may contradict each other"),
    -3: ("failed", "no step could be computed"),
    -4: ("limit", "the largest time was reached"),
    -5: ("limit", "the largest time was reached"),
    -10: ("failed", "more equality rows than free variables"),
    -11: ("failed", "the programme is not a valid one"),
    -12: ("failed", "an option was not accepted"),
    -13: ("failed", "a function or derivative was not finite"),
    -100: ("failed", "IPOPT ended with an error of its own"),
    -101: ("failed", "IPOPT ended with an error of its own"),
    -102: ("failed", "out of memory"),
    -199: ("failed", "IPOPT ended with an internal error"),
}
"""IPOPT's return codes (IpReturnCodes.h)."""
STUCK = (3, -2, -3)
"""Ends that say nothing of the point: often a minimum as good as its numbers allow."""

DEFAULTS: dict[str, float | int | str] = {
    "print_level": 0,
    "sb": "yes",
    "option_file_name": "",  # no ipopt.opt of the current folder
    "linear_solver": "mumps",
    "mu_strategy": "adaptive",
    "bound_relax_factor": 0.0,
    "mumps_pivot_order": 0,
    "mumps_permuting_scaling": 0,
    "mumps_scaling": 0,
}
QUADRATIC: dict[str, float | int | str] = {"jac_c_constant": "yes", "jac_d_constant": "yes", "hessian_constant": "yes"}
"""Derivatives of a quadratic programme are asked for once."""
MOST = 2e19
"""IPOPT takes this and more for infinite."""


def _warm(push: float) -> dict[str, float | int | str]:
    """Options of a warm start at a relative distance from bounds."""
    return {
        "warm_start_init_point": "yes",
        "warm_start_bound_push": push,
        "warm_start_bound_frac": push,
        "warm_start_slack_bound_push": push,
        "warm_start_slack_bound_frac": push,
        "warm_start_mult_bound_push": min(push, 1e-3),
        "mu_init": min(max(push, 1e-6), 1e-3),
    }


def folder() -> Path | None:
    """Where the libraries of the casadi wheel are, None without it."""
    try:
        spec = importlib.util.find_spec("casadi")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _file(stem: str) -> Path | None:
    """A library of the wheel: the name with its number first, as others of the wheel ask for it.

    Wheels have no links: the name without a number is another copy, with threads of its own.
    """
    within = folder()
    return None if within is None else _within(within, stem)


@functools.cache
def _within(within: Path, stem: str) -> Path | None:
    names = {
        "win32": (f"{stem}-3.dll", f"{stem}.dll", f"{stem}*.dll"),
        "darwin": (f"{stem}.3.dylib", f"{stem}.0.dylib", f"{stem}.dylib", f"{stem}*.dylib"),
    }.get(sys.platform, (f"{stem}.so.3", f"{stem}.so.0", f"{stem}.so", f"{stem}.so*"))
    return next((found for name in names for found in sorted(within.glob(name))), None)


def available() -> bool:
    """Whether the wheel with IPOPT is installed."""
    return _file("libipopt") is not None


@functools.cache
def library(path: str) -> ctypes.CDLL:
    """IPOPT's C interface (IpStdCInterface.h), loaded once."""
    found = ctypes.CDLL(path)
    callbacks = (OBJECTIVE, ROWS, OBJECTIVE, JACOBIAN, HESSIAN)
    found.CreateIpoptProblem.restype = c_void_p
    found.CreateIpoptProblem.argtypes = (
        [c_int, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int, c_int, c_int, *callbacks]
    )  # fmt: skip
    found.FreeIpoptProblem.restype = None
    found.FreeIpoptProblem.argtypes = [c_void_p]
    for name, kind in (("Str", c_char_p), ("Num", c_double), ("Int", c_int)):
        add = getattr(found, f"AddIpopt{name}Option")
        add.restype, add.argtypes = c_bool, [c_void_p, c_char_p, kind]
    found.SetIntermediateCallback.restype = c_bool
    found.SetIntermediateCallback.argtypes = [c_void_p, ITERATION]
    found.IpoptSolve.restype = c_int
    found.IpoptSolve.argtypes = [c_void_p] * 8
    found.GetIpoptCurrentIterate.restype = c_bool
    found.GetIpoptCurrentIterate.argtypes = [c_void_p, c_bool, c_int, *[c_void_p] * 3, c_int, *[c_void_p] * 2]
    found.GetIpoptVersion.restype = None
    found.GetIpoptVersion.argtypes = [POINTER(c_int)] * 3
    return found


def version() -> str:
    """Of the IPOPT that is installed, such as ``"3.14.19"``."""
    numbers = c_int(), c_int(), c_int()
    library(str(_file("libipopt"))).GetIpoptVersion(*map(byref, numbers))
    return ".".join(str(number.value) for number in numbers)


class _Threads:
    """The threads of the wheel's BLAS: one as long as anybody solves (its matrices are too small for two)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before = 0

    @functools.cached_property
    def blas(self) -> ctypes.CDLL | None:
        path = _file("libcasadi-tp-openblas")
        try:
            found = None if path is None else ctypes.CDLL(str(path))
            return found if found is not None and hasattr(found, "openblas_set_num_threads") else None
        except OSError:
            return None

    @contextmanager
    def one(self) -> Iterator[None]:
        blas = self.blas
        if blas is None:
            yield
            return
        with self.lock:
            if self.users == 0:
                self.before = blas.openblas_get_num_threads()
                blas.openblas_set_num_threads(1)
            self.users += 1
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    blas.openblas_set_num_threads(self.before)


THREADS = _Threads()


def _callbacks(watched: Watched) -> tuple[Any, ...]:
    """The programme's functions as IPOPT calls them; False means: no value here, shorten the step."""
    programme = watched.programme
    n, m = programme.n, programme.m
    kinds = {size: c_double * size for size in (1, n, m, len(programme.jacobian_at[0]), len(programme.hessian_at[0]))}

    def numbers(address: int, count: int) -> bytes:
        return ctypes.string_at(address, 8 * count) if count else b""

    def filled(values: int, count: int, result: Any) -> bool:
        if count:
            np.frombuffer(memoryview(kinds[count].from_address(values)))[:] = result
        return watched.finite

    def objective(_n: int, x: int, _new: bool, value: int, _data: int) -> bool:
        return watched.guarded(lambda: filled(value, 1, watched.objective(numbers(x, n))), False)

    def gradient(_n: int, x: int, _new: bool, values: int, _data: int) -> bool:
        return watched.guarded(lambda: filled(values, n, watched.gradient(numbers(x, n))), False)

    def rows(_n: int, x: int, _new: bool, _m: int, values: int, _data: int) -> bool:
        return watched.guarded(lambda: filled(values, m, watched.rows(numbers(x, n))), False)

    def places(at: tuple[Any, Any], count: int, i: int, j: int) -> bool:
        if count:
            for address, part in zip((i, j), at, strict=True):
                np.frombuffer(memoryview((c_int * count).from_address(address)), np.int32)[:] = part
        return True

    def jacobian(_n: int, x: int, _new: bool, _m: int, count: int, i: int, j: int, values: int, _data: int) -> bool:
        if not values:
            return watched.guarded(lambda: places(programme.jacobian_at, count, i, j), False)
        return watched.guarded(lambda: filled(values, count, watched.jacobian(numbers(x, n))), False)

    def hessian(
        _n: int, x: int, _new: bool, weight: float, _m: int, multipliers: int, _newer: bool,
        count: int, i: int, j: int, values: int, _data: int,
    ) -> bool:  # fmt: skip
        if not values:
            return watched.guarded(lambda: places(programme.hessian_at, count, i, j), False)
        return watched.guarded(
            lambda: filled(
                values, count, watched.hessian(numbers(x, n), weight, np.frombuffer(numbers(multipliers, m)))
            ),
            False,
        )

    return OBJECTIVE(objective), ROWS(rows), OBJECTIVE(gradient), JACOBIAN(jacobian), HESSIAN(hessian)


def _iteration(watched: Watched, current: Callable[..., bool], counted: list[int]) -> Any:
    """What IPOPT calls after each iteration."""
    n, m = watched.programme.n, watched.programme.m
    x, z, g, y = np.empty(n), np.empty((2, n)), np.empty(m), np.empty(m)

    def visit(mode: int, count: int, objective: float) -> bool:
        counted[0] = count
        if not current(False, n, x.ctypes.data, z[0].ctypes.data, z[1].ctypes.data, m, g.ctypes.data, y.ctypes.data):
            return True
        bounds = z[0].copy(), z[1].copy()
        return watched.visit(count, x, g, None if mode == 1 else objective, y, bounds)  # 1: restoration, another f

    def iteration(mode: int, count: int, objective: float, *_rest: Any) -> bool:
        return watched.guarded(lambda: visit(mode, count, objective), False)

    return ITERATION(iteration)


def checked(options: Mapping[str, Any]) -> dict[str, float | int | str]:
    """Options of IPOPT with their types put right, unknown names and wrong types refused.

    >>> checked({"tol": 1, "max_iter": 50, "warm_start_init_point": True})
    {'tol': 1.0, 'max_iter': 50, 'warm_start_init_point': 'yes'}
    """
    found: dict[str, float | int | str] = {}
    for name, value in options.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if name in WORDS:
            if not isinstance(value, str | bool):
                raise InputError(f"IPOPT's option {name!r}: expected a word, got {value!r}")
            found[name] = ("no", "yes")[value] if isinstance(value, bool) else value
        elif name in INTEGERS:
            if not whole:
                raise InputError(f"IPOPT's option {name!r}: expected a whole number, got {value!r}")
            found[name] = int(value)
        elif name in NUMBERS:
            if not (whole or isinstance(value, float | np.floating)):
                raise InputError(f"IPOPT's option {name!r}: expected a number, got {value!r}")
            found[name] = float(value)
        else:
            raise InputError(f"IPOPT has no option {name!r}: {hint(name, sorted([*WORDS, *INTEGERS, *NUMBERS]))}")
    return found


def _set(found: ctypes.CDLL, problem: int, options: Mapping[str, float | int | str]) -> None:
    for name, value in options.items():
        key = name.encode()
        if isinstance(value, str):
            accepted = found.AddIpoptStrOption(problem, key, value.encode())
        elif isinstance(value, float):
            accepted = found.AddIpoptNumOption(problem, key, value)
        else:
            accepted = found.AddIpoptIntOption(problem, key, value)
        if not accepted:
            raise InputError(f"IPOPT's option {name!r} does not take {value!r}: the range is printed above")


def _good(watched: Watched, x: Array, y: Array, z: tuple[Array, Array]) -> bool:
    """Whether the conditions of a minimum hold nearly."""
    programme = watched.programme
    x = watched.at(np.clip(x, programme.lower, programme.upper))
    rows = np.asarray(watched.rows(x), float)
    if not infeasibility(programme, x, rows) <= 100 * watched.tolerance:
        return False
    slope = optimality.stationarity(programme, x, y, z)
    gap = optimality.complementarity(programme, x, rows, y, z)
    return max(slope, gap) <= 1e4 * watched.tolerance


def solve(programme: Programme, request: Request) -> Solution:
    """The programme's minimum by IPOPT; see :func:`neuler.optimize.solvers.solve`."""
    given = checked(request.options or {})
    settings = {
        **DEFAULTS,
        "tol": request.tolerance,
        "constr_viol_tol": min(1e-4, 100 * request.tolerance),
        "acceptable_tol": 100 * request.tolerance,
        "acceptable_constr_viol_tol": min(1e-2, 100 * request.tolerance),
        "max_iter": request.iterations,
        **({} if request.seconds is None else {"max_wall_time": float(max(request.seconds, 1e-6))}),
        **({} if request.warm is None else _warm(request.push)),
        **(QUADRATIC if getattr(programme, "quadratic", False) else {}),
        **given,
    }
    n, m = programme.n, programme.m
    found = library(str(_file("libipopt")))
    watched = Watched(programme, request.progress, request.tolerance, request.seconds)
    bounds = [
        np.ascontiguousarray(np.clip(value, -MOST, MOST), float)
        for value in (programme.lower, programme.upper, programme.row_lower, programme.row_upper)
    ]
    callbacks = _callbacks(watched)
    sizes = len(programme.jacobian_at[0]), len(programme.hessian_at[0])
    lower, upper, row_lower, row_upper = (value.ctypes.data for value in bounds)
    problem = found.CreateIpoptProblem(n, lower, upper, m, row_lower, row_upper, *sizes, 0, *callbacks)
    if not problem:
        raise InputError(f"IPOPT takes no programme of {n} variables, {m} rows, {sizes[0]} and {sizes[1]} entries")
    try:
        _set(found, problem, settings)
        counted = [0]
        every = _iteration(watched, functools.partial(found.GetIpoptCurrentIterate, problem), counted)
        found.SetIntermediateCallback(problem, every)
        x = np.array(programme.start if request.warm is None else request.warm.x, float)
        rows, value = np.zeros(m), np.zeros(1)
        y, z = np.zeros(m), np.zeros((2, n))
        if request.warm is not None:
            y[:] = request.warm.multipliers
            z[:] = request.warm.bound_multipliers
        with THREADS.one(), watched.interruptible():
            code = found.IpoptSolve(
                problem, x.ctypes.data, rows.ctypes.data, value.ctypes.data, y.ctypes.data,
                z[0].ctypes.data, z[1].ctypes.data, None,
            )  # fmt: skip
    finally:
        found.FreeIpoptProblem(problem)
    if code == -12 and not watched.stop:  # it also says so where time ran out before it began
        raise InputError(f"IPOPT does not take these options together: {given}")
    status, message = ENDS.get(code, ("failed", f"IPOPT ended with code {code}"))
    if code in STUCK and not watched.stop and watched.guarded(lambda: _good(watched, x, y, (z[0], z[1])), False):
        status, message = "acceptable", f"{message}, but within ten thousand times the tolerance"
    return watched.solution(x, y, (z[0], z[1]), status, message, counted[0], "ipopt")

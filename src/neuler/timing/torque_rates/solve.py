"""Torque-rate bounds along a path: not convex, so a local optimisation in time, then slowed until they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from neuler.errors import InputError
from neuler.optimize import solvers
from neuler.optimize.programme import Solution
from neuler.optimize.solvers.choice import chosen
from neuler.timing.constraint_set import ConstraintSet
from neuler.timing.fine_grid import TOLERANCE
from neuler.timing.paths import Path, PathPoints
from neuler.timing.timed_path import TimedPath
from neuler.timing.torque_rates.programme import RateProgramme, greville, knots
from neuler.timing.torque_rates.tables import RateTables

Array = NDArray[np.float64]
INTERVALS = 200
"""Of the law, by default."""
COARSE = (12, 25, 50, 100)
"""Intervals of smoothed laws to begin with; the quickest is taken."""
ENOUGH = 1e-4
"""A law that is slowed by no more is not tightened again."""
FEW = 5000
"""Rows that are all in the programme; of more, those near their bounds."""
NEAR = 0.5
"""Share of their bounds: rows that come so near to them at the start, or if it took as long as without bounds on
torque rates, are in the first programme. With fewer the first solutions are far too fast, and the next solves long."""
_PUSH = dict.fromkeys(("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"), 1e-4)
_FIRST: dict[str, Any] = {"mu_strategy": "monotone", "mu_init": 1e-3, **_PUSH}
_ADDED: dict[str, Any] = {"mu_strategy": "monotone", "mu_init": 1e-4}
_TIGHTENED: dict[str, Any] = {"mu_strategy": "monotone", "mu_init": 1e-5}
"""IPOPT's barrier for the first solve, after rows were added, and after bounds were tightened: starts are near a
solution, which a larger or an adaptive barrier leaves, and comes back to in three times as many iterations."""
TIGHTER = 6
"""Times that bounds are tightened, after which the law is slowed."""


def rate_bounded(
    timed: TimedPath, ends: tuple[Array, Array], *, intervals: int = INTERVALS, solver: str = "auto"
) -> TimedPath:
    """Return a law with bounded torque rates, which starts at one without, for every path of a batch.

    ``ends`` are the speeds ds/dt at both ends. A path without a law stays one.
    """
    shape = timed.t.shape[:-1]
    if not shape:
        return _one(timed, (float(ends[0]), float(ends[1])), intervals, solver)
    speeds = [np.broadcast_to(x, shape).ravel() for x in ends]
    found = []
    for k, where in enumerate(np.ndindex(shape)):
        one = replace(timed[where], worst=0.0)
        if np.isfinite(one.t[-1]):
            found.append(_one(one, (speeds[0][k], speeds[1][k]), intervals, solver))
        else:
            none = np.full(intervals + 1, np.nan)
            found.append(
                replace(one, t=none, s=none, sdot=none, sddot=none, sdddot=none, worst=np.nan, message=timed.message)
            )
    together: dict[str, Any] = {
        name: np.stack([getattr(x, name) for x in found]).reshape((*shape, -1))
        for name in ("t", "s", "sdot", "sddot", "sdddot")
    }
    return replace(
        timed, **together, worst=np.array([x.worst for x in found]).reshape(shape),
        iterations=sum(x.iterations for x in found), message="; ".join(x.message for x in found if x.message),
    )  # fmt: skip


def _one(timed: TimedPath, ends: tuple[float, float], intervals: int, solver: str) -> TimedPath:
    path = timed.path
    if not path.everywhere:
        raise InputError("time_path: bounds on torque rates need a path that is known between its samples")
    _standing(timed.constraints, path)
    tables = RateTables.of(timed.constraints, path, timed.t.shape[-1], lambda s: np.interp(s, timed.s, timed.sdot))
    least = 0.95 * float(timed.t[-1])
    margins = np.zeros((2, intervals, len(tables.lower)))
    room = 0.4 * (np.minimum(tables.upper, 1e9) - np.maximum(tables.lower, -1e9))
    start = _begin(timed, tables, ends, intervals)
    law = RateProgramme(path, tables, ends, start, (margins[0], margins[1]), least)
    fastest = np.append(start[0], float(timed.t[-1]))
    if law.possible.sum() > FEW:
        law = law.with_rows(law.near_bounds(law.start, NEAR) | law.near_bounds(fastest, NEAR))
    iterations, warm = 0, None
    best: tuple[bool, float, TimedPath, float, str] | None = None
    for _ in range(TIGHTER):
        law, solution, steps = _solved(law, warm, solver)
        iterations += steps
        found, share, message = _as_timed(timed, law, solution.x), 1.0, f"{solution.solver}: {solution.message}"
        below, above, worst = tables.excess(found)
        if worst > TOLERANCE and not ends[0] and not ends[1]:
            found, worst, share = slowed(found, tables)
            message += f"; slowed by {100 * (share - 1):.3g} %" if share > 1.0 else ""
        key = worst > TOLERANCE, float(found.t[-1]) if worst <= TOLERANCE else worst
        if best is None or key < best[:2]:
            best = *key, found, worst, message
        if solution.status in ("infeasible", "failed") or (worst <= TOLERANCE and share < 1.0 + ENOUGH):
            break
        margins = np.minimum(margins + 1.2 * np.stack([below, above]), room)
        start = solution.x[:-1], float(solution.x[-1])
        tighter = RateProgramme(path, tables, ends, start, (margins[0], margins[1]), least)
        tighter = tighter.with_rows(law.used | tighter.near_bounds(solution.x, 0.0))
        law, warm = tighter, tighter.warm(law, solution)
    assert best is not None
    _, _, found, worst, message = best
    return replace(found, worst=worst, iterations=iterations, message=message)


def _solved(law: RateProgramme, warm: Solution | None, solver: str) -> tuple[RateProgramme, Solution, int]:
    """A solution that holds all rows, of a programme that has few: rows that it violates are added until none is."""
    iterations, name = 0, chosen(solver)
    while True:
        options = (_ADDED if iterations else _FIRST if warm is None else _TIGHTENED) if name == "ipopt" else None
        solution = solvers.solve(law, name, warm=warm, tolerance=1e-6, iterations=400, options=options)
        iterations += solution.iterations
        violated = law.near_bounds(solution.x, -1e-5) & ~law.used
        if not violated.any() or solution.status in ("infeasible", "failed"):
            return law, solution, iterations
        more = law.with_rows(law.used | violated)
        law, warm = more, more.warm(law, solution)


def _begin(timed: TimedPath, tables: RateTables, ends: tuple[float, float], intervals: int) -> tuple[Array, float]:
    """The law without bounds on rates, smoothed and slowed until they hold: control points, and the duration."""
    T, path = float(timed.t[-1]), timed.path
    none = np.zeros((intervals, len(tables.lower)))
    at, best = greville(intervals), None
    for count in COARSE:
        few = BSpline(knots(count), timed.law(greville(count) * T)[0], 3)
        points = few(at)
        law = RateProgramme(path, tables, ends, (points, T), (none, none))
        for longer in np.geomspace(1.0, 30.0, 70):
            way = longer * T / (3.0 * intervals)
            if ends[0]:  # both speeds stay, however long it takes
                points[1] = path.start + ends[0] * way
                points[2:] = np.maximum(points[2:], points[1])
            if ends[1]:
                points[-2] = path.end - ends[1] * way
                points[:-2] = np.minimum(points[:-2], points[-2])
            if not law.near_bounds(np.append(points, longer * T), 0.0).any():
                break
        if best is None or longer * T < best[1]:
            best = points, longer * T
    assert best is not None
    return best


def _standing(constraints: ConstraintSet, path: Path) -> None:
    """At rest at the ends torques must be within their bounds, for that is where they begin and end."""
    for s in (path.start, path.end):
        rest = constraints.rows(PathPoints.of(path, np.array([s]))).c[0]
        lower, upper = constraints.lower, constraints.upper
        bad = (rest < lower) | (rest > upper)
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"time_path: at rest at s = {s:g} the {constraints.labels[k]} is {rest[k]:.4g}, beyond its bounds "
                f"{lower[k]:.4g} to {upper[k]:.4g}: it cannot begin or end there"
            )


def _as_timed(timed: TimedPath, law: RateProgramme, x: Array) -> TimedPath:
    """The law at its knots."""
    T = float(x[-1])
    edges = np.linspace(0.0, 1.0, law.intervals + 1)
    middles = np.append(0.5 * (edges[:-1] + edges[1:]), 1.0 - 0.5 / law.intervals)
    s, v, w = (law.basis(edges, k) @ x[:-1] / T**k for k in range(3))
    j = law.basis(middles, 3) @ x[:-1] / T**3
    return replace(timed, t=edges * T, s=s, sdot=np.maximum(v, 0.0), sddot=w, sdddot=j)


def _scaled(timed: TimedPath, k: float) -> TimedPath:
    """The same law, k times as long."""
    return replace(timed, t=timed.t * k, sdot=timed.sdot / k, sddot=timed.sddot / k**2, sdddot=timed.sdddot / k**3)


def slowed(timed: TimedPath, tables: RateTables) -> tuple[TimedPath, float, float]:
    """Return the least longer law that holds every bound, its worst violation, and how many times as long it takes.

    Intervals that violate a bound decide; all are looked at in the end, and decide where others do not hold then. A
    law that no factor helps is returned as it is.
    """
    below, above, worst = tables.excess(timed)
    beyond = np.maximum(below, above) > 0.0
    for some in (np.flatnonzero(beyond.any(axis=-1)), np.arange(len(timed.t) - 1)):
        low, high = 1.0, 1.0 + 1e-4
        while tables.excess(_scaled(timed, high), some)[-1] > TOLERANCE:
            low, high = high, 1.0 + 2.0 * (high - 1.0)
            if high > 1e3:
                return timed, worst, 1.0
        while high - low > 1e-2 * (high - 1.0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if tables.excess(_scaled(timed, middle), some)[-1] > TOLERANCE else (low, middle)
        found = _scaled(timed, high)
        held = tables.excess(found)[-1]
        if held <= TOLERANCE:
            return found, held, high
    return found, held, high

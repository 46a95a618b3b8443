"""Why a path has no law: where, and which rows leave nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.timing.scans import FLAT, IntervalRows

if TYPE_CHECKING:
    from neuler.timing.speed_profile import ProfileSolver

Array = NDArray[np.float64]
Where = tuple[int, ...]


def _which(where: Where) -> str:
    return f" {', '.join(str(int(k)) for k in where)}" if where else ""


def explained(solver: ProfileSolver, where: Where, given: IntervalRows, sets: Array) -> str:
    """Return a text that names the last point of the path without a feasible speed, and the rows that leave none."""
    empty = np.flatnonzero(sets[:, 0] > sets[:, 1] + 1e-12 * np.abs(sets[:, 1]))
    i = int(empty[-1])
    place = f"path{_which(where)}, s = {solver.s[i]:g}"
    rest = heavy(solver, where, i, i + 2)
    if rest:
        return f"{place}: {rest}"
    low, high, names = _lines(solver, where, given, sets, i)
    worst = None
    for p in range(len(names)):
        for q in range(p + 1, len(names)):
            slope = low[q, 1] - low[p, 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = sorted(((high[q, 0] - low[p, 0]) / slope, (low[q, 0] - high[p, 0]) / slope))
            for sign, bound in ((1, ends[0]), (-1, ends[1])):
                if worst is None or sign not in worst or sign * bound > sign * worst[sign][0]:
                    worst = {**(worst or {}), sign: (bound, names[p], names[q])}
    assert worst is not None
    (least, *one), (most, *other) = worst[1], worst[-1]
    most = min(most, float(solver.ceiling[where][i]))
    return (
        f"{place}: no speed can be held. {one[0]} with {one[1]} needs sdot^2 >= {max(least, 0.0):.4g}, {other[0]} with "
        f"{other[1]} allows <= {most:.4g}. Widen these bounds, or ask for a lower end speed"
    )


def heavy(solver: ProfileSolver, where: Where, first: int = 0, last: int | None = None) -> str:
    """Return a text about the first row that is beyond its bound at rest, at some points; "" where there is none."""
    rest = solver.rows.c
    if solver.constraints.nonlinear:
        none = np.zeros(rest.shape[:-1])
        rest = rest + solver.constraints.nonlinear_part(solver.at, none, none)
    lower, upper = solver.constraints.lower, solver.constraints.upper
    mine = rest[where]
    for k in range(first, len(mine) if last is None else min(last, len(mine))):
        for row, value in enumerate(mine[k]):
            if not lower[row] <= value <= upper[row]:
                side, bound = ("upper", upper[row]) if value > upper[row] else ("lower", lower[row])
                name = solver.constraints.labels[row]
                return (
                    f"the {name} is {value:.4g} at s = {solver.s[k]:g} in a motion that hardly moves, beyond its "
                    f"{side} bound {bound:.4g}: the robot cannot carry itself there. Widen the bound, lighten the load "
                    "or move the path"
                )
    return ""


def _lines(
    solver: ProfileSolver, where: Where, given: IntervalRows, sets: Array, i: int
) -> tuple[Array, Array, list[str]]:
    """Lower and upper lines over x of all rows of an interval, (intercept, slope), and their names."""

    def pick(values: Array) -> Array:
        mine = values[where] if values.ndim > 2 and len(where) else values
        row: Array = mine[min(i, len(mine) - 1)]
        return row

    d = given.d[i]
    bounds = pick(given.lower), pick(given.upper)
    low, high, names = [], [], []
    for end, (a, b, c) in enumerate(
        ((pick(given.a0), pick(given.b0), pick(given.c0)), (pick(given.a1), pick(given.b1), pick(given.c1)))
    ):
        a = a + 2.0 * d * b if end else a
        a = np.where(np.abs(a) < FLAT * np.abs(b) + 1e-200, FLAT * np.abs(b) + 1e-200, a)
        sides = [(bound - c) / a for bound in bounds]
        low += list(zip(np.minimum(*sides), b / a, strict=True))
        high += list(zip(np.maximum(*sides), b / a, strict=True))
        names += [f"the {label}" for label in solver.constraints.labels]
    low.append((sets[i + 1, 0] / (2 * d), 0.5 / d))
    high.append((sets[i + 1, 1] / (2 * d), 0.5 / d))
    return np.array(low), np.array(high), [*names, "what can still reach the end"]


def too_fast(solver: ProfileSolver, where: Where, end: str, most: float, least: float = 0.0) -> str:
    """Return a text about a speed at an end that is too high, or too low."""
    x = float((solver.start if end == "start" else solver.end)[where])
    if end == "start" and x < least:
        because = heavy(solver, where, 0) or "rows near the start allow no slower motion"
        return (
            f"path{_which(where)}: the start speed {np.sqrt(x):.6g} is too low, the bounds can be held from "
            f"{np.sqrt(max(least, 0.0)):.6g} on: {because}"
        )
    i = 0 if end == "start" else len(solver.s) - 1
    ceiling, names = solver.constraints.ceiling(solver.at[np.array([i])])
    because = ""
    if x > ceiling[where][0] * (1 - 1e-9):
        because = f" ({names[where][0]})"
    return (
        f"path{_which(where)}: the {end} speed sdot = {np.sqrt(x):.6g} is too high, at most "
        f"{np.sqrt(max(most, 0.0)):.6g} is possible at s = {solver.s[i]:g}{because}"
    )


def stuck(solver: ProfileSolver, where: Where, x: Array) -> str:
    """Return a text about a path that comes to rest on its way."""
    i = int(np.argmax((x[:-1] + x[1:]) <= 0.0))
    return (
        f"path{_which(where)}: the robot cannot move on from s = {solver.s[i]:g}: "
        f"{heavy(solver, where, i, i + 2) or 'bounds leave no acceleration there'}"
    )

"""Rows that are equalities along a phase, at as many points as its profiles can follow.

On a grid as fine as that of limits there would be more equalities than profiles have control points, and nothing would
be left for the objective to decide. A spline of degree d on m spans has m + d control points: a row that depends on
derivative k of the profiles, itself a spline of degree d - k, is imposed m + d - k times. How far it is from its value
between these points is checked, and where it is too far, the splines get more knots (``judge.grown_breaks``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.tracing import CONSTANTS, is_profile
from neuler.motions import splines
from neuler.optimize.programme import Array
from neuler.plan.limits import Limit
from neuler.plan.rows import COLLOCATED, Family, Rows, row_count, trace_rows

WEAK_FROM = 2
"""The derivative from which on rows are equalities in their weak form."""
SHORTEST = 0.02
"""Of the mean span: distances of the knots at which rows may jump."""
NEAR = 1e-6
"""Of 1 + |bound|: how far a row may be from its value where start and goal decide it."""


@dataclass(frozen=True, eq=False)
class Collocated:
    """Rows that have their values at as many points as a derivative of the profiles has control points.

    Forces depend on accelerations: ``order`` 2. In their ``weak`` form rows r with the value b are equal to it against
    all splines of that derivative, integral of B_i (r - b) = 0 (Galerkin): what is left of them between points then
    changes no objective to first order, while rows that are equal at points alone are bent between them in its favour.
    """

    rows: Rows
    order: int
    weak: bool = False
    when: tuple[float, float] = (0.0, 1.0)
    """The window, in shares of the phase; its edges are knots."""
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
    """Which equalities follow from what is asked for besides, (count, rows): of the first ones, and, counted from the
    end, of the last."""
    name: str = ""
    """What to call it where there are more equalities than variables."""

    def _knots(self, knots: Array, degree: int) -> tuple[Array, int]:
        """Knots of the derivative on the window, which they cover from 0 to 1, and its degree."""
        if self.order > degree:
            raise InputError(
                f"{self.name}: it depends on derivative {self.order} of the profiles, whose degree is {degree}; raise "
                "the degree"
            )
        begin, end = self.when
        edges = np.unique(knots)
        inside = edges[(edges > begin + 1e-9) & (edges < end - 1e-9)]
        breaks = (np.concatenate([[begin], inside, [end]]) - begin) / (end - begin)
        low = degree - self.order
        return splines.clamped(len(breaks) - 1 + low, low, breaks) if low else breaks, low

    def edges(self, degree: int, spans: int) -> list[float]:
        """Shares at which profiles get knots: the edges of the window.

        Rows that are forces should be free to jump there: as many knots lie close to an edge, outside, as let them.
        """
        begin, end = self.when
        if begin == end:
            return []
        more = SHORTEST / spans * np.arange(1, max(degree - self.order, 0) + 1) if self.weak else np.zeros(0)
        outside = [*(begin - more), *(end + more)]
        return [begin, end, *(float(share) for share in outside if 0.0 < share < 1.0)]

    def points(self, knots: Array, degree: int) -> Array:
        """Shares of a phase: the Greville points of that derivative on the window."""
        begin, end = self.when
        if begin == end:
            return np.array([begin])
        inner, low = self._knots(knots, degree)
        shares = splines.greville(inner, low) if low else 0.5 * (inner[:-1] + inner[1:])
        return np.asarray(begin + (end - begin) * shares)

    def all_points(self, knots: Array, degree: int) -> Array:
        """Shares at which the rows are evaluated in a programme."""
        weak = self.weak and self.when[0] < self.when[1]
        return self.projections(knots, degree)[0] if weak else self.points(knots, degree)

    def used(self, count: int) -> NDArray[np.bool_]:
        """Which of ``count`` equalities of every row are imposed, (count, rows): not those that are known."""
        found = np.ones((count, self.rows.count), dtype=bool)
        for known, view in zip(self.known or (), (found, found[::-1]), strict=False):
            view[: len(known)] &= ~known[:count]
        return found

    def projections(self, knots: Array, degree: int) -> tuple[Array, Any]:
        """Points of integrals, and the weights of their values in the mean against every spline, (splines, points)."""
        begin, end = self.when
        inner, low = self._knots(knots, degree)
        points, weights = splines.gauss(inner, degree)
        if low:
            against = splines.operator(inner, low, points).T.tocsr().multiply(weights).tocsr()
        else:
            span = np.searchsorted(inner, points) - 1
            against = splines.sparse().csr_matrix((weights, (span, np.arange(len(points)))))
        sizes = np.asarray(against.sum(axis=1)).ravel()
        return np.asarray(begin + (end - begin) * points), against.multiply(1.0 / sizes[:, None]).tocsr()


def with_edges(breaks: Array | None, spans: int, edges: Sequence[float]) -> Array | None:
    """Breaks (None: uniform, so many ``spans``) with others at ``edges``, where none is as near as makes no odds."""
    if not edges:
        return breaks
    found = np.linspace(0.0, 1.0, spans + 1) if breaks is None else np.asarray(breaks)
    near = 1e-3 / spans
    for edge in edges:
        if np.abs(found - edge).min() > 1e-9:
            found = found[(np.abs(found - edge) > near) | (found == 0.0) | (found == 1.0)]
            found = np.sort(np.append(found, edge))
    return found


# ---- limits whose bounds are equal ----------------------------------------------------------------------------------


def equal_rows(robot: MovingRobot, limit: Limit) -> NDArray[np.bool_]:
    """Which rows of a limit have one value for both bounds, (rows)."""
    low, high = limit.bounds(limit.measure.row_names(robot, row_count(robot, limit.measure)))
    return np.asarray(np.isfinite(low) & (low == high))


def without_rows(robot: MovingRobot, limit: Limit, rows: NDArray[np.bool_]) -> Limit:
    """The same limit without bounds of some rows."""
    low, high = limit.bounds(limit.measure.row_names(robot, len(rows)))
    return replace(limit, lower=np.where(rows, -np.inf, low), upper=np.where(rows, np.inf, high), joints=None)


@dataclass(frozen=True, eq=False)
class Given:
    """What is asked of derivatives (per second) of the profiles where a phase begins or ends."""

    what: str
    """Where it is, in words."""
    values: Sequence[Array]
    """By the order of the derivative, NaN where a profile is free."""
    going_on: Mapping[int, int]
    """By profile: how many derivatives, from 0 on, are those of another part of the plan that has the same limit."""

    def decided(self, profiles: Sequence[int]) -> NDArray[np.bool_]:
        """Which derivatives of a function of some profiles are decided, from 0 on.

        Those up to which all profiles are given, or are those of another part of the plan; and, at rest, those whose
        profiles' derivatives are all zero, though the position may be free.
        """
        going = min((self.going_on.get(k, 0) for k in profiles), default=0)
        found = np.zeros(max(len(self.values), going), dtype=bool)
        found[:going] = True
        chosen = [values[list(profiles)] for values in self.values]
        all_given = all_zero = True
        for k, values in enumerate(chosen):
            all_given &= not np.isnan(values).any()
            all_zero &= k == 0 or not values.any()  # NaN counts as true
            found[k] |= all_given or (k > 0 and all_zero)
        return found

    def given(self, profiles: Sequence[int]) -> int:
        """How many derivatives, from 0 on, are numbers for all of some profiles."""
        chosen = [bool(np.isnan(values[list(profiles)]).any()) for values in self.values]
        return chosen.index(True) if True in chosen else len(chosen)


def equalities_of(robot: MovingRobot, limit: Limit, rows: NDArray[np.bool_], ends: Sequence[Given]) -> list[Collocated]:
    """Rows of a limit that are equalities, by the derivative of the profiles that they depend on.

    ``ends``: what is given where the phase begins, and where it ends.
    """
    numbers = np.flatnonzero(rows)
    every = _traced(robot, limit, numbers)
    found = []
    for order in np.unique(every.orders):
        mine = numbers[every.orders == order]
        part = every if len(mine) == len(numbers) else _traced(robot, limit, mine)
        known = [
            _known(robot, part, int(order), end, limit, share)
            if limit.when[k] == share
            else np.zeros((0, part.count), bool)
            for k, (share, end) in enumerate(zip((0.0, 1.0), ends, strict=True))
        ]
        weak = bool(order >= WEAK_FROM) and limit.when[0] < limit.when[1]
        found.append(
            Collocated(part, int(order), weak, limit.when, (known[0], known[1]), f"limit of {limit.measure.name}")
        )
    return found


def _traced(robot: MovingRobot, limit: Limit, numbers: NDArray[np.intp]) -> Rows:
    """Some rows of a limit's measure."""
    measure = limit.measure
    total = row_count(robot, measure)

    def some(moment: Moment) -> Any:
        return np.asarray(measure.rows(moment), dtype=object).ravel()[numbers]

    names = measure.row_names(robot, total)
    low, high = limit.bounds(names)
    mine = replace(limit, lower=low[numbers], upper=high[numbers], joints=None)
    family = Family(COLLOCATED, measure.name, some, lambda n: [names[k] for k in numbers], mine)
    return trace_rows(robot, [family], "equal")


def _known(robot: MovingRobot, rows: Rows, order: int, end: Given, limit: Limit, share: float) -> NDArray[np.bool_]:
    """Which equalities of every row an end of the phase decides; values that they do not allow are refused."""
    columns = []
    for row in range(rows.count):
        profiles = _profiles(robot, rows, row)
        if profiles is None:
            columns.append(np.zeros(0, dtype=bool))
            continue
        given = end.given(profiles)
        if given > order:
            _check_value(robot, rows, row, end, limit, share, moving=given > 1 and order == 0)
        columns.append(end.decided(profiles)[order:])
    found = np.zeros((max(map(len, columns)), rows.count), dtype=bool)
    for row, mine in enumerate(columns):
        found[: len(mine), row] = mine
    return found


def _profiles(robot: MovingRobot, rows: Rows, row: int) -> list[int] | None:
    """Profiles that a row depends on; None where it depends on more, as forces of contacts and positions in loops."""
    if any(not is_profile(name) and name != "T" for name in rows.derivatives.wrt):
        return None
    at, columns = rows.derivatives.jacobian.places
    mine, first, found = columns[at == row], 0, set()
    for name, size in zip(rows.derivatives.wrt, rows.derivatives.widths, strict=True):
        if is_profile(name):
            found |= {int(c) - first for c in mine if first <= c < first + size}
        first += size
    return sorted(found)


def _check_value(
    robot: MovingRobot, rows: Rows, row: int, end: Given, limit: Limit, share: float, *, moving: bool
) -> None:
    """Refuse a start or goal whose row does not have its value; ``moving``: or does not stay there."""
    names = [operand.name for operand in rows.function.inputs]
    zero = np.zeros(robot.profile_count)
    derivatives = [np.nan_to_num(x) for x in end.values]

    def value(step: float) -> float:
        known: dict[str, Any] = {"T": 1.0, "share": share, "payload": robot.payload_numbers}
        for name in names:
            if is_profile(name):
                k = int(name[1:])
                known[name] = derivatives[k] if k < len(derivatives) else zero
        if step:
            known["c0"] = known["c0"] + step * derivatives[1]
        assert all(name in known or name in CONSTANTS for name in names)
        return float(rows.function(**{name: known[name] for name in names})[row])

    family, label = rows.find(row)
    bound, who = float(family.lower[row]), f" of {label}" if label else ""
    here = value(0.0)
    if not abs(here - bound) <= NEAR * (1.0 + abs(bound)):
        raise InputError(
            f"{end.what}: {family.name}{who} is {here:.6g} there, but a limit asks for {bound:.6g} "
            f"{_while(limit)}; move the {end.what}, or give the limit a window without it (when=...)"
        )
    if moving:
        step = 1e-6
        rate = (value(step) - value(-step)) / (2.0 * step)
        if abs(rate) > 1e-4 * (1.0 + abs(bound)):
            raise InputError(
                f"{end.what}: {family.name}{who} changes by {rate:.4g} per second there, but a limit asks for "
                f"{bound:.6g} {_while(limit)}; change the velocity at the {end.what}, or give the limit a window "
                "without it (when=...)"
            )


def _while(limit: Limit) -> str:
    return "at all times" if limit.when == (0.0, 1.0) else f"from {limit.when[0]:g} to {limit.when[1]:g} of the phase"

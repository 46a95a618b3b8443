"""Traced rows: one compiled function of a moment, and what each of its rows is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import Function
from neuler.moments.measures import Measure
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.tracing import (
    CONSTANTS,
    function_of,
    is_force,
    is_profile,
    made,
    moment_inputs,
    moment_of,
    nothing_decided,
    traced,
)
from neuler.optimize.programme import Array
from neuler.plan.limits import Limit
from neuler.plan.objectives import INTEGRAL, MAGNITUDE, OVERALL, PEAK, Term

LIMIT, OBJECTIVE, SLACK, TOTAL = "limit", "objective", "slack", "total"
"""Kinds of families: bounded, integrated in the objective, below a peak's slack, integrated to be limited; OVERALL,
integrated row by row for a function of the whole motion; and MAGNITUDE, below variables that bound magnitudes."""
CLOSURE, COLLOCATED = "closure", "collocated"
"""Kinds of families that are zero: loops, whose dependent positions are variables at every grid point, and rows that
profiles alone can make zero, at as many points as they have control points."""


@dataclass(eq=False)
class Family:
    """Rows of a function that belong together: a limit, a term of the objective, a peak's bound, what is zero."""

    kind: str
    name: str
    make: Callable[[Moment], Any]
    labels: Callable[[int], Sequence[str]]
    limit: Limit | None = None
    term: Term | None = None
    """The term of the objective that it belongs to."""
    slack: str = ""
    """The variable that a peak stays below."""
    rows: slice = field(default_factory=lambda: slice(0, 0))
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    names: list[str] = field(default_factory=list)
    """A label for every row."""

    @property
    def count(self) -> int:
        """How many rows it has."""
        return self.rows.stop - self.rows.start

    def place(self, first: int, count: int) -> None:
        """Give it its rows among all, with labels and bounds."""
        self.rows = slice(first, first + count)
        self.names = list(self.labels(count))
        if len(self.names) != count:
            raise InputError(f"measure {self.name!r}: it has {count} rows and {len(self.names)} labels")
        if self.limit is not None:
            self.lower, self.upper = self.limit.bounds(self.names)
        elif self.kind in (CLOSURE, COLLOCATED):
            self.lower = self.upper = np.zeros(count)
        elif self.kind in (SLACK, MAGNITUDE):
            self.lower, self.upper = np.full(count, -np.inf), np.zeros(count)
        else:
            self.lower, self.upper = np.full(count, -np.inf), np.full(count, np.inf)


@dataclass(eq=False)
class Rows:
    """A compiled function of a moment with its derivatives, and the families of its rows."""

    derivatives: Derivatives
    families: list[Family]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.derivatives.rows

    @property
    def function(self) -> Function:
        """The function alone."""
        return self.derivatives.function

    def of_kind(self, *kinds: str) -> list[Family]:
        """The families of some kinds, in order."""
        return [family for family in self.families if family.kind in kinds]

    def bounds(self) -> tuple[Array, Array]:
        """Return the bounds of all rows, infinite where there is none."""
        return np.concatenate([f.lower for f in self.families]), np.concatenate([f.upper for f in self.families])

    def scales(self) -> Array:
        """What to divide rows by: the size of their bounds, where limits say nothing else."""
        low, high = self.bounds()
        size = np.maximum(np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0))
        for family in self.families:
            if family.limit is not None and family.limit.scale is not None:
                size[family.rows] = family.limit.scale
        return np.where(size > 0.0, size, 1.0)

    def find(self, row: int) -> tuple[Family, str]:
        """The family and the label of a row."""
        family = next(each for each in self.families if each.rows.start <= row < each.rows.stop)
        return family, family.names[row - family.rows.start]

    @cached_property
    def orders(self) -> NDArray[np.intp]:
        """Of every row, the highest derivative of the profiles that it depends on, (rows)."""
        found = np.zeros(self.count, dtype=np.intp)
        rows, columns = self.derivatives.jacobian.places
        at = 0
        for name, size in zip(self.derivatives.wrt, self.derivatives.widths, strict=True):
            if is_profile(name):
                mine = rows[(columns >= at) & (columns < at + size)]
                found[mine] = np.maximum(found[mine], int(name[1:]))
            at += size
        return found

    @cached_property
    def of_forces(self) -> NDArray[np.bool_]:
        """Which rows depend on forces of contacts that are variables, (rows)."""
        found, at = np.zeros(self.count, dtype=bool), 0
        rows, columns = self.derivatives.jacobian.places
        for name, size in zip(self.derivatives.wrt, self.derivatives.widths, strict=True):
            if is_force(name):
                found[rows[(columns >= at) & (columns < at + size)]] = True
            at += size
        return found

    def jumps_at_knots(self, degree: int) -> NDArray[np.bool_]:
        """Which rows depend on a derivative of the profiles that jumps at knots."""
        return self.orders >= degree


def limit_family(robot: MovingRobot, limit: Limit) -> Family:
    """Return the family of a limit: lower <= measure <= upper."""
    return Family(LIMIT, limit.measure.name, limit.measure.rows, lambda n: limit.measure.row_names(robot, n), limit)


def objective_family(term: Term) -> Family:
    """A term of the objective; of an integral, times the duration: weights of the grid add it up over the share."""
    measure = term.measure
    assert isinstance(measure, Measure)

    def rows(moment: Moment) -> Any:
        total = sum(np.asarray(measure.rows(moment), dtype=object).ravel())
        return moment.duration * total if term.kind == INTEGRAL else total

    return Family(OBJECTIVE, term.name, rows, lambda n: [""] * n, term=term)


def total_family(term: Term) -> Family:
    """The rows of a measure times the duration, each to be integrated by itself."""
    measure = term.measure
    assert isinstance(measure, Measure)

    def rows(moment: Moment) -> Any:
        return [moment.duration * x for x in np.asarray(measure.rows(moment), dtype=object).ravel()]

    kind = OVERALL if term.kind == OVERALL else TOTAL
    return Family(kind, term.name, rows, lambda n: [str(k) for k in range(n)], term=term)


def magnitude_families(robot: MovingRobot, term: Term, first: int, *, total: bool) -> list[Family]:
    """row <= p and -row <= p for the variables p from number ``first`` on; and their sum over time.

    The sum is a part of the objective, or (``total``) is to be limited.
    """
    measure = term.measure
    assert isinstance(measure, Measure)
    count = row_count(robot, measure)

    def bounded(moment: Moment) -> Any:
        values, p = np.asarray(measure.rows(moment), dtype=object).ravel(), moment.magnitudes[first : first + count]
        return np.concatenate([values - p, -values - p])

    def summed(moment: Moment) -> Any:
        return moment.duration * sum(moment.magnitudes[first : first + count])

    names = measure.row_names(robot, count)
    return [
        Family(MAGNITUDE, term.name, bounded, lambda n: names * 2, term=term),
        Family(TOTAL if total else OBJECTIVE, term.name, summed, lambda n: [""] * n, term=term),
    ]


def row_count(robot: MovingRobot, measure: Measure) -> int:
    """How many rows a measure has for a robot."""
    if measure.labels is not None:
        return len(measure.labels(robot))
    return function_of(robot, measure.name, measure.rows).outputs[0].size


def peak_family(robot: MovingRobot, term: Term, slack: str) -> Family:
    """measure <= slack, and -measure <= slack where it has signs."""
    measure = term.measure
    assert term.kind == PEAK
    assert isinstance(measure, Measure)

    def rows(moment: Moment) -> Any:
        values = np.asarray(measure.rows(moment), dtype=object).ravel()
        both = values if measure.positive else np.concatenate([values, -values])
        return both - moment.slacks[slack]

    def labels(count: int) -> list[str]:
        names = measure.row_names(robot, count if measure.positive else count // 2)
        return names if measure.positive else names * 2

    return Family(SLACK, term.name, rows, labels, term=term, slack=slack)


def closure_family() -> Family:
    """Gaps of loops: zero at grid points, where dependent positions are variables; between, these are computed."""
    return Family(CLOSURE, "closure", lambda moment: moment.closure, lambda n: [str(k) for k in range(n)])


def balance_family(robot: MovingRobot) -> Family:
    """Forces of the base: zero at grid points, where forces of contacts are variables; between, these are corrected."""
    support = robot.support
    assert support is not None
    places, unit = list(support.root.forces), robot.force_unit

    def rows(moment: Moment) -> Any:
        return moment.all_tau[places] / unit

    return Family(CLOSURE, "force of the base", rows, lambda n: [str(k) for k in range(n)])


def collocated_family(name: str, rows: Callable[[Moment], Any], labels: Sequence[str]) -> Family:
    """Rows of the profiles that are zero at collocation points, and between them as far as the splines can follow."""
    return Family(COLLOCATED, name, rows, lambda n: labels)


def trace_rows(
    robot: MovingRobot,
    families: Sequence[Family],
    name: str,
    slacks: Sequence[str] = (),
    given: int = 0,
    points: int | None = None,
    magnitudes: int = 0,
) -> Rows:
    """One function for all families, of the inputs that it needs; ``given`` numbers are known at every point.

    ``points``: at about how many points it is evaluated at a time, which decides how its derivatives are made.
    ``magnitudes``: how many bounds of magnitudes are variables.
    """
    inputs = moment_inputs(robot, slacks, given, magnitudes)

    def rows(*values: Any) -> Any:
        moment = moment_of(robot, dict(zip(inputs, values, strict=True)), slacks)
        found: list[Any] = []
        for family in families:
            mine = made(family.name, family.make, moment)
            family.place(len(found), len(mine))
            found.extend(mine)
        return found

    function = traced(name, rows, inputs, [family.name for family in families], marked=not robot.robot.loops)
    wrt = [operand.name for operand in function.inputs if operand.name not in CONSTANTS]
    if not wrt:
        raise InputError(nothing_decided([family.name for family in families]))
    return Rows(derivatives(function, wrt, points), list(families))

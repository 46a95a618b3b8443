"""Traced rows: what one compiled function gives at a moment, and what each of its rows is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.errors import InputError, NeulerError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.functions.trimming import trimmed
from neuler.optimize.blocks import Derived, derived
from neuler.optimize.programme import Array
from neuler.plan import free_knots
from neuler.plan.measures import Limit, Measure
from neuler.plan.model import HIGHEST, Model
from neuler.plan.moment import Clock, Moment
from neuler.plan.objectives import INTEGRAL, PEAK, Term
from neuler.plan.segment import PAYLOAD, SOFT

LIMIT, OBJECTIVE, SLACK, EQUAL = "limit", "objective", "slack", "equal"
KNOWN = ("share", "given", free_knots.WITHIN, PAYLOAD, SOFT)
"""Inputs that are no variables."""


@dataclass(eq=False)
class Part:
    """Some rows of a function: limits of a measure, a summand of the objective, a peak's bound, an equality."""

    kind: str
    name: str
    make: Callable[[Moment], Any]
    labels: Callable[[int], Sequence[str]]
    limit: Limit | None = None
    weight: float = 0.0
    rows: slice = field(default_factory=lambda: slice(0, 0))
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    names: list[str] = field(default_factory=list)

    def placed(self, first: int, count: int) -> None:
        """Its rows among all, with labels and bounds."""
        self.rows = slice(first, first + count)
        self.names = list(self.labels(count))
        if len(self.names) != count:
            raise InputError(f"measure {self.name!r}: it has {count} rows and {len(self.names)} labels")
        if self.limit is not None:
            self.lower, self.upper = self.limit.bounds(self.names)
        elif self.kind == EQUAL:
            self.lower = self.upper = np.zeros(count)
        elif self.kind == SLACK:
            self.lower, self.upper = np.full(count, -np.inf), np.zeros(count)
        else:
            self.lower, self.upper = np.full(count, -np.inf), np.full(count, np.inf)


@dataclass(eq=False)
class Rows:
    """A compiled function of a moment, and its parts."""

    derived: Derived
    parts: list[Part]

    @property
    def count(self) -> int:
        """All rows."""
        return self.derived.rows

    def bounds(self) -> tuple[Array, Array]:
        """Of all rows; infinite where there is none."""
        return np.concatenate([p.lower for p in self.parts]), np.concatenate([p.upper for p in self.parts])

    def scales(self) -> Array:
        """What to divide rows by: the size of their bounds."""
        low, high = self.bounds()
        size = np.maximum(np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0))
        return np.where(size > 0.0, size, 1.0)

    def find(self, row: int) -> tuple[Part, str]:
        """The part and the label of a row."""
        part = next(part for part in self.parts if part.rows.start <= row < part.rows.stop)
        return part, part.names[row - part.rows.start]


def limit_part(model: Model, limit: Limit) -> Part:
    """lower <= measure <= upper."""
    return Part(LIMIT, limit.measure.name, limit.measure.rows, lambda n: limit.measure.row_names(model, n), limit)


def objective_part(term: Term) -> Part:
    """A summand of the objective; of an integral, times the duration: weights of the grid add it up over the share."""
    measure = term.measure
    assert isinstance(measure, Measure)

    def rows(moment: Moment) -> Any:
        total = sum(np.asarray(measure.rows(moment), dtype=object).ravel())
        return moment.clock.pace * total if term.kind == INTEGRAL else total

    return Part(OBJECTIVE, term.name, rows, lambda n: [""] * n, weight=term.weight)


def peak_part(model: Model, term: Term, slack: str) -> Part:
    """measure <= slack, and -measure <= slack where it has signs."""
    measure = term.measure
    assert term.kind == PEAK
    assert isinstance(measure, Measure)

    def rows(moment: Moment) -> Any:
        values = np.asarray(measure.rows(moment), dtype=object).ravel()
        both = values if measure.positive else np.concatenate([values, -values])
        return both - moment.slacks[slack]

    def labels(count: int) -> list[str]:
        names = measure.row_names(model, count if measure.positive else count // 2)
        return names if measure.positive else names * 2

    return Part(SLACK, term.name, rows, labels)


def equal_part(name: str, rows: Callable[[Moment], Any], labels: Sequence[str]) -> Part:
    """rows = 0."""
    return Part(EQUAL, name, rows, lambda n: list(labels)[:n] if labels else [str(k) for k in range(n)])


def _made(part: Part, moment: Moment) -> Any:
    """Rows of a part; what a user's function does wrong is told with its name."""
    try:
        with np.errstate(all="ignore"):
            found = part.make(moment)
    except NeulerError:
        raise
    except Exception as error:
        raise InputError(f"measure {part.name!r}: its function raised {type(error).__name__}: {error}") from error
    for x in np.asarray(found, dtype=object).ravel():
        if x is None or isinstance(x, str | complex) or (isinstance(x, float) and x != x):
            raise InputError(f"measure {part.name!r}: its rows must be real numbers or traced values, got {x!r}")
    return found


def traced_rows(model: Model, parts: Sequence[Part], name: str, slacks: Sequence[str] = (), given: int = 0) -> Rows:
    """One function for all parts, of the inputs that it needs; ``given`` numbers are known at every point."""
    inputs: dict[str, Any] = {f"c{k}": model.nc for k in range(HIGHEST + 1)}
    if model.free:
        inputs = free_knots.inputs(model.nc, model.free)
    inputs |= {"T": (), "share": (), SOFT: ()}
    if model.followers:
        inputs["followers"] = len(model.followers)
    inputs |= dict.fromkeys(slacks, ())
    if given:
        inputs["given"] = given
    if model.payloads:
        inputs[PAYLOAD] = len(model.carried)

    def rows(*values: Any) -> Any:
        by_name = dict(zip(inputs, values, strict=True))
        duration, share = by_name["T"], by_name["share"]
        if model.free:
            profiles, t, length = free_knots.profiles(by_name, model.nc, model.free, HIGHEST)
            clock = Clock(t, share, duration, length, per_second=True)
        else:
            profiles = [by_name[f"c{k}"] for k in range(HIGHEST + 1)]
            clock = Clock(share * duration, share, duration, duration)
        slack_values = {slack: by_name[slack] for slack in slacks}
        fixed = by_name.get("given"), by_name.get(PAYLOAD), by_name[SOFT]
        moment = Moment(model, profiles, clock, by_name.get("followers"), slack_values, *fixed)
        found: list[Any] = []
        for part in parts:
            values_of = np.asarray(_made(part, moment), dtype=object).ravel()
            if not values_of.size:
                raise InputError(f"measure {part.name!r} gave no rows")
            part.placed(len(found), len(values_of))
            found.extend(values_of)
        return found

    whole = listing_of(name, rows, inputs, "rows")
    nothing = (
        f"{', '.join(part.name for part in parts)}: depends on nothing that a plan decides; has the robot no mass?"
    )
    try:
        listing = trimmed(whole, marked=not model.robot.loops)
    except InputError:
        raise InputError(nothing) from None
    function = Function(listing, name)
    wrt = [operand.name for operand in listing.inputs if operand.name not in KNOWN]
    if not wrt:
        raise InputError(nothing)
    return Rows(derived(function, wrt), list(parts))

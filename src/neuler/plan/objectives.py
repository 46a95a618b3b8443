"""Objectives: sums of durations, integrals and peaks of measures, with weights, Barman (4.16), (4.18).

>>> both = 0.99 * duration() + 0.01 * effort()
>>> [(term.weight, term.name) for term in both.terms]
[(0.99, 'duration'), (0.01, 'effort')]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from neuler.errors import InputError
from neuler.inputs import number
from neuler.moments.measures import Measure, acceleration, jerk, joint_force, power, torque, torque_rate
from neuler.moments.moment import Moment

DURATION, INTEGRAL, MAGNITUDE, PEAK, END, OVERALL = "duration", "integral", "magnitude", "peak", "end", "overall"
"""Kinds of terms of an objective."""


@dataclass(frozen=True, eq=False)
class Term:
    """weight times the duration, the time integral of a measure's rows or of their magnitudes, their largest size,
    their sum at the end, or a ``function`` of the integrals of all rows."""

    weight: float
    kind: str
    name: str
    measure: Measure | None = None
    function: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Objective:
    """What a plan minimises: a sum of terms. Objectives add up and take weights."""

    terms: tuple[Term, ...]

    def __add__(self, other: Any) -> Objective:
        if not isinstance(other, Objective):
            return NotImplemented
        return Objective(self.terms + other.terms)

    def __mul__(self, weight: Any) -> Objective:
        try:
            factor = float(weight)
        except (TypeError, ValueError):
            return NotImplemented
        if not math.isfinite(factor):
            raise InputError(f"objective: a weight must be finite, got {weight!r}")
        for term in self.terms:
            if factor * term.weight < 0.0 and term.kind in (PEAK, MAGNITUDE):
                raise InputError(f"objective: {term.name} can only be made small; its weight must not be negative")
        return Objective(tuple(replace(term, weight=factor * term.weight) for term in self.terms))

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> Objective:
        return self if isinstance(other, int | float) and other == 0 else NotImplemented  # sum() begins with 0

    def __str__(self) -> str:
        return " + ".join(f"{term.weight:g} {term.name}" for term in self.terms)


def duration() -> Objective:
    """Return the objective of least time: the duration of all phases together (s), Barman (4.16)."""
    return Objective((Term(1.0, DURATION, "duration"),))


def integral(measure: Measure, name: str | None = None) -> Objective:
    """Return the integral over time of the sum of a measure's rows, as an objective."""
    _checked("integral", measure)
    return Objective((Term(1.0, INTEGRAL, name or f"integral of {measure.name}", measure),))


def magnitude(measure: Measure, name: str | None = None) -> Objective:
    """Return the integral over time of the sum of |row| over a measure's rows, as an objective.

    The corner of |row| at zero is exact: bounds p of the magnitudes, -p <= row <= p, are variables of the programme at
    every point of the integral, and their sum is minimised.

    >>> from neuler.moments import measures
    >>> magnitude(measures.power, "work").terms[0].kind
    'magnitude'
    """
    _checked("magnitude", measure)
    return Objective((Term(1.0, MAGNITUDE, name or f"magnitude of {measure.name}", measure),))


def peak(measure: Measure, name: str | None = None) -> Objective:
    """Return the largest size of any of a measure's rows at any time, as an objective."""
    _checked("peak", measure)
    return Objective((Term(1.0, PEAK, name or f"peak {measure.name}", measure),))


def at_end(measure: Measure, name: str | None = None) -> Objective:
    """Return the sum of a measure's rows at the end of the last phase, as an objective."""
    _checked("at_end", measure)
    return Objective((Term(1.0, END, name or f"{measure.name} at the end", measure),))


def overall(function: Callable[[Any], Any], measure: Measure, name: str | None = None) -> Objective:
    """A function of the whole motion: of the time integrals of a measure's rows, an array of as many traced values.

    The information in an experiment is one, log det of the integral of Y^T Y, and so is the length of a path squared.

    >>> from neuler.moments import measures
    >>> overall(lambda total: total[0] ** 2, measures.velocity, "net turn").terms[0].name
    'net turn'
    """
    _checked("overall", measure)
    if not callable(function):
        raise InputError(f"overall: a function of integrals is needed, got {type(function).__name__}")
    return Objective((Term(1.0, OVERALL, name or f"function of the integral of {measure.name}", measure, function),))


@dataclass(frozen=True)
class TotalLimit:
    """lower <= a sum of durations and integrals over the whole motion <= upper."""

    objective: Objective
    lower: float
    upper: float

    @property
    def name(self) -> str:
        """What is limited, in words."""
        return str(self.objective)


def total(objective: Objective, lower: float | None = None, upper: float | None = None) -> TotalLimit:
    """A limit of the whole motion: lower <= durations and integrals, as ``plan.energy()`` <= upper.

    >>> total(energy(), upper=100.0).name
    '1 energy'
    """
    if not isinstance(objective, Objective):
        raise InputError(f"total: durations and integrals are needed, as plan.energy(), got {objective!r:.60}")
    for term in objective.terms:
        if term.kind not in (DURATION, INTEGRAL, MAGNITUDE):
            raise InputError(f"total: {term.name!r} is neither a duration nor an integral; limit its measure instead")
        if term.kind == MAGNITUDE and lower is not None:
            raise InputError(f"total: {term.name!r} takes an upper bound alone, got a lower one, {lower!r:.40}")
    if lower is None and upper is None:
        raise InputError(f"total of {objective}: give a lower bound, an upper bound or both")
    low = -math.inf if lower is None else number(f"total of {objective}: lower bound", lower, finite=False)
    high = math.inf if upper is None else number(f"total of {objective}: upper bound", upper, finite=False)
    if low > high:
        raise InputError(f"total of {objective}: the lower bound {low:g} is above the upper bound {high:g}")
    return TotalLimit(objective, low, high)


def _checked(what: str, measure: object) -> None:
    if not isinstance(measure, Measure):
        raise InputError(f"{what}: a measure is needed, plan.torque or plan.measure(f, name), got {measure!r:.60}")


@dataclass(frozen=True)
class Squares:
    """The sum of the squared rows of a measure."""

    measure: Measure

    def __call__(self, moment: Moment) -> Any:
        """The sum at a moment."""
        return sum(x * x for x in self.measure.rows(moment))


def _squares(name: str, measure: Measure) -> Objective:
    return integral(Measure(name, Squares(measure)), name)


def effort() -> Objective:
    """Return the integral of the sum of squared torques as an objective, as in Barman (4.18)."""
    return _squares("effort", torque)


def torque_rate_effort() -> Objective:
    """Return the integral of the sum of squared torque rates, as an objective."""
    return _squares("torque_rate", torque_rate)


def acceleration_effort() -> Objective:
    """Return the integral of the sum of squared accelerations, as an objective."""
    return _squares("acceleration", acceleration)


def jerk_effort() -> Objective:
    """Return the integral of the sum of squared jerks, as an objective."""
    return _squares("jerk", jerk)


def force_effort() -> Objective:
    """Return the integral of the sum of squared internal joint forces, as an objective."""
    return _squares("joint_force", joint_force)


def energy() -> Objective:
    """Return the integral of |power| over all motors, as an objective: braking costs as driving does."""
    return magnitude(power, "energy")


def peak_joint_force() -> Objective:
    """Return the largest internal force (N) of any joint at any time, as an objective."""
    return peak(joint_force, "peak_joint_force")


OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "duration": duration,
    "effort": effort,
    "torque_rate": torque_rate_effort,
    "acceleration": acceleration_effort,
    "jerk": jerk_effort,
    "joint_force": force_effort,
    "energy": energy,
    "peak_joint_force": peak_joint_force,
}
"""Objectives by the names that problem files use."""

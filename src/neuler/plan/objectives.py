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

from neuler import math as nm
from neuler.errors import InputError
from neuler.plan.measures import Measure, acceleration, jerk, joint_force, power, torque, torque_rate
from neuler.plan.moment import Moment

DURATION, INTEGRAL, PEAK, END = "duration", "integral", "peak", "end"


@dataclass(frozen=True)
class Term:
    """weight times the duration, the time integral of a measure's rows, their largest size, or their sum at the end."""

    weight: float
    kind: str
    name: str
    measure: Measure | None = None


@dataclass(frozen=True)
class Objective:
    """What a plan makes least: a sum of terms. Objectives add up and take weights."""

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
        if any(factor * term.weight < 0.0 and term.kind == PEAK for term in self.terms):
            raise InputError("objective: a peak can only be made small; its weight must not be negative")
        return Objective(tuple(replace(term, weight=factor * term.weight) for term in self.terms))

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> Objective:
        return self if isinstance(other, int | float) and other == 0 else NotImplemented  # sum() begins with 0

    def __str__(self) -> str:
        return " + ".join(f"{term.weight:g} {term.name}" for term in self.terms)


def duration() -> Objective:
    """Of all phases together (s), Barman (4.16)."""
    return Objective((Term(1.0, DURATION, "duration"),))


def integral(measure: Measure, name: str | None = None) -> Objective:
    """The sum of a measure's rows over time."""
    _checked("integral", measure)
    return Objective((Term(1.0, INTEGRAL, name or f"integral of {measure.name}", measure),))


def peak(measure: Measure, name: str | None = None) -> Objective:
    """The largest size of any of a measure's rows at any time."""
    _checked("peak", measure)
    return Objective((Term(1.0, PEAK, name or f"peak {measure.name}", measure),))


def at_end(measure: Measure, name: str | None = None) -> Objective:
    """The sum of a measure's rows at the end of the last phase."""
    _checked("at_end", measure)
    return Objective((Term(1.0, END, name or f"{measure.name} at the end", measure),))


def _checked(what: str, measure: object) -> None:
    if not isinstance(measure, Measure):
        raise InputError(f"{what}: a measure is needed, plan.torque or plan.measure(f, name), got {measure!r:.60}")


@dataclass(frozen=True)
class Squares:
    """The sum of the squared rows of a measure."""

    measure: Measure

    def __call__(self, moment: Moment) -> Any:
        """A number."""
        return sum(x * x for x in self.measure.rows(moment))


def _squares(name: str, measure: Measure) -> Objective:
    return integral(Measure(name, Squares(measure)), name)


def _spent(moment: Moment) -> Any:
    """The size of all motors' power, its corner at zero rounded off."""
    return sum(nm.sqrt(x * x + moment.soft * moment.soft) - moment.soft for x in power.rows(moment))


def effort() -> Objective:
    """Integral of the sum of squared torques, as in Barman (4.18)."""
    return _squares("effort", torque)


def torque_rate_effort() -> Objective:
    """Integral of the sum of squared torque rates."""
    return _squares("torque_rate", torque_rate)


def acceleration_effort() -> Objective:
    """Integral of the sum of squared accelerations."""
    return _squares("acceleration", acceleration)


def jerk_effort() -> Objective:
    """Integral of the sum of squared jerks."""
    return _squares("jerk", jerk)


def force_effort() -> Objective:
    """Integral of the sum of squared internal joint forces."""
    return _squares("joint_force", joint_force)


def energy() -> Objective:
    """Integral of the size of all motors' mechanical power: braking costs as driving does.

    The solve rounds its corner at zero off, less and less; what is reported is not rounded.
    """
    return integral(Measure("energy", _spent), "energy")


def peak_joint_force() -> Objective:
    """The largest internal joint force (N) of any joint at any time."""
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
"""By the names that problem files use."""

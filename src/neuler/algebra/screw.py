"""Screws and wrenches: a linear and an angular vector, in this order."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.vector import Vector
from neuler.trace.graph import Scalar

Wrench = tuple[Vector, Vector]
"""(force; moment); a velocity or acceleration screw (linear; angular) has the same form."""


def flat(wrench: Wrench) -> tuple[Scalar, ...]:
    """Six numbers, linear first."""
    return (*wrench[0], *wrench[1])


def pair(values: Sequence[Scalar]) -> Wrench:
    """Linear and angular part of six numbers."""
    x = tuple(values)
    return x[:3], x[3:]  # type: ignore[return-value]


def plus(a: Wrench, b: Wrench) -> Wrench:
    """Sum of two screws or wrenches."""
    return vec.add(a[0], b[0]), vec.add(a[1], b[1])

"""Screws and wrenches: a linear and an angular vector, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from neuler.algebra import vector as vec
from neuler.algebra.vector import Vector
from neuler.trace.graph import Scalar

Wrench = tuple[Vector, Vector]
"""(force; moment)."""
Screw = tuple[Vector, Vector]
"""A velocity or an acceleration: (linear; angular)."""


def flat(wrench: Wrench) -> tuple[Scalar, ...]:
    """The six numbers of a screw or wrench, linear ones first."""
    return (*wrench[0], *wrench[1])


def pair(values: Sequence[Scalar]) -> Wrench:
    """Linear and angular part of six numbers."""
    x = tuple(values)
    return x[:3], x[3:]  # type: ignore[return-value]


def plus(a: Wrench, b: Wrench) -> Wrench:
    """Sum of two screws or wrenches."""
    return vec.add(a[0], b[0]), vec.add(a[1], b[1])


@dataclass(frozen=True)
class Column:
    """A motion by one velocity: the screw of a unit of it, constant in the frame that it moves. Khalil's a_j, (16)."""

    linear: Vector
    angular: Vector
    unit: int | None = field(init=False, compare=False)
    """Its number among (vx, vy, vz, wx, wy, wz) where it is one of these; None where it is a mixture."""

    def __post_init__(self) -> None:
        whole = flat((self.linear, self.angular))
        moving = [k for k, x in enumerate(whole) if x != 0.0]
        object.__setattr__(self, "unit", moving[0] if len(moving) == 1 and whole[moving[0]] == 1.0 else None)

    def dot(self, wrench: Wrench) -> Scalar:
        """The wrench's component along it: a_j^T f."""
        return vec.dot(self.linear, wrench[0]) + vec.dot(self.angular, wrench[1])

    def times(self, rate: Scalar) -> Screw:
        """The screw of a velocity."""
        return vec.scale(rate, self.linear), vec.scale(rate, self.angular)

    def turned(self, w: Vector) -> Screw:
        """Its inertial rate in a frame that turns by w."""
        return vec.cross(w, self.linear), vec.cross(w, self.angular)

"""Numbers as a robot's data takes them: errors are about the robot, and name the part of it that they belong to."""

from __future__ import annotations

from numpy.typing import ArrayLike

from neuler import inputs
from neuler.errors import RobotError


def finite(owner: str, what: str, value: float) -> float:
    """One finite number, such as the mass of the owner "link 'arm'"."""
    return inputs.number(f"{owner}: {what}", value, error=RobotError)


def vector(owner: str, what: str, value: ArrayLike, length: int) -> tuple[float, ...]:
    """So many finite numbers, as a tuple, which a frozen value can hold."""
    return tuple(inputs.vector(f"{owner}: {what}", value, length, error=RobotError).tolist())

"""Numbers as a robot's data takes them: finite, and -0.0 is 0.0."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import RobotError


def told(value: object) -> str:
    """A value as messages show it: short, also where it has too many digits to be printed.

    >>> told(0.5), len(told([0.5] * 1000)), told(10**5000)
    ('0.5', 80, 'an int that cannot be shown')
    """
    try:
        text = repr(value)
    except ValueError:
        return f"an {type(value).__name__} that cannot be shown"
    return text if len(text) <= 80 else f"{text[:77]}..."


def finite(owner: str, what: str, value: float) -> float:
    """One finite number; the error names its owner."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RobotError(f"{owner}: {what} must be a number, got {told(value)}") from None
    if not math.isfinite(number):
        raise RobotError(f"{owner}: {what} must be finite, got {number}")
    return number + 0.0  # -0.0 and 0.0 are one value and must hash alike


def vector(owner: str, what: str, value: ArrayLike, length: int) -> tuple[float, ...]:
    """So many finite numbers."""
    try:
        items = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got {told(value)}") from None
    if items.shape != (length,):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got shape {items.shape}")
    if not np.isfinite(items).all():
        raise RobotError(f"{owner}: {what} must be finite, got {items.tolist()}")
    return tuple((items + 0.0).tolist())

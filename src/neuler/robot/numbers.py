"""Numbers as a robot's data takes them: finite, and -0.0 is 0.0."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import RobotError


def finite(owner: str, what: str, value: float) -> float:
    """One finite number; the error names its owner."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: {what} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise RobotError(f"{owner}: {what} must be finite, got {number}")
    return number + 0.0  # -0.0 and 0.0 are one value and must hash alike


def vector(owner: str, what: str, value: ArrayLike, length: int) -> tuple[float, ...]:
    """So many finite numbers."""
    try:
        items = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got {value!r}") from None
    if items.shape != (length,):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got shape {items.shape}")
    if not np.isfinite(items).all():
        raise RobotError(f"{owner}: {what} must be finite, got {items.tolist()}")
    return tuple((items + 0.0).tolist())

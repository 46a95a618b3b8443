"""Numbers from users: real, finite, of the right shape; or an error that says what came."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import take_columns
from neuler.optimize.programme import Array


def real(value: Any) -> Array | None:
    """An array of real numbers; None of anything else: text, complex numbers, ragged lists."""
    if isinstance(value, str | bytes | Mapping):
        return None
    value = take_columns("plan", "argument", value, "", ())
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if found.dtype.kind == "O":
        try:
            if any(isinstance(x, str | bytes | complex) for x in found.ravel()):
                return None
            return found.astype(float)
        except (TypeError, ValueError):
            return None
    return found.astype(float) if found.dtype.kind in "fiu" else None


def number(what: str, value: Any, *, finite: bool = True) -> float:
    """One real number."""
    found = real(value)
    if found is None or found.shape != () or np.isnan(found) or (finite and not np.isfinite(found)):
        raise InputError(f"{what} must be a {'finite ' if finite else ''}number, got {value!r:.60}")
    return float(found)


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number."""
    good = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        span = f"{least} or more" if most is None else f"from {least} to {most}"
        raise InputError(f"{what} must be a whole number, {span}, got {value!r:.60}")
    return int(value)


def several(what: str, value: Any, kind: type | tuple[type, ...], made_by: str) -> list[Any]:
    """A list of things of one kind; one alone counts as a list."""
    if isinstance(value, kind):
        return [value]
    try:
        found = [] if value is None else list(value)
    except TypeError:
        found = [value]
    flat: list[Any] = []
    for each in found:
        flat.extend(each if isinstance(each, list | tuple) else [each])
    for each in flat:
        if not isinstance(each, kind):
            raise InputError(f"{what} are made by {made_by}, got {each!r:.60}")
    return flat


def names(what: str, value: Any) -> tuple[str, ...]:
    """One name, or several."""
    if isinstance(value, str):
        return (value,)
    try:
        found = tuple(value)
    except TypeError:
        found = ()
    if not found or not all(isinstance(name, str) for name in found):
        raise InputError(f"{what} must be a name or names, got {value!r:.60}")
    return found

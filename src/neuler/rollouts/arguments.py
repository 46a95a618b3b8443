"""What a rollout is called with, looked at: arrays with their step axes, numbers of steps, names of frames."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.naming import closest

Array = NDArray[np.float64]


def numbers(called: str, name: str, given: Any, shape: tuple[int, ...], meaning: str = "") -> Array:
    """Real numbers with the last axes given."""
    if isinstance(given, np.ma.MaskedArray):
        raise InputError(f"{called}: {name} is a masked array; fill or drop what is masked first")
    try:
        found = np.asarray(given)
    except ValueError:
        raise InputError(f"{called}: {name} is not a regular array of numbers") from None
    if found.dtype.kind not in "fiub" or found.dtype.char == "g":
        raise InputError(f"{called}: {name} must be real numbers, got values of type {found.dtype}")
    core = found.shape[found.ndim - len(shape) :] if found.ndim >= len(shape) else None
    if core != shape:
        axes = f"last axis {shape[0]}" if len(shape) == 1 else f"last axes {shape}"
        raise InputError(f"{called}: expected {name} with {axes}{meaning}, got shape {found.shape}")
    return found.astype(np.float64, copy=False)


def series(called: str, name: str, given: Any, size: int, steps: int | None, meaning: str = "") -> tuple[Array, int]:
    """Rows a step, or one for all of them: (..., steps or 1, size) or (size,); and how many steps there are."""
    found = numbers(called, name, given, ())
    axes = f"(..., steps, {size}), or ({size},) or (..., 1, {size}) for one that is held"
    if found.ndim < 1 or found.shape[-1] != size:
        raise InputError(f"{called}: expected {name} with axes {axes}{meaning}, got shape {found.shape}")
    if found.ndim == 1 and steps is None:
        raise InputError(f"{called}: {name} is held throughout, so the number of steps must be given: steps=1000")
    found = found[None] if found.ndim == 1 else found
    rows = found.shape[-2]
    if not rows:
        raise InputError(f"{called}: {name} has no steps: its shape is {found.shape}, expected {axes}")
    if steps is None:
        return found, rows
    if rows not in (1, steps):
        raise InputError(f"{called}: {name} has {rows} steps, and steps is {steps}; give as many, or one that is held")
    return found, steps


def whole(called: str, name: str, given: Any, least: int) -> int:
    """A whole number."""
    try:
        found = operator.index(given)
    except TypeError:
        raise InputError(f"{called}: {name} must be a whole number, got {given!r}") from None
    if isinstance(given, bool | np.bool_) or found < least:
        raise InputError(f"{called}: {name} must be a whole number, {least} or more, got {given!r}")
    return found


def seconds(called: str, dt: Any) -> Array:
    """Step sizes."""
    found = numbers(called, "dt", dt, ())
    if not np.all(np.isfinite(found) & (found > 0)):
        bad = found[~(np.isfinite(found) & (found > 0))]
        raise InputError(f"{called}: dt must be above zero (s), got {bad.flat[0]}")
    return found


def samples(called: str, period: Any, dt: Array) -> int:
    """Steps from one sample of a controller to the next."""
    if period is None:
        return 1
    try:
        wanted = float(period)
    except (TypeError, ValueError):
        wanted = np.nan
    if not np.isfinite(wanted) or wanted <= 0:
        raise InputError(f"{called}: the controller's period must be above zero (s), got {period!r}")
    ratios = np.unique(wanted / dt)
    steps = round(float(ratios[0]))
    if len(ratios) > 1 and abs(ratios[-1] - ratios[0]) > 1e-9 * ratios[0]:
        raise InputError(
            f"{called}: the controller's period {wanted:g} s must be as many steps of every row, and dt goes from "
            f"{float(dt.min()):g} to {float(dt.max()):g} s"
        )
    if steps < 1 or abs(ratios[0] - steps) > 1e-9 * steps:
        raise InputError(
            f"{called}: the controller's period {wanted:g} s must be a whole number of steps dt = "
            f"{float(dt.flat[0]):g} s, it is {float(ratios[0]):g}; choose dt = {wanted / max(1, round(ratios[0])):g}"
        )
    return steps


def choice(called: str, name: str, given: Any, allowed: Any) -> str:
    """One of a few words."""
    if not isinstance(given, str) or given not in allowed:
        meant = closest(given, allowed)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise InputError(f"{called}: {name} must be one of {', '.join(map(repr, allowed))}, got {given!r}{hint}")
    return given


def named(called: str, name: str, given: Any) -> dict[str, Any]:
    """Values by name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InputError(f"{called}: {name} must map names to values, {{'tool0': ...}}, got {type(given).__name__}")
    return dict(given)

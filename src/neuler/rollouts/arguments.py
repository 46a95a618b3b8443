"""Arguments of a rollout that have steps: forces a step, step sizes, samples of a controller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import array, number

Array = NDArray[np.float64]


def series(called: str, name: str, given: Any, size: int, steps: int | None, meaning: str = "") -> tuple[Array, int]:
    """Rows a step, or one for all of them: (..., steps or 1, size) or (size,); and how many steps there are."""
    found = array(called, name, given, ())
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


def seconds(called: str, dt: Any) -> Array:
    """The step sizes dt, above zero (s)."""
    found = array(called, "dt", dt, ())
    if not np.all(np.isfinite(found) & (found > 0)):
        bad = found[~(np.isfinite(found) & (found > 0))]
        raise InputError(f"{called}: dt must be above zero (s), got {bad.flat[0]}")
    return found


def samples(called: str, period: Any, dt: Array) -> int:
    """Steps from one sample of a controller to the next."""
    if period is None:
        return 1
    wanted = number(f"{called}: the controller's period", period, above=0.0, unit="s")
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

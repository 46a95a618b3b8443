"""Measured tables that cannot be meant: each fault is named, with what was expected and what helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.gait.columns import Columns
from neuler.naming import closest

Array = NDArray[np.float64]

LOWEST_RATE = 50.0
"""Hz; below it the motion of feet that land and leave is not in the samples."""
_UNEVEN = 0.05
"""Share of a step by which steps may differ."""
_LEGS = ("hip_flexion", "knee_flexion", "ankle_flexion")


def check_times(t: Array, called: str) -> float:
    """The rate (Hz) of times that rise evenly, at 50 Hz or more."""
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
        raise InputError(f"{called}: time must be finite numbers (s), two or more")
    steps = np.diff(t)
    step = float(np.median(steps))
    if (steps <= 0.0).any():
        k = int(np.argmax(steps <= 0.0))
        raise InputError(f"{called}: times must rise, {t[k]:g} s is followed by {t[k + 1]:g} s")
    uneven = np.abs(steps - step) > _UNEVEN * step
    if uneven.any():
        k = int(np.argmax(uneven))
        raise InputError(
            f"{called}: samples are {step:g} s apart, but {steps[k]:g} s after {t[k]:g} s: frames are missing or times "
            "are irregular; interpolate to even times first"
        )
    rate = 1.0 / float(np.mean(steps))
    if rate < LOWEST_RATE * (1.0 - 1e-3):
        raise InputError(
            f"{called}: {rate:.3g} samples a second are too few: forces are second derivatives, and need "
            f"{LOWEST_RATE:g} Hz or more"
        )
    return rate


def check_gaps(values: Mapping[str, Array], t: Array, called: str) -> None:
    """Refuse columns with numbers that are not finite: name the first gap."""
    for name, column in values.items():
        lost = ~np.isfinite(column)
        if lost.any():
            first = int(np.argmax(lost))
            length = int(np.argmin(lost[first:])) if not lost[first:].all() else len(lost) - first
            raise InputError(
                f"{called}: column {name!r} has no value in {length} samples from {t[first]:g} s on "
                f"({int(lost.sum())} in all); fill or cut out gaps first"
            )


def check_columns(names: Sequence[str], needed: Sequence[str], called: str, hint: str) -> None:
    """Refuse tables in which needed columns are missing; likely ones are proposed."""
    missing = [name for name in needed if name not in names]
    if missing:
        others = [name for name in names if name not in needed]
        meant = {name: closest(name, others) for name in missing}
        shown = ", ".join(f"{name!r}" + (f" (is it {meant[name]!r}?)" if meant[name] else "") for name in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise InputError(f"{called}: columns are missing: {shown}{more}. {hint}")


def check_units(place: Array, hip_height: float, columns: Columns, called: str) -> None:
    """Refuse positions of the pelvis in millimetres or with another axis upwards; (n, 3) as the columns give them."""
    up = 1 if columns.pelvis_up == "y" else 2
    middle = np.median(place, axis=0)
    reach = float(np.abs(middle).max())
    for unit, factor in (("millimetres", 1000.0), ("centimetres", 100.0)):
        if 0.3 * factor * hip_height < reach and np.abs(middle[up]) > 0.3 * factor * hip_height:
            raise InputError(
                f"{called}: the pelvis is {middle[up]:.4g} m above the ground, which looks like {unit}; divide "
                f"positions by {factor:g}"
            )
    if abs(middle[up]) < 0.3 * hip_height:
        other = 3 - up  # y for z and z for y
        if 0.5 * hip_height < middle[other] < 1.6 * hip_height:
            letters = "xyz"
            raise InputError(
                f"{called}: {letters[up]} is said to point up, but the pelvis is at {letters[up]} = {middle[up]:.3g} m "
                f"and {letters[other]} = {middle[other]:.3g} m: {letters[other]} seems to point up; take columns with "
                f"pelvis_up={letters[other]!r}"
            )


def check_angles(
    raw: Mapping[str, Array], angles: Mapping[str, Array], place: Array, degrees: bool, called: str
) -> None:
    """Refuse angles in another unit than the one that is said, and knees that bend the wrong way.

    ``raw``: columns of the joints as they are in the table; ``angles``: joints' angles in our signs (rad); ``place``:
    the pelvis (m), (n, 3).
    """
    legs = {name: x for name, x in angles.items() if name.endswith(_LEGS)}
    if not legs:
        return
    largest = max(float(np.abs(x).max()) for x in raw.values())
    moved = float(np.ptp(place, axis=0).max())
    span = max(float(np.ptp(x)) for x in legs.values())
    if degrees and largest < 3.2 and moved > 0.1 and span < np.radians(3.2):
        raise InputError(
            f"{called}: the pelvis moves by {moved:.2g} m while no angle exceeds {largest:.2g} degrees: they look like "
            "radians marked as degrees; say degrees=False"
        )
    if not degrees and largest > 2.0 * np.pi:
        raise InputError(
            f"{called}: an angle is {largest:.4g} rad, more than a turn: they look like degrees; say degrees=True"
        )
    for name, x in legs.items():
        if name.endswith("knee_flexion") and np.median(x) < np.radians(-5.0):
            raise InputError(
                f"{called}: joint {name!r} is at {np.degrees(np.median(x)):.0f} degrees in the middle: knees bend to "
                "positive angles; in gait2392 they are negative: columns=gait.GAIT2392, or a factor of -1"
            )

"""Which foot stands when, found from the motion of the soles.

A point of the sole (heel, ball, tip) stands where it is low and slow; a foot stands where one of its points does. Gaps
and contacts that are too short to be real are closed and dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import number, told
from neuler.moments.clearance import HalfSpace

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Thresholds:
    """When a foot stands: points lower than ``height`` (m) and slower than ``speed`` (m/s), for ``duration`` (s).

    Feet land faster than they leave: their tips, which leave last, stand while slower than ``leaving`` (m/s).
    """

    height: float = 0.03
    speed: float = 0.55
    duration: float = 0.05
    leaving: float = 0.35

    def __post_init__(self) -> None:
        number("gait: thresholds: height", self.height, above=0.0, unit="m")
        number("gait: thresholds: speed", self.speed, above=0.0, unit="m/s")
        number("gait: thresholds: duration", self.duration, least=0.0, unit="s")
        number("gait: thresholds: leaving", self.leaving, above=0.0, unit="m/s")


def find_stance(points: Array, speeds: Array, step: float, ground: HalfSpace, limits: Thresholds) -> Flags:
    """Whether feet stand, (..., n, feet), from places and velocities of the soles, (..., n, feet, 3 points, 3).

    ``step`` (s) is the time between samples.
    """
    height = (points - np.array(ground.point)) @ np.array(ground.normal)
    slow = np.linalg.norm(speeds, axis=-1) < [limits.speed, limits.speed, min(limits.speed, limits.leaving)]
    raw = ((height < limits.height) & slow).any(axis=-1)
    size = round(limits.duration / step)
    return _opened(_closed(raw, size), size)


def _closed(flags: Flags, size: int) -> Flags:
    """Without gaps of at most ``size`` samples along n, of flags (..., n, feet); a gap at an end stays."""
    count = flags.shape[-2]
    number = np.arange(count)[:, None]
    last = np.maximum.accumulate(np.where(flags, number, -2 * count), axis=-2)
    following = np.minimum.accumulate(np.where(flags, number, 3 * count)[..., ::-1, :], axis=-2)[..., ::-1, :]
    return np.asarray(flags | (following - last <= size + 1))


def _opened(flags: Flags, size: int) -> Flags:
    """Without contacts of at most ``size`` samples inside the series."""
    return np.asarray(~_closed(~flags, size))


def given_stance(given: Any, names: tuple[str, ...], shape: tuple[int, ...]) -> Flags:
    """Whether feet stand, as a user says: an array (..., n, feet), or arrays (..., n) by the names of the feet."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown or len(given) != len(names):
            raise InputError(f"gait: touching must have the feet {', '.join(names)}, got {', '.join(map(str, given))}")
        given = np.stack(np.broadcast_arrays(*(np.asarray(given[name]) for name in names)), axis=-1)
    found = np.asarray(given)
    if found.dtype != bool:
        raise InputError(f"gait: touching must be true or false for every sample, got {told(given)}")
    try:
        return np.broadcast_to(found, (*shape, len(names)))
    except ValueError:
        raise InputError(
            f"gait: touching must have a value for each sample and foot, {(*shape, len(names))}, got {found.shape}"
        ) from None


def never(touching: Flags, points: Array, speeds: Array, ground: HalfSpace, limits: Thresholds, called: str) -> None:
    """Refuse motions in which no foot ever stands; the message says how near they come to it."""
    if touching.any(axis=(-1, -2)).all():
        return
    height = (points - np.array(ground.point)) @ np.array(ground.normal)
    lost = ~touching.any(axis=(-1, -2))
    which = f" in trial {int(np.argmax(lost))} ({int(lost.sum())} of {lost.size})" if lost.ndim else ""
    low = float(height[lost].min() if lost.ndim else height.min())
    slow = float(np.linalg.norm(speeds[lost] if lost.ndim else speeds, axis=-1).min())
    raise InputError(
        f"{called}: the feet never touch the ground{which}: the lowest point of a sole is at {low:.3f} m, the slowest "
        f"moves at {slow:.2f} m/s; contact is below {limits.height:g} m and {limits.speed:g} m/s. Check the height of "
        "the pelvis and the segment lengths of the person; floor='found' takes the lowest soles as the ground, "
        "thresholds=gait.Thresholds(...) sets other limits, touching=... says when feet stand"
    )

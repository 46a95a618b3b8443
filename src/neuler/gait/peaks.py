"""Features of curves over a stride: peaks, the valley between them, changes of sign."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Peak(NamedTuple):
    """A place on a curve."""

    percent: float
    """Share of the stride since the heel strike, in percent."""
    value: float


def peaks(percent: Array, curve: Array, prominence: float) -> tuple[Peak, ...]:
    """Peaks of a curve (n,) in their order, those that rise by ``prominence`` or more above both sides.

    The prominence of a peak is its height above the higher one of two minima: those between it and the next higher
    point of the curve to the left and to the right, or the end of the curve. A small kink on a slope has little.

    >>> place = np.arange(9.0)
    >>> peaks(place, np.array([0, 1.0, 0.98, 1.1, 0.7, 0.9, 1.05, 0.2, 0]), 0.05)
    (Peak(percent=3.0, value=1.1), Peak(percent=6.0, value=1.05))
    """
    found = []
    for k in range(1, len(curve) - 1):
        top = curve[k]
        after = curve[k + 1 :]
        level = int(np.argmax(after != top)) if (after != top).any() else 0
        if not (curve[k - 1] < top and after[level] < top):
            continue
        higher = np.flatnonzero(curve > top)
        left = higher[higher < k].max(initial=-1) + 1
        right = higher[higher > k].min(initial=len(curve))
        if top - max(curve[left : k + 1].min(), curve[k:right].min()) >= prominence:
            found.append(Peak(float(percent[k]), float(top)))
    return tuple(found)


def valley(percent: Array, curve: Array, tops: tuple[Peak, ...], middle: float) -> Peak | None:
    """The lowest point between the highest peaks before and after ``middle`` (percent); None where one is missing.

    >>> place, curve = np.arange(5.0), np.array([0.0, 1.0, 0.7, 1.1, 0.0])
    >>> valley(place, curve, peaks(place, curve, 0.05), 2.0)
    Peak(percent=2.0, value=0.7)
    """
    sides = [top for top in tops if top.percent <= middle], [top for top in tops if top.percent > middle]
    if not all(sides):
        return None
    first, last = (max(side, key=lambda top: top.value).percent for side in sides)
    inside = np.flatnonzero((percent >= first) & (percent <= last))
    k = inside[np.argmin(curve[inside])]
    return Peak(float(percent[k]), float(curve[k]))


def rises(percent: Array, curve: Array, threshold: float) -> tuple[float, ...]:
    """Percents at which a curve changes from below ``-threshold`` to above ``threshold``, where it crosses zero last.

    Crossings of zero that stay within the threshold do not count.

    >>> rises(np.arange(6.0), np.array([0.0, -1.0, 0.01, -0.01, 1.0, 0.0]), 0.1)
    (3.0,)
    """
    found, below = [], False
    for k, value in enumerate(curve):
        if value < -threshold:
            below = True
        elif value > threshold and below:
            found.append(float(percent[np.flatnonzero(curve[:k] < 0.0)[-1]]))
            below = False
    return tuple(found)

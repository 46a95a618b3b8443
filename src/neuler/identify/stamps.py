"""Times of a log: whether samples are missing, whether a clock rounded them, and arrays at even times.

A stamp that comes late, because a computer was busy, is followed by a short step: the stamps after it are where those
before it lead one to expect them. After a sample that is missing, all are a whole step later.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require
from neuler.robot import Robot

Array = NDArray[np.float64]

_JITTER = 0.01
"""Share of a step beyond which times count as uneven."""
_LONG, _SHIFT = 1.5, 0.5
"""Steps so many times the usual one may hide a missing sample; by so many steps later ones are shifted then."""
_BESIDE = 16
"""Stamps on either side of a long step whose means tell whether it shifts those that follow."""
_FEW, _ROUNDED = 3, 1.1
"""Different steps that rounding makes at most, and one more for the drift of a clock; and units of the clock within
which the distances of such stamps from even times are: one, and a little for the line that is laid through them."""
_SLOWEST, _CREEPS, _USUAL = 2.0, 0.02, 1.0
"""Hz below which a log is of no robot in motion, if no joint is as fast as this (rad/s or m/s): inertias do not show
then. Of units, the one is meant in which the fastest joint is nearest to the usual speed."""
_UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def too_slow(robot: Robot, t: Array, q: Array) -> list[str]:
    """What to say of times that are hardly seconds: a low rate, and joints that creep.

    >>> import neuler
    >>> t = np.arange(200) / 100.0
    >>> q, arm = np.stack([np.sin(t), np.cos(t)], -1), neuler.robots.two_link()
    >>> too_slow(arm, t, q), too_slow(arm, 1e3 * t, q)[0][-57:]
    ([], "read them with units={'t': 'ms'}, or say units={'t': 's'}")
    """
    rate = (len(t) - 1) / float(t[-1] - t[0])
    if rate >= _SLOWEST:
        return []
    speeds = np.quantile(np.abs(np.diff(q, axis=0)) / np.diff(t)[:, None], 0.99, axis=0)
    fastest = float(speeds[[bool(unit) for unit in robot.coordinates.units("q")]].max(initial=0.0))
    if not 0.0 < fastest < _CREEPS:
        return []
    unit = min(_UNITS, key=lambda each: abs(np.log(fastest / _UNITS[each] / _USUAL)))
    return [
        f"column 't' has a row every {1.0 / rate:.4g} s, and no joint is faster than {fastest:.2g} rad/s (or m/s): "
        f"times look like {unit}, {rate / _UNITS[unit]:.4g} rows a second, read as seconds; read them with "
        f"units={{'t': '{unit}'}}, or say units={{'t': 's'}}"
    ]


def gaps(t: Array) -> NDArray[np.bool_]:
    """After which of the rows but the last samples are missing, (n - 1,).

    >>> t = np.arange(40.0)
    >>> np.flatnonzero(gaps(np.delete(t, 20))).tolist(), np.flatnonzero(gaps(np.where(t == 20.0, 20.8, t))).tolist()
    ([19], [])
    """
    steps = np.diff(t)
    step = float(np.median(steps))
    found = steps > _LONG * step
    for k in np.flatnonzero(found & (steps < (_LONG + 1.0) * step)).tolist():
        before, after = t[max(k + 1 - _BESIDE, 0) : k + 1], t[k + 1 : k + 1 + _BESIDE]
        expected = float((before + step * np.arange(len(before), 0, -1)).mean())
        found[k] = float((after - step * np.arange(len(after))).mean()) - expected > _SHIFT * step
    return found


def uneven(t: Array) -> float:
    """The largest deviation of a step of time from its median, as a share of it; zero where it is below 1 %."""
    steps = np.diff(t)
    found = float(np.abs(steps / np.median(steps) - 1.0).max())
    return found if found > _JITTER else 0.0


def clock(t: Array) -> float:
    """The unit (s) to which a clock rounded even times; zero where it did not.

    >>> t = np.arange(200) / 300.0
    >>> clock(np.round(t, 3)), clock(t), clock(t + 1e-3 * np.random.default_rng(0).uniform(-1, 1, 200))
    (0.001, 0.0, 0.0)
    """
    steps = np.diff(t)
    different = np.sort(steps)
    apart = 1e-6 * float(np.median(steps))
    different = different[np.concatenate([[True], np.diff(different) > apart])]
    if not 2 <= len(different) <= _FEW:
        return 0.0
    unit = float(np.diff(different).min())
    counts = different / unit
    even = np.polynomial.Polynomial.fit(np.arange(len(t)), t, 1)(np.arange(len(t)))
    whole = bool((np.abs(counts - np.round(counts)) < 1e-3).all())
    return float(f"{unit:.6g}") if whole and np.ptp(t - even) < _ROUNDED * unit else 0.0


def even(t: Array, arrays: Mapping[str, Array], notes: list[str]) -> tuple[Array, dict[str, Array]]:
    """Even times, and the arrays at them: as measured, or by cubic interpolation where times are uneven."""
    times = np.linspace(t[0], t[-1], len(t))
    jitter = uneven(t)
    if not jitter:
        return times, dict(arrays)
    if unit := clock(t):
        notes.append(
            f"times are those of even samples, rounded to {unit:.3g} s: they were taken to be even, at "
            f"{(len(t) - 1) / (t[-1] - t[0]):.6g} Hz"
        )
        return times, dict(arrays)
    require("scipy", "logs with uneven times need SciPy", "control")
    from scipy.interpolate import CubicSpline

    notes.append(
        f"times are uneven, by up to {jitter:.0%} of a step: all columns were interpolated to {len(t)} even times"
    )
    return times, {key: np.asarray(CubicSpline(t, values, axis=0)(times)) for key, values in arrays.items()}

"""Smoothing and differentiation of measured series.

Two derivatives multiply noise by the square of its frequency. Series are therefore smoothed by a Butterworth low-pass
filter that runs forwards and backwards, so that nothing is delayed, and differentiated as quintic splines through the
smoothed samples: central differences would lose 2 % of a velocity of 6 Hz at 100 Hz, splines lose nothing there.

The cut-off frequency of a series is lowered where it has nothing to say below the given one (:func:`cutoffs`): many of
a skeleton's angles hardly move, and the acceleration of the trunk is spoiled by the noise of all that carry it.

Where pelvis and spine, or hip and knee, move against each other, their fast motions nearly cancel in the force of the
ground. Filters of single coordinates, of different cut-offs above all, spoil that. Therefore the path of the centre of
mass is computed before anything is filtered, and has a filter of its own (``Measured.smooth``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.extras import require
from neuler.inputs import number, whole

Array = NDArray[np.float64]
CUTOFF, LIMBS, ORDER = 6.0, 5.0 / 6.0, 6
"""Cut-off frequency (Hz) of the centre of mass, that of coordinates as a multiple of it, and the order of both passes
together, by default."""
SHARP = 1.4
"""The cut-off of coordinates for contact and shares of the feet, as a multiple of the other one: loads pass from foot
to foot in about 0.1 s, and what is lost there costs more than noise does."""
LOWEST, STEP = 1.0, 0.5
"""The lowest cut-off frequency that is chosen, and the steps from there (Hz)."""
CLEAR = 20.0
"""How many times the noise's power a frequency must have to count as motion: of noise alone 1 in 100 000 has."""
_PADDING = 0.5
"""Seconds by which series are continued at both ends, point-symmetric about the end, while they are filtered."""
_QUIET = 0.6
"""Share of the highest frequency above which a series is taken to be noise."""
_MEDIAN = 0.4549
"""Median of the square of a normal variable, as a share of its mean."""


def smoothed(
    values: Array, rate: float, cutoff: Any = CUTOFF, order: int = ORDER, *, adaptive: bool = False
) -> tuple[Array, Array]:
    """Series (..., n, columns) after a zero-phase Butterworth low-pass filter along n, and the cut-offs that were used.

    ``rate`` (Hz) of the samples; ``cutoff`` (Hz) where both passes together halve the power, one number or one for
    each column; ``order`` of both passes together, even. ``adaptive``: :func:`cutoffs` lowers the cut-off.

    >>> t = np.arange(0.0, 4.0, 0.01)
    >>> slow, fast = np.sin(2 * np.pi * t), np.sin(2 * np.pi * 30 * t)
    >>> found, _ = smoothed((slow + 0.1 * fast)[:, None], 100.0)
    >>> bool(np.abs(found[:, 0] - slow)[50:-50].max() < 2e-3)
    True
    """
    highest = np.broadcast_to(np.asarray(cutoff, dtype=float), values.shape[-1:])
    for each in highest:
        number("gait: cutoff", float(each), above=0.0, unit="Hz")
        if each >= 0.4 * rate:
            raise InputError(
                f"gait: cutoff is {each:g} Hz and the rate {rate:g} Hz; it must be below 0.4 of the rate; "
                "cutoff=None does not filter"
            )
    whole("gait: order", order, 2, 16)
    if order % 2:
        raise InputError(f"gait: order must be even, because the filter runs forwards and backwards, got {order}")
    require("scipy", "gait: filtering needs SciPy", "control")
    columns = np.moveaxis(values, -2, -1)  # (..., columns, n)
    chosen = np.broadcast_to(highest, columns.shape[:-1]).copy()
    if adaptive:
        chosen = np.minimum(chosen, cutoffs(columns, rate, order, float(highest.max())))
    found = np.empty_like(columns)
    for each in np.unique(chosen):
        found[chosen == each] = _filtered(columns[chosen == each], rate, float(each), order)
    return np.moveaxis(found, -1, -2), chosen


def _filtered(series: Array, rate: float, cutoff: float, order: int) -> Array:
    """Series (k, n), filtered twice."""
    from scipy.signal import butter, sosfiltfilt

    half = order // 2
    # Two passes halve the power at a lower frequency than one does; the ratio is exact in the filter's own (bilinear)
    # frequency, tan(pi f / rate).
    once = math.tan(math.pi * cutoff / rate) / (math.sqrt(2.0) - 1.0) ** (0.5 / half)
    sections = butter(half, 2.0 * math.atan(once) / math.pi, output="sos")
    pad = min(round(_PADDING * rate), series.shape[-1] - 1)
    return np.asarray(sosfiltfilt(sections, series, axis=-1, padtype="odd", padlen=pad))


def cutoffs(series: Array, rate: float, order: int, highest: float) -> Array:
    """Cut-off frequencies (...) for series (..., n) with the least error of acceleration that is to be expected.

    The power N of white noise is the median above 0.6 of the highest frequency. Of the powers Y at all frequencies f
    those above 20 N count as motion, S = Y - N. A filter H(f) then has the error sum f^4 ((1 - H)^2 S + H^2 N): what it
    takes from the motion and what it leaves of the noise. Cut-offs from 1 Hz to ``highest`` are tried in steps of
    0.5 Hz. Powers are those of a sine transform of the series less the line between its ends: of the series as it is
    continued for the filter, without a jump of value or slope.
    """
    from scipy.fft import dst

    count = series.shape[-1]
    line = np.linspace(0.0, 1.0, count)
    flat = series - series[..., :1] - (series[..., -1:] - series[..., :1]) * line
    power = np.asarray(dst(flat[..., 1:-1], type=1, axis=-1, norm="ortho")) ** 2
    f = np.arange(1, count - 1) * rate / (2 * (count - 1))
    noise = np.median(power[..., f > _QUIET * rate / 2], axis=-1, keepdims=True) / _MEDIAN
    motion = np.where((power > CLEAR * noise) & (f < 0.4 * rate), power - noise, 0.0)
    tried = np.arange(LOWEST, highest + STEP, STEP)
    passed = 1.0 / (1.0 + (math.sqrt(2.0) - 1.0) * (f / tried[:, None]) ** order)
    lost, left = f**4 * (1.0 - passed) ** 2, (f**4 * passed**2).sum(axis=-1)
    error = motion @ lost.T + noise * left
    return np.asarray(tried[np.argmin(error, axis=-1)])


def differentiated(t: Array, values: Array) -> tuple[Array, Array]:
    """First and second derivatives of series (..., n, columns) at times t (n,), those of quintic splines through them.

    >>> t = np.linspace(0.0, 1.0, 101)
    >>> rate, acceleration = differentiated(t, np.sin(6.0 * t)[:, None])
    >>> bool(np.abs(acceleration[:, 0] + 36.0 * np.sin(6.0 * t)).max() < 1e-3)
    True
    """
    require("scipy", "gait: differentiation needs SciPy", "control")
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(t, values, k=5, axis=-2)
    return np.asarray(spline(t, 1)), np.asarray(spline(t, 2))

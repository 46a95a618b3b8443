"""Smoothing and differentiation of measured series.

Two derivatives multiply noise by the square of its frequency. Series are therefore smoothed by a low-pass filter with
the response of a Butterworth filter that runs forwards and backwards, so that nothing is delayed, and differentiated as
quintic splines through the smoothed samples: central differences would lose 2 % of a velocity of 6 Hz at 100 Hz,
splines lose nothing there.

Below the cut-off frequency of the filter, frequencies at which a series has hardly more power than its noise are
weakened, too: many of a skeleton's angles hardly move, the acceleration of the trunk is spoiled by the
noise of all that carry it, and what people repeat, as strides, has power at few frequencies only.

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
CLEAR = 8.0
"""Frequencies with less than so many times the noise's power are removed: of noise alone one in 200 has more."""
SHARP, FAINT = 1.3, 5.0
"""The cut-off of coordinates for contact and shares of the feet, as a multiple of the other one, and what stands there
in the place of ``CLEAR``: loads pass from foot to foot in about 0.1 s, and what is lost there costs more than noise."""
LOWEST = 1.5
"""Frequency (Hz) below which nothing is weakened."""
_QUIET = 0.6
"""Share of the highest frequency above which a series is taken to be noise."""
_MEDIAN = 0.4549
"""Median of the square of a normal variable, as a share of its mean."""


def smoothed(
    values: Array, rate: float, cutoff: Any = CUTOFF, order: int = ORDER, *, clear: float | None = None
) -> Array:
    """Series (..., n, columns) after a zero-phase low-pass filter along n.

    ``rate`` (Hz) of the samples; ``cutoff`` (Hz) where the power is halved, one number or one for each column. The
    filter has the response of two passes of a Butterworth filter, 1 / (1 + (sqrt(2) - 1) (f / cutoff)^order), with the
    ``order`` of both together, even. ``clear`` also weakens frequencies without so many times the power of the noise:
    see :func:`gains`. Series are continued at both ends, point-symmetric about the end: filters act on the sine
    transform of the series less the line between its ends, which has neither a jump nor a change of slope.

    >>> t = np.arange(0.0, 4.0, 0.01)
    >>> slow, fast = np.sin(2 * np.pi * t), np.sin(2 * np.pi * 30 * t)
    >>> found = smoothed((slow + 0.1 * fast)[:, None], 100.0)
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
    from scipy.fft import dst, idst

    series = np.moveaxis(values, -2, -1)  # (..., columns, n)
    count = series.shape[-1]
    f = np.arange(1, count - 1) * rate / (2 * (count - 1))
    line = series[..., :1] + (series[..., -1:] - series[..., :1]) * np.linspace(0.0, 1.0, count)
    waves = np.asarray(dst((series - line)[..., 1:-1], type=1, axis=-1, norm="ortho"))
    passed = 1.0 / (1.0 + (math.sqrt(2.0) - 1.0) * (f / highest[:, None]) ** order)
    if clear is not None:
        passed = passed * gains(waves**2, f, clear)
    line[..., 1:-1] += np.asarray(idst(passed * waves, type=1, axis=-1, norm="ortho"))
    return np.moveaxis(line, -1, -2)


def gains(power: Array, f: Array, clear: float) -> Array:
    """What to keep of the frequencies ``f`` (Hz) of series with these powers, (..., frequencies).

    A Wiener filter keeps S / (S + N) of motion with the power S under noise with the power N. Of white noise N is the
    median above 0.6 of the highest frequency. One sample of a power is a poor measure of S + N, and noise that stays
    costs acceleration more than motion that goes; so ``clear`` times as much is subtracted: 1 - clear N / power, or
    zero.
    """
    noise = np.median(power[..., f > _QUIET * f[-1]], axis=-1, keepdims=True) / _MEDIAN
    kept = np.clip(1.0 - clear * noise / np.maximum(power, np.finfo(float).tiny), 0.0, 1.0)
    return np.where(f < LOWEST, 1.0, kept)

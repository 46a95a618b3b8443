"""Filters of measured series: outliers, low-pass filters without delay, their cut-off from the data, noise.

Two derivatives multiply noise by the square of its frequency, so that positions are smoothed before they are
differentiated. All filters act along the first axis of (n, ...), and all but the repair of outliers are linear.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require
from neuler.motions.differentiated import differentiated

Array = NDArray[np.float64]

HIGHEST = 0.4
"""Share of the sampling rate that a cut-off may have."""
SHARE = 0.1
"""Share of a log, at each end, that the transient of a filter whose cut-off is chosen may take."""
_SETTLED = math.log(100.0)
"""Time constants after which 1 % of a transient is left."""
_CLEAR = 10.0
"""Frequencies with so many times the noise's power belong to the motion."""
_GAP = 3.0
"""A frequency so many times as high as all others that are clear is no part of the motion: a mains hum, a resonance."""
_MOVES = 1e3
"""A column with no frequency of so many times the noise's power stands still."""
_QUIET = 0.6
"""Share of the highest frequency above which a series is taken to be noise."""
_BAND, _ABOVE_NOISE = 1.5, 3.0
"""Motion ends where the mean power of the frequencies down to f / 1.5 is no longer so many times the noise's: rounded
positions have single lines that are far stronger than the noise, up to the highest frequency."""
_BETA = 20.0
"""Of the Kaiser window, whose side lobes are then below 1e-15 in power: noise of 1e-5 rad shows beside swings of 1."""
_OUTSIDE, _ABOVE = 8.0, 5.0
"""An outlier is so many times the usual distance from the median of five, and so many times their own spread."""
_SORTED = ((0, 1), (3, 4), (2, 4), (2, 3), (1, 4), (0, 3), (0, 2), (1, 3), (1, 2))
"""Pairs of five that are put in order, one after the other: then all are."""
_TURNS = 0.25
"""Share of the rows of a joint that may be left out for being near where it turns round."""


# ---- outliers -------------------------------------------------------------------------------------------------------


def repaired(values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Series (n, columns) whose outliers are interpolated between their neighbours, and which samples these were.

    A sample is an outlier where it is further from the median of itself and its four neighbours than eight times the
    usual distance, or the noise that third differences show, and than five times the spread of the three of them that
    agree best. One or two bad samples in a row are found.

    >>> series = np.sin(np.arange(50) / 10)[:, None]
    >>> series[20] = 9.0
    >>> found, where = repaired(series)
    >>> np.argwhere(where).tolist(), bool(abs(found[20, 0] - np.sin(2.0)) < 0.01)
    ([[20, 0]], True)
    """
    if len(values) < 5:
        return values.copy(), np.zeros(values.shape, bool)
    padded = np.concatenate([values[:1], values[:1], values, values[-1:], values[-1:]])
    five = [padded[k : len(values) + k] for k in range(5)]
    for a, b in _SORTED:
        five[a], five[b] = np.minimum(five[a], five[b]), np.maximum(five[a], five[b])
    middle = five[2]
    spread = np.minimum(middle - five[0], five[4] - middle)
    away = np.abs(values - middle)
    third = np.abs(np.diff(values, 3, axis=0)) / math.sqrt(20.0)
    usual = np.maximum(_deviation(away), _deviation(third))
    least = 1e-9 * (np.abs(values).max(axis=0) + np.finfo(float).tiny)
    where = away > np.maximum(np.maximum(_OUTSIDE * usual, _ABOVE * spread), least)
    where[:2], where[-2:] = False, False  # beyond the ends there is nothing to compare with
    found, rows = values.copy(), np.arange(len(values))
    for k in np.flatnonzero(where.any(axis=0)):
        good = ~where[:, k]
        found[~good, k] = np.interp(rows[~good], rows[good], values[good, k])
    return found, where


def _deviation(sizes: Array) -> Array:
    """The standard deviation of normal noise, from the sizes that 50 % and 90 % of it do not exceed: the larger."""
    half, most = np.quantile(sizes, [0.5, 0.9], axis=0)
    return np.maximum(half / 0.6745, most / 1.645)


# ---- low-pass filters -----------------------------------------------------------------------------------------------


def transient(cutoff: float, order: int) -> float:
    """Seconds after which 1 % is left of what an end of a series does to a Butterworth filter.

    >>> round(transient(5.0, 4), 3)
    0.383
    """
    return _SETTLED / (2.0 * math.pi * cutoff * math.sin(math.pi / (2 * order)))


def lowpass(values: Array, rate: float, cutoff: float, order: int) -> Array:
    """Series (n, ...) after a Butterworth filter of ``order`` forwards and backwards: no delay, half at the cut-off.

    Its response is 1 / (1 + (f / cutoff)^(2 order)), nearly; ``cutoff`` (Hz), infinite for no filter. At the ends
    series are continued point-symmetrically.

    >>> t = np.arange(0.0, 4.0, 0.01)
    >>> waves = [lowpass(np.sin(2 * np.pi * f * t), 100.0, 5.0, 4) for f in (1.0, 5.0, 20.0)]
    >>> [round(float(np.abs(wave[100:300]).max()), 2) for wave in waves]
    [1.0, 0.5, 0.0]
    """
    if math.isinf(cutoff) or not values.size:
        return values
    require("scipy", "filters of logs need SciPy", "control")
    from scipy.signal import butter, sosfiltfilt

    sections = butter(order, cutoff, fs=rate, output="sos")
    padding = min(len(values) - 1, max(3 * (order + 1), math.ceil(transient(cutoff, order) * rate)))
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=padding))


class Smooth(NamedTuple):
    """A series after a low-pass filter, with its first and second derivatives, each (n, columns)."""

    values: Array
    rate: Array
    acceleration: Array


def smoothed(t: Array, values: Array, cutoff: float, order: int, method: str) -> Smooth:
    """Series (n, columns) at even times, smoothed, and their derivatives.

    "butterworth": :func:`lowpass`, and derivatives of quintic splines through the result. "spline": the quintic spline
    that is nearest to all samples, with knots half a period of ``cutoff`` apart.
    """
    if method == "butterworth" or math.isinf(cutoff):
        found = lowpass(values, (len(t) - 1) / float(t[-1] - t[0]), cutoff, order)
        return Smooth(found, *differentiated(t, found))
    require("scipy", "splines of logs need SciPy", "control")
    from scipy.interpolate import make_lsq_spline

    spans = max(1, min(round(float(t[-1] - t[0]) * 2.0 * cutoff), len(t) - 6))
    knots = np.concatenate([[t[0]] * 5, np.linspace(t[0], t[-1], spans + 1), [t[-1]] * 5])
    spline = make_lsq_spline(t, values, knots, k=5, axis=0)
    return Smooth(*(np.asarray(spline(t, order)) for order in range(3)))


# ---- what the data say --------------------------------------------------------------------------------------------


class Spectrum(NamedTuple):
    """Powers at frequencies f (Hz): of the motion, (frequencies, columns), and of the noise, (columns,)."""

    f: Array
    motion: Array
    noise: Array
    clear: Array
    """Of every column the highest frequency (Hz) at which there is motion; NaN where there is none."""


def spectrum(values: Array, rate: float) -> Spectrum:
    """Motion and noise in series (n, columns).

    Powers are those of the series less its line, under a Kaiser window, averaged over five frequencies. Noise is taken
    to be white, as strong as what is above 0.6 of the highest frequency: of rounded positions the median alone would
    miss the lines. Motion is where the power is ten times the noise's, as far as the mean from f / 1.5 to f is three
    times the noise's, but for frequencies three times as high as all others.
    """
    count = len(values)
    line, level = np.linspace(-0.5, 0.5, count)[:, None], values - values.mean(axis=0)
    level = level - line * (line.T @ level) / float((line**2).sum())
    power = np.abs(np.fft.rfft(level * np.kaiser(count, _BETA)[:, None], axis=0)) ** 2
    f = np.fft.rfftfreq(count, 1.0 / rate)
    high = power[f > _QUIET * f[-1]]
    floor = np.maximum(np.median(high, axis=0) / math.log(2.0), high.mean(axis=0))
    noise = np.maximum(floor, 1e-28 * power.max(axis=0))
    mean = np.stack([np.convolve(column, np.ones(5) / 5.0, "same") for column in power.T], axis=-1)
    clear = (mean > _CLEAR * noise) & (f > 0.0)[:, None]
    above = _around(power) > _ABOVE_NOISE * noise
    motion, highest = np.zeros_like(mean), np.full(values.shape[1], np.nan)
    for k in range(values.shape[1]):
        if not above[:, k].any():
            continue
        at = np.flatnonzero(clear[: np.flatnonzero(above[:, k])[-1] + 1, k])
        if len(at):
            jumps = np.flatnonzero((f[at[1:]] > _GAP * f[at[:-1]]) & (f[at[:-1]] > 20.0 * rate / count))
            at = at[: jumps[0] + 1] if len(jumps) else at
            highest[k] = f[at[-1]]
            motion[at, k] = mean[at, k] - noise[k]
    return Spectrum(np.asarray(f, dtype=np.float64), motion, noise, highest)


def _around(power: Array) -> Array:
    """The mean of powers (frequencies, columns) from f / 1.5 to f."""
    total = np.concatenate([np.zeros((1, power.shape[1])), np.cumsum(power, axis=0)])
    last = np.arange(len(power))
    first = np.floor(last / _BAND).astype(int)
    return np.asarray((total[last + 1] - total[first]) / (last + 1 - first)[:, None])


def chosen_cutoff(values: Array, rate: float, order: int) -> tuple[float, dict[str, Any]]:
    """The cut-off frequency (Hz) at which filtered accelerations of positions (n, columns) are expected to be best.

    What a filter H takes from the motion S, and what it leaves of the noise N, in accelerations: the sum over
    frequencies of (2 pi f)^4 ((1 - H)^2 S + H^2 N). Columns count alike, each relative to the power of its own
    acceleration; one without motion does not count. At most 0.4 of the sampling rate, and at least so high that the
    filter's transient takes a tenth of the series at each end. Also how it came about, for settings.
    """
    f, motion, noise, clear = spectrum(values, rate)
    lower, upper = transient(1.0, order) * rate / (SHARE * len(values)), HIGHEST * rate
    moves = np.isfinite(clear) & (motion.max(axis=0) > _MOVES * noise)
    cutoff, bound = lower, "the filter's transient"
    if moves.any() and lower < upper:
        fourth = (2.0 * math.pi * f) ** 4
        whole = fourth @ motion[:, moves]
        lost, left = fourth * (motion[:, moves] @ (1.0 / whole)), fourth * float((noise[moves] / whole).sum())
        grid = np.geomspace(lower, upper, 100)
        errors = []
        for each in grid:
            passed = 1.0 / (1.0 + ((f / each) ** 2) ** order)
            errors.append(float(((1.0 - passed) ** 2) @ lost + (passed**2) @ left))
        best = int(np.argmin(errors))
        cutoff = float(grid[best])
        bound = {0: bound, len(grid) - 1: "the sampling rate"}.get(best, "")
    return min(cutoff, upper), {
        "clear_frequencies": [None if np.isnan(each) else round(float(each), 4) for each in clear],
        "bounded_by": bound or None,
    }


def noise_of(values: Array, smooth: Array, rate: float, cutoff: float) -> Array:
    """Standard deviation of white noise in every column, (columns,), from what the filter has removed.

    The filter removes the noise above the cut-off; the rest is taken to be as strong.
    """
    if math.isinf(cutoff):
        return np.zeros(values.shape[1])
    removed = np.median(np.abs(values - smooth), axis=0) / 0.6745
    return np.asarray(removed / math.sqrt(max(1.0 - 2.0 * cutoff / rate, 0.1)))


def rate_noise(noise: Array, rate: float, cutoff: float) -> Array:
    """Standard deviation of the first derivative of smoothed positions with so much white noise, below the cut-off.

    White noise of variance s^2 has the density 2 s^2 / rate up to rate / 2; (2 pi f)^2 times it, up to the cut-off.
    """
    top = min(cutoff, 0.5 * rate)
    return np.asarray(noise * 2.0 * math.pi * math.sqrt(2.0 * top**3 / (3.0 * rate)))


# ---- where friction is known ----------------------------------------------------------------------------------------


def one_way(qd: Array, zone: Array, width: int) -> NDArray[np.bool_]:
    """Where velocities (n, columns) leave a dead zone (columns,) and keep their sign ``width`` samples both ways.

    Where a joint turns round it may stick for a while, and its acceleration jumps; filters carry that over to rows near
    by. Of a joint that turns round so often that more than a quarter of its rows would be left out, ``width`` is less.

    >>> qd = np.array([-2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])[:, None]
    >>> one_way(qd, np.array([0.5]), 1)[:6, 0].tolist()
    [False, False, False, False, True, True]
    """
    moves = np.abs(qd) > zone
    if width < 1:
        return moves
    turned = (qd[1:] > 0.0) != (qd[:-1] > 0.0)
    still = ~moves
    still[1:] |= turned
    still[:-1] |= turned
    rows, never = np.arange(len(qd))[:, None], len(qd) + width
    before = np.maximum.accumulate(np.where(still, rows, -never), axis=0)
    after = np.minimum.accumulate(np.where(still, rows, 2 * never)[::-1], axis=0)[::-1]
    distance = np.minimum(rows - before, after - rows)
    most = [np.quantile(own[at], _TURNS) if at.any() else 0.0 for own, at in zip(distance.T, moves.T, strict=True)]
    return np.asarray(moves & (distance > np.minimum(width, most)))

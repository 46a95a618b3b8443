"""Torques that are later or earlier than the motion, whatever the robot weighs.

Delays of all torques together are tried one by one; then each torque has a delay d of its own, a parameter with the
column -dtau/dt, because tau(t - d) = tau - d dtau/dt to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.consistency import LATE, delays_said
from neuler.identify.plausibility import names_of
from neuler.identify.trials import SURE, Fitted, Sample, Trials

Array = NDArray[np.float64]
LATEST, TRIED = 0.1, (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85)
"""Seconds by which torques may be late, and samples of delay that are tried, both ways."""
_STEPS, _LONGEST = 4, 2.0
"""Steps for delays of their own, and samples of one step at most."""
_REFINED = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)
"""Samples by which a delay of all torques is refined."""
_WORSE = 0.97
"""Times what is left of any torque that it may be with a delay of all: one that makes a torque worse is none."""
_FEW = 2
"""Passes of weighted least squares for each delay that is tried."""


def late(sample: Sample, every: Trials, usual: Trials) -> list[str]:
    """Torques that are later or earlier than the motion: all of them alike, or else some.

    Delays are found in ``every`` row, and believed where the ``usual`` rows alone, without bursts, are explained better
    by them, too: rows that a delay explains badly look like bursts themselves.
    """
    rate, most = sample.rate, min(LATEST, 0.1 * sample.seconds)
    counts = np.minimum(sample.independent, usual.counts)
    names, than = names_of(sample.regression.robot, "tau"), "the torques of the best parameters"
    now = every.fitted(sample.tau() - sample.known)
    together = _common(sample, every, now, counts, most)
    if abs(together) >= LATE / 2:
        delays = np.full(len(names), together / rate)
        if every is usual or counts @ _gains(sample, usual, delays) > 0.0:
            return delays_said(dict.fromkeys(range(len(names)), together), names, rate, than)
    delays, fitted = np.zeros(len(names)), now
    for _ in range(_STEPS):
        fitted = every.fitted(sample.tau(delays) - sample.known, fitted.sd, -sample.slopes(delays))
        step = np.clip(fitted.extra * rate, -_LONGEST, _LONGEST)
        delays = np.clip(delays + step / rate, -most, most)
        if np.abs(step).max() < 0.1:
            break
    sure = (np.log(now.sd / fitted.sd) * counts > SURE) & (np.abs(delays) < most)
    if every is not usual and sure.any():
        sure &= _gains(sample, usual, np.where(sure, delays, 0.0)) > 0.0
    own = {k: x for k, x in enumerate((delays * rate).tolist()) if sure[k] and abs(x) >= LATE}
    return delays_said(own, names, rate, than)


def _gains(sample: Sample, rows: Trials, delays: Array) -> Array:
    """By how much less is left of every torque with delays (nu,), as logarithms."""
    now, then = (rows.fitted(sample.tau(each) - sample.known) for each in (None, delays))
    return np.asarray(np.log(now.sd / then.sd))


def _common(sample: Sample, rows: Trials, now: Fitted, counts: Array, most: float) -> float:
    """By how many samples all torques are late, zero where that is no better beyond doubt."""
    known: dict[float, Array] = {}

    def left(samples: float) -> Array:
        if samples not in known:
            tau = sample.tau(np.full(len(counts), samples / sample.rate))
            known[samples] = rows.fitted(tau - sample.known, now.sd, passes=_FEW).sd
        return known[samples]

    def likelihood(samples: float) -> float:
        return float(counts @ np.log(left(samples)))

    tried = [float(sign * each) for each in TRIED for sign in (1, -1) if each / sample.rate < most]
    best = min([0.0, *tried], key=likelihood)
    for near in _REFINED:  # between those that were tried, then by a parabola
        best = min((best - near, best, best + near), key=likelihood) if near < abs(best) else best
    if likelihood(0.0) - likelihood(best) < SURE or (left(0.0) < _WORSE * left(best)).any():
        return 0.0
    before, here, after = (likelihood(best + k) for k in (-1.0, 0.0, 1.0))
    bend = before - 2.0 * here + after
    return best + float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else best

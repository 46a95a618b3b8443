"""Torques that are later or earlier than the motion, whatever the robot weighs.

Delays of all torques together are tried one by one; then each torque has a delay d of its own, a parameter with the
column -dtau/dt, because tau(t - d) = tau - d dtau/dt to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.causes import Cause
from neuler.identify.consistency import LATE, delays_said
from neuler.identify.plausibility import names_of
from neuler.identify.trials import SURE, Fitted, Sample, Trials

Array = NDArray[np.float64]
LATEST, TRIED = 0.1, (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85)
"""Seconds by which torques may be late, and samples of delay that are tried, both ways."""
_STEPS, _LONGEST, _SETTLED = 20, 4.0, 0.1
"""Steps for delays of their own, samples of one step at most, and of the last one."""
_REFINED = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)
"""Samples by which a delay of all torques is refined."""
_WORSE = 0.97
"""Times what is left of any torque that it may be with a delay of all: one that makes a torque worse is none."""
_BETTER = 1.15
"""How many times less a delay leaves of one torque at least."""
_FEW = 2
"""Passes of weighted least squares for each delay that is tried."""


def late(sample: Sample, every: Trials, usual: Trials, now: Fitted) -> list[Cause]:
    """Torques that are later or earlier than the motion: all of them alike, or else some.

    Delays are found in ``every`` row, and judged by what is left in the ``usual`` rows, without bursts: rows that a
    delay explains badly look like bursts themselves. ``now`` is the fit of the usual ones.
    """
    rate, most = sample.rate, min(LATEST, 0.1 * sample.seconds)
    counts = np.minimum(sample.independent, usual.counts)
    before = now if every is usual else every.fitted(sample.y)
    together = _common(sample, every, before, counts, most)
    if abs(together) >= LATE / 2:
        delays = np.full(usual.nu, together / rate)
    else:
        delays = _own(sample, every, before, counts, most)
        delays = np.where(np.abs(delays) * rate >= LATE, delays, 0.0)
    if not delays.any():
        return []
    names, than = names_of(sample.regression.robot, "tau"), "the torques of the best parameters"
    notes = delays_said({k: x for k, x in enumerate((delays * rate).tolist()) if x}, names, rate, than)
    head = f"{sample.where.removeprefix(' of ')}: " if sample.where else ""
    tau = sample.tau(delays)
    left, own = usual.fitted(tau - sample.known, now.sd).sd, usual.own(tau, sample.known)
    what, alike = "; ".join(f"{head}{note}" for note in notes), bool(delays.all() and np.ptp(delays) == 0.0)
    mend, then = {"delays": sample.delays + sample.looked * delays}, "; what is left of the torques then is"
    return [Cause(what, "", left, own, mend, then, _BETTER, common=alike)]


def _own(sample: Sample, every: Trials, now: Fitted, counts: Array, most: float) -> Array:
    """Delays (s) of torques of their own, (nu,); zero where there is none beyond doubt, or no end of steps is seen.

    Steps start from what the own parameters of each joint say, where these know; else from no delay.
    """
    delays = _alone(sample, every, now, most)
    fitted, step = every.fitted(sample.tau(delays) - sample.known, now.sd), np.full(every.nu, np.inf)
    if counts @ np.log(now.sd / fitted.sd) < SURE:
        delays, fitted = np.zeros(every.nu), now
    for _ in range(_STEPS):
        fitted = every.fitted(sample.tau(delays) - sample.known, fitted.sd, -sample.slopes(delays), passes=_FEW)
        step = np.clip(fitted.extra * sample.rate, -_LONGEST, _LONGEST)
        delays = np.clip(delays + step / sample.rate, -most, most)
        if np.abs(step).max() < _SETTLED:
            break
    fitted = every.fitted(sample.tau(delays) - sample.known, fitted.sd)
    sure = (np.log(now.sd / fitted.sd) * counts > SURE) & (np.abs(delays) < most) & (np.abs(step) < _SETTLED)
    return np.where(sure, delays, 0.0)


def _alone(sample: Sample, every: Trials, now: Fitted, most: float) -> Array:
    """The delay (s) of each torque, of those that are tried, at which the joint's own parameters explain it best."""
    tried = [0.0, *(sign * each / sample.rate for each in TRIED for sign in (1.0, -1.0) if each / sample.rate < most)]
    taus = (sample.tau(np.full(every.nu, each)) for each in tried)
    shares = np.array([every.alone(tau, sample.known).diagonal() for tau in taus])
    best = np.argmin(shares, axis=0)
    return np.where(shares.min(axis=0) < _WORSE**2 * shares[0], np.array(tried)[best], 0.0)


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

"""Zeros of the positions that are not those of the robot.

An offset d of a position is a parameter with the column (dW/dq_k) x of all torques; x changes with d, so that Gauss and
Newton's steps follow each other. Of joints whose offset only turns what lies beyond, or the whole robot about the
vertical, parameters take it up, and nothing is seen: nothing is wrong then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.along import Along
from neuler.identify.causes import Cause
from neuler.identify.trials import SURE, Fitted, Sample, Trials

Array = NDArray[np.float64]
_STEPS, _LONGEST, _SETTLED = 8, 0.3, 1e-3
"""Steps, how far one goes at most, and the last one; rad or m."""
_SMALL = 1e-4
"""By which positions are shifted for derivatives."""
_LEAST = 2e-3
"""An offset (rad, m) that is said at least."""
_BETTER = 1.2
"""How many times less of any torque an offset leaves beside the others, from which on it is one of them."""
_REMEDY = "are the zeros of these positions those of the robot?"


def zeros(sample: Sample, along: Along, now: Fitted) -> list[Cause]:
    """Offsets of positions without which less is left."""
    robot = sample.regression.robot
    d, counts = np.zeros(robot.nq), sample.independent
    plain = at = along.fitted()
    if plain is None or at is None:
        return []
    for _ in range(_STEPS):
        W, known = along.columns(lambda q, d=d: q + d)  # type: ignore[misc]
        y = along.tau - known
        at = Trials(W, along.moving).fitted(y, at.sd)
        beside = np.stack([_slope(along, d, k, W @ at.values + known, at.values) for k in range(len(d))], axis=-1)
        if not np.isfinite(beside).all():
            return []
        step = np.clip(along.step(W, y, beside, at.sd, d, _LONGEST), -_LONGEST, _LONGEST)
        d = d + step
        if np.abs(step).max() < _SETTLED:
            break
    else:
        return []

    def left(d: Array) -> Array:
        found = along.fitted(lambda q: q + d, sd=plain.sd)
        return np.full(len(now.sd), np.inf) if found is None else now.sd * found.sd / plain.sd

    d = np.where(np.abs(d) < _LEAST, 0.0, d)
    then = left(d)
    if not d.any() or counts @ np.log(now.sd / then) < SURE:
        return []
    for k in np.flatnonzero(d):
        gains = np.log(left(np.where(np.arange(len(d)) == k, 0.0, d)) / then)
        if gains.max() < np.log(_BETTER) or counts @ gains < SURE:
            d[k] = 0.0
    if not d.any():
        return []
    named = zip(robot.coordinates.names("q"), d, robot.coordinates.units("q"), strict=True)
    sizes = [f"{x:.3g} {unit} to q_{name}" for name, x, unit in named if x]
    what, scale = f"with an offset added, of {', '.join(sizes)}", now.sd / plain.sd
    return [Cause(what, _REMEDY, left(d), scale * along.own(lambda q: q + d))]


def _slope(along: Along, d: Array, k: int, torques: Array, values: Array) -> Array:
    """Derivatives of torques (n, nu) with respect to an offset."""
    other = d + np.where(np.arange(len(d)) == k, _SMALL, 0.0)
    W, known = along.columns(lambda q: q + other)
    return np.asarray((W @ values + known - torques) / _SMALL)

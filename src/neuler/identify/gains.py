"""Torques that are too large or too small by a constant factor: a wrong torque constant or gear ratio.

Joints share the parameters of the links beyond them, and so the torques of some joints tell how large the others are. A
torque of the factor k has tau / k = W x; k is found by Gauss and Newton's method, with the column W x of the torque
alone. A factor that all torques have in common is not seen, because a heavier robot has it, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.causes import Cause
from neuler.identify.trials import SURE, Fitted, Sample, Trials

Array = NDArray[np.float64]
_STEPS, _LONGEST, _SETTLED = 20, 0.7, 0.01
"""Steps, the logarithm of a factor by which one step goes at most, and that of the last step."""
_PRIOR = 0.7
"""Deviation of the logarithm: factors that nothing tells stay what they are."""
_LEAST = 0.03
"""Logarithm of a factor below which a torque has none."""
_BETTER = 1.2
"""How many times less of any torque a factor leaves beside the others, from which on it is one of them."""
_FEW = 2
"""Passes of weighted least squares in each step."""
_REMEDY = "are their torque constants and gear ratios right (torque_constants=, ratios=)?"


def factors(sample: Sample, trials: Trials, now: Fitted) -> list[Cause]:
    """Factors of torques beside the others, without which less is left."""
    tau, k = sample.tau(), np.zeros(trials.nu)  # logarithms

    def fitted(k: Array, start: Fitted, passes: int = 8) -> Fitted:
        """With deviations of torques as they were measured."""
        scale = np.exp(k)
        found = trials.fitted(tau / scale - sample.known, start.sd / scale, passes=passes)
        return found._replace(sd=found.sd * scale)

    at = now
    for _ in range(_STEPS):
        scale = np.exp(k)
        step = trials.step(tau / scale - sample.known, sample.W @ at.values, at.sd / scale, k, _PRIOR)
        k = k + np.clip(step, -_LONGEST, _LONGEST)
        at = fitted(k, at, _FEW)
        if np.abs(step).max() < _SETTLED:
            break
    else:
        return []
    counts = np.minimum(sample.independent, trials.counts)

    def needed(k: Array) -> Array:
        """Factors without those that hardly count."""
        k = np.where(np.abs(k) < _LEAST, 0.0, k)
        then = fitted(k, at)
        for j in np.flatnonzero(k):
            gains = np.log(fitted(np.where(np.arange(trials.nu) == j, 0.0, k), then).sd / then.sd)
            if gains.max() < np.log(_BETTER) or counts @ gains < SURE:
                k[j] = 0.0
        return k

    if counts @ np.log(now.sd / at.sd) < SURE:
        return []
    k = min((needed(k - each) for each in _alike(k)), key=np.count_nonzero)
    if not k.any():
        return []
    then = fitted(k, at)
    names = sample.regression.robot.coordinates.names("tau")
    sizes = [f"tau_{name} divided by {np.exp(x):.3g}" for name, x in zip(names, k, strict=True) if x]
    what = f"with {', '.join(sizes)}, beside the other torques"
    own = trials.own(tau / np.exp(k), sample.known) * np.exp(k)
    return [
        Cause(
            what,
            _REMEDY,
            fitted(k, then).sd,
            own,
            {"gains": sample.gains / np.exp(k), "offsets": sample.offsets / np.exp(k)},
        )
    ]


def _alike(k: Array) -> list[float]:
    """Factors that torques may have in common, one of which is that of the robot's weight."""
    found: list[float] = []
    for each in k.tolist():
        if all(abs(each - other) > _LEAST for other in found):
            found.append(each)
    return found

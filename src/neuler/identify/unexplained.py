"""Torques of which far more than noise is left, for a reason that no check knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.causes import FAR, digits
from neuler.identify.trials import Fitted, Sample

Array = NDArray[np.float64]
_WORTH = 0.02
"""Share of a torque's root mean square that is left, from which on it is said."""


def unexplained(sample: Sample, now: Fitted, noise: Array, whole: bool) -> list[str]:
    """A note on torques that the model does not explain; ``noise`` (nu,) is what could not be explained anyhow."""
    level = np.sqrt((sample.tau() ** 2).mean(axis=0))
    share = np.divide(now.sd, level, out=np.zeros(len(level)), where=level > 0.0)
    far = (now.sd > FAR * noise) & (share > _WORTH)
    if not far.any():
        return []
    names = sample.regression.robot.coordinates.names("tau")
    shown = [f"tau_{names[k]} ({digits(100.0 * share[k])} %, {digits(now.sd[k] / noise[k])} times its noise)"
             for k in np.flatnonzero(far)]  # fmt: skip
    if not whole:
        advice = "what is not among columns= is taken from the given robot: look for all links and friction, too"
    else:
        advice = (
            "another friction law (neuler.identify.compare_friction), springs or couplings that the robot has not "
            "(own=), or rows in which torques or positions are bad; no single wrong column, zero, offset, factor or "
            "delay explains it"
        )
    return [f"the model does not explain {', '.join(shown)}, and the cause is not known: {advice}"]

"""What of each torque is noise: as far as can be measured, below the cut-off, behind the filter.

Motion ends below the cut-off of the positions. Third differences of a torque, over times that are short beside the
period of the cut-off, have little of it, and 20 times the variance of white noise; friction that jumps is in few of
them, so that quantiles do not see it. Noise of positions makes noise of accelerations, and that one of torques by
inertia.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression

Array = NDArray[np.float64]
_SHORT = 0.05
"""Periods of the cut-off from one sample of a difference to the next."""
_QUARTILE = 1.15
"""Standard deviations that three of four numbers do not reach."""
_ROWS = 40
"""Rows of each log at which inertias are taken."""


def torque_noise(logs: Sequence[Prepared]) -> Array:
    """Standard deviation of the noise in rows of each torque, behind the filter, (nu,)."""
    return np.sqrt(np.mean([_size(each) ** 2 * 2.0 * _band(each) / each.rate for each in logs], axis=0))


def _band(ready: Prepared) -> float:
    """Hz that the parallel filter lets pass."""
    return min(ready.settings["torque_cutoff"] or math.inf, 0.5 * ready.rate)


def _size(ready: Prepared) -> Array:
    """Standard deviation of the noise of each torque, not filtered, (nu,)."""
    lag = max(1, int(_SHORT * ready.rate / (ready.settings["cutoff"] or ready.rate)))
    third, lag = ready.tau, min(lag, max(1, len(ready.tau) // 8))
    for _ in range(3):
        third = third[lag:] - third[:-lag]
    return np.asarray(np.quantile(np.abs(third), 0.75, axis=0) / (_QUARTILE * math.sqrt(20.0)))


def inertial_noise(regression: Regression, logs: Sequence[Prepared], values: Array) -> Array:
    """What noise of positions makes of the torques of a robot with these values of the columns, (nu,)."""
    found = [_inertial(regression, each, values) for each in logs]
    return np.sqrt(np.mean([each**2 for each in found], axis=0))


def _inertial(regression: Regression, ready: Prepared, values: Array) -> Array:
    robot, cutoff = regression.robot, ready.settings["cutoff"]
    if cutoff is None or ready.settings["derivatives"] != "positions":
        return np.zeros(robot.nu)
    top = min(cutoff, _band(ready))  # of white noise, (2 pi f)^4 times its density up to there
    sizes = np.array(ready.settings["position_noise"])[robot.coordinates.own.places]
    accelerations = sizes * (2.0 * math.pi) ** 2 * math.sqrt(2.0 * top**5 / (5.0 * ready.rate))
    rows = np.linspace(0, len(ready.t) - 1, _ROWS).astype(int)
    state = dataclasses.replace(ready, **{key: getattr(ready, key)[rows] for key in ("t", "q", "qd", "qdd", "tau")})

    def torques(qdd: Array) -> Array:
        columns, known = regression.columns_along(dataclasses.replace(state, qdd=qdd))
        return np.asarray(columns @ values + known)

    plain, squares = torques(state.qdd), np.zeros(robot.nu)
    for k, size in enumerate(accelerations):
        one = np.where(np.arange(robot.nv) == k, 1.0, 0.0)
        squares += (((torques(state.qdd + one) - plain) * size) ** 2).mean(axis=0)
    return np.sqrt(squares)

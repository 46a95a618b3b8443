"""The options of preparing a log, checked: errors name the log and the option."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.smoothing import HIGHEST
from neuler.inputs import choice, number, real, told, whole

if TYPE_CHECKING:
    from neuler.identify.log import Log

Array = NDArray[np.float64]

FILTERS = ("butterworth", "spline")
DERIVATIVES = ("positions", "measured")


@dataclass
class Options:
    """The arguments of ``Log.prepare``, checked."""

    cutoff: float | None
    torque_cutoff: float | None
    method: str
    order: int
    decimate: int
    trim: float | None
    outliers: bool
    dead_zone: Array | None
    derivatives: str
    check: bool


def checked(log: Log, given: dict[str, Any]) -> Options:
    """The arguments of ``Log.prepare``; errors name the log and the argument."""
    name = log.name
    for key in ("cutoff", "torque_cutoff"):
        if given[key] is not None:
            value = number(f"{name}: {key}", given[key], above=0.0, finite=False, unit="Hz")
            if value > HIGHEST * log.rate and not math.isinf(value):
                raise InputError(
                    f"{name}: {key} is {value:g} Hz and the sampling rate {log.rate:.4g} Hz; it must be at most "
                    f"{HIGHEST:g} of the rate, or infinite for no filter"
                )
            given[key] = value
    choice(f"{name}: method", given["method"], FILTERS)
    choice(f"{name}: derivatives", given["derivatives"], DERIVATIVES)
    whole(f"{name}: order", given["order"], 1, 8)
    given["decimate"] = 1 if given["decimate"] is None else whole(f"{name}: decimate", given["decimate"], 1)
    if given["trim"] is not None:
        given["trim"] = number(f"{name}: trim", given["trim"], least=0.0, unit="s")
    if given["dead_zone"] is not None:
        zone = real(given["dead_zone"])
        if zone is None or zone.shape not in ((), (log.robot.nv,)) or not (zone >= 0.0).all():
            raise InputError(
                f"{name}: dead_zone must be a velocity, or {log.robot.nv} of them, not negative, got "
                f"{told(given['dead_zone'])}"
            )
        given["dead_zone"] = np.broadcast_to(zone, (log.robot.nv,)).copy()
    if given["derivatives"] == "measured" and log.qd is None:
        raise InputError(
            f"{name}: derivatives='measured' needs velocities, and the log has none; give qd or leave it out"
        )
    if given["derivatives"] == "positions" and not log.robot.coordinates.own.plain:
        raise InputError(
            f"{name}: robot {log.robot.name!r} has quaternions, which are not differentiated; give measured velocities "
            "qd, and prepare with derivatives='measured'"
        )
    return Options(**given)

"""Constant offsets of torques: of sensors and currents that were not set to zero, or of weights that no link has.

A robot has no such torque, but for friction that differs by direction (friction law "offset"), as far as the offset is
smaller than Coulomb friction. Beyond that it is a column of one's own, 1 for one torque and 0 for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.causes import Cause
from neuler.identify.estimate import Estimate, listed
from neuler.identify.rows import Rows
from neuler.identify.trials import SURE, Fitted, Sample, Trials
from neuler.inputs import names as as_names
from neuler.robot import Robot

Array = NDArray[np.float64]
Column = Callable[[Any, Any, Any], Array]
_BETTER = 1.2
"""How many times less of any torque an offset leaves beside the others, from which on it is one of them."""
_SMALL = 0.01
"""Share of a torque's root mean square below which an offset is not named."""
_NONE, _SOME = 1e-3, 0.02
"""Friction of one direction that is such a share of the other one's is none; the share of a torque worth a note."""


_REMEDY = (
    "take them off the log, or identify them, by own=identify.offsets(robot), or by friction='offset' where they are "
    "smaller than Coulomb friction"
)


def offsets(robot: Robot, joints: Iterable[str] | None = None) -> dict[str, Column]:
    """Custom columns for :func:`fit` that estimate constant offsets of torques, ``own=offsets(robot)``.

    For all joints with a torque, or for those named; the offset of ``joint1`` is called ``joint1.offset``. Offsets are
    not part of the identified robot: their values are in ``Identified.own``.

    >>> import neuler
    >>> sorted(offsets(neuler.robots.two_link()))
    ['joint1.offset', 'joint2.offset']
    """
    every = robot.coordinates.names("tau")
    named = every if joints is None else as_names("offsets: joints", joints)
    unknown = [name for name in named if name not in every]
    if unknown:
        raise InputError(f"offsets: {unknown[0]!r} has no torque; joints that have one are {', '.join(every)}")
    return {f"{name}.offset": _constant(np.eye(robot.nu)[every.index(name)]) for name in named}


def _constant(forces: Array) -> Column:
    return lambda q, qd, qdd: forces


def constant(sample: Sample, trials: Trials, now: Fitted) -> list[Cause]:
    """Offsets without which less is left of the torques, each of them by itself."""
    y, robot = sample.y, sample.regression.robot
    ones = sample.of_run(np.repeat(sample.looked, robot.nu, axis=1))
    then = trials.fitted(y, now.sd, beside=ones)
    counts = np.minimum(sample.independent, trials.counts)
    if counts @ np.log(now.sd / then.sd) < SURE:
        return []
    found = np.where(np.abs(then.extra) > _SMALL * trials.levels(y), then.extra, 0.0)
    for j in np.flatnonzero(found):
        others = np.where(np.arange(robot.nu) == j, 0.0, ones)
        gains = np.log(trials.fitted(y, then.sd, beside=others).sd / then.sd)
        if gains.max() < np.log(_BETTER) or counts @ gains < SURE:
            found[j] = 0.0
    if not found.any():
        return []
    named = zip(robot.coordinates.names("tau"), found, robot.coordinates.units("tau"), strict=True)
    sizes = [f"tau_{name} {size:.3g} {unit}" for name, size, unit in named if size]
    mended = sample.tau() - ones * found
    left = trials.fitted(mended - sample.known, then.sd).sd
    what = f"without constant offsets of the torques{sample.where}, {', '.join(sizes)}"
    return [
        Cause(
            what, _REMEDY, left, trials.own(mended, sample.known), {"offsets": sample.offsets + sample.looked * found}
        )
    ]


def drives_one_way(estimate: Estimate, robot: Robot, runs: Sequence[Rows], grouped: Collection[str] = ()) -> list[str]:
    """Notes of joints whose friction by direction is an offset larger than Coulomb friction, which no robot has.

    Base parameters that are ``grouped`` are sums of more than friction, such as the weight of a slide.
    """
    values, sd = (dict(zip(estimate.names, x.tolist(), strict=True)) for x in (estimate.values, estimate.sd))
    forces = robot.coordinates.names("tau")
    levels = np.sqrt(np.mean([run.level**2 for run in runs], axis=0))
    found = []
    for name, level in zip(forces, levels, strict=True):
        pair = [f"{name}.coulomb", f"{name}.coulomb_reverse"]
        if not all(each in values and each not in grouped for each in pair):
            continue
        low, high = sorted(pair, key=lambda each: values[each])
        sure = values[low] >= 0.0 or values[low] < -2.0 * sd[low]
        if values[low] <= _NONE * values[high] and values[high] > _SOME * level and sure:
            found.append(name)
    if not found:
        return []
    return [
        f"the offset of {listed(found)} is larger than the Coulomb friction there, so that friction would drive one "
        "way, which no robot has: identify it as a column, own=identify.offsets(robot), in the place of "
        "friction='offset', or take it off the log"
    ]

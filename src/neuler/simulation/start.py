"""Where a simulation starts, and when: states that are valid, times that fit the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import inputs
from neuler.errors import InputError
from neuler.inputs import array, real, told, whole
from neuler.plain import number
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation, positions, quaternions
from neuler.tolerances import OPEN

Array = NDArray[np.float64]

_NEAR = 1e-6
"""Share of a step by which a time may be off a whole number of steps: it is rounding."""
_MOMENTS = 10_000
"""States that are kept of a row unless more are asked for."""
_NUMBERS = 2**26
"""Numbers of all states that are kept unless more are asked for: 512 MB."""
_STEPS = 1e12
"""Steps of one simulation: weeks of machine time."""


def states(robot: Robot, x0: Any) -> tuple[Array, Array]:
    """q (..., nq) and qd (..., nv) to start from: None is the neutral position at rest."""
    if x0 is None:
        return robot.neutral(), np.zeros(robot.nv)
    if not isinstance(x0, tuple | list) or len(x0) != 2:
        raise InputError("simulate: x0 must be (q0, qd0), positions and velocities; None in the place of one: at rest")
    q = robot.neutral() if x0[0] is None else positions(robot, "simulate", "q0", x0[0])
    speeds = by_columns(robot, "simulate", "qd0", x0[1], "qd")
    names = robot.mobility.independent if robot.loops else robot.joint_names
    meaning = f" ({', '.join(names[:6])}{', ...' if len(names) > 6 else ''})"
    qd = np.zeros(robot.nv) if speeds is None else array("simulate", "qd0", speeds, (robot.nv,), meaning)
    if not np.isfinite(qd).all():
        raise InputError(f"simulate: qd0 is not finite{listed(np.asarray(~np.isfinite(qd).all(axis=-1)))}")
    try:
        batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    except ValueError:
        raise InputError(f"simulate: the batch axes of q0 {q.shape} and qd0 {qd.shape} do not broadcast") from None
    if 0 in batch:
        raise InputError(f"simulate: the batch {batch} of x0 is empty")
    q, qd = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, qd))
    _valid(robot, q)
    return q, qd


def _valid(robot: Robot, q: Array) -> None:
    for name, first in quaternions(robot):
        turn = q[..., first : first + 4]
        bad = no_rotation(turn)
        if bad.any():
            what, remedy = length_instead_of_one(turn, bad)
            raise InputError(f"simulate: q0: the quaternion of joint {name!r} {what}{listed(bad)}; {remedy}")
    if robot.loops:
        gap = np.linalg.norm(robot.closure(q).open_by, axis=-1)
        bad = np.asarray(gap >= OPEN)
        if bad.any():
            raise InputError(
                f"simulate: q0: the loops are open by {float(np.max(gap)):.2g} (m or rad){listed(bad)}; "
                "robot.assemble gives closed positions"
            )


@dataclass(frozen=True)
class Clock:
    """Times of the states that are kept, and the steps between them."""

    times: Array
    """(n,), the first is that of x0."""
    step: float
    steps: int
    every: int
    """Steps from one state that is kept to the next."""
    begin: int
    """Number of the first step."""

    @classmethod
    def of(cls, t: Any, step: float, every: int | None, numbers: int) -> Clock:
        """From a duration, or times with equal distances; ``numbers`` stand in a state of all rows."""
        given = real(t)
        if given is None or given.ndim > 1 or not np.isfinite(given).all() or not given.size:
            raise InputError(f"simulate: t must be a duration (s) or an array of times, got {told(t)}")
        step = inputs.number("simulate: step", step, above=0.0, unit="s")
        every = None if every is None else whole("simulate: every", every, 1)
        if given.ndim:
            return cls._of_times(given, step, every)
        duration = float(given)
        if duration <= 0:
            raise InputError(f"simulate: the duration must be above zero (s), got {duration:g}")
        steps = _steps(duration, step, f"the duration {duration:g} s")
        chosen = _every(steps, numbers) if every is None else every
        if steps % chosen:
            raise InputError(
                f"simulate: every = {chosen} does not divide the {steps} steps of {number(step)} s; the last state "
                "would be lost"
            )
        return cls(np.arange(0, steps + 1, chosen) * np.float64(step), step, steps, chosen, 0)

    @classmethod
    def _of_times(cls, times: Array, step: float, every: int | None) -> Clock:
        if every is not None:
            raise InputError("simulate: every is for a duration; an array t says itself which states are kept")
        if len(times) < 2:
            raise InputError(f"simulate: an array t needs at least two times, the first that of x0, got {times}")
        gaps = np.diff(times)
        if (gaps <= 0).any() or np.ptp(gaps) > _NEAR * step:
            raise InputError(
                "simulate: steps of one size need times t with equal distances that grow; "
                "method='dop853' or 'radau' takes any times that grow"
            )
        gap = float((times[-1] - times[0]) / len(gaps))
        each = max(1, int(np.ceil(gap / step - _NEAR)))
        begin = _steps(float(times[0]), gap / each, f"the first time {times[0]:g} s") if times[0] else 0
        return cls(times, gap / each, each * len(gaps), each, begin)


def _steps(span: float, step: float, what: str) -> int:
    if not abs(span / step) <= _STEPS:
        raise InputError(
            f"simulate: {what} takes {abs(span / step):.3g} steps of {number(step, 9)} s, more than {_STEPS:.0g}; take "
            "longer steps, or less time"
        )
    found = round(span / step)
    if found < 1 or abs(span / step - found) > max(_NEAR, 1e-12 * found):
        near = span / max(1, found)
        raise InputError(f"simulate: {what} is no whole number of steps of {number(step, 9)} s; step={near:.9g} fits")
    return found


def _every(steps: int, numbers: int) -> int:
    """The least number that divides the steps and keeps few enough states."""
    least = max(steps / _MOMENTS, steps * numbers / _NUMBERS, 1.0)
    most = steps // int(np.ceil(least - 1e-12))  # states that may be kept
    return next((steps // kept for kept in range(most, 0, -1) if steps % kept == 0), steps)


def moments(t: Any, step: float, every: int | None) -> Array:
    """Times at which an adaptive method gives states: any that grow, or a duration in steps of ``step * every``."""
    given = real(t)
    if given is None or given.ndim == 0:
        return Clock.of(t, step, every, 1).times
    if given.ndim > 1 or len(given) < 2 or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        raise InputError("simulate: t must be a duration (s), or at least two times that grow, the first that of x0")
    return given

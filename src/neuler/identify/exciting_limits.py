"""What an exciting motion must keep: ranges, velocities, accelerations and torques of joints, as limits of a plan.

Limits of the robot's joints are taken by shares; limits that are given replace them, row by row and side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.estimate import listed
from neuler.inputs import number, real, several, told
from neuler.moments.measures import Measure, acceleration, position, torque, velocity
from neuler.moments.moving_robot import MovingRobot
from neuler.plan.limits import Limit
from neuler.robot import Robot

Array = NDArray[np.float64]
ROWS_OF_POSITION = replace(position)
"""Positions as rows: of Fourier series bounds of coefficients say nothing."""
TURN = float(np.pi)
"""Reach (rad) of joints that turn without end."""
STATES = 4000
"""Random positions at which motors are asked whether they can hold the robot."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Limits of a motion, and the box in which it begins."""

    limits: tuple[Limit, ...]
    lower: Array
    """Of the positions of the profiles, (profiles,)."""
    upper: Array
    speeds: Array
    """The highest velocity either way, (profiles,)."""
    notes: tuple[str, ...]

    @property
    def middle(self) -> Array:
        """The middle of each range of positions, (n,)."""
        return 0.5 * (self.lower + self.upper)


def kept_limits(
    robot: Robot, reach: Any, center: Any, shares: tuple[Any, Any], bends: Any, limits: Any, *, as_rows: bool
) -> Kept:
    """The limits of a motion of a robot.

    ``reach`` and ``center``: a range about a position; ``shares`` of the robot's limits of velocity and effort;
    ``bends``: the highest acceleration; ``limits``: those of a plan. ``as_rows``: positions are limited by rows.
    """
    model = MovingRobot(robot, robot, np.asarray(robot.neutral(), dtype=float))
    given = several("excite: limits", limits, Limit, "plan.limit, plan.within or plan.clear_of")
    notes: list[str] = []
    box = _ranges(model, reach, center, given, notes)
    found = [Limit(position, *box)]
    for measure, share, word in ((velocity, shares[0], "velocity"), (torque, shares[1], "effort")):
        part = number(f"excite: {word}, a share of the robot's limits,", share, above=0.0)
        assert measure.of_robot is not None
        low, high = (part * side for side in measure.of_robot(model))
        own = _left(model, measure, given, low, high)
        found += [own] if own is not None else []
    if bends is not None:
        size = real(bends)
        if size is None or size.shape not in ((), (model.profile_count,)) or not (size > 0.0).all():
            raise InputError(
                f"excite: acceleration must be one number above zero (rad/s^2, m/s^2), or one for each of "
                f"{model.profile_count} joints, got {told(bends)}"
            )
        side = np.broadcast_to(size, (model.profile_count,)).astype(float)
        own = _left(model, acceleration, given, -side, side)
        found += [own] if own is not None else []
    every = [*found, *(each for each in given if each.measure is not position)]
    speeds = _speeds(model, every)
    if not any(each.measure is torque for each in every):
        notes.append(f"robot {robot.name!r} has no limits of effort: torques are not limited")
    lower, upper = box
    _check_holding(robot, model, every, lower, upper)
    if as_rows:
        every = [replace(each, measure=ROWS_OF_POSITION) if each.measure is position else each for each in every]
    return Kept(tuple(every), lower, upper, speeds, tuple(notes))


def _ranges(
    model: MovingRobot, reach: Any, center: Any, given: Sequence[Limit], notes: list[str]
) -> tuple[Array, Array]:
    """The range of every profile: its limits, within ``reach`` of ``center``, and within limits that are given."""
    assert position.of_robot is not None
    names, count = model.names, model.profile_count
    low, high = (side.copy() for side in position.of_robot(model))
    for each in given:
        if each.measure is not position:
            continue
        below, above = each.covers(names)
        lower, upper = each.bounds(names)
        low, high = np.where(below, lower, low), np.where(above, upper, high)
    wide = ~(np.isfinite(low) & np.isfinite(high))
    with np.errstate(invalid="ignore"):
        middle = np.where(wide, np.clip(model.own(model.reference), low, high), 0.5 * (low + high))
    if center is not None:
        at = real(center)
        if at is None or at.shape != (count,) or not np.isfinite(at).all():
            raise InputError(
                f"excite: center must be {count} positions of {listed(names)} (rad, m), got {told(center)}"
            )
        outside = np.flatnonzero((at < low) | (at > high))
        if len(outside):
            k = int(outside[0])
            raise InputError(
                f"excite: center has {names[k]} at {at[k]:g}, outside of its range from {low[k]:g} to {high[k]:g}"
            )
        middle = at
    if reach is not None:
        size = real(reach)
        if size is None or size.shape not in ((), (count,)) or not (size > 0.0).all():
            raise InputError(
                f"excite: reach must be one number above zero (rad, m), or one for each of {count} joints, got "
                f"{told(reach)}"
            )
        low, high = np.maximum(low, middle - size), np.minimum(high, middle + size)
    units = model.robot.coordinates.units("qd")
    for k in map(int, np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))):
        if units[model.coordinates.numbers[k]] != "rad/s":
            raise InputError(f"excite: joint {names[k]!r} slides without end; give reach= (m), or a limit of its range")
        low[k], high[k] = max(low[k], middle[k] - TURN), min(high[k], middle[k] + TURN)
        notes.append(f"joint {names[k]!r} turns without end: it is kept within half a turn of {middle[k]:g} rad")
    empty = np.flatnonzero(~(low < high))
    if len(empty):
        k = int(empty[0])
        raise InputError(
            f"excite: limits leave no range to {names[k]!r}: from {low[k]:g} to {high[k]:g}; widen one of them, or "
            "hold the joint: robot.with_fixed"
        )
    return low, high


def _left(model: MovingRobot, measure: Measure, given: Sequence[Limit], low: Array, high: Array) -> Limit | None:
    """A limit where those that are given say nothing; None where nothing is left."""
    assert measure.labels is not None
    low, high = low.copy(), high.copy()
    for each in given:
        if each.measure is measure:
            below, above = each.covers(measure.labels(model))
            low[below], high[above] = -np.inf, np.inf
    return Limit(measure, low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None


def _speeds(model: MovingRobot, limits: Sequence[Limit]) -> Array:
    """The highest velocity of every profile, either way; refused where one has none."""
    low, high = np.full(model.profile_count, -np.inf), np.full(model.profile_count, np.inf)
    for each in limits:
        if each.measure is velocity:
            lower, upper = each.of(model).bounds(model.names)
            low, high = np.maximum(low, lower), np.minimum(high, upper)
    found = np.minimum(-low, high)
    free = [name for name, speed in zip(model.names, found, strict=True) if not np.isfinite(speed)]
    if free:
        raise InputError(
            f"excite: no velocity limit of {listed(free)}: an exciting motion is as fast as it may be; give one: "
            "limits=[plan.within(plan.velocity, 2.0)]"
        )
    still = [name for name, speed in zip(model.names, found, strict=True) if not speed > 0.0]
    if still:
        raise InputError(f"excite: limits of velocity leave {listed(still)} no motion either way; widen them")
    return found


def _check_holding(robot: Robot, model: MovingRobot, limits: Sequence[Limit], lower: Array, upper: Array) -> None:
    """Refuse motors that can hold the robot nowhere in its ranges."""
    bounds = [each.of(model).bounds([model.tau_names[k] for k in model.driven]) for each in limits
              if each.measure is torque]  # fmt: skip
    if not bounds or model.dependent or not model.coordinates.plain or model.elastic:
        return
    low, high = np.max([b[0] for b in bounds], axis=0), np.min([b[1] for b in bounds], axis=0)
    q = np.random.default_rng(0).uniform(lower, upper, (STATES, model.profile_count))
    still = np.zeros((STATES, robot.nv))
    tau = np.asarray(robot.without_friction().inverse_dynamics(q, still, still))[:, model.driven]
    over = np.maximum(np.maximum(low - tau, tau - high), 0.0)
    if (over.max(axis=1) <= 0.0).any():
        return
    worst = int(np.argmax((over > 0.0).mean(axis=0)))
    name = model.tau_names[model.driven[worst]]
    least = float(np.abs(tau[:, worst]).min())
    raise InputError(
        f"excite: the limits of torque hold the robot against gravity at none of {STATES} positions in its ranges; "
        f"{name!r} needs {least:.3g} to {np.abs(tau[:, worst]).max():.3g} N m (N) there and may use "
        f"{low[worst]:.3g} to {high[worst]:.3g}; raise effort=, or move the ranges"
    )

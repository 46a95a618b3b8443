"""A test motion: from a robot's neutral position to another one, within limits, loops closed all the way."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.robot import Joint, Robot
from neuler.robot.value import kept
from neuler.view.poses import Placed

Array = NDArray[np.float64]

_SIZES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.1, 0.05, 0.02)
_SIDES = ((1, -1), (1, 1), (-1, 1), (-1, -1))
_KEPT = 0.35
"""Share of the reference's distance from singular poses that a motion keeps."""
_LOOKS = 30
"""Points at which a way is looked at."""
_SHORTEST = 1.5
"""The shortest duration of a motion (s)."""
_MANY = 12
"""Velocities beyond which a robot bends less, and in waves: it may be long."""


@dataclass(frozen=True)
class SampleMotion:
    """A smooth motion at rest at both ends, one row a moment."""

    times: Array
    q: Array
    qd: Array
    qdd: Array

    @property
    def moves(self) -> bool:
        """Whether it does not stand still."""
        return bool(self.qd.any())


@kept
def sample_motion(robot: Robot) -> SampleMotion:
    """From the neutral position as far as limits and singular poses allow; it stands still where nothing can move."""
    return travel(robot, robot.neutral(), _way(robot) if robot.nv else np.zeros(0))


def travel(robot: Robot, start: ArrayLike, way: ArrayLike, count: int = 181) -> SampleMotion:
    """Along ``way``, a velocity that lasts a second: position, velocity and acceleration continuous (10, 15, 6).

    Slow enough for the velocity limits of all joints. With loops the robot's own velocities are as given, the other
    joints follow on one branch.
    """
    along = np.asarray(way, dtype=float)
    s = np.linspace(0.0, 1.0, count)[:, None]
    place = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    speed, push = 30.0 * s**2 * (1.0 - s) ** 2, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    path = _path(robot, np.asarray(start, dtype=float), along, place[:, 0])
    duration = _duration(robot, path, along * speed)
    return SampleMotion(s[:, 0] * duration, path, along * speed / duration, along * push / duration**2)


def _path(robot: Robot, start: Array, way: Array, shares: Array) -> Array:
    """Positions after shares of a way, (shares, ..., nq); for several ways (..., nv) at once."""
    if not robot.nv:
        return np.tile(start, (len(shares), 1))
    if not robot.loops:
        batch = (len(shares), *[1] * (way.ndim - 1))
        return np.asarray(robot.integrate(start, way, shares.reshape(batch)))
    found = [np.broadcast_to(start, (*way.shape[:-1], robot.nq))]
    with np.errstate(all="ignore"):
        for step in np.diff(shares):
            found.append(np.asarray(robot.integrate.ufunc(found[-1], way, step)))  # NaN where it gets stuck
    return np.array(found)


def _duration(robot: Robot, path: Array, rates: Array) -> float:
    """Seconds, at least so many that no joint is faster than its limit; ``rates`` are those of one second."""
    tree = robot.tree if robot.loops else robot
    each = [(entry.v, entry.joint.limits.velocity) for entry in tree.coordinates]
    limited = [(v, limit) for v, limit in each if 0.0 < limit < np.inf]
    if not limited:
        return _SHORTEST
    qd = np.asarray(robot.tree_motion(path, rates, np.zeros_like(rates))[0]) if robot.loops else rates
    fastest = np.nan_to_num(np.abs(qd)).max(axis=0)
    return max(_SHORTEST, *(float(fastest[v].max()) / limit for v, limit in limited))


# ---- how far -------------------------------------------------------------------------------------


def _way(robot: Robot) -> Array:
    """The first of the ways on which the robot may go."""
    start, ways = robot.neutral(), np.array(list(_ways(robot)))
    if not robot.loops:
        return ways[0]
    path = _path(robot, start, ways, np.linspace(0.0, 1.0, _LOOKS + 1))
    good = np.isfinite(path).all(axis=(0, 2)) & _inside(robot, path)
    for chosen in np.flatnonzero(good):
        margin = margins(robot, path[:, chosen])
        if (margin > max(_KEPT * margin[0], 1e-6)).all():
            return ways[chosen]
    return np.zeros(robot.nv)


def margins(robot: Robot, path: Array) -> Array:
    """How far from singular along a path, from 0 to 1: of the joints, and of the motors where these decide all."""
    joints, motors = (np.asarray(x) for x in robot.singularity(path))
    return np.minimum(joints, motors) if robot.mobility.driven == robot.mobility.freedoms else joints


def _ways(robot: Robot) -> Iterable[Array]:
    """How far each own velocity might go within its joint's limits: the largest first, to either side.

    The motor behind a spring goes with its joint.
    """
    size = float(np.ptp(Placed.of(robot).points, axis=0).max()) or 1.0
    start = robot.neutral()
    own: list[tuple[Joint, float | None, float]] = []
    independent = robot.coordinates.independent
    for number, entry in enumerate(robot.coordinates.owners("qd", every=True)):
        if number in independent:
            k = number - entry.v.start
            here = float(start[entry.q.start + k]) if entry.quaternion is None else None
            own.append((entry.joint, here, _step(entry.joint, k, len(own), size)))
    order = np.argsort(np.argsort(independent))
    fewer, wave = (_MANY / 2 / robot.nv, 4) if robot.nv > _MANY else (1.0, 1)
    for share, sides in itertools.product(_SIZES, _SIDES) if robot.loops else [(1.0, _SIDES[0])]:
        steps = [share * fewer * step * sides[k // wave % 2] for k, (_, _, step) in enumerate(own)]
        found = [_within(joint, here, step) for (joint, here, _), step in zip(own, steps, strict=True)]
        by = {joint.name: way for (joint, _, _), way in zip(own, found, strict=True)}
        found = [
            by.get(joint.series[0], 0.0) if joint.series else way
            for (joint, _, _), way in zip(own, found, strict=True)
        ]  # fmt: skip
        yield np.array(found)[order]


def _step(joint: Joint, part: int, number: int, size: float) -> float:
    """Radians or metres of a velocity; less for each of several of one joint."""
    share = 1.0 if joint.nv == 1 else 0.5
    if joint.type.turns[part]:
        return share * (0.9, 0.6, 0.75)[number % 3]
    return share * 0.25 * min(size, 5.0) * (1.0, 0.6, 0.8)[number % 3]


def bounds(joint: Joint) -> tuple[float, float]:
    """Of its position; none where they exclude each other."""
    limits = joint.limits
    return (limits.lower, limits.upper) if limits.lower <= limits.upper else (-np.inf, np.inf)


def _within(joint: Joint, here: float | None, step: float) -> float:
    """The step, or as much of it as the limits allow, to the side where there is more room if there is not enough."""
    if here is None:
        return step
    lower, upper = bounds(joint)
    up, down = max(0.8 * (upper - here), 0.0), max(0.8 * (here - lower), 0.0)
    if -down <= step <= up:
        return step
    return min(up, abs(step)) if up >= down else -min(down, abs(step))


def _inside(robot: Robot, path: Array) -> NDArray[np.bool_]:
    """Which of the ways, axis 1 of a path, stay within the limits of all joints; the start itself may lie outside."""
    good = np.ones(path.shape[1], dtype=bool)
    for entry in robot.coordinates:
        if entry.quaternion is None:
            lower, upper = bounds(entry.joint)
            part = path[..., entry.q]
            low, high = np.minimum(lower, part[0]), np.maximum(upper, part[0])
            good &= ((low <= part) & (part <= high)).all(axis=(0, 2))
    return good

"""Poses and test motions: of a tree, and of a machine whose loops stay closed along the way."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.files.columns import slots
from neuler.robot import Joint, Mechanism, ParallelRobot, Robot
from neuler.view.draw_machine import Placed
from neuler.view.machine_text import Machine, mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """A smooth motion at rest at both ends, one row a moment."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


# ---- trees ---------------------------------------------------------------------------------------


def _bounds(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    return (limits.lower, limits.upper) if limits.lower <= limits.upper else (-np.inf, np.inf)


def start_pose(robot: Robot) -> Array:
    """All zeros, moved into the limits where these exclude zero; free links on their seats."""
    return robot.neutral()


def bent_pose(robot: Robot) -> Array:
    """Every joint away from its start, within its limits, to the side where there is more room; free links moved.

    A robot with a free link bends less, and in waves: it may be long.
    """
    reach = sum(float(np.linalg.norm(joint.placement.translation)) for joint in robot.joints) or 1.0
    start, free = start_pose(robot), robot.nq != robot.nv
    bent: list[float] = []
    for k, (joint, q, _) in enumerate(slots(robot)):
        if joint.kind == "free":
            shift = 0.15 * min(reach, 5.0)
            bent += [shift, -shift, shift, *(np.sin(0.2) * np.array([0.48, -0.64, 0.6])).tolist(), float(np.cos(0.2))]
            continue
        lower, upper = _bounds(joint)
        step = (0.9, 0.6, 0.75)[k % 3] if joint.kind == "revolute" else 0.2 * min(reach, 5.0)
        step *= min(1.0, 6.0 / robot.nv) if free else 1.0
        up, down = upper - start[q], start[q] - lower
        if up == down:
            side = -1.0 if (k // 4 if free else k) % 2 else 1.0
        else:
            side = 1.0 if up > down else -1.0
        bent.append(float(start[q]) + side * min(step, 0.8 * (up if side > 0 else down)))
    return np.array(bent)


def quintic(robot: Robot, start: Array, end: Array, count: int = 181) -> Motion:
    """Ten, fifteen, six: position, velocity and acceleration continuous; slow enough for the velocity limits.

    A free link goes along the screw from one pose to the other.
    """
    free = robot.nq != robot.nv
    way = robot.difference(start, end) if free else end - start
    duration = 1.5
    for joint, _, v in slots(robot):
        if 0.0 < joint.limits.velocity < np.inf:
            duration = max(duration, 1.875 * float(np.abs(way[v])) / joint.limits.velocity)
    s = np.linspace(0.0, 1.0, count)[:, None]
    place, speed, push = _quintic(s)
    return Motion(
        s[:, 0] * duration,
        np.asarray(robot.integrate(start, way, place[:, 0])) if free else start + way * place,
        way * speed / duration,
        way * push / duration**2,
    )


def _quintic(s: Array) -> tuple[Array, Array, Array]:
    """From 0 to 1, and its first and second derivative."""
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
        30.0 * s**2 * (1.0 - s) ** 2,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
    )


# ---- machines ------------------------------------------------------------------------------------

_SIZES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.1, 0.05, 0.02)
_KEPT = 0.35
"""Share of the reference's distance from singular poses that a motion keeps."""


@dataclass(frozen=True)
class MachineMotion(Motion):
    """Of a machine: q of all joints of the tree, closed; qd and qdd of the independent ones."""

    independent: tuple[str, ...]
    margin: Array
    """How far from singular, along the way."""
    gap: float
    """What the loops are open by at most (m, rad)."""


def independent_joints(own: Mechanism) -> tuple[str, ...]:
    """Joints whose motion decides all others, in the order of the tree.

    Active ones, and where these do not suffice some that nobody drives.
    """
    facts = own.mobility
    if facts.independent:
        return facts.independent
    every = slots(own.tree)
    every.sort(key=lambda slot: (slot[0].kind == "free", slot[0].role != "driven"))
    chosen: list[str] = []
    rows: list[int] = []
    for joint, _, v in every:
        more = [*rows, *range(v, v + joint.nv)]
        if np.linalg.matrix_rank(facts.motions[more], tol=1e-8) == len(more):
            chosen.append(joint.name)
            rows = more
    return tuple(x for x in own.joint_names if x in chosen) if len(rows) == facts.freedoms else ()


@functools.lru_cache(maxsize=8)
def machine_motion(machine: Machine, count: int = 181) -> MachineMotion:
    """From the reference to another closed pose: as far as limits and singular poses allow, on one branch.

    Where nothing can be moved it stands still.
    """
    own = mechanism(machine)
    names = independent_joints(own)
    places = [q + k for joint, q, _ in slots(own.tree) if joint.name in names for k in range(joint.nq)]
    start = np.array(own.mobility.reference)[places]
    way = np.zeros_like(start)
    for trial in _ways(own, names):
        if _allowed(machine, names, start, trial):
            way = trial
            break
    s = np.linspace(0.0, 1.0, count)[:, None]
    place, speed, push = _quintic(s)
    path = _closed(own, names, start + way * place)
    if path is None:  # independent joints that decide nothing, or none
        path = np.tile(own.mobility.reference, (count, 1))
    rate = _velocities(own, names, way)
    duration = _duration(own, names, path, rate * speed)
    margin = _margins(machine, names, path).min(axis=0) if names else np.ones(count)
    gap = float(np.abs(np.asarray(own.closure(path)[0])).max(initial=0.0))
    qd, qdd = rate * speed / duration, rate * push / duration**2
    return MachineMotion(s[:, 0] * duration, path, qd, qdd, names, margin, gap)


def _ways(own: Mechanism, names: Sequence[str]) -> Iterator[Array]:
    """How far each independent joint might go within its limits: the largest first, to either side."""
    size = float(np.ptp(Placed.of(own, None).joints, axis=0).max()) or 1.0
    joints = [(joint, own.mobility.reference[q]) for joint, q, _ in slots(own.tree) if joint.name in names]
    if all(joint.kind == "free" for joint, _ in joints):
        return
    for share, (even, odd) in itertools.product(_SIZES, ((1, -1), (1, 1), (-1, 1), (-1, -1))):
        found: list[float] = []
        for k, (joint, here) in enumerate(joints):
            if joint.kind == "free":
                found += [0.0] * 7
            else:
                step = (0.9, 0.6, 0.75)[k % 3] if joint.kind == "revolute" else 0.2 * size * (1.0, 0.6, 0.8)[k % 3]
                found.append(_within(joint, here, share * step * (odd if k % 2 else even)))
        yield np.array(found)


def _within(joint: Joint, here: float, step: float) -> float:
    """The step, or as much of it as the limits allow, to the side where there is more room if there is not enough."""
    lower, upper = _bounds(joint)
    up, down = max(0.8 * (upper - here), 0.0), max(0.8 * (here - lower), 0.0)
    if -down <= step <= up:
        return step
    return min(up, abs(step)) if up >= down else -min(down, abs(step))


def _allowed(machine: Machine, names: Sequence[str], start: Array, way: Array) -> bool:
    """Whether the loops stay closed all the way, within all limits and away from singular poses."""
    own = mechanism(machine)
    path = _closed(own, names, start + way * np.linspace(0.0, 1.0, 31)[:, None])
    if path is None:
        return False
    for joint, q, _ in slots(own.tree):
        lower, upper = _bounds(joint)
        inside = min(lower, path[0, q]), max(upper, path[0, q])  # the reference itself may lie outside
        if joint.kind != "free" and not (inside[0] <= path[:, q].min() and path[:, q].max() <= inside[1]):
            return False
    margins = _margins(machine, names, path)
    return bool((margins > np.maximum(_KEPT * margins[:, :1], 1e-6)).all())


def _margins(machine: Machine, names: Sequence[str], path: Array) -> Array:
    """How far from singular along a path: of the loops, and of the legs and the platform of a parallel robot."""
    found = [np.asarray(mechanism(machine).compile("singularity", independent=tuple(names))(path))]
    if isinstance(machine, ParallelRobot):
        found += [np.asarray(x) for x in machine.singularity(path)]
    return np.array(found)


def _closed(own: Mechanism, names: Sequence[str], path: Array) -> Array | None:
    """All joints along a path of the independent ones; None where the loops open or jump."""
    if not names:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = own.assemble(path, independent=tuple(names), continuous=True)
    except NeulerError:
        return None
    return found.q if found.closed.all() else None


def _velocities(own: Mechanism, names: Sequence[str], way: Array) -> Array:
    """Of the independent joints: a free one stands still."""
    found: list[float] = []
    at = 0
    for joint in own.tree.moving_joints:
        if joint.name in names:
            found += [0.0] * 6 if joint.kind == "free" else [float(way[at])]
            at += joint.nq
    return np.array(found)


def _duration(own: Mechanism, names: Sequence[str], path: Array, rate: Array) -> float:
    """Seconds, at least so many that no joint is faster than its limit; ``rate`` is that of one second."""
    duration = 1.5
    limited = [(v, joint.limits.velocity) for joint, _, v in slots(own.tree) if 0 < joint.limits.velocity < np.inf]
    if limited and names:
        qd, _ = own.compile("tree_motion", independent=tuple(names))(path, rate, np.zeros_like(rate))
        fastest = np.nan_to_num(np.abs(np.asarray(qd))).max(axis=0)
        duration = max(duration, *(float(fastest[v]) / limit for v, limit in limited))
    return duration

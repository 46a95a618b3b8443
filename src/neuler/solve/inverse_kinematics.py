"""Inverse kinematics of any frame: damped Newton steps from a guess and from random starts, many targets at once."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, RobotError
from neuler.inputs import array, number, whole
from neuler.naming import hint
from neuler.plain import count
from neuler.robot import Robot
from neuler.robot.configuration import check_closed, check_unit, listed, positions
from neuler.robot.value import kept
from neuler.solve.reaching import Wanted
from neuler.solve.searching import Arrivals, Ends, Search
from neuler.tables import take_columns

Array = NDArray[np.float64]

_VERB = "inverse_kinematics"
_ROWS = 1 << 14
"""States that are worked on at once."""
_FAR = 1e100
"""Metres that no search was away by: it could not begin."""
_ROTATION, _EXACT = 1e-3, 1e-14
"""By which R^T R of a target may be off from the unit matrix; and from where on it is made a rotation."""


@dataclass(frozen=True)
class Reached:
    """Positions at which a frame is where it was wanted.

    ``distance`` (m) and ``angle`` (rad) are what it misses by there, ``angle`` None where no turn was asked for.
    ``converged`` says where both are small enough; elsewhere q is NaN, and they are those of the nearest that was
    found. ``iterations`` counts the steps of all starts.
    """

    q: Array
    distance: Array
    angle: Array | None
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]


def inverse_kinematics(
    robot: Robot,
    target: ArrayLike,
    guess: ArrayLike | None,
    frame: str | None,
    *,
    orientation: bool = True,
    joints: str | Sequence[str] | None = None,
    limits: bool = True,
    tolerance: float = 1e-10,
    iterations: int = 100,
    starts: int = 64,
    seed: Any = 0,
) -> Reached:
    """See ``Robot.inverse_kinematics``."""
    for what, value in (("orientation", orientation), ("limits", limits)):
        if not isinstance(value, bool):
            raise InputError(f"{_VERB}: {what} must be True or False, got {value!r}")
    tolerance = number(f"{_VERB}: tolerance", tolerance, above=0.0, unit="m, rad")
    most, more = whole(f"{_VERB}: iterations", iterations, 1), whole(f"{_VERB}: starts", starts, 0)
    search = _search(robot, frame, orientation, joints, limits)
    goals, valid = _targets(target, orientation)
    begin = search.neutral
    if guess is not None:
        begin = positions(robot, _VERB, "guess", guess)
        check_unit(robot, _VERB, "guess", begin)
        if robot.loops:
            check_closed(robot, _VERB, "guess", begin)
    ends = Ends(tolerance, most)
    others = functools.cache(lambda: search.starts(more, seed))  # drawn when they are needed, once for all rows
    if valid is True and begin.ndim == 1:
        with np.errstate(all="ignore"):  # of searches that go astray, which are judged below
            one = search.best(goals[None], begin[None], ends, others)
        parts: Any = (one.distance, one.angle, one.converged, one.iterations)
        distance, angle, converged, steps = (x.reshape(()) for x in parts)
        found = Reached(one.q[0], distance, angle if orientation else None, converged, steps)
        return _judged(robot, search, found, np.array(True), more, most)
    good = np.asarray(valid)
    try:
        batch = np.broadcast_shapes(good.shape, begin.shape[:-1])
    except ValueError:
        raise InputError(
            f"{_VERB}: the batch axes do not broadcast: targets {good.shape}, guess {begin.shape}"
        ) from None
    shape = goals.shape[good.ndim :]
    rows = np.broadcast_to(goals, (*batch, *shape)).reshape(-1, *shape)
    begins = np.broadcast_to(begin, (*batch, robot.nq)).reshape(-1, robot.nq)
    usable = np.broadcast_to(good, batch).ravel()
    every = Arrivals.empty(len(rows), robot.nq)
    with np.errstate(all="ignore"):
        for first in range(0, len(rows), _ROWS):
            some = np.arange(first, min(first + _ROWS, len(rows)))
            some = some[usable[some]]
            every.put(some, search.best(rows[some], begins[some], ends, others))
    shaped = Reached(
        every.q.reshape(*batch, robot.nq),
        every.distance.reshape(batch),
        every.angle.reshape(batch) if orientation else None,
        every.converged.reshape(batch),
        every.iterations.reshape(batch),
    )
    return _judged(robot, search, shaped, np.broadcast_to(good, batch), more, most)


# ---- what was given --------------------------------------------------------------------------------


@kept
def _searches(robot: Robot) -> dict[Any, Search]:
    return {}


def _search(robot: Robot, frame: Any, orientation: bool, joints: Any, limits: bool) -> Search:
    """The search for these, made once and stored with the robot, as its verbs are."""
    held = _searches(robot)
    key = (frame, orientation, tuple(joints) if isinstance(joints, list) else joints, limits)
    try:
        found = held.get(key)
    except TypeError:  # no names; refused below
        found = None
    if found is None:
        name = robot.tip if frame is None else frame
        if not isinstance(name, str):
            raise InputError(f"{_VERB}: frame must be the name of a link or a frame, got {frame!r}")
        robot.locate(name)
        found = held[key] = Search.of(robot, Wanted(name, orientation, _joints(robot, joints), limits))
    return found


def _joints(robot: Robot, joints: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if joints is None:
        return None
    chosen = (joints,) if isinstance(joints, str) else joints
    if not isinstance(chosen, list | tuple) or not chosen or not all(isinstance(x, str) for x in chosen):
        raise InputError(f"{_VERB}: joints must be names of those that may move, got {joints!r}")
    if robot.loops:
        raise InputError(
            f"{_VERB}: joints= holds the other joints where they are, which the loops of robot {robot.name!r} may not "
            "allow; leave it away, or make a robot without the loops"
        )
    for name in chosen:
        if name not in robot.joint_names:
            raise InputError(f"{_VERB}: there is no moving joint {name!r}; {hint(name, robot.joint_names)}")
    return tuple(chosen)


def _targets(target: ArrayLike, turned: bool) -> tuple[Array, NDArray[np.bool_] | bool]:
    """(..., 3, 4) or (..., 3), and where they are poses: True of one that is. One that is none is an error; of a batch,
    a warning."""
    target = take_columns(_VERB, "pose", target, "pose", () if turned else ("x", "y", "z"))
    given: Any = array(_VERB, "pose", target, ())
    if not turned:
        if given.shape[-1:] != (3,):
            raise InputError(f"{_VERB}: expected positions with last axis 3 (m), got shape {given.shape}")
        return given, np.isfinite(given).all(axis=-1)
    if given.shape[-2:] != (4, 4):
        places = "; orientation=False takes positions alone" if given.shape[-1:] == (3,) else ""
        raise InputError(f"{_VERB}: expected poses, homogeneous matrices (4, 4), got shape {given.shape}{places}")
    if given.ndim == 2 and _is_pose(*given.tolist()):
        return given[:3], True
    finite = np.isfinite(given).all(axis=(-2, -1))
    rotation = given[..., :3, :3]
    off = np.abs(np.swapaxes(rotation, -2, -1) @ rotation - np.eye(3)).max(axis=(-2, -1))
    bad = (off > _ROTATION) | (np.abs(given[..., 3, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1) > _ROTATION)
    bad |= np.linalg.det(np.where(finite[..., None, None], rotation, np.eye(3))) < 0.0
    bad &= finite
    if bad.any():
        message = (
            f"{_VERB}: the pose is no homogeneous matrix{listed(np.asarray(bad))}: its rotation must be orthogonal and "
            "right-handed, its last row 0, 0, 0, 1"
        )
        if not bad.ndim:
            raise InputError(message)
        warnings.warn(f"{message}; there q is NaN", RuntimeWarning, stacklevel=4)
    goals = given[..., :3, :].copy()
    rough = finite & ~bad & (off > _EXACT)
    if rough.any():
        left, _, right = np.linalg.svd(rotation[rough])
        goals[rough, :, :3] = left @ right
    return goals, finite & ~bad


def _is_pose(x: list[float], y: list[float], z: list[float], last: list[float]) -> bool:
    """Whether rows of numbers are a homogeneous matrix up to rounding: in plain numbers, of one it is quicker."""
    (a, b, c, p), (d, e, f, q), (g, h, i, r) = x, y, z
    off = max(
        abs(a * a + d * d + g * g - 1.0), abs(b * b + e * e + h * h - 1.0), abs(c * c + f * f + i * i - 1.0),
        abs(a * b + d * e + g * h), abs(a * c + d * f + g * i), abs(b * c + e * f + h * i),
    )  # fmt: skip
    right_handed = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0
    return off <= _EXACT and right_handed and last == [0.0, 0.0, 0.0, 1.0] and math.isfinite(p + q + r)


# ---- what was found ------------------------------------------------------------------------------


def _judged(robot: Robot, search: Search, found: Reached, valid: NDArray[np.bool_], starts: int, most: int) -> Reached:
    if found.converged.all():
        return found
    frame = search.wanted.frame
    if not found.converged.ndim:
        if not valid:
            raise InputError(f"{_VERB}: the pose must be finite numbers")
        within = " within the limits of its joints" if search.wanted.limited and search.limited else ""
        turn = "" if found.angle is None else f" and {float(found.angle):.3g} rad"
        near = f"the nearest is {float(found.distance):.3g} m{turn} away" if found.distance < _FAR else "none is near"
        other = ", or look beyond the limits (limits=False)" if within else ""
        raise RobotError(
            f"{_VERB}: found no position of robot {robot.name!r}{within} that brings {frame!r} there, from "
            f"{count(starts + 1, 'start')} of {count(most, 'step')}; {near}. If it can be reached, try more starts= or "
            f"another guess{other}"
        )
    warnings.warn(
        f"{_VERB}: found no position of robot {robot.name!r} that brings {frame!r} there{listed(~found.converged)}; "
        "there q is NaN",
        RuntimeWarning,
        stacklevel=4,
    )
    return replace(found, q=np.where(found.converged[..., None], found.q, np.nan))

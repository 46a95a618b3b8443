"""Inverse kinematics of any frame: damped Newton steps from a guess and from random starts, many targets at once."""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, RobotError
from neuler.functions.function import Function
from neuler.naming import hint
from neuler.robot import Robot
from neuler.robot.configuration import check_unit, listed, positions
from neuler.solve.reaching import Bounds, Wanted, reaching_step, scale

Array = NDArray[np.float64]

_VERB = "inverse_kinematics"
_DAMPING = (1e-9, 0.1, 1e9)
"""Least, first and most: a state that needs more is given up."""
_EASED, _STIFFENED = 0.5, 4.0
"""What a step that came nearer, and one that did not, make of it."""
_FLAT = 1e-7
"""Slope of an error that does not become less."""
_ROUNDS = (4, 8, 16, 32)
"""Starts that are tried together; the last number again and again."""
_ROWS = 1 << 14
"""States that are worked on at once."""
_ROTATION = 1e-3
"""By which R^T R of a target may be off from the unit matrix; it is made a rotation."""


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
    name = robot.tip if frame is None else frame
    if not isinstance(name, str):
        raise InputError(f"{_VERB}: frame must be the name of a link or a frame, got {frame!r}")
    robot.locate(name)
    for what, value in (("orientation", orientation), ("limits", limits)):
        if not isinstance(value, bool):
            raise InputError(f"{_VERB}: {what} must be True or False, got {value!r}")
    if not isinstance(tolerance, Real) or not 0 < tolerance < math.inf:
        raise InputError(f"{_VERB}: tolerance must be a positive number (m, rad), got {tolerance!r}")
    most, more = _whole("iterations", iterations, 1), _whole("starts", starts, 0)
    wanted = Wanted(name, orientation, _joints(robot, joints), limits)
    solver = _Solver.of(robot, wanted)
    solver = replace(solver, tolerance=float(tolerance), most=most)
    goals, valid = _targets(target, orientation)
    begin = robot.neutral() if guess is None else positions(robot, _VERB, "guess", guess)
    check_unit(robot, _VERB, "guess", begin)
    try:
        batch = np.broadcast_shapes(valid.shape, begin.shape[:-1])
    except ValueError:
        raise InputError(
            f"{_VERB}: the batch axes do not broadcast: targets {valid.shape}, guess {begin.shape}"
        ) from None
    shape = goals.shape[valid.ndim :]
    rows = np.broadcast_to(goals, (*batch, *shape)).reshape(-1, *shape)
    begins = np.broadcast_to(begin, (*batch, robot.nq)).reshape(-1, robot.nq)
    usable = np.broadcast_to(valid, batch).ravel()
    found = _Rows.empty(len(rows), robot.nq)
    others = functools.cache(lambda: solver.starts(more, seed))  # drawn when they are needed, once for all rows
    with np.errstate(all="ignore"):  # of rows that go astray, which are judged below
        for first in range(0, len(rows), _ROWS):
            some = np.arange(first, min(first + _ROWS, len(rows)))
            some = some[usable[some]]
            found.put(some, solver.best(rows[some], begins[some], others))
    shaped = Reached(
        found.q.reshape(*batch, robot.nq),
        found.distance.reshape(batch),
        found.angle.reshape(batch) if orientation else None,
        found.converged.reshape(batch),
        found.iterations.reshape(batch),
    )
    return _judged(robot, solver, shaped, np.broadcast_to(valid, batch), more)


# ---- what was given --------------------------------------------------------------------------------


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise InputError(f"{_VERB}: {name} must be a whole number from {least} on, got {value!r}")
    return operator.index(value)


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


def _targets(target: ArrayLike, turned: bool) -> tuple[Array, NDArray[np.bool_]]:
    """(..., 3, 4) or (..., 3), and where they are poses. One that is none is an error; of a batch, a warning."""
    try:
        given = np.asarray(target, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{_VERB}: pose must be an array of numbers, got {target!r:.80}") from None
    if not turned:
        if given.shape[-1:] != (3,):
            raise InputError(f"{_VERB}: expected positions with last axis 3 (m), got shape {given.shape}")
        return given, np.isfinite(given).all(axis=-1)
    if given.shape[-2:] != (4, 4):
        places = "; orientation=False takes positions alone" if given.shape[-1:] == (3,) else ""
        raise InputError(f"{_VERB}: expected poses, homogeneous matrices (4, 4), got shape {given.shape}{places}")
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
    rough = finite & ~bad & (off > 1e-14)
    if rough.any():
        left, _, right = np.linalg.svd(rotation[rough])
        goals[rough, :, :3] = left @ right
    return goals, finite & ~bad


# ---- the search ------------------------------------------------------------------------------------


@dataclass
class _Rows:
    """Results of rows, to be written into."""

    q: Array
    distance: Array
    angle: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]

    @classmethod
    def empty(cls, rows: int, nq: int) -> _Rows:
        away = np.full(rows, np.nan)
        return cls(np.full((rows, nq), np.nan), away, away.copy(), np.zeros(rows, bool), np.zeros(rows, np.int64))

    def put(self, where: Any, other: _Rows) -> None:
        """The rows of another."""
        self.q[where], self.distance[where], self.angle[where] = other.q, other.distance, other.angle
        self.converged[where], self.iterations[where] = other.converged, other.iterations

    def taken(self, where: Any) -> _Rows:
        """Some rows."""
        return _Rows(
            self.q[where], self.distance[where], self.angle[where], self.converged[where], self.iterations[where]
        )


@dataclass(frozen=True)
class _Solver:
    """Brings one frame to targets, row by row."""

    robot: Robot
    wanted: Wanted
    step: Function
    used: tuple[int, ...]
    bounds: Bounds
    length: float
    tolerance: float = 0.0
    most: int = 0

    @classmethod
    def of(cls, robot: Robot, wanted: Wanted) -> _Solver:
        kept = robot.__dict__.setdefault("_reaching", {})  # as the verbs are
        if wanted not in kept:
            step, used = reaching_step(robot, wanted)
            kept[wanted] = cls(robot, wanted, step, used, Bounds.of(robot, wanted.limited), scale(robot, wanted.frame))
        solver: _Solver = kept[wanted]
        return solver

    def starts(self, count: int, seed: Any) -> Array:
        """Random positions within the limits, the same for every row."""
        if not count:
            return np.zeros((0, self.robot.nq))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.within(self.robot.random_configuration(seed, count))

    def within(self, q: Array) -> Array:
        """Positions with the joints that may move at their limits where they were beyond; of loops as they are."""
        if self.robot.loops:
            return q
        numbers = [k for k in self.used if self.bounds.places[k] >= 0]
        places = [self.bounds.places[k] for k in numbers]
        lower, upper = (np.array(x)[numbers] for x in (self.bounds.lower, self.bounds.upper))
        q = q.copy()
        q[..., places] = np.clip(q[..., places], lower, upper)
        return q

    def best(self, goals: Array, begins: Array, others: Callable[[], Array]) -> _Rows:
        """From the guess; where that does not lead there, from other starts: the nearest to the guess counts."""
        found = self.search(self.within(begins), goals)
        at, rounds = 0, iter(_ROUNDS)
        while not found.converged.all():
            size = next(rounds, _ROUNDS[-1])
            some, at = others()[at : at + size], at + size
            if not len(some):
                break
            left = np.flatnonzero(~found.converged)
            tried = self.search(self.mixed(begins[left], some), np.repeat(goals[left], len(some), axis=0))
            picked = self.nearest(tried, begins[left], len(some))
            better = self.off(picked) < self.off(found.taken(left))
            better |= ~np.isfinite(self.off(found.taken(left)))
            steps = tried.iterations.reshape(len(left), -1).sum(axis=1) + found.iterations[left]
            found.put(left[better], picked.taken(better))
            found.iterations[left] = steps
        found.q = self.unwound(found.q, begins)
        places = dict(zip(self.bounds.names, self.bounds.places, strict=True))
        for joint in self.robot.moving_joints:
            if joint.series is not None and joint.name in places and joint.series[0] in places:
                theta, link = places[joint.name], places[joint.series[0]]  # the spring keeps its stretch
                found.q[:, theta] = begins[:, theta] + found.q[:, link] - begins[:, link]
        return found

    def mixed(self, begins: Array, starts: Array) -> Array:
        """Every start for every row, (rows x starts, nq): joints that do not move the frame stay as in the guess."""
        rows = np.repeat(begins, len(starts), axis=0)
        every = np.tile(starts, (len(begins), 1))
        if self.robot.loops:
            return every
        moved, at = [], 0
        names = {self.bounds.names[k] for k in self.used}
        for joint in self.robot.moving_joints:
            moved += [*range(at, at + joint.nq)] if joint.name in names else []
            at += joint.nq
        rows[:, moved] = every[:, moved]
        return rows

    def off(self, found: _Rows) -> Array:
        """What a frame misses by, in one number: turns count by the robot's length."""
        return np.hypot(found.distance / self.length, found.angle)

    def nearest(self, found: _Rows, begins: Array, starts: int) -> _Rows:
        """Of all starts of a row: the solution nearest to the guess; without one, what misses least."""
        away = np.full(len(found.q), np.inf)
        right = np.flatnonzero(found.converged)
        if len(right):
            guesses = np.repeat(begins, starts, axis=0)[right]
            way = self.robot.difference(guesses, self.unwound(found.q[right], guesses))
            away[right] = np.square(way).sum(axis=-1)
        off = np.where(np.isfinite(self.off(found)), self.off(found), np.finfo(float).max)
        order = np.where(found.converged, away, 1e100 * (1.0 + off))
        chosen = order.reshape(-1, starts).argmin(axis=1) + starts * np.arange(len(begins))
        return found.taken(chosen)

    def unwound(self, q: Array, begins: Array) -> Array:
        """Less whole turns of joints that turn on: those nearest to the guess, within the limits."""
        robot = self.robot
        if robot.loops or robot.couplings:
            return q
        q, at = q.copy(), 0
        limits = dict(zip(self.bounds.names, zip(self.bounds.lower, self.bounds.upper, strict=True), strict=True))
        names = {self.bounds.names[k] for k in self.used}
        for joint in robot.moving_joints:
            if joint.name in names and joint.type.has_axis and joint.type.turns == (True,) and not joint.pitch:
                turned = q[:, at] + 2 * np.pi * np.rint((begins[:, at] - q[:, at]) / (2 * np.pi))
                low, high = limits[joint.name]
                q[:, at] = np.where((turned >= low) & (turned <= high), turned, q[:, at])
            at += joint.nq
        return q

    def search(self, start: Array, goals: Array) -> _Rows:
        """Levenberg and Marquardt's method from each start to its goal."""
        q, rows = start.copy(), len(start)
        least, first, most = _DAMPING
        damping = np.full(rows, first)
        distance, angle, slope, ahead = (np.array(x) for x in self.step(q, goals, damping))
        count = np.zeros(rows, np.int64)
        off = np.hypot(distance / self.length, angle)
        busy = np.flatnonzero(self._going(distance, angle, slope) & np.isfinite(off))
        for _ in range(self.most):
            if not len(busy):
                break
            eased = np.maximum(_EASED * damping[busy], least)
            one = self.step(ahead[busy], goals[busy], eased)
            there = np.hypot(one.distance / self.length, one.angle)
            count[busy] += 1
            nearer = there < off[busy]
            won, lost = busy[nearer], busy[~nearer]
            q[won], ahead[won], off[won] = ahead[won], one.ahead[nearer], there[nearer]
            distance[won], angle[won], slope[won] = one.distance[nearer], one.angle[nearer], one.slope[nearer]
            damping[won] = eased[nearer]
            lost = lost[~self._there(distance[lost], angle[lost])]  # an error of rounding cannot become smaller
            damping[lost] *= _STIFFENED
            lost = lost[damping[lost] < most]
            if len(lost):
                ahead[lost] = self.step(q[lost], goals[lost], damping[lost]).ahead
            busy = np.concatenate([won[self._going(distance[won], angle[won], slope[won])], lost])
        q = self.within(q)  # rounding of a step may lead beyond
        converged = self._there(distance, angle)
        if self.wanted.limited and self.robot.loops:
            converged &= ~self.beyond(q)
        return _Rows(q, distance, angle, converged, count)

    def _going(self, distance: Array, angle: Array, slope: Array) -> NDArray[np.bool_]:
        return ~self._there(distance, angle, 0.01) & ~(slope < _FLAT)

    def _there(self, distance: Array, angle: Array, share: float = 1.0) -> NDArray[np.bool_]:
        return (distance < share * self.tolerance) & (angle < share * self.tolerance)

    def beyond(self, q: Array) -> NDArray[np.bool_]:
        """Where a joint of a robot with loops is beyond a limit: those that follow are not held by steps."""
        found, at = np.zeros(len(q), bool), 0
        for joint, limits in zip(self.robot.moving_joints, self.robot.coordinate_limits, strict=True):
            if joint.type.quaternion is None and limits.lower <= limits.upper:
                part = q[:, at : at + joint.nq]
                found |= ((part < limits.lower - 1e-12) | (part > limits.upper + 1e-12)).any(axis=-1)
            at += joint.nq
        return found


def _judged(robot: Robot, solver: _Solver, found: Reached, valid: NDArray[np.bool_], starts: int) -> Reached:
    if found.converged.all():
        return found
    frame = solver.wanted.frame
    if not found.converged.ndim:
        if not valid:
            raise InputError(f"{_VERB}: the pose must be finite numbers")
        turn = "" if found.angle is None else f" and {float(found.angle):.3g} rad"
        beyond = " within the limits of its joints (limits=False looks beyond them)" if solver.wanted.limited else ""
        raise RobotError(
            f"{_VERB}: robot {robot.name!r} does not bring {frame!r} there{beyond}; the nearest that was found from "
            f"{starts + 1} starts is {float(found.distance):.3g} m{turn} away"
        )
    warnings.warn(
        f"{_VERB}: robot {robot.name!r} does not bring {frame!r} there{listed(~found.converged)}; there q is NaN",
        RuntimeWarning,
        stacklevel=4,
    )
    return replace(found, q=np.where(found.converged[..., None], found.q, np.nan))

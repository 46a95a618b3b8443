"""What must hold at one moment of a phase: at its ends, at via points, and at the end of an objective."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, real
from neuler.moments.measures import Measure, acceleration, frame_position, frame_velocity, velocity
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.naming import hint
from neuler.optimize.programme import Array
from neuler.plan.limits import Limit
from neuler.plan.objectives import Term
from neuler.plan.rows import LIMIT, Family, Rows, limit_family, objective_family, trace_rows
from neuler.robot import Transform
from neuler.robot.columns import by_columns

FREE = np.nan
"""Marks, inside, what a condition leaves free."""


@dataclass(frozen=True, eq=False)
class Boundary:
    """Conditions at one moment: position, velocity, acceleration; poses and velocities of frames.

    ``q`` is a position of the robot, a mapping by joint (others are free), or None (all free); ``qd`` and ``qdd`` are
    numbers for all joints, arrays (nv), mappings by joint, or None (free). ``poses`` maps frames to positions (3) or
    homogeneous matrices (4, 4) in the base frame; ``velocities`` maps frames to velocities of their origins (3),
    m/s, or with angular ones behind them (6), rad/s, in the axes of the base frame; joints are not at rest then.
    """

    q: Any = None
    qd: Any = 0.0
    qdd: Any = None
    poses: Mapping[str, Any] = field(default_factory=dict)
    velocities: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_mappings("boundary", self.poses, self.velocities)
        if self.velocities and isinstance(self.qd, int | float) and self.qd == 0.0:
            object.__setattr__(self, "qd", None)  # frames that move are not at rest

    @classmethod
    def of(cls, given: Any, joints: Collection[str] = ()) -> Boundary:
        """Return a boundary from one, from a position at rest, or from a mapping by joint or with its fields."""
        if given is None:
            return cls(qd=None)
        if isinstance(given, Boundary):
            return given
        fields = {"q", "qd", "qdd", "poses", "velocities"}
        if isinstance(given, Mapping) and set(given) <= fields and not (given and set(given) <= set(joints)):
            return cls(**given)
        return cls(q=given)

    @property
    def at_rest(self) -> bool:
        """Whether all joints are asked to stand still."""
        return (
            self.qd is not None and not isinstance(self.qd, Mapping) and not np.any(np.asarray(self.qd, dtype=object))
        )


@dataclass(frozen=True, eq=False)
class Via:
    """A condition on the way: at a share of the phase's duration, or (``at=None``) at a time to be found.

    The velocity is free unless it is given. ``poses`` and ``velocities`` are those of :class:`Boundary`.
    """

    at: float | None = None
    q: Any = None
    qd: Any = None
    poses: Mapping[str, Any] = field(default_factory=dict)
    velocities: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.at is not None:
            share = real(self.at)
            if share is None or share.shape != () or not 0.0 < share < 1.0:
                raise InputError(f"via: at must be a share between 0 and 1, or None for a free time, got {self.at!r}")
            object.__setattr__(self, "at", float(share))
        _check_mappings("via", self.poses, self.velocities)
        if self.q is None and self.qd is None and not self.poses and not self.velocities:
            raise InputError("via: give a position q, a velocity qd, poses or velocities of frames to pass")

    @property
    def boundary(self) -> Boundary:
        """The same conditions without the time."""
        return Boundary(self.q, self.qd, None, self.poses, self.velocities)


def _check_mappings(what: str, poses: Any, velocities: Any) -> None:
    if not isinstance(poses, Mapping):
        raise InputError(f"{what}: poses must map frames to positions or matrices, got {poses!r:.60}")
    if not isinstance(velocities, Mapping):
        raise InputError(f"{what}: velocities must map frames to 3 or 6 numbers, got {velocities!r:.60}")


@dataclass(eq=False)
class Condition:
    """Conditions at one share of a phase: numbers of profiles and their derivatives, and traced rows for the others.

    ``linear`` holds (derivative, values (profiles), NaN where free): derivatives per second. ``rows`` have bounds of
    their own and take ``given``.
    """

    share: float
    what: str
    linear: list[tuple[int, Array]] = field(default_factory=list)
    rows: Rows | None = None
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    given: Array = field(default_factory=lambda: np.zeros(0))
    poses: dict[str, Array] = field(default_factory=dict)
    objective: bool = False
    """Whether its rows are terms of the objective."""


def condition_of(robot: MovingRobot, share: float, boundary: Boundary, what: str, *, goal: bool = False) -> Condition:
    """Conditions of a boundary; at a ``goal`` the rest of a base that floats is not asked for: it follows."""
    found = Condition(share, what)
    found.linear.append((0, targets(robot, boundary.q, f"{what}: q", position=True)))
    rows = _RowsOfCondition(robot, found)
    moving = targets(robot, boundary.qd, f"{what}: qd")
    bending = targets(robot, boundary.qdd, f"{what}: qdd")
    by_default = not isinstance(boundary.qd, Mapping) and np.ndim(boundary.qd) == 0
    if goal and by_default:
        moving[robot.floating_profiles] = np.nan
    rows.derivative(1, moving, velocity)
    still = robot.coordinates.plain or not np.any(np.nan_to_num(moving))
    rows.derivative(2, bending, acceleration, still)
    if boundary.qdd is None and robot.rest_order > 1 and by_default and boundary.qd == 0.0:
        for k in range(2, robot.rest_order + 1):  # with springs: that motors stand still, too
            found.linear.append((k, moving.copy()))
    for frame, wanted in boundary.poses.items():
        rows.pose(frame, pose_of(wanted, f"{what}: pose of {frame}"))
    for frame, wanted in boundary.velocities.items():
        rows.velocity(frame, wanted)
    rows.trace()
    return found


class _RowsOfCondition:
    """Families of rows of a condition, with their bounds, as they are collected."""

    def __init__(self, robot: MovingRobot, condition: Condition) -> None:
        self.robot, self.condition = robot, condition
        self.families: list[Family] = []
        self.bounds: list[tuple[Array, Array]] = []
        self.given: list[float] = []

    def derivative(self, order: int, values: Array, measure: Measure, plain: bool = True) -> None:
        """Zero, and velocities of plain joints, are linear in control points and duration; others are rows."""
        robot = self.robot
        zero = np.where(values == 0.0, 0.0, np.nan) if plain else np.full(robot.profile_count, np.nan)
        if order == 1 and robot.coordinates.plain:
            zero = values
        rest = np.where(np.isnan(zero), values, np.nan)
        if not np.isnan(zero).all():
            self.condition.linear.append((order, zero))
        if not np.isnan(rest).all():
            self.families.append(Family(LIMIT, measure.name, measure.rows, lambda n: robot.names))
            self.bounds.append((np.where(np.isnan(rest), -np.inf, rest), np.where(np.isnan(rest), np.inf, rest)))

    def pose(self, frame: str, pose: Array) -> None:
        """A frame at a position (3), or at a homogeneous matrix (4, 4)."""
        self.robot.robot.locate(frame)
        self.condition.poses[frame] = pose
        place = pose[:3, 3] if pose.shape == (4, 4) else pose
        self.families.append(limit_family(self.robot, Limit(frame_position(frame))))
        self.bounds.append((place, place))
        if pose.shape == (4, 4):
            self.families.append(_turned(frame, len(self.given)))
            self.bounds.append((np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, np.inf])))
            self.given.extend(pose[:3, :3].ravel())

    def velocity(self, frame: str, wanted: Any) -> None:
        """A velocity of a frame's origin (3), or with the angular one behind it (6)."""
        self.robot.robot.locate(frame)
        found = real(wanted)
        if found is None or found.shape not in ((3,), (6,)) or not np.isfinite(found).all():
            raise InputError(
                f"{self.condition.what}: velocity of {frame}: expected 3 numbers (m/s), or 6 with the angular velocity "
                f"behind them, got {wanted!r:.60}"
            )
        self.families.append(limit_family(self.robot, Limit(frame_velocity(frame))))
        none = np.full(6 - len(found), np.inf)
        self.bounds.append((np.concatenate([found, -none]), np.concatenate([found, none])))

    def trace(self) -> None:
        """Trace one function for all families."""
        if not self.families:
            return
        condition = self.condition
        condition.given = np.array(self.given)
        condition.rows = trace_rows(self.robot, self.families, "conditions", given=len(self.given))
        condition.lower = np.concatenate([low for low, _ in self.bounds])
        condition.upper = np.concatenate([high for _, high in self.bounds])


def _turned(frame: str, first: int) -> Family:
    """sin(angle) times axis of what is left to turn, zero; and its trace, so that it is not half a turn."""

    def rows(moment: Moment) -> Any:
        wanted = np.asarray(moment.given[first : first + 9], dtype=object).reshape(3, 3)
        left = wanted.T @ moment.pose(frame)[:3, :3]
        skew = [0.5 * (left[2, 1] - left[1, 2]), 0.5 * (left[0, 2] - left[2, 0]), 0.5 * (left[1, 0] - left[0, 1])]
        return [*skew, left[0, 0] + left[1, 1] + left[2, 2]]

    labels = [f"{frame}.turn_{axis}" for axis in "xyz"] + [f"{frame}.turn"]
    return Family(LIMIT, f"turn of {frame}", rows, lambda n: labels)


def end_condition(robot: MovingRobot, terms: Sequence[Term]) -> Condition:
    """Terms of the objective that are paid at the end of a phase."""
    found = Condition(1.0, "objective", objective=True)
    found.rows = trace_rows(robot, [objective_family(term) for term in terms], "at_end")
    found.lower = np.full(found.rows.count, -np.inf)
    found.upper = -found.lower
    return found


def targets(robot: MovingRobot, given: Any, what: str, position: bool = False) -> Array:
    """Numbers for every profile, NaN where it is free; of positions, rotation vectors in the place of quaternions."""
    if given is None:
        return np.full(robot.profile_count, FREE)
    if isinstance(given, Mapping):
        found = np.full(robot.profile_count, FREE)
        for name, value in given.items():
            if name not in robot.names:
                raise InputError(f"{what}: there is no {name!r}; {hint(name, robot.names)}")
            found[robot.names.index(name)] = number(f"{what} of {name}", value)
        return found
    found_numbers = real(by_columns(robot.robot, "plan", what, given, "q" if position else "qd"))
    array = np.zeros((0, 0)) if found_numbers is None else found_numbers
    sizes = {robot.robot.nq, robot.coordinates.size} if position else {robot.profile_count, robot.robot.nv}
    if array.shape == () and not position:
        array = np.full(robot.profile_count, float(array))
    if array.ndim != 1 or array.size not in sizes:
        wanted = " or ".join(map(str, sorted(sizes)))
        raise InputError(
            f"{what}: expected {wanted} numbers or a mapping by joint, got "
            f"{f'shape {array.shape}' if array.size else repr(given)[:60]}"
        )
    if not np.isfinite(array).all():
        raise InputError(f"{what}: must be finite, got {array.tolist()}; name joints in a mapping to leave some free")
    return robot.profiles_at(array, what) if position else array[: robot.profile_count]


def pose_of(given: Any, what: str) -> Array:
    """A position (3) or a homogeneous matrix (4, 4)."""
    if isinstance(given, Transform):
        return np.asarray(given.matrix, dtype=float)
    found = real(given)
    array = np.zeros(0) if found is None else found
    if array.shape not in ((3,), (4, 4)) or not np.isfinite(array).all():
        raise InputError(f"{what}: expected a position (3) or a homogeneous matrix (4, 4), got {given!r:.60}")
    if array.shape == (4, 4):
        turn = array[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
            raise InputError(f"{what}: its upper left 3 x 3 part is not a rotation")
    return array

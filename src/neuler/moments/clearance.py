"""Distance to obstacles: a robot as balls on its frames, against spheres, capsules, boxes, half-spaces and each other.

d = |c - o| - radii for spheres; for a capsule o is the nearest point of its axis, for a box of its surface; for a
half-space it is n . (c - p) - radius. Distances are signed: below zero, balls and obstacles overlap by so much. Their
derivatives are exact. Where the nearest point of a capsule passes to an end of its axis, or that of a box from a face
to an edge, the first ones are continuous and the second jump; inside a box the first ones jump where two faces are
equally near. All are finite everywhere.

>>> hand = Ball("tool", 0.05)
>>> room = clearance([hand], [Sphere((0.5, 0.0, 0.2), 0.1), HalfSpace((0, 0, 0), (0, 0, 1), name="floor")], margin=0.02)
>>> room.labels
('tool.sphere1', 'tool.floor')
>>> pose = np.eye(4)
>>> pose[:3, 3] = 0.5, 0.0, 0.6
>>> [round(float(d), 6) for d in room.rows({"tool": pose})]
[0.25, 0.55]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuler import math as nm
from neuler.errors import InputError, RobotError
from neuler.inputs import number, real, told, vector
from neuler.naming import hint
from neuler.robot import Transform

Vec3 = tuple[float, float, float]
Point = Sequence[Any]

_TINY = 1e-20
"""Added to the square of a distance (m^2): centres that meet have derivatives, and distances keep all their digits."""


@dataclass(frozen=True)
class Ball:
    """A part of the robot: ``radius`` (m) about ``center`` in the axes of a link or ``frame`` of it (m)."""

    frame: str
    radius: float
    center: Vec3 = (0.0, 0.0, 0.0)
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str) or not self.frame:
            raise InputError(f"ball: the name of a link or frame is needed, got {self.frame!r}")
        what = f"ball on {self.frame!r}"
        _set(self, center=_point(what, "center", self.center), radius=_radius(what, self.radius))
        _set(self, name=_name(what, self.name))


@dataclass(frozen=True)
class Sphere:
    """An obstacle: ``radius`` about ``center``, in the base frame (m)."""

    center: Vec3
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        _set(self, center=_point("sphere", "center", self.center), radius=_radius("sphere", self.radius))
        _set(self, name=_name("sphere", self.name))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Centre and radius."""
        return *self.center, self.radius

    def distance(self, at: Point) -> Any:
        """Of a point from its surface."""
        return sphere_distance(at, self.numbers)


@dataclass(frozen=True)
class Capsule:
    """An obstacle: all within ``radius`` of the line from ``a`` to ``b``, in the base frame (m)."""

    a: Vec3
    b: Vec3
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        _set(self, a=_point("capsule", "a", self.a), b=_point("capsule", "b", self.b))
        _set(self, radius=_radius("capsule", self.radius), name=_name("capsule", self.name))
        if not _squared([y - x for x, y in zip(self.a, self.b, strict=True)]) > 0.0:
            raise InputError(f"capsule: a and b must differ, both are {self.a}; a Sphere has no axis")

    @property
    def numbers(self) -> tuple[float, ...]:
        """Both ends of the axis and the radius."""
        return *self.a, *self.b, self.radius

    def distance(self, at: Point) -> Any:
        """Of a point from its surface, by the nearest point of the axis."""
        return capsule_distance(at, self.numbers)


@dataclass(frozen=True)
class HalfSpace:
    """An obstacle: all behind a plane through ``point`` whose ``normal`` points to the free side, in the base frame."""

    point: Vec3
    normal: Vec3
    name: str = ""

    def __post_init__(self) -> None:
        _set(self, point=_point("half-space", "point", self.point), name=_name("half-space", self.name))
        normal = np.array(_point("half-space", "normal", self.normal))
        size = np.abs(normal).max()
        if not size > 0.0:
            raise InputError(f"half-space: normal must not be zero, got {self.normal!r}; (0, 0, 1) is a floor's")
        normal = normal / size
        _set(self, normal=tuple((normal / np.sqrt(normal @ normal)).tolist()))

    @property
    def numbers(self) -> tuple[float, ...]:
        """A point of the plane and its normal."""
        return *self.point, *self.normal

    def distance(self, at: Point) -> Any:
        """Of a point from the plane."""
        return half_space_distance(at, self.numbers)


@dataclass(frozen=True)
class Box:
    """An obstacle: a box with edges ``size`` (m) about ``center`` in the base frame (m).

    ``rotation`` is a 3x3 matrix whose columns are the directions of the edges in the base frame, as
    ``Transform.from_rpy(rpy=...).rotation`` has it; without one they are parallel to the axes of the base frame.

    >>> table = Box((0.0, 0.0, 0.5), (1.0, 0.6, 0.1))
    >>> round(float(table.distance((0.0, 0.0, 0.75))), 12), round(float(table.distance((0.8, 0.7, 0.5))), 12)
    (0.2, 0.5)
    """

    center: Vec3
    size: Vec3
    rotation: ArrayLike | None = None
    name: str = ""

    def __post_init__(self) -> None:
        _set(self, center=_point("box", "center", self.center), size=_point("box", "size", self.size))
        _set(self, name=_name("box", self.name))
        if not min(self.size) > 0.0:
            raise InputError(f"box: size must be three edges above zero (m), got {self.size}")
        if self.rotation is None:
            return
        given = real(self.rotation)
        if given is None or given.shape != (3, 3):
            came = told(self.rotation) if given is None else f"shape {given.shape}"
            raise InputError(f"box: rotation must be a 3x3 matrix, got {came}")
        try:
            pose = np.eye(4)
            pose[:3, :3] = given
            _set(self, rotation=Transform.from_matrix(pose).rotation)
        except RobotError as error:
            raise InputError(f"box: rotation: {error}") from None

    @property
    def numbers(self) -> tuple[float, ...]:
        """Centre, edges, and the rotation row by row."""
        turn: Any = self.rotation or np.eye(3).tolist()
        return *self.center, *self.size, *(float(x) for row in turn for x in row)

    def distance(self, at: Point) -> Any:
        """Of a point from its surface; inside it is less than zero: minus the distance from the nearest face."""
        return box_distance(at, self.numbers)


Obstacle = Sphere | Capsule | Box | HalfSpace


# ---- distances of a point from the numbers of an obstacle: constants, or inputs of a compiled function ------------


def sphere_distance(at: Point, numbers: Point) -> Any:
    """Of a point from a sphere."""
    return _length(_from(at, numbers[:3])) - numbers[3]


def capsule_distance(at: Point, numbers: Point) -> Any:
    """Of a point from a capsule."""
    a, b = numbers[:3], numbers[3:6]
    axis, away = _from(b, a), _from(at, a)
    along = sum(x * y for x, y in zip(axis, away, strict=True)) / _squared(axis)
    share = nm.clip(along, 0.0, 1.0)
    return _length([x - share * y for x, y in zip(away, axis, strict=True)]) - numbers[6]


def half_space_distance(at: Point, numbers: Point) -> Any:
    """Of a point from a plane."""
    return sum(n * x for n, x in zip(numbers[3:6], _from(at, numbers[:3]), strict=True))


def box_distance(at: Point, numbers: Point) -> Any:
    """Of a point from a box.

    With e the coordinates in the box's axes beyond its faces, it is the largest e beside a face and inside, and
    the length of the positive e beside edges and corners. The difference of two lengths is zero in the first case,
    so that faces have exact derivatives, and edges and corners finite ones.
    """
    away, size, turn = _from(at, numbers[:3]), numbers[3:6], numbers[6:15]
    along = [sum((turn[3 * k + i] * away[k] for k in range(3)), start=0.0) for i in range(3)]
    # not absolute: in the middle its derivative is zero, and a plan would not find its way out
    beyond = [nm.maximum(-x, x) - edge / 2.0 for x, edge in zip(along, size, strict=True)]
    most = nm.maximum(nm.maximum(beyond[0], beyond[1]), beyond[2])
    outside = [nm.maximum(e, 0.0) for e in beyond]
    return most + (_length(outside) - _length([nm.maximum(most, 0.0), 0.0, 0.0]))


@dataclass(frozen=True)
class Clearance:
    """Pairs of balls and obstacles, and of balls; ``rows`` are their distances (m), ``labels`` who is meant."""

    balls: tuple[Ball, ...]
    obstacles: tuple[Obstacle, ...]
    margin: float = 0.0
    """What distances should be at least (m)."""
    own: tuple[tuple[int, int], ...] = ()
    """Pairs of balls that keep clear of each other."""
    labels: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        balls, walls = _ball_names(self.balls), _obstacle_names(self.obstacles)
        labels = [f"{ball}.{wall}" for ball in balls for wall in walls]
        labels += [f"{balls[i]}.{balls[k]}" for i, k in self.own]
        _set(self, labels=tuple(labels))

    @property
    def frames(self) -> tuple[str, ...]:
        """Links and frames whose poses are needed, each once."""
        return tuple(dict.fromkeys(ball.frame for ball in self.balls))

    def rows(self, poses: Any) -> list[Any]:
        """Distances (m) in the order of ``labels``, of traced values or arrays of numbers alike.

        ``poses``: homogeneous matrices (..., 4, 4) in the base frame, by name or in the order of ``frames``; or a
        moment of a plan, which knows them.
        """
        known = self._poses(poses)
        centers = [placed_center(known[ball.frame], ball.center) for ball in self.balls]
        found = [
            wall.distance(at) - ball.radius
            for ball, at in zip(self.balls, centers, strict=True)
            for wall in self.obstacles
        ]
        for i, k in self.own:
            found.append(_length(_from(centers[i], centers[k])) - (self.balls[i].radius + self.balls[k].radius))
        return found

    def _poses(self, poses: Any) -> dict[str, Any]:
        if hasattr(poses, "pose"):
            return {name: np.asarray(poses.pose(name)) for name in self.frames}
        if isinstance(poses, Mapping):
            missing = [name for name in self.frames if name not in poses]
            if missing:
                raise InputError(f"clearance: the pose of {missing[0]!r} is missing; {hint(missing[0], list(poses))}")
            return {name: np.asarray(poses[name]) for name in self.frames}
        if len(poses) != len(self.frames):
            raise InputError(f"clearance: poses of {', '.join(self.frames)} are needed, got {len(poses)}")
        return {name: np.asarray(pose) for name, pose in zip(self.frames, poses, strict=True)}


def clearance(
    balls: Sequence[Ball], obstacles: Sequence[Obstacle] = (), margin: float = 0.0, own: Any = ()
) -> Clearance:
    """Distances of the robot's balls from obstacles and, by ``own``, from each other.

    ``own``: pairs of frames, all of whose balls keep clear of each other, or "all" for every pair on different frames.
    Links that touch in a joint overlap always: leave such pairs out. ``margin``: what distances should be at least (m).

    >>> balls = [Ball("link1", 0.1), Ball("hand", 0.05), Ball("hand", 0.04, (0.0, 0.0, 0.1))]
    >>> clearance(balls, own=[("link1", "hand")]).labels
    ('link1.hand.1', 'link1.hand.2')
    """
    mine, walls = tuple(balls), tuple(obstacles)
    for ball in mine:
        if not isinstance(ball, Ball):
            raise InputError(f"clearance: balls must be Ball(frame, radius, center), got {ball!r:.80}")
    for wall in walls:
        if not isinstance(wall, Obstacle):
            raise InputError(f"clearance: obstacles are Sphere, Capsule, Box and HalfSpace, got {wall!r:.80}")
    if not mine:
        raise InputError("clearance: a robot without balls touches nothing; give at least one Ball(frame, radius)")
    pairs = _pairs(mine, own)
    if not walls and not pairs:
        raise InputError("clearance: there is nothing to keep clear of; give obstacles, or own pairs of frames")
    return Clearance(mine, walls, number("clearance: margin", margin), pairs)


def _pairs(balls: tuple[Ball, ...], own: Any) -> tuple[tuple[int, int], ...]:
    every = [(i, k) for i, k in itertools.combinations(range(len(balls)), 2) if balls[i].frame != balls[k].frame]
    if isinstance(own, str):
        if own != "all":
            raise InputError(f"clearance: own must be pairs of frames or 'all', got {own!r}")
        return tuple(every)
    frames = [ball.frame for ball in balls]
    found: list[tuple[int, int]] = []
    for pair in own:
        if isinstance(pair, str) or len(tuple(pair)) != 2:
            raise InputError(f"clearance: own must be pairs of frames, got {pair!r:.80}")
        for name in pair:
            if name not in frames:
                raise InputError(f"clearance: own: there is no ball on {name!r}; {hint(str(name), frames)}")
        a, b = pair
        if a == b:
            raise InputError(f"clearance: own: balls on one frame, {a!r}, never move against each other")
        found += [(i, k) for i, k in every if {balls[i].frame, balls[k].frame} == {a, b}]
    return tuple(dict.fromkeys(found))


def _ball_names(balls: Sequence[Ball]) -> list[str]:
    frames = [ball.frame for ball in balls]
    count: dict[str, int] = {}
    found = []
    for ball in balls:
        count[ball.frame] = count.get(ball.frame, 0) + 1
        found.append(
            ball.name or (ball.frame if frames.count(ball.frame) == 1 else f"{ball.frame}.{count[ball.frame]}")
        )
    return _once("balls", found)


def _obstacle_names(obstacles: Sequence[Obstacle]) -> list[str]:
    names = [wall.name or f"{type(wall).__name__.lower()}{k}" for k, wall in enumerate(obstacles, start=1)]
    return _once("obstacles", names)


def _once(what: str, names: list[str]) -> list[str]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"clearance: two {what} are named {twice!r}; give each a name of its own")
    return names


def placed_center(pose: Any, center: Point) -> list[Any]:
    """A point of a frame, in the base frame."""
    if pose.shape[-2:] != (4, 4):
        raise InputError(f"clearance: a pose must be a homogeneous matrix (4, 4), got shape {pose.shape}")

    def entry(i: int, k: int) -> Any:
        return pose[i, k] if pose.ndim == 2 else pose[..., i, k]

    return [entry(i, 3) + sum((entry(i, k) * x for k, x in enumerate(center)), start=0.0) for i in range(3)]


def _from(at: Point, origin: Point) -> list[Any]:
    return [x - y for x, y in zip(at, origin, strict=True)]


def _squared(v: Point) -> Any:
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


def _length(v: Point) -> Any:
    return nm.sqrt(_squared(v) + _TINY)


def _set(owner: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(owner, name, value)


def _name(what: str, name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"{what}: name must be text, got {name!r:.80}")
    return name


def _radius(what: str, value: object) -> float:
    return number(f"{what}: radius", value, least=0.0, unit="m")


def _point(what: str, name: str, value: ArrayLike) -> Vec3:
    x, y, z = vector(f"{what}: {name}", value, 3).tolist()
    return (x, y, z)

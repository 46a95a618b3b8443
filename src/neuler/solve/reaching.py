"""Inverse kinematics as a compiled loop: Levenberg and Marquardt's steps, within the limits of the joints.

The error e of a frame is that of its origin and its turn, in its own axes (m, over a length of the robot; rad). With
J its Jacobian, half e.e falls along J^T e, exactly; the step is the least one of

    |J d - e|^2 + lambda |d|^2,    lambda = damping e.e + a little

over the joints that are free to go: not those at a limit that would go beyond it. Joints that the step takes to a
limit stop there, and the others make up for it. Then the step is bent: J b = e''/2, with the second derivative of e
along it, so that it follows the curved valleys at the edge of what can be reached (Transtrum and Sethna 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.algebra import vector as vec
from neuler.algebra.linear import Orthogonal, dot
from neuler.algebra.pose import logarithm, quaternion_of
from neuler.algebra.vector import Matrix, Vector
from neuler.errors import InputError
from neuler.functions.repeat import BUSY, Repeat
from neuler.quantities.catalogue import find
from neuler.recursions.positions import position_rates
from neuler.robot import Robot
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar, sqrt
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe
from neuler.trace.scalars import less, less_equal, mask, maximum, minimum, where

Array = NDArray[np.float64]

_LEAST = 1e-20
"""Lambda that stays: of redundant and singular Jacobians."""
_LONGEST = 1.5
"""Radians, or lengths of the robot, that one step goes about at most."""
_BENT = 0.5
"""Square of the share of a step that bending it adds at most."""


@dataclass(frozen=True)
class Wanted:
    """What is to be reached with what: a frame, its turn too or its place alone, and the joints that may move."""

    frame: str
    turned: bool
    joints: tuple[str, ...] | None
    limited: bool


@dataclass(frozen=True)
class Bounds:
    """Of every one of the robot's own velocities: its number in q, or -1 on a quaternion; and what limits it there."""

    places: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    names: tuple[str, ...]
    turns: tuple[bool, ...]

    @classmethod
    def of(cls, robot: Robot, limited: bool = True) -> Bounds:
        """A lower limit above the upper one is none."""
        rows = []
        for entry in robot.coordinates:
            plain, limits = entry.quaternion is None, entry.limits
            holds = limited and plain and limits.lower <= limits.upper
            low, high = (limits.lower, limits.upper) if holds else (-np.inf, np.inf)
            for k, turn in enumerate(entry.turns):
                rows.append((entry.q.start + k if plain else -1, low, high, entry.name, turn))
        own = [rows[k] for k in robot.coordinates.independent]
        places, lower, upper, names, turns = zip(*own, strict=True)
        return cls(places, lower, upper, names, turns)

    def some(self, numbers: Sequence[int]) -> tuple[NDArray[np.intp], Array, Array]:
        """Of some velocities: places in q, lower and upper limits."""
        columns = [[side[k] for k in numbers] for side in (self.places, self.lower, self.upper)]
        return np.array(columns[0], dtype=np.intp), np.array(columns[1]), np.array(columns[2])


def scale(robot: Robot, frame: str) -> float:
    """A length (m) of the way from the base to a frame: half of it, stretched out. 1 where there is none."""
    link, placement = robot.locate(frame)
    total = float(np.linalg.norm(placement.translation))
    while link:
        total += float(np.linalg.norm(robot.joints[link - 1].placement.translation))
        link = robot.antecedents[link - 1]
    return 0.5 * total if total > 1e-9 else 1.0


SEARCH = ("off", "distance", "angle", "damping", "again", "count", "mark", "left")
"""What a search knows beside its positions: of the best position q how far the frame is off (in one number, turns by
the robot's length; m; rad); the damping; whether the trial x is q once more, with more of it; the steps so far; how far
off it was some steps ago, and how many are left until that is looked at again."""
_DAMPING = (1e-9, 0.2, 1e9)
"""Least, first and most: a search that needs more is given up."""
_EASED, _STIFFENED = 0.5, 4.0
"""What a step that came nearer, and one that did not, make of it."""
_FLAT = 1e-7
"""Slope of an error that does not become less."""
_LOOK = 8.0
"""Steps after which it is looked at whether a search has come nearer."""
_FAR = 1e300
"""How far off it is before the first step."""


def begun(rows: int) -> Array:
    """What searches know before their first step, (rows, numbers of SEARCH)."""
    first = {"off": _FAR, "distance": _FAR, "angle": _FAR, "damping": _DAMPING[1], "mark": _FAR, "left": _LOOK}
    return np.tile([first.get(name, 0.0) for name in SEARCH], (rows, 1))


def reaching(robot: Robot, wanted: Wanted) -> tuple[Repeat, tuple[int, ...]]:
    """Levenberg and Marquardt's method as a compiled loop; and the numbers of the velocities that may move.

    (q, x, search, busy; target, ends) -> (q, x, search, busy), ``target`` (12), rotation and origin by rows, or (3),
    ``ends`` the most steps, the tolerance (m, rad), and a share: a search that is off by more than this share of what
    it was some steps ago is given up. A round looks at the trial x: nearer to the target it becomes
    q, and the next trial is a step ahead of it; else the next round goes from q with more damping.
    """
    step, used = _stepping(robot, wanted)
    inputs = (
        Operand("q", (robot.nq,)), Operand("x", (robot.nq,)), Operand("search", (len(SEARCH),)), Operand(BUSY, (1,)),
        Operand("target", (12 if wanted.turned else 3,)), Operand("ends", (3,)),
    )  # fmt: skip
    outputs = tuple(Operand(f"next_{operand.name}", operand.shape) for operand in inputs[:4])

    def trace(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
        q, x, search, (busy,) = (values[operand.name] for operand in inputs[:4])
        most, tolerance, pace = values["ends"]
        off, distance, angle, damping, again, count, mark, left = search
        look = step(x, values["target"])
        trial = 1.0 - again
        nearer = trial * less(look.off, off)
        lost = trial - nearer
        eased = maximum(_EASED * damping, _DAMPING[0])
        ahead = look.ahead(where(nearer, eased, damping))
        off, distance, angle = (
            where(nearer, a, b) for a, b in ((look.off, off), (look.distance, distance), (look.angle, angle))
        )
        damping = where(nearer, eased, where(lost, _STIFFENED * damping, damping))
        count, left = count + trial, left - trial
        due = less(left, 0.5)
        ends = [
            _all(less(distance, 0.01 * tolerance), less(angle, 0.01 * tolerance)),
            nearer * less(look.slope, _FLAT),
            lost * _all(less(distance, tolerance), less(angle, tolerance)),  # rounding cannot become smaller
            less(_DAMPING[2], damping),
            less_equal(most, count),
            due * less(pace * mark, off),
        ]
        going: Scalar = busy
        for end in ends:
            going = going * (1.0 - end)
        after = (off, distance, angle, damping, lost, count, where(due, off, mark), where(due, _LOOK, left))
        best = [where(nearer, a, b) for a, b in zip(x, q, strict=True)]
        next_x = [where(lost, a, b) for a, b in zip(q, ahead, strict=True)]
        new, old = (best, next_x, list(after)), (q, x, search)
        kept = [[where(busy, a, b) for a, b in zip(*pair, strict=True)] for pair in zip(new, old, strict=True)]
        return [*kept, [going]]

    return Repeat(Listing.of(Recipe(inputs, outputs, trace)), 4, "reaching"), used()


def _all(*conditions: Scalar) -> Scalar:
    found: Scalar = 1.0
    for each in conditions:
        found = found * each
    return found


@dataclass(frozen=True)
class Look:
    """Of one position: how far the frame is off, and the step from there."""

    off: Scalar
    """In one number: turns count by the robot's length."""
    distance: Scalar
    angle: Scalar
    slope: Scalar
    """Size of J^T e over that of e, of joints that may go."""
    ahead: Callable[[Scalar], list[Scalar]]
    """The position after a step with a damping."""


def _stepping(
    robot: Robot, wanted: Wanted
) -> tuple[Callable[[Sequence[Scalar], Sequence[Scalar]], Look], Callable[[], tuple[int, ...]]]:
    """A look at a position and a target; and, once it was traced, the numbers of the velocities that may move."""
    slopes = find("jacobian").recipe(robot, frame=wanted.frame)
    moves = find("integrate").recipe(robot)
    bounds, unit = Bounds.of(robot, wanted.limited), scale(robot, wanted.frame)
    missed, bend = _missed(robot, wanted, unit)
    used: list[int] = []

    def look(q: Sequence[Scalar], target: Sequence[Scalar]) -> Look:
        (flat,) = slopes.trace({"q": list(q)})
        error = missed(q, target)
        rows = [flat[robot.nv * row : robot.nv * (row + 1)] for row in range(len(error))]
        used[:] = [
            k
            for k, name in enumerate(bounds.names)
            if (wanted.joints is None or name in wanted.joints)
            and any(isinstance(row[k], Node) or row[k] for row in rows)
        ]
        sizes = [1.0 if bounds.turns[k] else unit for k in used]
        columns = [
            [row[k] * (size / unit if i < 3 else size) for i, row in enumerate(rows)]
            for k, size in zip(used, sizes, strict=True)
        ]
        walls = [_wall(q, bounds, k, size) for k, size in zip(used, sizes, strict=True)]
        square = dot(error, error)
        pulls = [dot(column, error) for column in columns]
        free = [_free(pull, wall) for pull, wall in zip(pulls, walls, strict=True)]
        slope = sqrt(dot([f * x for f, x in zip(free, pulls, strict=True)], pulls) / (square + 1e-300))

        def way(step: Sequence[Scalar]) -> list[Scalar]:
            found: list[Scalar] = [0.0] * robot.nv
            for k, size, x in zip(used, sizes, step, strict=True):
                found[k] = size * x
            return found

        def ahead(damping: Scalar) -> list[Scalar]:
            root = sqrt(damping * square + _LEAST)
            step = _bounded(columns, error, free, walls, root)
            if bend is not None:
                more = _damped(columns, run(bend.body, [*q, *target, *way(step)]), free, root)
                share = 1.0 / sqrt(1.0 + dot(more, more) / (_BENT * dot(step, step) + 1e-300))
                step = [_stopped(x + share * y, wall) for x, y, wall in zip(step, more, walls, strict=True)]
            (found,) = moves.trace({"q": list(q), "qd": way(step), "dt": [1.0]})
            return list(found)

        distance, angle = (sqrt(dot(part, part)) if part else 0.0 for part in (error[:3], error[3:]))
        return Look(sqrt(square), unit * distance, angle, slope, ahead)

    def numbers() -> tuple[int, ...]:
        if not used:
            raise InputError(
                f"inverse_kinematics: no joint that may move moves {wanted.frame!r} of robot {robot.name!r}"
            )
        return tuple(used)

    return look, numbers


Missed = Callable[[Sequence[Scalar], Sequence[Scalar]], list[Scalar]]


def _missed(robot: Robot, wanted: Wanted, unit: float) -> tuple[Missed, Listing | None]:
    """e of q and a target; and half its second derivative along velocities that are kept, (q, target, qd).

    Of loops without: there the velocities of the joints that follow are not kept.
    """
    poses = find("link_poses").recipe(robot, frame=wanted.frame)

    def missed(q: Sequence[Scalar], target: Sequence[Scalar]) -> list[Scalar]:
        (pose,) = poses.trace({"q": list(q)})
        place, turn = _errors(pose, target, wanted.turned)
        return [*(x / unit for x in place), *turn]

    def trace(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
        q = values["q"]
        along = dict(zip(q, position_rates(robot.moving_joints, q, values["qd"]), strict=True))
        twice = tangents(tangents(missed(q, values["target"]), along), along)  # type: ignore[arg-type]
        return [[0.5 * x for x in twice]]

    if robot.loops:
        return missed, None
    size = 6 if wanted.turned else 3
    inputs = (Operand("q", (robot.nq,)), Operand("target", (2 * size if size == 6 else 3,)), Operand("qd", (robot.nv,)))
    return missed, Listing.of(Recipe(inputs, (Operand("bend", (size,)),), trace))


def _errors(pose: Sequence[Scalar], target: Sequence[Scalar], turned: bool) -> tuple[Vector, Sequence[Scalar]]:
    """From the frame to its target, in the frame's own axes: the way of its origin, and its turn."""
    rotation: Matrix = tuple(tuple(pose[4 * i : 4 * i + 3]) for i in range(3))  # type: ignore[assignment]
    wide = 4 if turned else 1
    way = [target[wide * i + wide - 1] - pose[4 * i + 3] for i in range(3)]
    place = vec.apply_transposed(rotation, (way[0], way[1], way[2]))
    if not turned:
        return place, ()
    goal: Matrix = tuple(tuple(target[4 * i : 4 * i + 3]) for i in range(3))  # type: ignore[assignment]
    return place, logarithm(quaternion_of(vec.product(vec.transpose(rotation), goal)))


Wall = tuple[Scalar | None, Scalar | None]
"""How far a joint may go down (not above zero) and up (not below); None: any way."""


def _wall(q: Sequence[Scalar], bounds: Bounds, k: int, size: float) -> Wall:
    down = None if np.isinf(bounds.lower[k]) else minimum((bounds.lower[k] - q[bounds.places[k]]) / size, 0.0)
    up = None if np.isinf(bounds.upper[k]) else maximum((bounds.upper[k] - q[bounds.places[k]]) / size, 0.0)
    return down, up


def _free(pull: Scalar, wall: Wall) -> Scalar:
    """1, or 0 where a joint is at a limit beyond which it is pulled."""
    down, up = wall
    found: Scalar = 1.0
    if down is not None:
        found = found * (1.0 - less(-1e-14, down) * less(pull, 0.0))
    if up is not None:
        found = found * (1.0 - less(up, 1e-14) * less(0.0, pull))
    return found


def _bounded(
    columns: Sequence[Sequence[Scalar]],
    error: Sequence[Scalar],
    free: Sequence[Scalar],
    walls: Sequence[Wall],
    damping: Scalar,
) -> list[Scalar]:
    """The damped step; joints that it takes to a limit stop there, the others are solved for again."""
    step = _shortened(_damped(columns, error, free, damping))
    if any(wall != (None, None) for wall in walls):
        stopped = [_stopped(x, wall) for x, wall in zip(step, walls, strict=True)]
        beyond = [f * less(1e-300, (x - y) * (x - y)) for f, x, y in zip(free, step, stopped, strict=True)]
        held = [mask(b, y) for b, y in zip(beyond, stopped, strict=True)]
        rest = list(error)
        for column, h in zip(columns, held, strict=True):
            rest = [r - h * c for r, c in zip(rest, column, strict=True)]
        left = [f * (1.0 - b) for f, b in zip(free, beyond, strict=True)]
        step = [h + x for h, x in zip(held, _shortened(_damped(columns, rest, left, damping)), strict=True)]
    return [_stopped(x, wall) for x, wall in zip(step, walls, strict=True)]


def _stopped(x: Scalar, wall: Wall) -> Scalar:
    down, up = wall
    x = x if down is None else maximum(x, down)
    return x if up is None else minimum(x, up)


def _shortened(step: Sequence[Scalar]) -> list[Scalar]:
    """A long step about as long as allowed, a short one as it is."""
    share = 1.0 / sqrt(1.0 + dot(step, step) * (1.0 / _LONGEST**2))
    return [share * x for x in step]


def _damped(
    columns: Sequence[Sequence[Scalar]], error: Sequence[Scalar], free: Sequence[Scalar], damping: Scalar
) -> list[Scalar]:
    """J^T (J J^T + lambda)^-1 e, or (J^T J + lambda)^-1 J^T e where there are fewer joints than errors.

    With ``damping``, the root of lambda, below J or beside it, by orthogonal columns: no digit is lost to squares.
    """
    shown = [[f * x for x in column] for f, column in zip(free, columns, strict=True)]
    if len(columns) < len(error):
        tall = [[*column, *_unit(damping, k, len(shown))] for k, column in enumerate(shown)]
        return Orthogonal(tall).solve([*error, *[0.0] * len(shown)])
    rows = [[*row, *_unit(damping, k, len(error))] for k, row in enumerate(zip(*shown, strict=True))]
    return Orthogonal(rows).least(error)[: len(columns)]


def _unit(x: Scalar, k: int, size: int) -> list[Scalar]:
    return [x if i == k else 0.0 for i in range(size)]

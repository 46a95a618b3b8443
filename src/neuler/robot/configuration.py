"""Positions of a robot: where to start, and the way from one to another. Some joints turn by quaternions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, caller
from neuler.inputs import array
from neuler.robot.columns import by_columns
from neuler.robot.value import kept
from neuler.tolerances import OPEN, UNIT

if TYPE_CHECKING:
    from neuler.robot.model import Robot

Array = NDArray[np.float64]


@kept
def quaternions(robot: Robot) -> tuple[tuple[str, int], ...]:
    """Of every joint that turns by a quaternion its name, and the number of the quaternion's first position."""
    return tuple((entry.name, entry.quaternion.start) for entry in robot.coordinates if entry.quaternion is not None)


def ranges(robot: Robot) -> tuple[Array, Array]:
    """Lower and upper bounds for random positions: half a turn or 1 m either way, within the limits."""
    found = [span for entry in robot.coordinates for span in entry.kind.spans(entry.limits)]
    low, high = np.array(found).reshape(-1, 2).T
    return low, high


def no_rotation(quaternions: Array, slack: float = 0.0) -> NDArray[np.bool_]:
    """Where quaternions (..., 4) have not the length one, as kernels judge it; ``slack`` finds those near the edge too.

    >>> no_rotation(np.array([[0, 0, 0, 1.0], [0, 0, 0, 2.0]])).tolist()
    [False, True]
    """
    return np.asarray(np.abs(np.square(quaternions).sum(axis=-1) - 1.0) >= (1.0 - slack) * UNIT)


def length_instead_of_one(quaternions: Array, bad: NDArray[np.bool_]) -> tuple[str, str]:
    """For a message: the length of the first quaternion that is no rotation, and what to do about it."""
    length = float(np.linalg.norm(np.broadcast_to(quaternions, (*bad.shape, 4))[bad][0]))
    if length < 1e-150:
        return "has the length 0 instead of 1", "that is no rotation at all: robot.neutral() is a position with one"
    return f"has the length {length:.6g} instead of 1", "robot.normalize(q) gives it that length"


def listed(bad: NDArray[np.bool_]) -> str:
    """The rows of a batch that are marked, the first few by their indices; nothing where there is no batch.

    >>> listed(np.array([False, True, True]))
    ' in 2 of 3 rows: 1, 2'
    """
    if bad.ndim == 0:
        return ""
    spots = np.argwhere(bad)
    shown = [str(tuple(spot)) if bad.ndim > 1 else str(spot[0]) for spot in spots[:5].tolist()]
    return f" in {len(spots)} of {bad.size} rows: {', '.join(shown)}{', ...' if len(spots) > 5 else ''}"


def neutral_positions(robot: Robot) -> Array:
    """Every joint at zero, or at the limit next to it, no spring of a motor strained; loops may be open there."""
    found: dict[str, tuple[float, ...]] = {}
    for entry in robot.coordinates:
        found[entry.name] = entry.kind.neutral(entry.limits) if entry.drives is None else found[entry.drives]
    return np.array([x for part in found.values() for x in part])


def random_positions(robot: Robot, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Array:
    """Uniform within the limits, within half a turn and 1 m, any rotation; loops may be open there."""
    found = rng.uniform(*ranges(robot), (*batch, robot.nq))
    for _, first in quaternions(robot):
        turn = rng.normal(size=(*batch, 4))
        found[..., first : first + 4] = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    return found


class Configurations:
    """Mixed into Robot: positions q and the velocities that lead from one to another."""

    def neutral(self) -> Array:
        """The position with every joint at zero, or at the limit next to it; free links stand on their seats.

        Of a robot with a ``reference`` that position; of one with loops closed.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().neutral().tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        """
        robot = cast("Robot", self)
        if robot.loops:
            return np.array(robot.mobility.reference)
        return neutral_positions(robot) if robot.reference is None else np.array(robot.reference)

    def random_configuration(self, seed: Any = None, shape: int | Sequence[int] = ()) -> Array:
        """Random positions, (*shape, nq): uniform within the limits, within half a turn and 1 m; any rotation.

        Of a robot with loops closed ones, on the branch of its reference and not far from it. ``seed`` is a number, a
        ``numpy.random.Generator`` to draw from, or None for different ones each time.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().random_configuration(0, 5).shape
        (5, 9)
        """
        robot = cast("Robot", self)
        try:
            rng = np.random.default_rng(seed)
            batch = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
            if not robot.loops:
                return random_positions(robot, rng, batch)
            rows = np.empty((*batch, robot.nq)).reshape(-1, robot.nq)
        except (TypeError, ValueError) as error:
            raise InputError(f"random_configuration: {error}") from None
        return type(robot)._draw_closed(robot, rng, len(rows)).reshape(*batch, robot.nq)

    def normalize(self, q: ArrayLike) -> Array:
        """The same positions with every quaternion of length one; a zero quaternion is an error.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().normalize([0, 0, 0, 0, 0, 0, 2, 0.5, 0.6]).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.6]
        """
        robot = cast("Robot", self)
        found = positions(robot, "normalize", "q", q).copy()
        for name, first in quaternions(robot):
            turn = found[..., first : first + 4]
            largest = np.abs(turn).max(axis=-1, keepdims=True)
            if not largest.all():
                raise InputError(
                    f"normalize: the quaternion of joint {name!r} is zero{listed(largest[..., 0] == 0)}; "
                    "that is no rotation at all: robot.neutral() is a position with one"
                )
            turn /= largest
            turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
        return found

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The velocity that leads from q0 to q1 in one second: ``integrate(q0, difference(q0, q1), 1) == q1``.

        Of a robot with loops, of its independent joints; both positions must be on one branch. Where part of a ball
        is independent (``ball.wx``), q1 must be near enough for ``integrate`` to lead there in one step.

        q1 - q0 where positions are plain numbers; for a free link the constant screw in its own frame, the
        shorter way round (a quaternion and its negative are one rotation); for a spherical joint its turn.
        All leading axes broadcast.

        >>> import neuler
        >>> robot = neuler.robots.two_link().with_free_base()
        >>> here, there = robot.random_configuration(0, 2)
        >>> way = robot.difference(here, there)
        >>> np.allclose(robot.difference(robot.integrate(here, way, 1.0), there), 0)
        True
        """
        robot = cast("Robot", self)
        start, end = (positions(robot, "difference", name, q) for name, q in (("q0", q0), ("q1", q1)))
        for name, q in (("q0", start), ("q1", end)):
            check_unit(robot, "difference", name, q)
            if robot.loops:
                check_closed(robot, "difference", name, q)
        try:
            batch = np.broadcast_shapes(start.shape[:-1], end.shape[:-1])
        except ValueError:
            raise InputError(f"difference: the batch axes do not broadcast: q0 {start.shape}, q1 {end.shape}") from None
        whole = [np.broadcast_to(q, (*batch, robot.nq)) for q in (start, end)]
        found = ways(robot, whole[0], whole[1])
        if not robot.loops:
            return found
        own = found[..., list(robot.coordinates.independent)]
        return _led(robot, whole[0], whole[1], own) if turns_in_part(robot) else own


def ways(robot: Robot, start: Array, end: Array) -> Array:
    """The velocities of all joints that lead from one position to another in a second, each joint by itself."""
    found = np.empty((*start.shape[:-1], robot.coordinates.velocities))
    for entry in robot.coordinates:
        found[..., entry.v] = entry.kind.difference(start[..., entry.q], end[..., entry.q])
    return found


def turns_in_part(robot: Robot) -> bool:
    """Whether only some velocities of a joint that turns by a quaternion are independent: loops decide the others."""
    chosen = set(robot.coordinates.independent)
    turning = [entry for entry in robot.coordinates if entry.quaternion is not None]
    return any(0 < len(chosen.intersection(entry.velocities)) < entry.nv for entry in turning)


def _led(robot: Robot, start: Array, end: Array, guess: Array) -> Array:
    """The velocities with which ``integrate`` leads from start to end.

    Turns do not commute: those of a ball that loops decide change what its others seem to have turned. What is missed
    is added until nothing is. Where a step is too long for ``integrate``, the guess is what is left, and that is told.
    """
    own = list(robot.coordinates.independent)
    found, missed = guess.copy(), np.full(guess.shape[:-1], np.inf)
    with np.errstate(all="ignore"):
        for _ in range(_TRIES):
            there = robot.integrate.ufunc(start, found, 1.0)
            lacking = ways(robot, there, end)[..., own]
            missed = np.abs(lacking).max(axis=-1, initial=0.0)
            if not (missed > _EXACT).any():
                break
            found = np.where((missed > _EXACT)[..., None], found + lacking, found)
    lost = ~(missed < _MISSED)
    if lost.any():
        where = listed(np.asarray(lost))
        warnings.warn(
            f"difference: robot {robot.name!r}: q1 is too far from q0 for one step of integrate{where}; "
            "there the turns of each joint by itself are given",
            RuntimeWarning,
            stacklevel=caller(),
        )
    return np.where(lost[..., None], guess, found)


_TRIES, _EXACT, _MISSED = 60, 1e-14, 1e-9
"""How often, and by how much (rad, m) a way may be missed that is called found, or given up."""


def positions(robot: Robot, verb: str, name: str, q: ArrayLike) -> Array:
    """Finite positions with the robot's last axis; errors name the argument and the rows."""
    q = by_columns(robot, verb, name, q, "q")
    found = array(verb, name, q, (robot.nq,)).copy()
    bad = ~np.isfinite(found).all(axis=-1)
    if bad.any():
        raise InputError(f"{verb}: {name} is not finite{listed(np.asarray(bad))}")
    return found


def check_closed(robot: Robot, verb: str, name: str, q: Array) -> None:
    """Refuse positions at which loops are open."""
    bad = np.asarray(np.linalg.norm(robot.closure(q).open_by, axis=-1) >= OPEN)
    if bad.any():
        raise InputError(f"{verb}: {name}: the loops are open{listed(bad)}; robot.assemble gives closed positions")


def check_unit(robot: Robot, verb: str, name: str, q: Array) -> None:
    """Refuse quaternions that are no rotation, by the name of the joint."""
    for joint, first in quaternions(robot):
        turn = q[..., first : first + 4]
        bad = no_rotation(turn)
        if bad.any():
            what, remedy = length_instead_of_one(turn, bad)
            raise InputError(f"{verb}: {name}: the quaternion of joint {joint!r} {what}{listed(bad)}; {remedy}")

"""Closing the loops of a robot: Newton's method, safeguarded, for many states at once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, RobotError
from neuler.inputs import array, number, whole
from neuler.kernels import Kernel
from neuler.robot import Joint, Robot
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation, quaternions, ways
from neuler.robot.coordinates import slices
from neuler.robot.value import kept
from neuler.structure.mobility import velocity_numbers
from neuler.tables import take_columns

Array = NDArray[np.float64]

_SMALLEST = 2.0**-20
"""Share of a step below which a state is given up."""
_PIECE = 0.5
"""Radians or metres that the independent joints go at most in one piece of a way."""
_FINEST = 2.0**-8
"""Share of a piece below which a way is given up."""
_FURTHEST = 1e3
"""Radians or metres of a way that is gone in pieces."""
_JUMP = 0.3
"""Radians or metres by which a joint may miss what its last piece let expect: more is another branch."""
_NEAR = 0.1
"""Radians or metres that the independent joints go without a look at the branch."""
_ROUGH = (1e-7, 12)
"""Gap and iterations of positions on the way."""
_TURNS, _TURNED = 60, 1e-13
"""How often a part of a ball is turned again, and by how much (rad) its turn may be off."""
_PART = Joint("part", "prismatic", "", "")
"""Stands for one position of a joint that has several."""


@dataclass(frozen=True)
class Assembly:
    """Closed positions. ``gap`` is what the loops stay open by (m, rad), ``closed`` where it is small enough.

    ``iterations`` counts Newton's steps, those on the way from a far guess included.
    """

    q: Array
    gap: Array
    iterations: NDArray[np.int64]
    closed: NDArray[np.bool_]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """The same as ``closed``, by the name that results of inverse kinematics have for it."""
        return self.closed


_FIELDS = ("q", "gap", "iterations", "closed")


def assemble(
    robot: Robot,
    q_active: ArrayLike,
    guess: ArrayLike | None,
    independent: Any,
    continuous: bool,
    tolerance: float,
    iterations: int,
) -> Assembly:
    """See ``Robot.assemble``."""
    solver = _Solver.of(robot, independent, tolerance, iterations)
    q_active = take_columns("assemble", "q_active", q_active, "q", solver.names)
    given = array("assemble", "q_active", q_active, (len(solver.order),), f" ({', '.join(solver.names)})")
    given = given[..., solver.order]
    given = _rotations(solver.joints, given)
    if continuous and solver.turned:
        raise InputError(
            f"assemble: a path needs positions, and {', '.join(map(repr, solver.names))} has a part of a ball among "
            "them, which counts its turn from the guess; go from point to point, each with the last as its guess"
        )
    begin = array("assemble", "guess", solver.reference if guess is None else guess, (robot.nq,))
    if continuous and given.ndim < 2:
        raise InputError(f"assemble: a path needs a first axis of points, got q_active of shape {given.shape}")
    path = given.shape[:1] if continuous else ()
    try:
        batch = np.broadcast_shapes(given.shape[len(path) : -1], begin.shape[:-1])
    except ValueError:
        raise InputError(
            f"assemble: q_active {given.shape} and guess {begin.shape} do not broadcast to one batch"
            f"{', the first axis of q_active being the path' if continuous else ''}"
        ) from None
    shape, rows = (*path, *batch), math.prod(batch)
    goals = np.broadcast_to(np.where(np.isfinite(given), given, np.nan), (*shape, given.shape[-1]))
    begins = np.broadcast_to(np.where(np.isfinite(begin), begin, np.nan), (*batch, begin.shape[-1]))
    goals, begins = goals.reshape((*path, rows, given.shape[-1])), begins.reshape(rows, begin.shape[-1])
    with np.errstate(all="ignore"):  # on singular poses and rows of NaN, which are judged below
        begins = solver.unit(begins.copy())
        found = solver.along(begins, goals) if continuous else solver.found(begins, goals)
    parts = (getattr(found, name) for name in _FIELDS)
    shaped = Assembly(*(x.reshape((*shape, *x.shape[1 + len(path) :])) for x in parts))
    return _judged(robot, shaped, bool(np.isfinite(given).all() and np.isfinite(begin).all()))


def _rotations(joints: Sequence[Any], given: Array) -> Array:
    """The same, with NaN in the place of quaternions that are no rotation; one alone is an error."""
    for joint, q, _ in slices(joints):
        if joint.type.quaternion is not None:
            first = q.start + joint.type.quaternion
            turn = given[..., first : first + 4]
            bad = no_rotation(turn)
            if bad.any():
                what, remedy = length_instead_of_one(turn, bad)
                message = f"assemble: the quaternion of joint {joint.name!r} {what}{listed(bad)}; {remedy}"
                if not bad.ndim:
                    raise InputError(message)
                warnings.warn(message, RuntimeWarning, stacklevel=4)
                given = np.where(bad[..., None], np.nan, given)
    return given


@dataclass(frozen=True)
class _Solver:
    """Closes the loops of batches with one axis; ``picked`` are the numbers in q of the independent joints."""

    robot: Robot
    step: Kernel
    names: tuple[str, ...]
    """Of what is independent."""
    order: list[int]
    """Of q_active: first the positions of joints, ``picked``, then the turns of parts of balls, ``turned``."""
    joints: tuple[Any, ...]
    picked: list[int]
    turned: list[int]
    """Numbers of velocities of which q_active has the turn from the guess."""
    followers: tuple[NDArray[np.int64], list[int]]
    """Independent rows of W, and the numbers of the velocities that follow."""
    reference: Array
    tolerance: float = 0.0
    most: int = 0

    @classmethod
    def of(cls, robot: Robot, independent: Any, tolerance: float, most: int) -> _Solver:
        tolerance = number("assemble: tolerance", tolerance, above=0.0, unit="m, rad")
        most = whole("assemble: iterations", most, 1)
        chosen = (independent,) if isinstance(independent, str) else independent
        if chosen is not None and not (isinstance(chosen, list | tuple) and all(isinstance(x, str) for x in chosen)):
            raise InputError(f"assemble: independent must be names of joints, got {independent!r}")
        solvers = _solvers(robot)
        key = None if chosen is None else tuple(chosen)
        if key not in solvers:
            solvers[key] = cls._made(robot, key)
        return replace(solvers[key], tolerance=tolerance, most=most)

    @classmethod
    def _made(cls, robot: Robot, chosen: tuple[str, ...] | None) -> _Solver:
        step = robot.compile("assembly_step", **({} if chosen is None else {"independent": chosen}))
        facts = robot.mobility
        names = facts.independent if chosen is None else chosen
        joints: list[Joint] = []
        picked: list[int] = []
        turned: list[int] = []
        positions: list[int] = []  # their numbers in q_active
        turns: list[int] = []
        size = 0
        for name in names:
            one = robot.coordinates.position(name)
            joints += [one.joint or _PART] if one.places else []
            picked += one.places
            turned += one.turned
            (positions if one.places else turns).extend(range(size, size + len(one.places or one.turned)))
            size += len(one.places or one.turned)
        rows = np.array(facts.rows, dtype=np.int64)[:, None]
        own = {k for k, _ in velocity_numbers(robot, names)}
        columns = [k for k in range(len(facts.motions)) if k not in own]
        order, reference = [*positions, *turns], np.array(facts.reference)
        return cls(robot, step, tuple(names), order, tuple(joints), picked, turned, (rows, columns), reference)

    def found(self, begin: Array, goal: Array) -> Assembly:
        """Where parts of balls are independent, turned as given from the guess; see ``reach`` for all else.

        The turn from the guess is a rotation vector (of a free joint a screw) of which q_active has some components.
        Closing the loops changes the others, and with them these: they are set again until they stay.
        """
        goal, turns = goal[:, : len(self.picked)], goal[:, len(self.picked) :]
        if not self.turned:
            return self.reach(begin, goal)
        moved = self.robot.replace(loops=(), reference=None, independent=None).integrate.ufunc
        way = np.zeros((len(begin), len(self.robot.mobility.motions)))
        count = np.zeros(len(begin), dtype=np.int64)
        for _ in range(_TURNS):
            way[:, self.turned] = turns
            one = self.reach(moved(begin, way, 1.0), goal)
            count += one.iterations
            way = ways(self.robot, begin, one.q)
            missed = np.abs(way[:, self.turned] - turns).max(axis=-1, initial=0.0)
            if not (missed > _TURNED).any():  # nor where it is NaN
                break
        return Assembly(one.q, one.gap, count, one.closed & (missed <= max(self.tolerance, _TURNED)))

    # ---- one go -------------------------------------------------------------------------

    def newton(self, start: Array, goal: Array, rough: bool = False) -> Assembly:
        """Newton's method from ``start`` with the independent joints at ``goal``."""
        tolerance, most = self.tolerance, self.most
        if rough:
            tolerance, most = max(tolerance, _ROUGH[0]), min(most, _ROUGH[1])
        q = start.copy()
        q[:, self.picked] = goal
        rows = len(q)
        gap, _, ahead = (np.array(x) for x in self.step(q, np.ones(rows)))
        share, count = np.ones(rows), np.zeros(rows, dtype=np.int64)
        busy = np.flatnonzero(gap > tolerance / 100)
        for _ in range(most):
            if not len(busy):
                break
            trial = ahead[busy]
            there, _, beyond = self.step(trial, np.ones(len(busy)))
            count[busy] += 1
            better = there < gap[busy]
            won, lost = busy[better], busy[~better]
            q[won], gap[won], ahead[won], share[won] = trial[better], there[better], beyond[better], 1.0
            lost = lost[gap[lost] > tolerance]  # a gap of rounding errors cannot become smaller
            share[lost] *= 0.5
            lost = lost[share[lost] > _SMALLEST]
            if len(lost):
                ahead[lost] = self.step(q[lost], share[lost])[2]
            busy = np.concatenate([won[gap[won] > tolerance / 100], lost])
        closed = gap < tolerance
        closed &= (np.asarray(self.robot.upright(q)) > 0).all(axis=-1)
        return Assembly(q, gap, count, closed)

    # ---- over points between ------------------------------------------------------------

    def reach(self, begin: Array, goal: Array) -> Assembly:
        """In one go where goal and guess are near each other and the joints stay so; else led from the guess.

        What is led keeps the branch. Where no way leads to the goal, it is what one go found, or else a jump.
        """
        found = self.newton(begin, goal)
        way = np.abs(self._shortest(begin[:, self.picked], goal)).max(axis=-1, initial=0.0)
        gone = np.abs(np.delete(found.q - begin, self.picked, axis=-1)).max(axis=-1, initial=0.0)
        far = (way > _PIECE) | ~found.closed | (gone > _JUMP + way)
        seen = np.flatnonzero(~far & (way > _NEAR))
        if len(seen):  # a guess that is closed has a branch of its own
            seen = seen[np.linalg.norm(self.robot.closure(begin[seen])[0], axis=-1) < _ROUGH[0]]
            far[seen] = self.side(begin[seen]) != self.side(found.q[seen])
        if far.any():
            near = self.newton(begin[far], begin[far][:, self.picked])
            led, arrived = self.lead(near, goal[far])
            found = _exchanged(found, far, _closed_if(led, arrived | ~found.closed[far]))
        return found

    def along(self, begin: Array, path: Array) -> Assembly:
        """Point by point, each led from the last one that was closed."""
        points, rows = path.shape[:2]
        if not points:
            none = np.zeros((0, rows))
            return Assembly(np.zeros((0, *begin.shape)), none, none.astype(np.int64), none.astype(bool))
        found = [self.reach(begin, path[0])]
        last, before = found[0], found[0].q
        for goal in path[1:]:
            one = _closed_if(*self.lead(last, goal, before))
            late = ~last.closed
            if late.any():  # not begun yet
                one = _exchanged(one, late, self.reach(begin[late], goal[late]))
            found.append(one)
            before = np.where(one.closed[:, None], np.where(late[:, None], one.q, last.q), before)
            last = _exchanged(last, np.ones(rows, dtype=bool), one)
        return Assembly(*(np.stack([getattr(one, name) for one in found]) for name in _FIELDS))

    def lead(self, start: Assembly, goal: Array, before: Array | None = None) -> tuple[Assembly, NDArray[np.bool_]]:
        """From closed positions to a goal, the independent joints straight, in pieces in which no joint jumps.

        A piece goes on as the one before it went: where two branches cross, the smooth one is kept. ``before`` are
        the positions from which the first pieces come. And whether it arrived so; if not, the end is a jump.
        """
        q, side, count = start.q.copy(), self.side(start.q), np.zeros(len(goal), dtype=np.int64)
        here = q[:, self.picked]
        way = self._shortest(here, goal)
        slope = np.zeros_like(q) if before is None else self._slope(q - before, way)
        length = np.abs(way).max(axis=-1, initial=0.0)
        piece = 1.0 / np.ceil(np.maximum(length / _PIECE, 1.0))
        done, share = np.zeros(len(q)), piece.copy()
        busy = np.flatnonzero(start.closed & (length < _FURTHEST))
        while len(busy):
            last, first = q[busy], done[busy] == 0.0
            went = np.minimum(share[busy], 1.0 - done[busy])
            ahead = np.where(went < share[busy], 1.0, done[busy] + went)
            ideal = last + slope[busy] * went[:, None]
            ideal[:, self.picked] = here[busy] + way[busy] * ahead[:, None]
            ideal = self.unit(ideal)
            one = self.newton(ideal, ideal[:, self.picked], rough=True)
            count[busy] += one.iterations
            missed = np.abs(one.q - ideal).max(axis=-1, initial=0.0)
            there, least = self.side(one.q), share[busy] < 2 * _FINEST * piece[busy]
            kept = one.closed & (missed <= _JUMP + first * length[busy] * went)
            kept &= (there == side[busy]) | least  # a singular pose is passed in the smallest of pieces
            arrived = busy[kept]
            slope[arrived] = (one.q[kept] - last[kept]) / went[kept, None]
            q[arrived], side[arrived], done[arrived] = one.q[kept], there[kept], ahead[kept]
            share[busy] = np.where(kept, np.minimum(2.0 * share[busy], piece[busy]), 0.5 * share[busy])
            busy = busy[(done[busy] < 1.0) & (share[busy] >= _FINEST * piece[busy])]
        found = self.newton(q, goal)
        return Assembly(found.q, found.gap, count + found.iterations, found.closed), done == 1.0

    def side(self, q: Array) -> Array:
        """The sign of the determinant of W_d: it changes at singular poses alone, and so tells branches apart."""
        rows, columns = self.followers
        if len(rows) != len(columns) or not columns:
            return np.ones(len(q))
        return np.linalg.slogdet(self.robot.closure(q)[1][:, rows, columns])[0]

    def _slope(self, went: Array, way: Array) -> Array:
        """How all joints go on, if they go as they went: by the share of the way that leads in the same direction."""
        last = went[:, self.picked]
        square = (last * last).sum(axis=-1)
        share = np.divide((last * way).sum(axis=-1), square, out=np.zeros_like(square), where=square > 0)
        return went * share[:, None]

    def _shortest(self, here: Array, goal: Array) -> Array:
        """The way to a goal, or to one that is the same rotation: less whole turns, with a quaternion's other sign."""
        way = goal - here
        for joint, q, _ in slices(self.joints):
            if joint.type.quaternion is not None:
                first = q.start + joint.type.quaternion
                turn = slice(first, first + 4)
                opposite = (here[:, turn] * goal[:, turn]).sum(axis=-1) < 0
                way[opposite, turn] = -goal[opposite, turn] - here[opposite, turn]
            elif joint.type.turns == (True,) and not joint.pitch and not self.robot.couplings:
                turns = way[:, q.start] / (2 * np.pi)
                way[:, q.start] -= 2 * np.pi * np.where(np.abs(turns) >= 1.0, np.rint(turns), 0.0)
        return way

    def unit(self, q: Array) -> Array:
        """With quaternions of length one again."""
        for _, first in quaternions(self.robot):
            turn = q[:, first : first + 4]
            turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
        return q


@kept
def _solvers(robot: Robot) -> dict[tuple[str, ...] | None, _Solver]:
    """By the names of what is independent; None for the robot's own."""
    return {}


def _closed_if(found: Assembly, wanted: NDArray[np.bool_]) -> Assembly:
    return Assembly(found.q, found.gap, found.iterations, found.closed & wanted)


def _exchanged(found: Assembly, rows: NDArray[np.bool_], better: Assembly) -> Assembly:
    """Some rows exchanged where the others are closed; the work of both counts."""
    values = [getattr(found, name).copy() for name in _FIELDS]
    where = np.flatnonzero(rows)[better.closed]
    for value, name in zip(values, _FIELDS, strict=True):
        if name == "iterations":
            value[rows] += better.iterations
        else:
            value[where] = getattr(better, name)[better.closed]
    return Assembly(*values)


def _judged(robot: Robot, found: Assembly, finite: bool) -> Assembly:
    if found.closed.all():
        return found
    name = robot.name
    if not found.closed.ndim:
        if not finite:
            raise InputError(f"robot {name!r}: q_active and guess must be finite numbers to close its loops at")
        reason = f"they stay open by {float(found.gap):.2g} (m, rad): out of reach, or the guess is too far away"
        if (np.asarray(robot.upright(found.q)) < 0).any():
            reason = "axes that should be equal are opposite, the wrong way round; give a guess nearer to the branch"
        raise RobotError(f"robot {name!r}: its loops cannot be closed at this position; {reason}")
    warnings.warn(
        f"robot {name!r}: its loops cannot be closed{listed(~found.closed)}; there q is NaN",
        RuntimeWarning,
        stacklevel=4,
    )
    q = np.where(found.closed[..., None], found.q, np.nan)
    return Assembly(q, found.gap, found.iterations, found.closed)

"""Why results are NaN, by name: quaternions that are no rotation, singular poses, open loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, RobotError, caller
from neuler.robot import Robot
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation, quaternions
from neuler.tolerances import OPEN
from neuler.trace.recipe import Operand

SHAKY = 1e-6
"""Of a singularity measure: where a result is NaN and the measure is less, the pose is to blame."""
EDGE = 1e-3
"""Share of the tolerance of a quaternion's length in which float32 may judge otherwise."""

Rows = NDArray[np.bool_]


def overwritten(x: np.ndarray, out: Any) -> bool:
    """Whether an array to write into shares its memory."""
    given = out if isinstance(out, tuple) else (out,)
    return any(isinstance(y, np.ndarray) and np.may_share_memory(x, y) for y in given)


def _results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _unexplained(found: Any, outputs: Sequence[Operand], arrays: Sequence[Any], inputs: Sequence[Operand]) -> Rows:
    """Rows with NaN among their results and none among their arguments."""
    nans: Any = False
    for result, operand in zip(_results(found), outputs, strict=True):
        nans = nans | _with_nan(np.asarray(result), operand)
    nans = np.asarray(nans)
    if nans.any():
        well = np.ones(np.count_nonzero(nans), dtype=bool)
        for x, operand in zip(arrays, inputs, strict=True):  # NaN in, NaN out
            value = _of_rows(x, operand.shape, nans)
            well &= np.isfinite(value).all(axis=tuple(range(1, value.ndim)))
        nans = _spread(well, nans)
    return nans


def _with_nan(result: np.ndarray, operand: Operand) -> Rows:
    """Rows of a result with NaN."""
    numbers = result.reshape(*result.shape[: result.ndim - len(operand.shape)], operand.size)
    with np.errstate(all="ignore"):  # a sum is NaN where a number is; or where infinities meet
        rows = np.asarray(np.isnan(numbers @ np.ones(operand.size, result.dtype)))
    rows[rows] = np.isnan(numbers[rows]).any(axis=-1)
    return rows


def _of_rows(x: Any, core: tuple[int, ...], rows: Rows) -> np.ndarray:
    """An argument at the rows that are marked, one after the other."""
    return np.asarray(np.broadcast_to(np.asarray(x), (*rows.shape, *core))[rows], dtype=float)


def _spread(some: Rows, rows: Rows) -> Rows:
    """What holds at the rows that are marked, of all rows: it holds nowhere else."""
    every = np.zeros(rows.shape, dtype=bool)
    every[rows] = some
    return every


def _warn(whose: str, reasons: Iterable[tuple[Rows, str, str]]) -> None:
    """One warning for all reasons that have rows, each with its remedy."""
    told = [f"{reason}{listed(rows)}{remedy and f' ({remedy})'}" for rows, reason, remedy in reasons if rows.any()]
    if told:
        warnings.warn(f"{whose}: {'; '.join(told)}; the result is NaN there", RuntimeWarning, stacklevel=caller())


def _vanishes(joints: Sequence[str]) -> str:
    names = ", ".join(map(repr, joints))
    return f"the inertia matrix is singular in this pose: inertia that {names} should move is not felt there"


@dataclass(frozen=True)
class Spot:
    """A number among the results that is NaN where the quaternion of a joint is no rotation."""

    joint: str
    first: int
    """Of the quaternion in q."""
    output: int
    index: tuple[int, ...]


class Watch:
    """Of a tree: looks at one number of the results for every free joint, and at q only where that is NaN.

    Where joints may feel no inertia (``vanishing``) it looks at all numbers. It is asked where the code has seen NaN.
    """

    def __init__(
        self,
        robot: Robot,
        quantity: str,
        inputs: Sequence[Operand],
        outputs: Sequence[Operand],
        vanishing: Sequence[str] = (),
    ) -> None:
        self.robot, self.quantity, self.inputs, self.outputs = robot, quantity, inputs, outputs
        self.position = [operand.name for operand in inputs].index("q")
        self.spots: tuple[Spot, ...] = ()
        self.vanishing = vanishing

    def find(self, ufunc: Any, dtype: Any) -> Watch | None:
        """With the spots that a kernel shows; None where nothing but NaN in its arguments makes a result NaN."""
        neutral = self.robot.neutral().astype(dtype)
        arrays = [neutral if operand.name == "q" else np.zeros(operand.shape, dtype) for operand in self.inputs]
        spots = []
        with np.errstate(all="ignore"):
            well = _results(ufunc(*arrays))
            for name, first in quaternions(self.robot):
                turned = neutral.copy()
                turned[first : first + 4] = 1.0
                arrays[self.position] = turned
                ill = _results(ufunc(*arrays))
                for k, (before, after) in enumerate(zip(well, ill, strict=True)):
                    places = np.flatnonzero(np.isnan(after) & ~np.isnan(before))
                    if len(places):
                        index = tuple(int(i) for i in np.unravel_index(places[0], self.outputs[k].shape))
                        spots.append(Spot(name, first, k, index))
                        break
        self.spots = tuple(spots)
        return self if spots or self.vanishing else None

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, those copied that the results are written over."""
        return [x.copy() if isinstance(x, np.ndarray) and overwritten(x, out) else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are; an error for one state, a warning for a batch, where quaternions are to blame."""
        results = _results(found)
        q = np.asarray(arrays[self.position])
        reasons: list[tuple[Rows, str, str]] = []
        for spot in self.spots:
            nan = np.asarray(np.isnan(results[spot.output][(..., *spot.index)]))
            turns = _of_rows(q[..., spot.first : spot.first + 4], (4,), nan)
            wrong = no_rotation(turns, EDGE)
            if not wrong.any():
                continue
            bad = _spread(wrong, nan)
            what, remedy = length_instead_of_one(turns, wrong)
            whose = f"the quaternion of joint {spot.joint!r}"
            if not bad.ndim:
                place = f"q[{spot.first}:{spot.first + 4}]"
                raise InputError(f"{self.quantity}: {whose}, {place}, {what}; {remedy}")
            reasons.append((bad, f"{whose} {what}", remedy))
        if self.vanishing:
            nans = _unexplained(found, self.outputs, arrays, self.inputs)
            for bad, _, _ in reasons:
                nans = nans & ~bad
            reasons.append((nans, _vanishes(self.vanishing), ""))
        _warn(f"{self.quantity} of {self.robot.name!r}", reasons)
        return found


class LoopWatch:
    """Of a robot with loops: its pose is singular, or its loops are open."""

    def __init__(self, kernel: Any) -> None:
        self.robot: Robot = kernel.robot
        self.quantity, self.inputs, self.outputs = kernel.quantity, kernel.inputs, kernel.outputs
        self.vanishing: tuple[str, ...] = kernel.recipe.may_vanish

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, those copied that the results are written over."""
        return [x.copy() if isinstance(x, np.ndarray) and overwritten(x, out) else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are, with a warning where there is a reason to give."""
        nans = _unexplained(found, self.outputs, arrays, self.inputs)
        if nans.any():
            self._refuse_quaternion(nans, arrays)
            reasons = self._reasons(_of_rows(arrays[0], self.inputs[0].shape, nans))
            spread = ((_spread(rows, nans), reason, "") for rows, reason in reasons)
            _warn(f"{self.quantity} of {self.robot.name!r}", spread)
        return found

    def _refuse_quaternion(self, nans: Rows, arrays: Sequence[Any]) -> None:
        """One state alone whose quaternion is no rotation is an error, as it is of a tree."""
        if nans.ndim:
            return
        q = np.asarray(arrays[0], dtype=float)
        for name, first in quaternions(self.robot):
            turn = q[first : first + 4]
            bad = np.asarray(no_rotation(turn, EDGE))
            if bad.any():
                what, remedy = length_instead_of_one(turn, bad)
                place = f"q[{first}:{first + 4}]"
                raise InputError(f"{self.quantity}: the quaternion of joint {name!r}, {place}, {what}; {remedy}")

    def _no_rotation(self, q: np.ndarray) -> Rows:
        """Rows with a quaternion that is none."""
        bad = np.zeros(q.shape[:-1], dtype=bool)
        for _, first in quaternions(self.robot):
            bad |= no_rotation(q[..., first : first + 4], EDGE)
        return bad

    def _open(self, q: np.ndarray) -> Rows:
        """Rows at which the loops are not closed."""
        with np.errstate(all="ignore"):
            gap = self.robot.closure.ufunc(q)[0]
        return np.asarray(np.linalg.norm(gap, axis=-1) >= OPEN)

    def _turned_over(self, q: np.ndarray) -> Rows:
        """Rows at which a loop is closed the wrong way round."""
        with np.errstate(all="ignore"):
            return np.asarray((self.robot.upright.ufunc(q) < 0).any(axis=-1))

    def _margin(self, q: np.ndarray) -> np.ndarray:
        """The least of the robot's singularity measures; NaN where it has none."""
        try:
            ufunc = self.robot.singularity.ufunc
        except RobotError:  # its loops leave no freedom
            return np.full(q.shape[:-1], np.nan)
        with np.errstate(all="ignore"):
            joints, motors = ufunc(q)
        driven = self.robot.mobility.driven == self.robot.nv
        return np.minimum(joints, motors) if driven else np.asarray(joints)

    def _reasons(self, q: np.ndarray) -> Iterable[tuple[Rows, str]]:
        """Positions of rows that are NaN, each with the first reason that fits."""
        margin, left = self._margin(q), np.ones(len(q), dtype=bool)
        found = [
            (self._no_rotation(q), "a quaternion in q has not the length 1"),
            (self._open(q), "the loops are open at this q; assemble gives a closed one"),
            (self._turned_over(q), "a loop is closed the wrong way round; assemble gives one that is not"),
            (~(margin > SHAKY), "the pose is singular"),
        ]
        if self.vanishing:
            found.append((left, _vanishes(self.vanishing)))
        last = "the loops do not decide this motion"
        if self.quantity == "integrate":
            last = "the step is too long to close the loops again on their branch; take smaller ones, or assemble"
        found.append((left, last))
        for bad, reason in found:
            yield left & bad, reason
            left = left & ~bad

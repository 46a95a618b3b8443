"""Why results are NaN, by name: quaternions that are no rotation, singular poses, open loops."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, RobotError
from neuler.robot import Robot
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation, quaternions
from neuler.tolerances import OPEN
from neuler.trace.recipe import Operand

SHAKY = 1e-6
"""Of a singularity measure: where a result is NaN and the measure is less, the pose is to blame."""
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
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
        nans = nans | np.isnan(result).any(axis=tuple(range(result.ndim - len(operand.shape), result.ndim)))
    for x, operand in zip(arrays, inputs, strict=True):  # NaN in, NaN out
        value = np.asarray(x, dtype=float)
        nans = nans & np.isfinite(value).all(axis=tuple(range(value.ndim - len(operand.shape), value.ndim)))
    return np.asarray(nans)


def _warn(whose: str, reasons: Iterable[tuple[Rows, str, str]]) -> None:
    """One warning for all reasons that have rows, each with its remedy."""
    told = [f"{reason}{listed(rows)}{remedy and f' ({remedy})'}" for rows, reason, remedy in reasons if rows.any()]
    if told:
        warnings.warn(f"{whose}: {'; '.join(told)}; the result is NaN there", RuntimeWarning, stacklevel=_caller())


def _caller() -> int:
    """How many levels up the code is that is not neuler's own: whose call it was."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    return level


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
    place: int
    """The index, flat."""


class Watch:
    """Of a tree. Looks at one number of the results for every free joint, and at q only where that is NaN.

    Where joints may feel no inertia (``vanishing``) it looks at all numbers.
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
        self.places: tuple[int, ...] = ()
        self.core = len(outputs[0].shape)
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
                        place = int(places[0])
                        index = tuple(int(i) for i in np.unravel_index(place, self.outputs[k].shape))
                        spots.append(Spot(name, first, k, index, place))
                        break
        self.spots = tuple(spots)
        self.places = tuple({spot.place for spot in spots})
        return self if spots or self.vanishing else None

    def unseen(self, found: Any) -> bool:
        """Whether a kernel's only result shows nothing."""
        if self.vanishing:
            return not np.isnan(found).any()
        if found.ndim == self.core:
            for place in self.places:
                number = found.item(place)
                if number != number:
                    return False
            return True
        return not any(np.isnan(found[(..., *spot.index)]).any() for spot in self.spots)

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, those copied that the results are written over."""
        return [x.copy() if isinstance(x, np.ndarray) and overwritten(x, out) else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are; an error for one state, a warning for a batch, where quaternions are to blame."""
        results = _results(found)
        q = np.asarray(arrays[self.position], dtype=float)
        reasons: list[tuple[Rows, str, str]] = []
        for spot in self.spots:
            turn = q[..., spot.first : spot.first + 4]
            bad = np.asarray(np.isnan(results[spot.output][(..., *spot.index)]) & no_rotation(turn, EDGE))
            if not bad.any():
                continue
            what, remedy = length_instead_of_one(turn, bad)
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

    def unseen(self, found: Any) -> bool:
        """Whether a kernel's only result is all numbers."""
        return not np.isnan(found).any()

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, those copied that the results are written over."""
        return [x.copy() if isinstance(x, np.ndarray) and overwritten(x, out) else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are, with a warning where there is a reason to give."""
        nans = _unexplained(found, self.outputs, arrays, self.inputs)
        if nans.any():
            self._refuse_quaternion(nans, arrays)
            q = np.broadcast_to(np.asarray(arrays[0], dtype=float), (*nans.shape, self.inputs[0].size))
            _warn(f"{self.quantity} of {self.robot.name!r}", self._reasons(nans, q))
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

    def _reasons(self, nans: Rows, q: np.ndarray) -> Iterable[tuple[Rows, str, str]]:
        """Each row that is NaN with the first reason that fits."""
        margin = self._margin(q)
        found = [
            (self._no_rotation(q), "a quaternion in q has not the length 1"),
            (self._open(q), "the loops are open at this q; assemble gives a closed one"),
            (self._turned_over(q), "a loop is closed the wrong way round; assemble gives one that is not"),
            (~(margin > SHAKY), "the pose is singular"),
        ]
        if self.vanishing:
            found.append((np.ones_like(nans), _vanishes(self.vanishing)))
        last = "the loops do not decide this motion"
        if self.quantity == "integrate":
            last = "the step is too long to close the loops again on their branch; take smaller ones, or assemble"
        found.append((np.ones_like(nans), last))
        for bad, reason in found:
            yield np.asarray(nans & bad), reason, ""
            nans = nans & ~bad

"""Why results are NaN, by name: quaternions that are no rotation, singular poses, motions that legs do not allow."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.compiler.llvm import Operand
from neuler.errors import InputError, RobotError
from neuler.recursions.closed import OPEN
from neuler.robot import Mechanism, ParallelRobot, Robot
from neuler.robot.configuration import UNIT, free_joints, listed

SHAKY = 1e-6
"""Of a machine's singularity measure: where a result is NaN and the measure is less, the pose is to blame."""
ANYWHERE = ("closure", "upright", "assembly_step", "singularity")
"""Quantities of machines that are defined at any position."""


def overwritten(x: np.ndarray, out: Any) -> bool:
    """Whether an array to write into shares its memory."""
    given = out if isinstance(out, tuple) else (out,)
    return any(isinstance(y, np.ndarray) and np.may_share_memory(x, y) for y in given)


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
    """Looks at one number of the results for every free joint, and at q only where that is NaN."""

    def __init__(self, robot: Robot, quantity: str, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> None:
        self.robot, self.quantity, self.inputs, self.outputs = robot, quantity, inputs, outputs
        self.position = [operand.name for operand in inputs].index("q")
        self.spots: tuple[Spot, ...] = ()
        self.core = len(outputs[0].shape)

    def find(self, ufunc: Any, dtype: Any) -> Watch | None:
        """With the spots that a kernel shows; None where no result depends on any quaternion."""
        neutral = self.robot.neutral().astype(dtype)
        arrays = [neutral if operand.name == "q" else np.zeros(operand.shape, dtype) for operand in self.inputs]
        spots = []
        with np.errstate(all="ignore"):
            well = self._results(ufunc(*arrays))
            for name, first, _ in free_joints(self.robot):
                turned = neutral.copy()
                turned[first + 3 : first + 7] = 1.0
                arrays[self.position] = turned
                ill = self._results(ufunc(*arrays))
                for k, (before, after) in enumerate(zip(well, ill, strict=True)):
                    places = np.flatnonzero(np.isnan(after) & ~np.isnan(before))
                    if len(places):
                        place = int(places[0])
                        index = tuple(int(i) for i in np.unravel_index(place, self.outputs[k].shape))
                        spots.append(Spot(name, first + 3, k, index, place))
                        break
        self.spots = tuple(spots)
        self.places = tuple({spot.place for spot in spots})
        return self if spots else None

    @staticmethod
    def _results(found: Any) -> tuple[Any, ...]:
        return found if isinstance(found, tuple) else (found,)

    def unseen(self, found: Any) -> bool:
        """Whether a kernel's only result shows nothing."""
        if found.ndim == self.core:
            for place in self.places:
                number = found.item(place)
                if number != number:
                    return False
            return True
        return not any(np.isnan(found[(..., *spot.index)]).any() for spot in self.spots)

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, q copied where the results are written over it."""
        q = arrays[self.position] if len(arrays) == len(self.inputs) else None
        if not isinstance(q, np.ndarray) or not overwritten(q, out):
            return arrays
        return [q.copy() if x is q else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are; an error for one state, a warning for a batch, where quaternions are to blame."""
        results = self._results(found)
        for spot in self.spots:
            nans = np.isnan(results[spot.output][(..., *spot.index)])
            if nans.any():
                self._name(spot, np.asarray(nans), np.asarray(arrays[self.position], dtype=float))
        return found

    def _name(self, spot: Spot, nans: np.ndarray, q: np.ndarray) -> None:
        square = np.square(q[..., spot.first : spot.first + 4]).sum(axis=-1)
        bad = nans & (np.abs(square - 1.0) > 0.999 * UNIT)  # what float32 rounds to the edge
        if not bad.any():
            return
        length = float(np.sqrt(np.broadcast_to(square, bad.shape)[bad][0]))
        whose = f"{self.quantity}: the quaternion of joint {spot.joint!r}"
        what = f"has the length {length:.6g} instead of 1"
        if not bad.ndim:
            raise InputError(f"{whose}, q[{spot.first}:{spot.first + 4}], {what}; robot.normalize(q) gives it that")
        message = f"{whose} {what}{listed(bad)}; their results are NaN, robot.normalize(q) mends them"
        warnings.warn(message, RuntimeWarning, stacklevel=4)


class MachineWatch:
    """Says why a machine's results are NaN: its pose is singular, or its legs do not allow the platform's motion."""

    def __init__(self, kernel: Any) -> None:
        self.machine: Mechanism | ParallelRobot = kernel.robot
        self.quantity, self.inputs = kernel.quantity, kernel.inputs
        self.core = len(kernel.outputs[0].shape)
        self.chosen = {key: value for key, value in kernel.options.items() if key == "independent"}

    def unseen(self, found: Any) -> bool:
        """Whether a kernel's only result is all numbers."""
        return not np.isnan(found).any()

    def kept(self, arrays: Sequence[Any], out: Any) -> Sequence[Any]:
        """The arguments, those copied that the results are written over."""
        return [x.copy() if isinstance(x, np.ndarray) and overwritten(x, out) else x for x in arrays]

    def named(self, found: Any, arrays: Sequence[Any]) -> Any:
        """The results as they are, with a warning where there is a reason to give."""
        first = found[0] if isinstance(found, tuple) else found
        nans = np.isnan(first).any(axis=tuple(range(first.ndim - self.core, first.ndim)))
        if not nans.any():
            return found
        for x, operand in zip(arrays, self.inputs, strict=True):  # NaN in, NaN out
            value = np.asarray(x, dtype=float)
            axes = tuple(range(value.ndim - len(operand.shape), value.ndim))
            nans = nans & np.isfinite(value).all(axis=axes)
        if nans.any():
            q = np.broadcast_to(np.asarray(arrays[0], dtype=float), (*nans.shape, self.inputs[0].size))
            self._name(np.asarray(nans), q)
        return found

    @property
    def _mechanism(self) -> Mechanism:
        return self.machine if isinstance(self.machine, Mechanism) else self.machine.mechanism

    def _no_rotation(self, q: np.ndarray) -> np.ndarray:
        """Rows with a quaternion that is none."""
        bad = np.zeros(q.shape[:-1], dtype=bool)
        for _, first, _ in free_joints(self._mechanism.tree):
            square = np.square(q[..., first + 3 : first + 7]).sum(axis=-1)
            bad |= np.abs(square - 1.0) > 0.999 * UNIT
        return bad

    def _open(self, q: np.ndarray) -> np.ndarray:
        """Rows at which the loops are not closed."""
        gap = self._mechanism.compile("closure").ufunc(q)[0]
        return np.linalg.norm(gap, axis=-1) >= OPEN

    def _margin(self, q: np.ndarray) -> np.ndarray:
        """The least of the machine's singularity measures; NaN where it has none."""
        try:
            kernel = self.machine.compile("singularity", **self.chosen)
        except RobotError:  # its motors do not decide its motion anywhere
            return np.full(q.shape[:-1], np.nan)
        with np.errstate(all="ignore"):
            found = kernel.ufunc(q)
        return np.minimum(*found) if isinstance(found, tuple) else np.asarray(found)

    def _name(self, nans: np.ndarray, q: np.ndarray) -> None:
        whose = f"{self.quantity} of {self.machine.name!r}"
        long = nans & self._no_rotation(q)
        nans = nans & ~long
        apart = nans & self._open(q)
        nans = nans & ~apart
        singular = nans & ~(self._margin(q) > SHAKY)
        for bad, reason in (
            (long, "a quaternion in q has not the length 1"),
            (apart, "the loops are open at this q; assemble gives a closed one"),
            (singular, "the pose is singular"),
            (nans & ~singular, "this motion is not one that the loops or legs allow"),
        ):
            if bad.any():
                warnings.warn(f"{whose}: {reason}{listed(bad)}; the result is NaN there", RuntimeWarning, stacklevel=4)

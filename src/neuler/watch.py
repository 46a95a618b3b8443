"""Quaternions that are no rotation, by name. Kernels give NaN for such states; this says whose they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.compiler.llvm import Operand
from neuler.errors import InputError
from neuler.robot import Robot
from neuler.robot.configuration import UNIT, free_joints, listed


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
        if not isinstance(q, np.ndarray) or not any(
            isinstance(x, np.ndarray) and np.may_share_memory(q, x) for x in self._results(out)
        ):
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

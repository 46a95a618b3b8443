"""Limits of effort: what a controller may ask of every entry of tau, and what it asked for at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.compiled import Compiled
from neuler.robot import Robot

Array = NDArray[np.float64]
EFFORTS = ("ignore", "clip")
"""What limits of effort do: nothing, or forces are cut off at them."""


def efforts(robot: Robot) -> Array:
    """The limit (N m or N) of every entry of tau; none where it is zero or less, which no force keeps.

    >>> import neuler
    >>> efforts(neuler.robots.two_link()).tolist()
    [10.0, 10.0]
    """
    given = np.array([entry.joint.limits.effort for entry in robot.coordinates.owners("tau")], dtype=float)
    return np.where(given > 0, given, np.inf)


class Clipped:
    """A controller whose forces are cut off at limits.

    With ``asked`` its memory ends with the largest size of every force that it asked for, and the times of these.
    """

    def __init__(self, controller: Callable[..., Any], most: Array, *, asked: bool = False) -> None:
        self.controller, self.most, self.asked = controller, most, asked
        own = getattr(controller, "memory0", None)
        self.memory0 = np.asarray(() if own is None else own, dtype=float)
        if asked:
            self.memory0 = np.concatenate([self.memory0, np.zeros(2 * len(most))])
        self.period = getattr(controller, "period", None)
        self.reference = getattr(controller, "reference", None)

    def __call__(self, t: Any, q: Any, qd: Any, memory: Any, reference: Any) -> Any:
        """The controller's (tau, memory), tau within its limits; also of traced values."""
        n = len(self.most)
        own = memory[: len(memory) - 2 * n] if self.asked else memory
        given = {"t": t, "q": q, "qd": qd, "memory": own, "reference": reference}
        if isinstance(self.controller, Compiled):  # its inputs go by name
            found = self.controller(**{each.name: given[each.name] for each in self.controller.inputs})
            found = found if isinstance(found, tuple) else (found, own)
        else:
            found = self.controller(*given.values())
        if not isinstance(found, tuple | list) or len(found) != 2:
            return found  # refused by whoever called
        tau, after = (np.asarray(x) for x in found)
        if tau.shape != self.most.shape:
            return found
        cut = nm.clip(tau, -self.most, self.most)
        if not self.asked:
            return cut, after
        size, (before, when) = nm.absolute(tau), (memory[-2 * n : -n], memory[-n:])
        grew = nm.less(before, size)
        return cut, np.concatenate([after, nm.maximum(before, size), nm.where(grew, t, when)])

"""Wrenches from outside: constants, or functions of time and state, on named frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import Compiled
from neuler.kernels import Kernel
from neuler.robot import Robot
from neuler.rollouts.wrenches import Wrench, checked_wrenches

Array = NDArray[np.float64]


@dataclass
class Wrenches:
    """By frame: ``external`` in the axes of the frame, ``loads`` in those of the base. Each is (force; moment), or a
    traced function (t, q, qd) that returns them."""

    robot: Robot
    external: dict[str, Wrench]
    loads: dict[str, Wrench]

    @classmethod
    def of(cls, robot: Robot, external: Mapping[str, Any] | None, loads: Mapping[str, Any] | None) -> Wrenches:
        """From what a user gives: checked, functions traced, once for a run."""
        found = [
            checked_wrenches("simulate", robot, option, given, finite=True)
            for option, given in (("external", external), ("loads", loads))
        ]
        return cls(robot, *found)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.external or self.loads)

    def kernel(self, robot: Robot, quantity: str) -> Kernel:
        """A quantity with inputs for these wrenches."""
        if not self.any:
            found: Kernel = getattr(robot, quantity)
            return found
        return robot.compile(quantity, external=tuple(self.external), loads=tuple(self.loads))

    def at(self, t: Any, q: Array, qd: Array) -> list[Array]:
        """All of them at states (..., nq), in the order of the kernel's inputs, (..., 6) each."""
        return [self._value(kind, frame, t, q, qd) for kind in ("external", "loads") for frame in getattr(self, kind)]

    def _value(self, kind: str, frame: str, t: Any, q: Array, qd: Array) -> Array:
        wrench = getattr(self, kind)[frame]
        if isinstance(wrench, Compiled):
            return np.asarray(wrench(t, q, qd))
        return np.broadcast_to(wrench, (*q.shape[:-1], 6))

    def shown(self, t: Array, q: Array, qd: Array) -> dict[str, Array]:
        """By frame, the sum of its wrenches in the base's axes, along motions (..., n, nq)."""
        times = np.broadcast_to(t, q.shape[:-1])
        found: dict[str, Array] = {}
        for frame in self.loads:
            found[frame] = np.array(self._value("loads", frame, times, q, qd))
        for frame in self.external:
            turn = self.robot.compile("link_poses", frame=frame).ufunc(q)[..., :3, :3]
            own = self._value("external", frame, times, q, qd).reshape(*q.shape[:-1], 2, 3)
            world = np.einsum("...ij,...kj->...ki", turn, own).reshape(*q.shape[:-1], 6)
            found[frame] = found[frame] + world if frame in found else world
        return found

"""Wrenches from outside: constants, or functions of time and state, on named frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.kernels import Kernel
from neuler.robot import Robot
from neuler.robot.value import kept

Array = NDArray[np.float64]
Wrench = Array | Callable[..., Any]


@dataclass
class Outside:
    """``external``: in the axes of their frames; ``loads``: in those of the base. Each (force; moment), or a function
    (t, q, qd) of traced values that gives one."""

    robot: Robot
    external: dict[str, Wrench]
    loads: dict[str, Wrench]

    @classmethod
    def of(cls, robot: Robot, external: Mapping[str, Any] | None, loads: Mapping[str, Any] | None) -> Outside:
        """With everything looked at."""
        return cls(robot, _checked(robot, "external", external), _checked(robot, "loads", loads))

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
        if callable(wrench):
            return np.asarray(self._compiled(kind, frame, wrench)(t, q, qd))
        return np.broadcast_to(wrench, (*q.shape[:-1], 6))

    def _compiled(self, kind: str, frame: str, wrench: Callable[..., Any]) -> Function:
        made = _functions(self)
        if (kind, frame) not in made:
            takes: dict[str, Any] = {"t": (), "q": self.robot.nq, "qd": self.robot.nv}
            made[kind, frame] = function(wrench, takes, {"wrench": (6,)}, name="wrench")
        return made[kind, frame]

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


def _checked(robot: Robot, option: str, given: Mapping[str, Any] | None) -> dict[str, Wrench]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"simulate: {option} must map frames to wrenches, {{'tool': ...}}, got {type(given).__name__}")
    found: dict[str, Wrench] = {}
    for frame, value in given.items():
        robot.locate(frame)
        if callable(value):
            found[frame] = value
            continue
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.ndim == 0 or array.shape[-1] != 6 or not np.isfinite(array).all():
            raise InputError(
                f"simulate: {option}[{frame!r}] must be 6 finite numbers (force; moment), or a function (t, q, qd) "
                f"that gives them, got {value!r:.60}"
            )
        found[frame] = array
    return found


@kept
def _functions(outside: Outside) -> dict[tuple[str, str], Function]:
    """By kind and frame, the compiled functions of wrenches."""
    return {}

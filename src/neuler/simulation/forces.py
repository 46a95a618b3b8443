"""What gives the forces: a constant, a series, a controller that is compiled, or any callable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import Compiled
from neuler.control.controller import Controller
from neuler.errors import InputError
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.robot.coordinates import Selection
from neuler.rollouts.controllers import FORMS, control_function, in_full, not_a_pair

Array = NDArray[np.float64]
Control = Callable[..., Any]
"""(t, q, qd, memory, reference) -> (tau, memory)."""


@dataclass
class Forces:
    """Forces at a time and a state, as numbers, for states of any batch."""

    robot: Robot
    given: Any
    """What stands for tau in a rollout: an array (..., steps or 1, nu), or a controller."""
    control: Control | None
    """None where forces are given as numbers."""
    compiled: bool
    """Whether the controller may become part of machine code."""
    memory: Array
    """To start with, (nm,)."""
    period: float | None
    """Seconds between samples; None: at every step."""

    @classmethod
    def of(cls, robot: Robot, controller: Any, compile: bool | None) -> Forces:
        """From what a user gives; None are no forces at all."""
        if not callable(controller):
            return cls(robot, _forces(robot, controller), None, False, np.empty(0), None)
        controller = in_full("simulate", controller)
        memory = np.asarray(getattr(controller, "memory0", ()), dtype=float)
        if memory.ndim != 1:
            raise InputError(f"simulate: the controller's memory0 must be a flat array, got shape {memory.shape}")
        period = getattr(controller, "period", None)
        if period is not None and not (np.isfinite(period) and period > 0):
            raise InputError(f"simulate: the controller's period must be above zero (s), got {period!r}")
        other = getattr(controller, "robot", robot)
        if other.nq != robot.nq or other.nu != robot.nu:
            raise InputError(
                f"simulate: the controller is one of {other.name!r} with {other.nu} forces, and {robot.name!r} has "
                f"{robot.nu}"
            )
        if isinstance(controller, Controller) and controller.reference_sizes and controller.reference is None:
            raise InputError(
                f"simulate: {controller.name} has no reference to follow; give it one when it is made, reference=..."
            )
        known = hasattr(controller, "memory0") or isinstance(controller, Compiled)
        compiled = known if compile is None else compile
        return cls(robot, controller, controller, compiled, memory, None if period is None else float(period))

    @property
    def series(self) -> bool:
        """Whether forces are given step by step."""
        return self.control is None and self.given.shape[-2] > 1

    def at(self, t: float, q: Array, qd: Array, memory: Array) -> tuple[Array, Array]:
        """tau (..., nu), and the memory after it, (..., nm)."""
        if self.control is None:
            return self.given[..., 0, :], memory
        if isinstance(self.control, Controller):
            found = self.control(t, q, qd, memory)
            return np.asarray(found.tau), np.asarray(found.memory)
        if isinstance(self.control, Compiled):  # its inputs go by name, as in a rollout
            known = {"t": t, "q": q, "qd": qd}
            found = self.control(**{each.name: known[each.name] for each in self.control.inputs if each.name in known})
            return np.asarray(found[0] if isinstance(found, tuple) else found), memory
        if self.compiled:
            found = self.function(t, q, qd, *([memory] if len(self.memory) else []))
            return (np.asarray(found[0]), np.asarray(found[1])) if len(self.memory) else (np.asarray(found), memory)
        reference = getattr(self.control, "reference", None)
        goal = np.asarray(reference(t)) if callable(reference) else np.empty(0)
        given = (x.copy() for x in (q, qd, memory))  # what it does to them is not the run's affair
        return self._checked(self.control(t, *given, goal), q.shape[:-1], memory.shape)

    def reference(self, times: Array) -> Array | None:
        """Positions that a controller's reference asks for at times (n,), (n, size of its own coordinates)."""
        control = self.control
        if not isinstance(control, Controller) or control.reference is None or not control.reference_sizes:
            return None
        return np.asarray(control.reference(times))[:, : control.reference_sizes[0]]

    @property
    def followed(self) -> Selection | None:
        """The coordinates whose positions :meth:`reference` returns; None where no controller follows one."""
        return self.control.coordinates if isinstance(self.control, Controller) else None

    @property
    def function(self) -> Compiled:
        """A controller that may be compiled as a function (t, q, qd[, memory]) -> tau[, memory], traced once a run."""
        held = self.__dict__
        if "_function" not in held:
            assert self.control is not None
            held["_function"] = control_function("simulate", self.robot, self.control, len(self.memory))
        found: Compiled = held["_function"]
        return found

    def _checked(self, found: Any, batch: tuple[int, ...], kept: tuple[int, ...]) -> tuple[Array, Array]:
        """What a callable returned."""
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise InputError(f"simulate: {not_a_pair(found)}")
        results = []
        for value, shape, what in ((found[0], (*batch, self.robot.nu), "tau"), (found[1], kept, "memory")):
            try:
                array = np.asarray(() if value is None else by_columns(self.robot, "simulate", what, value, "tau"))
                if array.dtype.kind not in "fiub" or (array.ndim == 0 and what == "memory"):
                    raise TypeError
                if array.ndim and array.shape[-1:] != shape[-1:]:
                    raise ValueError
                results.append(np.array(np.broadcast_to(array.astype(float), shape)))
            except (TypeError, ValueError):
                got = f"shape {value.shape}" if getattr(value, "shape", shape) != shape else f"{value!r:.60}"
                names = f" ({', '.join(self.robot.active_names[:6])})" if what == "tau" else ""
                raise InputError(
                    f"simulate: the controller's {what} must be numbers of shape {shape}{names}, got {got}"
                ) from None
        return results[0], results[1]


def _forces(robot: Robot, given: Any) -> Array:
    """(..., steps or 1, nu)."""
    given = by_columns(robot, "simulate", "tau", given, "tau")
    try:
        found = np.zeros(robot.nu) if given is None else np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"simulate: the controller must be a function, {FORMS}, an array of forces, or None, got "
            f"{type(given).__name__}"
        ) from None
    if found.ndim == 0 or found.shape[-1] != robot.nu:
        names = ", ".join(robot.active_names[:6])
        raise InputError(f"simulate: expected forces with last axis {robot.nu} ({names}), got shape {found.shape}")
    if not np.isfinite(found).all():
        raise InputError("simulate: the forces are not finite")
    return found[None] if found.ndim == 1 else found

"""What a controller is: a function from time, state, memory and reference to forces and memory, over any scalars.

``controller(t, q, qd)`` gives ``(tau, memory)`` for numbers in any batch, by compiled code; with traced values its
operations become part of the function that calls it: a rollout, a cost, another controller.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.compiled import Compiled
from neuler.control.coordinates import split
from neuler.control.law_function import LawFunction
from neuler.control.references import Reference
from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.inputs import number
from neuler.robot import Robot
from neuler.robot.columns import entry_names
from neuler.robot.coordinates import Selection
from neuler.tables import take_columns
from neuler.trace.listing import Listing
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]


class Command(NamedTuple):
    """What a controller gives: forces of the motors (..., nu), and its memory for the next sample."""

    tau: Any
    memory: Any


class Wanted(NamedTuple):
    """A reference, taken apart: positions of the robot's own coordinates, velocities, accelerations, and so on."""

    q: Any
    qd: Any
    qdd: Any
    more: tuple[Any, ...] = ()


class Controller:
    """A law for the forces of a robot's motors. Subclasses write ``law``; the rest is here.

    ``reference`` is where the robot is to be, by the robot's own coordinates (of a tree q; of loops the positions of
    the independent joints): positions to stay at, a function of time that gives positions, or one that gives
    positions, velocities and accelerations one behind the other (which joints with quaternions need); or None, where
    every call is handed such numbers. ``period`` (s) is the time between samples, between which tau is held; None:
    every step of an integrator is one. ``memory0`` is the memory that a run starts with.
    """

    name = "controller"
    order = 2
    """Derivatives of the reference that the law needs."""

    def __init__(self, robot: Robot, reference: Any = None, period: float | None = None) -> None:
        if not isinstance(robot, Robot):
            raise InputError(f"{self.name}: a robot is needed, got {type(robot).__name__}")
        self._refuse(robot)
        self.robot = robot
        self.coordinates = self.coordinates_of(robot)
        self.period = self._checked_period(period)
        self.memory0: Array = np.zeros(0)
        self.reference: Callable[[Any], Any] | None = reference

    def __setattr__(self, name: str, value: Any) -> None:
        """Change the law. What was traced of the old one is forgotten; arrays are stored as copies that are read-only.

        Other values that can change in place, such as lists and tables of gains, are compared before each use.
        """
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.setflags(write=False)
        value = self._checked_reference(value) if name == "reference" else value
        object.__setattr__(self, name, value)
        held = self.__dict__
        held["_compiled"] = {}
        held["_changeable"] = held.get("_changeable", frozenset()) - {name} | ({name} if changeable(value) else set())

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):  # a pickle does not remember that an array is read-only
                value.setflags(write=False)
        self.__dict__.update(state)

    def _kept(self, key: object, make: Callable[[], Function]) -> Function:
        """A function of the law, made once until the law changes."""
        held = self.__dict__
        if held["_changeable"]:
            now = _contents([held[name] for name in sorted(held["_changeable"])])
            if now is None or now != held.get("_contents"):
                held["_compiled"], held["_contents"] = {}, now
        compiled: dict[object, Function] = held["_compiled"]
        if key not in compiled:
            compiled[key] = make()
        return compiled[key]

    # ---- what a subclass says ------------------------------------------------------------------------

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """tau, or (tau, memory) where it has some; of traced values, which are inputs of their own graph."""
        raise NotImplementedError

    def _refuse(self, robot: Robot) -> None:
        """Robots that it is not for, by name."""

    @classmethod
    def coordinates_of(cls, robot: Robot) -> Selection:
        """The coordinates that references of the controller of a robot are of."""
        return robot.coordinates.own

    # ---- what it is asked ------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        """Numbers that it remembers."""
        return len(self.memory0)

    @property
    def reference_sizes(self) -> tuple[int, ...]:
        """Numbers of positions, velocities, accelerations, ... in a reference."""
        return (self.coordinates.size, *[self.coordinates.speeds] * self.order)

    def __call__(self, t: Any, q: Any, qd: Any, memory: Any = None, reference: Any = None) -> Command:
        """(tau, memory) at time t (s) in the state q, qd; leading axes are a batch.

        ``memory`` is by default that of the start, ``reference`` what the controller's own gives at t.
        """
        given = reference is not None and np.size(reference) > 0 and bool(self.reference_sizes)
        if not given and self.reference is None and self.reference_sizes:
            raise InputError(
                f"{self.name}: it has no reference of its own; give it one, or hand {sum(self.reference_sizes)} "
                "numbers (positions, velocities, ...) to every call: reference="
            )
        arrays = [t, q, qd]
        if self.memory:
            arrays.append(self.memory0 if memory is None else memory)
        if given:
            arrays.append(reference)
        found = self._function(given)(*arrays)
        return Command(*found) if self.memory else Command(found, np.zeros(0) if memory is None else memory)

    def function(self) -> Function:
        """The compiled law: (t, q, qd[, memory][, reference]) -> tau[, memory]; with derivatives, ``bind()`` and all.

        ``reference`` is an input where the controller has none of its own.
        """
        return self._function(self.reference is None and bool(self.reference_sizes))

    def control_listing(self, memory: int, reference: int) -> Listing | None:
        """The law's operations for a rollout with so many numbers of memory and reference, traced once.

        None where the law takes other numbers than these, or where a subclass has a ``__call__`` of its own.
        """
        own = self.reference is not None or not self.reference_sizes
        if type(self).__call__ is not Controller.__call__ or memory != self.memory or own == bool(reference):
            return None
        return self._function(bool(reference))._listing

    def _function(self, given: bool) -> Function:
        return self._kept(given, lambda: self._traced(given))

    def _traced(self, given: bool) -> Function:
        robot = self.robot
        inputs: dict[str, Any] = {"t": (), "q": robot.nq, "qd": robot.nv}
        outputs: dict[str, Any] = {"tau": robot.nu}
        if self.memory:
            inputs["memory"], outputs["next_memory"] = self.memory, self.memory
        if given:
            inputs["reference"] = sum(self.reference_sizes)

        def traced(t: Any, q: Any, qd: Any, *more: Any) -> Any:
            memory = more[0] if self.memory else np.zeros(0)
            return self.law(t, q, qd, memory, self.taken_apart(more[-1] if given else self._own(t)))

        found = function(traced, inputs, outputs, self.name)
        return LawFunction(found._listing, self.name, robot, self._about())

    def _about(self) -> tuple[str, ...]:
        """What other languages say of it."""
        said = (type(self).__doc__ or "").split("\n\n")[0].split("\n")
        every = "every step" if self.period is None else f"every {self.period:g} s"
        return (
            f"{type(self).__name__} of the robot {self.robot.name!r}, to be called {every}.",
            *(line.strip() for line in said),
            "Its gains, its model of the robot and a reference of its own are constants in the code.",
        )

    def _own(self, t: Any) -> Any:
        """What its own reference gives."""
        return np.zeros(0) if self.reference is None else self.reference(t)

    def taken_apart(self, flat: Any) -> Wanted:
        """A flat reference."""
        if not self.reference_sizes:
            return Wanted(None, None, None)
        parts = [*split(flat, self.reference_sizes), *[None] * 2]
        return Wanted(parts[0], parts[1], parts[2], tuple(parts[3:-2]))

    # ---- what it is given ------------------------------------------------------------------------------

    def _checked_period(self, period: float | None) -> float | None:
        return None if period is None else number(f"{self.name}: period", period, above=0.0, unit="s")

    def _checked_reference(self, reference: Any) -> Callable[[Any], Any] | None:
        if reference is None or not self.reference_sizes:
            return None
        size, whole = self.reference_sizes[0], sum(self.reference_sizes)
        if not callable(reference):
            return self._constant(reference)
        if isinstance(reference, Reference):
            if reference.size == size and self.coordinates.plain:
                return reference if reference.order == self.order else reference.with_order(self.order)
            found = (reference.order + 1) * reference.size
            given: Any = reference
        else:
            probe = function(lambda t: _flat(reference(t)), {"t": ()}, name=f"{self.name}_reference")
            found, given = probe.outputs[0].size, probe
            if found == size and self.coordinates.plain:
                return Reference(lambda t: _flat(reference(t)), self.order, f"{self.name}_reference")
        if found == whole:
            return given
        shown = " + ".join(map(str, self.reference_sizes))
        alone = f"{size} positions, or " if self.coordinates.plain else ""
        raise InputError(
            f"{self.name}: the reference of robot {self.robot.name!r} must give {alone}{shown} numbers (positions, "
            f"velocities, ...); it gives {found}"
        )

    def _constant(self, reference: ArrayLike) -> Callable[[Any], Any]:
        size, whole = self.reference_sizes[0], sum(self.reference_sizes)
        refuse_dask(self.name, "reference", reference)
        names = entry_names(self.robot, Operand("q", (self.robot.nq,))) or []
        reference = take_columns(self.name, "reference", reference, "q", [names[k] for k in self.coordinates.places])
        try:
            values = np.atleast_1d(np.asarray(reference, dtype=float))
        except (TypeError, ValueError):
            values = np.zeros((0, 0))
        if values.shape != (size,) or not np.isfinite(values).all():
            raise InputError(
                f"{self.name}: expected as reference {size} positions of robot {self.robot.name!r}, or a function of "
                f"time, got {reference!r:.80}"
            )
        still = np.concatenate([values, np.zeros(whole - size)])
        return function(lambda t: still, {"t": ()}, "reference", f"{self.name}_reference")

    def __repr__(self) -> str:
        sampled = "at every step" if self.period is None else f"every {self.period:g} s"
        return f"<{self.name} of {self.robot.name!r}, {sampled}>"


_CONSTANT = (
    type(None), bool, int, float, complex, str, bytes, np.generic, Robot, Compiled, Reference, type, FunctionType,
    MethodType, BuiltinFunctionType,
)  # fmt: skip
"""Types of attributes that do not change in place. What a function's closure holds is not looked at."""


def changeable(value: Any) -> bool:
    """Whether an attribute of a controller may change without being set.

    >>> changeable((1.0, "joint1")), changeable([1.0, 2.0]), changeable({"joint1": 3.0})
    (False, True, True)
    """
    if isinstance(value, np.ndarray):
        return bool(value.flags.writeable)
    if isinstance(value, tuple | frozenset):
        return any(map(changeable, value))
    frozen = getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
    return not (frozen or isinstance(value, _CONSTANT))


def _contents(values: list[Any]) -> bytes | None:
    """What can be compared of values that change in place; None for those that cannot be pickled."""
    try:
        return pickle.dumps(values)
    except Exception:  # whatever an object of a user raises
        return None


def _flat(values: Any) -> Any:
    return np.atleast_1d(np.asarray(values, dtype=object))

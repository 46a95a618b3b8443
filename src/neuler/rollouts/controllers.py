"""Controllers as part of a rollout: their forms, and their operations, traced once."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from neuler.compiled import Compiled
from neuler.errors import InputError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.robot import Robot
from neuler.rollouts.model import Control
from neuler.trace.graph import Node
from neuler.trace.listing import Listing

_EMPTY = np.empty(0, object)
FORMS = "(t, q, qd) -> tau, or (t, q, qd, memory, reference) -> (tau, memory)"
"""What controllers look like."""


class Short:
    """A controller without memory and reference, a function (t, q, qd) -> tau, in the form that all others have.

    It has the ``period``, ``robot`` and ``memory0`` (which must be empty) of the function, where that has them.
    """

    def __init__(self, function: Callable[..., Any], called: str) -> None:
        self.function, self.called = function, called
        for name in ("period", "robot", "memory0"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        if np.size(getattr(self, "memory0", ())):
            raise InputError(f"{called}: a controller with memory0 takes (t, q, qd, memory, reference)")

    def __call__(self, t: Any, q: Any, qd: Any, memory: Any, reference: Any) -> tuple[Any, Any]:
        """(tau, memory); the memory is what it was."""
        tau = self.function(t, q, qd)
        if isinstance(tau, tuple) and len(tau) == 2 and (tau[1] is None or tau[1] is memory or not np.size(tau[1])):
            raise InputError(
                f"{self.called}: a controller of (t, q, qd) returns tau alone, this one gave (tau, memory)"
            )
        return tau, memory


def in_full(called: str, controller: Callable[..., Any]) -> Callable[..., Any]:
    """A controller that takes (t, q, qd, memory, reference): itself, or the short form of three arguments wrapped.

    One that needs three arguments is a short one, also where it has others with defaults, such as gains; unless these
    are called memory and reference.
    """
    if isinstance(controller, Compiled):  # its inputs go by name
        return controller
    inner = getattr(controller, "forward", None) or getattr(controller, "pyfunc", None)  # of torch and np.vectorize
    try:
        parameters = inspect.signature(inner if callable(inner) else controller).parameters.values()
    except (TypeError, ValueError):  # of callables that Python cannot look into
        return controller
    places = [x for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    needed = [x.name for x in parameters if x.kind is x.KEYWORD_ONLY and x.default is x.empty]
    if needed:
        raise InputError(
            f"{called}: the controller needs the argument {needed[0]!r}, which nobody gives it; "
            f"functools.partial(controller, {needed[0]}=...) does"
        )
    least = sum(x.default is x.empty for x in places)
    most = math.inf if any(x.kind is x.VAR_POSITIONAL for x in parameters) else len(places)
    optional = [x.name for x in places[3:5]]
    if least == 3 and most < math.inf and optional != ["memory", "reference"]:
        return Short(controller, called)
    if least <= 5 <= most:
        return controller
    if least <= 3 <= most:
        return Short(controller, called)
    raise InputError(
        f"{called}: a controller is {FORMS}; this one takes {', '.join(x.name for x in places) or 'nothing'}"
    )


def refuse_own_state(called: str, controller: Any) -> None:
    """Refuse a controller that has stored traced values in itself: it was called once, and would never do so again."""
    inner = controller.function if isinstance(controller, Short) else controller
    held = dict(getattr(getattr(inner, "__self__", inner), "__dict__", {}))
    with contextlib.suppress(TypeError):  # no Python function
        held |= inspect.getclosurevars(inner).nonlocals
    for name, value in held.items():
        if isinstance(value, Node) or (isinstance(value, np.ndarray) and any(isinstance(x, Node) for x in value.flat)):
            raise InputError(
                f"{called}: the controller stores values of its own ({name!r}), but inside a compiled loop it is "
                "called once, when it is traced; carry them in memory, (t, q, qd, memory, reference) -> (tau, memory), "
                "or use neuler.simulate(..., compile=False), which calls it at every sample"
            )


@runtime_checkable
class Listed(Protocol):
    """A controller that stores its own operations, and knows when they have changed: it need not be traced again."""

    def control_listing(self, memory: int, reference: int) -> Listing | None:
        """(t, q, qd[, memory][, reference]) -> (tau[, memory]) for so many numbers; None where it must be traced."""
        ...


def control_function(called: str, robot: Robot, controller: Callable[..., Any], memory: int) -> Compiled:
    """The controller as a function (t, q, qd[, memory]) -> tau[, memory]: rollouts take it without tracing it again."""
    if isinstance(controller, Compiled):
        return controller
    return Function(traced_control(called, robot, controller, memory, 0).listing, "controller")


def traced_control(called: str, robot: Robot, controller: Callable[..., Any], memory: int, reference: int) -> Control:
    """The controller's operations. Where it has a function ``reference`` of the time, that is part of it.

    A function made by ``neuler.function`` is taken as it is, a controller that is :class:`Listed` is asked for its
    operations; others are traced.
    """
    if isinstance(controller, Compiled):
        return _ready(called, robot, controller._listing, memory, reference)
    own = getattr(controller, "reference", None)
    if callable(own) and reference:
        raise InputError(
            f"{called}: the controller has a reference of its own, a function of the time; leave reference= away"
        )
    listing = controller.control_listing(memory, reference) if isinstance(controller, Listed) else None
    if listing is not None:
        refuse_own_state(called, controller)
        return _ready(called, robot, listing, memory, reference)
    takes: dict[str, Any] = {"t": (), "q": robot.nq, "qd": robot.nv}
    if memory:
        takes["memory"] = memory
    if reference:
        takes["reference"] = reference

    def inside(t: Any, q: Any, qd: Any, *more: Any) -> Any:
        rest = list(more)
        kept = rest.pop(0) if memory else _EMPTY
        goal = rest.pop(0) if reference else _EMPTY
        if callable(own):
            goal = flat_array(called, "the controller's reference(t)", own(t))
        found = controller(t, q, qd, kept, goal)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise InputError(f"{called}: {not_a_pair(found)}")
        one = isinstance(found[0], Node | Real)  # for all of them
        tau = flat_array(called, "the controller's tau", np.full(robot.nu, found[0], object) if one else found[0])
        after = flat_array(called, "the controller's memory", found[1])
        _check(called, "tau", tau, robot.nu, f"one number for each of {', '.join(robot.active_names[:6])}")
        _check(called, "memory", after, memory, "as many numbers as the memory it was given")
        return {"tau": tau, "after": after} if memory else {"tau": tau}

    found = listing_of(called, inside, takes, None)
    refuse_own_state(called, controller)
    return Control(found, memory, reference)


def _ready(called: str, robot: Robot, listing: Listing, memory: int, reference: int) -> Control:
    """A listing that has some of (t, q, qd, memory, reference) as inputs, and tau and the memory as outputs."""
    sizes = {"t": 1, "q": robot.nq, "qd": robot.nv, "memory": memory, "reference": reference}
    for operand in listing.inputs:
        if operand.name not in sizes:
            raise InputError(
                f"{called}: a controller's inputs are some of {', '.join(sizes)}; this one has {operand.name!r}"
            )
        if operand.size != sizes[operand.name]:
            raise InputError(
                f"{called}: the controller's input {operand.name} has {operand.size} numbers, here it is "
                f"{sizes[operand.name]}"
            )
    found = [operand.size for operand in listing.outputs]
    if found != [robot.nu, *([memory] if memory else [])]:
        raise InputError(
            f"{called}: a controller gives tau, {robot.nu} numbers, and its memory, {memory}; this one gives {found}"
        )
    return Control(listing, memory, reference)


def flat_array(called: str, what: str, found: Any) -> np.ndarray:
    """What a user's function returned, as an array with one axis; other shapes and a constant NaN are refused."""
    try:
        array = np.asarray([] if found is None else found, dtype=object)
    except ValueError:
        raise InputError(f"{called}: {what} is not a regular array") from None
    if array.ndim != 1:
        came = f"shape {array.shape}" if array.ndim else f"{found!r:.60}"
        raise InputError(f"{called}: {what} must be a flat array of numbers, got {came}")
    for x in array.tolist():
        if not isinstance(x, Node) and isinstance(x, float) and math.isnan(x):
            raise InputError(f"{called}: {what} holds NaN, whatever the state")
    return array


def _check(called: str, what: str, found: np.ndarray, size: int, meaning: str) -> None:
    if len(found) != size:
        raise InputError(f"{called}: the controller's {what} must have {size} numbers ({meaning}), got {len(found)}")


def not_a_pair(x: object) -> str:
    """What to say of the result of a controller of five arguments that is not (tau, memory)."""
    came = f"{len(x)} results" if isinstance(x, tuple | list) else type(x).__name__
    return (
        f"a controller of (t, q, qd, memory, reference) returns (tau, memory), this one gave {came}; one that needs "
        "neither memory nor reference takes (t, q, qd) and returns tau alone"
    )

"""Wrenches from outside by the names of frames: six numbers each, or functions of time and state that are traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import Compiled
from neuler.errors import InputError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.inputs import array
from neuler.robot import Robot
from neuler.rollouts.controllers import flat_array
from neuler.tables import take_columns
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]
PARTS = ("fx", "fy", "fz", "mx", "my", "mz")
"""Names of the six numbers of a wrench as columns of a table."""
Wrench = Array | Compiled
"""Six numbers (force; moment), leading axes a batch, or a traced function of (t, q, qd) that returns them."""


def checked_wrenches(called: str, robot: Robot, option: str, given: Any, *, finite: bool = False) -> dict[str, Wrench]:
    """The wrenches of ``external`` or ``loads`` by frame, functions traced; ``finite`` also refuses NaN and infinity.

    What it returned once it takes again without tracing.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(frame, str) for frame in given):
        raise InputError(
            f"{called}: {option} must map frames to wrenches by their names, {{'tool': ...}}, got "
            f"{type(given).__name__}"
        )
    found: dict[str, Wrench] = {}
    for frame, value in given.items():
        robot.locate(frame)
        if callable(value):
            found[frame] = traced_wrench(called, robot, frame, value)
        else:
            found[frame] = _numbers(called, f"{option}[{frame!r}]", frame, value, finite)
    return found


def _numbers(called: str, what: str, frame: str, value: Any, finite: bool) -> Array:
    meaning = f"must be 6 {'finite ' if finite else ''}numbers (force; moment), or a function (t, q, qd) of them"
    try:
        found = array(called, what, take_columns(called, what, value, frame, PARTS), (6,))
    except InputError as error:
        raise InputError(f"{error}; it {meaning}") from None
    if finite and not np.isfinite(found).all():
        raise InputError(f"{called}: {what} {meaning}, got {value!r:.60}")
    return found


def traced_wrench(called: str, robot: Robot, frame: str, wrench: Callable[..., Any]) -> Compiled:
    """A wrench as a function of (t, q, qd) that returns six numbers; one that is compiled already is taken as it is."""
    takes = {"t": (), "q": (robot.nq,), "qd": (robot.nv,)}
    if isinstance(wrench, Compiled):
        exact = wrench.inputs == tuple(Operand(name, shape) for name, shape in takes.items())
        if exact and [each.shape for each in wrench.outputs] == [(6,)]:
            return wrench
    try:
        inspect.signature(wrench).bind(0.0, (), ())
    except TypeError:
        raise InputError(
            f"{called}: the wrench on {frame!r} must be a function of (t, q, qd), this one is {wrench!r:.60} "
            f"with {inspect.signature(wrench)}"
        ) from None
    except ValueError:  # Python cannot look into it
        pass

    def inside(t: Any, q: Any, qd: Any) -> Any:
        found = flat_array(called, f"the wrench on {frame!r}", wrench(t, q, qd))
        if len(found) != 6:
            raise InputError(f"{called}: the wrench on {frame!r} must be 6 numbers (force; moment), got {len(found)}")
        return found

    return Function(listing_of(called, inside, takes, "wrench"), "wrench")

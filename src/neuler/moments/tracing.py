"""Functions of moments, traced: what they take, and how a measure is computed along a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.functions.trimming import trimmed
from neuler.moments.measures import Measure
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import HIGHEST, MovingRobot
from neuler.robot import Robot

Array = NDArray[np.float64]
PAYLOAD, MAGNITUDES = "payload", "magnitudes"
"""Names of the inputs with the numbers of payloads, and with variables that bound magnitudes of rows from above."""
CONSTANTS = ("share", "given", PAYLOAD)
"""Inputs that are not variables of a programme."""


FORCE_RATES = 2
"""Derivatives of the forces of contacts that measures may use."""


def is_profile(name: str) -> bool:
    """Whether an input is c0, c1, ...: the profiles or one of their derivatives by the share of a phase."""
    return name.startswith("c") and name[1:].isdigit()


def is_force(name: str) -> bool:
    """Whether an input is f0, f1, ...: forces of contacts that profiles give, or a derivative of them by the share."""
    return name.startswith("f") and name[1:].isdigit()


def made(name: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of moments or integrals returns, flat; errors of a user's function are told with its name."""
    try:
        with np.errstate(all="ignore"):
            found = make(*arguments)
    except NeulerError:
        raise
    except Exception as error:
        raise InputError(f"measure {name!r}: its function raised {type(error).__name__}: {error}") from error
    flat = np.asarray(found, dtype=object).ravel()
    for x in flat:
        if x is None or isinstance(x, str | complex) or (isinstance(x, float) and x != x):
            raise InputError(f"measure {name!r}: its rows must be real numbers or traced values, got {x!r}")
    if not flat.size:
        raise InputError(f"measure {name!r} gave no rows")
    return flat


def moment_inputs(
    robot: MovingRobot, slacks: Sequence[str] = (), given: int = 0, magnitudes: int = 0
) -> dict[str, Any]:
    """Names and shapes of all that a moment is made of."""
    inputs: dict[str, Any] = {f"c{k}": robot.profile_count for k in range(HIGHEST + 1)}
    inputs |= {"T": (), "share": ()}
    if robot.dependent:
        inputs["dependent"] = len(robot.dependent)
    inputs |= dict.fromkeys(slacks, ())
    if given:
        inputs["given"] = given
    if magnitudes:
        inputs[MAGNITUDES] = magnitudes
    if robot.payloads:
        inputs[PAYLOAD] = len(robot.payload_numbers)
    if robot.force_count:
        inputs |= {f"f{k}": robot.force_count for k in range(FORCE_RATES + 1)}
    return inputs


def moment_of(robot: MovingRobot, values: dict[str, Any], slacks: Sequence[str] = ()) -> Moment:
    """A moment from traced values by the names of :func:`moment_inputs`."""
    return Moment(
        robot,
        [values[f"c{k}"] for k in range(HIGHEST + 1)],
        values["share"],
        values["T"],
        dependent=values.get("dependent"),
        slacks={slack: values[slack] for slack in slacks},
        given=values.get("given"),
        payload=values.get(PAYLOAD),
        magnitudes=values.get(MAGNITUDES),
        forces=[values[f"f{k}"] for k in range(FORCE_RATES + 1)] if robot.force_count else (),
    )


def traced(
    name: str, rows: Callable[..., Any], inputs: dict[str, Any], called: Sequence[str], *, marked: bool
) -> Function:
    """A function of those inputs alone that its rows depend on."""
    whole = listing_of(name, rows, inputs, "rows")
    try:
        return Function(trimmed(whole, marked=marked), name)
    except InputError:
        raise InputError(nothing_decided(called)) from None


def nothing_decided(called: Sequence[str]) -> str:
    """What to say of functions that depend on no variable."""
    return f"{', '.join(called)}: depends on nothing that a plan decides; has the robot no mass?"


def function_of(robot: MovingRobot, name: str, rows: Callable[[Moment], Any]) -> Function:
    """A compiled function of a moment of a robot's motion, one flat array of rows."""
    inputs = moment_inputs(robot)

    def flat(*values: Any) -> Any:
        return list(made(name, rows, moment_of(robot, dict(zip(inputs, values, strict=True)))))

    return traced("measure", flat, inputs, [name], marked=not robot.robot.loops)


class Evaluated(Protocol):
    """What a measure needs of a motion."""

    @property
    def robot(self) -> Robot:
        """Whose motion it is."""
        ...

    @property
    def duration(self) -> float:
        """How long it takes (s)."""
        ...

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives (N, nv)."""
        ...


def measured(what: Measure, motion: Evaluated, t: Array) -> Array:
    """A measure along a motion, (N, rows), by its positions and their first three derivatives."""
    robot = motion.robot
    model = MovingRobot(robot, robot, np.asarray(robot.neutral(), dtype=float))
    if model.elastic or model.dependent or not model.coordinates.plain:
        raise InputError(
            f"measure {what.name!r}: along motions that were not planned it is for robots without loops, springs and "
            f"quaternions, which {robot.name!r} has; use motion.torques, motion.forces or the robot's quantities"
        )
    function = function_of(model, what.name, what.rows)
    names = [operand.name for operand in function.inputs]
    orders = [int(name[1:]) for name in names if is_profile(name)]
    if max(orders, default=0) > 3:
        raise InputError(f"measure {what.name!r}: it needs derivative {max(orders)}, this motion has three")
    T = motion.duration
    rates = [x * T**k for k, x in enumerate(motion.evaluate(t, max(orders, default=0)))]
    given: dict[str, Any] = {f"c{k}": rates[k] for k in orders}
    given |= {"T": np.full(len(t), T), "share": np.asarray(t) / T}
    return np.asarray(function(**{name: given[name] for name in names}))

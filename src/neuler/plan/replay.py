"""A plan put to the test: its forces without feedback, and its motion as the reference of controllers.

Without feedback the forces of a plan lead along its motion exactly as far as the plan obeys the equations of motion.
By steps of one size each step has the mean of the forces over it (Gauss's three points), which is of the second order;
by methods that choose their steps the forces are those of the plan at every instant.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.control import CONTROLLERS, Controller, Reference
from neuler.control.coordinates import Coordinates
from neuler.errors import InputError
from neuler.functions.function import function
from neuler.naming import hint
from neuler.plan.pieces import Pieces
from neuler.robot import Robot
from neuler.robot.columns import slots
from neuler.simulation.adaptive import METHODS as ADAPTIVE
from neuler.simulation.run import Run
from neuler.simulation.simulator import simulate

if TYPE_CHECKING:
    from neuler.plan.planned import Planned

Array = NDArray[np.float64]
STEP = 1e-4
"""Seconds of a step, at most, unless another is asked for."""
_GAUSS = (np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)]), np.array([5.0, 8.0, 5.0]) / 18.0)
"""Points on -1 to 1, and weights of a mean."""


def own_coordinates(robot: Robot) -> Coordinates:
    """Positions that a motion is planned in: the robot's own, without motors behind springs."""
    return Coordinates.of_links(robot)


# ---- without feedback ----------------------------------------------------------------------------


def driven(robot: Robot) -> Array:
    """One for the forces of tau that a motor gives, else zero, (nu,)."""
    rows = [float(joint.role == "driven") for joint, _, _ in slots(robot) for _ in range(joint.nv)]
    return np.array(rows)[list(robot.mobility.active_numbers)] if robot.loops else np.array(rows)


def holding(planned: Planned) -> Array:
    """Driven forces that hold the last position at rest, (nu,)."""
    robot, q = planned.robot, planned.at(planned.duration).q
    return driven(robot) * np.asarray(robot.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv)))


class FeedForward:
    """The plan's forces as a controller that looks at nothing but the time; after the end those that hold it."""

    def __init__(self, planned: Planned) -> None:
        self.planned, self.mask, self.last = planned, driven(planned.robot), holding(planned)

    def __call__(self, t: float, q: Array, qd: Array, memory: Array, reference: Array) -> tuple[Array, Array]:
        """(tau, memory)."""
        over = t > self.planned.duration
        return (self.last if over else self.mask * self.planned.torques(max(float(t), 0.0))), memory


def mean_torques(planned: Planned, steps: int, step: float) -> Array:
    """Means of the driven forces over steps from the start on, (steps, nu); after the end those that hold it."""
    points, weights = _GAUSS
    t = ((np.arange(steps)[:, None] + 0.5) + 0.5 * points) * step
    tau = planned.torques(np.minimum(t.ravel(), planned.duration)).reshape(steps, len(points), -1)
    over = (np.arange(steps) + 0.5) * step > planned.duration
    return np.where(over[:, None], holding(planned), driven(planned.robot) * np.einsum("p,kpj->kj", weights, tau))


def replay(
    planned: Planned, step: float | None, method: str, *, after: float = 0.0, robot: Robot | None = None, **options: Any
) -> Run:
    """See :meth:`Planned.replay`; ``robot``: the one that moves, where it is not as planned."""
    plant = planned.as_planned if robot is None else robot
    own = _steps(planned, step)
    size, more = planned.duration / own, _more(after, planned.duration / own)
    start = planned.at(0.0)
    law: Any = FeedForward(planned) if method in ADAPTIVE else mean_torques(planned, own + more, size)
    times = np.arange(own + more + 1) * size if method in ADAPTIVE else (own + more) * size
    run = simulate(plant, law, (start.q, start.qd), times, step=size, method=method, **options)
    return _compared(planned, run)


def _steps(planned: Planned, step: float | None) -> int:
    if step is None:
        return max(1000, math.ceil(planned.duration / STEP))
    if not (isinstance(step, int | float) and math.isfinite(step) and 0 < step <= planned.duration):
        raise InputError(
            f"plan of {planned.robot.name!r}: step must be a time (s) up to the duration {planned.duration:g}, "
            f"got {step!r}"
        )
    return max(1, round(planned.duration / step))


def _more(after: float, step: float) -> int:
    """Steps after the end."""
    if not (isinstance(after, int | float) and math.isfinite(after) and after >= 0):
        raise InputError(f"after must be a time (s), zero or more, got {after!r}")
    return round(after / step)


def _compared(planned: Planned, run: Run) -> Run:
    """With the plan as what was asked for, so that the run knows its error."""
    own = own_coordinates(planned.robot)
    goal = planned.at(np.minimum(run.t, planned.duration)).q[:, own.places]
    return dataclasses.replace(run, reference=goal, followed=own)


# ---- with feedback -------------------------------------------------------------------------------


def reference(planned: Planned, own: Coordinates, order: int) -> Reference | Any:
    """The motion of some coordinates as a function of time that may be traced.

    Where velocities are rates of positions, all derivatives follow from these; of quaternions a function gives
    positions, velocities and accelerations, each piece by piece a polynomial to thirteen digits.
    """
    motion, places = planned.motion, own.places
    speeds = _speeds(planned.robot, own)
    if own.plain:
        path = Pieces.integrated(lambda t: _parts(motion.evaluate(t, 3), places, speeds), motion.knots)
        return Reference(path, order, "plan")
    rows = Pieces.fitted(
        lambda t: np.concatenate(_parts(motion.evaluate(t, order), places, speeds), axis=1), motion.knots
    )
    after = np.concatenate([rows(planned.duration)[: len(places)], np.zeros(order * len(speeds))])

    def flat(t: Any) -> Any:
        return nm.where(nm.greater(t, planned.duration), after, rows(t))

    return function(flat, {"t": ()}, "reference", "plan")


def _parts(found: list[Array], places: list[int], speeds: list[int]) -> list[Array]:
    return [found[0][:, places], *(x[:, speeds] for x in found[1:])]


def _speeds(robot: Robot, own: Coordinates) -> list[int]:
    """Numbers in qd of the velocities of some coordinates."""
    every, at = Coordinates.of(robot), 0
    found: list[int] = []
    chosen = {places for _, places, _ in own.parts}
    for _, places, count in every.parts:
        if places in chosen:
            found += range(at, at + count)
        at += count
    return found


def track(
    planned: Planned, controller: Any, step: float | None, *, robot: Robot | None, after: float, x0: Any,
    options: Mapping[str, Any], gains: Mapping[str, Any],
) -> Run:  # fmt: skip
    """See :meth:`Planned.track`."""
    law = _law(planned, controller, gains)
    if not law.reference_sizes:
        raise InputError(f"track: {law.name} follows no reference")
    law.reference = reference(planned, law.coordinates, law.order)
    plant, start = planned.robot if robot is None else robot, planned.at(0.0)
    size = _size(planned, law, step)
    steps = math.ceil(planned.duration / size - 1e-9) + _more(after, size)
    every = {"every": 1} | dict(options)
    return simulate(plant, law, (start.q, start.qd) if x0 is None else x0, steps * size, step=size, **every)


def _law(planned: Planned, controller: Any, gains: Mapping[str, Any]) -> Controller:
    """One of its own, whose reference may be set."""
    if isinstance(controller, Controller):
        if gains:
            raise InputError(f"track: {controller.name} has its gains already; {', '.join(gains)} cannot be set here")
        return copy.copy(controller)
    if isinstance(controller, str):
        if controller not in CONTROLLERS:
            raise InputError(f"track: there is no controller {controller!r}; {hint(controller, CONTROLLERS)}")
        controller = CONTROLLERS[controller]
    if not (isinstance(controller, type) and issubclass(controller, Controller)):
        raise InputError(
            f"track: expected a controller of neuler.control, its class or its name, got {type(controller).__name__}"
        )
    try:
        return controller(planned.robot, **gains)
    except TypeError as error:
        raise InputError(f"track: {controller.name}: {error}") from None


def _size(planned: Planned, law: Controller, step: float | None) -> float:
    """Of a step: a whole number of them fits between samples, or into the plan."""
    if law.period is None:
        return planned.duration / _steps(planned, 1e-3 if step is None and planned.duration > 1e-3 else step)
    wanted = min(1e-3, law.period) if step is None else step
    return law.period / max(1, round(law.period / wanted))

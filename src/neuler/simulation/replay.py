"""A motion put to the test: its forces without feedback, and its motion as the reference of controllers.

Without feedback the forces lead along the motion exactly as far as it obeys the equations of motion. By steps of one
size each step has the mean of the forces over it (Gauss's three points), which is of the second order; by methods that
choose their steps the forces are those of the motion at every instant.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.control import CONTROLLERS, Controller
from neuler.control.pieces import Pieces
from neuler.control.tracking import own_coordinates, reference
from neuler.errors import InputError
from neuler.motions.motion import Motion
from neuler.motions.pictures import driven
from neuler.naming import hint
from neuler.robot import Robot
from neuler.simulation.adaptive import METHODS as ADAPTIVE
from neuler.simulation.run import Run
from neuler.simulation.simulator import simulate

Array = NDArray[np.float64]
STEP = 1e-4
"""Seconds of a step, at most, unless another is asked for."""
_LOAD_DEGREE = 8
"""Of polynomials for the ground's forces between knots."""
_GAUSS = (np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)]), np.array([5.0, 8.0, 5.0]) / 18.0)
"""Points on -1 to 1, and weights of a mean."""


# ---- without feedback ----------------------------------------------------------------------------


def holding(motion: Motion) -> Array:
    """Driven forces that hold the last position at rest, (nu,)."""
    robot, q = motion.robots[-1], motion.states(np.array([motion.duration])).q[0]
    return driven(robot) * np.asarray(robot.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv)))


class FeedForward:
    """A motion's forces as a controller that looks at nothing but the time; after the end those that hold it."""

    def __init__(self, motion: Motion, begin: float = 0.0) -> None:
        self.motion, self.begin = motion, begin
        self.mask, self.last = driven(motion.robot), holding(motion)

    def __call__(self, t: float, q: Array, qd: Array, memory: Array, reference: Array) -> tuple[Array, Array]:
        """The forces at a time, and no memory."""
        now = float(t) + self.begin
        if now > self.motion.duration:
            return self.last, memory
        return self.mask * self.motion.torques(np.array([max(now, 0.0)]))[0], memory


def mean_torques(motion: Motion, steps: int, step: float, begin: float = 0.0) -> Array:
    """Means of the driven forces over steps from ``begin`` on, (steps, nu); after the end those that hold it."""
    points, weights = _GAUSS
    t = begin + ((np.arange(steps)[:, None] + 0.5) + 0.5 * points) * step
    tau = motion.asked(motion.torques, np.minimum(t.ravel(), motion.duration)).reshape(steps, len(points), -1)
    over = begin + (np.arange(steps) + 0.5) * step > motion.duration
    return np.where(over[:, None], holding(motion), driven(motion.robot) * np.einsum("p,kpj->kj", weights, tau))


def replay(
    motion: Motion, step: float | None, method: str, *, after: float = 0.0, robot: Robot | None = None, **options: Any
) -> Run:
    """See :meth:`Motion.replay`; ``robot``: the one that moves, where it is not that of the motion."""
    robots = motion.robots if robot is None else (robot,)
    if motion.contact_frames and after:
        raise InputError(
            f"replay of {motion.robot.name!r}: it stands on the ground at the end, and falls over without feedback; "
            "leave after=... away"
        )
    if motion.contact_frames and robot is not None:
        robots = (robot,) * (len(motion.breaks) - 1)
    if all(each is robots[0] for each in robots) and not motion.contact_frames:
        run = _part(motion, robots[0], (0.0, motion.duration), step, method, after, None, options)
        return _compared(motion, run)
    runs: list[Run] = []
    state = None
    for plant, (begin, end) in zip(robots, itertools.pairwise(map(float, motion.breaks)), strict=True):
        last = end == motion.breaks[-1]
        runs.append(_part(motion, plant, (begin, end), step, method, after if last else 0.0, state, options))
        state = runs[-1].q[-1], runs[-1].qd[-1] + (0.0 if last else motion.velocity_jump(len(runs)))
        if runs[-1].status:
            break
    return _compared(motion, _joined(motion, runs))


def _part(
    motion: Motion, plant: Robot, span: tuple[float, float], step: float | None, method: str, after: float, state: Any,
    options: Mapping[str, Any],
) -> Run:  # fmt: skip
    """The replay of one robot over a part of the time."""
    begin, length = span[0], span[1] - span[0]
    own = _steps(motion, step, length)
    size = length / own
    more = _more(after, size)
    start = motion.states(np.array([begin]))
    law: Any = FeedForward(motion, begin) if method in ADAPTIVE else mean_torques(motion, own + more, size, begin)
    times = np.arange(own + more + 1) * size if method in ADAPTIVE else (own + more) * size
    x0 = (start.q[0], start.qd[0]) if state is None else state
    loads = contact_loads(motion, span)
    if loads:
        options = {**options, "loads": {**loads, **(options.get("loads") or {})}}
    return simulate(plant, law, x0, times, step=size, method=method, **options)


def contact_loads(motion: Motion, span: tuple[float, float]) -> dict[str, Any]:
    """What the ground exerts in a part of a motion, by frame: functions of the time since that part began.

    Between the motion's knots they are polynomials; they depend on nothing but the time, as the torques do.
    """
    begin, end = span
    if not motion.contact_frames:
        return {}
    inner = motion.knots[(motion.knots > begin + 1e-12) & (motion.knots < end - 1e-12)]
    times = np.concatenate([[begin], inner, [end]])
    nodes = np.polynomial.chebyshev.chebpts1(_LOAD_DEGREE + 1)
    middle, half = (times[1:] + times[:-1]) / 2, np.diff(times) / 2
    found = motion.contact_loads((middle[:, None] + half[:, None] * nodes).ravel())
    powers = np.vander(nodes, increasing=True)
    loads = {}
    for frame, values in found.items():
        if np.any(values):
            rows: Any = np.linalg.solve(powers, values.reshape(len(middle), len(nodes), 6))
            loads[frame] = _Load(Pieces(times - begin, rows))
    return loads


class _Load:
    """A wrench as a function of time alone."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces

    def __call__(self, t: Any, q: Any, qd: Any) -> Any:
        """Force and moment at a time."""
        return self.pieces(t)


def _joined(motion: Motion, runs: Sequence[Run]) -> Run:
    """Runs of several robots, one after the other, as one."""
    first = runs[0]
    found: dict[str, Any] = {"robot": motion.robot, "t": first.t}
    series = ("q", "qd", "tau", "kinetic", "potential", "work", "work_of_losses", "gap")
    found |= {name: getattr(first, name) for name in series}
    begin = 0.0
    for before, run in itertools.pairwise(runs):
        begin += float(before.t[-1])
        found["t"] = np.concatenate([found["t"], begin + run.t[1:]])
        for name in series:
            values = getattr(run, name)[1:]
            if name in ("work", "work_of_losses"):
                values = values + found[name][-1]
            found[name] = np.concatenate([found[name], values])
        found |= {"status": run.status, "joint": run.joint, "time": run.time + begin}
    notes = tuple(dict.fromkeys(note for run in runs for note in run.notes))
    more = "the robot changes on the way: energies are those of the robot of each phase"
    return dataclasses.replace(first, **found, notes=(*notes, more), seconds=sum(run.seconds for run in runs))


def _steps(motion: Motion, step: float | None, length: float) -> int:
    if step is None:
        return max(1000, math.ceil(length / STEP))
    if not (isinstance(step, int | float) and math.isfinite(step) and 0 < step <= motion.duration):
        raise InputError(
            f"motion of {motion.robot.name!r}: step must be a time (s) up to the duration {motion.duration:g}, "
            f"got {step!r}"
        )
    return max(1, round(length / step))


def _more(after: float, step: float) -> int:
    """Steps after the end."""
    if not (isinstance(after, int | float) and math.isfinite(after) and after >= 0):
        raise InputError(f"after must be a time (s), zero or more, got {after!r}")
    return round(after / step)


def _compared(motion: Motion, run: Run) -> Run:
    """With the motion as what was asked for, so that the run knows its error."""
    own = own_coordinates(motion.robot)
    goal = motion.states(np.minimum(run.t, motion.duration)).q[:, own.places]
    return dataclasses.replace(run, wanted=goal, followed=own)


# ---- with feedback -------------------------------------------------------------------------------


def track(
    motion: Motion, controller: Any, step: float | None, *, robot: Robot | None, after: float, x0: Any,
    options: Mapping[str, Any], gains: Mapping[str, Any],
) -> Run:  # fmt: skip
    """See :meth:`Motion.track`."""
    law = _law(motion, controller, gains)
    if not law.reference_sizes:
        raise InputError(f"track: {law.name} follows no reference")
    law.reference = reference(motion, law.coordinates, law.order)
    plant, start = motion.robot if robot is None else robot, motion.states(np.zeros(1))
    size = _size(motion, law, step)
    steps = math.ceil(motion.duration / size - 1e-9) + _more(after, size)
    every = {"every": 1} | dict(options)
    return simulate(plant, law, (start.q[0], start.qd[0]) if x0 is None else x0, steps * size, step=size, **every)


def _law(motion: Motion, controller: Any, gains: Mapping[str, Any]) -> Controller:
    """A controller of its own, whose reference may be set."""
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
        return controller(motion.robot, **gains)
    except TypeError as error:
        raise InputError(f"track: {controller.name}: {error}") from None


def _size(motion: Motion, law: Controller, step: float | None) -> float:
    """Of a step: a whole number of them fits between samples, or into the motion."""
    if law.period is None:
        wanted = 1e-3 if step is None and motion.duration > 1e-3 else step
        return motion.duration / _steps(motion, wanted, motion.duration)
    wanted = min(1e-3, law.period) if step is None else step
    return law.period / max(1, round(law.period / wanted))

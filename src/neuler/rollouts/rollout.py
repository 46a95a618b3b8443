"""``robot.rollout``: from arrays to arrays, thousands of steps in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.compiled import Compiled
from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.inputs import array, choice, named, whole
from neuler.passes.parameter_values import stacked
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.robot.configuration import no_rotation, quaternions
from neuler.rollouts import arguments
from neuler.rollouts.controllers import in_full, traced_control
from neuler.rollouts.efforts import EFFORTS, Clipped, efforts
from neuler.rollouts.events import LIMIT, NOT_FINITE, limited
from neuler.rollouts.kernel import METHODS, RolloutKernel
from neuler.rollouts.loop import PieceEnd, Steps
from neuler.rollouts.model import Model
from neuler.rollouts.slides import stops
from neuler.rollouts.stability import warn_if_unstable
from neuler.rollouts.wrenches import checked_wrenches

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
CALLED = "rollout"
LIMITS = ("ignore", "stop", "hold")
"""What joints' limits do: nothing, end a row, or stop the joint."""


class Rollout(NamedTuple):
    """States after every k-th step, and what happened to each row."""

    q: Array
    """Positions, (..., kept, nq); NaN after an event."""
    qd: Array
    """Velocities, (..., kept, nv)."""
    status: Integers
    """(...): 0 ok, 1 not finite, 2 diverged, 3 limit, 4 loop open or singular, 5 controller."""
    step: Integers
    """(...): steps done when it happened; of rows without an event all."""
    joint: Integers
    """(...): number of the joint among ``robot.joint_names``; -1 where there is none to name."""


class ControlledRollout(NamedTuple):
    """The same with a controller inside."""

    q: Array
    qd: Array
    status: Integers
    step: Integers
    joint: Integers
    memory: Array
    """The controller's at the end, (..., nm)."""
    tau: Array
    """Forces in the step that led to each kept state, (..., kept, nu)."""


class Interrupted(KeyboardInterrupt):
    """A rollout that was stopped from the keyboard; ``rollout`` has what was computed, NaN behind it."""

    def __init__(self, found: Rollout | ControlledRollout, steps: int) -> None:
        super().__init__(f"rollout stopped after {steps} steps; what was computed is in the exception's .rollout")
        self.rollout = found


@dataclass
class Call:
    """A call with all its arguments looked at."""

    kernel: RolloutKernel
    batch: tuple[int, ...]
    steps: int
    every: int
    period: int
    start: int
    arrays: dict[str, Array]


def rollout(
    robot: Robot, *given: Any, out: tuple[Array, ...] | None = None, threads: int | None = None, **options: Any
) -> Rollout | ControlledRollout:
    """See ``Robot.rollout``."""
    count = None if threads is None else whole(f"{CALLED}: threads", threads, 1)
    return run_checked(checked(robot, *given, **options), out, count)


def checked(
    robot: Robot,
    q0: Any,
    qd0: Any,
    tau: Any,
    dt: Any,
    steps: Any = None,
    method: Any = "rk4",
    every: Any = 1,
    *,
    memory: Any = None,
    reference: Any = None,
    period: Any = None,
    external: Any = None,
    loads: Any = None,
    parameters: Any = None,
    limits: Any = "ignore",
    effort: Any = "ignore",
    start: Any = 0,
    called: str = CALLED,
) -> Call:
    """The arguments of a rollout, looked at."""
    method = choice(f"{called}: method", method, METHODS)
    limits = choice(f"{called}: limits", limits, LIMITS)
    clips = choice(f"{called}: effort", effort, EFFORTS) == "clip"
    every = whole(f"{called}: every", every, 1)
    start = whole(f"{called}: start", start, 0)
    steps = None if steps is None else whole(f"{called}: steps", steps, 1)
    sizes = arguments.seconds(called, dt)
    q0, qd0 = by_columns(robot, called, "q0", q0, "q"), by_columns(robot, called, "qd0", qd0, "qd")
    arrays = {
        "q": array(called, "q0", q0, (robot.nq,)),
        "qd": array(called, "qd0", qd0, (robot.nv,)),
        "dt": sizes,
    }
    frames, functions = _wrenches(robot, arrays, external, loads)
    names = _parameters(robot, arrays, parameters)
    control, held = None, 1
    if callable(tau) and called != CALLED:
        raise InputError(
            f"{called}: tau must be an array of forces; a rollout with a controller has no derivative here"
        )
    if callable(tau):
        tau = in_full(called, tau)
        tau = Clipped(tau, efforts(robot)) if clips else tau
        control, steps = _control(robot, arrays, tau, steps, memory, reference)
        own = getattr(tau, "period", None)
        if own is not None and period is not None and period != own:
            raise InputError(f"{CALLED}: the controller's own period is {own} s, and period is {period!r}; give one")
        held = arguments.samples(CALLED, own if period is None else period, sizes)
        arrays["tau"] = np.zeros(robot.nu)  # until the first sample
    else:
        for name, value in (("memory", memory), ("reference", reference), ("period", period)):
            if value is not None:
                raise InputError(f"{called}: {name} is for controllers, and tau is an array")
        joints = f" (forces of {', '.join(robot.active_names[:6])}{', ...' if len(robot.active_names) > 6 else ''})"
        forces = np.zeros(robot.nu) if tau is None else by_columns(robot, called, "tau", tau, "tau")
        arrays["tau"], steps = arguments.series(called, "tau", forces, robot.nu, steps, joints)
        if clips:
            most = efforts(robot)
            arrays["tau"] = np.clip(arrays["tau"], -most, most)
    if steps % every:
        raise InputError(f"{called}: every = {every} does not divide steps = {steps}; the last state would be lost")
    fused = control is not None and held == 1
    model = Model(robot, frames[0], frames[1], functions, names, limits, control, fused)
    if model.bounded:
        bounds = [robot.coordinate_limits[number] for _, number in limited(model)]
        arrays["lower"] = np.array([each.lower for each in bounds])
        arrays["upper"] = np.array([each.upper for each in bounds])
        _refuse_stops(called, model)
    kernel = RolloutKernel(model, method).shared()
    model = kernel.model
    batch = _batch(kernel, arrays)
    if not start:  # what goes on was looked at when it began
        warn_if_unstable(robot, method, arrays["q"], arrays["qd"], sizes)
    arrays["event"] = _begin(model, arrays, batch)
    return Call(kernel, batch, steps, every, held, start, arrays)


def _refuse_stops(called: str, model: Model) -> None:
    """Limits that are no stops: of joints that loops move, and of joints with several positions."""
    if not model.holds:
        return
    served = {number for number, _, _ in stops(model)}
    refused = [joint for number, (_, joint) in enumerate(limited(model)) if number not in served]
    refused += [entry.number for entry in model.robot.coordinates if entry.quaternion is not None]
    for k in refused:
        ends = model.robot.coordinate_limits[k]
        if np.isfinite([ends.lower, ends.upper]).any():
            raise InputError(
                f"{called}: limits='hold' cannot stop joint {model.robot.joint_names[k]!r}: it has several positions, "
                "or a loop moves it; name it among the independent joints (robot.with_independent), take its limits "
                "away, or use limits='stop'"
            )


def _wrenches(
    robot: Robot, arrays: dict[str, Array], external: Any, loads: Any
) -> tuple[list[tuple[str, ...]], dict[str, Any]]:
    """Held ones into the arrays; frames of both kinds, and those that are functions."""
    frames: list[tuple[str, ...]] = []
    functions: dict[str, Any] = {}
    for option, prefix, given in (("external", "wrench", external), ("loads", "load", loads)):
        found = checked_wrenches(CALLED, robot, option, given)
        for frame, wrench in found.items():
            if isinstance(wrench, Compiled):
                functions[f"{prefix}_{frame}"] = wrench._listing
            else:
                arrays[f"{prefix}_{frame}"] = wrench
        frames.append(tuple(found))
    return frames, functions


def _parameters(robot: Robot, arrays: dict[str, Array], given: Any) -> tuple[str, ...]:
    """Names of the parameters; their numbers into the arrays, side by side."""
    found = named(f"{CALLED}: parameters", given)
    if not found:
        return ()
    values = stacked(CALLED, robot.mechanism, found)
    arrays["parameters"] = array(CALLED, "parameters", values, values.shape[-1:])
    return tuple(found)


def _control(
    robot: Robot, arrays: dict[str, Array], controller: Callable[..., Any], steps: int | None, memory: Any, goal: Any
) -> tuple[Any, int]:
    """The controller traced, and the number of steps."""
    if steps is None:
        raise InputError(f"{CALLED}: tau is a controller, so the number of steps must be given: steps=1000")
    begin = getattr(controller, "memory0", None) if memory is None else memory
    begin = np.empty(0) if begin is None else array(CALLED, "memory", begin, ())
    if begin.ndim < 1:
        raise InputError(f"{CALLED}: the controller's memory must be an array, got shape {begin.shape}")
    size = 0
    if goal is not None:
        refuse_dask(CALLED, "reference", goal)
        size = np.asarray(goal).shape[-1] if np.ndim(goal) else 0
        arrays["reference"], _ = arguments.series(CALLED, "reference", goal, size, steps)
    if begin.shape[-1]:
        arrays["memory"] = begin
    return traced_control(CALLED, robot, controller, begin.shape[-1], size), steps


def _batch(kernel: RolloutKernel, arrays: Mapping[str, Array]) -> tuple[int, ...]:
    program = kernel.program
    shapes = {}
    for operand, names in zip(program.inputs[2:], kernel.cores[2:], strict=False):
        shapes[operand.name] = arrays[operand.name].shape[: arrays[operand.name].ndim - len(names)]
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        shown = ", ".join(f"{name} {arrays[name].shape}" for name in shapes)
        raise InputError(f"{CALLED}: the batch axes do not broadcast: {shown}") from None


def _begin(model: Model, arrays: Mapping[str, Array], batch: tuple[int, ...]) -> Array:
    """Rows that never start: arguments that are not finite, positions beyond a limit, quaternions of no rotation."""
    event = np.zeros((*batch, 3))
    event[..., 2] = -1.0
    held = ("q", "qd", "memory", "parameters", *(operand.name for operand in model.held))
    for name in dict.fromkeys(held):
        if name in arrays:
            bad = ~np.isfinite(arrays[name]).all(axis=-1)
            event[..., 0] = np.where(bad, NOT_FINITE, event[..., 0])
    for joint, first in quaternions(model.robot):
        bad = no_rotation(arrays["q"][..., first : first + 4]) & (event[..., 0] == 0)
        number = model.robot.joint_names.index(joint)
        event[..., 0], event[..., 2] = np.where(bad, NOT_FINITE, event[..., 0]), np.where(bad, number, event[..., 2])
    if model.bounded and limited(model):
        places = limited(model)
        q = arrays["q"][..., [k for k, _ in places]]
        beyond = (q < arrays["lower"]) | (q > arrays["upper"])
        bad = beyond.any(axis=-1) & (event[..., 0] == 0)
        owner = np.array([number for _, number in places])[np.argmax(beyond, axis=-1)]
        event[..., 0], event[..., 2] = np.where(bad, LIMIT, event[..., 0]), np.where(bad, owner, event[..., 2])
    return event


def run_checked(call: Call, out: tuple[Array, ...] | None, threads: int | None) -> Rollout | ControlledRollout:
    """The rollout itself, in pieces of a tenth of a second."""
    states = _outputs(call, out, call.steps // call.every)
    steps = Steps(call.steps, call.every, call.period, call.start)
    done = PieceEnd(0, call.arrays, call.arrays["event"])
    try:
        for piece in call.kernel.pieces(call.batch, steps, call.arrays, states, threads):
            done = piece
    except KeyboardInterrupt:
        for x in states:
            x[..., done.done // call.every :, :] = np.nan
        raise Interrupted(_found(call, states, done), done.done) from None
    return _found(call, states, done)


def _outputs(call: Call, out: tuple[Array, ...] | None, kept: int) -> tuple[Array, ...]:
    program = call.kernel.program
    shapes = [(*call.batch, kept, *operand.shape) for operand in program.kept]
    if out is None:
        return tuple(np.empty(shape) for shape in shapes)
    names = ", ".join(operand.name for operand in program.kept)
    if not isinstance(out, tuple) or len(out) != len(shapes):
        came = f"{len(out)} of them" if isinstance(out, tuple) else type(out).__name__
        raise InputError(f"{CALLED}: out must be a tuple of {len(shapes)} arrays for {names}, got {came}")
    seen = list(call.arrays.values())
    for each, operand, shape in zip(out, program.kept, shapes, strict=True):
        if not isinstance(each, np.ndarray) or each.dtype != np.float64 or each.shape != shape:
            raise InputError(f"{CALLED}: out for {operand.name} must be a float64 array of shape {shape}")
        if not each.flags.writeable:
            raise InputError(f"{CALLED}: out for {operand.name} is read-only")
        if any(np.may_share_memory(each, x) for x in seen):
            raise InputError(f"{CALLED}: out for {operand.name} shares memory with an argument, or another result")
        seen.append(each)
    return out


def _found(call: Call, states: tuple[Array, ...], piece: PieceEnd) -> Rollout | ControlledRollout:
    status, step, joint = (piece.event[..., k].astype(np.int64) for k in range(3))
    step = np.where(status == 0, piece.done, step)
    if call.kernel.model.control is None:
        return Rollout(states[0], states[1], status, step, joint)
    memory = piece.last.get("memory", np.empty(0))
    memory = np.broadcast_to(memory, (*call.batch, memory.shape[-1])).copy()
    return ControlledRollout(states[0], states[1], status, step, joint, memory, states[2])

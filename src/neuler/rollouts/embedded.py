"""The step of a rollout as C99, for simulations where there is no Python: beside a controller, on a microcontroller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import InputError
from neuler.export.c99.harness import Run
from neuler.export.c99.step import Stepping, c_step
from neuler.export.names import identifier
from neuler.inputs import array
from neuler.robot import Robot
from neuler.robot.columns import labels
from neuler.rollouts.events import REASONS
from neuler.rollouts.rollout import checked, run_checked

if TYPE_CHECKING:
    from neuler.export.c99.code import CCode

CALLED = "step_c"
STEPS = 50
"""Of the run that the test repeats."""
_FIXED = ("dt", "lower", "upper", "parameters")


def step_c(
    robot: Robot,
    dt: Any,
    tau: Any = None,
    name: str | None = None,
    *,
    method: Any = "rk4",
    far: str = "libm",
    **options: Any,
) -> CCode:
    """See ``Robot.step_c``."""
    name = identifier(f"{robot.name}_step", otherwise="robot") if name is None else name
    for each in ("steps", "every", "start", "out", "threads"):
        if each in options:
            raise InputError(f"{CALLED}: {each} is for rollouts; a step is called as often as it is wanted")
    if tau is not None and not callable(tau):
        raise InputError(f"{CALLED}: tau is a controller, or None: then the step takes the forces, {robot.nu} numbers")
    q0, qd0 = robot.neutral(), np.zeros(robot.nv)
    if np.ndim(dt):
        raise InputError(f"{CALLED}: dt must be one number of seconds")
    if options.get("reference") is not None:
        options["reference"] = _one_row(options["reference"])
    call = checked(robot, q0, qd0, tau, dt, STEPS, method, **options)
    program = call.kernel.program
    fixed = {key: call.arrays[key] for key in _FIXED if key in call.arrays}
    sizes = {x.name: x.size for x in (*program.given, *program.streams, *program.samples)}
    for key, value in fixed.items():
        if key in sizes and np.size(value) != sizes[key]:
            raise InputError(f"{CALLED}: {key} must be values of one robot, got an array of shape {np.shape(value)}")
    about = (
        f"One step of {float(dt):g} s of the robot {robot.name!r}, method {method}, "
        + (f"with its controller, every {call.period} steps." if callable(tau) else "tau held over the step."),
    )
    own = {operand.name: labels(robot, operand) for operand in (*program.given, *program.streams, *program.kept)}
    stepping = Stepping(name, program, fixed, call.period, about, own, REASONS)
    return c_step(stepping, far=far, run=_run(call, stepping))


def _one_row(reference: Any) -> np.ndarray:
    """The first row of a reference: how many numbers it has is all that counts, and what the test is fed."""
    found = array(CALLED, "reference", reference, ())
    return found.reshape(-1, found.shape[-1])[0] if found.ndim else found


def _run(call: Any, stepping: Stepping) -> Run | None:
    """A short rollout from rest; none where it ends early, or has several rows."""
    if call.batch:
        return None
    found = run_checked(call, None, None)
    if np.any(found.status):
        return None
    given = {x.name: call.arrays[x.name] for x in stepping.given}
    fed = {x.name: call.arrays[x.name] for x in stepping.fed}
    read = {x.name: np.asarray(getattr(found, x.name))[-1] for x in stepping.program.kept}
    return Run(STEPS, given, fed, read)

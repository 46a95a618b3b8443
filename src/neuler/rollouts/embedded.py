"""The step of a rollout as C99, for simulations where there is no Python: beside a controller, on a microcontroller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import InputError
from neuler.export.c99.harness import Run
from neuler.export.c99.step import Start, Stepping, c_step
from neuler.export.names import identifier
from neuler.inputs import array, choice
from neuler.naming import hint
from neuler.passes.parameters import parse, unit
from neuler.robot import Robot
from neuler.robot.columns import WRENCH, labels
from neuler.robot.configuration import quaternions
from neuler.rollouts.efforts import efforts
from neuler.rollouts.events import LIMIT, NOT_FINITE, REASONS, limited
from neuler.rollouts.model import Model
from neuler.rollouts.rollout import Call, checked, run_checked
from neuler.tolerances import UNIT
from neuler.trace.recipe import Operand

if TYPE_CHECKING:
    from neuler.export.c99.code import CCode

CALLED = "step_c"
STEPS = 50
"""Of the run that the test repeats."""
_SINGLE_UNIT = 1e-5
"""How far the square of a quaternion's length may be from one in single precision."""
_FIXED = ("dt", "lower", "upper", "parameters")
_OPTIONS = ("memory", "reference", "period", "external", "loads", "parameters", "limits", "effort")


def step_c(
    robot: Robot,
    dt: Any,
    tau: Any = None,
    name: str | None = None,
    *,
    method: Any = "rk4",
    far: str = "libm",
    dtype: str = "float64",
    **options: Any,
) -> CCode:
    """See ``Robot.step_c``."""
    name = identifier(f"{robot.name}_step", otherwise="robot") if name is None else name
    for each in options:
        if each in ("steps", "every", "start", "out", "threads"):
            raise InputError(f"{CALLED}: {each} is for rollouts; a step is called as often as it is wanted")
        if each not in _OPTIONS:
            raise InputError(f"{CALLED}: there is no option {each!r}; {hint(each, ('method', 'far', *_OPTIONS))}")
    if tau is not None and not callable(tau):
        raise InputError(f"{CALLED}: tau is a controller, or None: then the step takes the forces, {robot.nu} numbers")
    q0, qd0 = robot.neutral(), np.zeros(robot.nv)
    single = choice(f"{CALLED}: dtype", dtype, ("float64", "float32")) == "float32"
    if single and (robot.loops or method == "implicit"):
        what = (
            "loops, which are closed to more digits than single precision has" if robot.loops else "method 'implicit'"
        )
        raise InputError(f"{CALLED}: float32 is not for {what}; use float64")
    if np.ndim(dt):
        raise InputError(f"{CALLED}: dt must be one number of seconds")
    if options.get("reference") is not None:
        options["reference"] = _one_row(options["reference"])
    try:
        call = checked(robot, q0, qd0, tau, dt, STEPS, method, **options)
    except InputError as error:
        raise InputError(str(error).replace("rollout:", f"{CALLED}:", 1)) from None
    if call.batch:
        raise InputError(f"{CALLED}: a step is of one run; arrays of several have the batch axes {call.batch}")
    program = call.kernel.program
    fixed = {key: call.arrays[key] for key in _FIXED if key in call.arrays}
    if callable(tau):
        fixed["tau"] = np.zeros(robot.nu)  # until the first sample
    about = (
        f"One step of {float(dt):g} s of the robot {robot.name!r}, method {method}, "
        + (_sampled(call.period) if callable(tau) else "tau held over the step."),
    )
    every = (*program.given, *program.streams, *program.kept)
    own = {operand.name: labelled(robot, operand, call.kernel.model) for operand in every}
    clip = {} if callable(tau) or options.get("effort", "ignore") == "ignore" else {"tau": efforts(robot)}
    stepping = Stepping(
        name, program, fixed, call.period, about, own, REASONS, clip, start_of(call, single),
        _built_in(fixed, clip, options), "float" if single else "double",
    )  # fmt: skip
    return c_step(stepping, far=far, run=_run(call, stepping))


def _sampled(period: int) -> str:
    return "controller sampled at every step." if period == 1 else f"controller sampled every {period} steps."


def labelled(robot: Robot, operand: Operand, model: Model) -> Sequence[tuple[str, str]]:
    """Names and units as of kernels; of wrenches their parts and the frame, whose name C may not be able to spell."""
    for prefix, frames, axes in (("wrench", model.external, "its own axes"), ("load", model.loads, "the base's axes")):
        for frame in frames:
            if operand.name == f"{prefix}_{frame}":
                return [(f"{part} on frame {frame!r} in {axes}", own) for part, own in WRENCH]
    if operand.name == "parameters":
        return [(each.name, unit(robot, each)) for each in parse(robot.mechanism, model.parameters)]
    return labels(robot, operand)


def _built_in(
    fixed: Mapping[str, np.ndarray], clip: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> tuple[str, ...]:
    """What is the same for every run."""
    found = []
    if "parameters" in fixed:
        found.append("Parameters have the values that were given when this was written.")
    if options.get("limits", "ignore") != "ignore":
        found.append(f"Limits of the joints: {options['limits']}.")
    if clip:
        found.append("Forces are cut off at the limits of effort.")
    return tuple(found)


def start_of(call: Call, single: bool) -> Start:
    """What a rollout looks at before its first step."""
    model = call.kernel.model
    names = {operand.name for operand in call.kernel.program.given}
    finite = [name for name in ("q", "qd", "memory", *(x.name for x in model.held)) if name in names]
    turns = [(first, model.robot.joint_names.index(joint)) for joint, first in quaternions(model.robot)]
    within = []
    if model.bounded:
        bounds = zip(limited(model), call.arrays["lower"].tolist(), call.arrays["upper"].tolist(), strict=True)
        within = [(place, joint, lower, upper) for (place, joint), lower, upper in bounds]
    return Start(
        tuple(dict.fromkeys(finite)), tuple(turns), tuple(within), _SINGLE_UNIT if single else UNIT, (NOT_FINITE, LIMIT)
    )


def _one_row(reference: Any) -> np.ndarray:
    """The first row of a reference: how many numbers it has is all that counts, and what the test is fed."""
    found = array(CALLED, "reference", reference, ())
    return found.reshape(-1, found.shape[-1])[0] if found.ndim else found


def _run(call: Any, stepping: Stepping) -> Run | None:
    """A short rollout from rest; none where it ends early."""
    found = run_checked(call, None, None)
    if np.any(found.status):
        return None
    given = {x.name: call.arrays[x.name] for x in stepping.given}
    fed = {x.name: call.arrays[x.name] for x in stepping.fed}
    read = {x.name: np.asarray(getattr(found, x.name))[-1] for x in stepping.program.kept}
    return Run(STEPS, given, fed, read)

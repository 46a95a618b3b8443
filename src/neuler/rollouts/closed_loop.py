"""Derivatives of a rollout with a controller inside to the robot's parameters: the controller stays as it is.

One direction is a row of a batch, so that all parameters are done in vector lanes and threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.program import Program
from neuler.errors import InputError
from neuler.inputs import names as as_names
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.rollouts.kernel import RolloutKernel
from neuler.rollouts.loop import LoopKernel, Steps
from neuler.rollouts.model import Model
from neuler.rollouts.rollout import ControlledRollout, checked, run_checked
from neuler.rollouts.tangent_program import tangent_name, with_tangents

Array = NDArray[np.float64]
CALLED = "parameter_tangents"
KEPT = ("q", "qd", "tau")
"""What there may be derivatives of."""


@dataclass(frozen=True)
class ParameterTangent(LoopKernel):
    """The loop of a rollout that carries a direction of parameters along."""

    model: Model
    method: str
    of: tuple[str, ...]

    @property
    def choices(self) -> tuple[object, ...]:
        """The method, and what the loop keeps."""
        return self.method, self.of

    @property
    @kept
    def program(self) -> Program:
        """The rollout's own loop, differentiated."""
        return with_tangents(RolloutKernel(self.model, self.method).shared().program, ["parameters"], self.of)


def parameter_tangents(
    robot: Robot, q0: Any, qd0: Any, controller: Any, dt: float, steps: int, *, parameters: Any, of: Any = ("q", "tau"),
    method: str = "rk4", every: int = 1, threads: int | None = None, **options: Any,
) -> tuple[ControlledRollout, tuple[Array, ...]]:  # fmt: skip
    """A rollout of one row with a controller, and the exact derivatives of what it keeps to ``parameters``.

    Arguments are those of ``Robot.rollout``, without batch axes. Returns the rollout, and for every name in ``of``
    ("q", "qd", "tau") an array (kept, numbers, p): derivatives of the numbers that the rollout returns to the p
    parameters, in their order; where the rollout ended early they are NaN. The velocity of a joint that friction holds
    stays zero, and so does its derivative.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> held = neuler.control.ComputedTorque(arm, kp=100.0, reference=[0.3, -0.2])
    >>> found, (dq, dtau) = parameter_tangents(
    ...     arm, [0, 0], [0, 0], held, 1e-3, 100, parameters={"link2.mass": 1.0, "link2.zz": 0.2}, every=10)
    >>> dq.shape, dtau.shape
    ((10, 2, 2), (10, 2, 2))
    """
    asked = as_names(f"{CALLED}: of", of)
    for name in asked:
        if name not in KEPT:
            raise InputError(f"{CALLED}: there are derivatives of {', '.join(KEPT)}, not of {name!r}")
    if not callable(controller):
        raise InputError(f"{CALLED}: a controller is needed; robot.rollout_sensitivities takes arrays of forces")
    if not parameters:
        raise InputError(f"{CALLED}: parameters must name at least one parameter and its value")
    call = checked(
        robot, q0, qd0, controller, dt, steps, method, every, parameters=parameters, **options
    )  # fmt: skip
    if call.batch:
        raise InputError(f"{CALLED}: one rollout at a time is differentiated, got batch axes {call.batch}")
    found = run_checked(call, None, threads)
    assert isinstance(found, ControlledRollout)
    loop = ParameterTangent(call.kernel.model, call.kernel.method, asked).shared()
    program, count = loop.program, call.arrays["parameters"].shape[-1]
    arrays = {**call.arrays, tangent_name("parameters"): np.eye(count)}
    for operand in program.given:
        arrays.setdefault(operand.name, np.zeros(operand.shape))
    out = [np.empty((count, call.steps // call.every, *operand.shape)) for operand in program.kept]
    where = Steps(call.steps, call.every, call.period, call.start)
    for _ in loop.pieces((count,), where, arrays, out, threads):
        pass
    return found, tuple(np.moveaxis(x, 0, -1) for x in out)

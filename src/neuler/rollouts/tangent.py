"""Derivatives of a rollout forward: small changes of the start and of parameters, carried along with the states.

    dx' = A dx + C dp,   A, C the exact derivatives of the step, by the pass of ``trace.differentiate``

One direction is a row of a batch: as many directions as are asked for, in vector lanes and threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.program import Program, StepPart, Work
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.rollouts.events import alarm, diagnosis
from neuler.rollouts.loop import LoopKernel, Steps
from neuler.rollouts.loop_recipes import LoopRecipes, Written, time_of, unique
from neuler.rollouts.model import Model, Values
from neuler.rollouts.one_step import own_rates, rates_along, refuse_rough, stepped
from neuler.rollouts.rollout import Integers, checked
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar

Array = NDArray[np.float64]
CALLED = "rollout_sensitivities"


class RolloutSensitivities(NamedTuple):
    """States of a rollout and their derivatives to its start, and to parameters where there are some."""

    q: Array
    """Positions, (..., kept, nq)."""
    qd: Array
    """Velocities, (..., kept, nv)."""
    dq: Array
    """Of q along the robot's own velocities, (..., kept, nv, n): columns to q0 (nv, along velocities), to qd0 (nv), to
    parameters."""
    dqd: Array
    """Of qd, (..., kept, nv, n)."""
    status: Integers
    """As of a rollout."""
    step: Integers
    joint: Integers


@dataclass(frozen=True)
class Tangent(LoopKernel):
    """A rollout that carries a direction along."""

    model: Model
    method: str

    @property
    def choices(self) -> tuple[object, ...]:
        """The integration method, which decides the program beside the model."""
        return (self.method,)

    @property
    @kept
    def program(self) -> Program:
        """The loop: steps of states together with their small changes."""
        model, recipes = self.model, LoopRecipes(self.model)
        n, parameters = model.robot.nv, [x.name for x in model.held if x.name == "parameters"]
        recipes.sizes |= {"dq": (n,), "dv": (n,)}
        if parameters:
            recipes.sizes["dp"] = recipes.sizes["parameters"]
        moved = ["dq", "dv", *(["dp"] if parameters else [])]

        def trace(values: Values) -> Written:
            q, qd = stepped(model, self.method, values, time_of(values))
            seeds: dict[Node, Scalar] = {}
            pairs = [(values["q"], rates_along(model, values["q"], values["dq"])), (values["qd"], values["dv"])]
            if parameters:
                pairs.append((values["parameters"], values["dp"]))
            for nodes, rates in pairs:
                seeds |= {x: rate for x, rate in zip(nodes, rates, strict=True) if isinstance(x, Node)}
            found = tangents([*q, *qd], seeds)
            dq = own_rates(model, q, found[: len(q)])
            return {"q": q, "qd": qd, "dq": dq, "dv": found[len(q) :], "alarm": [alarm(model, values, q, qd)]}

        reads = unique("q", "qd", *recipes.outside, *moved)
        step = recipes.make(reads, ["q", "qd", "dq", "dv", "alarm"], trace)
        given = recipes.operands(unique("q", "qd", "dt", *(x.name for x in model.held), *moved))
        states = recipes.operands(["q", "qd", "dq", "dv"])
        streams = recipes.operands(["tau"])
        return Program(given, streams, (), states, states, lambda: Work((StepPart(step),), diagnosis(model)))


def rollout_sensitivities(robot: Robot, *arguments: Any, threads: int | None, **options: Any) -> RolloutSensitivities:
    """See ``Robot.rollout_sensitivities``."""
    call = checked(robot, *arguments, **options, called=CALLED)
    every = call.every
    model = call.kernel.model
    refuse_rough(CALLED, model)
    loop = Tangent(model, call.kernel.method).shared()
    n = robot.nv
    count = 2 * n + (call.arrays["parameters"].shape[-1] if "parameters" in call.arrays else 0)
    unit = np.eye(count)
    arrays = {**call.arrays, "dq": unit[:, :n], "dv": unit[:, n : 2 * n], "dp": unit[:, 2 * n :]}
    program = loop.program
    inputs = {}
    for operand, names in list(zip(program.inputs, loop.cores, strict=False))[1:]:
        value = arrays[operand.name]
        seed = operand.name in ("dq", "dv", "dp")
        inputs[operand.name] = value if seed else np.expand_dims(value, value.ndim - len(names))
    batch = (*call.batch, count)
    out = [np.empty((*batch, call.steps // every, *operand.shape)) for operand in program.kept]
    *_, (_, _, event) = loop.pieces(batch, Steps(call.steps, every, start=call.start), inputs, out, threads)
    q, qd = (x[..., 0, :, :] for x in out[:2])
    dq, dqd = (np.moveaxis(x, -3, -1) for x in out[2:])
    status, step, joint = (event[..., 0, k].astype(np.int64) for k in range(3))
    return RolloutSensitivities(q, qd, dq, dqd, status, np.where(status == 0, call.steps, step), joint)

"""The gradient of a rollout's cost backward: from the last step to the first, as one time loop.

    cost = final(q_N, qd_N) + sum over steps of dt running(t_k, q_k, qd_k, tau_k)
    a_k = A_k^T a_k+1 + dt d(running)/dx        gradient to tau_k = B_k^T a_k+1 + dt d(running)/dtau

A_k^T, B_k^T act by one pass back through the step (``pull_back``); the states come from the rollout, read backward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.program import EVENT, Program, StepPart, Work
from neuler.errors import InputError
from neuler.functions.tracing import listing_of
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.rollouts.loop import LoopKernel, Steps
from neuler.rollouts.loop_recipes import LoopRecipes, Written
from neuler.rollouts.model import Model, Values
from neuler.rollouts.one_step import along_velocities, pulled, refuse_rough, stepped
from neuler.rollouts.rollout import Integers, checked, run_checked
from neuler.trace.differentiate import pull_back
from neuler.trace.graph import Node, Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe
from neuler.trace.scalars import mask

Array = NDArray[np.float64]
CALLED = "rollout_gradient"


class RolloutGradient(NamedTuple):
    """A rollout's cost and its gradient, and the states."""

    cost: Array
    """The total cost of every row, (...)."""
    q0: Array
    """Its gradient to the start along the robot's own velocities, (..., nv)."""
    qd0: Array
    """Its gradient to the velocities at the start, (..., nv)."""
    tau: Array
    """Its gradient to the forces, (..., steps, nu); (..., 1, nu) of forces that are held."""
    parameters: Array
    """Its gradient to the parameters, (..., n), in the order in which they were given; n is 0 without."""
    q: Array
    """States after every step, (..., steps, nq)."""
    qd: Array
    status: Integers
    """As of a rollout; where it is not 0 all else is NaN."""


@dataclass(frozen=True)
class Adjoint(LoopKernel):
    """A loop over the steps of a rollout from the last to the first, which carries derivatives of the costs back."""

    model: Model
    method: str
    running: Listing | None
    final: Listing | None
    held: bool
    """Whether one tau is held over all steps."""

    @property
    def choices(self) -> tuple[object, ...]:
        """The method, the costs and whether tau is held: what decides the program beside the model."""
        digests = tuple(each and each.digest for each in (self.running, self.final))
        return (self.method, *digests, self.held)

    @property
    @kept
    def program(self) -> Program:
        """Streams are read from the last step to the first."""
        model, recipes = self.model, LoopRecipes(self.model)
        robot = model.robot
        parameters = any(x.name == "parameters" for x in model.held)
        recipes.sizes |= {
            "aq": (robot.nv,), "av": (robot.nv,), "gu": (robot.nu,), "gp": recipes.sizes.get("parameters", (0,)),
            "cost": (1,), "when": (1,), "qe": (robot.nq,), "ve": (robot.nv,), "begun": (1,),
        }  # fmt: skip
        held = [x.name for x in model.held]
        carried = ["aq", "av", *(["gp"] if parameters else []), *(["gu"] if self.held else []), "cost"]

        def begin(values: Values) -> Written:
            """At the end of the motion; where the run goes on, from what is carried."""
            (begun,) = values["begun"]
            found: Written = {"begun": [1.0]}
            for name, start in end(values).items():  # differences: they leave -0.0 as it is
                pairs = zip(values[name], start, strict=True)
                found[name] = [mask(begun, x) - mask(1.0 - begun, -y) for x, y in pairs]
            return found

        def end(values: Values) -> Written:
            zero: Written = {name: [0.0] * recipes.sizes[name][0] for name in carried}
            if self.final is None:
                return zero
            q, qd = values["qe"], values["ve"]
            (cost,) = run(self.final.body, [*q, *qd])
            slope = pull_back([cost], [1.0], _nodes([*q, *qd]))
            return {
                **zero, "cost": [cost], "aq": along_velocities(model, q, slope[: len(q)]), "av": slope[len(q) :],
            }  # fmt: skip

        def back(values: Values) -> Written:
            q, qd, tau, (dt,) = values["q"], values["qd"], values["tau"], values["dt"]
            (t,) = values["when"]
            after, speed = stepped(model, self.method, values, t)
            results = [*after, *speed]
            weights = [*pulled(model, after, values["aq"]), *values["av"]]
            total = values["cost"][0]
            if self.running is not None:
                (cost,) = run(self.running.body, [t, *q, *qd, *tau])
                results, weights, total = [*results, cost], [*weights, dt], total + dt * cost
            numbers = values["parameters"] if parameters else []
            slope = pull_back(results, weights, _nodes([*q, *qd, *tau, *numbers]))
            a, b = len(q), len(q) + len(qd)
            force, rest = slope[b : b + len(tau)], slope[b + len(tau) :]
            if self.held:
                force = [x + y for x, y in zip(values["gu"], force, strict=True)]
            sums = [x + y for x, y in zip(values["gp"], rest, strict=True)] if parameters else []
            found: Written = {"aq": along_velocities(model, q, slope[:a]), "av": slope[a:b], "gu": force, "gp": sums}
            return {**found, "cost": [total], "alarm": [0.0]}

        reads = ["q", "qd", "tau", "dt", "when", *held, *carried]
        step = recipes.make(reads, ["aq", "av", "gu", "gp", "cost", "alarm"], back)
        once = recipes.make(["qe", "ve", "begun", *carried], ["begun", *carried], begin)
        never = Recipe(
            recipes.operands(["cost"]), (Operand("status", (1,)), Operand("joint", (1,))), lambda _: [[1.0], [-1.0]]
        )
        return Program(
            recipes.operands(["dt", *held, "qe", "ve", "begun", *carried]),
            recipes.operands(["q", "qd", "tau", "when"]),
            (),
            recipes.operands(["aq"] if self.held else ["gu"]),
            recipes.operands([*carried, "begun"]),
            lambda: Work((StepPart(step),), never, (), (once,)),
        )


def _nodes(values: list[Scalar]) -> list[Node]:
    found = [x for x in values if isinstance(x, Node)]
    assert len(found) == len(values)
    return found


def traced_cost(what: str, function: Callable[..., Any] | None, takes: dict[str, Any]) -> Listing | None:
    """A cost as operations: one number."""
    if function is None:
        return None
    found = listing_of(f"{CALLED}: {what}", function, takes, None)
    if len(found.outputs) != 1 or found.outputs[0].size != 1:
        shapes = ", ".join(str(operand.shape) for operand in found.outputs)
        raise InputError(f"{CALLED}: {what} must be one number, the function gave {shapes}")
    return found


def rollout_gradient(
    robot: Robot, *arguments: Any, running: Any, final: Any, threads: int | None, **options: Any
) -> RolloutGradient:
    """See ``Robot.rollout_gradient``."""
    if running is None and final is None:
        raise InputError(f"{CALLED}: there is no cost: give running=, a function of (t, q, qd, tau), final=, or both")
    call = checked(robot, *arguments, **options, called=CALLED)
    model = call.kernel.model
    refuse_rough(CALLED, model)
    sizes = {"q": robot.nq, "qd": robot.nv}
    costs = (
        traced_cost("running", running, {"t": (), **sizes, "tau": robot.nu}),
        traced_cost("final", final, sizes),
    )
    held = call.arrays["tau"].shape[-2] == 1 and call.steps > 1
    loop = Adjoint(model, call.kernel.method, *costs, held).shared()
    program, batch = loop.program, call.batch
    rolled = run_checked(call, None, threads)
    begun = [np.broadcast_to(x, (*batch, x.shape[-1]))[..., None, :] for x in (call.arrays["q"], call.arrays["qd"])]
    states = [np.concatenate([x, y], axis=-2) for x, y in zip(begun, (rolled.q, rolled.qd), strict=True)]
    times = (call.start + np.arange(call.steps))[:, None] * call.arrays["dt"][..., None, None]
    arrays = {
        **call.arrays,
        "q": states[0][..., -2::-1, :], "qd": states[1][..., -2::-1, :],
        "qe": states[0][..., -1, :], "ve": states[1][..., -1, :],
        "tau": call.arrays["tau"][..., ::-1, :], "when": times[..., ::-1, :],
    }  # fmt: skip
    arrays |= {operand.name: np.zeros(operand.shape) for operand in (*program.last, EVENT)}
    every = call.steps if held else 1
    out = np.empty((*batch, call.steps // every, *program.kept[0].shape))
    *_, (_, last, _) = loop.pieces(batch, Steps(call.steps, every), arrays, [out[..., ::-1, :]], threads)
    count = call.arrays["parameters"].shape[-1] if "parameters" in call.arrays else 0
    found = RolloutGradient(
        last["cost"][..., 0],
        out[..., 0, :] if held else last["aq"],
        last["av"],
        last["gu"][..., None, :] if held else out,
        last.get("gp", np.empty((*batch, count))),
        rolled.q,
        rolled.qd,
        rolled.status,
    )
    bad = rolled.status != 0
    for x in found[:5]:
        x[bad] = np.nan
    return found

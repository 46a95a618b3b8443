"""A compiled rollout: one program for a robot, a method and what acts on it, called on arrays of any batch shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neuler.compiler.program import Program, Work
from neuler.robot.value import kept
from neuler.rollouts.events import diagnosis
from neuler.rollouts.implicit import implicit
from neuler.rollouts.loop import LoopKernel
from neuler.rollouts.loop_recipes import LoopRecipes, Written
from neuler.rollouts.methods import Scheme, euler, rk4
from neuler.rollouts.model import Model, Values
from neuler.trace.recipe import Recipe

METHODS: dict[str, Callable[[Model], Scheme]] = {"euler": euler, "rk4": rk4, "implicit": implicit}


@dataclass(frozen=True)
class RolloutKernel(LoopKernel):
    """The machine code of a model's rollout by one method."""

    model: Model
    method: str

    @property
    @kept
    def program(self) -> Program:
        """The loop: what it reads, does at every step and keeps."""
        model, recipes = self.model, LoopRecipes(self.model)
        names = ["q", "qd", "dt", *(operand.name for operand in model.held), *recipes.ends]
        sampled = bool(model.control and not model.fused)
        names += [*(["tau"] if sampled else []), *(["memory"] if model.control else [])]
        streams = ["tau"] if model.control is None else ["reference"] if model.fused else []
        samples = ["reference"] if sampled else []
        kept_names = ["q", "qd", *(["tau"] if model.control else [])]
        last = [name for name in names if name in ("q", "qd", "tau", "memory")]  # what a run goes on from

        def make() -> Work:
            control = (_control(recipes),) if sampled else ()
            scheme = METHODS[self.method](model)
            return Work(scheme.parts, diagnosis(model), control, scheme.once)

        given, reads, samples_, states, ends = (
            recipes.operands(side) for side in (names, streams, samples, kept_names, last)
        )
        return Program(given, reads, samples_, states, ends, make)

    @property
    def choices(self) -> tuple[object, ...]:
        """The integration method, which decides the program beside the model."""
        return (self.method,)


def _control(recipes: LoopRecipes) -> Recipe:
    """The controller by itself, at its samples."""
    model = recipes.model
    control = model.control
    assert control is not None

    def trace(values: Values) -> Written:
        tau, memory = control.at(values, values["t"][0])
        return {"tau": tau, "memory": memory}

    return recipes.make(["t", "q", "qd", "memory", "reference"], ["tau", "memory"], trace)

"""What a unit computes beside steps: accelerations and rates of positions, poses of frames, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuler.algebra.linear import dot
from neuler.errors import InputError
from neuler.export.fmu.model import Layout
from neuler.passes.trees import fused_tree
from neuler.quantities.catalogue import find
from neuler.quantities.setup import PARAMETERS, RobotRecipe
from neuler.robot.configuration import quaternions
from neuler.rollouts.model import Model, Values
from neuler.rollouts.one_step import rates_along
from neuler.structure.closed import Constraints
from neuler.tolerances import OPEN
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar, sqrt
from neuler.trace.recipe import Operand, Recipe

POSE = ("x", "y", "z", "r11", "r12", "r13", "r21", "r22", "r23", "r31", "r32", "r33")
"""A frame's origin and the rows of its rotation, in the base frame."""


@dataclass(frozen=True)
class Recipes:
    """Recipes over the variables of a unit."""

    model: Model
    frames: tuple[str, ...]

    def layout(self, *, rates: bool) -> Layout:
        """Where values are; ``rates``: whether those of q are among them."""
        robot = self.model.robot
        computed = {"qdd": robot.nv, "rates": robot.nq if rates else 0, "poses": len(POSE) * len(self.frames)}
        return Layout((*self.given, *(Operand(name, (size,)) for name, size in computed.items())))

    def dynamics(self, *, rates: bool) -> Recipe:
        """qdd, and dq/dt where it is asked for."""
        outputs = [Operand("qdd", (self.model.robot.nv,))]
        outputs += [Operand("rates", (self.model.robot.nq,))] if rates else []

        def trace(values: Values) -> list[list[Scalar]]:
            return self._moving(values)[: len(outputs)]

        return Recipe(self.given, tuple(outputs), trace)

    @property
    def given(self) -> tuple[Operand, ...]:
        """States, forces, wrenches, parameters."""
        inputs = {x.name: x for x in self.model.recipe.inputs}
        return (inputs.pop("q"), inputs.pop("qd"), inputs.pop("tau"), *inputs.values())

    def _moving(self, values: Values) -> list[list[Scalar]]:
        """qdd and dq/dt.

        A solver outside lets the length of a quaternion drift: the rotation is that of the quaternion with the length
        one, and the rate has the length of the one that is given, so that both turn alike.
        """
        q, lengths = self._upright(values["q"])
        rates = rates_along(self.model, q, values["qd"])
        rates = [length * rate for length, rate in zip(lengths, rates, strict=True)]
        return [self.model.accelerations({**values, "q": q}, q, values["qd"], 0.0), rates]

    def _upright(self, q: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Positions with quaternions of the length one; and of each number the length that it was divided by."""
        found = list(q)
        lengths: list[Scalar] = [1.0] * len(q)
        if self.model.robot.loops:  # steps alone move it
            return found, lengths
        for _, first in quaternions(self.model.robot):
            places = range(first, first + 4)
            squares: Scalar = 0.0
            for k in places:
                squares = squares + q[k] * q[k]
            length = sqrt(squares)
            for k in places:
                found[k], lengths[k] = q[k] / length, length
        return found, lengths

    @cached_property
    def _placed(self) -> list[RobotRecipe]:
        options = {PARAMETERS: self.model.parameters} if self.model.parameters else {}
        return [find("link_poses").recipe(self.model.robot, frame=frame, **options) for frame in self.frames]

    @property
    def poses(self) -> Recipe:
        """Of all frames, ``POSE`` each."""
        names = {x.name for recipe in self._placed for x in recipe.inputs}
        inputs = tuple(x for x in self.given if x.name in names)
        outputs = (Operand("poses", (len(POSE) * len(self.frames),)),)
        return Recipe(inputs, outputs, lambda values: [self._poses(values)])

    def _poses(self, values: Values) -> list[Scalar]:
        q, _ = self._upright(values["q"])
        found: list[Scalar] = []
        for recipe in self._placed:
            (flat,) = recipe.trace({**values, "q": q})
            rows = [flat[4 * k : 4 * k + 4] for k in range(3)]
            found += [*(row[3] for row in rows), *(x for row in rows for x in row[:3])]
        return found

    @cached_property
    def gaps(self) -> Recipe:
        """Of every loop: the square of its gap (m, rad), and a number below zero where it is turned over."""
        robot = self.model.robot
        constraints = Constraints(fused_tree(robot.tree), robot)
        outputs = tuple(Operand(name, (len(robot.loops),)) for name in ("open", "upright"))

        def trace(values: Values) -> list[list[Scalar]]:
            gap, squares, at = constraints.open_by(values["q"]), [], 0
            for loop in robot.loops:
                own = gap[at : at + loop.constraints]
                squares.append(dot(own, own))
                at += loop.constraints
            return [squares, constraints.turned_over(values["q"])]

        return Recipe(self.given[:1], outputs, trace)

    def refuse_open(self, q: Sequence[float]) -> None:
        """An error that names the loop which positions leave open."""
        if not self.model.robot.loops:
            return
        squares, upright = (np.array(x, dtype=float) for x in self.gaps.trace({"q": list(q)}))
        worst = int(np.argmax(squares))
        found = None
        if not squares.sum() < OPEN * OPEN:
            found = worst, f"open by {np.sqrt(squares[worst]):.3g} (m, rad)"
        elif not (upright > 0).all():
            found = int(np.argmin(upright)), "closed the wrong way round, with opposite axes"
        if found is not None:
            name = self.model.robot.loops[found[0]].name
            raise InputError(f"fmu: q0 leaves the loop {name!r} {found[1]}; q0=robot.assemble(...).q closes all loops")

    @property
    def slopes(self) -> Recipe:
        """How qdd, dq/dt and poses change when states, inputs and parameters change by ``d``..."""
        given = self.given
        robot = self.model.robot
        outputs = [Operand("dqdd", (robot.nv,)), Operand("drates", (robot.nq,))]
        outputs += [Operand("dposes", (len(POSE) * len(self.frames),))] if self.frames else []
        along = {x.name: f"d{x.name}_" for x in given}

        def trace(values: Values) -> list[list[Scalar]]:
            parts = self._moving(values)
            parts += [self._poses(values)] if self.frames else []
            seeds: dict[Node, Scalar] = {}
            for name, other in along.items():
                for x, dx in zip(values[name], values[other], strict=True):
                    assert isinstance(x, Node)
                    seeds[x] = dx
            flat = tangents([x for part in parts for x in part], seeds)
            found, at = [], 0
            for part in parts:
                found.append(flat[at : at + len(part)])
                at += len(part)
            return found

        return Recipe((*given, *(Operand(along[x.name], x.shape) for x in given)), tuple(outputs), trace)

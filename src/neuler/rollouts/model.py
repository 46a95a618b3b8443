"""What a rollout integrates: the robot's accelerations at a time, with what acts on it from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuler.passes.parameters import parse
from neuler.passes.tree import Tree
from neuler.quantities.catalogue import find
from neuler.quantities.losses import Losses
from neuler.quantities.setup import PARAMETERS, RobotRecipe, choosing, trees
from neuler.recursions.positions import way_rates
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.structure.chart import Chart
from neuler.structure.stepping import step
from neuler.trace.graph import Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand

Values = Mapping[str, list[Scalar]]


@dataclass(frozen=True)
class Control:
    """A controller as operations: (t, q, qd, memory, reference) -> (tau, memory); and how many numbers those have."""

    listing: Listing
    memory: int
    reference: int

    def at(self, values: Values, t: Scalar) -> tuple[list[Scalar], list[Scalar]]:
        """tau and memory at a sample."""
        given = {**values, "t": [t]}
        flat = run(self.listing.body, [x for operand in self.listing.inputs for x in given[operand.name]])
        found = self.listing.split(flat)
        return found[0], found[1] if self.memory else []


@dataclass(frozen=True)
class Model:
    """The right-hand side of a rollout, over traced scalars."""

    robot: Robot
    external: tuple[str, ...] = ()
    """Frames with a wrench in their own axes."""
    loads: tuple[str, ...] = ()
    """Frames with one in the base's."""
    functions: Mapping[str, Listing] = field(default_factory=dict)
    """By the input's name ("wrench_tool"): those of them that are functions of (t, q, qd)."""
    parameters: tuple[str, ...] = ()
    limits: str = "ignore"
    """What the joints' limits do: nothing, end a row ("stop"), or stop the joint ("hold")."""
    control: Control | None = None
    fused: bool = False
    """Whether the controller is part of every step, and shares what it computes with the dynamics."""

    @property
    def key(self) -> tuple[object, ...]:
        """All that tells models of one robot apart."""
        functions = tuple(sorted((name, listing.digest) for name, listing in self.functions.items()))
        control = self.control and self.control.listing.digest
        return self.external, self.loads, functions, self.parameters, self.limits, control, self.fused

    @property
    def bounded(self) -> bool:
        """Whether the joints' limits are read."""
        return self.limits != "ignore"

    @property
    def holds(self) -> bool:
        """Whether joints have stops at their limits."""
        return self.limits == "hold"

    @property
    @kept
    def recipe(self) -> RobotRecipe:
        """The recipe of the robot's forward dynamics, with the wrenches and parameters of the model."""
        return self._quantity("forward_dynamics", external=self.external, loads=self.loads)

    def _quantity(self, name: str, **options: object) -> RobotRecipe:
        """One of the robot, with the same parameters."""
        if self.parameters:
            options[PARAMETERS] = self.parameters
        return find(name).recipe(self.robot, **options)

    @property
    def held(self) -> tuple[Operand, ...]:
        """What the accelerations need beside q, qd, tau and the time: wrenches and parameters of the row."""
        inputs = self.recipe.inputs[3:]
        return tuple(operand for operand in inputs if operand.name not in self.functions)

    @property
    def timed(self) -> bool:
        """Whether the accelerations depend on the time."""
        return bool(self.functions)

    def accelerations(self, values: Values, q: list[Scalar], qd: list[Scalar], t: Scalar) -> list[Scalar]:
        """qdd at this state and time, tau and all that is held as in ``values``."""
        return list(self.recipe.trace(self._pushed(values, q, qd, t))[0])

    def _pushed(self, values: Values, q: list[Scalar], qd: list[Scalar], t: Scalar) -> Values:
        """With the wrenches that are functions."""
        given = {**values, "q": q, "qd": qd}
        for name, listing in self.functions.items():
            given[name] = run(listing.body, [t, *q, *qd])
        return given

    def lacking(self, values: Values, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar], t: Scalar) -> list[Scalar]:
        """M qdd + h - G_a^T tau, along the robot's own velocities: zero where qdd are the accelerations."""
        recipe = self._quantity("generalized_force", external=self.external, loads=self.loads)
        (needed,) = recipe.trace({**self._pushed(values, q, qd, t), "qdd": qdd})
        chart = self.chart(q)
        losses = Losses(self.machine, self.tree(values), chart.rates(qd))
        return [a - b for a, b in zip(needed, chart.generalized(losses.load_from_tau(values["tau"])), strict=True)]

    @property
    def machine(self) -> Robot:
        """The robot with its motors as bodies: what moves."""
        return self.robot.mechanism

    def chart(self, q: Sequence[Scalar]) -> Chart:
        """The chart of the robot, motors as bodies, at a position."""
        return Chart(self.machine, q)

    def tree(self, values: Values) -> Tree:
        """The tree of the machine, with the row's parameters in it."""
        if self.parameters:
            values = choosing(values, parse(self.machine, self.parameters))
        return trees(self.machine, values).grouped

    def mass_matrix(self, values: Values, q: list[Scalar]) -> list[list[Scalar]]:
        """The rows of the mass matrix M at a position."""
        (flat,) = self._quantity("mass_matrix").trace({**values, "q": q})
        n = self.robot.nv
        return [list(flat[n * k : n * k + n]) for k in range(n)]

    # ---- positions ------------------------------------------------------------------------------

    def moved(self, q: Sequence[Scalar], way: Sequence[Scalar], dt: Scalar = 1.0) -> list[Scalar]:
        """q after a way along the robot's own velocities; NaN where a loop does not close again."""
        found, valid = step(self.chart(q), way, dt)
        return [x * valid for x in found] if self.robot.loops else found

    @property
    def bent(self) -> tuple[int, ...]:
        """The robot's own velocities along which positions do not just add up: of joints with quaternions."""
        owners = self.robot.coordinates.owners("qd")
        return tuple(k for k, entry in enumerate(owners) if entry.quaternion is not None)

    def way_rates(self, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """d(way)/dt where ``moved(q, way)`` is the position."""
        joints = self.machine.moving_joints
        if not self.robot.loops:
            return way_rates(joints, way, qd)
        own, total = self.robot.coordinates.independent, self.robot.coordinates.velocities
        ways: list[Scalar] = [0.0] * total
        rates: list[Scalar] = [0.0] * total
        for k, number in enumerate(own):
            ways[number], rates[number] = way[k], qd[k]
        found = way_rates(joints, ways, rates)
        return [found[number] for number in own]

"""Torques with their time derivatives, and the jerk of all joints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from neuler.errors import InputError
from neuler.quantities.declare import Names, quantity
from neuler.quantities.dynamics import moved_tree
from neuler.quantities.losses import Losses
from neuler.quantities.setup import External, RobotRecipe, Values, coordinates, trees
from neuler.recursions.loads import load_rates, together
from neuler.recursions.positions import position_rates
from neuler.recursions.rates import torque_rates
from neuler.robot import Robot
from neuler.structure.chart import Chart
from neuler.structure.mobility import refuse_undriven
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand

MOTION = ("q", "qd", "qdd", "qddd", "qdddd")
"""The motion and its derivatives: position, velocity, acceleration, jerk, snap."""
RATES = ("", "_rate", "_rate2")
"""What comes after the name of a wrench or a load, and of its derivatives."""


def refuse_rough(robot: Robot, quantity: str, derivatives: int) -> None:
    """Refuse couplings that have not so many continuous derivatives."""
    for coupling in robot.couplings:
        if coupling.continuous < derivatives:
            raise InputError(
                f"{quantity}: needs {derivatives} continuous derivatives of the coupling of joint {coupling.joint!r}, "
                f"which has {coupling.continuous}; give its Spline degree=5"
            )


def seeds_along(chart: Chart, values: Values, names: Sequence[str] = ()) -> dict[Node, Scalar]:
    """The rate of every input along the motion; ``names`` are those of wrenches and loads."""
    seeds: dict[Node, Scalar] = {}
    q = values["q"]
    changes = {**values, "positions": position_rates(chart.robot.moving_joints, q, chart.rates(values["qd"]))}
    for chain in [MOTION, *([name + suffix for suffix in RATES] for name in names)]:
        for now, then in itertools.pairwise(name for name in chain if name in values):
            for x, rate in zip(values[now], changes["positions" if now == "q" else then], strict=True):
                if not isinstance(x, Node):
                    raise InputError("made by differentiating a graph: it runs compiled only")
                seeds[x] = rate
    return seeds


def jerks(chart: Chart, values: Values) -> list[Scalar]:
    """The third derivatives of the tree's coordinates, qddd."""
    if chart.trivial:
        return list(values["qddd"])
    return tangents(chart.accelerations(values["qd"], values["qdd"]), seeds_along(chart, values))


@quantity("q, qd, qdd, qddd -> tau, tau_rate")
def inverse_dynamics_rate(robot: Robot, *, external: Names = (), loads: Names = (), order: int = 1) -> RobotRecipe:
    """Joint forces tau and their time derivatives along the motion, (nu) each: N m, N m/s. Guarino (3)-(21).

    ``order=2`` also takes the snap qdddd and returns the second derivative. Each external wrench comes with the time
    derivative of its components in its frame, each load with that of its components in the base frame: inputs
    ``wrench_FRAME_rate``, ``load_FRAME_rate``. With couplings or loops by automatic differentiation. Coulomb friction
    contributes nothing to a rate: it jumps at rest and is constant elsewhere; a smooth friction law has a rate.

    >>> import neuler
    >>> tau, tau_rate = neuler.robots.two_link().inverse_dynamics_rate([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> tau_rate.shape
    (2,)
    """
    if isinstance(order, bool) or order not in (1, 2):
        raise InputError(f"inverse_dynamics_rate: order must be 1 or 2, got {order!r}")
    outside = External.of(robot, external, loads)
    refuse_undriven(robot, "inverse_dynamics_rate")
    refuse_rough(robot, "inverse_dynamics_rate", order + 2)
    inputs = coordinates(robot, *MOTION[: order + 3])
    for suffix in RATES[: order + 1]:
        inputs += outside.inputs(suffix)
    names = ("tau", "tau_rate", "tau_rate2")[: order + 1]

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        if chart.trivial:
            found = _by_recursion(robot, values, outside)
        else:
            tree = trees(robot, values).grouped
            solved = moved_tree(chart, tree, values, outside, values["qdd"])
            tau, one = chart.distribute(chart.project(solved.coordinates))
            tau = Losses(robot, tree, chart.rates(values["qd"])).tau_from_load(tau)
            seeds = seeds_along(chart, values, outside.names)
            found = [[x * one for x in tau], [x * one for x in tangents(tau, seeds)]]
        return found if order == 1 else [*found, tangents(found[1], seeds_along(chart, values, outside.names))]

    return RobotRecipe(inputs, tuple(Operand(name, (robot.nu,)) for name in names), trace)


def _by_recursion(robot: Robot, values: Values, outside: External) -> list[list[Scalar]]:
    tree = trees(robot, values).grouped
    q, qd, qdd, qddd = (values[name] for name in MOTION[:4])
    (fixed, turned), (fixed_rates, changing) = (
        (outside.fixed(tree, values, suffix), outside.turned(tree, values, suffix)) for suffix in RATES[:2]
    )
    wrenches = together(fixed, turned)
    rates = together(fixed_rates, load_rates(tree, q, qd, turned, changing))
    found = torque_rates(tree, q, qd, qdd, qddd, wrenches, rates)
    losses = Losses(robot, tree, qd)
    slopes = losses.slopes(found.tau)
    rate = [a * x + b * y for (a, b), x, y in zip(slopes, found.tau_rate, qdd, strict=True)]
    return [losses.tau_from_load(found.tau), rate]

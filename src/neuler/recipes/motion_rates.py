"""Rates as recipes: torques with their time derivatives, link motions up to jerk."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from neuler.errors import InputError
from neuler.passes.tree import Tree
from neuler.recipes.setup import External, RobotRecipe, Values, coordinates, fused_tree, grouped_tree
from neuler.recursions.configuration import position_rates
from neuler.recursions.loads import load_rates, together
from neuler.recursions.rates import LinkMotion, link_motion, torque_rates
from neuler.robot import Robot, Transform
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand

POSITIONS = ("q", "qd", "qdd", "qddd", "qdddd")
"""The motion and its derivatives: position, velocity, acceleration, jerk, snap."""
RATES = ("", "_rate", "_rate2")
"""What comes after the name of a wrench or a load, and of its derivatives."""


def inverse_dynamics_rate(
    robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = (), order: int = 1
) -> RobotRecipe:
    """tau and d(tau)/dt, Guarino (3)-(21); with ``order=2`` snap too, and the second derivative.

    Each external wrench comes with its rate: components in its frame, and their time derivatives; each load
    with the time derivatives of its components in the base frame.
    Coulomb friction adds nothing to a rate: it jumps at rest, and is constant elsewhere.
    """
    if isinstance(order, bool) or order not in (1, 2):
        raise InputError(f"inverse_dynamics_rate: order must be 1 or 2, got {order!r}")
    outside = External.of(robot, external, loads)
    inputs = coordinates(robot, *POSITIONS[: order + 3])
    for suffix in RATES[: order + 1]:
        inputs += outside.inputs(suffix)
    names = ("tau", "tau_rate", "tau_rate2")[: order + 1]

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        q, qd, qdd, qddd = (values[name] for name in POSITIONS[:4])
        (fixed, turned), (fixed_rates, changing) = (
            (outside.fixed(tree, values, suffix), outside.turned(tree, values, suffix)) for suffix in RATES[:2]
        )
        wrenches = together(fixed, turned)
        rates = together(fixed_rates, load_rates(tree, q, qd, turned, changing))
        found = torque_rates(tree, q, qd, qdd, qddd, wrenches, rates)
        results = [found.tau, found.tau_rate]
        return results if order == 1 else [*results, _second(tree, results[1], outside, values)]

    return RobotRecipe(inputs, tuple(Operand(name, (robot.nv,)) for name in names), trace)


def _second(tree: Tree, rates: Sequence[Scalar], outside: External, values: Values) -> list[Scalar]:
    """The rate of the rate, by the differentiation pass along the motion."""
    seeds: dict[Node, Scalar] = {}
    chains = [POSITIONS, *([name + suffix for suffix in RATES] for name in outside.names)]
    changes = {**values, "positions": position_rates(tree, values["q"], values["qd"])}
    for chain in chains:
        for now, then in itertools.pairwise(chain):
            for x, rate in zip(values[now], changes["positions" if now == "q" else then], strict=True):
                if not isinstance(x, Node):
                    raise InputError("order=2 is made by differentiating a graph: it runs compiled only")
                seeds[x] = rate
    return tangents(rates, seeds)


def link_motions(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Velocity, acceleration and jerk of all links or of one ``frame``, Guarino (3)-(9).

    (linear; angular) each, inertial derivatives at the frame's origin in its own axes, gravity not included.
    """
    names = robot.link_names if frame is None else (frame,)
    robot.locate(names[0])
    shape = (len(names), 6) if frame is None else (6,)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        moving = link_motion(tree, *(values[name] for name in POSITIONS[:4]))
        rows: list[list[Scalar]] = [[], [], []]
        for name in names:
            number, placement = tree.frames[name]
            for row, part in zip(rows, _at(moving[number], placement), strict=True):
                row.extend(part)
        return rows

    outputs = tuple(Operand(name, shape) for name in ("velocities", "accelerations", "jerks"))
    return RobotRecipe(coordinates(robot, *POSITIONS[:4]), outputs, trace)


def _at(motion: LinkMotion, placement: Transform) -> list[tuple[Scalar, ...]]:
    return [(*linear, *angular) for linear, angular in motion.at(placement)]

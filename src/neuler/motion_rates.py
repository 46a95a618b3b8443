"""Rates as recipes: torques with their time derivatives, link motions up to jerk."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from neuler.algebra.screw import Wrench, pair
from neuler.compiler.build import Recipe
from neuler.compiler.differentiate import tangents
from neuler.compiler.graph import Node, Scalar
from neuler.compiler.llvm import Operand
from neuler.errors import InputError
from neuler.recursions.frames import wrench_from
from neuler.recursions.rates import LinkMotion, link_motion, torque_rates
from neuler.robot import Robot, Transform
from neuler.setup import Values, coordinates, fused_tree, grouped_tree, loads, named, wrench_inputs

POSITIONS = ("q", "qd", "qdd", "qddd", "qdddd")
"""The motion and its derivatives: position, velocity, acceleration, jerk, snap."""


def inverse_dynamics_rate(robot: Robot, *, external: str | Iterable[str] = (), order: int = 1) -> Recipe:
    """tau and d(tau)/dt, Guarino (3)-(21); with ``order=2`` snap too, and the second derivative.

    Each external wrench comes with its rate: components in its frame, and their time derivatives.
    Coulomb friction adds nothing to a rate: it jumps at rest, and is constant elsewhere.
    """
    if isinstance(order, bool) or order not in (1, 2):
        raise InputError(f"inverse_dynamics_rate: order must be 1 or 2, got {order!r}")
    chosen = named(robot, external)
    inputs = coordinates(robot, *POSITIONS[: order + 3]) + wrench_inputs(chosen)
    for k in range(1, order + 1):
        inputs += tuple(Operand(f"wrench_{name}_rate{k if k > 1 else ''}", (6,)) for name in chosen)
    names = ("tau", "tau_rate", "tau_rate2")[: order + 1]

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        q, qd, qdd, qddd = (values[name] for name in POSITIONS[:4])
        rates = _load_rates(tree.frames, chosen, values)
        found = torque_rates(tree, q, qd, qdd, qddd, loads(tree, chosen, values), rates)
        results = [found.tau, found.tau_rate]
        return results if order == 1 else [*results, _second(results[1], chosen, values)]

    return Recipe(inputs, tuple(Operand(name, (robot.nv,)) for name in names), trace)


def _load_rates(
    frames: Mapping[str, tuple[int, Transform]], chosen: Sequence[str], values: Values
) -> dict[int, list[Wrench]]:
    found: dict[int, list[Wrench]] = {}
    for name in chosen:
        number, placement = frames[name]
        found.setdefault(number, []).append(wrench_from(placement, pair(values[f"wrench_{name}_rate"])))
    return found


def _second(rates: Sequence[Scalar], chosen: Sequence[str], values: Values) -> list[Scalar]:
    """The rate of the rate, by the differentiation pass along the motion."""
    seeds: dict[Node, Scalar] = {}
    chains = [POSITIONS] + [(f"wrench_{n}", f"wrench_{n}_rate", f"wrench_{n}_rate2") for n in chosen]
    for chain in chains:
        for now, then in itertools.pairwise(chain):
            for x, rate in zip(values[now], values[then], strict=True):
                if not isinstance(x, Node):
                    raise InputError("order=2 is made by differentiating a graph: it runs compiled only")
                seeds[x] = rate
    return tangents(rates, seeds)


def link_motions(robot: Robot, *, frame: str | None = None) -> Recipe:
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
    return Recipe(coordinates(robot, *POSITIONS[:4]), outputs, trace)


def _at(motion: LinkMotion, placement: Transform) -> list[tuple[Scalar, ...]]:
    return [(*linear, *angular) for linear, angular in motion.at(placement)]

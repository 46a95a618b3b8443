"""What a robot's own velocities feel of inertia, with loops, couplings or both: sampled with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuler.passes.trees import refuse_inertialess, usual_inertias
from neuler.robot import Robot
from neuler.robot.configuration import neutral_positions, random_positions
from neuler.robot.inertia_matrix import Samples, inertia_matrix
from neuler.structure.lift import Lift
from neuler.structure.mobility import Array, Numbers, nearby

_SHAKY = 1e4
"""Condition of the motions by the independent velocities above which a position is too near a singular one."""


def reduced_inertias(robot: Robot, independent: Sequence[int], names: Sequence[str]) -> Samples | None:
    """A_c of Khalil (58) near the reference, by these independent velocities, where they decide all."""
    numbers = Numbers(robot)
    facts = robot.mobility
    matrices, most = [], []
    for q in nearby(robot, numbers):
        motions = np.linalg.svd(numbers.jacobian(q))[2][facts.rank :].T
        chosen = motions[list(independent)]
        if chosen.shape[0] != chosen.shape[1] or np.linalg.cond(chosen) > _SHAKY:
            continue
        g = motions @ np.linalg.inv(chosen)
        tree = joint_inertia(robot, q)
        matrices.append(g.T @ tree @ g)
        most.append(np.abs(np.diag(tree)) @ np.square(g))
    return Samples(matrices, np.max(most, axis=0), tuple(names)) if matrices else None


def joint_inertia(robot: Robot, q: Array) -> Array:
    """The inertia matrix of the joints with coordinates, loops open."""
    lift = Lift(robot, q.tolist())
    whole = inertia_matrix(robot.tree, np.array(lift.q, dtype=float))
    if not robot.couplings:
        return whole
    rows = np.zeros((len(whole), lift.own))
    for k, row in enumerate(lift.rows()):
        for i, x in row.items():
            rows[k, i] = float(x)
    return np.asarray(rows.T @ whole @ rows)


def own_inertias(robot: Robot, names: Sequence[str]) -> Samples | None:
    """The inertia matrix of a robot's own velocities, with loops, couplings or both, at some positions."""
    if robot.loops:
        return reduced_inertias(robot, robot.mobility.choice.independent, names)
    rng = np.random.default_rng(0)
    positions = [neutral_positions(robot), *random_positions(robot, rng, (4,))]
    matrices = [joint_inertia(robot, q) for q in positions]
    return Samples(matrices, np.max([np.abs(np.diag(m)) for m in matrices], axis=0), tuple(names))


def usual_own(robot: Robot, quantity: str, names: Sequence[str]) -> dict[int, float]:
    """By own velocity of a robot with loops or couplings: the inertia that it usually feels, where that may vanish.

    Motions without inertia in any position are refused.
    """
    if not usual_inertias(robot.tree):
        return {}
    samples = own_inertias(robot, names)
    if samples is None:
        return {}
    refuse_inertialess(f"{quantity} of {robot.name!r}", samples, range(len(names)))
    return dict(enumerate(samples.usual.tolist()))


def usual_free(
    robot: Robot, quantity: str, independent: Sequence[int], names: Sequence[str], free: Sequence[int]
) -> dict[int, float]:
    """The same of some ``free`` ones of other independent velocities, while the rest are given their motion."""
    if not free or not usual_inertias(robot.tree):
        return {}
    samples = reduced_inertias(robot, independent, names) if robot.loops else own_inertias(robot, names)
    if samples is None:
        return {}
    samples = samples.of(free)
    refuse_inertialess(f"{quantity} of {robot.name!r}", samples, range(len(free)))
    return dict(enumerate(samples.usual.tolist()))

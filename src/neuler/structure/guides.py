"""Guides: joints that a machine does not have. They say how its loops let a link move, a Delta's platform for one.

Motions and joint forces are the same with a guide as without. Reactions are not: a guide would carry what the loops
really carry, so that these are found on the same robot with the guided links free.
"""

from __future__ import annotations

import dataclasses

from neuler.robot import Robot
from neuler.robot.kinds.kind import InARow
from neuler.robot.value import kept
from neuler.structure.chart import Chart
from neuler.trace.graph import Scalar

Motion = tuple[list[Scalar], list[Scalar], list[Scalar]]
"""Positions, velocities and accelerations of a tree."""


@kept
def unguided(robot: Robot) -> Robot:
    """The same robot with guided links free, held by its loops alone; itself where there is no guide."""
    if not any(_guides(joint) for joint in robot.joints):
        return robot
    joints = [
        dataclasses.replace(joint, kind="free", role="passive") if _guides(joint) else joint for joint in robot.joints
    ]
    reference: list[float] = []
    given, at = robot.mobility.reference, 0
    for joint in robot.moving_joints:
        here = list(given[at : at + joint.nq])
        still = [0.0] * joint.nv
        reference += joint.type.as_free(here, still, still)[0] if _guides(joint) else here  # type: ignore[attr-defined]
        at += joint.nq
    return robot.replace(joints=joints, reference=reference, independent=None)


def _guides(joint: object) -> bool:
    return joint.role == "guide" and isinstance(joint.type, InARow)  # type: ignore[attr-defined]


def unguided_motion(chart: Chart, qd: list[Scalar], qdd: list[Scalar]) -> Motion:
    """The motion of a robot's tree as that of the tree without guides."""
    found: Motion = ([], [], [])
    rates, pushes, at, first = chart.velocities(qd), chart.accelerations(qd, qdd), 0, 0
    for joint in chart.robot.tree.moving_joints:
        own = chart.q[at : at + joint.nq], rates[first : first + joint.nv], pushes[first : first + joint.nv]
        parts = joint.type.as_free(*own) if _guides(joint) else own  # type: ignore[attr-defined]
        for whole, part in zip(found, parts, strict=True):
            whole.extend(part)
        at, first = at + joint.nq, first + joint.nv
    return found

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

TreeMotion = tuple[list[Scalar], list[Scalar], list[Scalar]]
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
    for entry in robot.coordinates:
        here, still = list(robot.mobility.reference[entry.q]), [0.0] * entry.nv
        reference += entry.kind.as_free(here, still, still)[0] if _guides(entry.joint) else here  # type: ignore[attr-defined]
    return robot.replace(joints=joints, reference=reference, independent=None)


def _guides(joint: object) -> bool:
    return joint.role == "guide" and isinstance(joint.type, InARow)  # type: ignore[attr-defined]


def unguided_motion(chart: Chart, qd: list[Scalar], qdd: list[Scalar]) -> TreeMotion:
    """The motion of a robot's tree as that of the tree without guides."""
    found: TreeMotion = ([], [], [])
    rates, pushes = chart.velocities(qd), chart.accelerations(qd, qdd)
    for entry in chart.robot.tree.coordinates:
        own = chart.q[entry.q], rates[entry.v], pushes[entry.v]
        parts = entry.kind.as_free(*own) if _guides(entry.joint) else own  # type: ignore[attr-defined]
        for whole, part in zip(found, parts, strict=True):
            whole.extend(part)
    return found

"""Both sides of elastic drives: which coordinates are of joints, and which of the motors behind their springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.control.coordinates import refuse_undriven
from neuler.errors import RobotError
from neuler.robot import Robot
from neuler.robot.coordinates import springs


@dataclass(frozen=True)
class Sides:
    """Numbers of coordinates of a robot whose joints all have one each."""

    size: int
    links: list[int]
    """Of the joints, in q: q of Hua (30)."""
    motors: list[int]
    """Of the motors behind springs, in q: theta."""
    elastic: list[int]
    """Of the joints that these drive, among ``links``."""
    driving: list[int]
    """Of what a motor turns, joint by joint: theta, or q of a rigid drive."""
    stiffness: np.ndarray
    """K (N m/rad)."""

    @classmethod
    def of(cls, robot: Robot, what: str) -> Sides:
        """Of a tree with some elastic drives and motors for all joints; others are refused by name."""
        behind = springs(robot)
        if robot.loops:
            raise RobotError(f"{what}: robot {robot.name!r} has loops; it is for trees with elastic drives")
        if not behind:
            raise RobotError(
                f"{what}: robot {robot.name!r} has no elastic drive; ComputedTorque, GravityPD and SlotineLi of "
                "neuler.control are for rigid ones"
            )
        several = [entry.name for entry in robot.coordinates if not entry.one]
        if several:
            raise RobotError(
                f"{what}: joint {several[0]!r} of robot {robot.name!r} has not one coordinate; all must have"
            )
        refuse_undriven(robot, what, "Drive it (role 'driven').", besides=tuple(behind))
        table = robot.coordinates
        joints = [entry.name for entry in table if not entry.elastic]
        motors = [entry for entry in table if entry.elastic]
        return cls(
            table.nq,
            [table[name].q.start for name in joints],
            [entry.q.start for entry in motors],
            [joints.index(entry.drives) for entry in motors if entry.drives is not None],
            [table[behind[name].name if name in behind else name].q.start for name in joints],
            np.array([entry.joint.series[1] for entry in motors if entry.joint.series is not None]),
        )

    def whole(self, links: Any, motors: Any) -> Any:
        """Numbers of joints and motors, in the order of q."""
        found = np.zeros(self.size, dtype=object)
        found[self.links], found[self.motors] = links, motors
        return found

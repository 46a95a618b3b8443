"""Both sides of elastic drives: which coordinates are of joints, and which of the motors behind their springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.control.coordinates import Coordinates, refuse_undriven, springs
from neuler.errors import RobotError
from neuler.robot import Robot


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
        if not Coordinates.of(robot).plain or any(joint.nv != 1 for joint in robot.moving_joints):
            name = next(joint.name for joint in robot.moving_joints if joint.nv != 1)
            raise RobotError(f"{what}: joint {name!r} of robot {robot.name!r} has not one coordinate; all must have")
        refuse_undriven(robot, what, "Drive it (role 'driven').", besides=tuple(behind))
        names = list(robot.joint_names)
        joints = [joint.name for joint in robot.moving_joints if joint.series is None]
        motors = [joint for joint in robot.moving_joints if joint.series is not None]
        return cls(
            len(names),
            [names.index(name) for name in joints],
            [names.index(joint.name) for joint in motors],
            [joints.index(joint.series[0]) for joint in motors if joint.series],
            [names.index(behind[name].name if name in behind else name) for name in joints],
            np.array([joint.series[1] for joint in motors if joint.series]),
        )

    def whole(self, links: Any, motors: Any) -> Any:
        """Numbers of joints and motors, in the order of q."""
        found = np.zeros(self.size, dtype=object)
        found[self.links], found[self.motors] = links, motors
        return found

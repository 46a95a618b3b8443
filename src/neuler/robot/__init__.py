"""What a robot is."""

from neuler.robot.joint import Frame, Joint, Limits
from neuler.robot.link import Link
from neuler.robot.mechanism import Coupling, Loop, Mechanism
from neuler.robot.model import Robot
from neuler.robot.parallel import Leg, ParallelRobot, stack
from neuler.robot.transform import Transform

__all__ = [
    "Coupling",
    "Frame",
    "Joint",
    "Leg",
    "Limits",
    "Link",
    "Loop",
    "Mechanism",
    "ParallelRobot",
    "Robot",
    "Transform",
    "stack",
]

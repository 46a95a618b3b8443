"""What a robot is."""

from neuler.robot.coupling import Coupling, Polynomial, Spline
from neuler.robot.joint import Frame, Joint, Limits
from neuler.robot.link import Link
from neuler.robot.loop import Loop
from neuler.robot.model import Robot
from neuler.robot.parallel import Leg, parallel_robot, stack
from neuler.robot.transform import Transform

__all__ = [
    "Coupling",
    "Frame",
    "Joint",
    "Leg",
    "Limits",
    "Link",
    "Loop",
    "Polynomial",
    "Robot",
    "Spline",
    "Transform",
    "parallel_robot",
    "stack",
]

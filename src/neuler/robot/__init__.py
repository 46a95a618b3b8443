"""What a robot is."""

from neuler.robot.joint import Frame, Joint, Limits
from neuler.robot.link import Link
from neuler.robot.mechanism import Coupling, Loop, Mechanism
from neuler.robot.model import Robot
from neuler.robot.transform import Transform

__all__ = ["Coupling", "Frame", "Joint", "Limits", "Link", "Loop", "Mechanism", "Robot", "Transform"]

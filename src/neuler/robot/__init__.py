"""What a robot is."""

from neuler.robot.model import Frame, Joint, Limits, Link, Robot
from neuler.robot.transform import Transform

__all__ = ["Frame", "Joint", "Limits", "Link", "Robot", "Transform"]

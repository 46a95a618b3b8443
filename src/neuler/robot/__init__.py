"""What a robot is."""

from neuler.robot.coupling import Coupling, Polynomial, Spline
from neuler.robot.friction import Coulomb, Friction, LoadDependent, Stribeck
from neuler.robot.joint import Frame, Joint, Limits
from neuler.robot.link import Link
from neuler.robot.loop import Loop
from neuler.robot.model import Robot
from neuler.robot.motor import Motor
from neuler.robot.parallel import Leg, parallel_robot, stack
from neuler.robot.transform import Transform

__all__ = [
    "Coulomb",
    "Coupling",
    "Frame",
    "Friction",
    "Joint",
    "Leg",
    "Limits",
    "Link",
    "LoadDependent",
    "Loop",
    "Motor",
    "Polynomial",
    "Robot",
    "Spline",
    "Stribeck",
    "Transform",
    "parallel_robot",
    "stack",
]

"""PD with gravity compensation: springs and dampers to where the robot is to be, and its weight carried."""

from __future__ import annotations

from typing import Any

from neuler.control.controller import Controller, Wanted
from neuler.control.coordinates import gains, refuse_springs, refuse_undriven
from neuler.robot import Robot


class GravityPD(Controller):
    """tau = g(q) + kp (q_d - q) + kd (qd_d - qd), g the force that holds the robot still (its springs included).

    At rest it goes to q_d from everywhere, Takegaki and Arimoto 1981: with V = qd.M qd / 2 + e.kp e / 2 and a constant
    q_d, dV/dt = - qd.kd qd less what friction takes. ``kp`` (N m/rad, N/m) and ``kd`` (N m s/rad, N s/m) are one
    number each, or one for every velocity. In loops these are forces along the robot's own velocities, and tau the
    motors' least forces that give them.

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> control = GravityPD(robot, kp=[50.0, 20.0], kd=[10.0, 5.0], reference=[0.3, -0.2])
    >>> (control(0.0, [0.2, -0.2], [0.0, 0.0]).tau - robot.gravity_force([0.2, -0.2])).round(9).tolist()
    [5.0, 0.0]
    """

    name = "gravity_pd"
    order = 1

    def __init__(self, robot: Robot, kp: Any, kd: Any, reference: Any = None, period: float | None = None) -> None:
        super().__init__(robot, reference, period)
        self.kp = gains(self.name, "kp", kp, robot.nv)
        self.kd = gains(self.name, "kd", kd, robot.nv, zero=True)

    def _refuse(self, robot: Robot) -> None:
        refuse_springs(robot, self.name)
        refuse_undriven(robot, self.name, "Drive it (role 'driven'); neuler.control.ComputedTorque leaves it loose.")

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        own = self.coordinates
        error = own.difference(q[own.places], wanted.q)
        return own.tau(q, self.robot.gravity_force(q) + self.kp * error + self.kd * (wanted.qd - qd))

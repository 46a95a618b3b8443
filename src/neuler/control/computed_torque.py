"""Computed torque: the model takes the robot's dynamics away, a PD law leads what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.control.controller import Controller, Wanted
from neuler.control.coordinates import gains, refuse_springs, refuse_undriven
from neuler.robot import Robot
from neuler.robot.coordinates import undriven


class ComputedTorque(Controller):
    """tau = ID(q, qd, a) with a = qdd_d + kd (qd_d - qd) + kp (q_d - q), ID the inverse dynamics, Khalil (12).

    With the right model the error e of every freedom obeys e'' + kd e' + kp e = 0: ``kp`` (1/s^2) is the square of a
    circular frequency, ``kd`` (1/s) by default twice its root, without overshoot. One number each, or one for every
    velocity. Friction, springs and rotors are in the model.

    Joints of a tree that no motor drives (a free base, passive ones) are left to themselves, with the forces of
    the others chosen so that these move as told: Khalil (72)-(100) by ``hybrid_dynamics``. Their references have no
    effect. Quaternions: the error is ``robot.difference(q, q_d)``, velocities are compared as they are.

    >>> import neuler, numpy as np
    >>> robot = neuler.robots.two_link()
    >>> control = ComputedTorque(robot, kp=100.0, reference=[0.3, -0.2])
    >>> tau, _ = control(0.0, [0.3, -0.2], [0.0, 0.0])
    >>> np.allclose(tau, robot.gravity_force([0.3, -0.2]))
    True
    """

    name = "computed_torque"

    def __init__(
        self, robot: Robot, kp: Any, kd: Any = None, reference: Any = None, period: float | None = None
    ) -> None:
        super().__init__(robot, reference, period)
        self.kp = gains(self.name, "kp", kp, robot.nv)
        self.kd = 2 * np.sqrt(self.kp) if kd is None else gains(self.name, "kd", kd, robot.nv, zero=True)
        self.loose = () if robot.loops else undriven(robot)

    def _refuse(self, robot: Robot) -> None:
        refuse_springs(robot, self.name)
        if robot.loops:
            refuse_undriven(robot, self.name, "Drive it (role 'driven'), or leave out what hangs on it.")

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        robot, own = self.robot, self.coordinates
        error = own.difference(q[own.places], wanted.q)
        told = wanted.qdd + self.kd * (wanted.qd - qd) + self.kp * error
        if not self.loose:
            return robot.inverse_dynamics(q, qd, told)
        moved = np.array([float(entry.name not in self.loose) for entry in robot.coordinates.owners("qd")])
        return moved * robot.hybrid_dynamics(q, qd, moved * told)

"""PD on the motors of elastic drives, with the weight of where the robot is to be carried."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.control.controller import Controller, Wanted
from neuler.control.coordinates import gains
from neuler.control.elastic import Sides
from neuler.functions.function import function
from neuler.robot import Robot
from neuler.robot.coordinates import Selection


class ElasticPD(Controller):
    """tau = g(q_d) + kp (theta_d - theta) + kd (thetad_d - thetad), with K (theta_d - q_d) = g(q_d) (Tomei 1991).

    theta are the motors' positions, of rigid drives the joints' own; of elastic ones theta_d is where the spring
    carries the weight of the links at q_d. It needs positions and velocities of motors alone, and goes to q_d from
    everywhere if springs and ``kp`` are stiffer than the weight changes with the position. A reference that moves is
    followed with a lag: thetad_d is exact, but no force is meant for accelerations.

    ``reference`` is of the joints, without theta. ``kp`` (N m/rad, N/m) and ``kd``: one number each, or one for every
    joint.

    >>> import neuler
    >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
    >>> robot = neuler.robots.two_link().replace(motors=[motor])
    >>> control = ElasticPD(robot, kp=50.0, kd=5.0, reference=[0.3, -0.2])
    >>> control.motor_positions([0.3, -0.2]).shape, control(0.0, [0.3, -0.2, -0.2], [0.0, 0.0, 0.0]).tau.shape
    ((1,), (3,))
    """

    name = "elastic_pd"
    order = 1

    def __init__(self, robot: Robot, kp: Any, kd: Any, reference: Any = None, period: float | None = None) -> None:
        super().__init__(robot, reference, period)
        self.sides = Sides.of(robot, self.name)
        size = len(self.sides.links)
        self.kp = gains(self.name, "kp", kp, size)
        self.kd = gains(self.name, "kd", kd, size, zero=True)
        self._held = function(self._holding, {"q_link": size}, {"theta": len(self.sides.motors), "force": size}, "held")

    def _refuse(self, robot: Robot) -> None:
        Sides.of(robot, self.name)

    @classmethod
    def coordinates_of(cls, robot: Robot) -> Selection:
        """The coordinates that references of the controller of a robot are of."""
        return robot.coordinates.links

    def _holding(self, q: Any) -> Any:
        """theta_d and g(q_d)."""
        sides = self.sides
        force = self.robot.gravity_force(sides.whole(q, q[sides.elastic]))[sides.links]
        return q[sides.elastic] + force[sides.elastic] / sides.stiffness, force

    def motor_positions(self, q: Any) -> Any:
        """theta_d: where the springs carry the links, at rest at q (of the joints)."""
        return self._held(q).theta

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        sides = self.sides
        theta, force = self._held(wanted.q)
        rate = self._held.jvp("q_link", "theta")(wanted.q, wanted.qd)
        place, speed = np.array(wanted.q, dtype=object), np.array(wanted.qd, dtype=object)
        place[sides.elastic], speed[sides.elastic] = theta, rate
        tau = np.zeros(self.robot.nu, dtype=object)
        tau[sides.driving] = force + self.kp * (place - q[sides.driving]) + self.kd * (speed - qd[sides.driving])
        return tau

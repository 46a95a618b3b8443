"""What drives a robot's joints: the same robot with other drives, and both sides of its motors' gears."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import RobotError
from neuler.inputs import array
from neuler.naming import listed
from neuler.robot.friction import Friction, smoothed
from neuler.robot.value import kept

if TYPE_CHECKING:
    from neuler.robot.model import Robot

Array = NDArray[np.float64]


class Driven:
    """Mixed into Robot: springs, friction, motors, transmissions."""

    def with_spring(self, joint: str, stiffness: float, rest: float = 0.0, role: str = "elastic") -> Robot:
        """The same robot with a spring on a joint, which moves it (``elastic``) or helps its motor (``driven``)."""
        return self._with_joint(joint, stiffness=stiffness, rest=rest, role=role)

    def with_passive(self, *joints: str) -> Robot:
        """The same robot with joints that no motor moves."""
        robot = cast("Robot", self)
        for name in joints:
            robot = robot._with_joint(name, role="passive")
        return robot

    def _with_joint(self, name: str, **changes: Any) -> Robot:
        robot = cast("Robot", self)
        moving = [joint.name for joint in robot.joints if joint.moves]
        if name not in moving:
            raise RobotError(f"robot {robot.name!r} has no moving joint {name!r}; it has {listed(name, moving)}")
        return robot.replace(joints=[replace(each, **changes) if each.name == name else each for each in robot.joints])

    def with_friction(self, joint: str, law: Friction | None) -> Robot:
        """The same robot with a friction law on a joint, in the place of the one it has.

        >>> import neuler
        >>> arm = neuler.robots.two_link().with_friction("joint1", neuler.Coulomb(2.0))
        >>> arm.inverse_dynamics([0, 0], [1, 0], [0, 0]) - arm.inverse_dynamics([0, 0], [0, 0], [0, 0])
        array([2., 0.])
        """
        return self._with_joint(joint, friction=law)

    @property
    def is_smooth(self) -> bool:
        """Whether no friction jumps at rest: no Coulomb level, and laws of friction with a width.

        >>> import neuler
        >>> neuler.robots.two_link().is_smooth, neuler.robots.puma560().is_smooth
        (True, False)
        """
        robot = cast("Robot", self)
        joints = any(j.coulomb or (j.friction is not None and not j.friction.width) for j in robot.joints)
        return not joints and not any(getattr(motor, "coulomb", 0.0) for motor in robot.motors)

    def with_smooth_friction(self, width: float, load_width: float = 0.0) -> Robot:
        """The same robot with tanh(v / width) in the place of sign(v) in all friction, as optimisers need it.

        ``width``: a joint's speed (rad/s or m/s), small beside those of its motion. ``load_width`` (N m or N) rounds
        the corner that load-dependent friction has at no load.
        """
        robot = cast("Robot", self)
        joints = [smoothed(joint, width, load_width) for joint in robot.joints]
        motors = []
        for motor in robot.motors:
            n = abs(motor.ratios[motor.joint])
            motors.append(smoothed(motor, n * width, load_width / n))
        return robot.replace(joints=joints, motors=motors)

    def without_friction(self) -> Robot:
        """The same robot without friction of its joints and motors, as many libraries compute it.

        Viscous and dry friction and friction laws are left out. The damping of a spring behind a motor is a property
        of the spring, as its stiffness is, and stays: ``dataclasses.replace(motor, damping=0.0)`` leaves it out.

        >>> import neuler
        >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=400.0, damping=0.5, viscous=1e-4)
        >>> bare = neuler.robots.two_link().replace(motors=[motor]).without_friction()
        >>> bare.motors[0].viscous, bare.motors[0].damping
        (0.0, 0.5)
        """
        robot = cast("Robot", self)
        none: dict[str, Any] = {"viscous": 0.0, "coulomb": 0.0, "coulomb_reverse": None, "friction": None}
        joints = [replace(joint, **none) for joint in robot.joints]
        return robot.replace(joints=joints, motors=[replace(motor, **none) for motor in robot.motors])

    def without_motors(self) -> Robot:
        """The same robot without rotor inertia, and without its motors."""
        robot = cast("Robot", self)
        return robot.replace(joints=[replace(joint, rotor_inertia=0.0) for joint in robot.joints], motors=())

    def with_simple_motors(self) -> Robot:
        """The same robot with every motor ``coupled=False``: its rotor is felt along its joint alone, not by links.

        Reflected inertia of rigid drives, Spong's model of elastic ones: what many libraries compute.

        >>> import neuler
        >>> motor = neuler.Motor("m2", "joint2", ratio=100, inertia=1e-4, included=True)
        >>> arm = neuler.robots.two_link().replace(motors=[motor])
        >>> (arm.mass_matrix([0, 0]) - arm.with_simple_motors().mass_matrix([0, 0])).round(6).tolist()
        [[0.0, 0.01], [0.01, 0.0]]
        """
        robot = cast("Robot", self)
        return robot.replace(motors=[replace(motor, coupled=False) for motor in robot.motors])

    # ---- gears ------------------------------------------------------------------------------------------------

    @property
    @kept
    def transmission_matrix(self) -> Array:
        """Speeds of the rotors (rad/s) by the velocities of the joints with coordinates, theta among them: T.

        A row a motor. Torques go the other way: tau = T^T (torques of the rotors).

        >>> import neuler
        >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
        >>> neuler.robots.two_link().replace(motors=[motor]).transmission_matrix.tolist()
        [[0.0, 0.0, 50.0]]
        """
        robot = cast("Robot", self)
        table = robot.coordinates
        places = {entry.drives or entry.name: entry.v.start for entry in table}  # theta stands after its joint
        found = np.zeros((len(robot.motors), table.velocities))
        for row, motor in zip(found, robot.motors, strict=True):
            for name, ratio in motor.ratios.items():
                row[places[name]] = ratio
        found.flags.writeable = False
        return found

    def motor_torques(self, tau: ArrayLike) -> Array:
        """Torques of the rotors (N m), (..., motors), that give the forces ``tau`` on the output side of the gears.

        T^T x = tau; of several motors on one joint the least (in the sum of squares). Forces of joints without a motor,
        and on the links' side of springs, are not asked for.

        >>> import neuler
        >>> arm = neuler.robots.two_link().replace(motors=[neuler.Motor("m", "joint2", 50, inertia=1e-4)])
        >>> arm.motor_torques([3.0, 10.0]).tolist()
        [0.2]
        """
        robot = cast("Robot", self)
        matrix = robot._output_side()
        force = array("motor_torques", "tau", tau, (robot.nu,))
        return np.asarray(force @ np.linalg.pinv(matrix))

    def output_torques(self, torques: ArrayLike) -> Array:
        """Forces on the output side of the gears, (..., nu) as in tau, of torques of the rotors: tau = T^T x.

        >>> import neuler
        >>> arm = neuler.robots.two_link().replace(motors=[neuler.Motor("m", "joint2", 50, inertia=1e-4)])
        >>> arm.output_torques([0.2]).tolist()
        [0.0, 10.0]
        """
        robot = cast("Robot", self)
        matrix = robot._output_side()
        return np.asarray(array("output_torques", "torques", torques, (len(robot.motors),)) @ matrix)

    def _output_side(self) -> Array:
        """T by the entries of tau."""
        robot = cast("Robot", self)
        if not robot.motors:
            raise RobotError(f"robot {robot.name!r} has no motors; robot.replace(motors=[...]) gives it some")
        return robot.transmission_matrix[:, list(robot.coordinates.active)]

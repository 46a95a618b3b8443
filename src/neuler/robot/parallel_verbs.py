"""The verbs of a parallel robot, as lazy attributes. What a verb computes is defined above this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuler.robot import verbs
from neuler.robot.verbs import Verb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from neuler.kernels import Kernel
    from neuler.robot.assembly import Assembly


class ParallelVerbs:
    """Mixed into ParallelRobot. ``q`` is a closed position: the platform's pose, then the legs' joints.

    ``v`` and ``vd`` are the platform's velocity (linear; angular) in its own frame and the rate of its components.
    """

    inverse_dynamics = Verb("Forces of the motors, Khalil (66). (q, v, vd) -> tau")
    forward_dynamics = Verb("(q, v, tau) -> vd")
    cartesian_force = Verb("The model in the platform's space, the bracket of Khalil (66). (q, v, vd) -> (6)")
    cartesian_mass_matrix = Verb("Inertia of platform and legs, felt at the platform. (q) -> (6, 6)")
    jacobian = Verb("J_p of Khalil (60): the platform's velocity by the motors'. (q) -> (6, motors)")
    inverse_jacobian = Verb("The motors' velocities by the platform's. (q) -> (motors, 6)")
    singularity = Verb("(q) -> (legs, platform): from 0, singular, to 1")
    leg_motion = Verb("(q, v, vd) -> velocities and accelerations of all legs' joints")

    def compile(self, quantity: str, **options: Any) -> Kernel:
        """A variant of a verb, ``dtype="float32"``."""
        return verbs.made(self, quantity, **options)

    def inverse_kinematics(self, pose: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Positions of all legs for poses of the platform (..., 7): x, y, z, quaternion x, y, z, w.

        ``guess`` and ``options`` are those of ``Mechanism.assemble``. A pose that the legs cannot hold, or cannot
        reach, is refused, or marked in a batch.

        >>> import neuler
        >>> robot = neuler.robots.gough_stewart()
        >>> found = robot.inverse_kinematics([0.25, 0.433, 1.0, 0, 0, 0, 1])
        >>> [round(float(x), 5) for x in found.q[9::3]]
        [1.02468, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863]
        """
        return self.mechanism.assemble(pose, guess, independent=("platform",), **options)  # type: ignore[attr-defined]

    def forward_kinematics(self, q_active: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Poses of the platform, and positions of all legs, for positions of the motors.

        Several poses may belong to the same positions: the one that is reached from ``guess`` (by default the
        reference) is found.
        """
        return self.mechanism.assemble(q_active, guess, **options)  # type: ignore[attr-defined]

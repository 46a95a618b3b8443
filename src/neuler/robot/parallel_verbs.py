"""The verbs of a parallel robot, as lazy attributes. What a verb computes is defined above this room."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import InputError
from neuler.robot import verbs
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation
from neuler.robot.verbs import Verb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from neuler.kernels import Kernel
    from neuler.robot.assembly import Assembly


class ParallelVerbs:
    """Mixed into ParallelRobot. ``q`` is a closed position: the platform's pose, then the legs' joints.

    ``v`` and ``vd`` are the platform's velocity (linear; angular) in its own frame and the rate of its components.

    Results are NaN at a singular pose (``singularity`` says how near one is), and for motions that the legs do not
    allow, an angular velocity of a Delta for instance: by more than 1e-6 of the motion, or 1e-6 m/s. For a robot with
    fewer than six freedoms, ``robot.mechanism.tree_motion`` of the motors' velocities and accelerations begins with
    a v and a vd that the legs allow. In a batch only the rows concerned are NaN.
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

        ``guess`` (a position q of the whole robot; by default the reference) and ``options`` are those of
        ``Mechanism.assemble``. A pose that the legs cannot reach, or whose orientation they do not allow, or whose
        quaternion is not of length one, is an error; of a batch, these rows are NaN and a warning counts them.

        >>> import neuler
        >>> robot = neuler.robots.gough_stewart()
        >>> found = robot.inverse_kinematics([0.25, 0.433, 1.0, 0, 0, 0, 1])
        >>> [round(float(x), 5) for x in found.q[9::3]]
        [1.0247, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863]
        """
        given = _poses(pose)
        return self.mechanism.assemble(given, guess, independent=("platform",), **options)  # type: ignore[attr-defined]

    def forward_kinematics(self, q_active: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Poses of the platform, and positions of all legs, for positions of the motors.

        Several poses may belong to the same positions: the one that is reached from ``guess`` (by default the
        reference) is found. With more motors than freedoms, ``q_active`` are the positions of those that
        ``mechanism.mobility.independent`` names.

        >>> import neuler
        >>> robot = neuler.robots.delta()
        >>> found = robot.forward_kinematics([0.7, 0.7, 0.7])
        >>> [round(float(x), 4) + 0.0 for x in found.q[:7]]
        [0.0, 0.0, -0.534, 0.0, 0.0, 0.0, 1.0]
        """
        return self.mechanism.assemble(q_active, guess, **options)  # type: ignore[attr-defined]


def _poses(pose: ArrayLike) -> NDArray[np.float64]:
    """Seven finite numbers each; those whose quaternion is no rotation become NaN, and are named."""
    try:
        given = np.array(pose, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"inverse_kinematics: pose must be an array of numbers, got {pose!r}") from None
    if given.shape[-1:] != (7,):
        raise InputError(
            "inverse_kinematics: expected pose with last axis 7 (x, y, z, quaternion x, y, z, w), "
            f"got shape {given.shape}"
        )
    bad = no_rotation(given[..., 3:])
    if bad.any():
        what, _ = length_instead_of_one(given[..., 3:], bad)
        message = f"inverse_kinematics: the quaternion of the pose {what}{listed(bad)}"
        if bad.all():
            raise InputError(message)
        warnings.warn(f"{message}; there q is NaN", RuntimeWarning, stacklevel=3)
        given[bad] = np.nan
    return given

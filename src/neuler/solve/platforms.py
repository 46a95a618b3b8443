"""Positions of parallel robots: the legs for a platform, the platform for its motors."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import InputError
from neuler.inputs import array
from neuler.robot import Robot
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation
from neuler.robot.parallel import PLATFORM
from neuler.robot.value import kept
from neuler.solve.assembly import Array


@kept
def motors(robot: Robot) -> tuple[str, ...]:
    """The joints in tau that decide the motion."""
    return robot.replace(independent=None).mobility.independent


def is_parallel(robot: Robot) -> bool:
    """Whether it has a platform on legs."""
    return bool(robot.loops) and PLATFORM in robot.joint_names


def platform_positions(robot: Robot, pose: ArrayLike) -> Array:
    """Finite numbers of the platform's joint; those whose quaternion is no rotation become NaN, and are named."""
    given = array("inverse_kinematics", "pose", pose, ()).copy()
    joint = next(joint for joint in robot.moving_joints if joint.name == PLATFORM)
    if given.shape[-1:] != (joint.nq,):
        raise InputError(
            f"inverse_kinematics: expected pose with last axis {joint.nq} ({', '.join(joint.type.parts)}), "
            f"got shape {given.shape}"
            + ("; for homogeneous matrices name a frame: frame='platform'" if given.shape[-2:] == (4, 4) else "")
        )
    if joint.type.quaternion is None:
        return given
    turn = given[..., joint.type.quaternion :]
    bad = no_rotation(turn)
    if bad.any():
        what, _ = length_instead_of_one(turn, bad)
        message = f"inverse_kinematics: the quaternion of the pose {what}{listed(bad)}"
        if bad.all():
            raise InputError(message)
        warnings.warn(f"{message}; there q is NaN", RuntimeWarning, stacklevel=3)
        given[bad] = np.nan
    return given

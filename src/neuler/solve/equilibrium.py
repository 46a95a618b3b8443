"""Where a robot comes to rest: its motors hold still, springs and gravity balance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.robot import Robot

Array = NDArray[np.float64]

_STILL = 1e-9
"""Share of the largest spring force by which a joint may be out of balance."""
_STEP = 1e-5
"""Radians or metres of a central difference."""
_MOST = 60
_FURTHEST = 0.5
"""Radians or metres of a step."""


def settling(robot: Robot) -> list[int]:
    """Numbers of its own velocities that no motor holds: of elastic joints; in loops of all that nobody drives.

    Those of joints behind the spring of a motor among them.

    >>> import neuler
    >>> settling(neuler.robots.puma560().with_spring("joint3", 800.0))
    [2]
    """
    own = [entry.joint for entry in robot.coordinates.owners("qd")]
    roles = ("elastic", "passive") if robot.loops else ("elastic",)
    behind = {entry.drives for entry in robot.coordinates}
    loose = [joint.role in roles or joint.name in behind for joint in own]
    return [k for k, joint in enumerate(own) if loose[k] and not joint.type.always_passive]


def derivative(robot: Robot, q: Array, function: Callable[[Array], ArrayLike]) -> Array:
    """Of a function of q along the robot's own velocities, loops closed: a column a velocity; central differences."""
    steps = _STEP * np.repeat(np.eye(robot.nv), 2, axis=0)
    steps[1::2] *= -1.0
    found = np.asarray(function(np.asarray(robot.integrate(q, steps, 1.0))))
    return np.asarray((found[::2] - found[1::2]).T / (2 * _STEP))


def stiffness(robot: Robot, q: Array) -> Array:
    """How the forces that hold it still grow with a motion that no motor holds: springs, and what gravity takes."""
    v = settling(robot)
    return derivative(robot, q, robot.gravity_force)[np.ix_(v, v)]


def equilibrium(robot: Robot, q: ArrayLike) -> Array | None:
    """The position near ``q`` at which springs and gravity balance, all motors kept where they are; None: not found.

    >>> from neuler import Joint, Link, Robot
    >>> links = [Link("base"), Link.from_com("bob", mass=1.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))]
    >>> arm = Robot("arm", links, [Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), stiffness=100.0)])
    >>> q = equilibrium(arm, [0.0])
    >>> abs(float(100 * q[0] - 9.81 * np.cos(q[0]))) < 1e-6
    True
    """
    v = settling(robot)
    found = np.array(q, dtype=float)
    for _ in range(_MOST):
        lacking = np.asarray(robot.gravity_force(found))[v]
        matrix = stiffness(robot, found)
        scale = max(0.1 * float(np.abs(np.diag(matrix)).max(initial=0.0)), 1e-30)
        if not np.isfinite(lacking).all() or not np.isfinite(matrix).all():
            return None
        try:
            step = np.linalg.solve(matrix, lacking)
        except np.linalg.LinAlgError:
            return None
        way = np.zeros(robot.nv)
        way[v] = -step * min(1.0, _FURTHEST / max(float(np.abs(step).max(initial=0.0)), 1e-30))
        found = np.asarray(robot.integrate(found, way, 1.0))
        if float(np.abs(lacking).max(initial=0.0)) < _STILL * scale:
            return found
    return None

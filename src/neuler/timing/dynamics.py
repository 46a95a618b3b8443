"""Torques of a robot along paths, by x = sdot^2 and u = sddot.

    qd = q' sdot,  qdd = q' u + q'' x,  tau = a u + b x + c + f
    a = M q',  b = M q'' + C(q, q') q',  c = gravity and springs

The friction f depends on qd, and with some laws on qdd. It is the only part that is not linear in x and u.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.robot import Joint, Motor, Robot
from neuler.robot.friction import Coulomb
from neuler.robot.value import kept
from neuler.timing.paths import PathPoints

Array = NDArray[np.float64]
SLOWEST = 1e-13
"""Share of the largest sdot below which friction is taken as that of a path that begins to move."""


class PathDynamics:
    """A robot along paths: its torques, split into what is linear in x and u, and friction."""

    def __init__(self, robot: Robot) -> None:
        if any(joint.series for joint in robot.moving_joints):
            raise InputError(
                f"robot {robot.name!r} has elastic drives: the timing of a path is for rigid ones; "
                "plan its motion instead, or leave the springs of its motors out"
            )
        self.robot = robot
        self.frictionless = _frictionless(robot)
        """The robot itself where it has no friction."""
        self.has_friction = self.frictionless is not robot
        self.coulomb_only = all(map(_coulomb_only, robot.joints)) and all(map(_coulomb_only, robot.motors))
        """Whether friction is the same at every speed of a path that moves forward."""

    def linear(self, points: PathPoints, rows: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Return a, b, c of some entries of tau, without friction: each (..., N, rows)."""
        made = _kernels(self.robot)
        if rows not in made:
            made[rows] = _linear_kernel(self.frictionless, list(rows))
        a, b, c = made[rows](points.q, points.first, points.second)
        return a, b, c

    def friction(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return what friction adds to tau at x and u (..., N): (..., N, nu)."""
        return self._friction(points, _speed(x), u)

    def friction_slopes(self, points: PathPoints, x: Array, u: Array) -> tuple[Array, Array]:
        """Return the derivatives of friction by u and by x, each (..., N, nu); at rest that by x is given as zero."""
        if self.coulomb_only:
            none = np.zeros((*np.broadcast_shapes(points.q.shape[:-1], x.shape), self.robot.nu))
            return none, none
        speed, root = _speed(x), np.sqrt(np.maximum(x, 0.0))
        n, m = self.robot.nq, self.robot.nv
        made = _kernels(self.robot)
        if "slopes" not in made:

            def along(q: Any, first: Any, second: Any, motion: Any) -> Any:
                u, v = motion
                qd, qdd = first * v, first * u + second * (v * v)
                return self.robot.inverse_dynamics(q, qd, qdd) - self.frictionless.inverse_dynamics(q, qd, qdd)

            inputs = {"q": n, "first": m, "second": m, "motion": 2}
            made["slopes"] = function(along, inputs, "friction").jacobian("motion")
        found = made["slopes"](points.q, points.first, points.second, np.stack([u, speed], axis=-1))
        moves = (root >= speed)[..., None]
        return found[..., 0], np.where(moves, found[..., 1] / (2.0 * speed[..., None]), 0.0)

    def _friction(self, points: PathPoints, speed: Array, u: Array) -> Array:
        qd = points.first * speed[..., None]
        qdd = points.first * u[..., None] + points.second * (speed * speed)[..., None]
        found: Array = self.robot.inverse_dynamics(points.q, qd, qdd) - self.frictionless.inverse_dynamics(
            points.q, qd, qdd
        )
        return found

    def torques(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return tau (..., N, nu) with friction, which at rest is that of a path that begins to move forward."""
        speed = np.maximum(np.sqrt(np.maximum(x, 0.0)), 1e-12 if self.has_friction else 0.0)[..., None]
        found: Array = self.robot.inverse_dynamics(
            points.q,
            points.first * speed,
            points.first * u[..., None] + points.second * np.maximum(x, 0.0)[..., None],
        )
        return found


@kept
def _kernels(robot: Robot) -> dict[Any, Function]:
    """Compiled functions of a robot along paths: of some torques, and slopes of friction."""
    return {}


@kept
def _frictionless(robot: Robot) -> Robot:
    without = robot.without_friction()
    return robot if without == robot else without


def _speed(x: Array) -> Array:
    """sdot, where a path rests that of one which begins to move."""
    root = np.sqrt(np.maximum(x, 0.0))
    found: Array = np.maximum(root, SLOWEST * np.where(root > 0, root, 1.0).max(axis=-1, keepdims=True))
    return found


def _linear_kernel(robot: Robot, rows: list[int]) -> Function:
    """From q, q', q'' to a, b, c of some torques."""

    def coefficients(q: Any, first: Any, second: Any) -> Any:
        still = np.zeros(robot.nv)
        rest = robot.inverse_dynamics(q, still, still)
        inertia, moving = (
            robot.inverse_dynamics(q, still, first) - rest,
            robot.inverse_dynamics(q, first, second) - rest,
        )
        return inertia[rows], moving[rows], rest[rows]

    n = robot.nv
    return function(coefficients, {"q": robot.nq, "first": n, "second": n}, ("a", "b", "c"), name="path_torques")


def _coulomb_only(part: Joint | Motor) -> bool:
    """Whether its friction is that of Coulomb alone."""
    law = part.friction
    return not part.viscous and (law is None or (type(law) is Coulomb and not law.viscous and not law.width))

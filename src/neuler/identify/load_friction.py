"""Friction that grows with the load, in the regression: tau = t + mu s |t| + Fc s + Fv v, s = sign(v), by joint.

t = Y x is the torque without the joint's own friction. About the last estimate (x0, mu0), with |t| = sign(t) t,

    d tau / d x = (1 + mu0 s sign(t0)) Y,        d tau / d mu = s |t0|,

and the rows that Gauss and Newton's method regresses on them are tau + mu0 s |t0|, both behind the log's filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, Rows, filtered_rows
from neuler.robot import Robot

Array = NDArray[np.float64]
PASSES = 20
_FRICTION = ("viscous", "coulomb", "coulomb_reverse")


@dataclass(frozen=True, eq=False)
class LoadedRegression(Regression):
    """A regression with one more column, ``JOINT.load``, for each of ``joints``; linear about ``at``, (p,)."""

    joints: tuple[str, ...] = ()
    at: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns; those of the loads come last."""
        return (*super().names, *(f"{joint}.load" for joint in self.joints))

    def rows(self, ready: Prepared) -> Rows:
        """The rows of a run, linear about the last estimate."""
        Y, known = self.columns_along(ready)
        n, nu, p = Y.shape
        J, rest = np.zeros((n, nu, p + len(self.joints))), ready.tau - known
        J[..., :p] = Y
        names, forces = super().names, self.robot.coordinates.names("tau")
        for k, joint in enumerate(self.joints):
            j = forces.index(joint)
            free = np.array([name not in {f"{joint}.{part}" for part in _FRICTION} for name in names])
            load, side = Y[:, j, free] @ self.at[:p][free] + known[:, j], np.sign(ready.qd[:, j])
            mu = self.at[p + k]
            J[:, j, :p] *= np.where(free, 1.0 + (mu * side * np.sign(load))[:, None], 1.0)
            J[:, j, p + k] = side * np.abs(load)
            # of the known part the slope's share is taken off, too
            rest[:, j] += mu * side * (np.abs(load) - np.sign(load) * known[:, j])
        return filtered_rows(ready, J, rest)


def loaded_joints(robot: Robot, columns: Sequence[str]) -> tuple[str, ...]:
    """Joints whose friction is among the columns: they get a column for their load."""
    own, forces = robot.coordinates, robot.coordinates.names("tau")
    if robot.nu != robot.nv or own.independent != own.active:
        raise InputError(
            f"friction: law 'load' needs a torque for every joint, and robot {robot.name!r} has {robot.nu} of "
            f"{robot.nv}; take 'coulomb', 'offset' or 'stribeck'"
        )
    found = tuple(joint for joint in forces if f"{joint}.coulomb" in columns)
    if not found:
        raise InputError("friction: law 'load' needs columns with Coulomb friction, such as 'friction'")
    return found

"""The audit of a run: energy, the work of what is not conservative, and how far loops are open.

The power of all forces that are not conservative is qd . (M qdd + h0), with h0 the bias forces without friction:
kinetic energy and potential change by nothing else. So whatever friction or wrench acts, what is left of the energy
after its integral is the integrator's error.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.simulation.wrenches import Wrenches

Array = NDArray[np.float64]


class Audit:
    """Powers and energies of states, by kernels without a word about those that are NaN."""

    def __init__(self, robot: Robot, wrenches: Wrenches) -> None:
        self.robot, self.wrenches = robot, wrenches
        self.forward = wrenches.kernel(robot, "forward_dynamics").ufunc
        smooth = _lossless(robot)
        self.force = smooth.generalized_force.ufunc
        self.lossless = not wrenches.any and smooth == robot
        """Whether tau alone works."""

    def accelerations(self, t: Any, q: Array, qd: Array, tau: Array) -> Array:
        """qdd."""
        return np.asarray(self.forward(q, qd, tau, *self.wrenches.at(t, q, qd)))

    def power(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Of tau, friction and wrenches together (W)."""
        return np.sum(qd * self.force(q, qd, qdd), axis=-1)

    def driven(self, q: Array, qd: Array, tau: Array) -> Array:
        """Of tau alone (W)."""
        if self.robot.nu == self.robot.nv and not self.robot.loops:
            return np.sum(tau * qd, axis=-1)
        matrix = self.robot.actuation_matrix.ufunc(q)
        return np.sum(tau * np.einsum("...ij,...j->...i", matrix, qd), axis=-1)

    def energies(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Kinetic and potential (J)."""
        kinetic, potential = self.robot.energy.ufunc(q, qd)
        return np.asarray(kinetic), np.asarray(potential)

    def gap(self, q: Array) -> Array:
        """How far the loops are open (m, rad)."""
        if not self.robot.loops:
            return np.where(np.isfinite(q).all(axis=-1), 0.0, np.nan)
        return np.linalg.norm(self.robot.closure.ufunc(q)[0], axis=-1)

    def works(self, t: Array, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        """Work over every step: of tau, and of friction and wrenches, (..., n) each, from states (..., n + 1, nq).

        tau (..., n, nu) is held over a step. By Simpson's rule with Hermite's state half way: of the fourth order.
        """
        if self.lossless and not np.nan_to_num(tau).any():
            nothing = np.where(np.isfinite(q[..., 1:, :]).all(axis=-1), 0.0, np.nan)
            return nothing, nothing
        dt = np.diff(t)
        start, end = (q[..., :-1, :], qd[..., :-1, :]), (q[..., 1:, :], qd[..., 1:, :])
        first, last = (self.accelerations(when, *state, tau) for when, state in ((t[:-1], start), (t[1:], end)))
        step = dt[:, None]
        with np.errstate(all="ignore"):
            way = self._ways(start[0], end[0]) / 2 + step / 8 * (start[1] - end[1])
            middle = self.robot.integrate.ufunc(start[0], way, 1.0), (start[1] + end[1]) / 2 + step / 8 * (first - last)
        half = self.accelerations((t[:-1] + t[1:]) / 2, *middle, tau)
        total, own = np.zeros(()), np.zeros(())
        for (x, v), a, weight in ((start, first, 1.0), (middle, half, 4.0), (end, last, 1.0)):
            total = total + weight * self.power(x, v, a)
            own = own + weight * self.driven(x, v, tau)
        return dt / 6 * own, dt / 6 * (total - own)

    def _ways(self, start: Array, end: Array) -> Array:
        """Velocities that lead from each position to the next in a second; NaN where one is not finite."""
        good = np.isfinite(start).all(axis=-1) & np.isfinite(end).all(axis=-1)
        found = np.full((*start.shape[:-1], self.robot.nv), np.nan)
        if good.any():
            found[good] = self.robot.difference(start[good], end[good])
        return found


@kept
def _lossless(robot: Robot) -> Robot:
    """Without friction, and without dampers in its drives; stored with the robot, so that its code is made once."""
    found = robot.without_friction()
    motors = [dataclasses.replace(motor, damping=0.0) for motor in found.motors]
    return found.replace(motors=motors) if any(motor.damping for motor in robot.motors) else found

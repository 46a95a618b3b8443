"""LQR: the robot's motion about a position of rest, linearised exactly, held by the cheapest linear law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuler.control.controller import Array, Controller, Wanted
from neuler.errors import InputError, NeulerError, RobotError
from neuler.extras import install
from neuler.inputs import real, told, vector
from neuler.robot import Robot
from neuler.robot.coordinates import undriven
from neuler.solve.equilibrium import settling

_BALANCED = 1e-6
"""N m or N, over the largest: what may pull at a joint that no motor holds."""


class LQR(Controller):
    """tau = tau0 - K x with x = (difference(q0, q); qd), K the least of the sum of x.Q x + u.R u over all time.

    dx/dt = A x + B u is the motion about rest at ``q``, from ``forward_dynamics_sensitivities``: A = (0, 1; dqdd/dq,
    dqdd/dqd), B = (0; dqdd/dtau). Joints that no motor drives get none: q must be a position at which nothing pulls at
    them. ``Q`` (2 nv) and ``R`` (a number for every motor) are matrices, their diagonals, or one number. With a
    ``period`` the law is that of the sampled robot, whose tau is held in between.

    Attributes: ``A``, ``B`` (of the motion in continuous time), ``K``, and ``cost``, the matrix P of what a start
    costs: x.P x. It needs SciPy: ``pip install scipy``.

    >>> import neuler, numpy as np
    >>> robot = neuler.robots.two_link()
    >>> control = LQR(robot, [0.3, -0.2], Q=[100.0, 100.0, 1.0, 1.0], R=0.01)
    >>> np.allclose(control(0.0, [0.3, -0.2], [0.0, 0.0]).tau, robot.gravity_force([0.3, -0.2]))
    True
    """

    name = "lqr"
    reference_sizes = ()

    def __init__(self, robot: Robot, q: ArrayLike, Q: Any, R: Any, period: float | None = None) -> None:
        super().__init__(robot, None, period)
        self.q0 = vector(f"{self.name}: q", q, robot.nq)
        loose = undriven(robot)
        self.motors = [k for k, name in enumerate(_of_tau(robot)) if name not in loose]
        """Their numbers in tau."""
        if not self.motors:
            raise RobotError(f"{self.name}: no motor drives robot {robot.name!r}: there is nothing to command")
        self.tau0 = self._holding()
        still = np.zeros(robot.nv)
        dq, dqd, dtau = robot.forward_dynamics_sensitivities(self.q0, still, self.tau0)
        n = robot.nv
        self.A: Array = np.block([[np.zeros((n, n)), np.eye(n)], [dq, dqd]])
        self.B: Array = np.vstack([np.zeros((n, len(self.motors))), dtau[:, self.motors]])
        if not np.isfinite(self.A).all() or not np.isfinite(self.B).all():
            raise RobotError(f"{self.name}: robot {robot.name!r} has no motion about q: the position is singular")
        weights = [_matrix(self.name, "Q", Q, 2 * n), _matrix(self.name, "R", R, len(self.motors))]
        if np.linalg.eigvalsh(weights[1]).min() <= 0:
            raise InputError(f"{self.name}: R must be positive definite: every motor's force must cost something")
        a, b = _sampled(self.name, self.A, self.B, self.period)
        _refuse_unreached(robot, self.q0, a, b, self.period)
        self.K, self.cost = _solved(self.name, a, b, weights[0], weights[1], self.period, _states(robot))

    def _holding(self) -> Array:
        """The motors' forces at rest."""
        robot = self.robot
        needed = np.asarray(robot.gravity_force(self.q0))
        rows = np.asarray(robot.actuation_matrix(self.q0))[self.motors]
        held, *_ = np.linalg.lstsq(rows.T, needed, rcond=None)
        left = np.abs(needed - rows.T @ held)
        if not (left <= _BALANCED * max(1.0, float(np.abs(needed).max(initial=0.0)))).all():
            worst = int(np.argmax(np.where(np.isnan(left), np.inf, left)))
            remedy = "choose q so that robot.gravity_force(q) is zero along it"
            if worst in settling(robot):
                remedy = "neuler.solve.equilibrium.equilibrium(robot, q) finds a position of rest near q"
            raise RobotError(
                f"{self.name}: robot {robot.name!r} does not rest at q: {left[worst]:.3g} N m (or N) pull at "
                f"{_states(robot)[worst]!r}, which no motor holds; {remedy}"
            )
        tau = np.zeros(robot.nu)
        tau[self.motors] = held
        return tau

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        own = self.coordinates
        state = np.concatenate([own.difference(self.q0[own.places], q[own.places]), qd])
        tau = np.array(self.tau0, dtype=object)
        tau[self.motors] = self.tau0[self.motors] - self.K @ state
        return tau


def _of_tau(robot: Robot) -> list[str]:
    """The joint of every number of tau."""
    return [entry.name for entry in robot.coordinates.owners("tau")]


def _states(robot: Robot) -> list[str]:
    """The joint of every velocity."""
    return [entry.name for entry in robot.coordinates.owners("qd")]


def _matrix(what: str, name: str, value: Any, size: int) -> Array:
    """From a matrix, its diagonal, or one number: symmetric and not negative."""
    given = np.zeros((0, 0, 0)) if (taken := real(value)) is None else taken
    found = np.diag(np.broadcast_to(given, (size,))) if given.shape in ((), (size,)) else given
    if found.shape != (size, size) or not np.isfinite(found).all():
        raise InputError(
            f"{what}: {name} must be one number, {size} of them or a matrix ({size}, {size}), got {told(value)}"
        )
    symmetric = np.allclose(found, found.T, rtol=1e-12, atol=0)
    if not symmetric or np.linalg.eigvalsh(found).min() < -1e-12 * np.abs(found).max():
        raise InputError(f"{what}: {name} must be symmetric, and no state may cost less than nothing")
    return found


def _sampled(what: str, a: Array, b: Array, period: float | None) -> tuple[Array, Array]:
    """A and B as they are, or of the robot whose tau is held for a period."""
    if period is None:
        return a, b
    size = len(a)
    whole = np.zeros((size + b.shape[1],) * 2)
    whole[:size, :size], whole[:size, size:] = a, b
    held = _scipy(what).expm(period * whole)
    return held[:size, :size], held[:size, size:]


def _scipy(what: str) -> Any:
    """Its linear algebra; without SciPy an error that says what to install."""
    try:
        from scipy import linalg
    except ImportError:
        raise NeulerError(f"{what}: it needs SciPy; install it with: {install('control')}") from None
    return linalg


def _solved(
    what: str, a: Array, b: Array, q: Array, r: Array, period: float | None, names: list[str]
) -> tuple[Array, Array]:
    """The gain and the cost, by Riccati's equation, continuous or of what is held for a period."""
    linalg = _scipy(what)
    try:
        solve = linalg.solve_continuous_are if period is None else linalg.solve_discrete_are
        cost = solve(a, b, q, r)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise RobotError(
            f"{what}: Riccati's equation has no solution here ({error}); let Q cost every position"
        ) from None
    if period is None:
        gain = np.linalg.solve(r, b.T @ cost)
    else:
        gain = np.linalg.solve(r + b.T @ cost @ b, b.T @ cost @ a)
    _refuse_unmoved(what, a - b @ gain, period, names)
    return gain, cost


def _refuse_unmoved(what: str, closed: Array, period: float | None, names: list[str]) -> None:
    """A motion that the law leaves alone, because Q does not cost it."""
    values, vectors = np.linalg.eig(closed)
    slowest = int(np.argmax(values.real if period is None else np.abs(values)))
    if (values[slowest].real if period is None else abs(values[slowest]) - 1.0) > -1e-9:
        joint = names[int(np.argmax(np.abs(vectors[:, slowest]))) % len(names)]
        raise RobotError(f"{what}: Q leaves a motion of joint {joint!r} free, which does not die away; let Q cost it")


def _refuse_unreached(robot: Robot, q: Array, a: Array, b: Array, period: float | None) -> None:
    """A motion that does not die away by itself, and that no motor reaches, is named (Popov, Belevitch, Hautus).

    No input changes w.x where w^T (A - lambda, B) = 0. The velocities' part of w is a momentum, M f: of the joints
    that motors drive f has nothing, so that its largest entry is a joint that none of them reaches.
    """
    for value in np.linalg.eigvals(a):
        stays = value.real > -1e-9 if period is None else abs(value) > 1 - 1e-9
        matrix = np.hstack([a - value * np.eye(len(a)), b])
        left, sizes, _ = np.linalg.svd(matrix)
        if stays and sizes[-1] < 1e-10 * np.linalg.norm(matrix):
            force = np.linalg.solve(np.asarray(robot.mass_matrix(q)), left[len(a) // 2 :, -1])
            joint = _states(robot)[int(np.argmax(np.abs(force)))]
            raise RobotError(
                f"{LQR.name}: no motor reaches a motion of joint {joint!r} that does not die away by itself"
            )

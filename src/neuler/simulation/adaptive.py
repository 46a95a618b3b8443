"""One run by an integrator that chooses its steps: SciPy's DOP853 (explicit, eighth order) or Radau (stiff systems).

The state is (q, qd, work of tau, work of the rest), with dq/dt = rates(q, qd): of a quaternion half its product with
the angular velocity, of loops all joints by G qd. Quaternions keep their length and loops stay closed but for the
integrator's error; where that adds up, quaternions are made one and loops closed again, and it starts anew.
Controllers with a period are sampled; others are part of the right-hand side.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.extras import install
from neuler.inputs import number
from neuler.robot import Robot
from neuler.robot.configuration import quaternions
from neuler.rollouts.model import Model
from neuler.rollouts.slides import rough
from neuler.simulation.audit import Audit
from neuler.simulation.forces import Forces
from neuler.simulation.peaks import Peaks

Array = NDArray[np.float64]

METHODS = {"dop853": "DOP853", "radau": "Radau"}
NOT_FINITE, DIVERGED, LIMIT, SINGULAR, CONTROLLER = 1, 2, 3, 4, 5
FASTEST = 1e6
"""Of all velocities together: beyond it a run has diverged."""
STUCK = 7
"""Status of a run whose steps became too small: friction that jumps at rest, or a stiff spring."""
_PATIENCE, _WAY = 300, 1e-5
"""So many steps must go this share of the way."""
_LOOSE = 1e-10
"""How far loops may open, and a quaternion leave the length one, before they are corrected."""


def solvers() -> Any:
    """scipy.integrate, or a clear error."""
    try:
        return importlib.import_module("scipy.integrate")
    except ImportError as error:
        raise NeulerError(
            f"methods 'dop853' and 'radau' need SciPy, which is not installed ({error}); install it with: "
            f"{install('simulate')}"
        ) from None


class RightHandSide:
    """The right-hand side, and what is asked of a state."""

    def __init__(self, robot: Robot, forces: Forces, audit: Audit, peaks: Peaks) -> None:
        self.robot, self.forces, self.audit, self.peaks = robot, forces, audit, peaks
        self.tau: Array | None = None
        """Held; None where the controller is part of the right-hand side."""
        self.lost = False
        """Whether the controller gave something that is not finite, since this was last set back."""
        self.rough = bool(rough(Model(robot)))
        """Whether dry friction jumps at rest, where no step of such an integrator is small enough."""
        plain = [entry for entry in robot.coordinates if entry.quaternion is None]
        self.plain = (
            np.array([k for entry in plain for k in entry.positions], dtype=int),
            np.array([k for entry in plain for k in entry.velocities], dtype=int),
        )
        """Numbers of positions and of the velocities that are their rates."""
        self.turning = [entry for entry in robot.coordinates if entry.quaternion is not None]
        tree = robot.tree.coordinates
        self.own = np.array([k for entry in robot.coordinates for k in tree[entry.name].velocities], dtype=int)
        """Which velocities of the tree belong to joints with positions in q."""

    def asked(self, t: float, q: Array, qd: Array) -> Array:
        """tau at a state, before limits of effort."""
        return self.forces.at(t, q, qd, self.forces.memory)[0] if self.tau is None else self.tau

    def rates(self, q: Array, qd: Array) -> Array:
        """dq/dt."""
        if self.robot.loops:
            qd = self.robot.tree_motion.ufunc(q, qd, np.zeros(self.robot.nv))[0][self.own]
        found = np.empty(self.robot.nq)
        found[self.plain[0]] = qd[self.plain[1]]
        for entry in self.turning:
            found[entry.q] = entry.kind.rates(q[entry.q].tolist(), qd[entry.v].tolist())
        return found

    def __call__(self, t: float, y: Array) -> Array:
        """dy/dt."""
        nq, nv = self.robot.nq, self.robot.nv
        q, qd = y[:nq], y[nq : nq + nv]
        with np.errstate(all="ignore"):
            tau = self.asked(t, q, qd)
            self.lost = self.lost or not np.isfinite(tau).all()
            tau = self.peaks.cut(tau)
            qdd = self.audit.accelerations(t, q, qd, tau)
            own = self.audit.driven(q, qd, tau)
            return np.concatenate([self.rates(q, qd), qdd, [own, self.audit.power(q, qd, qdd) - own]])

    def corrected(self, y: Array) -> tuple[Array, bool]:
        """With quaternions of length one and loops closed, and whether that changed much."""
        robot, q = self.robot, y[: self.robot.nq].copy()
        far = 0.0
        for _, first in quaternions(robot):
            length = float(np.linalg.norm(q[first : first + 4]))
            far = max(far, abs(length - 1.0))
            q[first : first + 4] /= length
        if robot.loops:
            far = max(far, float(self.audit.gap(q)))
            with np.errstate(all="ignore"):
                q = np.asarray(robot.integrate.ufunc(q, np.zeros(robot.nv), 0.0))
        return np.concatenate([q, y[robot.nq :]]), far > _LOOSE

    def beyond(self, y: Array, limits: bool) -> tuple[int, int]:
        """Status and joint of a state that has no right to go on; (0, -1) for one that has."""
        robot, nq = self.robot, self.robot.nq
        if not np.isfinite(y).all():
            return (SINGULAR if robot.loops else NOT_FINITE), -1
        qd = y[nq : nq + robot.nv]
        if float(qd @ qd) >= FASTEST**2:
            return DIVERGED, robot.coordinates.owners("qd")[int(np.argmax(np.abs(qd)))].number
        if limits:
            for entry in robot.coordinates:
                part, bound = y[entry.q], entry.limits
                if entry.quaternion is None and ((part < bound.lower) | (part > bound.upper)).any():
                    return LIMIT, entry.number
        return 0, -1


class Adaptive:
    """A run under way: :meth:`go` fills ``states`` and ``tau``, and may be interrupted."""

    def __init__(
        self, motion: RightHandSide, times: Array, start: tuple[Array, Array], *, method: str, rtol: float, atol: float,
        limits: bool, step: float, progress: Callable[[float], Any] | None,
    ) -> None:  # fmt: skip
        robot = motion.robot
        for name, value in (("rtol", rtol), ("atol", atol)):
            number(f"simulate: {name}", value, above=0.0)
        self.motion, self.times, self.limits, self.step = motion, times, limits, step
        self.peaks = motion.peaks
        self.solver, self.options = getattr(solvers(), METHODS[method]), {"rtol": rtol, "atol": atol}
        self.states = np.full((len(times), robot.nq + robot.nv + 2), np.nan)
        self.tau = np.full((len(times), robot.nu), np.nan)
        self.y = np.concatenate([*start, np.zeros(2)])
        self.memory = motion.forces.memory
        self.done = 0
        """States that were found."""
        self.status, self.joint, self.time = 0, -1, float(times[0])
        self.progress = progress

    @property
    def period(self) -> float | None:
        """Seconds for which tau is held; None for a controller that is part of the right-hand side."""
        forces = self.motion.forces
        if forces.control is None:
            return self.step if forces.series else float(self.times[-1] - self.times[0])
        if forces.period is None and len(forces.memory):
            raise InputError(
                "simulate: a controller with memory needs a period (s) where the integrator chooses its steps"
            )
        return forces.period

    def go(self) -> None:
        """From the first time to the last, or to an event."""
        period, t, end = self.period, float(self.times[0]), float(self.times[-1])
        if period is not None:
            self._sample(t, 0)
        self._keep(t, self.y)
        number = 0
        while t < end and not self.status:
            number += 1
            bound = end if period is None else min(end, float(self.times[0]) + number * period)
            if end - bound < 1e-9 * (period or 1.0):
                bound = end
            t = self._span(t, bound)
            if t < end and not self.status and period is not None:
                self._sample(t, number)

    def _sample(self, t: float, number: int) -> None:
        """Take the controller's forces, which hold from here on."""
        motion, forces = self.motion, self.motion.forces
        nq, nv = motion.robot.nq, motion.robot.nv
        if forces.series:
            tau = forces.given[..., min(number, forces.given.shape[-2] - 1), :]
        else:
            tau, self.memory = forces.at(t, self.y[:nq], self.y[nq : nq + nv], self.memory)
        if not np.isfinite(tau).all():
            self._stop(CONTROLLER, -1, t)
        motion.tau = np.asarray(tau)

    def _span(self, t: float, bound: float) -> float:
        """Integrate while tau is held; gives the time that was reached."""
        first: float | None = None
        steps, since, least = 0, t, _WAY * float(self.times[-1] - self.times[0])
        while t < bound and not self.status:
            solver = self.solver(self.motion, t, self.y, bound, first_step=first, **self.options)
            while solver.status == "running" and not self.status:
                solver.step()
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    self._failed(solver)
                    break
                t, steps = self._accept(solver), steps + 1
                if steps == _PATIENCE and not self.status:
                    if t - since < least:
                        self._stop(STUCK, -1, t)
                    steps, since = 0, t
                if not self.status and self.motion.corrected(self.y)[1]:
                    self.y, _ = self.motion.corrected(self.y)
                    first = min(solver.step_size, bound - t) or None
                    break
        return t

    def _failed(self, solver: Any) -> None:
        status, joint = self.motion.beyond(solver.y, False)
        lost = status or (STUCK if self.motion.rough else SINGULAR if self.motion.robot.loops else DIVERGED)
        self._stop(CONTROLLER if self.motion.lost else lost, joint, float(solver.t_old or solver.t))

    def _split(self, y: Array) -> tuple[Array, Array]:
        nq = self.motion.robot.nq
        return y[:nq], y[nq : nq + self.motion.robot.nv]

    def _accept(self, solver: Any) -> float:
        """Keep the states within a step; gives its end, or the time of an event in it."""
        self.motion.lost, between = False, solver.dense_output()
        t, self.y = float(solver.t), solver.y.copy()
        status, joint = self.motion.beyond(self.y, self.limits)
        if status:
            t = self._crossing(between, float(solver.t_old), t)
            self.y = between(t)
        while self.done < len(self.times) and self.times[self.done] <= t:
            when = float(self.times[self.done])
            self._keep(when, self.y if when == t else between(when))
        if status:
            self._stop(status, joint, t)
        if self.progress is not None:
            self.progress(t - self.time)
        self.time = t
        return t

    def _crossing(self, between: Any, low: float, high: float) -> float:
        """The last time within a step at which nothing had happened, by halving."""
        for _ in range(60):
            middle = (low + high) / 2
            if self.motion.beyond(between(middle), self.limits)[0]:
                high = middle
            else:
                low = middle
        return low

    def _keep(self, t: float, y: Array) -> None:
        y, _ = self.motion.corrected(y)
        self.states[self.done] = y
        asked = self.motion.asked(t, *self._split(y))
        self.peaks.see(asked[None], np.array([t]))
        self.tau[self.done] = self.peaks.cut(asked)
        self.done += 1

    def _stop(self, status: int, joint: int, t: float) -> None:
        self.status, self.joint, self.time = status, joint, t

"""The closed loop of one log, simulated: a robot with given base parameters under the controller that led the real one.

The controller stays as it is, with its own model of the robot and its reference; the simulated robot has the parameters
that are looked for. Both run in one compiled time loop, and so do exact derivatives to all parameters.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.prepared import Prepared
from neuler.identify.smoothing import repaired
from neuler.inputs import choice, number
from neuler.robot import Robot
from neuler.rollouts.closed_loop import parameter_tangents
from neuler.rollouts.events import REASONS
from neuler.rollouts.rollout import ControlledRollout
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]
TORQUES = ("before", "after")
"""Which torque a log has at the time of a sample of the controller: that of the step before, or the new one."""
_PARTS = 64
"""How many parts of a period the rates of log and controller may have to meet in."""
_DRIFT = 0.01
"""Share of a sampling period by which both may drift apart over a log."""
_STEPS = 10**8
"""Of a simulation, at most."""
_HALVINGS = 4
"""Of the step, at most."""
_ENOUGH = 1e-5
"""Error of the integration, beside the root mean square of each torque, that is far below any noise."""
_POSITIONS = 200
"""At so many positions of a motion the inertia matrix is looked at."""


class SimulatedMotion(NamedTuple):
    """A simulated motion at the rows of a prepared log: (n, nq), (n, nv), (n, nu)."""

    q: Array
    qd: Array
    tau: Array


class Failure(NamedTuple):
    """Why a robot could not be simulated."""

    reason: str


@dataclass(frozen=True)
class Grid:
    """Steps of the simulation: ``dt`` (s), ``substeps`` to a part of time, ``parts`` to a sample of the log."""

    dt: float
    substeps: int
    parts: int
    first: int
    """The number of the first step: its time is first * dt."""

    def finer(self, factor: int) -> Grid:
        """With so many times as many steps."""
        return Grid(self.dt / factor, self.substeps * factor, self.parts, self.first * factor)


@dataclass(frozen=True, eq=False)
class ClosedRun:
    """The closed loop of one log."""

    ready: Prepared
    base: BaseParameters
    model: Robot
    """The robot whose base parameters are the only ones that are not zero."""
    controller: Any
    reference: Array | None
    """Rows for the controller, one for each part of the grid, where it has none of its own."""
    start: tuple[Array, Array]
    grid: Grid
    torque: str

    def _call(self, grid: Grid) -> dict[str, Any]:
        """Arguments of a rollout that are not the parameters."""
        last = int(self.ready.rows[-1])
        parts = grid.parts * last + (1 if self.torque == "after" else 0)
        if self.torque == "before":  # what is kept is what the log has
            steps, every = grid.substeps * parts, grid.substeps * grid.parts
        else:
            steps, every = grid.substeps * parts, grid.substeps
        found: dict[str, Any] = {"dt": grid.dt, "steps": steps, "every": every, "start": grid.first}
        if self.reference is not None:
            found["reference"] = np.repeat(self.reference[:parts], grid.substeps, axis=0)
        return found

    def _numbers(self, values: Array) -> dict[str, float]:
        return dict(zip(self.base.names, values.tolist(), strict=True))

    @property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of states and torques at the rows, among kept ones behind those of the start."""
        rows = np.asarray(self.ready.rows)
        if self.torque == "before":
            return rows, rows
        return self.grid.parts * rows, self.grid.parts * rows + 1

    def motion(self, values: Array, grid: Grid | None = None) -> SimulatedMotion | Failure:
        """The motion of the robot with these base parameters; or why there is none."""
        grid = grid or self.grid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # steps too long for a stiff drive: the result says so, too
            call = self._call(grid)
            found = self.model.rollout(
                *self.start, self.controller, call.pop("dt"), parameters=self._numbers(values), **call
            )
            if int(found.status):
                return self._failed(found, grid)
            begun = np.zeros((1, self.model.nu))
            if self.torque == "before" and self.ready.rows[0] == 0:
                begun = self._first(values, grid)
        assert isinstance(found, ControlledRollout)
        state, force = self.places
        begin = (self.start[0][None], self.start[1][None], begun)
        q, qd, tau = (np.concatenate([x, y]) for x, y in zip(begin, (found.q, found.qd, found.tau), strict=True))
        return SimulatedMotion(q[state], qd[state], tau[force])

    def _first(self, values: Array, grid: Grid) -> Array:
        """The torque of the first step, which stands for the one before it."""
        found = self.model.rollout(
            *self.start, self.controller, grid.dt, steps=1, start=grid.first, parameters=self._numbers(values),
            reference=None if self.reference is None else self.reference[:1],
        )  # fmt: skip
        assert isinstance(found, ControlledRollout)
        return np.asarray(found.tau)

    def _failed(self, found: Any, grid: Grid) -> Failure:
        when = (grid.first + int(found.step)) * grid.dt
        joint = int(found.joint)
        whose = f" of joint {self.model.joint_names[joint]!r}" if joint >= 0 else ""
        return Failure(f"the simulation ended at t = {when:.4g} s: {REASONS[int(found.status)]}{whose}")

    def sensitivities(self, values: Array, of: str) -> Array:
        """Exact derivatives of "q" or "tau" at the rows to the base parameters, (n, numbers, p)."""
        call = self._call(self.grid)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            _, (found,) = parameter_tangents(
                self.model, *self.start, self.controller, parameters=self._numbers(values), of=of, **call
            )
        at = self.places[of == "tau"] - 1
        every, inside = self.grid.parts if self.torque == "after" else 1, at[at >= 0]
        kept = found[inside[0] : inside[-1] + 1 : every]
        if len(inside) < len(at):  # the start itself depends on nothing
            kept = np.concatenate([np.zeros((1, *kept.shape[1:])), kept])
        return kept

    def accelerations(self, values: Array, motion: SimulatedMotion) -> Array:
        """Of a simulated motion, (n, nv); joints that friction holds have none."""
        numbers = self._numbers(values)
        q, qd, tau = motion
        found = np.array(self.model.forward_dynamics(q, qd, tau, parameters=numbers))
        still = qd == 0.0  # exactly, and for more than a moment: friction holds it
        held = still & (np.roll(still, 1, axis=0) | np.roll(still, -1, axis=0))
        rows = np.flatnonzero(held.any(axis=1))
        if len(rows):  # qdd - M^-1 S^T (S M^-1 S^T)^-1 S qdd, S the rows of what is held
            M = np.asarray(self.model.mass_matrix(q[rows], parameters=numbers))
            S = held[rows][:, :, None] * np.eye(self.model.nv)
            inverse = np.linalg.inv(M)
            inner = S @ inverse @ S + np.eye(self.model.nv) - S
            found[rows] -= (inverse @ S @ np.linalg.solve(inner, S @ found[rows][..., None]))[..., 0]
        return found

    def indefinite(self, values: Array, q: Array) -> str:
        """What is wrong with the inertia matrix at positions of a motion, or nothing."""
        some = q[:: max(1, len(q) // _POSITIONS)]
        M = np.asarray(self.model.mass_matrix(some, parameters=self._numbers(values)))
        if not np.isfinite(M).all():
            return "the inertia matrix is not finite"
        least = np.linalg.eigvalsh(M).min()
        return f"the inertia matrix is not positive definite (an eigenvalue is {least:.3g})" if least <= 0.0 else ""

    @property
    def measured_positions(self) -> Array:
        """Positions of the log at its rows, not smoothed; outliers are interpolated where they were in preparing it."""
        q = self.ready.log.q
        if self.ready.settings["outliers"]:
            q = repaired(np.asarray(q))[0]
        return np.asarray(q)[self.ready.rows]


# ---- steps ---------------------------------------------------------------------------------------------------------


def grid_of(ready: Prepared, period: float | None, step: float | None) -> Grid:
    """Steps in which the samples of the log and of the controller meet; refused where there are none."""
    t, name = ready.log.t, ready.name
    spacing = float(t[-1] - t[0]) / (len(t) - 1)
    jitter = float(np.abs(np.diff(t) - spacing).max()) / spacing
    if jitter > _DRIFT:
        raise InputError(
            f"{name}: times are uneven, by up to {jitter:.0%} of a step; a closed loop is simulated at even times: "
            "interpolate the log first"
        )
    ratio = Fraction(1) if period is None else Fraction(period / spacing).limit_denominator(_PARTS)
    part = spacing if period is None else period / max(ratio.numerator, 1)
    drift = abs(part * ratio.denominator - spacing) * len(t) / spacing
    if not ratio or ratio.numerator > _PARTS or drift > max(_DRIFT, 1e-9 * len(t)):
        raise InputError(
            f"{name}: the log has {1 / spacing:.6g} samples a second and the controller a period of {period:g} s: no "
            "step divides both; interpolate the log at a whole number of periods, or give the controller's own period"
        )
    substeps = 1
    if step is not None:
        given = number("closed loop: step", step, above=0.0, unit="s")
        substeps = round(part / given)
        if substeps < 1 or abs(part / given - substeps) > 1e-6 * substeps:
            raise InputError(
                f"{name}: step is {given:g} s, and must divide {part:g} s, in which samples of the log and of the "
                "controller meet"
            )
        count = substeps * ratio.denominator * len(t)
        if count > _STEPS:
            raise InputError(
                f"{name}: step is {given:g} s, and the log has {t[-1] - t[0]:.4g} s: {count:.2g} steps are too many; "
                "take a longer one, or leave it to be chosen"
            )
    dt = part / substeps
    first = round(float(t[0]) / dt)
    if first < 0 or abs(float(t[0]) - first * dt) > 1e-3 * part:
        raise InputError(
            f"{name}: it begins at t = {float(t[0]):g} s, which is no sample of the controller's clock, that runs from "
            f"t = 0 in steps of {part:g} s; shift the log's times to those of the reference"
        )
    return Grid(dt, substeps, ratio.denominator, first)


def refined(run: ClosedRun, values: Array, motion: SimulatedMotion) -> tuple[ClosedRun, SimulatedMotion, float]:
    """The run with steps so short that halving them changes torques by less than 1e-5 of them; and by how much.

    Of a controller without a period the steps are its samples: they stay as they are.
    """
    sampled = getattr(run.controller, "period", None) is not None
    size = np.sqrt((motion.tau**2).mean(axis=0))
    size = np.maximum(size, 1e-3 * size.max() + 1e-300)
    error = math.inf
    for left in reversed(range(_HALVINGS)):
        finer = dataclasses.replace(run, grid=run.grid.finer(2))
        found = finer.motion(values)
        if isinstance(found, Failure):
            break
        error = float((np.sqrt(((found.tau - motion.tau) ** 2).mean(axis=0)) / size).max())
        if error <= _ENOUGH or not sampled or not left:
            break
        run, motion = finer, found
    return run, motion, error


def white_noise(values: Array) -> Array:
    """Standard deviations of the noise of series (n, k): third differences know no motion."""
    return np.asarray(np.median(np.abs(np.diff(values, 3, axis=0)), axis=0) / (0.6745 * np.sqrt(20.0)))


def checked_torque(value: Any) -> str:
    """Which torque a log has."""
    return choice("closed loop: torque", value, TORQUES)

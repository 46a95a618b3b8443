"""Gauss and Newton's steps for closed loops: simulate, linearise, solve by least squares, step back where it fails.

    r(x) = F (y - y_s(x)),    step  argmin_d  sum_tj ((r_tj - W_tj d) / sd_j)^2,

y the measured series, y_s that of the simulated loop, F the filter of the prepared log. W is the filtered Jacobian of
y_s: exact ("input_error" of torques, "output_error" of positions), or for "didim" the regressor along the simulated
motion, which leaves out that the motion itself depends on x (Gautier, Janot and Vandanjon 2013).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.estimate import Estimate, listed
from neuler.identify.least_squares import Options, force_deviations
from neuler.identify.loop_runs import ClosedRun, Failure, SimulatedMotion, white_noise
from neuler.identify.rows import filtered
from neuler.identify.stacked import Solution, Stacked, Triangles, solved

Array = NDArray[np.float64]
METHODS = ("didim", "input_error", "output_error")
GROWTH = 50.0
"""A run whose error grows so many times has failed."""
_HALVINGS = 12
_LEAST = 0.125
"""Of a step of DIDIM, what is taken at least."""
_LINEAR = 0.02
"""Share of a step's effect by which it may miss what the Jacobian foretold, for that Jacobian to be used once more."""
_SETTLED, _NOTHING = 1e-2, 1e-11
"""Steps have converged below this share of every standard deviation, or where they change outputs by less than that."""
_NOISE, _UNEXPLAINED = 3.0, 0.01
"""Residuals are no noise above so many times that of the measurements, and above this share of what was measured."""
_SLOW = 1e-3
"""Share of a simulated joint's highest velocity below which the regressor of its friction means nothing."""


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters, the motions they lead to, and the residuals, (N, k), of all logs."""

    values: Array
    motions: tuple[SimulatedMotion, ...]
    residuals: Array


@dataclass(eq=False)
class LoopProblem:
    """What is fitted: measured series of all logs, and how they are simulated."""

    method: str
    runs: Sequence[ClosedRun]
    measured: list[Array] = field(init=False)
    """Filtered, by log."""
    count: int = 0
    """How often closed loops were simulated."""
    derivatives: int = 0
    """How often Jacobians were computed."""
    reason: str = ""
    """Why the last point could not be simulated."""

    def __post_init__(self) -> None:
        self.measured = [run.ready.filter(self._given(run)) for run in self.runs]
        self.names = self.runs[0].base.names

    @property
    def output(self) -> str:
        """What is compared."""
        return "q" if self.method == "output_error" else "tau"

    def _given(self, run: ClosedRun) -> Array:
        if self.output == "tau":
            return run.ready.tau
        return run.measured_positions[:, run.ready.robot.coordinates.own.places]

    def at(self, values: Array) -> Point | None:
        """Simulated with these parameters; None where that fails, with the reason."""
        motions, residuals = [], []
        for run, measured in zip(self.runs, self.measured, strict=True):
            self.count += 1
            motion = run.motion(values)
            self.reason = motion.reason if isinstance(motion, Failure) else run.indefinite(values, motion.q)
            if isinstance(motion, Failure) or self.reason:
                return None
            own = run.ready.robot.coordinates.own.places
            simulated = motion.tau if self.output == "tau" else motion.q[:, own]
            motions.append(motion)
            residuals.append(measured - run.ready.filter(simulated))
        return Point(values, tuple(motions), np.concatenate(residuals))

    def share(self, point: Point) -> float:
        """The root mean square of residuals beside that of what was measured, over all forces or positions."""
        size = np.concatenate(self.measured)
        power = ((size - (0.0 if self.output == "tau" else size.mean(axis=0))) ** 2).mean(axis=0)
        power = np.maximum(power, 1e-6 * power.max() + 1e-300)
        return float(np.sqrt(((point.residuals**2).mean(axis=0) / power).mean()))

    def data(self, point: Point) -> Stacked:
        """Residuals as a linear model of the step, W (N, k, p), with the rows' weights."""
        self.derivatives += 1
        W, weights = [], []
        for run, motion in zip(self.runs, point.motions, strict=True):
            rows = len(run.ready.decimated(run.ready.t))
            moving = np.ones((rows, point.residuals.shape[1]))
            if self.method == "didim":
                found, moving = self._regressor(run, point.values, motion), _moving(run, motion)
            else:
                found = run.sensitivities(point.values, self.output)
                if self.output == "q":
                    found = found[:, run.ready.robot.coordinates.own.places]
                found = filtered(run.ready, found)
            W.append(found)
            weights.append(run.ready.weight * moving)
        return Stacked.checked(self.method, np.concatenate(W), point.residuals, self.names, np.concatenate(weights))

    def _regressor(self, run: ClosedRun, values: Array, motion: SimulatedMotion) -> Array:
        """Along a simulated motion, filtered, (m, nu, p)."""
        ready, kernel = run.ready, run.base.regressor()
        if ready.settings["torque_cutoff"] is None:  # what nobody reads is not computed
            motion = SimulatedMotion(*(ready.decimated(x) for x in motion))
            return np.asarray(kernel(motion.q, motion.qd, run.accelerations(values, motion)))
        return filtered(run.ready, np.asarray(kernel(motion.q, motion.qd, run.accelerations(values, motion))))

    def estimate(self, point: Point, data: Stacked, options: Options, passes: int, converged: bool) -> Estimate:
        """The estimate with its uncertainty: least squares of r + W x on W.

        Where these leave the bounds, or the search did not converge, the values are those that were simulated.
        """
        whole = dataclasses.replace(data, y=point.residuals + data.W @ point.values)
        reduced = whole.triangles()
        sd, _, _ = force_deviations(reduced)
        found = solved(reduced.combined(sd))
        if not converged or bool((found.values < allowed(self.names, found.values)).any()):
            found = dataclasses.replace(found, values=point.values)
        return options.finished(whole, reduced, sd, passes, converged, values=found)

    def unexplained(self, point: Point) -> list[str]:
        """Logs with residuals that are no noise: by far above it, and not small beside what was measured."""
        notes, begin = [], 0
        for run, measured in zip(self.runs, self.measured, strict=True):
            residuals, begin = point.residuals[begin : begin + len(measured)], begin + len(measured)
            size = measured if self.output == "tau" else measured - measured.mean(axis=0)
            rms, size = (np.sqrt((x**2).mean(axis=0)) for x in (residuals, size))
            noise, share = white_noise(self._given(run)), rms / np.maximum(size, 1e-300)
            share = np.where(rms > _NOISE * noise, share, 0.0)
            k = int(np.argmax(share))
            if share[k] > _UNEXPLAINED:
                table = run.ready.robot.coordinates
                name = table.names("tau")[k] if self.output == "tau" else table.names("q")[table.own.places[k]]
                what = "torque" if self.output == "tau" else "position"
                notes.append(
                    f"{run.ready.name}: the simulated {what} of {name!r} misses the measured one by {share[k]:.1%}, "
                    f"{rms[k] / max(noise[k], 1e-300):.3g} times its noise, of which intervals know nothing: "
                    "check the controller's gains, period and reference, then friction and the robot's structure"
                )
        return notes


def _moving(run: ClosedRun, motion: SimulatedMotion) -> Array:
    """Rows of DIDIM that count, (m, nu): those at which the force's own joint moves in the simulation."""
    speed = np.abs(motion.qd)
    moving = speed > _SLOW * speed.max(axis=0)
    shape = run.ready.tau.shape
    if moving.shape != shape:
        moving = np.broadcast_to(moving.all(axis=1, keepdims=True), shape)
    return np.asarray(run.ready.decimated(moving), dtype=float)


@dataclass
class Search:
    """Steps from a start until they settle."""

    problem: LoopProblem
    most: int
    settled: float = _SETTLED
    notes: list[str] = field(default_factory=list)
    history: list[float] = field(default_factory=list)
    """Of every pass: residuals as a share of what was measured."""
    relaxed: float = 1.0
    """The part of a step of DIDIM that is taken: less where its steps do not become shorter."""
    length: float = np.inf
    """The last step, in standard deviations of the parameter that it changed most."""
    effect: float = np.inf
    """What it changes the outputs by, beside what was measured."""

    def run(self, point: Point) -> tuple[Point, Stacked, int, bool]:
        """The last point, the linear model there, steps taken, and whether they converged."""
        problem, data, passes = self.problem, self.problem.data(point), 1
        best, nearest = np.inf, point
        while True:
            reduced, sd, step = self._direction(point, data)
            scale = np.asarray(data.rows_scale(sd))
            share = problem.share(point)
            self.history.append(share)
            if self._settled(step, reduced):
                return point, data, passes, True
            if share < best:
                best, nearest = share, point
            found = self._stepped(point, step, scale, best) if passes < self.most else None
            if found is None:
                return (point, data, passes, False) if nearest is point else self._back(nearest, passes)
            near = dataclasses.replace(data, y=found.residuals)
            if self._linear(point, found, data, scale) and self._done(found, near):
                self.history.append(problem.share(found))
                return found, near, passes + 1, True
            point, data, passes = found, problem.data(found), passes + 1

    def _back(self, point: Point, passes: int) -> tuple[Point, Stacked, int, bool]:
        """Where the error was least, of steps that did not converge."""
        self.notes.append(f"the values are those of the pass with the least error, {self.problem.share(point):.3g}")
        return point, self.problem.data(point), passes, False

    def _linear(self, point: Point, found: Point, data: Stacked, scale: Array) -> bool:
        """Whether a step did what an exact Jacobian foretold: then it is as good at the step's end."""
        if self.problem.method == "didim":
            return False
        foretold = data.W @ (found.values - point.values)
        missed = np.linalg.norm((point.residuals - foretold - found.residuals) * scale)
        return bool(missed <= _LINEAR * np.linalg.norm(foretold * scale))

    def _direction(self, point: Point, data: Stacked) -> tuple[Triangles, Array, Solution]:
        """Reduced data, standard deviations of the outputs, and the step; dry friction that is zero becomes no less."""
        reduced, names = data.triangles(), self.problem.names
        held = np.zeros(len(names), dtype=bool)
        while True:  # every round holds more of them
            sd, _, _ = force_deviations(reduced)
            step = solved(reduced.combined(sd))
            step = dataclasses.replace(step, values=np.where(held, 0.0, step.values))  # of a column of zeros: rounding
            ahead = point.values + step.values
            less = (ahead < allowed(names, ahead)) & (point.values == 0.0)
            if not less.any():
                return reduced, sd, step
            held |= less
            factors = reduced.factors.copy()
            factors[:, :, :-1][:, :, held] = 0.0
            reduced = Triangles(factors, reduced.rows)

    def _done(self, point: Point, data: Stacked) -> bool:
        """Whether no step is left to do from here."""
        reduced, _, step = self._direction(point, data)
        return self._settled(step, reduced)

    def _settled(self, step: Solution, reduced: Triangles) -> bool:
        """Whether a step is far below the uncertainty, or below what numbers can tell."""
        own = np.linalg.norm(step.root, axis=1)
        moved = step.values != 0.0
        self.length = float((np.abs(step.values[moved]) / np.maximum(own[moved], 1e-300)).max(initial=0.0))
        effect = np.linalg.norm(reduced.factors[:, :, :-1] @ step.values, axis=1)
        size = np.sqrt(sum((x**2).sum(axis=0) for x in self.problem.measured))
        before, self.effect = self.effect, float((effect / np.maximum(size, 1e-3 * size.max())).max())
        if self.effect > before:
            self.relaxed = max(self.relaxed / 2.0, _LEAST)
        return self.length <= self.settled or self.effect <= _NOTHING

    def _stepped(self, point: Point, step: Solution, scale: Array, best: float) -> Point | None:
        """The next point, by a step that is halved where the robot cannot be simulated or the error grows."""
        problem, reason = self.problem, ""
        exact = problem.method != "didim"
        part = 1.0 if exact else self.relaxed
        error = np.linalg.norm(point.residuals * scale)
        for _ in range(_HALVINGS):
            trial = problem.at(allowed(problem.names, point.values + part * step.values))
            if trial is None:
                reason = problem.reason
            elif exact and np.linalg.norm(trial.residuals * scale) > error * (1.0 + 1e-12):
                reason = "the error grows"
            elif problem.share(trial) > GROWTH * best:
                reason = f"the error grows {problem.share(trial) / best:.3g} times"
            else:
                return trial
            part /= 2.0
        rough = "; a loop may be as good as this and jump, where its controller goes by the sign of a velocity" * exact
        self.notes.append(f"{problem.method}: no step leads on, {reason} even at the shortest one{rough}")
        return None


def allowed(names: Sequence[str], values: Array) -> Array:
    """Parameters with which a robot can be simulated: no dry friction drives."""
    dry = np.array([name.rpartition(".")[2] in ("coulomb", "coulomb_reverse", "static") for name in names])
    return np.where(dry, np.maximum(values, 0.0), values)


def begun(problem: LoopProblem, values: Array) -> Point:
    """The first point; refused where it cannot be simulated."""
    point = problem.at(values)
    if point is None:
        raise InputError(f"{problem.method}: with the parameters to begin with {problem.reason}; give start_values")
    return point


def bounded(names: Sequence[str], values: Array) -> list[str]:
    """A note on dry friction that is zero because it may not be less."""
    dry = [
        name for name, x in zip(names, values, strict=True) if x == 0.0 and allowed([name], np.array([-1.0]))[0] == 0
    ]
    return [f"dry friction is not below zero, and zero at the bound of {listed(dry)}"] if dry else []

"""Methods of identification on simulated closed-loop runs with known parameters (Leboutet et al. 2021, BIRDy).

    python benchmarks/identification.py [--runs 40] [--robots UR5,Panda] [--levels quantised,...] [--methods ...]
    python benchmarks/identification.py --coverage [--runs 200]

Every run is another motion and other noise (see ``identification_runs``). Logs are prepared and become rows as
``identify.fit`` does it. A method is one entry of METHODS: a function of the prepared logs, the base parameters and the
context of the run, that returns values and intervals of the base parameters.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from identification_runs import COLUMNS, EVERY, LEVELS, OFF, SECONDS, STEP, Arm, Noise, arm_of, measured, references
from neuler import InputError, Kernel, Robot
from neuler.identify import Log, Prepared, closed_loop, least_squares
from neuler.identify.bootstrap import bootstrap
from neuler.identify.instrumental import instrumental
from neuler.identify.methods import ALL, CLOSED, RegressionData
from neuler.identify.priors import not_negative, prior_of, without_friction
from neuler.identify.rows import Regression, Rows
from neuler.identify.smoothing import smoothed
from neuler.identify.user_columns import UserColumns
from neuler.solve.base_parameters import BaseParameters
from rollouts import without_fingers

RUNS, COVERAGE_RUNS = 4, 200
BATCH = 10
"""Runs that are simulated at once."""
DECIMATE = 4
"""To 250 Hz, behind the filter."""
HELD_OUT = 100_000
"""Seed of the motion that methods are judged by."""
LOST = 1.0
"""A run has failed whose torques along it are wrong by more than themselves."""


@dataclass(frozen=True, eq=False)
class Context:
    """What a method may use beside the logs: the controller and the reference of the run are known."""

    arm: Arm
    base: BaseParameters
    kernel: Kernel
    """The regressor of the base parameters."""
    ready: Prepared
    rows: Rows
    reference: np.ndarray
    held: Log
    """The same log with the torques that were held before its samples, as a controller has them."""
    cutoff: float | None

    @functools.cached_property
    def loop(self) -> Prepared:
        """The log for methods that simulate the loop."""
        return self.held.prepare(cutoff=self.cutoff, decimate=DECIMATE)

    @property
    def weights(self) -> np.ndarray:
        """One for rows at which the joint moves, zero for others."""
        return self.rows.moving.astype(float)

    def simulated(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and torques (samples, n) of the closed loop with base parameters ``values``.

        Standard parameters that represent the base parameters take their values, all others are zero: forces and
        motion are the same.
        """
        phi = np.zeros(len(self.base.columns))
        phi[[self.base.columns.index(name) for name in self.base.names]] = values
        q, before, after = self.arm.simulated(self.reference[None], phi)
        return q[0], 0.5 * (before[0] + after[0])

    def instruments(self, values: np.ndarray) -> np.ndarray:
        """The regressor along simulated motion, filtered as the measured one."""
        q, _ = self.simulated(values)
        settings = self.ready.settings
        motion = smoothed(self.ready.log.t, q, settings["cutoff"] or np.inf, settings["order"], settings["method"])
        return self.ready.filter(self.kernel(*(each[self.ready.rows] for each in motion)))


@dataclass(frozen=True, eq=False)
class Found:
    """Values of base parameters (p,) and their intervals of 95 % (p, 2)."""

    values: np.ndarray
    bounds: np.ndarray


def linear(method: str) -> Callable[..., Found]:
    """Least squares of a kind."""

    def call(ready: Sequence[Prepared], base: BaseParameters, context: Context) -> Found:
        rows = context.rows
        found = getattr(least_squares, method)(rows.W, rows.y, base.names, weights=context.weights)
        return Found(found.values, found.interval())

    return call


def with_instruments(ready: Sequence[Prepared], base: BaseParameters, context: Context) -> Found:
    """Instrumental variables: instruments are regressors of closed loops simulated with the last estimate.

    The first are those of the robot that is given: least squares, where it is biased, may be no robot at all.
    """
    rows, given = context.rows, [base.values]

    def instruments(values: np.ndarray) -> np.ndarray:
        return context.instruments(given.pop() if given else values)

    found = instrumental(rows.W, rows.y, instruments, base.names, weights=context.weights)
    return Found(found.values, found.interval())


def resampled(ready: Sequence[Prepared], base: BaseParameters, context: Context) -> Found:
    """Weighted least squares, with intervals by the block bootstrap."""
    found = bootstrap(context.rows.W, context.rows.y, base.names, weights=context.weights)
    return Found(found.values, found.interval())


def whole(method: str) -> Callable[..., Found]:
    """All parameters, of real bodies, near those given; from there to base parameters."""

    def call(ready: Sequence[Prepared], base: BaseParameters, context: Context) -> Found:
        kept, prior, _ = prior_of(base)
        names = tuple(base.columns[k] for k in kept)
        rows = Regression(context.arm.given, names, base.standard[kept], UserColumns()).rows(context.ready)
        data = RegressionData(names, [rows], without_friction(names, prior), not_negative(names), prior_sd=OFF)
        found = ALL[method](data).estimate
        G = base.grouping[:, kept]
        sd = np.sqrt(np.einsum("ij,jk,ik->i", G, found.covariance, G))
        half = stdtrit(np.median(found.freedom), 0.975) * sd
        values = G @ found.values
        return Found(values, np.stack([values - half, values + half], axis=1))

    return call


def simulating(method: str) -> Callable[..., Found]:
    """The closed loop is simulated with the controller and along the reference that the run had."""

    def call(ready: Sequence[Prepared], base: BaseParameters, context: Context) -> Found:
        reference = context.reference[EVERY : EVERY + EVERY * len(context.held.t)]
        found, _, _ = closed_loop.estimate(method, [context.loop], base, context.arm.controller, reference=reference)
        return Found(found.values, found.interval())

    return call


METHODS: dict[str, Callable[[Sequence[Prepared], BaseParameters, Context], Any]] = {
    "ordinary": linear("ordinary"),
    "weighted": linear("weighted"),
    "reweighted": linear("reweighted"),
    "bootstrap": resampled,
    "instrumental": with_instruments,
    **{name: whole(name) for name in ALL},
    **{name: simulating(name) for name in CLOSED},
}
"""By name; what is returned has ``values`` (p,) and ``bounds`` (p, 2)."""


# ---- runs -----------------------------------------------------------------------------------------------------------


@dataclass
class Results:
    """Of one method: errors (runs, p), whether intervals hold the truth (runs, p), torque errors, seconds."""

    errors: list[np.ndarray] = dataclasses.field(default_factory=list)
    relative: list[float] = dataclasses.field(default_factory=list)
    inside: list[np.ndarray] = dataclasses.field(default_factory=list)
    torque: list[float] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)
    failures: int = 0


class Trial:
    """Everything that runs of one robot share."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self.base = arm.given.base_parameters(COLUMNS)
        self.kernel = arm.given.compile("regressor", columns=self.base.names)
        self.exact = self.base.grouping @ arm.phi
        n = arm.true.nv
        motion = references(arm.true, [HELD_OUT])[0, :: round(0.01 / STEP)]
        W = np.asarray(self.kernel(motion[:, :n], motion[:, n : 2 * n], motion[:, 2 * n :]))
        self.W = W / np.sqrt(((W @ self.exact) ** 2).mean(axis=0))[:, None]
        """The regressor of the held-out motion, in units of the torques' root mean squares."""
        self.sizes = np.sqrt((self.W**2).mean(axis=(0, 1)))
        """What a unit of a parameter is of the torques."""
        self.counted = np.abs(self.exact) * self.sizes > 1e-3
        """Parameters that are more than a thousandth of the torques: relative errors of others mean nothing."""

    def contexts(self, noise: Noise, runs: int) -> Iterator[Context]:
        """One run after the other."""
        for first in range(0, runs, BATCH):
            seeds = range(first, min(first + BATCH, runs))
            reference = references(self.arm.true, seeds)
            q, before, after = self.arm.simulated(reference, self.arm.phi)
            for row, seed in enumerate(seeds):
                held = measured(self.arm, q[row], before[row], noise, seed)
                log = measured(self.arm, q[row], 0.5 * (before[row] + after[row]), noise, seed)
                ready = log.prepare(cutoff=noise.cutoff, decimate=DECIMATE)
                rows = Regression(self.arm.given, self.base.names, self.base.values, UserColumns()).rows(ready)
                yield Context(
                    self.arm, self.base, self.kernel, ready, rows, reference[row], held, noise.cutoff
                )  # fmt: skip

    def results(self, noise: Noise, methods: dict[str, Callable[..., Any]], runs: int) -> dict[str, Results]:
        """Of all methods, on the same runs."""
        found = {name: Results() for name in methods}
        for context in self.contexts(noise, runs):
            for name, method in methods.items():
                self.judged(context, method, found[name])
        return found

    def judged(self, context: Context, method: Callable[..., Any], results: Results) -> None:
        """Add a run of a method."""
        begin = time.process_time()
        try:
            found = method([context.ready], self.base, context)
        except (InputError, ArithmeticError, np.linalg.LinAlgError):
            results.failures += 1
            return
        results.seconds.append(time.process_time() - begin)
        error = found.values - self.exact
        torque = float(np.sqrt(((self.W @ error) ** 2).mean()))
        if not torque < LOST:
            results.failures += 1
            return
        results.torque.append(torque)
        results.errors.append(error)
        size = (np.abs(found.values) + np.abs(self.exact))[self.counted]
        results.relative.append(float(np.mean(2.0 * np.abs(error[self.counted]) / size)))
        low, high = found.bounds.T
        results.inside.append((low <= self.exact) & (self.exact <= high))

    def row(self, results: Results) -> str:
        """Figures of a method: see ``HEAD``."""
        count = len(results.errors)
        if count < 2:
            return f"| | | | | | | | {results.failures} of {count + results.failures} |"
        errors, inside = np.array(results.errors), np.array(results.inside)
        mean, sd = errors.mean(axis=0), errors.std(axis=0, ddof=1)
        bias, spread = (100.0 * np.sqrt(np.mean((x * self.sizes) ** 2)) for x in (mean, sd))
        covered = 100.0 * inside.mean()
        doubt = 100.0 * inside.mean(axis=1).std(ddof=1) / np.sqrt(count)
        return (
            f"| {bias:.3f} | {spread:.3f} | {100.0 * self.biased(mean, sd, count):.0f} "
            f"| {100.0 * np.median(results.relative):.2f} | {covered:.1f} ± {doubt:.1f} "
            f"| {100.0 * np.median(results.torque):.3f} | {np.median(results.seconds):.2f} "
            f"| {results.failures} of {count + results.failures} |"
        )

    @staticmethod
    def biased(mean: np.ndarray, sd: np.ndarray, count: int) -> float:
        """The share of parameters whose mean error is beyond what chance explains in 99 % of the cases."""
        return float(np.mean(np.abs(mean) > stdtrit(count - 1, 0.995) * sd / np.sqrt(count)))


HEAD = [
    "| robot | noise | method | bias, % | spread, % | biased, % | relative, % | coverage, % | held out, % | s | lost |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]
NOTES = [
    f"Fourier motions of {SECONDS:g} s, tracked by computed torque at {1e-3 / STEP:g} kHz with a model that is off by",
    "15 %; positions and torques sampled at 1 kHz. Noise: *quantised*, positions in steps of 1e-5 rad, torques 1 % of",
    "each joint's rms; *low*, 1e-4 degrees and 0.05 N m; *high*, 1e-2 degrees and 0.1 N m. The cut-off is chosen from",
    "the data, or 50 Hz. Each run has a motion of its own.",
    "",
    "*bias*, *spread*: mean error of a base parameter and its standard deviation over the runs, times what a unit",
    "of it is of the torques, root mean square over the parameters. *biased*: parameters whose mean error is beyond",
    "chance (1 % are by chance). *relative*: symmetric relative error, mean over parameters that are more than 0.1",
    "% of the torques, median over the runs. *coverage*: pairs of run and parameter in which the 95 % interval",
    "holds the truth, ± its standard error (runs are independent). *held out*: error of the torques along another",
    "motion, without noise, root mean square over joints, each relative to its own; median. *s*: seconds of the",
    "processor, of the method alone, median. *lost*: runs without an answer, or with torques that are wrong by more",
    "than themselves.",
    "",
]


def compared(
    arms: Sequence[Arm], levels: Sequence[Noise], methods: dict[str, Callable[..., Any]], runs: int
) -> list[str]:
    """The table."""
    lines = [*HEAD]
    for arm in arms:
        trial = Trial(arm)
        for noise in levels:
            results = trial.results(noise, methods, runs)
            lines += [f"| {arm.name} | {noise.name} | {name} {trial.row(found)}" for name, found in results.items()]
    return lines


def arms_of(robot_of: Callable[[str], Robot], names: Sequence[str]) -> list[Arm]:
    """Of URDF files; the Panda with its hand closed for good."""
    return [arm_of(name, without_fingers(robot_of(name)) if name == "Panda" else robot_of(name)) for name in names]


def report(robot_of: Callable[[str], Robot], runs: int = RUNS) -> list[str]:
    """The section of RESULTS.md."""
    lines = ["## Methods of identification, simulated closed loops", "", *NOTES, f"{runs} runs.", ""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return [*lines, *compared(arms_of(robot_of, ("UR5", "Panda")), LEVELS, METHODS, runs), ""]


def main() -> None:
    """The table of all, or a part of it, in any size."""
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help=f"by default {RUNS}, of coverage {COVERAGE_RUNS}")
    parser.add_argument("--robots", default="UR5,Panda")
    parser.add_argument("--levels", help="; between names")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--coverage", action="store_true", help="quantised positions alone, 200 runs")
    given = parser.parse_args()
    wanted = "quantised" if given.coverage else given.levels
    levels = [level for level in LEVELS if wanted is None or level.name in wanted.split(";")]
    methods = {name: METHODS[name] for name in given.methods.split(",")}
    runs = given.runs or (COVERAGE_RUNS if given.coverage else RUNS)
    print(f"{runs} runs", flush=True)
    print("\n".join(compared(arms_of(run.robot_of, given.robots.split(",")), levels, methods, runs)))


if __name__ == "__main__":
    main()

"""The search for an exciting motion: random periodic motions, the best of them improved by an interior point method.

The condition number is the ratio of two extreme eigenvalues, which is not smooth where they are multiple, as good
motions make them. So smoothed ones are minimised, first with a small exponent, which moves all eigenvalues, then with
larger ones. The information is part of the objective all along, for motions that are too small to be seen may be well
conditioned, too: the condition number alone says nothing of how accurate parameters will be.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.criterion import Criterion, condition_of
from neuler.identify.estimate import listed
from neuler.identify.exciting import Start
from neuler.identify.exciting_limits import Kept
from neuler.identify.information import Experiment
from neuler.kernels import Kernel
from neuler.motions.fourier import FourierProfiles, fourier_basis
from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize import solvers
from neuler.optimize.programme import Programme, Report, Solution
from neuler.plan.attempt import Attempt
from neuler.plan.guess import FirstGuess, dependent_positions
from neuler.plan.options import SOLVED, SolveOptions
from neuler.plan.plan import Plan
from neuler.plan.planned import Planned
from neuler.plan.refine import refined
from neuler.plan.transcribe import Transcription
from neuler.plan.transcribed import Transcribed

Array = NDArray[np.float64]
STAGES = {
    "balanced": (
        Criterion(0.0, 1.0),
        Criterion(1.0, 1.2, 4.0),
        Criterion(1.0, 0.4, 8.0),
        Criterion(1.0, 0.2, 16.0),
        Criterion(1.0, 0.1, 24.0),
        Criterion(1.0, 0.05, 24.0),
        Criterion(1.0, 0.02, 24.0),
    ),
    "condition": (Criterion(0.0, 1.0), Criterion(1.0, 0.05, 3.0), Criterion(1.0, 0.01, 24.0)),
    "information": (Criterion(0.0, 1.0),),
}
"""By what is asked for, the criteria that are minimised one after the other: of "balanced" until the condition number
is as low as it need be."""
ENOUGH = 0.98
"""Of the condition number that is asked for, where stages end: a motion is still made a little smaller."""
TOLERANCE, ONE_SOLVE = 1e-3, 80
"""Of the solver, and its iterations in one solve at most: a condition number need not be exact."""
PUSH = 1e-3
"""How far from its bounds a solve begins where the one before has ended."""
HELD = 1e-7
"""Violations of rows below which a motion can be used, although the solver would go on."""
CANDIDATES, AMONG_OBSTACLES, TIMES = 24, 96, 200
"""Random motions from which each start takes the best, with obstacles more, and times at which they are judged."""
ROOM, LEAST_ROOM = 0.8, 0.1
"""Share of ranges and velocities that they use, and the least where some are smaller, for there are obstacles."""
NEAR = 0.02
"""Violations (m) of clearance with which a random motion counts as clear."""
ROUNDS, SMALL = 4, 3e-3
"""How often points are added where limits are violated between points, and violations, of 1 + |bound|, that stay."""
SHRINKS, MOST_SHRUNK = 10, 0.2
"""How often a motion is made smaller where it violates limits between points, and by how much in all."""
SINGULAR = 1e8
"""Scaled condition number from which on a motion does not determine all columns."""


class _Exciting(Attempt):
    """An attempt whose solves end early, for a motion that keeps its limits can be used."""

    criterion: Criterion
    """What is minimised now."""

    def _solved(
        self, programme: Programme, warm: Solution | None, tolerance: float, push: float = solvers.PUSH,
        until: float | None = None,
    ) -> Solution:  # fmt: skip
        whole = self.settings
        self.settings = replace(whole, iterations=min(whole.iterations, self.spent + ONE_SOLVE))
        found = super()._solved(programme, warm, max(tolerance, TOLERANCE), push, until)
        self.settings = whole
        if found.status in ("limit", "failed") and found.infeasibility <= HELD:
            found = replace(found, status="acceptable")
        return found


@dataclass(eq=False)
class Search:
    """Motions of a plan, and what they are to determine."""

    plan: Plan
    transcription: Transcription
    experiment: Experiment
    regressor: Kernel
    """Of the robot as it is given."""
    kept: Kept
    stages: Sequence[Criterion]
    target: float
    """A scaled condition number below which stages end; 0: all are gone through."""
    settings: SolveOptions

    def from_seed(self, seed: int, report: Report | None) -> tuple[Planned, Start]:
        """The motion found from the best of some random ones."""
        began = time.perf_counter()
        attempt = _Exciting(
            self.plan.robot, self.transcription, self.settings, FirstGuess(), report, self.plan.notes
        )  # fmt: skip
        attempt.criterion = self.stages[0]
        attempt.more = [lambda profiles, n: self.experiment.block(profiles[0], n, attempt.criterion)]
        profiles = self.transcription.profiles()
        first, x = self._best_random(attempt, profiles, np.random.default_rng(seed))
        state: Transcribed | None = None
        solution: Solution | None = None
        for attempt.criterion in self.stages:
            before, state = state, attempt.transcribed(profiles, x)
            warm = None if before is None or solution is None else state.warm(before, solution)
            solution = attempt.solved(state, warm, TOLERANCE, PUSH)
            if solution.status in SOLVED:
                x = state.x(solution.x)
            if attempt.exhausted or self._condition(attempt, state.profiles, x) <= ENOUGH * self.target:
                break
        assert state is not None
        assert solution is not None
        state, solution = self._with_points(attempt, state, replace(solution, x=x[state.elimination.free]))
        found = self._shrunk(attempt, state, solution)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            M = self.matrix(found)
        scaled, _, log_det = condition_of(M) if np.isfinite(M).all() else (np.inf, np.inf, -np.inf)
        spent = time.perf_counter() - began
        return found, Start(seed, first, scaled, log_det, found.valid, attempt.spent, spent)

    def matrix(self, motion: Any, count: int = TIMES) -> Array:
        """The information matrix of a motion, with what was known before."""
        t = motion.duration * np.arange(count) / count
        return self.experiment.matrix(np.asarray(self.regressor(*motion.evaluate(t, 2))))

    def _condition(self, attempt: Attempt, profiles: Sequence[Profiles], x: Array) -> float:
        """The scaled condition number of a motion, infinite where it is none."""
        if not self.target:
            return np.inf
        M = self.matrix(attempt.motion(profiles, x))
        return condition_of(M)[0] if np.isfinite(M).all() else np.inf

    # ---- where it begins ----------------------------------------------------------------------------------------

    def _best_random(
        self, attempt: Attempt, profiles: list[Profiles], random: np.random.Generator
    ) -> tuple[float, Array]:
        """The scaled condition number and the variables of the best of some random motions."""
        best: tuple[tuple[float, float], Array] | None = None
        state: Transcribed | None = None
        obstacles = bool(self.transcription.phases[0].clearances)
        for _ in range(AMONG_OBSTACLES if obstacles else CANDIDATES):
            x = self._random(profiles, random, random.uniform(LEAST_ROOM, ROOM) if obstacles else ROOM)
            if x is None:
                continue
            state = state or attempt.transcribed(profiles, x)
            x = state.x(x[state.elimination.free])  # periodic, at rest where it is asked for
            motion = attempt.motion(profiles, x)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of loops that do not close
                M = self.matrix(motion)
            if not np.isfinite(M).all():
                continue
            rank = self._overlap(motion), condition_of(M)[0]
            if best is None or rank < best[0]:
                best = rank, x
        if best is None:
            raise InputError(
                "excite: loops close along none of some random motions in the ranges of their joints; give a smaller "
                "reach= about a center= at which they close"
            )
        if not best[0][1] < SINGULAR:
            self._refuse_singular(attempt, profiles, best[1])
        return best[0][1], best[1]

    def _overlap(self, motion: SplineMotion) -> float:
        """By how much balls come too near to obstacles and to each other at most (m); 0 where it is next to nothing."""
        shares, worst = np.linspace(0.0, 1.0, TIMES), 0.0
        for each in self.transcription.phases[0].clearances:
            worst = max(worst, float(np.max(each.family.lower - each.distances(motion, 0, shares), initial=0.0)))
        return worst if worst > NEAR else 0.0

    def _refuse_singular(self, attempt: Attempt, profiles: list[Profiles], x: Array) -> None:
        """Say which columns motions of so few variables cannot tell apart."""
        M = self.matrix(attempt.motion(profiles, x))
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        names = self.regressor.column_names
        idle = [name for name, x in zip(names, size, strict=True) if not x > 1e-12 * size.max()]
        scale = np.where(size > 0.0, size, 1.0)
        values, U = np.linalg.eigh(M / np.outer(scale, scale))
        rank = int((values > values[-1] / SINGULAR**2).sum())
        worst = [names[k] for k in np.argsort(-np.abs(U[:, 0]))[:4]]
        mine = profiles[0]
        what, remedy = (
            (f"{mine.harmonics} harmonics", "harmonics")
            if isinstance(mine, FourierProfiles)
            else (f"{mine.control_point_count} control points", "control_points")
        )
        raise InputError(
            f"excite: motions with {what} determine {rank} of {len(names)} columns; "
            + (f"{listed(idle)} have no effect" if idle else f"they cannot tell {listed(worst)} apart")
            + f"; give more {remedy}, wider ranges, or fewer columns"
        )

    def _random(self, profiles: list[Profiles], random: np.random.Generator, share: float) -> Array | None:
        """Variables of a random sum of sines within a share of ranges and velocities; None where loops do not close."""
        mine, model, T = profiles[0], self.transcription.phases[0].model, self.transcription.phases[0].span[0]
        count = mine.harmonics if isinstance(mine, FourierProfiles) else max(1, min(5, mine.control_point_count // 4))
        s = np.linspace(0.0, 1.0, TIMES + 1)
        c = random.normal(size=(2 * count + 1, mine.count))
        c[0] = 0.0
        q, qd = (fourier_basis(count, s, k) @ c for k in range(2))
        half = 0.5 * (self.kept.upper - self.kept.lower)
        size = share * np.minimum(half / np.abs(q).max(axis=0), self.kept.speeds * T / np.abs(qd).max(axis=0))
        room = half - size * np.abs(q).max(axis=0)
        c = c * size
        c[0] = self.kept.middle + 0.9 * room * random.uniform(-1.0, 1.0, mine.count)
        x = np.zeros(self.transcription.size(profiles))
        if isinstance(mine, FourierProfiles):
            points = c
        else:
            places = np.zeros((TIMES + 1, mine.control_point_count))
            for k, unit in enumerate(np.eye(mine.control_point_count)):
                single = np.zeros_like(x)
                single[mine.first : mine.duration] = np.repeat(unit, mine.count)
                places[:, k] = mine.evaluate(single, s, 0)[0][:, 0]
            points = np.linalg.lstsq(places, fourier_basis(count, s) @ c, rcond=None)[0]
        x[mine.first : mine.duration] = points.ravel()
        x[mine.duration] = T
        if mine.dependent:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                others = dependent_positions(model, mine, x)
            if not np.isfinite(others).all():
                return None
            x[mine.first_dependent : mine.first_magnitude] = others.ravel()
        return x

    # ---- between the points of the grid -------------------------------------------------------------------------

    def _with_points(self, attempt: Attempt, state: Transcribed, solution: Solution) -> tuple[Transcribed, Solution]:
        """The solution with points of the grid where limits are violated most between its points."""
        for _ in range(ROUNDS):
            if solution.status not in SOLVED or attempt.exhausted or state.profiles[0].dependent:
                break
            x = state.x(solution.x)
            check = attempt.checked(state.profiles, x)[0]
            if check.worst <= SMALL:
                break
            profiles = [attempt.refinements[0].refined(state.profiles[0], check, 0.5 * SMALL)[0]]
            finer = attempt.transcribed(profiles, attempt.carried(state.profiles, x, profiles))
            found = attempt.solved(finer, finer.warm(state, solution), TOLERANCE, PUSH)
            if found.status not in SOLVED:
                break
            state, solution = finer, found
        return state, solution

    def _shrunk(self, attempt: Attempt, state: Transcribed, solution: Solution) -> Planned:
        """The motion made so much smaller about its mean position that limits hold between points.

        That costs little: violations between points are small. Where it does not help, points are added to the grid.
        """
        profiles, x = state.profiles, state.x(solution.x)
        checks = attempt.checked(profiles, x)
        worst = max(each.worst for each in checks)
        usable = solution.status in SOLVED and not profiles[0].dependent
        less, middle = 0.0, self._still(profiles, x)
        for _ in range(SHRINKS if usable else 0):
            if worst <= attempt.valid_to or less > MOST_SHRUNK:
                break
            less = less + 1.2 * worst + 1e-6
            smaller = middle + (x - middle) / (1.0 + less)
            checks = attempt.checked(profiles, smaller)
            worst = max(each.worst for each in checks)
            if worst <= attempt.valid_to:
                y = smaller[state.elimination.free]
                rows, value = state.programme.rows(y), state.programme.objective(y)
                return attempt.planned(state, replace(solution, x=y, rows=rows, objective=value), checks)
        if worst <= attempt.valid_to and not less:
            return attempt.planned(state, solution, checks)
        return refined(attempt, state, solution)

    def _still(self, profiles: list[Profiles], x: Array) -> Array:
        """Variables of the robot that stands still at the mean position of a motion."""
        mine, found = profiles[0], x.copy()
        points = np.zeros((mine.control_point_count, mine.count))
        mean = mine.evaluate(x, np.arange(TIMES) / TIMES, 0)[0].mean(axis=0)
        points[0 if isinstance(mine, FourierProfiles) else slice(None)] = mean
        found[mine.first : mine.duration] = points.ravel()
        return found

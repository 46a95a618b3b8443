"""The solve: coarse meshes first, then finer grids where limits are violated between points, then a dense check."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, whole
from neuler.moments.measures import power
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.tracing import SMOOTHING
from neuler.motions import splines
from neuler.motions.motion import Motion
from neuler.motions.profiles import Profiles, placed
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize import solvers
from neuler.optimize.dense import TOLERANCE
from neuler.optimize.programme import Array, Progress, Report, Solution
from neuler.plan import guess as guesses
from neuler.plan import judge
from neuler.plan.judge import PhaseCheck
from neuler.plan.planned import Planned
from neuler.plan.refinement import SMALL, Refinement
from neuler.plan.report import bounds_of, costs, friction_left, obstacles_of, totals_of, violations_of
from neuler.plan.transcribe import Transcribed, Transcription
from neuler.robot import Robot

ROUNDS = 12
"""Refinements of the grid."""
TIGHTEN_AFTER = 3
"""Refinements after which bounds are tightened by what is left."""
SMOOTHING_STEPS, SMOOTHING_FACTOR = 5, 0.3
"""Steps in which corners get sharper, and by how much each."""
QUADRATURE_STEPS, QUADRATURE = 2, 1e-5
"""Refinements of integrals, and what they may be off by beside 1 + |objective|."""
GROWTHS = 3
"""How often splines may get more control points by themselves."""
SOLVED = ("optimal", "acceptable")


@dataclass(frozen=True)
class SolveOptions:
    """How to solve a plan."""

    solver: str = "auto"
    tolerance: float = 1e-8
    iterations: int = 500
    """Iterations of each of the solves at most."""
    seconds: float | None = None
    """Time of all solves together at most (s), compiling not counted."""
    refine: bool = True
    rounds: int = ROUNDS
    mesh: Sequence[int] | None = None
    """Numbers of control points, coarse to fine."""
    options: dict[str, Any] | None = None
    valid_to: float = TOLERANCE
    """How much a limit may be violated in a valid plan, as a share of 1 + |bound|."""
    guess: Motion | None = None
    """A motion to begin with."""

    def __post_init__(self) -> None:
        whole("solve: iterations", self.iterations, 1, 2**31 - 1)
        whole("solve: rounds", self.rounds, 0)
        for name in ("tolerance", "seconds", "valid_to"):
            value = getattr(self, name)
            if (name != "seconds" or value is not None) and number(f"solve: {name}", value) <= 0.0:
                raise InputError(f"solve: {name} must be above zero, got {value!r}")
        if not isinstance(self.refine, bool):
            raise InputError(f"solve: refine must be True or False, got {self.refine!r}")
        if self.options is not None and not isinstance(self.options, dict):
            raise InputError(f"solve: options must be a dict of the solver's own options, got {self.options!r:.60}")
        if self.guess is not None and not isinstance(self.guess, Motion):
            raise InputError(
                f"solve: guess must be a motion, as a plan, a run or neuler.motions.load(...), got {self.guess!r:.60}"
            )


@dataclass(eq=False)
class Attempt:
    """One solve of a transcription: settings, what was spent, and the best so far."""

    robot: Robot
    transcription: Transcription
    settings: SolveOptions
    seed: int | None = None
    report: Report | None = None
    grid: int | None = None
    """Points in every span, where they are not the transcription's."""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.began = self.clock = time.perf_counter()
        self.spent = 0
        self.function_seconds = 0.0
        self.interrupted = False
        self.refinements = [Refinement(phase) for phase in self.transcription.phases]
        self.smoothing = 0.0
        self.total_margins: Array | float = 0.0
        self.tolerance, self.valid_to = self.settings.tolerance, self.settings.valid_to

    @property
    def models(self) -> list[MovingRobot]:
        """Robots of the phases."""
        return [phase.model for phase in self.transcription.phases]

    def motion(self, profiles: Sequence[Profiles], x: Array) -> SplineMotion:
        """The motion of some variables."""
        return SplineMotion(self.models, profiles, x)

    # ---- meshes -----------------------------------------------------------------------------------------------

    def run(self) -> Planned:
        """Coarse to fine, from a guess; then refine the grid of the last."""
        meshes: Sequence[int | None] = self.settings.mesh or [None]
        self.transcription.compile()
        self.clock = time.perf_counter()
        state: Transcribed | None = None
        solution: Solution | None = None
        for k, size in enumerate(meshes):
            profiles = self.transcription.profiles(size, self.grid)
            guess = (
                self._guess(profiles) if state is None or solution is None else self._carried(state, solution, profiles)
            )
            self.smoothing = self.smoothing or self._initial_smoothing(profiles, guess)
            state = self._transcribed(profiles, guess)
            tolerance = max(self.tolerance, 1e-4) if k < len(meshes) - 1 else self.tolerance
            solution = self._solved(state, None, tolerance)
            if self.interrupted:
                break
        assert state is not None
        assert solution is not None
        state, solution = self._reduce_smoothing(state, solution)
        state, solution = self._refine_quadrature(state, solution)
        return self._refined(state, solution)

    def _reduce_smoothing(self, state: Transcribed, solution: Solution) -> tuple[Transcribed, Solution]:
        """Corners that were rounded off, step by step less so."""
        if self.smoothing:
            for _ in range(SMOOTHING_STEPS):
                if self.interrupted or solution.status not in SOLVED:
                    break
                self.smoothing *= SMOOTHING_FACTOR
                sharper = self._transcribed(state.profiles, state.x(solution.x))
                found = self._solved(sharper, sharper.warm(state, solution), self.tolerance)
                if found.status not in SOLVED:
                    break
                state, solution = sharper, found
        return state, solution

    def _refine_quadrature(self, state: Transcribed, solution: Solution) -> tuple[Transcribed, Solution]:
        """More points for integrals, where the motion's own differ from what the solve took them for."""
        transcription = self.transcription
        for turn in range(1, QUADRATURE_STEPS + 1):
            if not any(phase.integrates for phase in transcription.phases) or not self.settings.refine:
                break
            if self.interrupted or solution.status not in SOLVED:
                break
            true = sum(self._costs(state, solution).values())
            good = abs(true - solution.objective) <= QUADRATURE * (1.0 + abs(true))
            if transcription.totals:
                good &= bool((self._total_excess(state, state.x(solution.x)) <= self.valid_to).all())
            if good or not np.isfinite(true) or self.smoothing:
                break
            profiles = placed([
                transcription.phase_profiles(phase, mine.control_point_count, 4 * 2**turn)
                for phase, mine in zip(transcription.phases, state.profiles, strict=True)
            ])  # fmt: skip
            finer = self._transcribed(profiles, self._regridded(state, state.x(solution.x), profiles))
            found = self._solved(finer, None, self.tolerance)
            if found.status not in SOLVED:
                break
            state, solution = finer, found
        return state, solution

    def _costs(self, state: Transcribed, solution: Solution, checks: Sequence[PhaseCheck] = ()) -> dict[str, float]:
        """Term by term, with corners sharp."""
        x = state.x(solution.x)
        slacks = {name: float(x[place]) for name, place in state.slacks.items()}
        return costs(self.transcription, self.motion(_sharp(state.profiles), x), slacks, checks)

    def _initial_smoothing(self, profiles: Sequence[Profiles], guess: Array) -> float:
        """Of corners that are rounded off at first: a share of the largest power along the guess; 0 without any."""
        rows = [phase.path for phase in self.transcription.phases if phase.path is not None]
        if not any(SMOOTHING in each.derivatives.constants for each in rows):
            return 0.0
        motion = self.motion(profiles, guess)
        largest = np.abs(motion.along(power, np.linspace(0.0, motion.duration, 201))).max()
        return 0.3 * float(largest) if largest > 0.0 else 1.0

    def _guess(self, profiles: Sequence[Profiles]) -> Array:
        if self.settings.guess is not None:
            return guesses.along(self.transcription, profiles, self.settings.guess)
        return guesses.guessed(self.transcription, profiles, self.seed)

    def _carried(self, state: Transcribed, solution: Solution, profiles: Sequence[Profiles]) -> Array:
        """Variables on other splines that are nearest to those of a solution."""
        x, found = state.x(solution.x), np.zeros(self.transcription.size(profiles))
        ends = min(self.models[0].rest_order, 1)
        for old, new, model in zip(state.profiles, profiles, self.models, strict=True):
            P = old.control_points(x)
            if len(old.knots) != len(new.knots) or not np.allclose(old.knots, new.knots):
                P = splines.fitted(old.knots, old.degree, new.knots, ends=ends) @ P
            found[new.first : new.duration] = P.ravel()
            found[new.duration] = x[old.duration]
            if new.dependent:
                found[new.first_dependent : new.last] = guesses.dependent_positions(model, new, found).ravel()
        found[profiles[-1].last :] = x[state.profiles[-1].last :]
        return found

    def _regridded(self, state: Transcribed, x: Array, profiles: Sequence[Profiles]) -> Array:
        """The same splines on other grids."""
        found = np.zeros(self.transcription.size(profiles))
        motion = self.motion(state.profiles, x)
        for k, (old, new) in enumerate(zip(state.profiles, profiles, strict=True)):
            found[new.first : new.first_dependent] = x[old.first : old.first_dependent]
            if new.dependent:
                found[new.first_dependent : new.last] = motion.dependent(k, new.grid).ravel()
        found[profiles[-1].last :] = x[state.profiles[-1].last :]
        return found

    def _transcribed(self, profiles: Sequence[Profiles], guess: Array) -> Transcribed:
        along = self.motion(profiles, guess)
        for k, known in enumerate(self.refinements):
            known.look(along, k)
        each = list(zip(self.refinements, (mine.grid for mine in profiles), strict=True))
        return self.transcription.transcribe(
            profiles, guess, margins=[mine.margins(grid) for mine, grid in each],
            left_out=[mine.left_out(grid) for mine, grid in each], smoothing=self.smoothing,
            total_margins=self.total_margins,
        )  # fmt: skip

    def _solved(self, state: Transcribed, warm: Solution | None, tolerance: float) -> Solution:
        left = self.settings.seconds
        left = None if left is None else max(left - (time.perf_counter() - self.clock), 1e-3)
        found = solvers.solve(
            state.programme,
            self.settings.solver,
            warm=warm,
            tolerance=tolerance,
            iterations=self.settings.iterations,
            seconds=left,
            progress=self._progress(),
            options=self.settings.options,
        )
        self.spent += found.iterations
        self.function_seconds += found.function_seconds
        self.interrupted = found.status == "interrupted"
        return found

    def _progress(self) -> Report | None:
        if self.report is None:
            return None
        tell, spent, began = self.report, self.spent, self.began

        def told(progress: Progress) -> bool | None:
            return tell(replace(progress, iteration=progress.iteration + spent, seconds=time.perf_counter() - began))

        return told

    # ---- between grid points ----------------------------------------------------------------------------------

    def _refined(self, state: Transcribed, solution: Solution) -> Planned:
        """Add points where limits are violated between them, until none is; later also tighten bounds.

        Limits that were left out come in as soon as they are violated. Where undriven forces are not zero between the
        points, the splines themselves are too coarse: they get more control points.
        """
        phases, settings = self.transcription.phases, self.settings
        growths_left, since = GROWTHS, 0
        best: tuple[tuple[bool, float], Transcribed, Solution, list[PhaseCheck]] | None = None
        for turn in range(settings.rounds + 1):
            x = state.x(solution.x)
            checks = self._checked(state, x)
            excess = self._total_excess(state, x)
            worst = max([*(each.worst for each in checks), *excess])
            good = solution.status in SOLVED
            rank = not good, max(worst, self.valid_to)
            if best is None or rank <= best[0]:
                best = rank, state, solution, checks
            if worst <= self.valid_to or not settings.refine or self.interrupted or turn == settings.rounds or not good:
                break
            if settings.seconds is not None and time.perf_counter() - self.clock > settings.seconds:
                break
            profiles, added, more = [], False, False
            for phase, mine, check, known in zip(phases, state.profiles, checks, self.refinements, strict=True):
                finer, new = known.refined(mine, check, self.valid_to)
                more |= new
                added |= known.add_lazy(check, self.valid_to) | known.astray(check)
                if judge.needs_control_points(check, self.valid_to) and growths_left > 0:
                    count = mine.control_point_count
                    finer = self.transcription.phase_profiles(phase, count + max(4, count // 2))
                    known.restarted()
                elif turn > since:
                    known.tighten(mine, check, self.valid_to, np.inf if turn - since >= TIGHTEN_AFTER else SMALL)
                profiles.append(finer)
            profiles = placed(profiles)
            same = all(len(new.knots) == len(old.knots) for new, old in zip(profiles, state.profiles, strict=True))
            tightening = turn >= TIGHTEN_AFTER and judge.violated(checks, self.valid_to)
            if (excess > self.valid_to).any():
                tightening = True
                self.total_margins = self.total_margins + 1.2 * np.maximum(excess, 0.0) * self._total_sizes
            if same and not added and not more and not tightening:
                break
            growths_left -= not same
            guess = self._regridded(state, x, profiles) if same else self._carried(state, solution, profiles)
            if added:  # without these limits it may have gone far astray
                guess, since = self._guess(profiles), turn + 1
                for known in self.refinements:
                    known.relaxed()
            next_one = self._transcribed(profiles, guess)
            warm = next_one.warm(state, solution) if same and not added else None
            state, solution = next_one, self._solved(next_one, warm, self.tolerance)
            if solution.status not in SOLVED and warm is not None and not self.interrupted:
                solution = self._solved(state, None, self.tolerance)
        assert best is not None
        return self._planned(*best[1:])

    @property
    def _total_sizes(self) -> Array:
        """1 + |bound| of the limits of the whole motion."""
        sides = [(limit.lower, limit.upper) for limit in self.transcription.totals]
        return np.array([1.0 + max((abs(x) for x in pair if np.isfinite(x)), default=0.0) for pair in sides])

    def _total_excess(self, state: Transcribed, x: Array) -> Array:
        """By how much limits of the whole motion are violated, of 1 + |bound|; negative where there is room."""
        totals = self.transcription.totals
        if not totals:
            return np.zeros(0)
        values = totals_of(self.transcription, self.motion(_sharp(state.profiles), x))
        low, high = (np.array([getattr(limit, side) for limit in totals]) for side in ("lower", "upper"))
        return np.fmax(low - values, values - high) / self._total_sizes

    def _checked(self, state: Transcribed, x: Array) -> list[PhaseCheck]:
        """Every phase's limits on a fine grid, and undriven forces."""
        motion = self.motion(state.profiles, x)
        slacks = {name: float(x[place]) for name, place in state.slacks.items()}
        found = []
        for k, phase in enumerate(self.transcription.phases):
            found.append(judge.check_phase(motion, k, phase, {name: slacks[name] for name in phase.slacks}))
        return found

    # ---- what came out ----------------------------------------------------------------------------------------

    def _planned(self, state: Transcribed, solution: Solution, checks: Sequence[PhaseCheck]) -> Planned:
        transcription = self.transcription
        x = state.x(solution.x)
        motion = self.motion(state.profiles, x)
        violations = violations_of(transcription, motion, checks, state, solution, self.valid_to)
        worst = max((each.relative for each in violations), default=0.0)
        finite = bool(np.isfinite(x).all())
        parts = self._costs(state, solution, checks)
        several = len(transcription.phases) > 1
        return Planned(
            self.robot,
            motion,
            valid=finite and worst <= self.valid_to,
            optimal=solution.status == "optimal" and not self.interrupted,
            status="interrupted" if self.interrupted else solution.status,
            message=solution.message,
            objective=sum(parts.values()),
            parts=parts if len(parts) > 1 else {},
            worst_violation=worst if finite else np.inf,
            violations=tuple(violations),
            bounds=bounds_of(transcription, motion),
            iterations=self.spent,
            seconds=time.perf_counter() - self.began,
            function_seconds=self.function_seconds,
            solver=solution.solver,
            phases=tuple(phase.title.strip(": ") for phase in transcription.phases) if several else (),
            notes=(*self.notes, *friction_left(motion), *_not_finite(parts)),
            compile_seconds=transcription.compile_seconds,
            scenery=obstacles_of(transcription),
            valid_to=self.valid_to,
        )


def _sharp(profiles: Sequence[Profiles]) -> list[Profiles]:
    """The same without rounded corners."""
    return [replace(mine, smoothing=0.0) for mine in profiles]


def _not_finite(parts: Mapping[str, float]) -> list[str]:
    """A note on terms of the objective that are not finite."""
    names = [name for name, value in parts.items() if not np.isfinite(value)]
    if not names:
        return []
    return [
        f"{', '.join(names)}: not finite along this motion; where it needs one that moves, begin with such: "
        "solve(seed=1) or solve(guess=...)"
    ]


def solved(
    robot: Robot,
    transcription: Transcription,
    settings: SolveOptions,
    seed: int | None = None,
    report: Report | None = None,
    notes: Sequence[str] = (),
) -> Planned:
    """Solve a transcription, and once more on a finer grid if the solution violates limits between points."""
    found = Attempt(robot, transcription, settings, seed, report, None, notes).run()
    if found.valid or found.status not in SOLVED or not settings.refine or not settings.rounds:
        return found
    left = settings.seconds
    left = None if left is None else left - found.seconds
    if left is not None and left <= 0.0:
        return found
    again = Attempt(robot, transcription, replace(settings, seconds=left), seed, report, 5, notes).run()
    better = again.valid or again.worst_violation < found.worst_violation
    best, other = (again, found) if better else (found, again)
    return replace(
        best,
        seconds=best.seconds + other.seconds,
        iterations=best.iterations + other.iterations,
        function_seconds=best.function_seconds + other.function_seconds,
    )

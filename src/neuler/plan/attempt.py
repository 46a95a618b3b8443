"""One attempt at a plan: programmes on finer and finer profiles and grids, each solved from the one before it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neuler.moments.moving_robot import MovingRobot
from neuler.motions import splines
from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize import solvers
from neuler.optimize.linearised import Curvature, Linearised
from neuler.optimize.programme import Array, Programme, Progress, Report, Solution, infeasibility
from neuler.plan import guess as guesses
from neuler.plan import judge
from neuler.plan.families import statistics
from neuler.plan.guess import FirstGuess
from neuler.plan.judge import PhaseCheck
from neuler.plan.jumps import load_notes
from neuler.plan.options import SolveOptions
from neuler.plan.planned import Planned
from neuler.plan.refinement import Refinement
from neuler.plan.report import bounds_of, costs, obstacles_of, totals_of, violations_of
from neuler.plan.transcribe import BlockMaker, Transcription
from neuler.plan.transcribed import Transcribed
from neuler.robot import Robot

PROXIMAL, FEASIBLE, LONG = 1e-2, 1e-4, 150
"""Weight of the distance from the guess of plans with contacts; tolerance of the solve that minimises it; iterations
from which on it ends as soon as limits hold to ten times that: the distance need not be the least."""
ONE_SOLVE = 500
"""Iterations of one solve at most."""


@dataclass(eq=False)
class Attempt:
    """Solves of one transcription: settings, what was spent, and how variables go from one programme to the next."""

    robot: Robot
    transcription: Transcription
    settings: SolveOptions
    first: FirstGuess
    report: Report | None = None
    notes: Sequence[str] = ()
    more: Sequence[BlockMaker] = ()
    """Blocks that are added to every programme."""
    ceiling: float | None = None
    """What the weighted sum of durations and peaks stays below, in the place of being minimised."""

    def __post_init__(self) -> None:
        self.began = self.clock = time.perf_counter()
        self.spent = 0
        self.function_seconds = self.first_solve_seconds = 0.0
        self.first_solve_status = ""
        self.interrupted = self._ended_early = False
        self.refinements = [Refinement(phase) for phase in self.transcription.phases]
        self.total_margins: Array | float = 0.0
        self.tolerance, self.valid_to = self.settings.tolerance, self.settings.valid_to

    @property
    def models(self) -> list[MovingRobot]:
        """Robots of the phases."""
        return [phase.model for phase in self.transcription.phases]

    @property
    def exhausted(self) -> bool:
        """Whether it may not go on: it was interrupted, or has spent its iterations or its time."""
        late = self.settings.seconds is not None and time.perf_counter() - self.clock > self.settings.seconds
        return self.interrupted or late or self.spent >= self.settings.iterations

    def motion(self, profiles: Sequence[Profiles], x: Array) -> SplineMotion:
        """The motion of some variables."""
        return SplineMotion([model.balanced for model in self.models], profiles, x)

    # ---- solves -----------------------------------------------------------------------------------------------

    def guess(self, profiles: Sequence[Profiles]) -> Array:
        """Where the first solve begins."""
        if self.settings.guess is not None:
            return guesses.along(self.transcription, profiles, self.settings.guess)
        return guesses.guessed(self.transcription, profiles, self.first)

    def transcribed(self, profiles: Sequence[Profiles], guess: Array, *, bent_rows: bool = True) -> Transcribed:
        """The programme on profiles, with the rows and margins that checks have found."""
        along = self.motion(profiles, guess)
        margins, left_out = [], []
        for k, (known, mine) in enumerate(zip(self.refinements, profiles, strict=True)):
            known.look(along, k)
            margins.append(known.margins(mine.grid))
            left_out.append(known.left_out(mine.grid))
        return self.transcription.transcribe(
            profiles, guess, margins=margins, left_out=left_out, total_margins=self.total_margins,
            more=self.more, ceiling=self.ceiling, bent_rows=bent_rows,
        )  # fmt: skip

    def feasible(self, profiles: Sequence[Profiles], guess: Array) -> Array:
        """Variables within limits near a guess, where such are looked for first; else, or if none are found, the guess.

        By default they are where contacts make the way from a guess hard.
        """
        weight = self.settings.proximal
        if weight is None:
            standing = any(model.support is not None for model in self.models)
            weight = PROXIMAL if standing and self.settings.guess is None else 0.0
        if not weight:
            return guess
        left_out = [known.left_out(mine.grid) for known, mine in zip(self.refinements, profiles, strict=True)]
        near = self.transcription.transcribe(profiles, guess, left_out=left_out, proximal=weight)
        near.check_count()
        x = near.x(self._solved(near.programme, None, max(self.tolerance, FEASIBLE), until=10.0 * FEASIBLE).x)
        return guesses.filled(self.transcription, profiles, x) if np.isfinite(x).all() else guess

    def solved(
        self, state: Transcribed, warm: Solution | None, tolerance: float, push: float = solvers.PUSH
    ) -> Solution:
        """What the solver finds with the iterations and seconds that are left; ``push``: see ``solvers.solve``."""
        state.check_count()
        return self._solved(state.programme, warm, tolerance, push)

    def stepped(
        self, state: Transcribed, tolerance: float, *, damping: float = 0.0, curvature: Curvature | None = None,
        warm: Solution | None = None, weight: float = 1.0,
    ) -> Solution:  # fmt: skip
        """A step of sequential quadratic programming from a programme's start; see :class:`Linearised`.

        The solution's rows and objective are those of the programme itself.
        """
        programme = state.programme
        with np.errstate(all="ignore"):  # what is not finite ends the step
            model = Linearised(programme, programme.start, damping, curvature, weight)
            found = self._solved(model, warm, tolerance)
            rows, objective = programme.rows(found.x), programme.objective(found.x)
        violation = infeasibility(programme, found.x, rows)
        return replace(found, objective=objective, rows=rows, infeasibility=violation)

    def _solved(
        self, programme: Programme, warm: Solution | None, tolerance: float, push: float = solvers.PUSH,
        until: float | None = None,
    ) -> Solution:  # fmt: skip
        """The solution; ``until``: of a long solve, the violation of rows below which it ends early."""
        left = self.settings.seconds
        left = None if left is None else max(left - (time.perf_counter() - self.clock), 1e-3)
        found = solvers.solve(
            programme,
            self.settings.solver,
            warm=warm,
            tolerance=tolerance,
            iterations=min(max(self.settings.iterations - self.spent, 1), ONE_SOLVE),
            seconds=left,
            progress=self._progress(until),
            options=self.settings.options,
            push=push,
        )
        self.spent += found.iterations
        self.function_seconds += found.function_seconds
        self.solve_ended = time.perf_counter()
        self.interrupted |= found.status == "interrupted" and not self._ended_early
        return found

    def _progress(self, until: float | None) -> Report | None:
        self._ended_early = False
        if self.interrupted:  # while a feasible motion was looked for: what follows ends as it begins
            return lambda progress: False
        if self.report is None and until is None:
            return None
        tell, spent, began = self.report, self.spent, self.began

        def told(progress: Progress) -> bool | None:
            since = replace(progress, iteration=progress.iteration + spent, seconds=time.perf_counter() - began)
            answer = None if tell is None else tell(since)
            if until is not None and progress.iteration >= LONG and progress.infeasibility <= until:
                self._ended_early = answer is not False
                return False
            return answer

        return told

    # ---- variables on other profiles ----------------------------------------------------------------------------

    def carried(self, before: Sequence[Profiles], x: Array, profiles: Sequence[Profiles]) -> Array:
        """Variables on other splines and grids that are nearest to ``x``; the same where the splines are the same."""
        found = np.zeros(self.transcription.size(profiles))
        ends = min(self.models[0].rest_order, 1)
        slacks = self.transcription.slack_places(profiles)
        found[profiles[-1].last :] = x[before[-1].last :]
        motion = self.motion(before, x)
        for k, (phase, old, new) in enumerate(zip(self.transcription.phases, before, profiles, strict=True)):
            P = old.control_points(x)
            same = len(old.knots) == len(new.knots) and np.allclose(old.knots, new.knots)
            if not same:
                P = splines.fitted(old.knots, old.degree, new.knots, ends=ends) @ P
            found[new.first : new.duration] = P.ravel()
            found[new.duration] = x[old.duration]
            if new.dependent:
                found[new.first_dependent : new.first_magnitude] = motion.dependent(k, new.grid).ravel()
            if new.force_count:
                found[new.first_force : new.last] = guesses.carried_forces(old, new, x)
            if same and new.first_force - new.first_magnitude == old.first_force - old.first_magnitude:
                found[new.first_magnitude : new.first_force] = x[old.first_magnitude : old.first_force]
            else:
                guesses.fill_magnitudes(phase, new, found, slacks)
        return found

    # ---- between grid points ----------------------------------------------------------------------------------

    def checked(self, profiles: Sequence[Profiles], x: Array, *, given: bool = True) -> list[PhaseCheck]:
        """Every phase's limits on a fine grid, and undriven forces; ``given``: see :func:`judge.check_phase`."""
        motion = self.motion(profiles, x)
        slacks = {name: float(x[place]) for name, place in self.transcription.slack_places(profiles).items()}
        found = []
        for k, phase in enumerate(self.transcription.phases):
            mine = {name: slacks[name] for name in phase.slacks}
            found.append(judge.check_phase(motion, k, phase, mine, given=given))
        return found

    def total_excess(self, state: Transcribed, x: Array) -> Array:
        """By how much limits of the whole motion are violated, of 1 + |bound|; negative where there is room."""
        totals = self.transcription.totals
        if not totals:
            return np.zeros(0)
        values = totals_of(self.transcription, self.motion(state.profiles, x))
        low, high = (np.array([getattr(limit, side) for limit in totals]) for side in ("lower", "upper"))
        return np.fmax(low - values, values - high) / self.total_sizes

    @property
    def total_sizes(self) -> Array:
        """1 + |bound| of the limits of the whole motion."""
        sides = [(limit.lower, limit.upper) for limit in self.transcription.totals]
        return np.array([1.0 + max((abs(x) for x in pair if np.isfinite(x)), default=0.0) for pair in sides])

    def leave_for_totals(self, excess: Array) -> None:
        """Tighten limits of the whole motion by what they are violated by, :meth:`total_excess`, and a little more."""
        if (excess > self.valid_to).any():
            self.total_margins = self.total_margins + 1.2 * np.maximum(excess, 0.0) * self.total_sizes

    # ---- what came out ----------------------------------------------------------------------------------------

    def costs(self, state: Transcribed, x: Array, checks: Sequence[PhaseCheck] = ()) -> dict[str, float]:
        """The objective of a motion, term by term."""
        slacks = {name: float(x[place]) for name, place in state.slacks.items()}
        return costs(self.transcription, self.motion(state.profiles, x), slacks, checks)

    def planned(self, state: Transcribed, solution: Solution, checks: Sequence[PhaseCheck]) -> Planned:
        """The motion of a solution, with what was found about it."""
        transcription = self.transcription
        x = state.x(solution.x)
        motion = self.motion(state.profiles, x)
        violations = violations_of(transcription, motion, checks, state, solution, self.valid_to)
        worst = max((each.relative for each in violations), default=0.0)
        finite = bool(np.isfinite(x).all())
        valid = smooth = finite and worst <= self.valid_to
        rough = [phase for phase in transcription.phases if phase.as_given is not None and phase.model.friction_width]
        if finite and not valid and rough:
            rounded = self.checked(state.profiles, x, given=False)
            left = violations_of(transcription, motion, rounded, state, solution, self.valid_to)
            smooth = max((each.relative for each in left), default=0.0) <= self.valid_to
        parts = self.costs(state, x, checks)
        several = len(transcription.phases) > 1
        return Planned(
            self.robot,
            motion,
            valid=valid,
            valid_smoothed=smooth,
            rounded=any(phase.rounds_friction for phase in transcription.phases),
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
            first_solve_seconds=self.first_solve_seconds,
            first_solve_status=self.first_solve_status,
            grid_objective=float(solution.objective),
            function_seconds=self.function_seconds,
            solver=solution.solver,
            phases=tuple(phase.title.strip(": ") for phase in transcription.phases) if several else (),
            notes=(*self.notes, *_not_finite(parts), *load_notes(transcription, motion, self.valid_to)),
            compile_seconds=transcription.compile_seconds,
            scenery=obstacles_of(transcription),
            valid_to=self.valid_to,
            **statistics(transcription, checks, violations, state, solution),
        )


def _not_finite(parts: Mapping[str, float]) -> list[str]:
    """A note on terms of the objective that are not finite."""
    names = [name for name, value in parts.items() if not np.isfinite(value)]
    if not names:
        return []
    return [
        f"{', '.join(names)}: not finite along this motion; where it needs one that moves, begin with such: "
        "solve(seed=1) or solve(guess=...)"
    ]

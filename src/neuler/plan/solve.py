"""The solve of a plan: from first guesses through meshes and refinement to a dense check; then the second stage."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from neuler.errors import InputError, NeulerError
from neuler.optimize.programme import Report, Solution
from neuler.plan.attempt import Attempt
from neuler.plan.guess import GUESSES, ROOM, FirstGuess, first_guesses, guessed, slow_share
from neuler.plan.insertion import COARSE, PUSH, follows_switches, insert_switches
from neuler.plan.options import SOLVED, SolveOptions
from neuler.plan.planned import Planned, with_costs
from neuler.plan.polish import is_undecided, polished
from neuler.plan.refine import add_lazy_limits, refine_quadrature, refined
from neuler.plan.transcribe import Transcription
from neuler.plan.transcribed import Transcribed
from neuler.robot import Robot
from neuler.workers.engines import cores
from neuler.workers.jobs import job_of
from neuler.workers.starts import best_of, rank

FINER = 5
"""Grid points in every span of a second attempt."""
FEW = 2
"""First guesses where motors can hold the robot on its way, but hardly."""
WORTH = 2.0
"""Seconds of a solve from which on others go to processes of their own."""


def attempted(attempt: Attempt) -> Planned:
    """Solve on coarse profiles, then on finer ones, from a first guess; then refine the last."""
    transcription = attempt.transcription
    meshes: Sequence[int | None] = attempt.settings.mesh or [None]
    coarse, follows = max(attempt.tolerance, COARSE), follows_switches(attempt)
    transcription.compile()
    attempt.began = attempt.clock = time.perf_counter()
    state: Transcribed | None = None
    solution: Solution | None = None
    for k, size in enumerate(meshes):
        profiles = transcription.profiles(size, attempt.first.grid)
        if state is None or solution is None:
            guess = attempt.feasible(profiles, attempt.guess(profiles))
        else:
            guess = attempt.carried(state.profiles, state.x(solution.x), profiles)
        state = attempt.transcribed(profiles, guess)
        tolerance = coarse if k < len(meshes) - 1 or follows else attempt.tolerance
        solution = None
        if follows and k == 0 and attempt.settings.guess is not None:
            solution = attempt.solved(state, state.without_multipliers(), tolerance, PUSH)
        if solution is None or (solution.status not in SOLVED and not attempt.exhausted):
            solution = attempt.solved(state, None, tolerance)
        if attempt.exhausted:
            break
    assert state is not None
    assert solution is not None
    if attempt.settings.refine:
        state, solution = add_lazy_limits(attempt, state, solution, tolerance)
    attempt.first_solve_seconds, attempt.first_solve_status = attempt.solve_ended - attempt.clock, solution.status
    if follows:
        state, solution = insert_switches(attempt, state, solution)
    state, solution = refine_quadrature(attempt, state, solution)
    return refined(attempt, state, solution)


@dataclass(frozen=True, eq=False)
class PlanSolver:
    """Solves a transcription from several first guesses."""

    robot: Robot
    transcription: Transcription
    again: Callable[[SolveOptions, FirstGuess], Planned]
    """The solve from one first guess, as it goes to other processes."""
    notes: Sequence[str] = ()

    def from_guess(self, settings: SolveOptions, first: FirstGuess, report: Report | None = None) -> Planned:
        """Solve from one first guess, and once more on a finer grid if limits are violated between points."""
        found = attempted(Attempt(self.robot, self.transcription, settings, first, report, self.notes))
        if found.valid or found.status not in SOLVED or not settings.refine or not settings.rounds:
            return found
        left = _left(settings, found)
        if left is None:
            return found
        finer = replace(first, grid=FINER)
        again = attempted(Attempt(self.robot, self.transcription, left, finer, report, self.notes))
        return with_costs(again if rank(again) < rank(found) else found, [found, again])

    def solved(self, settings: SolveOptions, seed: int | None = None, report: Report | None = None) -> Planned:
        """Solve from as many first guesses as are needed, take the best, and polish it."""
        guesses = first_guesses(self.transcription, seed, settings.guesses or len(GUESSES))
        found = [self.from_guess(settings, guesses[0], report)]
        if settings.guesses is None:
            guesses = guesses[: 1 if settings.guess is not None else self._needed(guesses[0], found[0])]
        left = _left(settings, *found, per_guess=True)
        if left is not None and found[0].status != "interrupted":
            found += self._others(left, guesses[1:], found[0].seconds, report)
        best = min(found, key=rank)  # of equal ones the first
        best = self.polished(settings, with_costs(best, found), report)
        if len(found) == 1:
            return best
        note = f"best of {len(found)} first guesses, {sum(each.valid for each in found)} of them valid"
        return replace(best, notes=(*best.notes, note))

    def _others(
        self, settings: SolveOptions, guesses: Sequence[FirstGuess], seconds: float, report: Report | None
    ) -> list[Planned]:
        """Solves from other first guesses: in processes where each takes long enough, else one after the other."""
        if len(guesses) > 1 and seconds > WORTH and cores() > 1 and self._travels():
            try:
                make = functools.partial(_numbered, self.again, settings, {each.number: each for each in guesses})
                starts = best_of(make, [each.number for each in guesses]).starts
            except NeulerError:  # all of them failed
                return []
            return [start.answer for start in starts if start.answer is not None]
        found: list[Planned] = []
        for first in guesses:
            left = _left(settings, *found, per_guess=True)
            if left is None or (found and found[-1].status == "interrupted"):
                break
            with contextlib.suppress(NeulerError), warnings.catch_warnings():  # of loops that a swing cannot close, say
                warnings.simplefilter("ignore", RuntimeWarning)
                found.append(self.from_guess(left, first, report))
        return found

    def _travels(self) -> bool:
        """Whether the plan can go to other processes."""
        try:
            job_of("the plan", self.again, here="start once")
        except InputError:
            return False
        return True

    def _needed(self, first: FirstGuess, found: Planned) -> int:
        """How many first guesses are tried: several where one is not valid, or motors can hardly hold the robot."""
        if not found.valid:
            return 1 if found.status == "interrupted" else len(GUESSES)
        if not is_undecided(self.transcription.phases):
            return 1
        profiles = self.transcription.profiles()
        share = slow_share(self.transcription, profiles, guessed(self.transcription, profiles, first))
        return 1 if share <= ROOM else FEW if share <= 1.0 else len(GUESSES)

    def polished(self, settings: SolveOptions, found: Planned, report: Report | None = None) -> Planned:
        """The smoothest of the motions that are as good as a plan; the plan itself where it need not be."""
        if not (settings.polish and found.valid and settings.refine and is_undecided(self.transcription.phases)):
            return found
        left = _left(settings, found, per_guess=True)
        if left is None or found.status not in SOLVED:
            return found
        attempt = Attempt(self.robot, self.transcription, left, FirstGuess(), report, self.notes)
        more = polished(attempt, found)
        return replace(
            more,
            iterations=found.iterations + attempt.spent,
            first_solve_seconds=found.first_solve_seconds,
            first_solve_status=found.first_solve_status,
            seconds=found.seconds + time.perf_counter() - attempt.began,
            function_seconds=found.function_seconds + attempt.function_seconds,
        )


def _numbered(
    again: Callable[[SolveOptions, FirstGuess], Planned], settings: SolveOptions, guesses: dict[int, FirstGuess], k: int
) -> Planned:
    """A solve from the first guess with a number."""
    return again(settings, guesses[k])


def _left(settings: SolveOptions, *found: Planned, per_guess: bool = False) -> SolveOptions | None:
    """The same settings with the time that is left, and (not ``per_guess``) the iterations; None where nothing is."""
    spent = sum(each.iterations for each in found)
    iterations = settings.iterations if per_guess else settings.iterations - spent
    seconds = settings.seconds
    if seconds is not None:
        seconds -= sum(each.seconds for each in found)
    if iterations <= 0 or (seconds is not None and seconds <= 0.0):
        return None
    return replace(settings, iterations=iterations, seconds=seconds)

"""How to solve a plan: solver, tolerances, and what it may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuler.errors import InputError
from neuler.inputs import number, whole
from neuler.motions.motion import Motion
from neuler.optimize.dense import TOLERANCE

ROUNDS = 12
"""Refinements of the grid."""
ITERATIONS = 2000
"""Iterations of all solves from one first guess."""
MOST_GUESSES = 64
SOLVED = ("optimal", "acceptable")
"""What solvers say of a solution that can be used."""


@dataclass(frozen=True)
class SolveOptions:
    """How to solve a plan."""

    solver: str = "auto"
    tolerance: float = 1e-8
    iterations: int = ITERATIONS
    """Iterations of all solves together at most, from one first guess."""
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
    polish: bool = True
    """Whether a second stage picks the smoothest of the motions that are equally good."""
    switches: bool = True
    """Whether profiles of least time get knots where rows switch between bounds."""
    guesses: int | None = None
    """First guesses that are tried; None: one, and more where it may not be enough."""
    proximal: float | None = None
    """Weight of the distance from the guess, where a motion within limits is looked for first; 0: not at all."""

    def __post_init__(self) -> None:
        whole("solve: iterations", self.iterations, 1, 2**31 - 1)
        whole("solve: rounds", self.rounds, 0)
        for name in ("tolerance", "seconds", "valid_to"):
            value = getattr(self, name)
            if (name != "seconds" or value is not None) and number(f"solve: {name}", value) <= 0.0:
                raise InputError(f"solve: {name} must be above zero, got {value!r}")
        for name in ("refine", "polish", "switches"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"solve: {name} must be True or False, got {getattr(self, name)!r}")
        if self.proximal is not None and number("solve: proximal", self.proximal) < 0.0:
            raise InputError(f"solve: proximal must not be below zero, got {self.proximal!r}")
        if self.guesses is not None:
            whole("solve: guesses", self.guesses, 1, MOST_GUESSES)
        if self.options is not None and not isinstance(self.options, dict):
            raise InputError(f"solve: options must be a dict of the solver's own options, got {self.options!r:.60}")
        if self.guess is not None and not isinstance(self.guess, Motion):
            raise InputError(
                f"solve: guess must be a motion, as a plan, a run or neuler.motions.load(...), got {self.guess!r:.60}"
            )

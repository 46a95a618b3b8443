"""Which families of limits contradict each other: the motion that violates them least, family by family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuler.optimize.relaxed import Relaxed
from neuler.plan.attempt import Attempt
from neuler.plan.options import SOLVED
from neuler.plan.phase_blocks import FromClearance, FromPath
from neuler.plan.planned import Planned
from neuler.plan.rows import LIMIT
from neuler.plan.transcribe import Transcription
from neuler.plan.transcribed import Transcribed

RELAXED = 5e-3
"""Of rows as the solver sees them: families whose rows are relaxed by less hold."""
TOLERANCE = 1e-3
"""Of the solve: relaxations need not be exact."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """What stands in the way of a motion; see :meth:`neuler.plan.Plan.conflicts`."""

    families: Mapping[str, float]
    """Families that do not hold together with the others, the worst first: by how much their rows are relaxed, in units
    of their bounds or of the ``scale`` of a limit. Empty where all hold."""
    nearest: Planned
    """The motion with the least relaxation: within limits where nothing is relaxed, and a start for a solve."""
    found: bool
    """Whether the search ended well: without it families are those of its last motion."""

    def __str__(self) -> str:
        if not self.families:
            return "all limits hold together" if self.found else "no conflict was found, nor a motion within limits"
        listed = ", ".join(f"{name} ({size:.2g})" for name, size in self.families.items())
        return f"limits that cannot hold together near this motion, relaxed in units of their bounds: {listed}"


def conflicts(attempt: Attempt) -> Conflicts:
    """The motion that violates limits least, from the attempt's guess, on its grid; equalities hold."""
    transcription = attempt.transcription
    transcription.compile()
    attempt.clock = attempt.began
    profiles = transcription.profiles()
    guess = attempt.guess(profiles)
    state = transcription.transcribe(profiles, guess)
    group, names = families_of(transcription, state)
    relaxed = Relaxed(state.programme, group)
    solution = attempt._solved(relaxed, None, TOLERANCE)
    sizes = sorted(zip(relaxed.slacks(solution.x), names, strict=True), reverse=True)
    found = {name: float(size) for size, name in sizes if size > RELAXED}
    x = solution.x[: state.programme.n]
    own = replace(
        solution, x=x, rows=state.programme.rows(x), objective=state.programme.objective(x),
        multipliers=np.zeros(state.programme.m), bound_multipliers=(np.zeros(len(x)), np.zeros(len(x))),
        status="infeasible" if found else solution.status,
    )  # fmt: skip
    answer = attempt.planned(state, own, attempt.checked(profiles, state.x(x)))
    told = Conflicts(found, answer, solution.status in SOLVED)
    note = str(told)
    return replace(told, nearest=replace(answer, notes=(*answer.notes, note), optimal=False, valid=False))


def families_of(transcription: Transcription, state: Transcribed) -> tuple[NDArray[np.intp], list[str]]:
    """Of every row of a programme the number of its family of limits, -1 of others; and the families' names."""
    names: dict[str, int] = {}
    parts = []
    for origin, block in zip(state.origins, state.programme.blocks, strict=True):
        number = np.full(block.bounded.shape, -1, dtype=np.intp)
        if isinstance(origin, FromPath):
            rows = transcription.phases[origin.phase].path
            assert rows is not None
            for family in rows.of_kind(LIMIT):
                if family.limit is not None:
                    name = family.limit.family or family.name
                    number[:, family.rows] = names.setdefault(name, len(names))
        elif isinstance(origin, FromClearance):
            family = transcription.phases[origin.phase].clearances[origin.number].family
            number[:] = names.setdefault(
                family.limit.family or family.name if family.limit else family.name, len(names)
            )
        parts += [number[block.bounded], np.full(len(block.totals), -1, dtype=np.intp)]
    rest = state.programme.m - sum(len(part) for part in parts)
    group = np.concatenate([*parts, np.full(rest, -1, dtype=np.intp)])
    group[state.programme.row_lower == state.programme.row_upper] = -1
    return group, list(names)

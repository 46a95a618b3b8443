"""From a problem file to the task that it asks for: one registry of readers, by the table that each belongs to."""

from __future__ import annotations

from collections.abc import Callable

from neuler.errors import FormatError
from neuler.files.problems import Problem
from neuler.files.tasks import Task
from neuler.robot import Robot

__all__ = ["READERS", "read_task", "refuse_others"]


def _simulate(problem: Problem, robot: Robot | None) -> Task:
    from neuler.simulation.problem import read_simulation  # a command needs the packages of its own task alone

    return read_simulation(problem, robot)


def _plan(problem: Problem, robot: Robot | None) -> Task:
    from neuler.plan.problem import read_plan

    return read_plan(problem, robot)


def _gait(problem: Problem, robot: Robot | None) -> Task:
    from neuler.gait.problem import read_gait

    return read_gait(problem, robot)


def _identify(problem: Problem, robot: Robot | None) -> Task:
    from neuler.identify.problem import read_identify

    return read_identify(problem, robot)


READERS: dict[str, Callable[[Problem, Robot | None], Task]] = {
    "simulate": _simulate, "plan": _plan, "gait": _gait, "identify": _identify,
}  # fmt: skip
"""By the table that says what is to be done, which is also the name of the command that does it."""


def read_task(problem: Problem, robot: Robot | None = None, table: str | None = None) -> Task:
    """The task of a problem file, read and checked: ``read_task(problem).run()`` does it.

    The file's table [simulate], [plan], [gait] or [identify] says which task it is; ``table`` says it for a file that
    has none. ``robot`` replaces the table [robot].

    >>> problem = Problem.of_text('''
    ... [robot]
    ... name = "two_link"
    ... [simulate]
    ... duration = 0.5
    ... ''')
    >>> read_task(problem).run().summary()["end"]
    0.5
    """
    return READERS[_table(problem) if table is None else table](problem, robot)


def _table(problem: Problem) -> str:
    found = [table for table in READERS if table in problem.table]
    if len(found) != 1:
        choice, got = " or ".join(f"[{table}]" for table in READERS), " and ".join(f"[{table}]" for table in found)
        raise FormatError(
            f"{problem.label}: expected one of the tables {choice}, which says what is to be done; the file has "
            f"{got or 'none of them'}"
        )
    return found[0]


def refuse_others(problem: Problem, table: str) -> None:
    """Refuse a problem file that lacks the table of a task and has that of another, or is that of a study."""
    if "study" in problem.table:
        raise problem.error(("study", ""), "the file is that of a study; run 'neuler study'")
    other = next((name for name in READERS if name in problem.table and table not in problem.table), None)
    if other is not None:
        raise problem.error(
            (other, ""), f"the file is a problem of 'neuler {other}', and has no table [{table}]; run 'neuler {other}'"
        )

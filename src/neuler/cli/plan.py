"""``neuler plan``: a motion that keeps its limits and costs least, from a problem file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import note, positive
from neuler.cli.tasks import JOINTS, SUFFIX, Values, add_task_flags, read_problem, task_values, tell, toml_value
from neuler.errors import InputError
from neuler.plain import columns, number, safe, shown

if TYPE_CHECKING:
    from neuler.plan.planned import Planned
    from neuler.plan.problem import PlanTask

HELP = """\
A problem file (TOML) has the tables [robot], [plan], [objective], [start], [goal], [[limit]], [[via]], [[phase]],
[[obstacle]], [[ball]], [output]: see docs/planning.md. --set changes or adds a value of any of them.

  neuler plan examples/barman_4_1.toml -o out/
  neuler plan problem.toml --set plan.control_points=40 --set objective.effort=0.01 -o out/
  neuler plan problem.toml --starts 8 --seed 1 --json > summary.json

It ends with 0 where the plan is valid, with 1 where it is not, with 130 when interrupted, the best so far written.
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    import argparse

    told = "plan a motion: least time, effort or force, within limits"
    command = commands.add_parser(
        "plan", help=told, description=f"{told[0].upper()}{told[1:]}.", epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.add_argument("problem", metavar="PROBLEM.toml", help="a problem file")
    command.add_argument("--solver", metavar="NAME", help="auto (default), ipopt, ...")
    command.add_argument("--starts", type=positive, metavar="N", help="solves from so many starts, the best is kept")
    command.add_argument("--seed", metavar="N", help="of the starts, a whole number")
    add_task_flags(command, "csv, npz, json (all three by default), parquet")
    command.add_argument("--step", type=float, metavar="S", help="between rows of tables, seconds; default: 201 rows")
    command.add_argument("--replay", action="store_true", help="simulate the plan's forces, and tell where they lead")
    command.set_defaults(run=run)


def run(chosen: Any) -> int:
    """Read, solve, write, tell."""
    from neuler.plan.problem import read_plan

    if not chosen.problem.endswith(SUFFIX):
        raise InputError(f"expected a problem file that ends in {SUFFIX}, got {chosen.problem!r}; see docs/planning.md")
    task = read_plan(read_problem(chosen.problem, "plan", lambda: _values(chosen)))
    for told in task.notes:
        note(told)
    found = task.run(progress=sys.stderr.isatty())
    replayed = _replayed(found) if chosen.replay else {}
    tell(
        chosen, task, found, "plan", lambda: _told(found, task, replayed), more=replayed, figures=found.figures,
        save=lambda path: _saved(found, path, chosen.step),
    )  # fmt: skip
    if found.status == "interrupted":
        note("interrupted: the best so far is kept")
        return 130
    return 0 if found.valid else 1


def _values(chosen: Any) -> Values:
    """Keys and values of all flags that are given."""
    given = [(key, getattr(chosen, key)) for key in ("solver", "starts", "seed")]
    found: Values = [
        (["plan", key], toml_value(value) if key == "seed" else value) for key, value in given if value is not None
    ]
    return found + task_values(chosen, "plan.control_points=40")


def _saved(found: Planned, path: Path, step: float | None) -> bool:
    """Write a table; False where the robot has no place in it."""
    try:
        found.save(path, step)
    except InputError as error:  # a robot that JointTrajectory has no place for
        if path.suffix != ".json":
            raise
        note(str(error))
        return False
    return True


def _told(found: Planned, task: PlanTask, replayed: dict[str, Any]) -> str:
    lines = [task.title, str(found), _table(found)]
    return "\n".join([*lines, *(_replay_told(facts) for facts in replayed.values())])


def _table(found: Planned) -> str:
    """Of every force the largest, its rate and its limits."""
    import numpy as np

    from neuler.motions.pictures import limits

    samples = found.sample(count=2001)
    names = [name.removeprefix("tau_") for name in samples.names["tau"]]
    lower, upper = limits(found, "torque", names)
    rows = []
    for k, name in enumerate(names[:JOINTS]):
        sides = (float(samples.tau[:, k].min()), float(samples.tau[:, k].max()), float(lower[k]), float(upper[k]))
        most = float(np.abs(samples.tau_rate[:, k]).max())
        rows.append([name, *(number(x, 5) for x in sides), number(most, 4)])
    more = f"\nand {len(names) - JOINTS} more" if len(names) > JOINTS else ""
    return columns(("joint", "least force", "largest", "lower limit", "upper", "largest rate"), safe(rows)) + more


def _replayed(found: Planned) -> dict[str, Any]:
    """Where the forces alone lead."""
    import numpy as np

    run = found.replay(audit=False)
    error = run.error
    assert error is not None
    ended = bool(run.status == 0)
    facts: dict[str, Any] = {"ended": ended, "largest_error": None, "end_error": None}
    if ended:
        facts |= {"largest_error": float(np.abs(error).max()), "end_error": float(np.abs(error[-1]).max())}
    return {"replay": facts | {"events": [shown(str(event)) for event in run.events]}}


def _replay_told(facts: dict[str, Any]) -> str:
    if not facts["ended"]:
        return f"replay of the forces: {'; '.join(facts['events'])}"
    return (
        f"replay of the forces: at most {number(facts['largest_error'], 2)} from the plan (rad, m), "
        f"{number(facts['end_error'], 2)} at its end"
    )

"""``neuler plan``: a motion that keeps its limits and costs least, from a problem file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import nearby, note, positive, print_json, set_value, toml_value
from neuler.errors import InputError, NeulerError
from neuler.plain import columns, number, safe, shown

if TYPE_CHECKING:
    from neuler.plan.planned import Planned
    from neuler.plan.problem import Planning

SUFFIX = ".toml"
JOINTS = 40
"""Forces that are listed."""
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
    command.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="a value of the problem file"
    )
    command.add_argument("-o", "--output", metavar="FOLDER", help="write tables, figures and a page there")
    command.add_argument("--tables", nargs="+", metavar="KIND", help="csv, npz, json (all three by default), parquet")
    command.add_argument("--step", type=float, metavar="S", help="between rows of tables, seconds; default: 201 rows")
    command.add_argument("--no-figures", action="store_true", help="draw nothing")
    command.add_argument("--no-page", action="store_true", help="write no page that plays the motion")
    command.add_argument("--replay", action="store_true", help="simulate the plan's forces, and tell where they lead")
    command.add_argument("--json", action="store_true", help="print a summary as JSON, and nothing else")
    command.set_defaults(run=run)


def run(chosen: Any) -> int:
    """Read, solve, write, tell."""
    from neuler.files.problems import Problem
    from neuler.plan.problem import read_plan

    if not chosen.problem.endswith(SUFFIX):
        raise InputError(f"expected a problem file that ends in {SUFFIX}, got {chosen.problem!r}; see docs/planning.md")
    problem = Problem.read(chosen.problem)
    for keys, value in _flags(chosen):
        set_value(problem.table, keys, value)
    task = read_plan(problem)
    if chosen.output is not None:
        task.output.folder = Path(chosen.output).absolute()
    for told in task.notes:
        note(told)
    found = task.solve(progress=sys.stderr.isatty())
    replayed = _replayed(found) if chosen.replay else {}
    files = _write(found, task, chosen.step)
    if chosen.json:
        listed = {"title": shown(task.title), **found.summary(), **replayed}
        print_json({**listed, "files": [os.fspath(path) for path in files]})
    else:
        print(f"{task.title}\n{found}\n{_table(found)}")
        if replayed:
            print(_told(replayed["replay"]))
        for path in files:
            print(f"wrote {shown(os.fspath(path))}")
    if found.status == "interrupted":
        note("interrupted: the best so far is kept")
        return 130
    return 0 if found.valid else 1


def _flags(chosen: Any) -> list[tuple[list[str], Any]]:
    """Keys and values of all flags that are given."""
    found: list[tuple[list[str], Any]] = []
    for key in ("solver", "starts", "seed"):
        value = getattr(chosen, key)
        if value is not None:
            found.append((["plan", key], toml_value(value) if key == "seed" else value))
    for text in chosen.set:
        key, equals, value = text.partition("=")
        keys = [part.strip() for part in key.split(".")]
        if not equals or not all(keys):
            raise InputError(f"--set expects TABLE.KEY=VALUE, as plan.control_points=40, got {text!r}")
        found.append((keys, toml_value(value)))
    if chosen.tables is not None:
        found.append((["output", "tables"], chosen.tables))
    found += [(["output", key], False) for key in ("figures", "page") if getattr(chosen, f"no_{key}")]
    return found


def _write(found: Planned, task: Planning, step: float | None) -> list[Path]:
    """Tables, figures and the page, where a folder is named."""
    from neuler.view.space import plotting, png

    folder = task.output.folder
    if folder is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in task.output.tables:
        path = folder / f"plan.{kind}"
        try:
            found.save(path, step)
        except InputError as error:  # a robot that JointTrajectory has no place for
            if kind != "json":
                raise
            note(str(error))
            continue
        written.append(path)
    if task.output.figures:
        try:
            figures = {"plan": found.plot(figure=plotting()()), **found.figures()}
        except NeulerError as error:
            note(f"no figures: {error}")
            figures = {}
        for name, figure in figures.items():
            written.append(folder / f"{name}.png")
            written[-1].write_bytes(png(figure))
    if task.output.page:
        written.append(folder / "plan.html")
        found.page(written[-1], title=task.title)
    return [nearby(path) for path in written]


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


def _told(facts: dict[str, Any]) -> str:
    if not facts["ended"]:
        return f"replay of the forces: {'; '.join(facts['events'])}"
    return (
        f"replay of the forces: at most {number(facts['largest_error'], 2)} from the plan (rad, m), "
        f"{number(facts['end_error'], 2)} at its end"
    )

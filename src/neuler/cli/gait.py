"""``neuler gait``: how a person walks, from a speed and the length of a step or from a problem file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import note
from neuler.cli.tasks import (
    SUFFIX,
    Values,
    add_task_flags,
    change,
    make_folder,
    output_folder,
    read_problem,
    task_values,
    tell,
    toml_value,
    write_figures,
)  # fmt: skip
from neuler.errors import InputError
from neuler.plain import shown

if TYPE_CHECKING:
    from neuler.files.problems import Problem
    from neuler.gait.prediction import Prediction
    from neuler.gait.problem import GaitTask

HELP = """\
A problem file (TOML) has the tables [person], [gait], [events], [weights], [output]: see docs/gait.md. --set changes or
adds a value of any of them; all other flags do the same for one value each.

  neuler gait --speed 1.2 --step 0.6 -o out/
  neuler gait examples/walk.toml -o out/
  neuler gait walk.toml --set gait.clearance=0.02 --starts 4 --json > summary.json

It ends with 0 where the walk is valid, with 1 where it is not, with 130 when interrupted, the best so far written.
"""
_GAIT = ("speed", "step", "control_points", "seconds", "starts", "seed")
_PERSON = ("stature", "mass", "sex")
_TEXTS = ("sex",)


def add(commands: Any) -> None:
    """The command and its flags."""
    import argparse

    told = "predict how a person walks: angles, torques, forces of the ground and in joints"
    command = commands.add_parser(
        "gait", help=told, description=f"{told[0].upper()}{told[1:]}.", epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.add_argument("problem", nargs="?", metavar="PROBLEM.toml", help="a problem file; default: the flags alone")
    command.add_argument("--speed", metavar="M/S", help="of walking; default 1.2")
    command.add_argument("--step", metavar="M", help="length of a step; default 0.6")
    command.add_argument("--stature", metavar="M", help="of the person; default 1.75")
    command.add_argument("--mass", metavar="KG", help="of the person; default 75")
    command.add_argument("--sex", help="male (default) or female")
    command.add_argument("--control-points", metavar="N", help="of each angle over a step; default 17")
    command.add_argument("--seconds", metavar="S", help="that the solver may take, compiling apart")
    command.add_argument("--starts", metavar="N", help="solves from so many starts, the best is kept")
    command.add_argument("--seed", metavar="N", help="of the starts, a whole number")
    command.add_argument(
        "--no-refine", action="store_true", help="leave out the search for limits that are violated between grid points"
    )
    add_task_flags(command, "csv, mot, sto, npz (all four by default), parquet")
    command.set_defaults(run=run)


def run(chosen: Any) -> int:
    """Read, solve, write, tell."""
    from neuler.gait.problem import read_gait

    task = read_gait(_problem(chosen))
    for told in task.notes:
        note(told)
    folder = output_folder(chosen, task)
    if folder is not None:
        make_folder(folder)
    found = task.run(progress=sys.stderr.isatty())
    tell(
        chosen, task, found, "walk", lambda: f"{shown(task.title)}\n{found}",
        write=lambda folder: _write(folder, task, found),
    )  # fmt: skip
    if found.planned.status == "interrupted":
        note("interrupted: the best so far is kept")
        return 130
    return 0 if found.valid else 1


def _problem(chosen: Any) -> Problem:
    """The problem file, or an empty one, with what the flags say."""
    from neuler.files.problems import Problem

    if chosen.problem is None:
        return change(Problem("command line", Path.cwd(), {}), _values(chosen))
    if not chosen.problem.endswith(SUFFIX):
        raise InputError(f"expected a problem file that ends in {SUFFIX}, got {chosen.problem!r}; see docs/gait.md")
    return read_problem(chosen.problem, "gait", lambda: _values(chosen))


def _values(chosen: Any) -> Values:
    """Keys and values of all flags that are given."""
    found: Values = []
    for table, keys in (("gait", _GAIT), ("person", _PERSON)):
        for key in keys:
            value = getattr(chosen, key)
            if value is not None:
                found.append(([table, key], value if key in _TEXTS else toml_value(value)))
    if chosen.no_refine:
        found.append((["gait", "refine"], False))
    return found + task_values(chosen, "gait.clearance=0.02")


def _write(folder: Path, task: GaitTask, found: Prediction) -> list[Path]:
    """Tables, figures, the page and the summary."""
    from neuler.gait.prediction import FILES

    found.save(folder, task.output.tables)
    written = [folder / FILES[kind] for kind in task.output.tables]
    if task.output.figures:
        written += write_figures(folder, found.figures)
    if task.output.page:
        written.append(folder / "walk.html")
        found.page(written[-1], title=task.title)
    written.append(folder / "summary.json")
    summary = {"title": shown(task.title), **found.summary()}
    written[-1].write_text(json.dumps(summary, indent=1, allow_nan=False), "utf-8")
    return written

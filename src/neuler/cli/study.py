"""``neuler study``: the task of a problem file with many values, on all cores or on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import note, print_json
from neuler.cli.tasks import SUFFIX, assigned, change, nearby, toml_value, write_figures
from neuler.errors import InputError
from neuler.plain import shown

if TYPE_CHECKING:
    from neuler.studies import Study
    from neuler.studies.problems import StudyFile

GAIT = "gait"
"""The table of walks."""
HELP = """\
A study file (TOML) is a problem file of 'neuler simulate', 'neuler plan', 'neuler gait' or 'neuler identify' with a
table [study]: which values change ([study.settings]), and how they are drawn: see docs/studies.md. --set changes or
adds a value of any table.

  neuler study study.toml -o out/
  neuler study study.toml -o out/ --workers 4 --timeout 60
  neuler study study.toml -o out/ --scheduler tcp://host:8786

An interrupted study resumes when the same command is run again. The exit status is 0, also if rows failed (with
--strict 1 if one did), and 130 when interrupted; what was computed is stored.
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    import argparse

    told = "run a simulation, a plan, a walk or an identification with many values, on all cores or on a cluster"
    command = commands.add_parser(
        "study", help=told, description=f"{told[0].upper()}{told[1:]}.", epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.add_argument("study", metavar="STUDY.toml", help="a study file")
    command.add_argument("-o", "--output", metavar="FOLDER", help="where the results go; a study there goes on")
    command.add_argument("--workers", metavar="N", help="processes; default: one a core; 0: this one")
    command.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, tcp://host:8786, instead of processes here")
    command.add_argument("--seed", metavar="N", help="of random settings")
    command.add_argument("--chunk", metavar="N", help="rows of a part file; default: about a second's work")
    command.add_argument("--timeout", metavar="S", help="seconds that a row may take")
    command.add_argument("--memory", metavar="BYTES", help="that the process of a row may take (Linux)")
    command.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="a value of the study file"
    )
    command.add_argument("--no-figures", action="store_true", help="draw nothing")
    command.add_argument("--json", action="store_true", help="print a summary as JSON, and nothing else")
    command.add_argument("--strict", action="store_true", help="exit with 1 where a row is not ok")
    command.set_defaults(run=run)


def run(chosen: Any) -> int:
    """Read, run, draw, tell."""
    from neuler.files.problems import Problem
    from neuler.studies import StudyStopped, study
    from neuler.studies.problems import read_study

    if not chosen.study.endswith(SUFFIX):
        raise InputError(f"expected a study file that ends in {SUFFIX}, got {chosen.study!r}; see docs/studies.md")
    values = assigned("--set", chosen.set, "TABLE.KEY=VALUE", "simulate.step=1e-3")
    for key in ("workers", "scheduler", "seed", "chunk", "timeout", "memory"):
        if getattr(chosen, key) is not None:
            values.append((["study", key], toml_value(getattr(chosen, key))))
    asked = read_study(change(Problem.read(chosen.study), values))
    folder = asked.folder if chosen.output is None else Path(chosen.output)
    if folder is None:
        raise InputError("name a folder for the results: -o FOLDER, or 'folder' in the table [study]")
    stopped = False
    try:
        found = study(asked.task, asked.settings, folder, **asked.options)
    except StudyStopped as error:
        found, stopped = error.study, True
    _tell(chosen, asked, found)
    if stopped:
        note(f"interrupted: {found.done:,} of {found.rows:,} rows are kept; the same command goes on")
        return 130
    return int(chosen.strict and found.counts.get("ok", 0) < found.rows)


def _tell(chosen: Any, asked: StudyFile, found: Study) -> None:
    """Write the summary and the figures beside the parts, and print what came out."""
    summary = {"title": shown(asked.title), **found.summary()}
    written = [found.folder / "summary.json"]
    written[0].write_text(json.dumps(summary, indent=1, allow_nan=False), "utf-8")
    if not chosen.no_figures:
        written += write_figures(found.folder, lambda: {"study": found.plot(asked.plot)})
        if GAIT in asked.task.table:
            written += write_figures(found.folder, lambda: _walks(found))
    files = [str(nearby(path.absolute())) for path in written]
    if chosen.json:
        print_json(summary | {"files": files})
        return
    print(f"{shown(asked.title)}\n{found}")
    for path in files:
        print(f"wrote {shown(path)}")


def _walks(found: Study) -> dict[str, Any]:
    """The figure of a study of walks: peak forces in the joints of a leg."""
    from neuler.gait.study_figure import peak_forces

    return {"peak_forces": peak_forces(found.table(), found.names)}

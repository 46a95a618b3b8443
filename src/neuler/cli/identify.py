"""``neuler identify``: a robot's parameters from logs of its motion, from flags or from a problem file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import load_robot, note, robot_command
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
from neuler.cli.words import in_flags
from neuler.errors import InputError
from neuler.plain import shown

if TYPE_CHECKING:
    from neuler.files.problems import Problem
    from neuler.identify.problem import IdentifyTask
    from neuler.identify.result import Identification

HELP = """\
A log is a table (.csv, .npz, .parquet) with columns t, q_<joint>, tau_<joint>; --map and --units describe other names
and units: see docs/identify-logs.md. A problem file (TOML) has the tables [robot], [identify], [[log]], [reading],
[output]: see docs/identify-command.md. --set changes or adds any of their values; other flags do so for one each.

  neuler identify monday.csv arm.urdf -o out/
  neuler identify monday.csv tuesday.csv puma560 --held-out wednesday.csv --method consistent -o out/
  neuler identify log.csv arm.urdf --units t=ms q=deg tau=mA --torque-constant 0.2 --ratio 100,100,80 -o out/
  neuler identify log.csv panda.urdf --fixed panda_finger_joint1=0.02 --offsets -o out/
  neuler identify problem.toml -o out/ --json > summary.json

The exit status is 0, also if the motion excites badly, which a note reports (with --strict 1 then); it is 1 if the
estimator does not converge.
"""
_FIT = ("method", "cutoff", "torque_cutoff", "smoothing", "decimate", "trim", "derivatives", "dead_zone")
_TEXTS = ("method", "smoothing", "derivatives")
_READING = {"torque_constant": "torque_constants", "ratio": "ratios", "rate": "rate"}
_ROBOT_FLAGS = ("mimic", "floating", "value", "values", "argument", "packages", "missing", "independent")


def add(commands: Any) -> None:
    """The command and its flags."""
    command = robot_command(
        commands, "identify", run, "find a robot's parameters from logs of its motion and forces", HELP,
        logs="logs (.csv, .npz, .parquet), before the robot; none before a problem file (.toml)",
    )  # fmt: skip
    command.add_argument("--held-out", action="append", default=[], metavar="LOG", help="not fitted, for validation")
    command.add_argument(
        "--instrument",
        action="append",
        default=[],
        metavar="LOG",
        help="the same motion, run again, for --method instrumental",
    )
    command.add_argument(
        "--columns", nargs="+", metavar="NAME", help="columns to identify; default: links friction rotors"
    )
    command.add_argument(
        "--offsets", nargs="?", const="", metavar="JOINT,...",
        help="look for constant offsets of torques, too; alone: of all joints",
    )  # fmt: skip
    command.add_argument(
        "--fixed", nargs="+", action="extend", default=[], metavar="JOINT[=X]",
        help="joints that the log does not have, held at X (rad or m); default: their neutral position",
    )  # fmt: skip
    command.add_argument("--method", metavar="NAME", help="weighted (default), ordinary, reweighted, consistent, ...")
    command.add_argument("--cutoff", metavar="HZ", help="of the positions' filter, none for no filter; default: chosen")
    command.add_argument("--torque-cutoff", metavar="HZ", help="of the filter of both sides; default: the same")
    command.add_argument("--smoothing", metavar="KIND", help="butterworth (default) or spline")
    command.add_argument("--decimate", metavar="K", help="keep every K-th row after the filter")
    command.add_argument("--trim", metavar="S", help="seconds cut off at both ends; default: the filter's transient")
    command.add_argument("--dead-zone", metavar="V,...", help="speeds below which a joint rests; default: chosen")
    command.add_argument("--derivatives", metavar="KIND", help="positions (default) or measured: velocities of the log")
    command.add_argument(
        "--map", nargs="+", action="extend", default=[], metavar="COLUMN=NAME",
        help="what columns are: pos1=q1, or with a factor pos1=q1,-1",
    )  # fmt: skip
    command.add_argument(
        "--units", nargs="+", action="extend", default=[], metavar="KIND=UNIT", help="where not SI: t=ms q=deg tau=mA"
    )
    command.add_argument("--torque-constant", metavar="K,...", help="N m/A at the motors, for forces that are currents")
    command.add_argument("--ratio", metavar="N,...", help="of gears, for forces of motors")
    command.add_argument("--rate", metavar="HZ", help="of logs without times")
    command.add_argument("--no-check", action="store_true", help="go on where a log cannot be right, with a note")
    add_task_flags(command, "of the forces over time: npz (default), csv, parquet")
    command.add_argument(
        "--strict", action="store_true", help="exit with 1 where values cannot be relied on one by one"
    )


def run(chosen: Any) -> int:
    """Read, fit, write, tell."""
    from neuler.identify.problem import read_identify

    problem, robot = _problem(chosen)
    task = read_identify(problem, robot)
    if robot is None:
        for told in task.notes:
            note(told)
    folder = output_folder(chosen, task)
    if folder is not None:
        make_folder(folder)
    found = task.run(progress=sys.stderr.isatty())
    lost: list[str] = []
    for told in found.notes:
        note(in_flags(told))
    tell(
        chosen, task, found, "identify", lambda: f"{shown(task.title)}\n{found}",
        write=lambda folder: _write(folder, task, found, lost),
    )  # fmt: skip
    for told in lost:
        note(told)
    return int(not (found.valid if chosen.strict else found.converged))


def _problem(chosen: Any) -> tuple[Problem, Any]:
    """The problem file, or an empty one, with what the flags say; and the robot where it is not in the file."""
    from neuler.files.problem_robots import NEUTRAL
    from neuler.files.problem_robots import held as held_still
    from neuler.files.problems import Problem

    if chosen.robot.endswith(SUFFIX):
        if lost := [flag for flag in _ROBOT_FLAGS if getattr(chosen, flag)]:
            raise InputError(f"--{lost[0]} is for robot files; a problem file has it in its table [robot]")
        if chosen.logs:
            raise InputError(
                f"{chosen.robot!r} is a problem file, with its logs in tables [[log]]; leave {chosen.logs[0]!r} out"
            )
        held = [(["robot", "fixed", name], NEUTRAL if x is None else x) for name, x in _fixed(chosen.fixed).items()]
        problem = read_problem(chosen.robot, "identify", lambda: [*_values(chosen), *held])
        _add_logs(problem, chosen)
        return problem, None
    from neuler.files.columns import SUFFIXES

    if chosen.robot.lower().endswith(SUFFIXES):
        raise InputError(
            f"{chosen.robot!r} is a log, and the robot comes last: neuler identify LOG ... ROBOT -o FOLDER"
        )
    if not chosen.logs:
        raise InputError(f"name a log before the robot: neuler identify LOG ... {chosen.robot} -o FOLDER")
    robot = load_robot(chosen)
    if chosen.fixed:
        robot = held_still(robot, _fixed(chosen.fixed))
    problem = change(Problem("command line", Path.cwd(), {"identify": {}}), _values(chosen))
    _add_logs(problem, chosen)
    return problem, robot


def _add_logs(problem: Problem, chosen: Any) -> None:
    """Tables [[log]] of the logs that are arguments."""
    given: list[dict[str, Any]] = [{"file": str(Path(name).absolute())} for name in chosen.logs]
    given += [{"file": str(Path(name).absolute()), "held_out": True} for name in chosen.held_out]
    given += [{"file": str(Path(name).absolute()), "instrument": True} for name in chosen.instrument]
    if given:
        there = problem.table.setdefault("log", [])
        problem.table["log"] = [*(there if isinstance(there, list) else [there]), *given]


def _values(chosen: Any) -> Values:
    """Keys and values of all flags that are given."""
    found: Values = []
    for key in _FIT:
        value = getattr(chosen, key)
        if value is not None:
            found.append((["identify", key], value if key in _TEXTS else toml_value(value)))
    if chosen.columns is not None:
        found.append((["identify", "columns"], chosen.columns))
    if chosen.offsets is not None:
        named = [name.strip() for name in chosen.offsets.split(",") if name.strip()]
        found.append((["identify", "offsets"], named or True))
    if chosen.no_check:
        found.append((["identify", "check"], False))
    for flag, key in _READING.items():
        if getattr(chosen, flag) is not None:
            found.append((["reading", key], toml_value(getattr(chosen, flag))))
    found += [(["reading", "units", name], unit) for name, unit in _pairs("--units", chosen.units, "q=deg")]
    for name, target in _pairs("--map", chosen.map, "pos1=q1"):
        called, comma, factor = target.partition(",")
        found.append((["reading", "map", name], [called.strip(), toml_value(factor)] if comma else target))
    return found + task_values(chosen, "identify.cutoff=8")


def _fixed(texts: list[str]) -> dict[str, Any]:
    """Joints that are held, and where: a number or several; None where nothing is said."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        at = toml_value(value) if equals else None
        if not name.strip() or isinstance(at, str | bool):
            raise InputError(f"--fixed expects JOINT or JOINT=NUMBER, as finger=0.02, got {text!r}")
        found[name.strip()] = at
    return found


def _pairs(flag: str, texts: list[str], example: str) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{flag} expects NAME=VALUE, as {example}, got {text!r}")
        found.append((name.strip(), value.strip()))
    return found


def _write(folder: Path, task: IdentifyTask, found: Identification, lost: list[str]) -> list[Path]:
    """The robot, parameters, forces, figure, page and summary."""
    written, told = found.save_robot(folder)
    lost += told
    written.append(folder / "parameters.csv")
    found.save(written[-1])
    for kind in task.output.tables:
        written.append(folder / f"forces.{kind}")
        found.save_forces(written[-1])
    if task.output.figures:
        written += write_figures(folder, lambda: {"forces": _figure(found)})
    if task.output.page:
        written.append(folder / "index.html")
        found.page(written[-1], title=task.title)
    written.append(folder / "summary.json")
    summary = {"title": shown(task.title), **found.summary()}
    written[-1].write_text(json.dumps(summary, indent=1, allow_nan=False), "utf-8")
    return written


def _figure(found: Identification) -> Any:
    from neuler.view.space import plotting

    return found.plot(figure=plotting()())

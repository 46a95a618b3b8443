"""``neuler simulate``: a robot's motion under a controller, from flags or from a problem file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import load_robot, note, robot_command
from neuler.cli.tasks import (
    JOINTS,
    SUFFIX,
    Values,
    add_task_flags,
    assigned,
    change,
    read_problem,
    task_values,
    tell,
    toml_value,
)  # fmt: skip
from neuler.errors import InputError
from neuler.plain import columns, number, safe, shown

if TYPE_CHECKING:
    from neuler.files.problems import Problem
    from neuler.simulation.problem import SimulationTask
    from neuler.simulation.run import Run

HELP = """\
A problem file (TOML) has the tables [robot], [controller], [reference], [simulate], [[load]], [output]: see
docs/simulation.md. --set changes or adds a value of any of them; all other flags do the same for one value each.

  neuler simulate puma560 --duration 2 -o out/
  neuler simulate puma560 --controller computed_torque --gain kp=100 --goal 0.3,-0.2,0.1,0,0,0 --duration 3 -o out/
  neuler simulate arm.urdf --controller gravity_pd --gain kp=200 --gain kd=30 --duration 5 --set load.frame=tool0 \\
      --set load.force=[0,0,-10] -o out/
  neuler simulate problem.toml -o out/ --json > summary.json
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    command = robot_command(commands, "simulate", run, "simulate a robot's motion under a controller", HELP)
    command.add_argument("--controller", metavar="NAME", help="computed_torque, gravity_pd, ...; default: no forces")
    command.add_argument(
        "--gain", action="append", default=[], metavar="K=V", help="of the controller: kp=100, kd=20,5"
    )
    command.add_argument("--goal", metavar="Q,...", help="positions that the controller leads to; default: neutral")
    command.add_argument("--duration", metavar="S", help="seconds to simulate")
    command.add_argument("--step", metavar="S", help="of the integrator, seconds; default 0.001")
    command.add_argument("--method", help="rk4 (default), euler, dop853, radau, ...")
    command.add_argument("--every", metavar="K", help="keep every K-th state")
    command.add_argument(
        "--limits", help="ignore (default), stop (a run ends at a joint's limit) or hold (the joint stops)"
    )
    command.add_argument("--effort", help="ignore (default), or clip: forces are cut off at joints' limits of effort")
    command.add_argument("--q0", metavar="Q,...", help="positions to start from; default: neutral")
    command.add_argument("--qd0", metavar="V,...", help="velocities to start with; default: rest")
    add_task_flags(command, "csv (default), npz, parquet")
    command.add_argument("--strict", action="store_true", help="exit with 1 where a run ends before its time")


def run(chosen: Any) -> int:
    """Read, simulate, write, tell."""
    from neuler.simulation.problem import read_simulation
    from neuler.simulation.simulator import Interrupted

    problem = _problem(chosen)
    task = read_simulation(problem, None if chosen.robot.endswith(SUFFIX) else load_robot(chosen))
    for told in task.notes:
        note(told)
    stopped = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what is worth saying is in the run's notes
        try:
            found = task.run(progress=True)
        except Interrupted as error:
            found, stopped = error.run, True
    for told in found.notes:
        note(told)
    tell(chosen, task, found, "run", lambda: _told(found, task))
    if stopped:
        note(f"interrupted at {number(float(found.t[-1]))} s: what was computed is kept")
        return 130
    return int(chosen.strict and bool(found.events))


def _problem(chosen: Any) -> Problem:
    """The problem file, or an empty one, with what the flags say."""
    from neuler.files.problems import Problem

    if not chosen.robot.endswith(SUFFIX):
        return change(Problem("command line", Path.cwd(), {}), _values(chosen))
    problem = read_problem(chosen.robot, "simulate", lambda: _values(chosen))
    if lost := [flag for flag in _ROBOT_FLAGS if getattr(chosen, flag)]:
        raise InputError(f"--{lost[0]} is for robot files; a problem file has it in its table [robot]")
    return problem


_ROBOT_FLAGS = ("mimic", "floating", "value", "values", "argument", "packages", "missing", "independent")


def _values(chosen: Any) -> Values:
    """Keys and values of all flags that are given."""
    found: Values = []
    if chosen.controller is not None:
        found.append((["controller", "kind"], chosen.controller))
    for key in ("duration", "step", "method", "every", "limits", "effort", "q0", "qd0"):
        if getattr(chosen, key) is not None:
            found.append((["simulate", key], toml_value(getattr(chosen, key), key in ("q0", "qd0"))))
    if chosen.goal is not None:
        found += [(["reference", "kind"], "constant"), (["reference", "q"], toml_value(chosen.goal, True))]
    found += assigned("--gain", chosen.gain, "K=V", "kp=100", "controller")
    return found + task_values(chosen, "simulate.step=1e-3")


def _told(found: Run, task: SimulationTask) -> str:
    """A compact table, and what there is to say."""
    import numpy as np

    facts = found.summary()
    rows = f"{facts['rows']} runs, " if found.batch else ""
    law = getattr(task.controller, "name", "no forces" if task.controller is None else "constant forces")
    lines = [f"{task.title}: {rows}{number(found.t[0])} to {number(found.t[-1])} s by {found.method}, {law}"]
    lines.append(_table(facts, task.controller is not None))
    energy = facts["energy"]
    lines.append(f"energy {number(energy['first'], 4)} J at first, {number(energy['least'], 4)} to "
                 f"{number(energy['most'], 4)} J; drift {number(energy['largest_drift'], 2)} J, "
                 f"{number(energy['largest_relative_drift'], 2)} of what moved")  # fmt: skip
    if np.any(found.gap > 0):
        lines.append(f"loops open by at most {number(facts['largest_loop_gap'], 2)} (m, rad)")
    lines += [shown(str(event)) for event in found.events[:10]]
    if len(found.events) > 10:
        lines.append(f"and {len(found.events) - 10} runs more that ended before their time")
    return "\n".join(lines)


def _table(facts: dict[str, Any], pushed: bool) -> str:
    """Of every velocity the largest, the force beside it and how far it is from its reference."""
    parts = [("largest velocity", facts["largest_velocity"])]
    if pushed:
        parts.append(("largest force", facts["largest_tau"]))
    if facts["rms_error"]:
        parts.append(("rms error", facts["rms_error"]))
    names = list(dict.fromkeys(name for _, values in parts for name in values))
    rows = [[name, *(number(values.get(name), 4) for _, values in parts)] for name in names]
    more = f"\nand {len(rows) - JOINTS} more" if len(rows) > JOINTS else ""
    return columns(("joint", *(head for head, _ in parts)), safe(rows[:JOINTS])) + more

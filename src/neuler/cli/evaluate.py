"""``neuler eval``: a quantity for all states of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from neuler.cli.common import load_robot, robot_command
from neuler.errors import InputError
from neuler.files.ends import FORMATS, STANDARD, name_of
from neuler.progress import progress_bar
from neuler.quantities.catalogue import QUANTITIES

LISTED = 8
"""Columns that a message names."""
HELP = """\
CSV: one state a row under a header. The vector q of a robot with the joints shoulder and elbow is
spelled q_shoulder,q_elbow or q1,q2 or q[0],q[1]; likewise qd, qdd, tau. Results are named alike:
tau_shoulder; matrices are flattened to mass_matrix[0,0],mass_matrix[0,1]. A free joint has seven
positions q_base_x,_y,_z,_qx,_qy,_qz,_qw and six velocities qd_base_vx,_vy,_vz,_wx,_wy,_wz.
NPZ: one array for each input under its name (q, qd, qdd), batch axes first; results alike.
Columns and arrays that are no inputs, such as the time, are kept as they are, before the results: --drop keeps
none, --ignore leaves out some.

Robots with loops: q are closed positions of all joints with a coordinate, qd and qdd velocities of
the independent joints (--independent chooses others), tau forces of the motors. With --assemble the
file needs only the positions of the independent joints, of a parallel robot those of its platform or
of its motors; the others are found, from a guess where the file has one.
Motors behind springs have columns after those of the joints: q_elbow.motor, tau_elbow.motor.

  neuler eval inverse_dynamics puma560 --in states.csv --out torques.csv
  neuler eval forward_dynamics arm.urdf --in states.npz --out qdd.npz --option method=nasser
  neuler eval inverse_dynamics four_bar --in crank.csv --out torques.csv --assemble
  simulate | neuler eval energy arm.urdf --in - --out - --ignore 'tau_*' | plot
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    evaluate = robot_command(
        commands, "eval", run, "compute a quantity for all states of a file", HELP, quantity=quantities()
    )
    for flag, kept, what in (("--in", "source", "states"), ("--out", "target", "results")):
        pipe = "standard input" if flag == "--in" else "standard output"
        evaluate.add_argument(
            flag, dest=kept, required=True, metavar="FILE", help=f"{what}: a file .csv or .npz, or - for {pipe}"
        )
        evaluate.add_argument(f"{flag}-format", choices=FORMATS, help=f"of {flag}; default: by its suffix, - is csv")
    evaluate.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="K=V",
        help="of the quantity: method=nasser, external=tool, ...",
    )
    evaluate.add_argument("--assemble", action="store_true", help="close the loops of every state")
    evaluate.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN",
        help="take this column (or array) for absent; * and ? stand for any letters",
    )  # fmt: skip
    evaluate.add_argument("--drop", action="store_true", help="keep no columns that are no inputs")


def quantities() -> str:
    """Names of all quantities, for the help of commands."""
    told = f"one of {', '.join(name for name, each in QUANTITIES.items() if not each.only)}"
    for whose in dict.fromkeys(each.whose for each in QUANTITIES.values() if each.only):
        told += f"; with {whose} also {', '.join(name for name, each in QUANTITIES.items() if each.whose == whose)}"
    return told


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--option expects K=V, for example method=nasser, got {text!r}")
    key, value = key.strip(), value.strip()
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    if value.isdecimal():
        return key, int(value)
    if key in ("external", "loads", "motion", "independent", "parameters", "columns", "frames", "kinds", "platforms"):
        return key, tuple(part for part in value.split(",") if part)
    return key, value


def options_of(texts: Sequence[str]) -> dict[str, Any]:
    """Options of a quantity from K=V, each once."""
    options: dict[str, Any] = {}
    for text in texts:
        key, value = _option(text)
        if key in options:
            raise InputError(f"--option {key} is given twice")
        if key in ("robot", "quantity"):
            raise InputError(f"--option {key}: the {key} is named on the command line itself")
        options[key] = value
    return options


def run(chosen: Any) -> None:
    """Read, compute, write."""
    from neuler.files import tables
    from neuler.plain import shown

    robot = load_robot(chosen)
    options = options_of(chosen.option)
    kernel = robot.compile(chosen.quantity, **options)
    size = None if chosen.source == STANDARD else os.path.getsize(chosen.source)
    with progress_bar(size, f"{chosen.quantity} of {robot.name}", "B") as step:
        done = tables.evaluate(
            kernel, chosen.source, chosen.target, formats=(chosen.in_format, chosen.out_format), ignore=chosen.ignore,
            drop=chosen.drop, report=step, assemble=chosen.assemble, note=_note,
        )  # fmt: skip
    told = f"wrote {done.states} states to {name_of(chosen.target, output=True)}"
    if done.kept:
        told += f"; kept {', '.join(map(shown, done.kept[:LISTED]))}"
        told += f" and {len(done.kept) - LISTED} more" if len(done.kept) > LISTED else ""
    print(told, file=sys.stderr if chosen.target == STANDARD else sys.stdout)


def _note(text: str) -> None:
    from neuler.plain import shown

    print(f"neuler: note: {shown(text)}", file=sys.stderr)

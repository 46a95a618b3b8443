"""``neuler eval``: a quantity for all states of a file."""

from __future__ import annotations

import os
import sys
from typing import Any

from neuler.cli.common import load_robot, progress_bar, robot_command
from neuler.errors import InputError
from neuler.recipes.closed_loops import CLOSED_LOOPS
from neuler.recipes.parallel_robots import PARALLEL
from neuler.recipes.quantities import QUANTITIES

HELP = """\
CSV: one state a row under a header. The vector q of a robot with the joints shoulder and elbow is
spelled q_shoulder,q_elbow or q1,q2 or q[0],q[1]; likewise qd, qdd, tau. Results are named alike:
tau_shoulder; matrices are flattened to mass_matrix[0,0],mass_matrix[0,1]. A free joint has seven
positions q_base_x,_y,_z,_qx,_qy,_qz,_qw and six velocities qd_base_vx,_vy,_vz,_wx,_wy,_wz.
NPZ: one array for each input under its name (q, qd, qdd), batch axes first; results alike.

Machines with loops: q are closed positions of all joints of the tree, qd and qdd those of the
independent joints, tau those of the motors; v and vd (v_vx to vd_wz) those of a parallel robot's
platform. With --assemble the file needs only the positions of the independent joints, or of the
platform; the others are found, from a guess where the file has one.

  neuler eval inverse_dynamics puma560 --in states.csv --out torques.csv
  neuler eval forward_dynamics arm.urdf --in states.npz --out qdd.npz --option method=nasser
  neuler eval inverse_dynamics four_bar --in crank.csv --out torques.csv --assemble
"""


def add(commands: Any) -> None:
    """The command and its flags."""
    evaluate = robot_command(
        commands, "eval", run, "compute a quantity for all states of a file", HELP, quantity=_quantities()
    )
    evaluate.add_argument("--in", dest="source", required=True, metavar="FILE", help="states: .csv or .npz")
    evaluate.add_argument("--out", dest="target", required=True, metavar="FILE", help="results: .csv or .npz")
    evaluate.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="K=V",
        help="of the quantity: method=nasser, external=tool, ...",
    )
    evaluate.add_argument("--assemble", action="store_true", help="close the loops of every state")
    evaluate.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="leave this column out")


def _quantities() -> str:
    lists = {"": QUANTITIES, "; of mechanisms ": CLOSED_LOOPS, "; of parallel robots ": PARALLEL}
    return "one of " + "".join(f"{of}{', '.join(names)}" for of, names in lists.items())


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--option expects K=V, for example method=nasser, got {text!r}")
    key, value = key.strip(), value.strip()
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    if value.isdecimal():
        return key, int(value)
    if key in ("external", "loads", "motion", "independent"):
        return key, tuple(part for part in value.split(",") if part)
    return key, value


def run(chosen: Any) -> None:
    """Read, compute, write."""
    from neuler.files import tables

    robot = load_robot(chosen)
    options: dict[str, Any] = {}
    for text in chosen.option:
        key, value = _option(text)
        if key in options:
            raise InputError(f"--option {key} is given twice")
        if key in ("robot", "quantity"):
            raise InputError(f"--option {key}: the {key} is named on the command line itself")
        options[key] = value
    kernel = robot.compile(chosen.quantity, **options)
    with progress_bar(os.path.getsize(chosen.source), f"{chosen.quantity} of {robot.name}", "B") as step:
        states = tables.evaluate(
            kernel, chosen.source, chosen.target, ignore=chosen.ignore, report=step, assemble=chosen.assemble,
            note=lambda text: print(f"neuler: note: {text}", file=sys.stderr),
        )  # fmt: skip
    print(f"wrote {states} states to {chosen.target}")

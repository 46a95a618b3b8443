"""``neuler bench``: a robot's kernels measured, beside another library in the same run."""

from __future__ import annotations

import os
from typing import Any

from neuler.cli.common import add_measured, load_robot, print_json, robot_command, steps
from neuler.errors import InputError
from neuler.robot import Robot


def add(commands: Any) -> None:
    """The command and its flags."""
    bench = robot_command(commands, "bench", run, "measure a robot's kernels, beside another library in the same run")
    bench.add_argument("--peer", choices=("pinocchio", "mujoco"), help="compare with this library")
    bench.add_argument("--json", action="store_true", help="print JSON")
    add_measured(bench)


def run(chosen: Any) -> None:
    """Measure, and print a table or JSON."""
    from neuler import bench
    from neuler.view.measure import run_machine

    robot = load_robot(chosen)
    progress = steps(f"bench {robot.name}")
    if isinstance(robot, Robot):
        urdf = chosen.robot if os.path.exists(chosen.robot) else None
        verbs = chosen.verbs or bench.VERBS
        result = bench.run(
            robot, verbs=verbs, batch=chosen.batch, against=chosen.peer, urdf=urdf, progress=progress
        )  # fmt: skip
    elif chosen.peer:
        raise InputError(f"--peer: {robot.name!r} has loops or couplings, and only trees are compared with a peer")
    else:
        result = run_machine(robot, verbs=chosen.verbs, batch=chosen.batch, progress=progress)
    if chosen.json:
        print_json(result.as_dict())
    else:
        print(bench.table(result))

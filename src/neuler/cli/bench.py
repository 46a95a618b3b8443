"""``neuler bench``: a robot's kernels measured, beside another library in the same run."""

from __future__ import annotations

import os
from typing import Any

from neuler.cli.common import add_measured, load_robot, print_json, robot_command, steps


def add(commands: Any) -> None:
    """The command and its flags."""
    bench = robot_command(commands, "bench", run, "measure a robot's kernels, beside another library in the same run")
    bench.add_argument("--peer", choices=("pinocchio", "mujoco"), help="compare with this library")
    bench.add_argument("--json", action="store_true", help="print JSON")
    add_measured(bench)


def run(chosen: Any) -> None:
    """Measure, and print a table or JSON."""
    from neuler import bench

    robot = load_robot(chosen)
    result = bench.run(
        robot,
        verbs=chosen.verbs,
        batch=chosen.batch,
        against=chosen.peer,
        urdf=chosen.robot if os.path.exists(chosen.robot) else None,
        progress=steps(f"bench {robot.name}"),
    )
    if chosen.json:
        print_json(result.as_dict())
    else:
        print(bench.table(result))

"""``neuler info``: a robot's tree, parameters and the doctor's findings."""

from __future__ import annotations

import sys
from typing import Any

from neuler.cli.common import load_robot, print_json, robot_command
from neuler.robot import Robot


def add(commands: Any) -> None:
    """The command and its flags."""
    info = robot_command(commands, "info", run, "show a robot's tree, parameters and the doctor's findings")
    info.add_argument("--json", action="store_true", help="print JSON")
    info.add_argument("--strict", action="store_true", help="exit with 1 where the doctor finds errors")


def run(chosen: Any) -> int:
    """Print a text or JSON; 1 where the doctor's errors are to count."""
    from neuler.view import machine_text, text

    robot = load_robot(chosen)
    if isinstance(robot, Robot):
        found = list(robot.check())
        told = text.as_dict(robot, found) if chosen.json else text.summary(robot, found, _marks())
    else:
        found = machine_text.findings(robot)
        told = machine_text.as_dict(robot, found) if chosen.json else machine_text.summary(robot, found, _marks())
    if chosen.json:
        print_json(told)
    else:
        print(told)
    return int(chosen.strict and any(finding.severity == "error" for finding in found))


def _marks() -> tuple[str, str, str]:
    from neuler.view import text

    try:
        "".join(text.FANCY).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.PLAIN
    return text.FANCY

"""``neuler info``: a robot's tree, loops, parameters, and what looks wrong."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from neuler.cli.common import load_robot, print_json, robot_command


def add(commands: Any) -> None:
    """The command and its flags."""
    info = robot_command(commands, "info", run, "show a robot's tree, its parameters, and what looks wrong")
    info.add_argument("--base", action="store_true", help="add the base parameters: what forces depend on")
    info.add_argument("--json", action="store_true", help="print JSON")
    info.add_argument("--strict", action="store_true", help="exit with 1 if the checks find errors")


def run(chosen: Any) -> int:
    """Print a text or JSON; 1 where errors are to count."""
    from neuler.view import as_json, text

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is wrong is among the findings
        robot = load_robot(chosen)
    found = robot.check()
    base = robot.base_parameters() if chosen.base else None
    if chosen.json:
        more = {} if base is None else {"base_parameters": as_json.base_parameters(base)}
        print_json(as_json.as_dict(robot, found) | more)
    else:
        print(text.summary(robot, found, _marks()))
        if base is not None:
            print(f"\n{base}")
    return int(chosen.strict and any(finding.severity == "error" for finding in found))


def _marks() -> tuple[str, str, str]:
    from neuler.view import text

    try:
        "".join(text.FANCY).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.PLAIN
    return text.FANCY

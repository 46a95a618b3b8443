"""``neuler report``: a page about a robot."""

from __future__ import annotations

from typing import Any

from neuler.cli.common import add_measured, load_robot, robot_command, steps


def add(commands: Any) -> None:
    """The command and its flags."""
    report = robot_command(commands, "report", run, "write a page (HTML) about a robot, with pictures and measurements")
    report.add_argument("-o", "--output", default="report.html", metavar="FILE", help="default: report.html")
    add_measured(report)


def run(chosen: Any) -> None:
    """Write the page."""
    from neuler.view.report import write_report

    robot = load_robot(chosen)
    write_report(
        robot, chosen.output, verbs=chosen.verbs, batch=chosen.batch, progress=steps(f"report on {robot.name}")
    )
    print(f"wrote {chosen.output}")

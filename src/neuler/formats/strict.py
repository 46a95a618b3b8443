"""Robots that cannot be, refused as they are read."""

from __future__ import annotations

from neuler.errors import FormatError
from neuler.plain import count
from neuler.robot import Robot


def refuse_errors(robot: Robot) -> None:
    """What ``strict=True`` means: a robot in which ``robot.check()`` finds errors is none."""
    errors = [finding for finding in robot.check() if finding.severity == "error"]
    if errors:
        more = f", and {count(len(errors) - 1, 'error')} more" if len(errors) > 1 else ""
        raise FormatError(
            f"strict=True: {errors[0].subject}: {errors[0].message}{more}; robot.check() of the robot that is read "
            "without strict=True lists all"
        )

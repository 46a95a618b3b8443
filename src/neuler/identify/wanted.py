"""What is looked for: the base parameters among columns, of which forces must depend on some."""

from __future__ import annotations

from typing import Any

from neuler.errors import InputError
from neuler.identify.estimate import listed
from neuler.inputs import names
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters, base_parameters


def wanted_base(called: str, robot: Robot, columns: Any) -> BaseParameters:
    """Base parameters among the columns that were named; refused where there are none.

    >>> import neuler
    >>> len(wanted_base("fit", neuler.robots.two_link(), "links"))
    4
    """
    chosen = names(f"{called}: columns", columns)
    base = base_parameters(robot, chosen)
    if not len(base):
        raise no_effect(called, robot, chosen)
    return base


def no_effect(called: str, robot: Robot, columns: tuple[str, ...]) -> InputError:
    """The error of columns that no motion can show."""
    return InputError(
        f"{called}: no force of robot {robot.name!r} depends on {listed(columns)}, whatever the motion; leave it away"
    )

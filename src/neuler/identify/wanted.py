"""What is looked for: the base parameters among columns, of which forces must depend on some.

Base parameters are those of exact geometry. A robot's file has its angles rounded, and 1.5708 for pi / 2 makes columns
independent that are one: they differ by some millionths of their size, which no motion shows. They are taken as one.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.identify.estimate import listed
from neuler.identify.least_squares import BADLY
from neuler.inputs import names
from neuler.robot import Robot
from neuler.solve.base_parameters import TOLERANCE, BaseParameters, base_parameters

_ALIKE = 1e-4
"""A column that others give but for so small a share makes a scaled condition number above 10,000 by any motion."""
_ROUNDED, _TIMES = 2e-3, 10.0
"""An angle (rad) that is so near to a right one may be a right one in truth; how many times such an angle a share may
be that counts as its effect: several add up."""
_EXACT = 1e-9
"""Rounding of an angle (rad) that is written with all its digits, and of sums with it."""


def wanted_base(called: str, robot: Robot, columns: Any) -> BaseParameters:
    """Base parameters among the columns that were named, alike ones taken as one; refused where there are none.

    >>> import neuler
    >>> len(wanted_base("fit", neuler.robots.two_link(), "links"))
    4
    """
    chosen = names(f"{called}: columns", columns)
    base = base_parameters(robot, chosen)
    if not len(base):
        raise no_effect(called, robot, chosen)
    return taken_as_one(base)


def taken_as_one(exact: BaseParameters) -> BaseParameters:
    """Base parameters without those that others give but for what angles that are rounded in the robot's file do."""
    worst = max(_off_right_angles(exact.robot).values(), default=0.0)
    tolerance = max(_ALIKE, min(_TIMES * worst, 1.0 / BADLY))
    if exact.method == "rank" and exact.gap[0] > tolerance:
        return exact
    found = base_parameters(exact.robot, exact.names, method="rank", tolerance=tolerance)
    lost = set(exact.names).difference(found.names)
    if not lost or not all(_of_bodies(name) for name in lost):  # geometry does not make friction alike
        return exact
    return dataclasses.replace(
        exact, names=found.names, grouping=found.grouping @ exact.grouping, gap=found.gap, method="rank"
    )


def alike_said(base: BaseParameters) -> list[str]:
    """A note of columns that were taken as one, and of the angles that seem to be rounded."""
    if base.gap[1] <= TOLERANCE:
        return []
    exact = base_parameters(base.robot, base.columns)
    lost = [name for name in exact.names if name not in base.names]
    parts = []
    for name in lost:
        factors = base.grouping[:, base.columns.index(name)]
        partners = np.flatnonzero(np.abs(factors) > 0.5 * np.abs(factors).max())
        parts.append(f"{name!r} with {listed([base.names[k] for k in partners])}")
    off = {joint: angle for joint, angle in _off_right_angles(base.robot).items() if angle > 0.01 * base.gap[1]}
    why = ""
    if off:
        why = (
            f"; {listed(list(off))} {'is' if len(off) == 1 else 'are'} turned by right angles but for "
            f"{max(off.values()):.2g} rad, as where 1.5708 stands for pi / 2 in the robot's file: write it with all "
            "its digits"
        )
    return [
        f"columns that differ by {base.gap[1]:.2g} of their size, which no motion shows, are taken as one: "
        f"{', '.join(parts)}{why}"
    ]


def _of_bodies(name: str) -> bool:
    """Whether a parameter is one of masses: of a link, a payload, a rotor."""
    return name.rpartition(".")[2] not in ("viscous", "coulomb", "coulomb_reverse", "static", "stiffness", "damping")


def _off_right_angles(robot: Robot) -> dict[str, float]:
    """By joint, how far (rad) its frame or axis is off right angles to its parent's, where it is nearly at some."""
    found = {}
    for joint in robot.joints:
        cosines = np.abs(np.concatenate([np.ravel(joint.placement.rotation), np.ravel(joint.axis)]))
        small = cosines[(cosines > _EXACT) & (cosines < _ROUNDED)]
        if len(small):
            found[joint.name] = float(small.max())
    return found


def no_effect(called: str, robot: Robot, columns: tuple[str, ...]) -> InputError:
    """The error of columns that no motion can show."""
    return InputError(
        f"{called}: no force of robot {robot.name!r} depends on {listed(columns)}, whatever the motion; leave it away"
    )

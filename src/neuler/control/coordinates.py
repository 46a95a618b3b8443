"""What controllers refuse, and the numbers that they take."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.errors import InputError, RobotError
from neuler.inputs import real, told
from neuler.plain import degrees
from neuler.robot import Robot
from neuler.robot.coordinates import springs, undriven


def refuse_springs(robot: Robot, what: str) -> None:
    """A controller of rigid drives says who has a spring."""
    names = springs(robot)
    if names:
        raise RobotError(
            f"{what}: the drive of {', '.join(map(repr, names))} of robot {robot.name!r} is elastic; ElasticPD and "
            "ElasticInverseDynamics of neuler.control know springs"
        )


def refuse_undriven(robot: Robot, what: str, remedy: str, besides: Sequence[str] = ()) -> None:
    """A controller that needs a motor at every freedom says who has none; ``besides`` have springs."""
    names = [name for name in undriven(robot) if name not in besides]
    if names:
        raise RobotError(
            f"{what}: no motor drives {', '.join(map(repr, names))} of robot {robot.name!r}; it needs one for every "
            f"freedom. {remedy}"
        )
    if robot.loops and robot.mobility.driven < robot.mobility.freedoms:
        raise RobotError(
            f"{what}: robot {robot.name!r} has {degrees(robot.mobility.freedoms)}, of which its motors "
            f"decide {robot.mobility.driven}; drive more joints (role 'driven')"
        )


def gains(what: str, name: str, value: Any, size: int, *, zero: bool = False) -> np.ndarray:
    """A number for every velocity, from one or from as many: positive, or (``zero``) not negative."""
    found = real(value)
    if found is None or found.shape not in ((), (1,), (size,)):
        raise InputError(f"{what}: {name} must be a number or {size} of them, got {told(value)}")
    if not np.isfinite(found).all() or (found < 0).any() or (not zero and not found.all()):
        raise InputError(f"{what}: {name} must be {'not negative' if zero else 'positive'}, got {told(value)}")
    return np.broadcast_to(found, (size,)).copy()


def split(values: Any, sizes: Sequence[int]) -> list[Any]:
    """A flat array in parts."""
    edges = np.cumsum([0, *sizes])
    return [values[a:b] for a, b in itertools.pairwise(edges)]

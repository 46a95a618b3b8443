"""Positions that a robot's file or its user has named: "home", "folded"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.robot.configuration import quaternions
from neuler.robot.numbers import vector

if TYPE_CHECKING:
    from neuler.robot.model import Robot

Array = NDArray[np.float64]


class NamedPositions(Mapping[str, Array]):
    """An immutable mapping from names to positions q (nq,), equal by value.

    >>> from neuler import robots
    >>> arm = robots.two_link().replace(named_positions={"up": [1.5, 0.0]})
    >>> arm.named_positions["up"].tolist(), arm.named_positions
    ([1.5, 0.0], {'up': (1.5, 0.0)})
    """

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[tuple[str, tuple[float, ...]]] = ()) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Array:
        if name not in self._values:
            there = f"it has {listed(str(name), self._values)}" if self._values else "it has none"
            raise RobotError(f"the robot has no position named {name!r}; {there}")
        return np.array(self._values[name])

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedPositions) and list(self._values.items()) == list(other._values.items())

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)

    def numbers(self) -> Iterator[tuple[str, tuple[float, ...]]]:
        """Names and positions, as plain numbers."""
        return iter(self._values.items())


NONE = NamedPositions()
"""Of a robot without named positions."""


def checked(owner: str, robot: Robot, given: object) -> NamedPositions:
    """Positions of a robot by their names; quaternions of nearly length one are normalised, others refused."""
    if not isinstance(given, Mapping):
        raise RobotError(f"{owner}: named_positions must map names to positions, got {given!r:.80}")
    found: dict[str, tuple[float, ...]] = {}
    items: Iterable[tuple[object, ArrayLike]] = given.numbers() if isinstance(given, NamedPositions) else given.items()
    for name, value in items:
        if not isinstance(name, str) or not name:
            raise RobotError(f"{owner}: a named position needs a name, got {name!r}")
        q = np.array(vector(owner, f"named position {name!r}", value, robot.nq))
        for joint, first in quaternions(robot):
            turn = q[first : first + 4]
            length = float(np.linalg.norm(turn))
            if not abs(length - 1.0) < 1e-3:
                raise RobotError(
                    f"{owner}: named position {name!r}: the quaternion of joint {joint!r} has the length {length:.6g} "
                    "instead of one"
                )
            if abs(length - 1.0) > 1e-15:
                turn /= length
        found[name] = tuple(q.tolist())
    return NamedPositions(found.items())

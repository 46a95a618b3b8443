"""What controllers see of a robot: the positions behind its own velocities, and who pushes it.

Of a tree these are all of q. Of a robot with loops they are those of its independent joints, ``mobility.independent``;
where it has a platform whose velocity is its own, the platform's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.algebra.linear import Orthogonal
from neuler.errors import InputError, RobotError
from neuler.inputs import real, told
from neuler.plain import degrees
from neuler.robot import Joint, Robot


@dataclass(frozen=True)
class Coordinates:
    """Of one robot: which numbers of q its own velocities move, joint by joint."""

    robot: Robot
    parts: tuple[tuple[Joint | None, tuple[int, ...], int], ...]
    """Joints, the numbers of their positions in q, and how many velocities; no joint where a velocity stands alone."""

    @classmethod
    def of_links(cls, robot: Robot) -> Coordinates:
        """Without theta of motors behind springs."""
        every = cls.of(robot)
        return cls(robot, tuple(part for part in every.parts if part[0] is None or part[0].series is None))

    @classmethod
    def of(cls, robot: Robot) -> Coordinates:
        """In the order of qd."""
        chosen = set(robot.mobility.choice.independent) if robot.loops else None
        parts: dict[int, tuple[Joint | None, tuple[int, ...], int]] = {}
        at = first = 0
        for joint in robot.moving_joints:
            places, velocities = tuple(range(at, at + joint.nq)), range(first, first + joint.nv)
            if chosen is None or chosen.issuperset(velocities):
                parts[first] = joint, places, joint.nv
            elif joint.type.quaternion is None:
                parts |= {k: (None, (places[k - first],), 1) for k in velocities if k in chosen}
            elif chosen.intersection(velocities):
                raise RobotError(
                    f"robot {robot.name!r}: of joint {joint.name!r}, which turns by a quaternion, some velocities are "
                    "independent and some are not; name other independent joints: robot.with_independent(...)"
                )
            at, first = at + joint.nq, first + joint.nv
        if chosen is None:
            return cls(robot, tuple(parts.values()))
        order = [k for k in robot.mobility.choice.independent if k in parts]
        return cls(robot, tuple(parts[k] for k in order))

    @property
    def places(self) -> list[int]:
        """Their numbers in q."""
        return [place for _, places, _ in self.parts for place in places]

    @property
    def size(self) -> int:
        """How many positions."""
        return len(self.places)

    @property
    def speeds(self) -> int:
        """How many velocities."""
        return sum(count for _, _, count in self.parts)

    @property
    def plain(self) -> bool:
        """Whether velocities are the rates of these positions: none is of a quaternion."""
        return all(joint is None or joint.type.quaternion is None for joint, _, _ in self.parts)

    def way(self, start: Any, end: Any) -> Any:
        """The velocities that lead from one set of these positions to another in a second, (nv)."""
        found: list[Any] = []
        at = 0
        for joint, places, _ in self.parts:
            a, b = list(start[at : at + len(places)]), list(end[at : at + len(places)])
            found += [b[0] - a[0]] if joint is None else joint.type.way(a, b)
            at += len(places)
        return np.array(found)

    def tau(self, q: Any, force: Any) -> Any:
        """Forces of the motors that push along the robot's own velocities by ``force``, the least ones in loops."""
        if self.robot.nu == self.robot.nv and not self.robot.loops:
            return force
        columns = self.robot.actuation_matrix(q).T
        return np.array(Orthogonal([list(column) for column in columns]).least(list(force)))


def undriven(robot: Robot) -> tuple[str, ...]:
    """Joints with a force in tau that no motor gives: passive ones, free bases, joints on springs."""
    active = set(robot.active_names)
    return tuple(joint.name for joint in robot.moving_joints if joint.name in active and joint.role != "driven")


def springs(robot: Robot) -> dict[str, Joint]:
    """Motors behind springs: by the joint that each drives, the joint of its theta."""
    return {joint.series[0]: joint for joint in robot.moving_joints if joint.series is not None}


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

"""Couplings: the motion of all joints of the tree from that of the joints that have coordinates.

q_j = f(q_i) lifts qd_j = f' qd_i and qdd_j = f' qdd_i + f'' qd_i^2, in the order in which joints lead each other;
forces come back by the transpose of the same derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.robot import Robot
from neuler.robot.coupling import Coupling, in_order
from neuler.robot.value import kept
from neuler.trace.graph import Scalar

Row = dict[int, Scalar]
"""Entries by the number of the velocity."""


@dataclass(frozen=True)
class Gear:
    """A coupled joint among the tree's: the numbers of its and its leaders' positions and velocities."""

    coupling: Coupling
    joint: tuple[int, int]
    leaders: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Places:
    """Where the tree's positions and velocities stand among the robot's; None for those of coupled joints."""

    positions: tuple[int | None, ...]
    velocities: tuple[int | None, ...]
    gears: tuple[Gear, ...]


@kept
def places(robot: Robot) -> Places:
    """Of a robot with couplings."""
    own, tree = robot.coordinates, robot.tree.coordinates
    positions: list[int | None] = []
    velocities: list[int | None] = []
    for entry in tree:
        positions += own[entry.name].positions if entry.name in own else [None] * entry.nq
        velocities += own[entry.name].velocities if entry.name in own else [None] * entry.nv
    places = {entry.name: (entry.q.start, entry.v.start) for entry in tree}
    gears = tuple(
        Gear(coupling, places[coupling.joint], tuple(places[name] for name in coupling.of))
        for coupling in in_order(f"robot {robot.name!r}", robot.couplings)
    )
    return Places(tuple(positions), tuple(velocities), gears)


class Lift:
    """At one position q of the joints with coordinates."""

    def __init__(self, robot: Robot, q: Sequence[Scalar]) -> None:
        self.own = robot.coordinates.velocities
        self.q: list[Scalar] = list(q)
        """Positions of the tree."""
        self._places = places(robot) if robot.couplings else None
        self._firsts: list[list[Scalar]] = []
        self._seconds: list[Scalar] = []
        if self._places is None:
            return
        self.q = [0.0 if k is None else q[k] for k in self._places.positions]
        for gear in self._places.gears:
            value, first, second = gear.coupling.at([self.q[p] for p, _ in gear.leaders])
            self.q[gear.joint[0]] = value
            self._firsts.append(first)
            self._seconds.append(second)

    def velocities(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Velocities of the tree's joints, from those of the joints with coordinates."""
        return self._carried(qd)

    def accelerations(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        """Accelerations of the tree's joints, from motions of the joints with coordinates."""
        if self._places is None:
            return list(qdd)
        rates, found = self._carried(qd), self._spread(qdd)
        for gear, first, second in zip(self._places.gears, self._firsts, self._seconds, strict=True):
            total: Scalar = 0.0
            for share, (_, k) in zip(first, gear.leaders, strict=True):
                total = total + share * found[k]
            rate = rates[gear.leaders[0][1]]
            found[gear.joint[1]] = total + second * (rate * rate)
        return found

    def rows(self) -> list[Row]:
        """Of every velocity of the tree, by those of the joints with coordinates."""
        if self._places is None:
            return [{k: 1.0} for k in range(self.own)]
        found: list[Row] = [{} if k is None else {k: 1.0} for k in self._places.velocities]
        for gear, first in zip(self._places.gears, self._firsts, strict=True):
            row: Row = {}
            for share, (_, k) in zip(first, gear.leaders, strict=True):
                for i, x in found[k].items():
                    row[i] = row.get(i, 0.0) + share * x
            found[gear.joint[1]] = row
        return found

    def project(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Forces of the tree's joints, felt by the joints with coordinates."""
        if self._places is None:
            return list(forces)
        felt = list(forces)
        for gear, first in reversed(list(zip(self._places.gears, self._firsts, strict=True))):
            for share, (_, k) in zip(first, gear.leaders, strict=True):
                felt[k] = felt[k] + share * felt[gear.joint[1]]
        return [x for x, k in zip(felt, self._places.velocities, strict=True) if k is not None]

    def _spread(self, values: Sequence[Scalar]) -> list[Scalar]:
        assert self._places is not None
        return [0.0 if k is None else values[k] for k in self._places.velocities]

    def _carried(self, values: Sequence[Scalar]) -> list[Scalar]:
        if self._places is None:
            return list(values)
        found = self._spread(values)
        for gear, first in zip(self._places.gears, self._firsts, strict=True):
            total: Scalar = 0.0
            for share, (_, k) in zip(first, gear.leaders, strict=True):
                total = total + share * found[k]
            found[gear.joint[1]] = total
        return found

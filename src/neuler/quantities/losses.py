"""Load-dependent friction of the joints in tau: between what the motion asks of a drive, its load, and its force.

It acts on every force of tau by itself, after the chart: needed(load) = tau, delivered(tau) = load. Where no joint has
such friction, both are the identity and leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.passes.tree import Drive, Tree
from neuler.recursions import drives
from neuler.robot import Robot
from neuler.trace.graph import Scalar

Matrix = list[list[Scalar]]


class Losses:
    """At one state; ``rates`` are those of the joints with coordinates.

    Of the joints in tau, or of those of ``every`` coordinate.
    """

    def __init__(self, robot: Robot, tree: Tree, rates: Sequence[Scalar], *, every: bool = False) -> None:
        found = {body.joint_name: body.drive for body in tree.bodies if body.columns}
        own = [found.get(entry.name, Drive()) for entry in robot.coordinates.owners("qd", every=True)]
        numbers = range(len(own)) if every else robot.coordinates.active
        self._drives = [(own[k], rates[k]) for k in numbers]
        self.numbers = list(numbers)
        """Of the velocity behind every force."""

    @property
    def any(self) -> bool:
        """Whether there are such joints."""
        return any(drives.loaded(drive) for drive, _ in self._drives)

    def needed(self, loads: Sequence[Scalar]) -> list[Scalar]:
        """Tau from the loads."""
        return [drives.needed(drive, x, v) for (drive, v), x in zip(self._drives, loads, strict=True)]

    def delivered(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """The loads from tau."""
        return [drives.delivered(drive, x, v) for (drive, v), x in zip(self._drives, tau, strict=True)]

    def mixed(self, values: Sequence[Scalar], told: Sequence[bool], *, found: bool) -> list[Scalar]:
        """Forces among values, those where motion is ``told`` and ``found``, else those that are given."""
        changed = self.needed(values) if found else self.delivered(values)
        return [y if motion == found else x for x, y, motion in zip(values, changed, told, strict=True)]

    def slopes(self, loads: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
        """Derivatives of tau to its load and its rate."""
        return [drives.needed_slopes(drive, x, v) for (drive, v), x in zip(self._drives, loads, strict=True)]

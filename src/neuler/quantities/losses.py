"""Load-dependent friction of the joints in tau: between what the motion asks of a drive, its load, and its force.

It acts on every force of tau by itself, after the chart. Where no joint has such friction, ``tau_from_load`` and its
inverse ``load_from_tau`` are the identity and leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.passes.tree import Drive, Tree
from neuler.recursions import drives
from neuler.robot import Robot
from neuler.trace.graph import Scalar

Matrix = list[list[Scalar]]


class Losses:
    """Load-dependent friction at one state, of the joints in tau or of those of ``every`` coordinate.

    ``rates`` are velocities of the joints with coordinates.
    """

    def __init__(self, robot: Robot, tree: Tree, rates: Sequence[Scalar], *, every: bool = False) -> None:
        found = {body.joint_name: body.drive for body in tree.bodies if body.columns}
        own = [found.get(entry.name, Drive()) for entry in robot.coordinates.owners("qd", every=True)]
        numbers = range(len(own)) if every else robot.coordinates.active
        self._drives = [(own[k], rates[k]) for k in numbers]
        self.numbers = list(numbers)
        """For every force, the number of its velocity."""

    @property
    def any(self) -> bool:
        """Whether any of the joints has such friction."""
        return any(drives.loaded(drive) for drive, _ in self._drives)

    def tau_from_load(self, loads: Sequence[Scalar]) -> list[Scalar]:
        """The forces in tau that carry these loads: friction is added."""
        return [drives.tau_from_load(drive, x, v) for (drive, v), x in zip(self._drives, loads, strict=True)]

    def load_from_tau(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """The loads that forces in tau carry: friction is taken off."""
        return [drives.load_from_tau(drive, x, v) for (drive, v), x in zip(self._drives, tau, strict=True)]

    def mixed(self, values: Sequence[Scalar], motion_given: Sequence[bool], *, found: bool) -> list[Scalar]:
        """Values of hybrid dynamics with friction at their forces.

        With ``found`` they are results, whose forces are where motion is given; else inputs, forces elsewhere.
        """
        changed = self.tau_from_load(values) if found else self.load_from_tau(values)
        return [y if motion == found else x for x, y, motion in zip(values, changed, motion_given, strict=True)]

    def slopes(self, loads: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
        """Derivatives of tau to its load and its rate."""
        return [drives.tau_slopes(drive, x, v) for (drive, v), x in zip(self._drives, loads, strict=True)]

"""A robot at a position: where its links and centres of mass are, and both sides of every loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.inputs import array
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.robot.motor import seat
from neuler.view.space import box_around

Array = NDArray[np.float64]

_FLAT = 1e-6
"""Share of its size by which what lies in a plane may leave it."""
PLATE = 3
"""Joints that hold a link, from which on it is drawn as a plate."""


@dataclass(frozen=True)
class Placed:
    """A robot at a position."""

    robot: Robot
    q: Array
    poses: Array
    """Poses of all links in the world, (links, 4, 4)."""
    cuts: Array
    """Both frames of every loop, (loops, 2, 3)."""

    @classmethod
    def of(cls, robot: Robot, q: ArrayLike | None = None) -> Placed:
        """At ``q``, by default at the neutral position; one that is none of the robot's is an error."""
        given = robot.neutral() if q is None else by_columns(robot, "draw", "q", q, "q")
        state = array("draw", "q", given, ())
        if state.shape != (robot.nq,):
            raise InputError(
                f"draw: expected q with {robot.nq} numbers for robot {robot.name!r}, got shape {state.shape}"
            )
        if not np.isfinite(state).all():
            raise InputError(f"draw: q must be finite, got {state.tolist()}")
        poses = link_poses(robot, state)
        ends = [[_point(robot, poses, name) for name in (loop.first, loop.second)] for loop in robot.loops]
        return cls(robot, state, poses, np.array(ends).reshape(-1, 2, 3))

    @property
    def origins(self) -> Array:
        """Origins of the frames of all links, (links, 3), in m."""
        return self.poses[:, :3, 3]

    @property
    def centres(self) -> Array:
        """Of mass, of all links."""
        com = np.array([link.com for link in self.robot.links])
        return np.einsum("kij,kj->ki", self.poses[:, :3, :3], com) + self.origins

    @property
    def rotors(self) -> Array:
        """Frames of the motors, z along their axes, (motors, 4, 4)."""
        joints = {joint.name: joint for joint in self.robot.joints}
        found = []
        for motor in self.robot.motors:
            index, _ = self.robot.locate(motor.carrier or joints[motor.joint].parent)
            found.append(self.poses[index] @ seat(motor, joints[motor.joint]).matrix)
        return np.array(found).reshape(-1, 4, 4)

    @property
    def points(self) -> Array:
        """All that is drawn. The ground of a robot that floats is no part of it: it may be far away."""
        return np.vstack([self.outline, self.rotors[:, :3, 3]])

    @property
    def outline(self) -> Array:
        """The points that are drawn of links, centres of mass and cut joints, without motors."""
        first = int(floats(self.robot))
        return np.vstack([self.origins[first:], self.centres[first:], self.cuts.reshape(-1, 3)])

    @property
    def platforms(self) -> dict[int, list[Array]]:
        """By the number of a link that three loops or more hold: where they hold it."""
        found: dict[int, list[Array]] = {}
        for loop, ends in zip(self.robot.loops, self.cuts, strict=True):
            for name, point in zip((loop.first, loop.second), ends, strict=True):
                index, _ = self.robot.locate(name)
                if index:
                    found.setdefault(index, []).append(point)
        return {index: points for index, points in found.items() if len(points) >= PLATE}

    @property
    def carriers(self) -> dict[int, list[Array]]:
        """By the first link of those fixed together, on which three joints or more stand: where they stand.

        None where no loops hold a platform.
        """
        platforms = self.platforms
        if not platforms:
            return {}
        rigid = rigid_groups(self.robot)
        stands: dict[int, list[Array]] = {}
        for number, (joint, parent) in enumerate(zip(self.robot.joints, self.robot.antecedents, strict=True), start=1):
            if joint.moves and number not in platforms:
                foot = self.poses[parent] @ (*joint.placement.translation, 1.0)
                stands.setdefault(rigid[parent], []).append(foot[:3])
        return {index: points for index, points in stands.items() if len(points) >= PLATE}

    @property
    def plates(self) -> set[int]:
        """Links that are drawn as plates: platforms, what legs stand on, and all that is fixed to them."""
        held = self.platforms.keys() | self.carriers.keys()
        return {number for number, first in enumerate(rigid_groups(self.robot)) if first in held}

    @property
    def plane(self) -> int | None:
        """The axis (0, 1, 2) orthogonal to which all of it lies in one plane and moves; else None."""
        size = float(np.ptp(self.outline, axis=0).max()) or 1.0
        flat = [k for k in (2, 1, 0) if np.ptp(self.outline[:, k]) < _FLAT * size]
        if not flat or not self.robot.nv:
            return None
        qd = np.random.default_rng(0).normal(size=(2, self.robot.nv))
        screws = np.asarray(self.robot.link_velocities(self.q, qd)).reshape(2, -1, 2, 3)
        turned = np.einsum("kij,nkpj->nkpi", self.poses[:, :3, :3], screws)
        linear, angular = turned[..., 0, :], turned[..., 1, :]
        for normal in flat:
            others = [k for k in range(3) if k != normal]
            away = max(np.abs(linear[..., normal]).max() / size, np.abs(angular[..., others]).max())
            if away < _FLAT:
                return normal
        return None


def link_poses(robot: Robot, q: Array) -> Array:
    """Homogeneous matrices of all links, (..., links, 4, 4), also of a robot that does not move."""
    if robot.nv:
        return np.asarray(robot.link_poses(q))
    if robot.nq:  # its loops hold it
        return np.asarray(robot.replace(loops=(), reference=None, independent=None).link_poses(q))
    poses = [np.eye(4)]
    for joint, parent in zip(robot.joints, robot.antecedents, strict=True):
        poses.append(poses[parent] @ joint.placement.matrix)
    return np.broadcast_to(np.array(poses), (*q.shape[:-1], len(poses), 4, 4))


def rigid_groups(robot: Robot) -> list[int]:
    """Of every link, by its number, the first of those that are fixed together with it."""
    found = [0]
    for number, (joint, parent) in enumerate(zip(robot.joints, robot.antecedents, strict=True), start=1):
        found.append(number if joint.moves else found[parent])
    return found


def _point(robot: Robot, poses: Array, name: str) -> Array:
    index, placement = robot.locate(name)
    return np.asarray(poses[index] @ (*placement.translation, 1.0))[:3]


def surroundings(robot: Robot, states: Iterable[ArrayLike | None]) -> tuple[Array, Array]:
    """Corners of a box around the robot in these positions, with a margin, never flat."""
    return box_around(np.vstack([Placed.of(robot, q).points for q in states]))


def floats(robot: Robot) -> bool:
    """Whether nothing joins the robot to its first link, which has no mass: the ground.

    >>> import neuler
    >>> floats(neuler.robots.eel()), floats(neuler.robots.puma560())
    (True, False)
    """
    stand = [joint for joint, parent in zip(robot.joints, robot.antecedents, strict=True) if parent == 0]
    return bool(stand) and robot.links[0].mass == 0 and not any(joint.type.symbol or not joint.moves for joint in stand)

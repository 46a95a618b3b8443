"""The inertia matrix on plain numbers, and joints that move nothing in any pose, alone or together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.robot.coordinates import slices
from neuler.robot.displacement import displacement
from neuler.robot.expand import expand
from neuler.robot.value import kept

if TYPE_CHECKING:
    from neuler.robot import Joint, Link, Robot

Array = NDArray[np.float64]

ALONE = 1e-13
"""Of what a joint could feel at most: a diagonal entry that is less in every pose is none."""
TOGETHER = 1e-11
"""Eigenvalue of the matrix, scaled to a diagonal of ones, that is none."""
_POSES = 4
_TAKES_PART = 0.1
"""Share of a joint in a motion from which it is named."""


@dataclass(frozen=True)
class Inertialess:
    """Joints that move nothing, in every pose looked at: each alone, or a motion of them ``together``."""

    joints: tuple[str, ...]
    together: bool = False
    negative: bool = False
    """The motion has negative inertia."""
    incomparable: bool = False
    """The numbers differ too much to tell."""


def owners(robot: Robot) -> list[str]:
    """The joint behind every velocity."""
    return [entry.name for entry in expand(robot).coordinates.owners("qd", every=True)]


@dataclass(frozen=True)
class Samples:
    """Inertia matrices at some poses: what all of them lack, no pose has."""

    matrices: list[Array]
    most: Array
    """By velocity: what the joint could feel at most of what it carries, turned any way about its origin."""
    names: tuple[str, ...]

    def of(self, chosen: Sequence[int]) -> Samples:
        """The same matrices for some of the velocities alone."""
        rows = np.ix_(chosen, chosen)
        return Samples([m[rows] for m in self.matrices], self.most[list(chosen)], tuple(self.names[k] for k in chosen))

    @property
    def usual(self) -> Array:
        """By velocity: what the joint feels in the middle one of the poses in which it feels anything."""
        diagonals = np.array([np.diag(m) for m in self.matrices])
        felt = np.where(diagonals > ALONE * self.most, diagonals, np.nan)
        lost = np.isnan(felt).all(axis=0)
        return np.where(lost, 0.0, np.nanmedian(np.where(lost, 0.0, felt), axis=0))


@kept
def sampled(robot: Robot) -> Samples:
    """At zero and at some poses within the limits."""
    rng = np.random.default_rng(0)
    poses = [robot.neutral(), *robot.random_configuration(rng, _POSES)]
    found = [_Pose(robot, q) for q in poses]
    most = np.max([pose.most for pose in found], axis=0)
    return Samples([pose.matrix for pose in found], most, tuple(owners(robot)))


def without_inertia(samples: Samples) -> Inertialess | None:
    """Who moves nothing in any of the poses; None where every motion has inertia in some pose."""
    matrices, names = samples.matrices, samples.names
    diagonal = np.max([np.diag(m) for m in matrices], axis=0)
    nothing = diagonal <= ALONE * samples.most
    if nothing.any():
        return Inertialess(_named(names, nothing))
    root = np.sqrt(diagonal)
    scaled = [m / root / root[:, None] for m in matrices]
    if not all(np.isfinite(m).all() for m in scaled):
        return Inertialess((), incomparable=True)
    least = []
    for m in scaled:
        least.append(float(np.linalg.eigvalsh(m)[0]))
        if least[-1] > TOGETHER:
            return None
    values, motions = np.linalg.eigh(scaled[-1])
    part = np.abs(motions[:, values <= TOGETHER]).max(axis=1, initial=0.0)
    negative = all(value < -TOGETHER for value in least)
    return Inertialess(_named(names, part > _TAKES_PART), together=True, negative=negative)


def _named(names: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, found in zip(names, chosen.tolist(), strict=True) if found))


def inertia_matrix(robot: Robot, q: Array) -> Array:
    """The joint-space inertia matrix (kg m^2, kg m, kg) by composite bodies, rotor inertia on its diagonal.

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> np.allclose(inertia_matrix(robot, np.array([0.1, 0.2])), robot.mass_matrix([0.1, 0.2]))
    True
    """
    return _Pose(robot, q).matrix


class _Pose:
    """A robot at one position: the screws of its velocities, and what they move."""

    def __init__(self, robot: Robot, q: Array) -> None:
        robot = expand(robot)
        self.screws: list[Array] = []  # (linear; angular) of each velocity in the base frame, at its origin
        self.origins: list[Array] = []  # a point on each axis
        poses = [np.eye(4)]
        above: list[list[int]] = [[]]  # velocities between the base and each link
        index = {name: k for k, name in enumerate(robot.link_names)}
        for joint, place, _ in slices(robot.joints):
            parent = index[joint.parent]
            first = len(self.screws)
            poses.append(self._moved(joint, poses[parent] @ joint.placement.matrix, q[place]))
            above.append([*above[parent], *range(first, len(self.screws))])
        rotors = [entry.joint.rotor_inertia for entry in robot.coordinates.owners("qd", every=True)]
        screws = np.array(self.screws).reshape(-1, 6)
        self.matrix, self.most = np.diag(rotors), np.abs(np.array(rotors, dtype=float))
        """The inertia matrix; and by velocity all that a joint carries, turned any way about its origin."""
        bodies = [spatial(link, pose) for link, pose in zip(robot.links, poses, strict=True)]
        for body, path in zip(bodies, above, strict=True):
            self.most[path] += self._most(body, screws[path], path)
        for k, joint in reversed(list(enumerate(robot.joints, start=1))):  # children first: composite bodies
            parent, path = index[joint.parent], above[k]
            bodies[parent] = bodies[parent] + bodies[k]
            before, own = path[: len(above[parent])], path[len(above[parent]) :]
            if own:
                force = screws[own] @ bodies[k]
                self.matrix[np.ix_(own, own)] += force @ screws[own].T
                self.matrix[np.ix_(own, before)] = across = force @ screws[before].T
                self.matrix[np.ix_(before, own)] = across.T

    def _moved(self, joint: Joint, pose: Array, q: Array) -> Array:
        """The child's pose; the joint's screws are noted."""
        if not joint.moves:
            return pose
        pose = pose @ displacement(joint, q.tolist())
        turn, at = pose[:3, :3], pose[:3, 3]
        for column in joint.type.columns(joint, joint.axis):
            z = turn @ np.array(column.angular, dtype=float)
            self.screws.append(np.concatenate([turn @ np.array(column.linear, dtype=float) + np.cross(at, z), z]))
            self.origins.append(at)
        return pose

    def _most(self, body: Array, screws: Array, path: Sequence[int]) -> Array:
        """Of one link, by the velocities that move it: its mass of slides, its inertia about their origins of turns."""
        mass, moment = body[0, 0], np.array([body[5, 1], body[3, 2], body[4, 0]])
        p = np.array([self.origins[k] for k in path]).reshape(-1, 3)
        turned = np.trace(body[3:, 3:]) + 2 * mass * np.sum(p * p, axis=1) - 4 * p @ moment
        return np.abs(np.where(screws[:, 3:].any(axis=1), turned, mass))


def spatial(link: Link, pose: Array) -> Array:
    """The 6x6 inertia of a link in the base frame, at its origin."""
    r, p = pose[:3, :3], pose[:3, 3]
    s = r @ np.asarray(link.first_moment)
    j = r @ link.inertia_matrix @ r.T + 2 * (s @ p) * np.eye(3) - np.outer(s, p) - np.outer(p, s)
    j += link.mass * (p @ p * np.eye(3) - np.outer(p, p))
    moment = _cross(s + link.mass * p)
    return np.block([[link.mass * np.eye(3), -moment], [moment, j]])


def _cross(v: Array) -> Array:
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])

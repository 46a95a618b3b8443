"""The inertia matrix on plain numbers, and joints that move nothing in any pose, alone or together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from neuler.robot import Link, Robot

Array = NDArray[np.float64]

ALONE = 1e-13
"""Of the largest entry: a diagonal entry that is less in every pose is none."""
TOGETHER = 1e-11
"""Eigenvalue of the matrix, scaled to a diagonal of ones, that is none."""
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
    return [joint.name for joint in robot.moving_joints for _ in range(joint.nv)]


def sampled(robot: Robot) -> list[Array]:
    """Inertia matrices at some poses: what all of them lack, no pose has."""
    rng = np.random.default_rng(0)
    return [inertia_matrix(robot, q) for q in (np.zeros(robot.nv), *rng.uniform(-1.0, 1.0, (2, robot.nv)))]


def without_inertia(matrices: Sequence[Array], names: Sequence[str]) -> Inertialess | None:
    """Who moves nothing in any of the poses; None where every motion has inertia in some pose."""
    largest = max(float(np.abs(m).max()) for m in matrices)
    diagonal = np.max([np.diag(m) for m in matrices], axis=0)
    nothing = diagonal <= ALONE * largest
    if nothing.any():
        return Inertialess(_named(names, nothing))
    root = np.sqrt(diagonal)
    scaled = [m / root / root[:, None] for m in matrices]
    if not all(np.isfinite(m).all() for m in scaled):
        return Inertialess((), incomparable=True)
    spectra = [np.linalg.eigh(m) for m in scaled]
    if not all(values[0] <= TOGETHER for values, _ in spectra):
        return None
    values, motions = spectra[-1]
    part = np.abs(motions[:, values <= TOGETHER]).max(axis=1)
    negative = all(values[0] < -TOGETHER for values, _ in spectra)
    return Inertialess(_named(names, part > _TAKES_PART), together=True, negative=negative)


def _named(names: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, found in zip(names, chosen.tolist(), strict=True) if found))


def inertia_matrix(robot: Robot, q: Array) -> Array:
    """The joint-space inertia matrix (kg m^2, kg m, kg) by composite bodies, rotor inertia on its diagonal.

    ``q`` has a number for every velocity; those of a free joint are not read, since nothing depends on its pose.
    """
    index = {name: k for k, name in enumerate(robot.link_names)}
    poses = [np.eye(4)]
    screws: list[Array] = []  # (linear; angular) of each moving joint in the base frame, at its origin
    above: list[list[int]] = [[]]  # coordinates between the base and each link
    for joint in robot.joints:
        parent = index[joint.parent]
        pose = poses[parent] @ joint.placement.matrix
        path = above[parent]
        if joint.kind == "free":
            path = [*path, *range(len(screws), len(screws) + 6)]
            turn, at = pose[:3, :3], pose[:3, 3]
            screws += [np.concatenate([z, np.zeros(3)]) for z in turn.T]
            screws += [np.concatenate([np.cross(at, z), z]) for z in turn.T]
        elif joint.moves:
            k = len(screws)
            axis = np.asarray(joint.axis)
            moved = np.eye(4)
            if joint.kind == "revolute":
                moved[:3, :3] = _rotation(axis, float(q[k]))
                z = pose[:3, :3] @ axis
                screws.append(np.concatenate([np.cross(pose[:3, 3], z), z]))
            else:
                moved[:3, 3] = axis * q[k]
                screws.append(np.concatenate([pose[:3, :3] @ axis, np.zeros(3)]))
            pose = pose @ moved
            path = [*path, k]
        poses.append(pose)
        above.append(path)
    matrix = np.diag([joint.rotor_inertia for joint in robot.moving_joints for _ in range(joint.nv)])
    for link, pose, path in zip(robot.links, poses, above, strict=True):
        if path:
            columns = np.array([screws[k] for k in path]).T
            matrix[np.ix_(path, path)] += columns.T @ _spatial(link, pose) @ columns
    return matrix


def _spatial(link: Link, pose: Array) -> Array:
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


def _rotation(axis: Array, angle: float) -> Array:
    k = _cross(axis)
    return np.eye(3) + math.sin(angle) * k + (1.0 - math.cos(angle)) * (k @ k)

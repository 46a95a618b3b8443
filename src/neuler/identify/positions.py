"""Smoothed positions that are positions of the robot again: closed loops, unit quaternions."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.robot import Robot

Array = NDArray[np.float64]


def closed(robot: Robot, t: Array, q: Array, called: str, notes: list[str]) -> Array:
    """Smoothed positions at which loops are closed; those of independent joints stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows that cannot be closed are named below
        found = np.asarray(robot.assemble(q[:, robot.coordinates.own.places], q).q)
    lost = np.isnan(found).any(axis=1)
    if lost.any():
        row = int(np.argmax(lost))
        raise InputError(
            f"{called}: loops of robot {robot.name!r} cannot be closed in row {row} at {t[row]:.6g} s ({lost.sum()} "
            "rows): are positions those of this robot, with its zeros and signs?"
        )
    moved = float(np.abs(found - q).max())
    notes.append(f"dependent positions were computed such that loops are closed; they moved by at most {moved:.2g}")
    return found


def continuous(robot: Robot, q: Array) -> Array:
    """Positions whose quaternions do not change their sign from row to row."""
    found = q
    for entry in robot.coordinates:
        if (part := entry.quaternion) is not None:
            found = found.copy() if found is q else found
            turns = (found[1:, part] * found[:-1, part]).sum(axis=1) < 0.0
            found[1:, part] *= np.where(np.cumsum(turns) % 2 == 1, -1.0, 1.0)[:, None]
    return found


def normal(robot: Robot, q: Array) -> Array:
    """Positions (n, nq) whose quaternions have length 1."""
    q = q.copy()
    for entry in robot.coordinates:
        if (part := entry.quaternion) is not None:
            q[:, part] /= np.linalg.norm(q[:, part], axis=1, keepdims=True)
    return q

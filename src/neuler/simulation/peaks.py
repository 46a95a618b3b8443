"""The largest forces that a controller asks for, beside the limits of effort."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Robot
from neuler.rollouts.efforts import efforts

Array = NDArray[np.float64]
_MOST = 8
"""Joints that are named."""


class Peaks:
    """Of every entry of tau: the largest size that was asked for, and when."""

    def __init__(self, robot: Robot, effort: str) -> None:
        self.robot, self.clips = robot, effort == "clip"
        self.most = efforts(robot)
        self.size, self.when = np.zeros(robot.nu), np.zeros(robot.nu)

    def cut(self, tau: Array) -> Array:
        """Forces as they are applied."""
        return np.clip(tau, -self.most, self.most) if self.clips else tau

    def see(self, tau: Array, times: Array) -> None:
        """Forces (..., n, nu) that were asked for at times (n,)."""
        size = np.abs(tau).reshape(-1, *tau.shape[-2:])
        if not size.size:
            return
        worst = np.where(np.isnan(size), 0.0, size).max(axis=0)
        self.seen(worst, np.broadcast_to(times[:, None], worst.shape))

    def seen(self, size: Array, when: Array) -> None:
        """Sizes (n, nu) with their times."""
        row = np.argmax(size, axis=0)
        columns = np.arange(len(self.size))
        grew = size[row, columns] > self.size
        self.when = np.where(grew, when[row, columns], self.when)
        self.size = np.where(grew, size[row, columns], self.size)

    def notes(self) -> list[str]:
        """A line for each joint that was asked for more than its limit."""
        names, units = self.robot.coordinates.names("tau"), self.robot.coordinates.units("tau")
        passed = np.flatnonzero(self.size > self.most * (1 + 1e-12))
        found = []
        for k in passed[:_MOST]:
            unit = units[k]
            found.append(
                f"joint {names[k]!r} was asked for {self.size[k]:.4g} {unit} at {self.when[k]:.4g} s, "
                f"{self.size[k] / self.most[k]:.3g} times its effort limit of {self.most[k]:g} {unit}; "
                + ("it was given its limit" if self.clips else "it was given all of it (effort='clip' cuts it off)")
            )
        if len(passed) > _MOST:
            found.append(f"{len(passed) - _MOST} more joints were asked for more than their effort limits")
        return found

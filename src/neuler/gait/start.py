"""Where the search for a walk begins: an upright person who glides along; others are perturbed.

Nothing measured is in it: what comes out is found by the objective and the limits alone.
"""

from __future__ import annotations

import numpy as np

from neuler.motions.recorded import Recorded
from neuler.robot import Robot
from neuler.robots.humans import JOINTS

SAMPLES = 101
"""Points of the motion."""
SPREAD = 0.1
"""Standard deviation of perturbed angles (rad)."""


def upright(robot: Robot, length: float, duration: float, seed: int = 0) -> Recorded:
    """All angles zero, the pelvis moving ``length`` (m) ahead in ``duration`` (s), its middle above the heel of 0.

    Of a ``seed`` above zero, angles that do not change are added, normally distributed with 0.1 rad.
    """
    share = np.linspace(0.0, 1.0, SAMPLES)
    names = list(robot.joint_names)
    q = np.zeros((SAMPLES, robot.nq))
    q[:, names.index("pelvis_x")] = length * share
    if seed:
        away = SPREAD * np.random.default_rng(seed).normal(size=robot.nq)
        q += np.where([name in JOINTS for name in names], away, 0.0)
    return Recorded(robot, duration * share, q)

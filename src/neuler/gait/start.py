"""Where the search for a walk begins: an upright person who glides along.

Nothing measured is in it: what comes out is found by the objective and the limits alone.
"""

from __future__ import annotations

import numpy as np

from neuler.motions.recorded import Recorded
from neuler.robot import Robot

SAMPLES = 101
"""Points of the motion."""


def upright(robot: Robot, length: float, duration: float) -> Recorded:
    """All angles zero, the pelvis moving ``length`` (m) ahead in ``duration`` (s)."""
    share = np.linspace(0.0, 1.0, SAMPLES)
    q = np.zeros((SAMPLES, robot.nq))
    q[:, robot.joint_names.index("pelvis_x")] = length * share
    return Recorded(robot, duration * share, q)

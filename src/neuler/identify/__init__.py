"""Identification of a robot's parameters: logs of measurements, and estimators with uncertainty and consistency.

>>> import numpy as np
>>> from neuler import identify, robots
>>> robot, t = robots.two_link(), np.arange(0.0, 5.0, 0.01)
>>> q = np.stack([np.sin(2 * t), np.cos(3 * t)], -1)
>>> tau = robot.inverse_dynamics(q, np.stack([2 * np.cos(2 * t), -3 * np.sin(3 * t)], -1), q * [-4, -9])
>>> identify.Log(robot, t, q, tau).prepare(5.0)
<prepared 'log' of 'two_link': 422 rows at 100 Hz, cut-off 5 Hz>
"""

from neuler.identify.comparison import FrictionComparison, compare_friction
from neuler.identify.drive_gains import DriveGains, drive_gains
from neuler.identify.excite import excite
from neuler.identify.exciting import ExcitingMotion
from neuler.identify.fit import fit
from neuler.identify.identified import Identified
from neuler.identify.log import Log
from neuler.identify.offsets import offsets
from neuler.identify.prepared import Prepared

__all__ = [
    "DriveGains",
    "ExcitingMotion",
    "FrictionComparison",
    "Identified",
    "Log",
    "Prepared",
    "compare_friction",
    "drive_gains",
    "excite",
    "fit",
    "offsets",
]

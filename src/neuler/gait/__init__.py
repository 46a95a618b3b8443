"""Human gait: prediction of walking, curves of strides, and the loads of measured motion.

>>> import numpy as np
>>> from neuler import gait, robots
>>> human, t = robots.human(mass=70.0), np.arange(100) / 100
>>> loads = gait.Measured(human, t, np.zeros((100, 55))).loads()
>>> (loads.vertical.sum(axis=-1) / loads.weight).round(6).max().item()
1.0
"""

from neuler.gait.agreement import Agreement, agreement, compare, pressure_error
from neuler.gait.columns import GAIT2392, OPENSIM, Columns
from neuler.gait.costs import Weights
from neuler.gait.footfalls import Events
from neuler.gait.ground import FEET, Foot, ground_reaction
from neuler.gait.loads import Loads, ground_loads
from neuler.gait.measured import Measured
from neuler.gait.motion import MeasuredMotion
from neuler.gait.peaks import Peak
from neuler.gait.prediction import Prediction, predict
from neuler.gait.reference import Reference
from neuler.gait.stance import Thresholds
from neuler.gait.starts import StartReport
from neuler.gait.stride import Stride
from neuler.gait.tables import save_angles
from neuler.gait.thesis import ThesisWalk
from neuler.gait.walk import Walk
from neuler.gait.walker import Load

__all__ = [
    "FEET",
    "GAIT2392",
    "OPENSIM",
    "Agreement",
    "Columns",
    "Events",
    "Foot",
    "Load",
    "Loads",
    "Measured",
    "MeasuredMotion",
    "Peak",
    "Prediction",
    "Reference",
    "StartReport",
    "Stride",
    "ThesisWalk",
    "Thresholds",
    "Walk",
    "Weights",
    "agreement",
    "compare",
    "ground_loads",
    "ground_reaction",
    "predict",
    "pressure_error",
    "save_angles",
]

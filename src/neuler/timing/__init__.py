"""Path timing: the fastest motion along a given path, and slower ones along a given trajectory."""

from neuler import optimize as _optimize  # noqa: F401  (says what to install where SciPy is missing)
from neuler.timing.constraints import Coefficients, Constraint
from neuler.timing.fastest import time_path
from neuler.timing.paths import Path, PathPoints
from neuler.timing.scaling import scale_time
from neuler.timing.timed_path import Kinematics, TimedPath

__all__ = [
    "Coefficients", "Constraint", "Kinematics", "Path", "PathPoints", "TimedPath", "scale_time", "time_path",
]  # fmt: skip

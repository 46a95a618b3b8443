"""Path timing: the fastest motion along a given path, and slower ones along a given trajectory."""

from neuler.plan.timing.paths import Path
from neuler.plan.timing.scaling import Scaling, scale_time
from neuler.plan.timing.timed import Motion, TimedPath
from neuler.plan.timing.timing import time_path

__all__ = ["Motion", "Path", "Scaling", "TimedPath", "scale_time", "time_path"]

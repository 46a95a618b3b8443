"""neuler: a robot in, compiled dynamics out."""

from neuler import robots
from neuler.errors import CompileError, FormatError, InputError, NeulerError, RobotError
from neuler.formats import load
from neuler.formats.dh import from_dh
from neuler.kernels import Kernel, threads
from neuler.robot import Coupling, Frame, Joint, Limits, Link, Loop, Mechanism, Robot, Transform

__version__ = "0.1.0"

__all__ = [
    "CompileError", "Coupling", "FormatError", "Frame", "InputError", "Joint", "Kernel", "Limits", "Link", "Loop",
    "Mechanism", "NeulerError", "Robot", "RobotError", "Transform", "from_dh", "load", "robots", "threads",
]  # fmt: skip

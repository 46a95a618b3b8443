"""neuler: a robot in, compiled dynamics out."""

from neuler import robots
from neuler.errors import CompileError, FormatError, InputError, NeulerError, RobotError
from neuler.formats import load
from neuler.formats.dh import from_dh
from neuler.kernels import Kernel, threads
from neuler.robot import Frame, Joint, Limits, Link, Robot, Transform

__version__ = "0.1.0"

__all__ = [
    "CompileError", "FormatError", "Frame", "InputError", "Joint", "Kernel", "Limits", "Link", "NeulerError", "Robot",
    "RobotError", "Transform", "from_dh", "load", "robots", "threads",
]  # fmt: skip

"""neuler: a robot in, compiled dynamics out."""

from typing import TYPE_CHECKING

from neuler import layouts, math, robots
from neuler import structure as structure  # gives Robot its mobility
from neuler import verbs as verbs  # gives Robot its verbs
from neuler.errors import CompileError, FormatError, InputError, NeulerError, RobotError
from neuler.formats import load
from neuler.formats.dh import from_dh
from neuler.functions.function import Function, function
from neuler.kernels import Kernel, threads
from neuler.robot import (
    Coupling,
    Frame,
    Joint,
    Leg,
    Limits,
    Link,
    Loop,
    Polynomial,
    Robot,
    Spline,
    Transform,
    parallel_robot,
    stack,
)  # fmt: skip
from neuler.version import __version__ as __version__

__all__ = [
    "CompileError", "Coupling", "FormatError", "Frame", "Function", "InputError", "Joint", "Kernel", "Leg", "Limits",
    "Link", "Loop", "NeulerError", "Polynomial", "Robot", "RobotError", "Spline", "Transform", "from_dh", "function",
    "layouts", "load", "math", "parallel_robot", "robots", "stack", "threads",
]  # fmt: skip

if TYPE_CHECKING:
    from neuler import view as view
else:

    def __getattr__(name: str) -> object:
        """``neuler.view`` is imported when it is asked for: pictures are not what most programs start for."""
        if name == "view":
            import importlib

            return importlib.import_module("neuler.view")
        raise AttributeError(f"module 'neuler' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), "view"})

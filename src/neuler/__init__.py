"""neuler: a robot in, compiled dynamics out."""

import importlib
from typing import TYPE_CHECKING

from neuler import structure as structure  # gives Robot its mobility
from neuler import verbs as verbs  # gives Robot its verbs
from neuler.errors import CompileError, FormatError, InputError, NeulerError, RobotError
from neuler.kernels import Kernel, threads
from neuler.robot import (
    Coulomb,
    Coupling,
    Frame,
    Friction,
    Joint,
    Leg,
    Limits,
    Link,
    LoadDependent,
    Loop,
    Motor,
    Polynomial,
    Robot,
    Spline,
    Stribeck,
    Transform,
    parallel_robot,
    stack,
)  # fmt: skip
from neuler.version import __version__ as __version__

__all__ = [
    "CompileError", "Coulomb", "Coupling", "FormatError", "Frame", "Friction", "Function", "InputError", "Joint",
    "Kernel", "Leg", "Limits", "Link", "LoadDependent", "Loop", "Motor", "NeulerError", "Plan", "Polynomial", "Robot",
    "RobotError", "Spline", "Stribeck", "Transform", "control", "from_dh", "function", "layouts", "load",
    "math", "parallel_robot", "plan", "robots", "save", "simulate", "stack", "studies", "study", "threads",
]  # fmt: skip

if TYPE_CHECKING:
    from neuler import control, layouts, math, plan, robots
    from neuler import gait as gait
    from neuler import identify as identify
    from neuler import jax as jax
    from neuler import motions as motions
    from neuler import simulation as simulation
    from neuler import studies as studies
    from neuler import timing as timing
    from neuler import torch as torch
    from neuler import view as view
    from neuler.formats import load, save
    from neuler.formats.dh import from_dh
    from neuler.functions.function import Function, function
    from neuler.plan import Plan
    from neuler.simulation import simulate
    from neuler.studies import study
else:
    _LATER = {
        "control": "neuler.control", "layouts": "neuler.layouts", "math": "neuler.math", "motions": "neuler.motions",
        "robots": "neuler.robots", "gait": "neuler.gait", "identify": "neuler.identify",
        "plan": "neuler.plan", "simulation": "neuler.simulation", "simulate": "neuler.simulation:simulate",
        "studies": "neuler.studies", "study": "neuler.studies:study",
        "timing": "neuler.timing", "torch": "neuler.torch", "view": "neuler.view", "jax": "neuler.jax",
        "Plan": "neuler.plan:Plan",
        "load": "neuler.formats:load", "save": "neuler.formats:save", "from_dh": "neuler.formats.dh:from_dh",
        "Function": "neuler.functions.function:Function", "function": "neuler.functions.function:function",
    }  # fmt: skip
    """What is imported when it is asked for: few programs need all of it, and none at its start."""

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(_told(name))
        module, _, attribute = _LATER[name].partition(":")
        found = importlib.import_module(module)
        globals()[name] = getattr(found, attribute) if attribute else found
        return globals()[name]

    def _told(name: str) -> str:
        """What to say of a name that neuler does not have."""
        from neuler import elsewhere
        from neuler.naming import closest

        here = elsewhere.method(name)
        likely = None if here or name.startswith("_") else closest(name, __all__)
        meant = f"; use {here}" if here else f"; did you mean {likely!r}?" if likely else ""
        return f"module 'neuler' has no attribute {name!r}{meant}"

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER})

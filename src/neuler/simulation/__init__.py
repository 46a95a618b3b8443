"""Simulation: motions of a robot under a controller. The room itself is called: ``neuler.simulate(robot, ...)``."""

from __future__ import annotations

import sys
import types
from typing import Any

from neuler.simulate.run import Event, Run
from neuler.simulate.simulation import Interrupted, simulate

__all__ = ["Event", "Interrupted", "Run", "simulate"]


class _Called(types.ModuleType):
    """A module that does what its chief function does: importing from the room must not hide ``neuler.simulate``."""

    def __call__(self, *arguments: Any, **options: Any) -> Run:
        return simulate(*arguments, **options)


sys.modules[__name__].__class__ = _Called

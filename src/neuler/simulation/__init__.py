"""Simulation: motions of a robot under a controller, by ``neuler.simulate(robot, controller, x0, t)``."""

from __future__ import annotations

from neuler.simulation.run import Event, Run
from neuler.simulation.simulator import Interrupted, simulate

__all__ = ["Event", "Interrupted", "Run", "simulate"]

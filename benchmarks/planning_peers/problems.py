"""The problems that planners are measured on, as numbers alone: every process of the comparison reads them here.

Two-link arm: Barman 4.1. UR5: minimum time between two positions at rest under the velocity and effort limits of its
URDF (package example-robot-data, gravity 9.81), without friction.
"""

from __future__ import annotations

import importlib.metadata
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

TOLERANCE = 1e-8
"""Of IPOPT, everywhere."""
DEGREE = 3

TWO_LINK = {
    "start": (0.0, -2.0),
    "goal": (1.0, -1.0),
    "length": 0.4,
    "mass": 0.5,
    "inertia": 0.1,
    "torque": 10.0,
    "guess": 1.0,
}
"""Barman 4.1: equal links, centres of mass at half their lengths, no gravity; ``guess`` is the first duration."""

UR5 = {
    "urdf": "ur_description/urdf/ur5_robot.urdf",
    "start": (-0.8, -1.9, 1.6, -1.3, -1.5, 0.0),
    "goal": (0.8, -0.9, 0.7, -0.9, -1.0, 1.0),
    "controls": 20,
    "points": 200,
    "guess": 2.0,
}
"""Folded on one side to stretched out on the other; 20 control points, 200 grid points evenly over the duration."""


def urdf(path: str) -> Path:
    """A file of the package example-robot-data."""
    package = importlib.metadata.distribution("example-robot-data")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / path


def clamped(controls: int, degree: int = DEGREE) -> np.ndarray:
    """Uniform knots over [0, 1], the first and last of them degree + 1 times."""
    inner = np.linspace(0.0, 1.0, controls - degree + 1)
    return np.concatenate([np.zeros(degree), inner, np.ones(degree)])


def grid(controls: int, per_span: int) -> np.ndarray:
    """So many steps in every span of the knots, their ends among them."""
    return np.linspace(0.0, 1.0, (controls - DEGREE) * per_span + 1)


def basis(controls: int, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """B, dB/ds, d2B/ds2 at shares of the duration, each (points, controls)."""
    curve = BSpline(clamped(controls), np.eye(controls), DEGREE)
    return curve(at), curve.derivative(1)(at), curve.derivative(2)(at)


def straight(start: Any, goal: Any, controls: int) -> np.ndarray:
    """Control points (controls, joints) from start to goal, at rest at both ends: the first guess of every solver."""
    share = np.clip((np.arange(controls) - 1.0) / (controls - 3.0), 0.0, 1.0)[:, None]
    return (1.0 - share) * np.asarray(start) + share * np.asarray(goal)


class Clock:
    """Seconds since it was made, or since the last ``lap``; ``cpu``: of this process since it was made."""

    def __init__(self) -> None:
        self.last, self.first = time.perf_counter(), time.process_time()

    def lap(self) -> float:
        now = time.perf_counter()
        self.last, before = now, self.last
        return now - before

    @property
    def cpu(self) -> float:
        return time.process_time() - self.first


def answer(**found: Any) -> None:
    """The last line that a peer prints: one JSON object."""
    print(json.dumps({key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in found.items()}))

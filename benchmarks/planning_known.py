"""Known motions and the planning tasks made of them, which are feasible by construction.

A known motion is a B-spline of degree 5 through random control points (loops: of the independent joints), or what a
robot does under smooth forces (passive joints, a free base). What it needs of positions, velocities and torques, times
1.1, are the task's limits; obstacles are put where it clears them by 1.1 times the margin; starts, goals, poses and
via points lie on it. The planner is not told the motion. planning_arms.py and planning_machines.py make the tasks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from neuler import Robot, plan
from planning_scenes import Scene
from planning_torques import Torques

MORE = 1.1
"""Limits over what the known motion needs."""
SAMPLES = 1001
"""Of a known motion in every phase."""
Array = np.ndarray
Load = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Known:
    """A motion at times t (n,), phase by phase: positions (n, nq), and derivatives (n, nv) each."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    phase: Array
    """Number of the phase of every sample; a break is the last sample of one and the first of the next."""

    def ends(self) -> list[tuple[int, int]]:
        """First and last sample of every phase."""
        return [tuple(np.flatnonzero(self.phase == k)[[0, -1]]) for k in range(int(self.phase[-1]) + 1)]  # type: ignore[misc]

    @property
    def durations(self) -> list[float]:
        """Of its phases (s)."""
        return [float(self.t[last] - self.t[first]) for first, last in self.ends()]


@dataclass(frozen=True, eq=False)
class Task:
    """A statement for the planner, and all that a check needs to know of it."""

    seed: int
    kind: str
    robot: Robot
    referee: Torques
    known: Known
    limits: dict[str, tuple[Array, Array]]
    """Lower and upper bounds by the name of a measure; of torques, for the driven entries of tau."""
    start: plan.Boundary
    ends: list[plan.Boundary]
    """Of every phase; of the last one, the goal."""
    objective: str = "time"
    """time, mixed (time and a little effort), or effort in the durations of the known motion."""
    loads: list[Load | None] = field(default_factory=lambda: [None])
    """What is carried in every phase."""
    scene: Scene | None = None
    via: bool = False
    """Whether phases are stated as via points at times that are to be found."""
    label: str = ""

    def statement(self, **more: Any) -> plan.Plan:
        """The task as a plan with the planner's defaults; ``more`` are further arguments of its phases."""
        measures = {"position": plan.position, "velocity": plan.velocity, "torque": plan.torque}
        measures["acceleration"] = plan.acceleration
        limits = [plan.limit(measures[name], low, high) for name, (low, high) in self.limits.items()]
        limits += [self.scene.limit()] if self.scene else []
        fixed: list[Any] = self.known.durations if self.objective == "effort" else [None] * len(self.ends)
        given = {"start": self.start, "limits": limits, "robot_limits": False}
        if len(self.ends) == 1:
            return plan.Plan(
                self.robot, self._objective(), goal=self.ends[0], duration=fixed[0], payload=_payload(self.loads[0]),
                **given,
            )  # fmt: skip
        if self.via:
            passed = [plan.Via(q=end.q, qd=end.qd) for end in self.ends[:-1]]
            return plan.Plan(self.robot, self._objective(), via=passed, goal=self.ends[-1], **given)
        parts = [
            plan.Phase(end=end, payload=_payload(load), duration=T, **more)
            for end, load, T in zip(self.ends, self.loads, fixed, strict=True)
        ]
        return plan.Plan(self.robot, self._objective(), phases=parts, **given)

    def _objective(self) -> plan.Objective:
        if self.objective == "time":
            return plan.duration()
        if self.objective == "effort":
            return plan.effort()
        spent = 0.0
        for k, (first, last) in enumerate(self.known.ends()):
            tau = self.referee.driven(k, *(x[first : last + 1] for x in self._states()))
            spent += float(np.trapezoid((tau**2).sum(axis=1), self.known.t[first : last + 1]))
        return plan.duration() + 0.1 * sum(self.known.durations) / spent * plan.effort()

    def _states(self) -> tuple[Array, Array, Array]:
        return self.known.q, self.known.qd, self.known.qdd


def _payload(load: Load | None) -> Any:
    return () if load is None else plan.Payload(**load)


# ---- known motions -----------------------------------------------------------------------


def smooth(
    rng: np.random.Generator, start: Array, goal: Array, spread: Array, inner: int = 4, rest: int = 3
) -> BSpline:
    """A spline over 0 to 1 from rest to rest; ``rest`` equal control points at either end, ``inner`` in between."""
    degree = max(5, 2 * rest - 1)
    share = np.linspace(0.0, 1.0, inner + 2)[1:-1, None]
    middle = start + share * (goal - start) + rng.uniform(-1.0, 1.0, (inner, len(start))) * spread
    P = np.concatenate([np.tile(start, (rest, 1)), middle, np.tile(goal, (rest, 1))])
    count = len(P)
    knots = np.concatenate([np.zeros(degree), np.linspace(0.0, 1.0, count - degree + 1), np.ones(degree)])
    return BSpline(knots, P, degree)


def sampled(curve: BSpline, T: float, shares: Sequence[float]) -> Known:
    """The spline over a time, cut into phases at shares; the first one is where it begins."""
    parts = [np.linspace(a, b, SAMPLES) for a, b in itertools.pairwise(shares)]
    s = np.concatenate(parts)
    phase = np.repeat(np.arange(len(parts)), SAMPLES)
    q, qd, qdd = (curve.derivative(k)(s) / T**k if k else curve(s) for k in range(3))
    return Known((s - shares[0]) * T, q, qd, qdd, phase)


def bounds(known: Known, referee: Torques) -> dict[str, tuple[Array, Array]]:
    """Bounds of torques and velocities, both ways alike, and of positions about their middle."""
    tau = np.concatenate([
        referee.driven(k, *(x[first : last + 1] for x in (known.q, known.qd, known.qdd)))
        for k, (first, last) in enumerate(known.ends())
    ])  # fmt: skip
    torque, speed = (MORE * np.abs(x).max(axis=0) + 1e-3 for x in (tau, known.qd))
    found = {"torque": (-torque, torque), "velocity": (-speed, speed)}
    if known.q.shape[1] == known.qd.shape[1]:
        low, high = known.q.min(axis=0), known.q.max(axis=0)
        middle, half = 0.5 * (low + high), 0.5 * MORE * (high - low) + 1e-2
        found["position"] = middle - half, middle + half
    return found


def drawn_objective(rng: np.random.Generator, *choices: str) -> str:
    return str(rng.choice(choices or ("time", "time", "mixed", "effort")))

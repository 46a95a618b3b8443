"""Random tasks of arms: rest to rest, phases with payloads, via points, obstacles, poses, moving ends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import neuler
from neuler import Robot, plan
from planning_known import MORE, Load, Task, bounds, drawn_objective, sampled, smooth
from planning_scenes import scene
from planning_tasks import MACHINES, RADIUS, bare, urdf
from planning_torques import Pinocchio

Array = np.ndarray


@dataclass(frozen=True)
class Arm:
    """An arm, how far its tasks move, and where it carries things."""

    make: Callable[[], Robot]
    flange: str
    mass: float
    urdf: str = ""


def _friction_free() -> Robot:
    return neuler.robots.puma560().without_friction()


ARMS = {
    "two_link": Arm(lambda: neuler.robots.two_link().with_gravity((0.0, -9.81, 0.0)), "tool", 0.5),
    "UR5": Arm(lambda: bare("UR5"), "tool0", 3.0, "UR5"),
    "Panda": Arm(lambda: bare("Panda"), "panda_link8", 2.0, "Panda"),
    "PUMA": Arm(_friction_free, "link6", 2.0),
    "PUMA with friction": Arm(neuler.robots.puma560, "link6", 2.0),
}


@functools.cache
def arm_robot(name: str) -> Robot:
    """The robot of an arm, made once."""
    return ARMS[name].make()


def _drawn(rng: np.random.Generator, robot: Robot) -> tuple[Array, Array, Array]:
    """Start, goal, and how far control points are from the line between them: within the middle of the ranges."""
    rows = np.array([(x.lower, x.upper) for x in robot.coordinate_limits])
    low, high = np.clip(rows, -2.0, 2.0).T if not np.isfinite(rows).all() else rows.T
    middle, half = 0.5 * (low + high), np.minimum(0.5 * (high - low), 2.0)
    start, goal = middle + half * rng.uniform(-0.6, 0.6, (2, robot.nq))
    return start, goal, 0.25 * half


def _ball(rng: np.random.Generator, arm: Arm) -> Load:
    mass = float(rng.uniform(0.2, 1.0) * arm.mass)
    return {"frame": arm.flange, "mass": mass, "com": (0.0, 0.0, RADIUS), "inertia": (0.4 * mass * RADIUS**2,) * 3}


def _arm(
    rng: np.random.Generator, seed: int, kind: str, shares: Sequence[float], loaded: Sequence[bool], **more: Any
) -> Task:
    """A task of an arm whose phases end at shares of a known motion."""
    name = str(rng.choice(list(ARMS)))
    arm, robot = ARMS[name], arm_robot(name)
    start, goal, spread = _drawn(rng, robot)
    T = float(rng.uniform(0.8, 2.5))
    known = sampled(smooth(rng, start, goal, spread), T, shares)
    loads = [_ball(rng, arm) if carries else None for carries in loaded]
    machine = MACHINES.get(arm.urdf)
    referee = Pinocchio(robot, loads, str(urdf(arm.urdf)) if machine else None, machine.locked if machine else ())
    at = [last for _, last in known.ends()]
    moving = shares[-1] < 1.0
    ends = [plan.Boundary(q=known.q[k], qd=None) for k in at[:-1]]
    ends.append(plan.Boundary(q=known.q[-1], qd=known.qd[-1] if moving else 0.0))
    begin = plan.Boundary(q=known.q[0], qd=known.qd[0] if shares[0] > 0.0 else 0.0)
    given = {"objective": drawn_objective(rng), "loads": loads, "label": name, **more}
    return Task(seed, kind, robot, referee, known, bounds(known, referee), begin, ends, **given)


def arm(rng: np.random.Generator, seed: int) -> Task:
    """From rest to rest, with a payload or none; some with bounds on acceleration."""
    found = _arm(rng, seed, "arm", (0.0, 1.0), [bool(rng.random() < 0.5)])
    if rng.random() < 0.25:
        size = MORE * np.abs(found.known.qdd).max(axis=0)
        found.limits["acceleration"] = -size, size
    return found


def phases(rng: np.random.Generator, seed: int) -> Task:
    """Two or three phases, what is carried changes between them; it need not rest there."""
    cuts = (0.0, 0.45, 1.0) if rng.random() < 0.5 else (0.0, 0.35, 0.65, 1.0)
    loaded = [k % 2 == 1 for k in range(len(cuts) - 1)]
    return _arm(rng, seed, "phases", cuts, loaded)


def via(rng: np.random.Generator, seed: int) -> Task:
    """One or two points on the way at times that are to be found, some with a velocity."""
    cuts = (0.0, 0.5, 1.0) if rng.random() < 0.5 else (0.0, 0.3, 0.7, 1.0)
    found = _arm(
        rng, seed, "via", cuts, [False] * (len(cuts) - 1), objective=drawn_objective(rng, "time", "mixed"), via=True
    )
    if rng.random() < 0.3:
        k = found.known.ends()[0][1]
        found.ends[0] = plan.Boundary(q=found.known.q[k], qd=found.known.qd[k])
    return found


def obstacles(rng: np.random.Generator, seed: int) -> Task:
    """Among obstacles that the known motion clears by 1.1 times the margin."""
    found = _arm(rng, seed, "obstacles", (0.0, 1.0), [False])
    object.__setattr__(found, "scene", scene(rng, found.label, found.referee, found.known.q, MORE))
    return found


def pose(rng: np.random.Generator, seed: int) -> Task:
    """To a pose of the flange, or to a position of it; joints are free."""
    found = _arm(rng, seed, "pose", (0.0, 1.0), [False])
    flange = ARMS[found.label].flange
    wanted = found.referee.poses(flange, found.known.q[-1:])[0]
    if found.label == "two_link" or rng.random() < 0.5:
        wanted = wanted[:3, 3]
    found.ends[0] = plan.Boundary(poses={flange: wanted})
    return found


def moving(rng: np.random.Generator, seed: int) -> Task:
    """From one velocity to another; some with accelerations at both ends."""
    found = _arm(rng, seed, "moving", (0.25, 0.8), [False])
    if rng.random() < 0.3:
        known = found.known
        begin = plan.Boundary(q=known.q[0], qd=known.qd[0], qdd=known.qdd[0])
        object.__setattr__(found, "start", begin)
        found.ends[0] = plan.Boundary(q=known.q[-1], qd=known.qd[-1], qdd=known.qdd[-1])
    return found

"""Path timing beside toppra: one path, and a hundred; the same paths, bounds and points, on one core.

The Panda with its hand closed, friction left out (toppra's torque bounds know Coulomb friction alone); a cubic spline
through five points that ``default_rng(0)`` draws from the middle four fifths of the joints' ranges, evenly along s;
1,000 points; velocity and torque limits of its URDF, both ends at rest. toppra has the interpolation scheme, which is
ours, its solver "seidel", and our inverse dynamics for its torques. Rounds take turns, and the least of each counts.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from neuler import Robot
from neuler.timing import scale_time, time_path
from neuler.timing.scans import scans
from rollouts import without_fingers

POINTS, PATHS = 1000, 100


def paths(robot: Robot) -> np.ndarray:
    """Points of all paths, (paths, 5, joints)."""
    limits = robot.coordinate_limits
    low, high = (np.array([getattr(x, side) for x in limits]) for side in ("lower", "upper"))
    return low + (high - low) * np.random.default_rng(0).uniform(0.1, 0.9, (PATHS, 5, robot.nv))


def theirs(robot: Robot, points: np.ndarray) -> Callable[[], tuple[float, float, float]]:
    """A call of toppra's: the duration it finds, seconds of its setup and of its solve."""
    import toppra
    import toppra.algorithm
    import toppra.constraint as bounds

    toppra.setup_logging("ERROR")
    grid = np.linspace(0.0, 1.0, POINTS)
    speed = np.array([[-x.velocity, x.velocity] for x in robot.coordinate_limits])
    force = np.array([[-x.effort, x.effort] for x in robot.coordinate_limits])
    scheme = bounds.DiscretizationType.Interpolation

    def call() -> tuple[float, float, float]:
        begin = time.perf_counter()
        path = toppra.SplineInterpolator(np.linspace(0.0, 1.0, len(points)), points)
        torque = bounds.JointTorqueConstraint(
            robot.inverse_dynamics, force, np.zeros(robot.nv), discretization_scheme=scheme
        )
        both = [bounds.JointVelocityConstraint(speed), torque]
        problem = toppra.algorithm.TOPPRA(both, path, gridpoints=grid, solver_wrapper="seidel")
        made = time.perf_counter()
        _, sdot, _ = problem.compute_parameterization(0.0, 0.0)
        done = time.perf_counter()
        return float((2 * np.diff(grid) / (sdot[1:] + sdot[:-1])).sum()), made - begin, done - made

    return call


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    found = call()
    return found, time.perf_counter() - begin


def report(robot_of: Callable[[str], Robot], rounds: int = 20) -> list[str]:
    """All tables."""
    robot = without_fingers(robot_of("Panda")).without_friction()
    points = paths(robot)
    first, compiled = _timed(lambda: time_path(robot, points[0], grid=POINTS))
    peer = theirs(robot, points[0])
    peer()
    ours = {
        "neuler, one path": (lambda: time_path(robot, points[0], grid=POINTS, refine=False), 1),
        "neuler, one path, bounds hold between points": (lambda: time_path(robot, points[0], grid=POINTS), 1),
        f"neuler, {PATHS} paths": (lambda: time_path(robot, points, grid=POINTS, refine=False), PATHS),
        f"neuler, {PATHS} paths, bounds hold between points": (lambda: time_path(robot, points, grid=POINTS), PATHS),
    }
    least, found = dict.fromkeys(ours, np.inf), {}
    setup = solve = np.inf
    for number in range(rounds):
        duration, a, b = peer()
        setup, solve = min(setup, a), min(solve, b)
        for name, (call, many) in ours.items():
            if many > 1 and number >= max(3, rounds // 4):
                continue
            found[name], seconds = _timed(call)
            least[name] = min(least[name], seconds / many)
    total = setup + solve
    every = [theirs(robot, each)()[0] for each in points[:10]]
    batch = found[f"neuler, {PATHS} paths"]
    lines = [
        "## Path timing beside toppra, one core",
        "",
        f"Panda, 7 joints, a spline through five points, {POINTS} points, velocity and torque limits of its URDF.",
        f"Compiling, once for a robot and not counted below: {compiled:.1f} s here, or found on disk.",
        "",
        "| | ms per path | toppra / it | duration, s | beside toppra's | worst violation between points |",
        "|---|---|---|---|---|---|",
        f"| toppra | {total * 1e3:.1f} ({setup * 1e3:.1f} setup, {solve * 1e3:.1f} solve) | 1 | {duration:.6f} | | |",
    ]
    for name in ours:
        timed = found[name]
        one, worst = np.ravel(timed.duration)[0], np.max(timed.worst_violation)
        lines.append(
            f"| {name} | {least[name] * 1e3:.2f} | {total / least[name]:.0f} | {one:.6f} | {one / duration - 1:+.1e} "
            f"| {worst:.1e} |"
        )
    off = np.abs(batch.duration[: len(every)] / every - 1).max()
    back, on = scans(robot.nv)
    lines += [
        "",
        f"Of the first {len(every)} paths of the batch durations differ from toppra's by {off:.1e} at most. A step of",
        f"the backward pass is {back.operations}, of the forward pass {on.operations}.",
        "",
        *_rates(robot, points, first.duration),
    ]
    return [*lines, ""]


def _rates(robot: Robot, points: np.ndarray, free: float) -> list[str]:
    """Bounds that toppra has not: torque rates, and trajectories that are slowed."""
    rate, some = 1000.0, 10
    time_path(robot, points[0], torque_rate=rate)
    timed = [_timed(functools.partial(time_path, robot, each, torque_rate=rate)) for each in points[:some]]
    bounded, seconds = [each for each, _ in timed], [each for _, each in timed]
    motions = [each.at(np.linspace(0.0, each.duration, 400)).q for each in bounded]
    given = np.linspace(0.0, 0.8 * bounded[0].duration, 400)
    scale_time(robot, given, motions[0], torque_rate=rate)
    scaled, online = _timed(lambda: scale_time(robot, given, motions[0], torque_rate=rate))
    shifts = 0.02 * np.random.default_rng(1).normal(size=(PATHS, 1, 1))
    every = np.concatenate([motions] * (PATHS // some)) + shifts
    longest = np.linspace(0.0, 0.8 * np.mean([each.duration for each in bounded]), 400)
    many, batch = _timed(lambda: scale_time(robot, longest, every, torque_rate=rate))
    worst = max(each.worst_violation for each in bounded)
    return [
        f"Torque rates within 1000 N m/s, which no peer has, on the first {some} paths; the first of these motions,",
        "given a quarter too fast, slowed so that torques and their rates hold; and so many trajectories at once:",
        "",
        "| | duration of the first, s | without | worst violation | s |",
        "|---|---|---|---|---|",
        f"| time_path(torque_rate=1000) | {bounded[0].duration:.4f} | {free:.4f} | {worst:.1e} "
        f"| {np.median(seconds):.2f} (median), {max(seconds):.2f} (worst) |",
        f"| scale_time(torque_rate=1000) | {scaled.duration:.4f} | {given[-1]:.4f} | {scaled.worst_violation:.1e} "
        f"| {online:.2f}, {scaled.iterations} steps |",
        f"| scale_time, {PATHS} trajectories | {many.duration[0]:.4f} | {longest[-1]:.4f} "
        f"| {many.worst_violation.max():.1e} | {batch:.2f} |",
    ]


if __name__ == "__main__":
    import run

    print("\n".join(report(run.robot_of)))

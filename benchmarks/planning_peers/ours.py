"""neuler on the same problems. Prints one JSON object; run twice with one NEULER_CACHE_DIR for cold and warm.

python ours.py two_link --controls 80
python ours.py ur5
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np
import problems

import neuler
from neuler import plan


def statement(a: argparse.Namespace) -> Any:
    """The plan, and its robot."""
    if a.problem == "two_link":
        case = problems.TWO_LINK
        robot = neuler.robots.get("two_link")
        effort = case["torque"]
        limits = (plan.limit(plan.torque, -effort, effort),)
    else:
        case = problems.UR5
        robot = neuler.load(problems.urdf(case["urdf"]), mimic="independent", floating="fixed")
        limits = ()
    return plan.Plan(
        robot, plan.duration(), start=case["start"], goal=case["goal"], limits=limits, control_points=a.controls
    )


def on_grid(stated: Any, points: int) -> None:
    """Give a plan the peers' grid instead of its own: evenly spaced points."""
    (own,) = stated.transcription.profiles()
    stated.transcription.profiles = lambda *_, **__: [
        dataclasses.replace(own, grid=np.linspace(0.0, 1.0, points), weights=np.full(points, 1.0 / points))
    ]


def primed() -> None:
    """Plan something else: every library is loaded."""
    limits = (plan.limit(plan.torque, -10.0, 10.0),)
    arm = neuler.robots.get("prismatic_revolute")
    plan.Plan(arm, plan.duration(), start=[0.1, 0.6], goal=[0.5, 0.0], limits=limits, control_points=8).solve()


def effort_used(planned: Any, effort: Any, points: int) -> float:
    """The largest torque over its limit, on a fine grid."""
    t = np.linspace(0.0, planned.duration, points)
    return float(np.max(np.abs(planned.torques(t)) / effort))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=("two_link", "ur5"))
    parser.add_argument("--controls", type=int, default=20)
    parser.add_argument("--points", type=int, help="on so many evenly spaced points, not refined: as the peers do")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--profile", action="store_true", help="where the time goes, instead of the figures")
    a = parser.parse_args()
    primed()
    if a.profile:
        import cProfile
        import pstats

        with cProfile.Profile() as profile:
            statement(a).solve(solver=a.solver, tolerance=problems.TOLERANCE)
        pstats.Stats(profile).sort_stats("cumtime").print_stats(60)
        return
    clock = problems.Clock()
    stated = statement(a)
    if a.points:
        on_grid(stated, a.points)
    build = clock.lap()
    found = stated.solve(solver=a.solver, tolerance=problems.TOLERANCE, refine=not a.points)
    seconds, cpu = clock.lap(), clock.cpu
    effort = (
        problems.TWO_LINK["torque"] if a.problem == "two_link" else [x.effort for x in found.robot.coordinate_limits]
    )
    problems.answer(
        peer="neuler",
        version=neuler.__version__,
        problem=a.problem,
        controls=a.controls,
        build=build,
        solve=seconds,
        total=build + seconds,
        cpu=cpu,
        compile=found.compile_seconds,
        iterations=found.iterations,
        functions=found.function_seconds,
        per_iteration=found.function_seconds / max(1, found.iterations),
        duration=found.duration,
        status=found.status,
        valid=bool(found.valid),
        optimal=bool(found.optimal),
        worst=found.worst_violation,
        effort_used=effort_used(found, effort, 20 * problems.UR5["points"] + 1),
    )


if __name__ == "__main__":
    main()

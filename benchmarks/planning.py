"""Motion planning beside CasADi, Drake and Moco: the same problems, tolerances and, where they can, transcription.

    python benchmarks/planning.py [--rounds 3] [--peers-python PATH] [--tasks 50]

Problems and peers are in benchmarks/planning_peers: every planner is a process of its own that prints one JSON object,
on one core with one thread for BLAS, and the round with the least time in all is kept. Imports of libraries are not
counted on any side; CasADi and neuler solve something small of another shape first, so that all of theirs is loaded.
A peer that is not installed (extra ``bench-plan``) has a row that says so; another interpreter may run the peers:
``--peers-python`` or NEULER_PEERS_PYTHON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import neuler

HERE = Path(__file__).resolve().parent / "planning_peers"
sys.path.insert(0, str(HERE))

import problems  # noqa: E402

import planning_tasks  # noqa: E402

Figures = dict[str, Any]
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 900.0
"""Seconds that a peer may take."""
DASH = "-"
COLD, WARM = "neuler, kernel cache empty", "neuler, kernels from the cache"
PER_SPAN = 4
"""Grid steps between two knots, of CasADi on 4.1."""


def peers_python() -> str:
    """The interpreter with the heavy peers."""
    return os.environ.get("NEULER_PEERS_PYTHON", sys.executable)


def run(script: str, *arguments: str, python: str | None = None, **environment: str) -> Figures:
    """What a peer prints; ``failure`` says why there is nothing."""
    command = [python or peers_python(), str(HERE / script), *arguments]
    try:
        done = subprocess.run(
            command, env={**os.environ, **ONE, **environment}, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"not done after {PATIENCE:.0f} s"}
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    last = lines[-1] if lines else f"ended with {done.returncode}"
    if done.returncode == 0:
        return json.loads(last)
    return {"failure": "not installed" if last.startswith("ModuleNotFoundError") else last[:100]}


def cold_and_warm(name: str, *arguments: str) -> dict[str, Figures]:
    """neuler with nothing in the kernel cache, and with everything; fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (run("ours.py", *arguments, python=sys.executable, NEULER_CACHE_DIR=folder) for _ in range(2))
    return {COLD: cold, WARM: warm} if name == WARM else {name: warm}


Job = Callable[[], dict[str, Figures]]


def theirs(label: str, script: str, *arguments: str) -> Job:
    """A peer's run, under a label."""
    return lambda: {label: run(script, *arguments)}


def mine(label: str, *arguments: str) -> Job:
    """neuler's runs; under the label of the warm one also the cold one's."""
    return lambda: cold_and_warm(label, *arguments)


def measured(jobs: Sequence[Job], rounds: int) -> dict[str, Figures]:
    """One job after the other, and all over again: of each the run with the least time in all.

    A busy neighbour on a shared machine slows some rounds, and then everybody's.
    """
    best: dict[str, Figures] = {}
    broken: set[int] = set()
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            for label, found in job().items() if k not in broken else ():
                if "failure" in found:
                    broken.add(k)
                    best[label] = found
                elif found["total"] < best.get(label, {}).get("total", np.inf):
                    best[label] = found
    return best


# ---- tables ------------------------------------------------------------------------------


def effort_used(found: Figures, points: int = 20_001) -> float | None:
    """The largest torque of a peer's spline over its limit, everywhere: a grid says nothing between its points."""
    if "control_points" not in found:
        return None
    from scipy.interpolate import BSpline

    p = np.asarray(found["control_points"])
    curve = BSpline(problems.clamped(len(p)), p, problems.DEGREE)
    s, T = np.linspace(0.0, 1.0, points), found["duration"]
    motion = [curve(s), curve.derivative(1)(s) / T, curve.derivative(2)(s) / T**2]
    if found["problem"] == "two_link":
        robot, effort = neuler.robots.get("two_link"), problems.TWO_LINK["torque"]
    else:
        robot = planning_tasks.bare("UR5")
        effort = planning_tasks.limits(robot)[3]
    return float(np.max(np.abs(robot.inverse_dynamics(*motion)) / effort))


def number(value: Any, form: str) -> str:
    return DASH if value is None else format(value, form)


def row(label: str, found: Figures, beside: Figures) -> str:
    """A planner's figures; ratios are its times over those of ``beside``."""
    if "failure" in found:
        return f"| {label} | {found['failure']} |"
    inside, own = found.get("per_iteration"), beside.get("per_iteration")
    used = found.get("effort_used", effort_used(found))
    ratios = [found[key] / beside[key] if key in beside else None for key in ("total", "cpu")]
    inner = inside / own if inside is not None and own else None
    return (
        f"| {label} | {found['build']:.3f} | {found['solve']:.3f} | {found['total']:.3f} | {number(ratios[0], '.1f')} "
        f"| {found['cpu']:.3f} | {number(ratios[1], '.1f')} | {number(found.get('iterations'), 'd')} "
        f"| {number(None if inside is None else 1e3 * inside, '.2f')} | {number(inner, '.1f')} "
        f"| {found['duration']:.5f} | {number(used, '.5f')} | {found['status']} |"
    )


HEAD = [
    "| planner | build, s | solve, s | in all, s | ratio | CPU, s | ratio | iterations "
    "| in functions, ms per iteration | ratio | T, s | largest torque over its limit | says |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
]
RATIOS = "Ratios are over neuler with its kernels from the cache."


def table(jobs: Sequence[Job], rounds: int) -> list[str]:
    """A row a planner."""
    found = measured(jobs, rounds)
    return [*HEAD, *(row(label, figures, found[WARM]) for label, figures in found.items())]


def two_link(rounds: int) -> list[str]:
    """Barman 4.1."""
    lines = [
        "## Motion planning: Barman 4.1, beside CasADi and Moco, one core",
        "",
        "Two links, |tau| <= 10 N m, (0, -2) to (1, -1) at rest: 0.39185 s exactly. Cubic B-splines, uniform knots,",
        f"IPOPT to {problems.TOLERANCE:g} everywhere. CasADi: four grid steps a span, exact Hessian, ends taken out of",
        "the variables; SX expanded at every grid point, or one SX function mapped over them. neuler: until torques",
        "hold between grid points too. Moco: 100 intervals. The first guess of the peers is a straight line and 1 s.",
        RATIOS,
    ]
    for controls in (20, 80):
        points = len(problems.grid(controls, PER_SPAN))
        shape = ("two_link", "--controls", str(controls))
        jobs = [
            mine(WARM, *shape),
            mine(f"the same on the peers' {points} points alone", *shape, "--points", str(points)),
        ]
        for form in ("sx", "map"):
            arguments = (*shape, "--per-span", str(PER_SPAN), "--form", form)
            jobs.append(theirs(f"CasADi, {form}", "casadi_peer.py", *arguments))
        if controls == 80:
            for scheme in ("trapezoidal", "hermite-simpson"):
                jobs.append(theirs(f"Moco, {scheme}", "moco_peer.py", "--scheme", scheme))
        lines += ["", f"{controls} control points:", "", *table(jobs, rounds)]
    return [*lines, ""]


def ur5(rounds: int) -> list[str]:
    """Minimum time of the UR5."""
    case = problems.UR5
    shape = ("ur5", "--controls", str(case["controls"]))
    points = str(case["points"])
    jobs = [
        mine(WARM, *shape),
        mine(f"the same on the peers' {points} points alone", *shape, "--points", points),
        *(theirs(f"CasADi, {form}", "casadi_peer.py", *shape, "--form", form) for form in ("sx", "map")),
        *(theirs(f"Drake, {name.upper()}", "drake_peer.py", "--solver", name) for name in ("ipopt", "snopt")),
    ]
    return [
        "## Motion planning: UR5, least time, beside CasADi and Drake, one core",
        "",
        f"From {case['start']} to {case['goal']} (rad)",
        "at rest; positions, velocities (3.15 and 3.2 rad/s) and efforts (150 and 28 N m) within the URDF's limits,",
        f"gravity 9.81; {case['controls']} control points, {points} grid points, IPOPT to {problems.TOLERANCE:g}; the "
        "first guess of the peers is",
        f"a straight line and {case['guess']:g} s. CasADi's recursion has 495 instructions a point. Drake:",
        "KinematicTrajectoryOptimization with effort bounds at the grid points; it bounds velocities by their control",
        f"points and has no exact Hessian. neuler: until limits hold between grid points too. {RATIOS}",
        "",
        *table(jobs, rounds),
        "",
    ]


def report(rounds: int = 3, tasks: int = 50) -> list[str]:
    """All tables."""
    lines = two_link(rounds) + ur5(rounds)
    return lines + planning_tasks.report(count=tasks) if tasks else lines


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=50, help="random tasks of each robot; 0 for none")
    parser.add_argument("--peers-python", help="the interpreter that has the peers")
    a = parser.parse_args()
    if a.peers_python:
        os.environ["NEULER_PEERS_PYTHON"] = a.peers_python
    print("\n".join(report(a.rounds, a.tasks)))


if __name__ == "__main__":
    main()

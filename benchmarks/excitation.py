"""Motions for identification: condition numbers of random and of designed motions of a UR10 and a UR5, and their time.

Ten seconds, every joint within 1.2 rad, 70 % of the velocities and 80 % of the efforts of the URDF files, 36 base
parameters of links. Random motions are sums of five sines, as large as ranges and velocities allow; those whose torques
are beyond their limits count, too.

    python benchmarks/excitation.py
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np

import neuler
from neuler import Robot, identify
from neuler.identify.diagnosis import excitation
from neuler.motions.fourier import fourier_basis

FILES = {"UR10": "ur_description/urdf/ur10_robot.urdf", "UR5": "ur_description/urdf/ur5_robot.urdf"}
T, REACH, VELOCITY, EFFORT, RANDOM = 10.0, 1.2, 0.7, 0.8, 100
KINDS = {"splines, 20 control points": {}, "Fourier series, 5 harmonics": {"harmonics": 5}}


def example(name: str) -> Robot:
    """A robot of the package example-robot-data."""
    package = importlib.metadata.distribution("example-robot-data")
    return neuler.load(Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / FILES[name])


def random_figures(robot: Robot) -> np.ndarray:
    """Scaled and plain condition numbers of random motions, (motions, 2)."""
    kernel = robot.base_parameters("links").regressor()
    speed = VELOCITY * np.array([joint.limits.velocity for joint in robot.joints if joint.moves])
    shares, found = np.arange(1000) / 1000, []
    for seed in range(RANDOM):
        c = np.random.default_rng(seed).normal(size=(11, robot.nv))
        c[0] = 0.0
        q, qd, qdd = (fourier_basis(5, shares, k) @ c / T**k for k in range(3))
        size = np.minimum(REACH / np.abs(q).max(axis=0), speed / np.abs(qd).max(axis=0))
        each = excitation(kernel(q * size, qd * size, qdd * size))
        found.append((each.scaled_condition, each.condition))
    return np.array(found)


def report(load: Callable[[str], Robot] = example) -> list[str]:
    """A row a robot and kind of motion."""
    lines = [
        "## Motions for identification",
        "",
        "10 s within 1.2 rad, 70 % of velocities and 80 % of efforts, base parameters of links; two starts, no guess.",
        "Condition numbers of 2,000 rows, columns divided by their norms, and in brackets as they are.",
        "",
        f"| robot | random, median of {RANDOM} | best | motion | found | valid | iterations | seconds | compiling, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in FILES:
        robot = load(name)
        random = random_figures(robot)
        (middle, plain), (best, least) = np.median(random, axis=0), random.min(axis=0)
        for kind, options in KINDS.items():
            found = identify.excite(robot, T, columns="links", reach=REACH, velocity=VELOCITY, effort=EFFORT, **options)
            lines.append(
                f"| {name} | {middle:.1f} ({plain:.0f}) | {best:.1f} ({least:.0f}) | {kind} "
                f"| {found.scaled_condition:.2f} ({found.condition:.0f}) | {'yes' if found.valid else 'no'} "
                f"| {found.iterations} | {found.seconds:.1f} | {found.compile_seconds:.1f} |"
            )
    return [*lines, ""]


if __name__ == "__main__":
    print("\n".join(report()))

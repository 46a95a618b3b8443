"""Guarino Lo Bianco, section V: torques of the Stanford arm and their exact rates along a motion.

    python examples/guarino_stanford.py -o guarino_stanford.png

The arm moves between the points of Table III in 2 s, by a quintic with zero velocity and acceleration
at both ends. The exact rate of every joint force, (3)-(21), is compared with the backward difference
(36) for three sampling times, and the cost of torque and rate together with that of the torque alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from math import pi
from pathlib import Path

import numpy as np

from neuler import robots

START = np.array([pi / 2, 0, 0, pi / 2, pi / 4, pi / 2])
"""Table III; joint 3 slides, in metres."""
END = np.array([pi / 4, pi / 2, 2, pi / 4, pi / 2, 0])
DURATION = 2.0
SAMPLING = (1e-2, 1e-3, 1e-4)
PRINTED = "2.462e-02"
"""The paper's deviation of joint 1 at Ts = 1e-4."""

Evaluator = Callable[..., tuple[np.ndarray, np.ndarray]]


def quintic(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity, acceleration and jerk at the times t, one row each."""
    s = np.asarray(t, float)[:, None] / DURATION
    shapes = (
        s**3 * (10 - 15 * s + 6 * s**2),
        30 * s**2 * (1 - s) ** 2,
        60 * s * (1 - s) * (1 - 2 * s),
        60 * (1 - 6 * s + 6 * s**2),
    )
    q, qd, qdd, qddd = ((END - START) * shape / DURATION**k for k, shape in enumerate(shapes))
    return START + q, qd, qdd, qddd


def times(sampling: float) -> np.ndarray:
    """t_k = k Ts from 0 to the end of the motion."""
    return sampling * np.arange(round(DURATION / sampling) + 1)


def deviations(evaluate: Evaluator, sampling: float) -> np.ndarray:
    """Largest |exact rate - backward difference (36)| of each joint over the motion."""
    tau, rate = evaluate(*quintic(times(sampling)))
    return np.abs(rate[1:] - np.diff(tau, axis=0) / sampling).max(axis=0)


def seconds(call: Callable[..., object], *arguments: np.ndarray) -> float:
    """The fastest of many calls."""
    best = float("inf")
    for _ in range(100):
        start = time.perf_counter()
        call(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


def draw(evaluate: Evaluator, units: Sequence[str], path: Path) -> None:
    """Forces above, rates below; dots are backward differences over 50 ms, coarse enough to see them lag."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fine, coarse = times(1e-3), times(5e-2)
    tau, rate = evaluate(*quintic(fine))
    sampled, _ = evaluate(*quintic(coarse))
    slope = np.diff(sampled, axis=0) / (coarse[1] - coarse[0])
    figure, axes = plt.subplots(2, len(units), figsize=(2.9 * len(units), 5.2), sharex=True, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, wspace=0.04)
    for k, unit in enumerate(units):
        above, below = axes[0, k], axes[1, k]
        above.plot(fine, tau[:, k], color="tab:blue")
        below.plot(fine, rate[:, k], color="tab:orange", label="exact, (20), (21)")
        below.plot(coarse[1:], slope[:, k], "k.", markersize=3, label="backward difference, 50 ms")
        above.set_title(f"joint {k + 1}")
        above.set_ylabel(f"force in {unit}" if unit == "N" else f"torque in {unit}")
        below.set_ylabel(f"rate in {unit}/s")
        below.set_xlabel("time in s")
        for axis in (above, below):
            axis.grid(alpha=0.3)
            axis.ticklabel_format(axis="y", scilimits=(-2, 3))
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle("Stanford arm, point to point in 2 s: joint forces and their rates")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and save the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("guarino_stanford.png"), help="where the figure goes")
    output = parser.parse_args(arguments).output

    robot = robots.stanford()
    both = robot.inverse_dynamics_rate
    print("Largest |exact rate - backward difference|, joints 1 to 6")
    for sampling in SAMPLING:
        row = "  ".join(f"{x:.3e}" for x in deviations(both.ufunc, sampling))
        print(f"Ts = {sampling:.0e} s:  {row}")
    print(f"printed for joint 1 at Ts = 1e-04 s: {PRINTED}\n")

    alone, motion = robot.inverse_dynamics, quintic(times(1e-3))
    ratio = (both.operations.mul + both.operations.add) / (alone.operations.mul + alone.operations.add)
    slower = seconds(both.ufunc, *motion) / seconds(alone.ufunc, *motion[:3])
    print(f"torque alone:    {alone.operations}")
    print(f"torque and rate: {both.operations}")
    print(f"{ratio:.2f} times the multiplications and additions, {slower:.2f} times the time (printed: 2.19)\n")

    units = ["N m" if joint.kind == "revolute" else "N" for joint in robot.moving_joints]
    draw(both.ufunc, units, output)
    print(f"figure: {output}")


if __name__ == "__main__":
    main()

"""Gains of a controller, tuned over ten thousand runs with payloads and friction that it does not know.

    python examples/tune_gains.py         # prints the table, writes tune_gains.png

A PUMA 560 follows sines under computed torque. The controller knows the bare arm; the arm that is simulated carries
a payload of 0 to 4 kg and has friction of half to twice the model's, another in every run. Every run has gains of its
own, bandwidth (rad/s) and damping, as its reference: all runs are one call of machine code. The controller runs at
100 Hz, so that too much gain shakes the arm.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import neuler
from neuler import math as nm

MODEL = neuler.robots.puma560()
JOINTS = MODEL.joint_names
SIZE, TURN = 0.4, 2 * np.pi * 0.5
"""Of the sines: rad, rad/s."""
DT, STEPS, EVERY, PERIOD = 1e-3, 2000, 20, 0.01
"""Of the integrator (s), how many, which are kept; of the controller, whose torques are held in between (s)."""


def wanted(t, xp):
    """Positions, velocities and accelerations of all joints."""
    phase = TURN * t + np.arange(6)
    s, c = xp.sin(phase), xp.cos(phase)
    return SIZE * s, SIZE * TURN * c, -SIZE * TURN**2 * s


def control(t, q, qd, memory, reference):
    """Computed torque of the bare arm; ``reference`` is (bandwidth, damping)."""
    bandwidth, damping = reference[0], reference[1]
    x, xd, xdd = wanted(t, nm)
    pull = bandwidth * bandwidth * (x - q) + 2.0 * damping * bandwidth * (xd - qd)
    return MODEL.inverse_dynamics(q, qd, xdd + pull), memory


def scenarios(rng: np.random.Generator, runs: int) -> dict[str, np.ndarray]:
    """Payloads at the wrist, and friction of every joint."""
    mass = rng.uniform(0.0, 4.0, runs)
    payload = np.zeros((runs, 10))
    payload[:, 0], payload[:, 3] = mass, 0.1 * mass  # 10 cm before the flange
    payload[:, 4:7] = 0.012 * mass[:, None]
    found = {"payload:dh6": payload}
    for joint in MODEL.moving_joints:
        found[f"{joint.name}.viscous"] = joint.viscous * rng.uniform(0.5, 2.0, runs)
    return found


def tried(gains: np.ndarray, each: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and worst root-mean-square error (rad) of every pair of gains over ``each`` scenarios, and seconds."""
    drawn = scenarios(np.random.default_rng(seed), each)
    parameters = {name: np.concatenate([x] * len(gains)) for name, x in drawn.items()}
    rows = np.repeat(gains, each, axis=0)[:, None]
    x, xd, _ = wanted(0.0, np)
    begun = time.perf_counter()
    run = MODEL.rollout(
        x, xd, control, DT, STEPS, every=EVERY, period=PERIOD, reference=rows, parameters=parameters
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    times = DT * EVERY * np.arange(1, STEPS // EVERY + 1)
    path = np.array([wanted(t, np)[0] for t in times])
    error = np.sqrt(np.mean((run.q - path) ** 2, axis=(-2, -1))).reshape(len(gains), each)
    error[run.status.reshape(error.shape) != 0] = np.inf
    return error.mean(axis=1), error.max(axis=1), seconds


def main() -> None:
    """Table and picture."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scenarios", type=int, default=25, help="of every pair of gains (25)")
    chosen = arguments.parse_args()
    bandwidth, damping = np.geomspace(5.0, 400.0, 20), np.linspace(0.2, 2.0, 20)
    gains = np.array([(b, d) for b in bandwidth for d in damping])
    mean, worst, seconds = tried(gains, chosen.scenarios)
    runs = len(gains) * chosen.scenarios
    speed = runs * STEPS / seconds / 1e6
    print(f"{runs} runs of {STEPS} steps in {seconds:.1f} s, compiling included: {speed:.1f} M steps/s")
    print(f"{'bandwidth':>10} {'damping':>8} {'mean error':>11} {'worst':>9}   (rad)")
    for k in [*np.argsort(worst)[:5], *np.argsort(worst)[-2:]]:
        print(f"{gains[k, 0]:10.1f} {gains[k, 1]:8.2f} {mean[k]:11.2e} {worst[k]:9.2e}")
    (usual,), (most,), _ = tried(gains[[np.argmin(worst)]], 1000, seed=1)
    print(f"the best against 1000 others: mean {usual:.2e}, worst {most:.2e}")
    try:
        picture(bandwidth, damping, worst.reshape(len(bandwidth), -1))
    except ImportError:
        print("no picture: pip install matplotlib")


def picture(bandwidth: np.ndarray, damping: np.ndarray, worst: np.ndarray) -> None:
    """The worst error over the gains."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    finite = np.where(worst < 1.0, worst, np.nan)
    shown = ax.pcolormesh(bandwidth, damping, finite.T, norm=LogNorm(), cmap="viridis")
    ax.set_xscale("log")
    ax.set_xlabel("bandwidth, rad/s")
    ax.set_ylabel("damping")
    ax.set_title("worst error over all payloads and friction")
    figure.colorbar(shown, label="rad")
    figure.savefig("tune_gains.png", dpi=120)
    print("written: tune_gains.png")


if __name__ == "__main__":
    main()

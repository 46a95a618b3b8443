"""Motors of a Panda, sized: the peak torque of each joint in 100,000 runs with random payloads and friction.

    python examples/size_motors.py        # prints the table, writes size_motors/peak_torques.png

The arm carries something from one pose to another and comes back, at up to 90 % of its rated velocities. The
controller is that of Franka's example of joint impedance: the torques that the bare arm needs, and springs and dampers
towards the path. It knows neither the payload (0 to 3 kg, its centre of mass beside that of the hand) nor friction
(half to twice what is assumed below). Its memory has the largest torque of each joint over all samples and the mean
square, so that no run stores its motion.

Called again, it goes on where it was stopped, or draws what is there. --scheduler tcp://host:8786 runs it on a cluster.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import itertools
from functools import cache
from pathlib import Path

import numpy as np

import neuler
from neuler import Robot
from neuler import math as nm
from neuler.control import quintic

FILE = "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"
HAND = "panda_hand_tcp"
PICK = np.array([-0.30, 0.60, -0.20, -1.45, 0.10, 2.05, 0.50])
PLACE = np.array([0.32, 0.25, 0.20, -1.75, -0.35, 2.55, 1.00])
LEG, DT = 0.6, 1e-3
"""Seconds of each way, and of a step: the torques are held for one, as by Franka's own loop at 1 kHz."""
METHOD = "euler"
"""Peaks differ by less than 0.5 % of rated torques from those of "rk4", which takes about three times as long."""
SPRING = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])
DAMPER = np.array([50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0])
"""Of the controller: N m/rad and N m s/rad, from libfranka's joint_impedance_control.cpp."""
ROTOR = 0.1
"""Inertia of each rotor behind its gear (kg m^2), which the URDF file leaves out: that of MuJoCo Menagerie's Panda."""
VISCOUS = np.array([1.5, 1.5, 1.5, 1.5, 0.4, 0.4, 0.4])
COULOMB = np.array([1.0, 1.0, 1.0, 1.0, 0.4, 0.4, 0.4])
"""Friction: N m s/rad and N m, assumed."""
SIZE = 0.04
"""Radius of gyration of a payload (m), that of a ball 10 cm wide, about."""
SHARES = (50.0, 95.0, 99.9)
"""Percent of the runs."""


@cache
def arm() -> Robot:
    """The arm with its fingers held, with rotors and without friction: what its controller knows."""
    package = importlib.metadata.distribution("example-robot-data")
    robot = neuler.load(Path(str(package.locate_file(FILE))), mimic="couple")
    joints = [
        dataclasses.replace(joint, kind="fixed") if "finger" in joint.name
        else dataclasses.replace(joint, rotor_inertia=ROTOR, viscous=0.0) if joint.kind == "revolute"
        else joint
        for joint in robot.joints
    ]  # fmt: skip
    return robot.replace(joints=joints, couplings=())


THERE, BACK = quintic(PICK, PLACE, LEG), quintic(PLACE, PICK, LEG, begin=LEG)


def wanted(t):
    """Positions, velocities and accelerations."""
    ways = THERE(t) + BACK(t)
    return ways[:7] - PLACE, ways[7:14], ways[14:]


def control(t, q, qd, memory, reference):
    """Torques; the memory has the largest so far and the sum of their squares, seven each."""
    x, xd, xdd = wanted(t)
    tau = arm().inverse_dynamics(q, qd, xdd) + SPRING * (x - q) + DAMPER * (xd - qd)
    largest = nm.maximum(memory[:7], nm.absolute(tau))
    return tau, np.concatenate([largest, memory[7:] + tau * tau])


def payloads(mass: np.ndarray, com: np.ndarray) -> np.ndarray:
    """The ten numbers (n, 10) of balls with these masses (n,) and centres (n, 3) in the frame of the hand."""
    squares = (com * com).sum(axis=1)[:, None, None] * np.eye(3)
    inertia = mass[:, None, None] * (squares - com[:, :, None] * com[:, None, :] + SIZE**2 * np.eye(3))
    xx, yy, zz, xy, xz, yz = (inertia[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return np.column_stack([mass, mass[:, None] * com, xx, yy, zz, xy, xz, yz])


def parameters(settings) -> dict[str, np.ndarray]:
    """The numbers of the arm that differ from run to run."""
    found = {f"payload:{HAND}": payloads(settings["mass"], settings["com"])}
    for k, name in enumerate(arm().joint_names):
        found[f"{name}.viscous"] = VISCOUS[k] * settings["friction"][:, k]
        found[f"{name}.coulomb"] = COULOMB[k] * settings["friction"][:, k]
    return found


def task(settings):
    """Many runs at once: largest and root-mean-square torques (n, 7), the largest error of position at the end (n,)."""
    steps = round(2 * LEG / DT)
    run = arm().rollout(
        PICK, np.zeros(7), control, DT, steps, every=steps, method=METHOD, memory=np.zeros(14),
        parameters=parameters(settings),
    )  # fmt: skip
    return {
        "peak": run.memory[:, :7],
        "rms": np.sqrt(run.memory[:, 7:] / steps),
        "miss": np.abs(run.q[:, -1] - PICK).max(axis=1),
        "run_status": run.status,  # 0: it came to its end, whatever happened to others
    }


def study(folder: str, rows: int = 100_000, **options) -> neuler.studies.Study:
    """All runs, in a folder."""
    settings = neuler.studies.random(
        rows,
        mass=(0.0, 3.0),
        com=([-0.06, -0.06, 0.0], [0.06, 0.06, 0.12]),
        friction=(np.full(7, 0.5), np.full(7, 2.0)),
    )
    return neuler.study(task, settings, folder, batched=True, **options)


def main() -> None:
    """Study, table, picture."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=100_000, help="runs (100,000)")
    arguments.add_argument("--workers", type=int, help="processes (one a core)")
    arguments.add_argument("--scheduler", help="of Dask, tcp://host:8786, in place of processes here")
    arguments.add_argument("-o", "--output", default="size_motors", help="folder of the results (size_motors)")
    chosen = arguments.parse_args()
    try:
        found = study(chosen.output, chosen.rows, workers=chosen.workers, scheduler=chosen.scheduler)
    except neuler.studies.StudyStopped as stopped:
        raise SystemExit(str(stopped)) from None
    told(found)
    try:
        picture(found).savefig(found.folder / "peak_torques.png", dpi=150)
    except ImportError:
        print("no picture: pip install matplotlib")
    else:
        print(f"written: {found.folder / 'peak_torques.png'}")


def told(found: neuler.studies.Study) -> None:
    """How it went, and the quantiles of the joints."""
    table = found.table(["peak", "rms", "miss", "run_status", "status"])
    ended = (table["status"] == "ok") & (table["run_status"] == 0)
    rate = f" in {found.seconds:.1f} s, {found.computed / found.seconds:,.0f} a second" if found.computed else ""
    print(f"{found.rows:,} runs of {2 * LEG:g} s; {found.computed:,} of them computed now{rate}")
    print(f"{np.count_nonzero(~ended):,} did not come to their end; the largest error there: ", end="")
    print(f"{np.rad2deg(table['miss'][ended].max()):.1f} degrees")
    speed = np.abs(np.array([wanted(t)[1] for t in np.arange(0.0, 2 * LEG, DT)])).max(axis=0)
    print(f"{'':14}{'rated':>6}  " + "".join(f"{share:>8g} %" for share in SHARES), end="")
    print(f"{'above rated':>14}{'rms 99.9 %':>12}{'velocity / rated':>18}   (N m)")
    for k, joint in enumerate(arm().moving_joints):
        peak, rms = table["peak"][ended, k], table["rms"][ended, k]
        quantiles = "".join(f"{value:10.2f}" for value in np.percentile(peak, SHARES))
        print(f"{joint.name:14}{joint.limits.effort:6g}  {quantiles}", end="")
        above = np.mean(peak > joint.limits.effort)
        print(f"{above:14.3%}{np.percentile(rms, 99.9):12.2f}{speed[k] / joint.limits.velocity:18.2f}")


def picture(found: neuler.studies.Study):
    """Peaks of all joints as shares of their rated torques, and those of the most loaded joint over the payload."""
    from matplotlib.figure import Figure

    table = found.table(["mass", "peak", "run_status", "status"])
    ended = (table["status"] == "ok") & (table["run_status"] == 0)
    mass, peak = table["mass"][ended], table["peak"][ended]
    rated = np.array([joint.limits.effort for joint in arm().moving_joints])
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    violins(left, 100.0 * peak / rated, [f"joint {k + 1}\n{limit:g} N m" for k, limit in enumerate(rated)])
    left.axhline(100.0, color=LIMIT, lw=1.2)
    left.text(6.45, 101.0, "rated torque", color=LIMIT, fontsize=8.5, ha="right", va="bottom")
    left.set(ylabel="peak torque, % of rated", title=f"{len(peak):,} runs with random payloads and friction")
    worst = int(np.argmax((np.percentile(peak, SHARES[-1], axis=0)) / rated))
    bands(right, mass, peak[:, worst])
    right.axhline(rated[worst], color=LIMIT, lw=1.2)
    right.text(mass.min(), rated[worst], f"rated, {rated[worst]:g} N m", color=LIMIT, fontsize=8.5, va="bottom")
    right.set(xlabel="payload (kg)", ylabel="peak torque (N m)", title=f"joint {worst + 1}, the most loaded one")
    right.legend(frameon=False, fontsize=8.5, loc="lower right")
    for ax in (left, right):
        ax.title.set_fontsize(10)
        ax.tick_params(labelsize=8.5)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


FILL, INK, LIMIT = "#3b6ea8", "#1d2b3a", "#c0392b"


def violins(ax, shares: np.ndarray, names: list[str]) -> None:
    """Distributions (n, k), with marks where the quantiles are."""
    drawn = ax.violinplot(shares[:20_000], range(len(names)), widths=0.85, showextrema=False, points=200)
    for body in drawn["bodies"]:
        body.set(facecolor=FILL, alpha=0.45, linewidth=0)
    places = np.arange(len(names))
    for share, width in zip(SHARES, (0.22, 0.16, 0.1), strict=True):
        ax.hlines(np.percentile(shares, share, axis=0), places - width, places + width, color=INK, lw=1.4)
    for k, value in enumerate(np.percentile(shares, SHARES[-1], axis=0)):
        ax.text(k + 0.15, value, f"{value:.0f}", va="center", fontsize=8.5, color=INK)
    told = ", ".join(f"{share:g}" for share in SHARES)
    ax.text(0.0, 0.02, f"  marks: {told} % of the runs", transform=ax.transAxes, fontsize=8.5, color=INK)
    ax.set_xticks(range(len(names)), names)
    ax.set_ylim(0.0)


def bands(ax, x: np.ndarray, y: np.ndarray) -> None:
    """Median and bands of y in equal pieces of x."""
    edges = np.linspace(x.min(), x.max(), max(2, min(21, len(x) // 50)))
    pieces = [y[(x >= low) & (x <= high)] for low, high in itertools.pairwise(edges)]
    middle = (edges[1:] + edges[:-1]) / 2
    for low, high, alpha in ((0.1, 99.9, 0.18), (5.0, 95.0, 0.3)):
        ends = np.array([np.percentile(piece, [low, high]) for piece in pieces]).T
        ax.fill_between(middle, *ends, color=FILL, alpha=alpha, lw=0, label=f"{low:g} to {high:g} %")
    ax.plot(middle, [np.median(piece) for piece in pieces], color=INK, lw=1.6, label="median")


if __name__ == "__main__":
    main()

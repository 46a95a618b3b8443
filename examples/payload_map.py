"""Least time against payload and reach: a map of plans, each with its own payload and place to put it.

    python examples/payload_map.py        # prints the table, writes payload_map/least_time.png

A six-axis arm lifts a payload by half a metre and turns by 1.6 rad, from rest to rest and in balance at both ends, in
least time within its limits of position, velocity and torque. Each plan of the grid has another payload and another
distance from the arm's base. Light and near, velocities limit the motion; then torques do; where even holding the
payload takes more torque than there is, no motion is found: that the two agree is printed.

Called again, it goes on where it was stopped, or draws what is there.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np

import neuler
from neuler import Robot, plan

FILE = Path(__file__).with_name("arm.urdf")
UPPER, FORE, SHOULDER, TOOL = 0.42, 0.39, 0.1, 0.095
"""Lengths of the arm, the height of its shoulder, and how far below its wrist the tool is (m)."""
LOW, HIGH, TURN = -0.2, 0.3, 0.8
"""Heights of the two places (m), and where they are to the right and the left (rad)."""
HEAVIEST, REACHES = 20.0, (0.45, 0.72)
"""Of the grid (kg, m)."""


def level(reach: float, height: float, turn: float) -> np.ndarray:
    """The position in which the hand is level, so far from the axis of the base and at this height."""
    z = height - SHOULDER + TOOL
    elbow = np.arccos((reach**2 + z**2 - UPPER**2 - FORE**2) / (2 * UPPER * FORE))
    lift = -np.arctan2(z, reach) - np.arctan2(FORE * np.sin(elbow), UPPER + FORE * np.cos(elbow))
    return np.array([turn, lift, elbow, -lift - elbow, 0.0, 0.0])


def least_time(robot: Robot, setting):
    """One plan: its duration (s), NaN where there is none, and the largest share of a torque that holding takes."""
    ends = [level(setting["reach"], height, turn) for height, turn in ((LOW, -TURN), (HIGH, TURN))]
    start, goal = (plan.Boundary(q, qdd=0.0) for q in ends)
    payload = plan.Payload("tool0", setting["mass"])
    quick = plan.duration() + 1e-4 * plan.acceleration_effort()
    found = plan.Plan(robot, quick, start=start, goal=goal, payload=payload, control_points=24).solve()
    effort = np.array([joint.limits.effort for joint in robot.moving_joints])
    masses = {"payload:tool0": [setting["mass"], *[0.0] * 9]}
    holding = np.abs(robot.gravity_force(np.array(ends), parameters=masses)) / effort
    return {
        "duration": found.duration if found.valid else np.nan,
        "holding": holding.max(),
        "solver": found.status,
    }


def study(folder: str, masses: int = 11, reaches: int = 10, **options) -> neuler.studies.Study:
    """All plans of a grid, in a folder; the robot goes to the workers with the task."""
    settings = neuler.studies.product(
        mass=np.linspace(0.0, HEAVIEST, masses), reach=np.linspace(*REACHES, reaches)
    )  # fmt: skip
    return neuler.study(partial(least_time, neuler.load(FILE)), settings, folder, **options)


def main() -> None:
    """Study, table, picture."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--masses", type=int, default=11, help="of the grid (11)")
    arguments.add_argument("--reaches", type=int, default=10, help="of the grid (10)")
    arguments.add_argument("--workers", type=int, help="processes (one a core)")
    arguments.add_argument("--scheduler", help="of Dask, tcp://host:8786, in place of processes here")
    arguments.add_argument("--timeout", type=float, default=60.0, help="seconds that one plan may take (60)")
    arguments.add_argument("-o", "--output", default="payload_map", help="folder of the results (payload_map)")
    chosen = arguments.parse_args()
    timeout = None if chosen.workers == 0 else chosen.timeout
    options = {"workers": chosen.workers, "scheduler": chosen.scheduler, "timeout": timeout}
    try:
        found = study(chosen.output, chosen.masses, chosen.reaches, **options)
    except neuler.studies.StudyStopped as stopped:
        raise SystemExit(str(stopped)) from None
    told(found)
    try:
        picture(found).savefig(found.folder / "least_time.png", dpi=150)
    except ImportError:
        print("no picture: pip install matplotlib")
    else:
        print(f"written: {found.folder / 'least_time.png'}")


def told(found: neuler.studies.Study) -> None:
    """The table of least times, and whether the cells without one are those that cannot be held."""
    table = found.table()
    masses, reaches = np.unique(table["mass"]), np.unique(table["reach"])
    duration = table["duration"].reshape(len(masses), len(reaches))
    print(found)
    print("least time (s) over payload (kg, down) and reach (m, across); --: there is no such motion")
    print(" " * 6 + "".join(f"{reach:8.3f}" for reach in reaches))
    for mass, line in zip(masses, duration, strict=True):
        print(f"{mass:6.1f}" + "".join(f"{t:8.3f}" if np.isfinite(t) else f"{'--':>8}" for t in line))
    missing, heavy = np.isnan(table["duration"]), table["holding"] > 1.0
    print(f"{missing.sum()} of {found.rows} cells have no motion; in {heavy.sum()} the arm cannot hold its payload")
    if (missing != heavy).any():
        print(f"the two differ in rows {np.flatnonzero(missing != heavy).tolist()}")


def picture(found: neuler.studies.Study):
    """The map, with the line beyond which the arm cannot hold its payload."""
    figure = found.plot("duration", ("mass", "reach"))
    ax = figure.axes[0]
    table = found.table(["mass", "reach", "holding"])
    masses, reaches = np.unique(table["mass"]), np.unique(table["reach"])
    holding = table["holding"].reshape(len(masses), len(reaches)).T
    ax.contour(masses, reaches, holding, levels=[1.0], colors="#c0392b", linewidths=1.8)
    ax.plot([], [], color="#c0392b", lw=1.8, label="beyond, a motor is too weak to hold the payload")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=9)
    ax.set(xlabel="payload (kg)", ylabel="reach (m)", title="", xticks=np.arange(0.0, HEAVIEST + 1.0, 5.0))
    figure.axes[1].set_ylabel("least time (s)", fontsize=9)
    figure.suptitle(f"{found.rows} plans; dotted: no motion found", fontsize=10)
    return figure


if __name__ == "__main__":
    main()

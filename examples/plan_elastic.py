"""An arm with springs in its drives moves without residual vibration, and what happens to one that ignores them.

    python examples/plan_elastic.py       # prints the table, writes plan_elastic.png

Two plans from the same start to the same goal: of the robot of elastic_arm.toml, and of the same robot with rigid
drives, both in the same time. The forces of each are given to the robot with springs, without any feedback, and the
simulation goes on for a second after the arrival, forces held at zero.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np

from neuler import plan, simulate
from neuler.files.problems import Problem
from neuler.plan.problem import read_plan
from neuler.simulation import Run
from neuler.simulation.replay import mean_torques

HERE = Path(__file__).resolve().parent
AFTER, STEPS = 1.0, 8000
GOAL = np.array([1.0, -1.0])


def plans() -> dict[str, plan.Planned]:
    """Of the robot with springs, and of the same with rigid drives, in the same time."""
    task = read_plan(Problem.read(HERE / "elastic_arm.toml"))
    elastic = task.run()
    stiff = [dataclasses.replace(motor, stiffness=math.inf) for motor in task.robot.motors]
    rigid = plan.Plan(
        task.robot.replace(motors=stiff),
        plan.effort(),
        start=[0.0, -2.0],
        goal=GOAL,
        duration=elastic.duration,
        control_points=24,
    ).solve()
    return {"springs known": elastic, "taken for rigid": rigid}


def runs(found: dict[str, plan.Planned]) -> dict[str, Run]:
    """The forces of each plan on the robot with springs, and on after the arrival."""
    elastic, rigid = found.values()
    step = rigid.duration / STEPS
    more = 1000 * round(AFTER / step / 1000)  # such that runs keep states at a few thousand times
    tau = np.zeros((STEPS + more, elastic.robot.nu))
    tau[:STEPS, 2:] = mean_torques(rigid, STEPS, step)  # the motors' entries stand behind those of the links
    start = np.tile([0.0, -2.0], 2)
    other = simulate(elastic.robot, tau, (start, None), (STEPS + more) * step, step=step)
    return {"springs known": elastic.replay(step=step, after=more * step), "taken for rigid": other}


def left(run: Run, duration: float) -> np.ndarray:
    """How far the joints swing about their mean after the arrival (rad), largest minus least."""
    return np.ptp(run.q[run.t >= duration, :2], axis=0)


def main() -> None:
    """Table and picture."""
    found = plans()
    for planned in found.values():
        print(planned)
    done = runs(found)
    duration = next(iter(found.values())).duration
    print(f"\n{'':>18}{'joint 1':>12}{'joint 2':>12}   swing after the arrival, rad")
    for name, run in done.items():
        print(f"{name:>18}" + "".join(f"{x:12.2e}" for x in left(run, duration)))
    picture(done, duration)


def picture(done: dict[str, Run], duration: float) -> None:
    """Joints, and what is left of the way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (name, run) in zip(axes.T, done.items(), strict=True):
        column[0].set_title(name)
        for k in range(2):
            column[0].plot(run.t, run.q[:, k], label=f"joint {k + 1}")
            column[1].plot(run.t, run.q[:, 2 + k] - run.q[:, k], label=f"spring {k + 1}")
        for ax in column:
            ax.axvline(duration, color="#6b7280", lw=0.9, ls="--")
        column[1].set_xlabel("t / s")
    for row, label in zip(axes, ("joints, rad", "springs, rad"), strict=True):
        row[0].set_ylabel(label)
        row[1].legend(fontsize=8, loc="lower right", frameon=False)
    figure.savefig("plan_elastic.png", dpi=120)
    print("written: plan_elastic.png (dashed: the arrival)")


if __name__ == "__main__":
    main()

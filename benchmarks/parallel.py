"""Parallel robots of the catalogue: what a pose costs, on one thread.

    python benchmarks/parallel.py            # Markdown on standard output

Batches of 4,096 poses within the workspace, double precision, C-contiguous arrays, the least of several repeats.
``platform`` is the robot as the catalogue has it, with the platform's velocities as its own, Khalil (66); ``motors``
the same robot with those of its motors, Khalil (55)-(58), from the same positions. Kinematics start 1 cm along each
axis from the answer (and are iterations: Newton's method to 1e-12 m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loops import one_thread
from neuler import Kernel, Robot, bench, robots

Array = NDArray[np.float64]

COUNT = 4096
REACH = {
    "gough_stewart": (0.15, 0.15, 0.15, 0.2, 0.2, 0.2),
    "delta": (0.1, 0.1, 0.1),
    "orthoglide": (0.07, 0.07, 0.07),
    "planar_3rrr": (0.07, 0.07, 0.25),
}
"""How far poses go from the reference along the platform's own velocities, m and rad."""


def poses(robot: Robot) -> Array:
    """Of the platform, as its joint counts them."""
    plate = robot.moving_joints[0]
    steps = np.zeros((COUNT, robot.tree.nv))
    steps[:, : plate.nv] = np.random.default_rng(0).uniform(-1, 1, (COUNT, plate.nv)) * REACH[robot.name]
    return np.asarray(robot.tree.integrate(robot.neutral(), steps, np.ones(COUNT))[:, : plate.nq])


def nanoseconds(kernel: Kernel, *arrays: Array) -> float:
    """Of one pose."""
    kernel.threads = 1
    outs = tuple(np.empty((COUNT, *operand.shape)) for operand in kernel.outputs)
    out = outs if len(outs) > 1 else outs[0]
    return bench.best_seconds(lambda: kernel(*arrays, out=out)) / COUNT * 1e9


def row(name: str) -> str:
    """One machine."""
    robot = robots.get(name)
    turning = robot.replace(independent=None)
    given = poses(robot)
    q = robot.inverse_kinematics(given).q
    qd, qdd = np.random.default_rng(1).normal(size=(2, COUNT, robot.nv))
    places = [joint.name for joint in robot.moving_joints for _ in range(joint.nq)]
    speeds = [joint.name for joint in robot.moving_joints for _ in range(joint.nv)]
    motors = [places.index(motor) for motor in robot.active_names]
    numbers = [speeds.index(motor) for motor in robot.active_names]
    rates, accelerations = (np.ascontiguousarray(x[:, numbers]) for x in robot.tree_motion(q, qd, qdd))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.isfinite(tau).all()
    near = given.copy()
    near[:, : 2 if name == "planar_3rrr" else 3] += 0.01
    guess = robot.inverse_kinematics(near).q
    cells = []
    for each, motion in ((robot, (qd, qdd)), (turning, (rates, accelerations))):
        counts = each.inverse_dynamics.operations
        cells += [
            f"{counts.mul}/{counts.add}",
            f"{nanoseconds(each.inverse_dynamics, q, *motion):.0f}",
            f"{nanoseconds(each.forward_dynamics, q, motion[0], tau):.0f}",
        ]
    cells += [
        f"{COUNT / bench.best_seconds(lambda: robot.inverse_kinematics(given, guess)):,.0f}",
        f"{COUNT / bench.best_seconds(lambda: robot.forward_kinematics(q[:, motors], guess)):,.0f}",
    ]
    return f"| {name}, {robot.nv} | {' | '.join(cells)} |"


def report() -> str:
    """The table as Markdown."""
    lines = [
        f"## Parallel robots, one thread, batch of {COUNT:,}",
        "",
        "| robot, freedoms | platform: inverse, mul/add | ns | direct, ns | motors: inverse, mul/add | ns | direct, ns "
        "| inverse kinematics, poses/s | forward kinematics, poses/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with one_thread():
        return "\n".join([*lines, *(row(name) for name in REACH), ""])


if __name__ == "__main__":
    print(report())

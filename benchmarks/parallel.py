"""Parallel robots of the catalogue: what a pose costs, on one thread.

    python benchmarks/parallel.py            # Markdown on standard output

Batches of 4,096 poses within the workspace, double precision, C-contiguous arrays, the least of several repeats.
``platform and legs`` are the robot's own verbs, Khalil (66); ``loops`` those of its mechanism, Khalil (55)-(58), from
the same positions. Kinematics start 2 cm from the answer (and are iterations: Newton's method to 1e-12 m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loops import one_thread
from neuler import Kernel, ParallelRobot, bench, robots

Array = NDArray[np.float64]

COUNT = 4096
REACH = {
    "gough_stewart": (0.15, 0.15, 0.15, 0.2, 0.2, 0.2),
    "delta": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    "orthoglide": (0.07, 0.07, 0.07, 0.0, 0.0, 0.0),
    "planar_3rrr": (0.07, 0.07, 0.0, 0.0, 0.0, 0.25),
}
"""How far poses go from the reference, m and rad."""


def poses(robot: ParallelRobot) -> Array:
    """Of the platform, (COUNT, 7)."""
    screw = np.random.default_rng(0).uniform(-1, 1, (COUNT, 6)) * REACH[robot.name]
    found = np.empty((COUNT, 7))
    found[:, :3] = robot.reference[:3] + screw[:, :3]
    angle = np.linalg.norm(screw[:, 3:], axis=1, keepdims=True)
    found[:, 3:6] = 0.5 * np.sinc(angle / (2 * np.pi)) * screw[:, 3:]
    found[:, 6:] = np.cos(angle / 2)
    return found


def nanoseconds(kernel: Kernel, *arrays: Array) -> float:
    """Of one pose."""
    kernel.threads = 1
    outs = tuple(np.empty((COUNT, *operand.shape)) for operand in kernel.outputs)
    out = outs if len(outs) > 1 else outs[0]
    return bench.best_seconds(lambda: kernel(*arrays, out=out)) / COUNT * 1e9


def row(name: str) -> str:
    """One machine."""
    robot = robots.get(name)
    assert isinstance(robot, ParallelRobot)
    mechanism = robot.mechanism
    given = poses(robot)
    q = robot.inverse_kinematics(given).q
    rng = np.random.default_rng(1)
    names = [joint.name for joint in mechanism.tree.moving_joints for _ in range(joint.nq)]
    motors = [names.index(motor) for motor in robot.active_names]
    qd, qdd = rng.normal(size=(2, COUNT, len(motors)))
    rates, accelerations = (np.ascontiguousarray(x[:, :6]) for x in mechanism.tree_motion(q, qd, qdd))
    tau = robot.inverse_dynamics(q, rates, accelerations)
    assert np.isfinite(tau).all()
    near = given.copy()
    near[:, :3] += np.where(np.array(REACH[name][:3]) > 0, 0.01, 0.0)
    guess = robot.inverse_kinematics(near).q
    cells = [
        f"{robot.inverse_dynamics.operations.mul}/{robot.inverse_dynamics.operations.add}",
        f"{nanoseconds(robot.inverse_dynamics, q, rates, accelerations):.0f}",
        f"{nanoseconds(robot.forward_dynamics, q, rates, tau):.0f}",
        f"{nanoseconds(mechanism.inverse_dynamics, q, qd, qdd):.0f}",
        f"{nanoseconds(mechanism.forward_dynamics, q, qd, tau):.0f}",
        f"{COUNT / bench.best_seconds(lambda: robot.inverse_kinematics(given, guess)):,.0f}",
        f"{COUNT / bench.best_seconds(lambda: robot.forward_kinematics(q[:, motors], guess)):,.0f}",
    ]
    return f"| {name}, {mechanism.mobility.freedoms} | {' | '.join(cells)} |"


def report() -> str:
    """The table as Markdown."""
    lines = [
        f"## Parallel robots, one thread, batch of {COUNT:,}",
        "",
        "| robot, freedoms | inverse, mul/add | platform and legs: inverse, ns | direct, ns "
        "| loops: inverse, ns | direct, ns | inverse kinematics, poses/s | forward kinematics, poses/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with one_thread():
        return "\n".join([*lines, *(row(name) for name in REACH), ""])


if __name__ == "__main__":
    print(report())

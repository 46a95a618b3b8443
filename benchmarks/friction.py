"""Dry friction in rollouts: what comes to rest, how far steps are from fine ones, what they cost; beside MuJoCo.

MuJoCo's ``frictionloss`` is a soft constraint that creeps where it should hold: a comparison, not a reference.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

import neuler
from neuler import Robot
from neuler.peers.mujoco import MuJoCo
from rollouts import least

DT, SECONDS, ROWS = 1e-3, 6.0, 64
FINE = 16


def rough(robot: Robot, *levels: float) -> Robot:
    """With Coulomb friction of these levels (N m, N), in turn."""
    each = iter(levels * len(robot.joints))
    return robot.replace(
        joints=[dataclasses.replace(j, coulomb=next(each)) if j.type.has_axis else j for j in robot.joints]
    )


def hua() -> Robot:
    robot = rough(neuler.robots.hua_3r(), 1.0, 0.8, 0.5)
    return robot.replace(motors=[dataclasses.replace(motor, coulomb=0.05) for motor in robot.motors])


def cases(ur5: Robot) -> dict[str, Robot]:
    return {
        "two_link": rough(neuler.robots.two_link(), 0.5).with_gravity((0, 0, 0)),
        "PUMA 560": neuler.robots.puma560(),
        "UR5": rough(ur5, 20.0, 15.0, 10.0, 2.0, 1.5, 1.0),
        "four_bar": rough(neuler.robots.four_bar(), 2.0),
        "hua_3r": hua(),
    }


def starts(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = np.stack([robot.neutral()] * ROWS) if robot.loops else rng.uniform(-1, 1, (ROWS, robot.nq))
    return q, rng.normal(size=(ROWS, robot.nv))


def mujoco_end(robot: Robot, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Positions and velocities of some rows after all steps; None where its model has no such robot."""
    if robot.loops or robot.motors:
        return None
    peer = MuJoCo(robot)
    mujoco, model = peer.mujoco, peer.model
    model.opt.timestep = DT
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.dof_frictionloss[:] = [joint.coulomb for joint in robot.moving_joints]
    model.dof_damping[:] = [joint.viscous for joint in robot.moving_joints]
    data, ends = mujoco.MjData(model), []
    for row in range(4):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q[row], qd[row]
        for _ in range(round(SECONDS / DT)):
            mujoco.mj_step(model, data)
        ends.append((data.qpos.copy(), data.qvel.copy()))
    positions, velocities = zip(*ends, strict=True)
    return np.array(positions), np.array(velocities)


def report(ur5: Callable[[], Robot]) -> list[str]:
    """The table."""
    steps = round(SECONDS / DT)
    lines = [
        "## Dry friction in rollouts, beside MuJoCo's",
        "",
        f"{ROWS} random starts, {SECONDS:g} s in steps of {DT * 1e3:g} ms without forces: rows at rest "
        "exactly, the largest difference of their end from that of steps a sixteenth as long, ns a step. MuJoCo's "
        "`frictionloss` (implicitfast, four rows) creeps: its largest speed at the end, and its distance from ours.",
        "",
        "| robot | rk4: rest | off | ns | euler | off | ns | implicit | off | ns | MuJoCo: speed | distance |",
        "|" + "---|" * 12,
    ]
    for name, robot in cases(ur5()).items():
        q, qd = starts(robot)
        tau = np.zeros((1, robot.nu))
        cells, exact = [name], None
        for method in ("rk4", "euler", "implicit"):
            found = robot.rollout(q, qd, tau, DT, steps, method, every=steps)
            fine = robot.rollout(q, qd, tau, DT / FINE, FINE * steps, method, every=FINE * steps)
            exact = fine.q[:, -1] if exact is None else exact
            call = functools.partial(robot.rollout, q, qd, tau, DT, 2000, method, every=2000, threads=1)
            (seconds,) = least([call], 3)
            rest = (found.qd[:, -1] == 0.0).all(axis=-1).sum()
            off = np.abs(found.q - fine.q).max()
            cells += [f"{rest} of {ROWS}", f"{off:.1e}", f"{seconds / (ROWS * 2000) * 1e9:.0f}"]
        theirs = mujoco_end(robot, q, qd)
        if theirs is None or exact is None:
            cells += ["no such robot", ""]
        else:
            cells += [f"{np.abs(theirs[1]).max():.1e}", f"{np.abs(theirs[0] - exact[:4]).max():.1e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]

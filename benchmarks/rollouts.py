"""Rollouts beside ``mujoco.rollout``: steps per second on one core, the same model, end states compared.

Constraints and contacts are off in MuJoCo, forces are zero on both sides, starts are the same; every step is kept by
both. Rounds of short calls, one side after the other, and the least time of each: a busy neighbour slows some rounds.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler import Limits, Robot
from neuler.peers.mujoco import MuJoCo, mjcf

MANY, DT = 8192, 1e-3
THEIRS = 100
"""Steps of a call of MuJoCo, of one row."""
MJBATCH = Path(__file__).resolve().parents[1] / "build" / "mjbatch" / "bin" / "python"
"""An interpreter with mjbatch: ``make bench`` makes it."""
METHODS = {"rk4": "mjINT_RK4", "euler": "mjINT_EULER"}


def without_fingers(robot: Robot) -> Robot:
    """The Panda with its hand closed for good: seven joints."""
    joints = [
        dataclasses.replace(joint, kind="fixed", role="", limits=Limits()) if "finger" in joint.name else joint
        for joint in robot.joints
    ]
    return robot.replace(joints=joints)


def least(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Seconds of each."""
    for call in calls:
        call()
    found = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            found[k] = min(found[k], time.perf_counter() - begin)
    return found


def size_of(robot: Robot, method: str) -> tuple[int, int]:
    """Rows and steps of a call: some milliseconds, so that a call may end before a busy machine takes the core away."""
    if robot.nv < 10:
        return 64, 1000 if method == "euler" else 400
    return 16, 400 if method == "euler" else 100


def starts(robot: Robot, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, MANY, robot.nv))
    return q[:rows], qd[:rows]


def ours(robot: Robot, method: str, tau: Any, every: int = 1, **options: Any) -> Callable[[], Any]:
    rows, steps = size_of(robot, method)
    q, qd = starts(robot, rows)
    kept = steps // every
    out = [np.empty((rows, kept, size)) for size in (robot.nq, robot.nv, robot.nu)[: 3 if callable(tau) else 2]]
    return functools.partial(
        robot.rollout, q, qd, tau, DT, steps=steps, method=method, every=every, out=tuple(out), threads=1, **options
    )


def theirs(robot: Robot, method: str, rows: int, steps: int) -> tuple[Callable[[], Any], Callable[[], np.ndarray]]:
    """A call, and the positions at its end, as ours are."""
    from mujoco import rollout

    peer = MuJoCo(robot)
    mujoco, model = peer.mujoco, peer.model
    model.opt.timestep = DT
    model.opt.integrator = getattr(mujoco.mjtIntegrator, METHODS[method])
    q, qd = starts(robot, rows)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    begin, state = np.zeros((rows, size)), np.zeros((rows, steps, size))
    begin[:, 1 : 1 + model.nq] = peer.layout.q(q)
    begin[:, 1 + model.nq : 1 + model.nq + model.nv] = peer.layout.v(qd, q)
    run = rollout.Rollout(nthread=0)
    call = functools.partial(run.rollout, model, mujoco.MjData(model), begin, nstep=steps, state=state)
    return call, lambda: peer.layout.from_q(state[:, -1, 1 : 1 + model.nq])


def mjbatch(robot: Robot, method: str, rows: int, steps: int, rounds: int) -> float | None:
    """ns a step of mjbatch, which needs an environment of its own; None without one."""
    if not MJBATCH.exists():
        return None
    q, qd = starts(robot, rows)
    layout = MuJoCo(robot).layout
    text = io.StringIO()
    np.savetxt(text, np.hstack([layout.q(q), layout.v(qd, q)]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(mjcf(robot))
        call = [path, METHODS[method], DT, rows, steps, rounds]
        script = Path(__file__).with_name("mjbatch_steps.py")
        run = subprocess.run(
            [MJBATCH, script, *map(str, call)], input=text.getvalue(), capture_output=True, text=True, check=True
        )
    return float(run.stdout)


def alone(robot: Robot, method: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """One row, here and there."""
    q, qd = starts(robot, 1)
    out = (np.empty((1, THEIRS, robot.nq)), np.empty((1, THEIRS, robot.nv)))
    mine = functools.partial(
        robot.rollout, q, qd, np.zeros((1, robot.nu)), DT, steps=THEIRS, method=method, out=out, threads=1
    )
    return mine, theirs(robot, method, 1, THEIRS)[0]


def beside(name: str, robot: Robot, method: str, every: int, rounds: int) -> str:
    """A row of the table."""
    rows, steps = size_of(robot, method)
    call, end = theirs(robot, method, 4, steps)
    call()
    found = ours(robot, method, np.zeros((1, robot.nu)))()
    error = float(np.abs(found.q[:4, -1] - end()).max())
    mine = ours(robot, method, np.zeros((1, robot.nu)), every)
    other, _ = theirs(robot, method, 1, THEIRS)
    a, b, one, its = least([mine, other, *alone(robot, method)], rounds)
    a, b = a / (rows * steps) * 1e9, b / THEIRS * 1e9
    one, its = one / THEIRS * 1e9, its / THEIRS * 1e9
    batch = mjbatch(robot, method, rows, THEIRS, max(10, rounds // 10))
    shown = ("", "") if batch is None else (f"{batch:.0f}", f"{batch / a:.0f}")
    cells = [f"{name}, {robot.nv}", method, f"{every}", f"{a:.1f}", f"{b:.0f}", f"{b / a:.0f}", *shown]
    return "| " + " | ".join([*cells, f"{one:.0f}", f"{its / one:.1f}", f"{error:.0e}"]) + " |"


def computed_torque(robot: Robot) -> neuler.Function:
    """The usual example of a controller: inverse dynamics of what the errors ask for."""

    def control(q: Any, qd: Any, reference: Any) -> Any:
        return robot.inverse_dynamics(q, qd, 100.0 * (reference - q) - 20.0 * qd)

    return neuler.function(control, {"q": robot.nq, "qd": robot.nv, "reference": robot.nq}, "tau")


def report(robot_of: Callable[[str], Robot], rounds: int = 200) -> list[str]:
    """All tables."""
    robots = {name: robot_of(name).without_friction() for name in ("UR5", "Panda", "G1")}
    robots["Panda"] = without_fingers(robots["Panda"])
    lines = [
        "## Rollouts beside mujoco.rollout, one core",
        "",
        "Forces zero, constraints and contacts off, every k-th step kept here and every one there; ns per step of one",
        "robot: in batches, of mujoco.rollout and of mjbatch (in an environment of its own, with the MuJoCo that it",
        "pins); of one row alone, with the ratio of mujoco.rollout to it, calls of 100 steps from Python. The last",
        f"column compares positions after 400 steps of {DT:g} s (Euler 1,000; G1 100, Euler 400).",
        "",
        "| robot, joints | method | kept | ns per step | MuJoCo | ratio | mjbatch | ratio | one row | ratio | error |",
        "|" + "---|" * 11,
    ]
    for name, robot in robots.items():
        for method in METHODS:
            for every in (1, 10) if (name, method) == ("UR5", "euler") else (1,):
                lines.append(beside(name, robot, method, every, rounds))
    lines += [
        "",
        "Computed torque inside, sampled at every step, beside forces that are held (every tenth step kept, its forces",
        "too where there is a controller); and two threads beside one:",
        "",
        "| robot | method | held, ns | controlled, ns | ratio | two threads |",
        "|---|---|---|---|---|---|",
    ]
    for name, robot in robots.items():
        for method in METHODS:
            lines.append(_inside(name, robot, method, rounds // 4))
    return [*lines, ""]


def _inside(name: str, robot: Robot, method: str, rounds: int) -> str:
    goal = np.zeros((1, robot.nu))
    held = ours(robot, method, goal, 10)
    steered = ours(robot, method, computed_torque(robot), 10, reference=goal)
    q, qd = starts(robot, MANY)
    kept = (np.empty((MANY, 20, robot.nq)), np.empty((MANY, 20, robot.nv)))
    many = [
        functools.partial(robot.rollout, q, qd, goal, DT, steps=200, method=method, every=10, out=kept, threads=count)
        for count in (1, 2)
    ]
    a, b = least([held, steered], rounds)
    one, two = least(many, max(3, rounds // 10))
    scale = 1e9 / math.prod(size_of(robot, method))
    return f"| {name} | {method} | {a * scale:.1f} | {b * scale:.1f} | {b / a:.2f} | {one / two:.2f} |"


if __name__ == "__main__":
    import run

    print("\n".join(report(run.robot_of)))

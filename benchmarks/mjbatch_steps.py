"""Steps of mjbatch, run by an interpreter of its own: it pins a MuJoCo that the others do not use.

    python mjbatch_steps.py model.xml integrator dt rows steps rounds

Reads starts (rows, nq + nv) from standard input as text; prints ns a step of one robot, the least of the rounds.
"""

from __future__ import annotations

import sys
import time

import mujoco
import numpy as np
from mjbatch import Batch


def main(path: str, integrator: str, dt: str, rows: str, steps: str, rounds: str) -> None:
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.timestep = float(dt)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
    batch = Batch(model, int(rows), num_threads=1)
    starts = np.loadtxt(sys.stdin, ndmin=2)
    q, v = batch.bind("qpos"), batch.bind("qvel")
    history = np.empty((int(rows), int(steps), batch.nstate))
    best = np.inf
    for _ in range(int(rounds)):
        q[:], v[:] = starts[:, : model.nq], starts[:, model.nq :]
        begin = time.perf_counter()
        batch.step(nstep=int(steps), history=history)
        best = min(best, time.perf_counter() - begin)
    print(best / (int(rows) * int(steps)) * 1e9)


if __name__ == "__main__":
    main(*sys.argv[1:])

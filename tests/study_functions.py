"""Tasks of studies for tests: a module that worker processes import quickly."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import neuler


@functools.cache
def arm():
    return neuler.robots.two_link()


def torque(setting):
    """Numbers, a vector, a text and a truth value."""
    tau = arm().inverse_dynamics([setting["q1"], setting["q2"]], [0.1, 0.2], [0.0, 1.0])
    return {"tau": tau, "largest": float(np.abs(tau).max()), "sign": "up" if tau[0] > 0 else "down", "high": tau[0] > 1}


def torques(setting):
    """A batch of them."""
    q = np.stack([setting["q1"], setting["q2"]], axis=-1)
    return {"tau": arm().inverse_dynamics(q, np.zeros_like(q), np.ones_like(q))}


def drawn(setting, rng):
    return {"y": setting["x"] + rng.normal(), "z": rng.integers(10)}


def drawn_batch(setting, generators):
    return {"y": setting["x"] + np.array([rng.normal() for rng in generators])}


def trouble(setting):
    """Row by row something else goes wrong."""
    kind = setting["kind"]
    if kind == "raise":
        raise ZeroDivisionError("the load is zero")
    if kind == "sleep":
        time.sleep(600)
    if kind == "spin":  # compiled code that holds the interpreter's lock and hears no signal handler
        ctypes.PyDLL(None).sleep(600)
    if kind == "memory":
        return {"y": float(len(bytearray(2 * 10**9)))}
    if kind == "segfault":
        ctypes.string_at(0)
    if kind == "exit":
        os._exit(3)
    if kind == "sys.exit":
        sys.exit("enough")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "list":
        return [1.0]
    if kind == "complex":
        return {"y": 1j}
    if kind == "setting":
        return {"x": 1.0}
    if kind == "nan":
        return {"y": float("nan")}
    return {"y": setting["x"] ** 2}


def trouble_batch(setting):
    """A batch that fails as a whole where one of its rows does."""
    for kind in setting["kind"]:
        trouble({"kind": str(kind), "x": 0.0})
    return {"y": setting["x"] ** 2}


def counted(setting):
    """Leaves a mark each time that a row is computed."""
    with open(Path(setting["folder"]) / f"{setting['x']:06.0f}", "a") as file:
        file.write("x")
    time.sleep(setting.get("seconds", 0.0))
    return {"y": 3.0 * setting["x"]}


def printing(setting):
    print("printed by a task")
    os.write(1, b"written by a task\n")
    return {"y": sys.stdin.read() == ""}


def late(setting):
    """The row is quick, and the file of its part takes for ever."""
    import neuler.studies.rows

    neuler.studies.rows.encode = lambda *_: time.sleep(600)
    return {"y": setting["x"]}


def environment(setting):
    return {"threads": os.environ["NEULER_THREADS"], "blas": os.environ["OPENBLAS_NUM_THREADS"], "pid": os.getpid()}


def ragged(setting):
    return {"path": np.arange(float(setting["n"])), "matrix": np.ones((2, 3)) * setting["n"]}


def ipopt(setting):
    """A solve that does not end for hours, in compiled code alone: 1e8 steps of a recursion for each value of f."""
    import casadi

    x, state = casadi.MX.sym("x"), casadi.MX.sym("state")
    steps = casadi.Function("step", [state], [casadi.sin(state) + 1e-9]).mapaccum("steps", 1000)
    many = casadi.Function("many", [state], [steps(state)[-1]]).mapaccum("all", 100_000)
    nlp = {"x": x, "f": many(x)[-1] ** 2 + x**2}
    solver = casadi.nlpsol("slow", "ipopt", nlp, {"ipopt.hessian_approximation": "limited-memory", "ipopt.sb": "yes"})
    return {"y": float(solver(x0=setting["x"])["f"])}


def computing(setting):
    """A tenth of a second of computing."""
    end, total = time.process_time() + setting["seconds"], 0.0
    while time.process_time() < end:
        total += float(np.sin(np.arange(1000.0)).sum())
    return {"y": setting["x"]}


def forking(setting):
    """Leaves a fork behind that waits, or one that comes back as well; a row dies beside its fork."""
    if os.fork() == 0:
        if setting["x"] == 1.0:
            return {"y": -1.0}
        time.sleep(600)
    if setting["x"] == 2.0:
        os._exit(3)
    return {"y": setting["x"]}


def wide(setting):
    return {"y": np.full(5_000_000, setting["x"])}

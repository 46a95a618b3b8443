"""Functions of a seed for tests of many starts: a module that other processes import quickly."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

from neuler.optimize import solvers
from neuler.optimize.programme import Solution


class Waves:
    """sin 3x + sin 3y + (x^2 + y^2) / 10 in a box, with a limit on x + y."""

    n, m = 2, 1
    lower, upper = np.full(2, -3.0), np.full(2, 3.0)
    row_lower, row_upper = np.array([-2.0]), np.array([2.0])
    jacobian_at = np.array([0, 0]), np.array([0, 1])
    hessian_at = np.array([0, 1]), np.array([0, 1])

    def __init__(self, start):
        self.start = start

    def objective(self, x):
        return float(np.sin(3 * x).sum() + x @ x / 10)

    def gradient(self, x):
        return 3 * np.cos(3 * x) + x / 5

    def rows(self, x):
        return x.sum(keepdims=True)

    def jacobian(self, x):
        return np.ones(2)

    def hessian(self, x, weight, multipliers):
        return weight * (0.2 - 9 * np.sin(3 * x))


def waves(seed, solver="ipopt"):
    """A local minimum of a wavy function in a box, from a random start."""
    return solvers.solve(Waves(np.random.default_rng(seed).uniform(-3, 3, 2)), solver)


def made(seed, objective, status="optimal", infeasibility=0.0):
    x = np.array([float(seed)])
    return Solution(x, objective, x[:0], x[:0], (x, x), status, "", 0, 0.0, 0.0, "none", infeasibility)


def mixed(seed):
    if seed == 3:
        raise ZeroDivisionError("three")
    return {
        0: made(0, 5.0),
        1: made(1, 1.0, "infeasible", 0.5),
        2: made(2, 0.5, "limit", 0.1),
        4: made(4, 2.0, "acceptable"),
        5: made(5, np.nan, "failed"),
        6: made(6, 2.0),
        7: made(7, -3.0, "limit"),
    }[seed]


def dying(seed):
    if seed == 1:
        os._exit(7)
    return made(seed, float(seed + 1))


def environment(seed):
    threads = os.environ.get("NEULER_THREADS"), os.environ.get("OPENBLAS_NUM_THREADS")
    return made(seed, 0.0, "optimal" if threads == ("1", "1") else "failed")


def sleeping(seed):
    if seed:
        time.sleep(60)
    return made(seed, 1.0)


def unpicklable(seed):
    return threading.Lock()


def raising(seed):
    raise LookupError(f"seed {seed}")

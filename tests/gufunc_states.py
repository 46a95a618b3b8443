"""A robot and states of any batch shape, and what a kernel gives one by one."""

from __future__ import annotations

import numpy as np

import neuler

ROBOT = neuler.robots.stanford()
N = ROBOT.nv
SHAPES = [(), (1,), (2,), (7,), (8,), (9,), (64,), (3, 5), (2, 1, 4), (0,), (0, 3)]


def states(shape, seed=0):
    return np.random.default_rng(seed).normal(size=(3, *shape, N))


def one_by_one(q, qd, x):
    flat = [a.reshape(-1, N) for a in (q, qd, x)]
    rows = [ROBOT.inverse_dynamics(*row) for row in zip(*flat, strict=True)]
    return np.array(rows).reshape(q.shape) if rows else np.empty(q.shape)

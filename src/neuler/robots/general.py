"""Robots with nothing special about them, for tests and operation counts."""

from __future__ import annotations

import numpy as np

from neuler.errors import RobotError
from neuler.formats.dh import from_dh
from neuler.robot.model import Robot


def general_chain(n: int, seed: int = 0) -> Robot:
    """A chain of ``n`` revolute joints with general geometry and bodies: no parameter is zero or special.

    Modified DH with general alpha (rad), d and r (m); each link has all ten inertial parameters, those
    of a body that can exist: 1 to 6 kg, centre of mass within 0.3 m, principal inertias in general axes
    that satisfy the triangle inequality. The same ``n`` and ``seed`` give the same robot; numbers are
    rounded to six digits.

    >>> general_chain(7).nq
    7
    >>> general_chain(3, seed=1) == general_chain(3, seed=1)
    True
    """
    if n < 1:
        raise RobotError(f"a chain needs at least one joint, got n = {n}")
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        mass = rng.uniform(1.0, 6.0)
        # A body is a cloud of mass: its principal second moments are positive, so its inertias are possible.
        second = mass * rng.uniform(0.05, 0.2, 3) ** 2
        axes, _triangle = np.linalg.qr(rng.normal(size=(3, 3)))
        spread = axes @ np.diag(second) @ axes.T
        inertia = np.trace(spread) * np.eye(3) - spread
        com = rng.uniform(0.05, 0.17, 3) * rng.choice([-1.0, 1.0], 3)
        alpha, d, r = rng.uniform([0.3, 0.1, 0.1], [1.2, 0.5, 0.5]) * rng.choice([-1.0, 1.0], 3)
        rows.append(
            {
                "alpha": round(alpha, 6),
                "d": round(d, 6),
                "r": round(r, 6),
                "mass": round(mass, 6),
                "com": com.round(6),
                "inertia": inertia.round(6),
            }
        )
    return from_dh(rows, convention="khalil", name=f"general_chain_{n}")

"""How a robot swings about a position where it rests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.robot import Robot
from neuler.solve.equilibrium import settling, stiffness

Array = NDArray[np.float64]


def modes(robot: Robot, q: ArrayLike) -> tuple[Array, Array]:
    """Squares of the circular frequencies (1/s^2), smallest first, and shapes (a column each), motors held still.

    Shapes have a row for every velocity that no motor holds, ``neuler.solve.equilibrium.settling``; friction is left
    out. A negative square is a motion that falls away.

    >>> from neuler import Joint, Link, Robot
    >>> links = [Link("base"), Link.from_com("bob", mass=2.0, inertia=(0.1, 0.1, 0.1))]
    >>> bob = Robot("bob", links, [Joint("spring", "prismatic", "base", "bob", stiffness=50.0)])
    >>> modes(bob, [0.0])[0].round(6).tolist()
    [25.0]
    """
    v = settling(robot)
    position = np.asarray(q, dtype=float)
    inertia = np.asarray(robot.mass_matrix(position))[np.ix_(v, v)]
    lower = np.linalg.cholesky(inertia)
    whitened = np.linalg.solve(lower, np.linalg.solve(lower, stiffness(robot, position)).T)
    squares, shapes = np.linalg.eigh(0.5 * (whitened + whitened.T))
    return squares, np.linalg.solve(lower.T, shapes)

"""A sparse nonlinear programme and what a solver says of it: all that planners and solvers know of each other.

min f(x)  subject to  row_lower <= g(x) <= row_upper,  lower <= x <= upper
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns of the entries of a sparse matrix, each place once."""


class Programme(Protocol):
    """min f(x) subject to bounds on rows g(x) and on x; infinite where there is none."""

    n: int
    """Variables."""
    m: int
    """Rows."""
    lower: Array
    upper: Array
    row_lower: Array
    row_upper: Array
    start: Array
    """Where to begin, (n)."""
    jacobian_at: Places
    hessian_at: Places
    """Of the lower triangle: row >= column."""

    def objective(self, x: Array) -> float:
        """f(x)."""
        ...

    def gradient(self, x: Array) -> Array:
        """df/dx, (n)."""
        ...

    def rows(self, x: Array) -> Array:
        """g(x), (m)."""
        ...

    def jacobian(self, x: Array) -> Array:
        """Entries of dg/dx at ``jacobian_at``."""
        ...

    def hessian(self, x: Array, weight: float, multipliers: Array) -> Array:
        """Entries of the second derivatives of weight f + multipliers . g at ``hessian_at``."""
        ...


@dataclass(frozen=True)
class Progress:
    """How far a solve is."""

    iteration: int
    objective: float
    infeasibility: float
    seconds: float


Report = Callable[[Progress], bool | None]
"""Told after every iteration; False stops the solve."""


@dataclass(frozen=True, eq=False)
class Request:
    """How a programme is to be solved: see :func:`neuler.optimize.solvers.solve`."""

    warm: Solution | None
    tolerance: float
    iterations: int
    seconds: float | None
    progress: Report | None
    options: Mapping[str, Any] | None
    push: float


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, and its own word for it."""

    x: Array
    objective: float
    rows: Array
    multipliers: Array
    """Of the rows, (m): the Lagrangian is f + multipliers . g."""
    bound_multipliers: tuple[Array, Array]
    """Of the lower and the upper bounds of x, both not negative."""
    status: str
    """optimal, acceptable, infeasible, limit, interrupted or failed."""
    message: str
    iterations: int
    seconds: float
    function_seconds: float
    """Of these, inside the programme's functions."""
    solver: str
    infeasibility: float
    """The largest violation of rows and bounds, as they are given."""


def infeasibility(programme: Programme, x: Array, rows: Array) -> float:
    """The largest violation of rows and bounds at x; infinite where they are not numbers."""
    worst = 0.0
    if np.isnan(x).any() or np.isnan(rows).any():
        return np.inf
    for value, lower, upper in (
        (rows, programme.row_lower, programme.row_upper),
        (x, programme.lower, programme.upper),
    ):
        if value.size:
            worst = max(worst, float(np.max(lower - value)), float(np.max(value - upper)))
    return worst

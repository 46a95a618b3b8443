"""Columns of the user's own: forces that are linear in a number to be found, as traced functions of the motion.

A counterbalance, a coupling between two wrist joints, a cable: tau = ... + x f(q, qd, qdd), f being known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.inputs import told
from neuler.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserColumns:
    """Compiled functions of q (nq,), qd (nv,) and qdd (nv,), each of which gives the forces (nu,) of a unit."""

    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.functions)

    def __call__(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Forces of one unit of each, (n, nu, columns)."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # told below, by name
            found = np.stack([np.asarray(each(q, qd, qdd)) for each in self.functions.values()], axis=-1)
        bad = ~np.isfinite(found).all(axis=(0, 1))
        if bad.any():
            name = self.names[int(np.argmax(bad))]
            raise InputError(f"own: column {name!r} is not finite along the motion; it must exist wherever it goes")
        return found


def user_columns(robot: Robot, given: Any) -> UserColumns:
    """The columns ``given`` by name, compiled.

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> spring = user_columns(robot, {"spring": lambda q, qd, qdd: np.array([np.sin(q[0]), 0.0])})
    >>> spring(np.full((1, 2), np.pi / 2), np.zeros((1, 2)), np.zeros((1, 2))).tolist()
    [[[1.0], [0.0]]]
    """
    if not isinstance(given, Mapping):
        raise InputError(
            "own: columns of your own are given by name, {'spring': lambda q, qd, qdd: ...}, each returning "
            f"{robot.nu} forces, got {told(given)}"
        )
    return UserColumns({name: _compiled(robot, name, f) for name, f in given.items()})


def _compiled(robot: Robot, name: Any, f: Callable[..., Any]) -> Function:
    if not isinstance(name, str) or not name:
        raise InputError(f"own: a column's name must be a text, got {told(name)}")
    if not callable(f):
        raise InputError(f"own: column {name!r} must be a function of q, qd and qdd, got {told(f)}")

    def column(q: Any, qd: Any, qdd: Any) -> Any:
        forces = np.asarray(f(q, qd, qdd))
        if forces.shape not in ((robot.nu,), ()) or (forces.shape == () and robot.nu > 1):
            raise InputError(
                f"own: column {name!r} must return {robot.nu} forces of {', '.join(robot.coordinates.names('tau'))}, "
                f"got shape {forces.shape}"
            )
        return forces.reshape(robot.nu)

    return function(column, {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv}, name="own_column")

"""Names of the numbers of a state: what a column of a file, or an entry of a vector, is called.

Positions are ``q_<joint>``, velocities ``qd_<joint>``, forces ``tau_<joint>``. A free joint has several: its position
is ``q_<joint>_x, _y, _z, _qx, _qy, _qz, _qw``, its velocity ``qd_<joint>_vx, _vy, _vz, _wx, _wy, _wz``, its force
``tau_<joint>_fx, _fy, _fz, _mx, _my, _mz``; other joints with several coordinates alike, by the parts that they have.
In loops velocities are those of the independent joints, forces those of the driven ones. The motor behind a spring is
a joint of its own, ``q_<joint>.motor``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError, RobotError
from neuler.robot.coordinates import names
from neuler.tables import is_table, take_columns
from neuler.trace.recipe import Operand

if TYPE_CHECKING:
    from neuler.robot.model import Robot

_POSITIONS = frozenset({"q", "next"})
_VELOCITIES = frozenset({"qd", "qdd", "qddd", "qdddd", "qd_tree", "qdd_tree", "weights"})
_EITHER = frozenset({"given", "found"})
_FORCES = frozenset({"tau", "tau_rate", "tau_rate2", "bias", "gravity", "force"})
_SHAFTS = frozenset({"theta", "thetad", "thetadd"})
WRENCH = (("fx", "N"), ("fy", "N"), ("fz", "N"), ("mx", "N m"), ("my", "N m"), ("mz", "N m"))
"""The numbers of a wrench, and their units."""
_LINK = "_link"
"""Ends the names of motions without those of motors."""


def by_columns(robot: Robot, called: str, what: str, given: Any, name: str) -> Any:
    """An argument q, qd or tau (``name``), as an array where it is a table whose columns have names.

    Where the robot has ``named_positions`` a text names one of them. ``what`` is what the argument is called in
    messages. Dask arrays are refused.
    """
    refuse_dask(called, what, given)
    if isinstance(given, str) and name == "q" and robot.named_positions:
        try:
            return robot.named_positions[given]
        except RobotError as error:
            raise InputError(f"{called}: {what}: {error}") from None
    if not is_table(given):
        return given
    size = {"q": robot.nq, "qd": robot.nv, "tau": robot.nu}[name]
    return take_columns(called, what, given, name, entry_names(robot, Operand(name, (size,))) or [])


def column_names(robot: Robot, operand: Operand, options: Mapping[str, Any] | None = None) -> list[str]:
    """The names of an operand's numbers, in order; ``options`` are those of its kernel.

    >>> import neuler
    >>> column_names(neuler.robots.two_link(), Operand("tau", (2,)))
    ['tau_joint1', 'tau_joint2']
    >>> column_names(neuler.robots.two_link(), Operand("mass_matrix", (2, 2)))[:2]
    ['mass_matrix[0,0]', 'mass_matrix[0,1]']
    >>> column_names(neuler.robots.five_bar(), Operand("qd", (2,)))
    ['qd_left_arm', 'qd_right_arm']
    """
    if operand.shape == ():
        return [operand.name]
    found = entry_names(robot, operand)
    if found is not None:
        return [f"{operand.name}_{name}" for name in found]
    spots = itertools.product(*map(range, operand.shape))
    return [f"{operand.name}[{','.join(map(str, spot))}]" for spot in spots]


def entry_names(robot: Robot, operand: Operand) -> list[str] | None:
    """Names of the numbers of a vector over joints, each of them once; None where they have none.

    >>> import neuler
    >>> entry_names(neuler.robots.two_link(), Operand("tau", (2,)))
    ['joint1', 'joint2']
    """
    found = _entries(robot, operand) if len(operand.shape) == 1 else None
    return found if found is not None and len(found) == operand.size and len(set(found)) == len(found) else None


def labels(robot: Robot, operand: Operand) -> list[tuple[str, str]]:
    """The name and the unit of each number of a vector over joints; none where they have none.

    >>> import neuler
    >>> labels(neuler.robots.stanford(), Operand("qdd", (6,)))[1:3]
    [('joint2', 'rad/s^2'), ('joint3', 'm/s^2')]
    """
    names = entry_names(robot, operand)
    if names is None:
        return []
    what = "q" if operand.name in _POSITIONS else "qd" if operand.name in ("qd", "qdd") else "tau"
    if what == "tau" and operand.name not in _FORCES - {"tau_rate", "tau_rate2"}:
        return [(name, "") for name in names]
    units = robot.coordinates.units(what)
    if len(units) != len(names):
        units = robot.coordinates.units(what, every=True)
    units = units if len(units) == len(names) else [""] * len(names)
    return [(name, f"{unit}^2" if operand.name == "qdd" else unit) for name, unit in zip(names, units, strict=True)]


def _entries(robot: Robot, operand: Operand) -> list[str] | None:
    table = robot.coordinates
    if operand.name in _SHAFTS:
        return [entry.name for entry in table if entry.elastic]
    if operand.name.endswith(_LINK):
        what = "q" if operand.name.removesuffix(_LINK) in _POSITIONS else "qd"
        return [name for entry in table if not entry.elastic for name in names(entry.joint, what)]
    if operand.name in _POSITIONS:
        return table.names("q")
    if operand.name not in _VELOCITIES | _FORCES | _EITHER:
        return None
    what = "tau" if operand.name in _FORCES else "qd"
    if operand.name.endswith("_tree"):
        return robot.tree.coordinates.names(what)
    every = table.names(what, every=True)
    if operand.size == len(every):
        return every
    forces = operand.name in _EITHER or operand.name.startswith("tau") or operand.name == "weights"
    return [every[k] for k in (table.active if forces else table.independent)]


def spellings(robot: Robot, inputs: Sequence[Operand], options: Mapping[str, Any]) -> dict[str, int]:
    """Every accepted name of every number, to its place among all inputs; ambiguous names are left out."""
    places: dict[str, set[int]] = {}
    start = 0
    for operand in inputs:
        for k, name in enumerate(column_names(robot, operand, options)):
            for spelling in {name, f"{operand.name}[{k}]", f"{operand.name}{k + 1}"}:
                places.setdefault(spelling, set()).add(start + k)
        start += operand.size
    return {name: next(iter(found)) for name, found in places.items() if len(found) == 1}


# ---- other ways to say it: robot.coordinates has all of this ---------------------------------------------------

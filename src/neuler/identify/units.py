"""Units of measured columns: factors to SI, and motor currents to joint torques."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import choice, number, real, told
from neuler.naming import hint
from neuler.robot import Robot

Array = NDArray[np.float64]

_TURN = {"rad": 1.0, "deg": math.pi / 180.0, "turn": 2.0 * math.pi}
_LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
UNITS: dict[str, dict[str, float]] = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "rad": _TURN,
    "m": _LENGTH,
    "rad/s": {f"{unit}/s": factor for unit, factor in _TURN.items()} | {"rpm": math.pi / 30.0},
    "m/s": {f"{unit}/s": factor for unit, factor in _LENGTH.items()},
    "rad/s^2": {f"{unit}/s^2": factor for unit, factor in _TURN.items()},
    "m/s^2": {f"{unit}/s^2": factor for unit, factor in _LENGTH.items()},
    "N m": {"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "kN m": 1e3},
    "N": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "": {"": 1.0},
}
"""By the SI unit that a column has in a robot: the units in which it may be measured, with their factors."""
CURRENTS = {"A": 1.0, "mA": 1e-3}
"""Units of torques that are measured as currents of motors (A)."""
KINDS = ("q", "qd", "qdd", "tau")


def si_units(robot: Robot, kind: str) -> list[str]:
    """The SI unit of every column of q, qd, qdd or tau.

    >>> import neuler
    >>> si_units(neuler.robots.stanford(), "qdd")[1:3]
    ['rad/s^2', 'm/s^2']
    """
    found = robot.coordinates.units("qd" if kind == "qdd" else kind)
    return [f"{unit}^2" for unit in found] if kind == "qdd" else found


def factor(what: str, unit: Any, si: str) -> float:
    """The factor from a unit to the SI unit ``si`` of a column; a unit of something else is refused.

    >>> factor("log.csv: column 'q1'", "deg", "rad")
    0.017453292519943295
    """
    allowed = UNITS[si] | (CURRENTS if si in ("N m", "N") else {})
    if isinstance(unit, str) and unit not in allowed and any(unit in others for others in UNITS.values()):
        raise InputError(
            f"{what} is measured in {', '.join(filter(None, allowed)) or 'no unit'}, got {unit!r}; units of single "
            "columns stand beside those of kinds: units={'q': 'deg', 'q_slide': 'mm'}"
        )
    return allowed[choice(f"{what}: unit", unit, allowed)]


def checked_units(units: Any, known: Sequence[str], called: str) -> dict[str, str]:
    """Units by kind ("t", "q", "qd", "qdd", "tau") or by column; unknown keys are refused."""
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise InputError(f"{called}: units must be a mapping like {{'q': 'deg', 'tau': 'mA'}}, got {told(units)}")
    for key in units:
        if key not in known:
            raise InputError(f"{called}: units: {key!r} is neither a kind nor a column; {hint(key, list(known))}")
    return dict(units)


def per_joint(robot: Robot, what: str, value: Any) -> Array:
    """One number for every column of tau, (nu,): from one number, a list, or a mapping from joints; none is zero."""
    names = robot.coordinates.names("tau")
    if isinstance(value, Mapping):
        for key in value:
            if key not in names:
                raise InputError(f"{what}: robot {robot.name!r} has no torque of {key!r}; {hint(key, names)}")
        missing = [name for name in names if name not in value]
        if missing:
            raise InputError(f"{what}: there is none for {missing[0]!r}; give one for every joint")
        value = [number(f"{what} of {name!r}", value[name]) for name in names]
    found = real(value)
    if found is None or found.shape not in ((), (robot.nu,)):
        raise InputError(f"{what} must be a number, {robot.nu} numbers or a mapping from joints, got {told(value)}")
    found = np.broadcast_to(found, (robot.nu,)).copy()
    bad = ~np.isfinite(found) | (found == 0.0)
    if bad.any():
        raise InputError(f"{what} of {names[int(np.argmax(bad))]!r} must be finite and not zero, got {found[bad][0]:g}")
    return found


def torque_factors(
    robot: Robot, units: Sequence[str], torque_constants: Any, ratios: Any, called: str
) -> tuple[Array, bool]:
    """Factors (nu,) from the torques in a file to joint torques, and whether any column is a current.

    A current times the torque constant of its motor is the motor's torque; times the gear ratio it is the joint's.
    Torques of motors have a ratio alone.
    """
    names, si = robot.coordinates.names("tau"), si_units(robot, "tau")
    found = np.array([factor(f"{called}: tau of {names[k]!r}", units[k], si[k]) for k in range(robot.nu)])
    currents = [name for name, unit in zip(names, units, strict=True) if unit in CURRENTS]
    if currents and torque_constants is None:
        raise InputError(
            f"{called}: tau of {currents[0]!r} is a current; torque_constants= must say how many N m an ampere gives "
            "at the motor, for every joint"
        )
    if currents and ratios is None:
        raise InputError(
            f"{called}: tau of {currents[0]!r} is a current; ratios= must say how many times the motor's torque the "
            "joint's is, for every joint (ratios=1 where constants are of joints)"
        )
    if torque_constants is not None:
        if not currents:
            raise InputError(f"{called}: torque_constants are for currents; say units={{'tau': 'A'}} or leave them out")
        constants = per_joint(robot, f"{called}: torque_constants", torque_constants)
        found = found * np.where([unit in CURRENTS for unit in units], constants, 1.0)
    if ratios is not None:
        found = found * per_joint(robot, f"{called}: ratios", ratios)
    return found, bool(currents)

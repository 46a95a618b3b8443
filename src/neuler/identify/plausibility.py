"""Arrays of a log that cannot be meant: each fault is named, with its column, row and time, and what helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.stamps import gaps
from neuler.inputs import number
from neuler.robot import Robot
from neuler.robot.columns import column_names
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]

FEWEST = 20
"""Rows that a log must have at least."""
_BEYOND = 1e50
"""Numbers above it, and steps of time or weights below its inverse, are no measurements: their squares overflow."""
_DEGREES = 180.0 / np.pi
_FAR, _TURNS = 3.0, 4.0 * np.pi
"""How many times its range a joint may be away from it; the range (rad) of a joint without limits that is unusual."""
_SPINS = 20.0
"""rad/s, faster than arms turn."""


class Findings(NamedTuple):
    """What was found: ``errors`` cannot be right, all others look wrong or are worth knowing."""

    errors: list[str]
    notes: list[str]
    delays: Sequence[str] = ()
    """Torques that are late or early beside the given robot's."""
    swaps: Sequence[str] = ()
    """Torques that resemble those of other joints of the given robot."""


def names_of(robot: Robot, kind: str) -> list[str]:
    """The columns of q, qd, qdd or tau, as files call them.

    >>> import neuler
    >>> names_of(neuler.robots.two_link(), "tau")
    ['tau_joint1', 'tau_joint2']
    """
    size = {"q": robot.nq, "tau": robot.nu}.get(kind, robot.nv)
    return column_names(robot, Operand(kind, (size,)))


# ---- what every log must be -------------------------------------------------------------------------------------


def check_times(t: Array, called: str) -> None:
    """Refuse times that are not finite, do not rise, or have gaps; and too few of them."""
    if not np.isfinite(t).all():
        k = int(np.argmax(~np.isfinite(t)))
        raise InputError(f"{called}: column 't' has no value in row {k} ({_count(~np.isfinite(t))}); cut such rows out")
    if len(t) < FEWEST:
        raise InputError(f"{called}: is too short: {len(t)} rows, and {FEWEST} are needed at least")
    steps = np.diff(t)
    for wrong, said in ((steps < 0.0, "goes backwards"), (steps == 0.0, "is repeated")):
        if wrong.any():
            k = int(np.argmax(wrong))
            remedy = "sort the rows, or make runs of them" if said == "goes backwards" else "keep one row of each time"
            raise InputError(
                f"{called}: time {said} in row {k + 1}: {t[k]:.6g} s is followed by {t[k + 1]:.6g} s ({_count(wrong)})"
                f"; {remedy}"
            )
    step = float(np.median(steps))
    if not 1.0 / _BEYOND < step < _BEYOND:
        raise InputError(f"{called}: samples are {step:.3g} s apart, which cannot be; what is the unit of the times?")
    if (gap := gaps(t)).any():
        k = int(np.argmax(gap))
        raise InputError(
            f"{called}: samples are missing after row {k}: {steps[k]:.4g} s from {t[k]:.6g} s on, where steps are "
            f"{step:.4g} s ({_count(gap)}); make a log of each part, or interpolate first"
        )


def check_numbers(values: Array, names: Sequence[str], t: Array, called: str) -> None:
    """Refuse columns with numbers that are not finite: name the first."""
    lost = ~np.isfinite(values)
    if lost.any():
        row, column = (int(x) for x in np.argwhere(lost)[0])
        raise InputError(
            f"{called}: column {names[column]!r} has no finite value in row {row} at {t[row]:.6g} s "
            f"({_count(lost[:, column])} in this column, {int(lost.sum())} in all); cut the log there into runs, or "
            "fill gaps first"
        )

    if (far := np.abs(values) > _BEYOND).any():
        row, column = (int(x) for x in np.argwhere(far)[0])
        raise InputError(
            f"{called}: column {names[column]!r} has {values[row, column]:.3g} in row {row} at {t[row]:.6g} s, which "
            "cannot be; what is its unit?"
        )


def check_weight(called: str, weight: Any) -> float:
    """How much a run counts beside others."""
    found = number(f"{called}: weight", weight, above=0.0)
    if not 1.0 / _BEYOND < found < _BEYOND:
        raise InputError(f"{called}: weight must be about one, so that other runs count beside it, got {found:.3g}")
    return found


def _count(where: NDArray[np.bool_]) -> str:
    count = int(where.sum())
    return f"{count} row{'s' * (count != 1)}"


# ---- units and signals that cannot be meant ---------------------------------------------------------------------


def check_signals(robot: Robot, t: Array, q: Array, tau: Array) -> Findings:
    """Constant columns, angles that jump by a turn, and degrees taken for radians, as far as limits tell."""
    found = Findings([], [])
    _constant(robot, q, tau, found)
    names, owners, units = names_of(robot, "q"), robot.coordinates.owners("q"), robot.coordinates.units("q")
    for k, name in enumerate(names):
        column = q[:, k]
        if units[k] == "rad":
            jumps = np.abs(np.abs(np.diff(column)) - 2.0 * np.pi) < 0.2
            if jumps.any():
                row = int(np.argmax(jumps)) + 1
                found.errors.append(
                    f"column {name!r} jumps by a turn in row {row} at {t[row]:.6g} s ({_count(jumps)}); unwrap it "
                    "first (numpy.unwrap)"
                )
        if units[k]:
            _range(name, column, t, owners[k].limits, units[k], found)
    return found


def _constant(robot: Robot, q: Array, tau: Array, found: Findings) -> None:
    still, silent = np.ptp(q, axis=0) == 0.0, np.ptp(tau, axis=0) == 0.0
    if still.all():
        found.errors.append("all positions are constant: nothing moves, and nothing can be identified")
    elif still.any():
        named = [name for name, each in zip(names_of(robot, "q"), still, strict=True) if each]
        found.notes.append(f"constant columns: {', '.join(named)}; inertias that only their motion shows are not in it")
    if silent.all():
        found.errors.append("all torques are constant: nothing was measured")
        return
    owners = robot.coordinates.owners("tau")
    named = [
        name
        for name, each, owner in zip(names_of(robot, "tau"), silent, owners, strict=True)
        if each and owner.joint.role == "driven"
    ]
    if named:
        found.notes.append(
            f"constant columns: {', '.join(named)}; is the sensor connected, and the column the right one?"
        )


def _range(name: str, column: Array, t: Array, limits: object, unit: str, found: Findings) -> None:
    lower, upper = getattr(limits, "lower", -np.inf), getattr(limits, "upper", np.inf)
    fastest = getattr(limits, "velocity", np.inf)
    low, high = float(column.min()), float(column.max())
    other, scale, remedy = ("degrees", _DEGREES, "units={'q': 'deg'}") if unit == "rad" else (
        "millimetres", 1000.0, "units={'q': 'mm'}")  # fmt: skip
    width = upper - lower
    outside = max(lower - low, high - upper)
    speed = float(np.quantile(np.abs(np.diff(column) / np.diff(t)), 0.99))
    if np.isfinite(width) and outside > _FAR * max(width, 1e-3):
        found.errors.append(
            f"column {name!r} goes from {low:.4g} to {high:.4g} {unit}, and its limits are {lower:.4g} and {upper:.4g}"
            f": it looks like {other}; read it with {remedy}"
        )
    elif np.isfinite(fastest) and speed > 10.0 * fastest and speed < 10.0 * scale * fastest:
        found.errors.append(
            f"column {name!r} moves at {speed:.4g} {unit}/s, and its limit is {fastest:.4g}: it looks like {other}; "
            f"read it with {remedy}"
        )
    elif np.isfinite(width) and outside > 0.05 * width:
        found.notes.append(
            f"column {name!r} goes from {low:.4g} to {high:.4g} {unit}, beyond its limits {lower:.4g} and {upper:.4g}: "
            "is its zero that of the robot?"
        )
    elif unit == "rad" and not np.isfinite(width) and high - low > _TURNS:
        sure = high - low > 2.0 * _TURNS and speed > _SPINS
        (found.errors if sure else found.notes).append(
            f"column {name!r} goes from {low:.4g} to {high:.4g} rad, {(high - low) / (2 * np.pi):.2g} turns, at up to "
            f"{speed:.3g} rad/s: {'it looks like' if sure else 'if these are'} {other}{';' if sure else ','} read it "
            f"with {remedy}"
        )

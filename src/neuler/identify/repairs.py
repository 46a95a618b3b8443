"""What is mended in a log before it is smoothed: columns that are sampled too seldom, rows that were not measured.

Positions are interpolated, since all others need them; rows in which a gap is too long for that, or in which a torque
is none, are left out of the fit. Nothing is mended without a note.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify import held as holding
from neuler.identify.flats import flats
from neuler.identify.flats import said as flats_said
from neuler.identify.lapses import filled, lapses, spans
from neuler.identify.plausibility import names_of
from neuler.identify.smoothing import lowpass, repaired, transient
from neuler.robot import Robot

if TYPE_CHECKING:
    from neuler.identify.log import Log

Array = NDArray[np.float64]

_SHORT = 0.25
"""Periods of the cut-off frequency that a gap of positions may last to be as good as measured when interpolated."""
_REACH, _SMALL = 0.02, 0.1
"""Share of a torque that was not measured which filters may carry over into a row that counts; and how much one in a
dead zone counts as such, since it is small, and nearly on the line between its neighbours."""
_WINDOW, _MOVES = 5, 0.01
"""A joint moves where it goes, from so many rows before to as many after, more than this share of the furthest."""


class Mended(NamedTuple):
    """The arrays of a log, by kind, at its rows, and which rows are not to be relied on."""

    arrays: dict[str, Array]
    every: float
    """In every how many rows positions were sampled."""
    lost: NDArray[np.bool_]
    """Rows (n,) whose positions were interpolated."""
    out: Array
    """Torques (n, nu) that were not measured, as shares: 1 where nothing is known of them."""
    errors: list[str]

    def left_out(self, robot: Robot, rate: float, cutoff: float, parallel: float, order: int) -> NDArray[np.bool_]:
        """Rows (n, nv) that are not to be fitted: filters carry what is wrong over into those near by."""
        found = np.zeros((len(self.lost), robot.nv), bool)
        reach = 0 if math.isinf(cutoff) else math.ceil(transient(cutoff, order) * rate)
        for a, b in spans(self.lost):
            if math.isinf(cutoff) or b - a > _SHORT * rate / cutoff:
                found[max(a - reach, 0) : b + reach] = True
        if self.out.any():
            near = (self.out > 0.0) | (np.abs(lowpass(self.out, rate, parallel, order)) > _REACH)
            found |= near if robot.nu == robot.nv else near.any(axis=1, keepdims=True)
        return found


def mended(log: Log, outliers: bool, notes: list[str]) -> Mended:
    """Interpolate what was sampled too seldom and, with ``outliers``, what was not measured."""
    robot = log.robot
    arrays = {key: getattr(log, key) for key in ("q", "tau", "qd", "qdd") if getattr(log, key) is not None}
    lost, out = np.zeros(len(log.t), bool), np.zeros((len(log.t), robot.nu))
    errors: list[str] = []
    every = _held(log, arrays, notes, errors)
    if outliers:
        arrays["q"], lost = _positions(log, arrays["q"], notes, errors)
        arrays["tau"], out = _torques(log, arrays, notes)
    return Mended(arrays, every, lost, out, errors)


def left_out_said(robot: Robot, out: NDArray[np.bool_], moving: NDArray[np.bool_]) -> list[str]:
    """A note of how many rows (n, nv) that move are not fitted, because filters mix them with what was not measured."""
    counts = (out & moving).sum(axis=0)
    if not counts.any():
        return []
    names, moved = names_of(robot, "tau" if robot.nu == robot.nv else "qd"), np.maximum(moving.sum(axis=0), 1)
    parts = zip(names, counts, counts / moved, strict=True)
    shown = ", ".join(f"{name} {count} ({share:.0%})" for name, count, share in parts if count)
    return [f"rows that were not measured, with as many as filters carry that over to, are not fitted: {shown}"]


def _held(log: Log, arrays: dict[str, Array], notes: list[str], errors: list[str]) -> float:
    """Interpolate columns that change in every k-th row only, in place; the k of positions."""
    names, counts = [], []
    slowest = 1.0
    for key, values in arrays.items():
        every = holding.held(values)
        at = np.flatnonzero(every > 1.0).tolist()
        if not at:
            continue
        columns = values.copy()
        for k in at:
            columns[:, k] = holding.interpolated(log.t, values[:, k], float(every[k]), smooth=key != "tau")
        arrays[key] = columns
        names += [names_of(log.robot, key)[k] for k in at]
        counts += every[at].tolist()
        if key == "q":
            slowest = float(every.max())
    if names:
        notes.append(holding.said(names, counts, log.rate))
    if slowest > 1.0 and len(log.t) / slowest < holding.FEWEST:
        errors.append(
            f"positions change in every {holding.ordinal(round(slowest, 1))} row only, at {log.rate / slowest:.3g} Hz: "
            f"{len(log.t) / slowest:.0f} samples are too few; log positions more often, or for longer"
        )
    return slowest


def _positions(log: Log, q: Array, notes: list[str], errors: list[str]) -> tuple[Array, NDArray[np.bool_]]:
    """Interpolate positions that were not measured; the rows (n,) of any of them."""
    names, units = names_of(log.robot, "q"), log.robot.coordinates.units("q")
    every = [lapses(column, unit == "rad") for column, unit in zip(q.T, units, strict=True)]
    all_of = np.sum([where.away for _, where in every], axis=0) > 1  # those of others, too, that jump less visibly
    lost = all_of | np.any([where.rows for _, where in every], axis=0)
    found = np.stack([filled(column, all_of) for column, _ in every], axis=1) if lost.any() else q
    kinds: dict[str, dict[tuple[int, int], list[str]]] = {}
    for name, (_, where) in zip(names, every, strict=True):
        for kind, rows in (("repeat an old value while the joint moves on", where.repeated & ~all_of),
                           ("jump away and back", where.away | all_of)):  # fmt: skip
            if rows.any():
                alike = int(rows.sum()), int(np.argmax(rows))
                kinds.setdefault(kind, {}).setdefault(alike, []).append(repr(name))
    for kind, places in kinds.items():
        parts = [
            f"{count} of {', '.join(alike)} from {log.t[row]:.4g} s on (row {row})"
            for (count, row), alike in places.items()
        ]
        notes.append(f"positions that {kind} were interpolated: {'; '.join(parts)}")
    for k, (_, where) in enumerate(every):
        if where.jumps:
            row = where.jumps[0]
            more = f" ({len(where.jumps)} such steps)" if len(where.jumps) > 1 else ""
            errors.append(
                f"column {names[k]!r} jumps from {q[row - 1, k]:.4g} to {q[row, k]:.4g} {units[k]} in row {row} at "
                f"{log.t[row]:.6g} s{more}, as no joint moves, and stays there: make a log of each part, or correct it"
            )
    return found, lost


def _torques(log: Log, arrays: dict[str, Array], notes: list[str]) -> tuple[Array, Array]:
    """Torques with lines where a drive did not report them; and which (n, nu) were not measured, as shares."""
    robot, tau = log.robot, arrays["tau"]
    out = np.zeros(tau.shape)
    found, said = tau, []
    units = robot.coordinates.units("tau")
    for k, (name, moves) in enumerate(zip(names_of(robot, "tau"), _moves(robot, arrays["q"]).T, strict=True)):
        flat = flats(tau[:, k], moves)
        if not flat.rows.any():
            continue
        out[:, k] = np.where(flat.zone, _SMALL, flat.rows)
        said.append((name, units[k], tau[:, k], flat))
        if flat.replaced.any():
            found = found.copy() if found is tau else found
            found[:, k] = filled(tau[:, k], flat.replaced, smooth=False)
    notes += flats_said(said)
    return found, out


def _moves(robot: Robot, q: Array) -> NDArray[np.bool_]:
    """Where the joint of each torque moves, (n, nu)."""
    way = np.zeros(q.shape)
    if len(q) > 2 * _WINDOW:
        way[_WINDOW:-_WINDOW] = np.abs(q[2 * _WINDOW :] - q[: -2 * _WINDOW])
        way[:_WINDOW], way[-_WINDOW:] = way[_WINDOW], way[-_WINDOW - 1]
    moves = way > _MOVES * way.max(axis=0, initial=0.0)
    positions = [owner.name for owner in robot.coordinates.owners("q")]
    return np.stack(
        [
            moves[:, [j for j, name in enumerate(positions) if name == owner.name]].any(axis=1)
            for owner in robot.coordinates.owners("tau")
        ],
        axis=1,
    )


def single(robot: Robot, arrays: dict[str, Array], notes: list[str]) -> dict[str, int]:
    """Interpolate outliers, one or two in a row, in place; counts by column."""
    counts: dict[str, int] = {}
    for key in arrays:
        arrays[key], where = repaired(arrays[key])
        found = zip(names_of(robot, key), where.sum(axis=0).tolist(), strict=True)
        counts |= {name: count for name, count in found if count}
    if counts:
        shown = ", ".join(f"{name} {count}" for name, count in counts.items())
        notes.append(f"outliers, far from the median of five samples, were interpolated: {shown}")
    return counts

"""Logs made ready for identification: smoothed, differentiated, trimmed; and a filter for torques and regressors.

tau = Y(q, qd, qdd) phi holds at every moment, and after any linear filter F: F tau = (F Y) phi. So q, qd and qdd are
smoothed first, because Y is not linear in them; then F is applied to torques and to every column of Y alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.identify.consistency import check_positions, check_torques, check_velocities, friction_columns
from neuler.identify.plausibility import FEWEST, Findings, check_signals, names_of
from neuler.identify.positions import closed, continuous, normal
from neuler.identify.preparation import Options, checked
from neuler.identify.repairs import left_out_said, mended, single
from neuler.identify.smoothing import (
    Smooth,
    chosen_cutoff,
    lowpass,
    noise_of,
    one_way,
    rate_noise,
    smoothed,
    transient,
)  # fmt: skip
from neuler.identify.stamps import even, too_slow
from neuler.motions.differentiated import differentiated
from neuler.robot import Robot

if TYPE_CHECKING:
    from neuler.identify.log import Log

Array = NDArray[np.float64]

SHORTEST_TRIM = 0.1
"""Seconds that are cut off at each end at least."""
_QUIET, _SLOW = 5.0, 1e-3
"""The dead zone: so many times the noise of qd, and at least this share of the joint's highest velocity."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A log that is ready for identification: arrays at n uniform times, one row per sample.

    ``tau`` is not filtered: pass both it and the regressor, or the model's torques, through :meth:`filter`.
    """

    log: Log
    t: Array
    """Times (s), (n,)."""
    q: Array
    """Smoothed positions, (n, nq)."""
    qd: Array
    """Velocities, (n, nv)."""
    qdd: Array
    """Accelerations, (n, nv)."""
    tau: Array
    """Measured torques, (n, nu), without outliers."""
    moving: NDArray[np.bool_]
    """Whether a joint moves and was measured, (n, nv): its velocity is outside the dead zone, and the filters' window
    contains no reversal of the joint, no rest, and no torque or position that was not measured."""
    rows: NDArray[np.intp]
    """The rows of the log, (n,)."""
    settings: dict[str, Any]
    """Everything that was chosen or given, ready for JSON."""
    notes: tuple[str, ...] = ()
    """What was changed or left out, with counts, and what looks wrong."""
    delays: tuple[str, ...] = ()
    """The notes on torques that are late or early relative to the given robot's; ``fit`` checks again."""
    swaps: tuple[str, ...] = ()
    """Likewise those on torques that resemble another joint's."""
    rate: float = field(default=0.0)
    """Samples a second (Hz), before decimation."""

    @property
    def robot(self) -> Robot:
        """The robot that was measured."""
        return self.log.robot

    @property
    def weight(self) -> float:
        """The weight of the run relative to others."""
        return self.log.weight

    @property
    def name(self) -> str:
        """What messages call the run."""
        return self.log.name

    def filter(self, values: ArrayLike) -> Array:
        """Values (n, ...) after the parallel filter and decimation, (m, ...).

        Apply it to the torques and to every column of the regressor: tau = Y phi then remains valid. The filter is
        linear and has no delay.
        """
        found = np.asarray(values, dtype=float)
        if found.shape[:1] != self.t.shape:
            raise InputError(
                f"{self.name}: filter takes arrays with {len(self.t)} rows, as q, qd and qdd have them, got shape "
                f"{found.shape}"
            )
        cutoff = self.settings["torque_cutoff"]
        return self.decimated(lowpass(found, self.rate, cutoff or math.inf, self.settings["order"]))

    def decimated(self, values: ArrayLike) -> Any:
        """The rows of values (n, ...) that remain after decimation, (m, ...), unfiltered."""
        return np.asarray(values)[:: self.settings["decimate"]]

    def __repr__(self) -> str:
        """The log, its rows and the cut-off."""
        cutoff = self.settings["cutoff"]
        shown = "not filtered" if cutoff is None else f"cut-off {cutoff:.3g} Hz"
        return f"<prepared {self.name!r} of {self.robot.name!r}: {len(self.t)} rows at {self.rate:g} Hz, {shown}>"


def prepared(log: Log, given: dict[str, Any]) -> Prepared:
    """``log.prepare(...)``."""
    options = checked(log, given)
    robot, notes = log.robot, list(log.notes)
    _raise(log, [] if log.in_seconds else too_slow(robot, log.t, log.q), options.check, notes)
    whole = mended(log, options.outliers, notes)
    t, arrays = even(log.t, whole.arrays, notes)
    outliers = single(robot, arrays, notes) if options.outliers else {}
    found = check_signals(robot, t, arrays["q"], arrays["tau"])
    _raise(log, [*found.errors, *whole.errors], options.check, notes)
    notes += found.notes
    rate, step = log.rate / whole.every, max(1, round(whole.every))
    own = robot.coordinates.own.places
    how: dict[str, Any] = {"clear_frequencies": None, "bounded_by": None}
    cutoff, order = options.cutoff, options.order
    if cutoff is None:
        positions = arrays["q"][:, own] if own else arrays["q"]
        cutoff, how = chosen_cutoff(positions[::step], log.rate / step, order)
    parallel = cutoff if options.torque_cutoff is None else options.torque_cutoff
    q, qd, qdd, noise = _motion(log, t, arrays, cutoff, rate, options)
    if len(own) < robot.nq:
        q = closed(robot, t, q, log.name, notes)
    zone = options.dead_zone
    if zone is None:
        zone = np.maximum(_QUIET * noise, _SLOW * np.abs(qd).max(axis=0))
    trim, rows = _rows(log, t, cutoff, options, notes)
    kept = slice(rows[0], rows[-1] + 1)
    delays: list[str] = []
    swaps: list[str] = []
    for found in _compared(log, t, arrays, cutoff, order, zone, (q[kept], qd[kept], qdd[kept]), kept):
        _raise(log, found.errors, options.check, notes)
        notes += [*found.notes, *found.delays, *found.swaps]
        delays += found.delays
        swaps += found.swaps
    reach = 0.0 if math.isinf(min(cutoff, parallel)) or robot.nu != robot.nv else 1.0 / min(cutoff, parallel)
    moving = one_way(qd[kept], zone, math.ceil(reach * log.rate))
    out = whole.left_out(robot, log.rate, cutoff, parallel, order)[kept]
    notes += left_out_said(robot, out, moving)
    moving &= ~out
    if not moving.any():
        _raise(log, [_still(log, qd[kept], noise, zone, cutoff)], options.check, notes)
    for name, share in zip(names_of(robot, "qd"), (np.abs(qd[kept]) > zone).mean(axis=0), strict=True):
        if share < 0.1:
            notes.append(
                f"{name!r} moves in {share:.0%} of the rows only: outside its dead zone there is hardly anything"
            )
    if options.decimate > 1:
        left = -(-len(rows) // options.decimate)
        notes.append(f"decimation leaves {left} of {len(rows)} rows, after the parallel filter")
    settings = {
        "rate": log.rate, "method": options.method, "order": order, "cutoff": _finite(cutoff),
        "cutoff_chosen": options.cutoff is None, **how, "torque_cutoff": _finite(parallel),
        "derivatives": options.derivatives, "decimate": options.decimate, "trim": trim, "outliers": outliers,
        "dead_zone": [float(each) for each in zone],
        "position_noise": _noise(arrays["q"], q, rate, cutoff),
        "weight": log.weight, "rows": len(rows), "rows_of_log": len(log.t),
    }  # fmt: skip
    return Prepared(
        log, t[kept], q[kept], qd[kept], qdd[kept], arrays["tau"][kept], moving, rows, settings, tuple(notes),
        tuple(delays), tuple(swaps), log.rate,
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else float(value)


def _noise(measured: Array, q: Array, rate: float, cutoff: float) -> list[float]:
    return [float(f"{each:.4g}") for each in noise_of(measured, q, rate, cutoff)]


def _still(log: Log, qd: Array, noise: Array, zone: Array, cutoff: float) -> str:
    """Why no row of any joint is left."""
    fastest = np.abs(qd).max(axis=0)
    ratios = np.divide(fastest, zone, out=np.zeros(len(zone)), where=zone > 0.0)
    k = int(np.argmax(ratios))
    name, unit = names_of(log.robot, "qd")[k], log.robot.coordinates.units("qd")[k]
    filtered = "without a filter" if math.isinf(cutoff) else f"at a cut-off of {cutoff:.3g} Hz"
    if ratios[k] > 1.0:
        return "no row is left in which a joint moves on in one direction and all was measured; give a longer log"
    return (
        f"no joint moves faster than its dead zone: {name!r} reaches {fastest[k]:.3g} {unit}, its dead zone is "
        f"{zone[k]:.3g}, and the noise of velocities is {noise[k]:.3g} {filtered}; give a lower cutoff= or a "
        "dead_zone=, or faster motion or positions with less noise"
    )


def _raise(log: Log, errors: list[str], check: bool, notes: list[str]) -> None:
    if not errors:
        return
    if check:
        more = f". {len(errors) - 1} more: {'; '.join(errors[1:3])}" if len(errors) > 1 else ""
        raise InputError(f"{log.name}: {errors[0]}{more}. prepare(check=False) goes on nevertheless")
    notes += errors


# ---- the steps ----------------------------------------------------------------------------------------------------


def _motion(
    log: Log, t: Array, arrays: dict[str, Array], cutoff: float, rate: float, options: Options
) -> tuple[Array, Array, Array, Array]:
    """q, qd, qdd, and the standard deviation of the noise of qd, (nv,); ``rate`` is that of sampled positions."""
    robot, q = log.robot, continuous(log.robot, arrays["q"])
    smooth = smoothed(t, q, cutoff, options.order, options.method)
    own = robot.coordinates.own.places
    if options.derivatives == "positions":
        noise = rate_noise(noise_of(q, smooth.values, rate, cutoff), rate, cutoff)[own]
        return smooth.values, smooth.rate[:, own], smooth.acceleration[:, own], noise
    qd: Smooth = smoothed(t, arrays["qd"], cutoff, options.order, options.method)
    qdd = qd.rate
    if "qdd" in arrays:
        qdd = smoothed(t, arrays["qdd"], cutoff, options.order, options.method).values
    share = 1.0 if math.isinf(cutoff) else math.sqrt(2.0 * cutoff / log.rate)
    noise = share * noise_of(arrays["qd"], qd.values, log.rate, cutoff)
    return normal(robot, smooth.values), qd.values, qdd, noise


def _rows(log: Log, t: Array, cutoff: float, options: Options, notes: list[str]) -> tuple[float, NDArray[np.intp]]:
    """Seconds that are cut off at each end, and the rows that are left."""
    needed = 0.0
    if not math.isinf(cutoff):
        needed = transient(cutoff, options.order) if options.method == "butterworth" else 1.0 / cutoff
    trim = max(SHORTEST_TRIM, needed) if options.trim is None else options.trim
    cut = math.ceil(trim * log.rate - 1e-9)
    left = len(t) - 2 * cut
    if left < FEWEST:
        raise InputError(
            f"{log.name}: is too short: {len(t)} rows of {t[-1] - t[0]:.4g} s, of which {trim:.3g} s are cut off at "
            f"each end (the transient of the filter at {cutoff:.3g} Hz is {needed:.3g} s), leave {max(left, 0)} rows, "
            f"and {FEWEST} are needed; give a longer log, a higher cutoff or trim="
        )
    if trim < needed - 1e-9:
        notes.append(f"trim is {trim:.3g} s, shorter than the filter's transient, {needed:.3g} s: ends are less exact")
    if cut:
        notes.append(f"{cut} rows ({trim:.3g} s) were cut off at each end, {left} of {len(t)} are left")
    return trim, np.arange(cut, cut + left)


def _compared(
    log: Log, t: Array, arrays: dict[str, Array], cutoff: float, order: int, zone: Array,
    motion: tuple[Array, Array, Array], kept: slice,
) -> Iterator[Findings]:  # fmt: skip
    """Findings on velocities and torques, where they can be compared with something."""
    robot, (q, qd, qdd) = log.robot, motion
    table = robot.coordinates
    if log.qd is not None and table.own.plain:
        slope, _ = differentiated(t, lowpass(arrays["q"][:, table.own.places], log.rate, cutoff, order))
        measured = lowpass(arrays["qd"], log.rate, cutoff, order)
        yield check_velocities(robot, log.rate, slope[kept], measured[kept], zone)
    if table.independent == table.active and robot.nu == robot.nv:
        tau = lowpass(arrays["tau"][kept], log.rate, cutoff, order)
        model = lowpass(np.asarray(robot.inverse_dynamics(q, qd, qdd)), log.rate, cutoff, order)
        friction = lowpass(friction_columns(qd, zone), log.rate, cutoff, order)
        yield check_torques(robot, log.rate, friction, model, tau)
        if robot.nq == robot.nv and table.own.plain:
            yield check_positions(robot, (q, qd, qdd), tau, zone)

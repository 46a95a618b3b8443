"""What of a log contradicts the robot's geometry, whatever the robot weighs: a table of causes, one of which is named.

A regressor knows how a robot can move and nothing of its parameters. Where the best parameters of all leave far more of
the torques than noise, something is wrong that no parameter mends: torques or positions of another joint or of opposite
sign (``orders.py``), constant offsets (``offsets.py``), factors (``gains.py``), delays (``lateness.py``), zeros of the
positions and the direction of gravity (``zeros.py``). With the standard deviation sd_j of what weighted least squares
leaves of each torque, the likelihood of a cause is that of the least sum of log sd_j; ``causes.py`` says which one is
named. Where none is, ``unexplained.py`` says that much. A joint that moves by itself explains its torque with either
sign: friction that drives it tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify.along import Along
from neuler.identify.causes import FAR, Bench, Cause, said
from neuler.identify.estimate import listed
from neuler.identify.gains import factors
from neuler.identify.lateness import late
from neuler.identify.noise import inertial_noise
from neuler.identify.offsets import constant
from neuler.identify.orders import position_orders, torque_orders
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, Rows
from neuler.identify.trials import SURE, Fitted, Sample, Trials, Usual, usual
from neuler.identify.unexplained import unexplained
from neuler.identify.upright import direction
from neuler.identify.zeros import zeros

Array = NDArray[np.float64]
_DRIVES = 0.05
"""Share of a joint's power that friction gives instead of taking it, from which on the sign is doubted."""
_MOST = 16
"""Joints of robots that are looked at: there is a pair of each two."""
_HEAVY = 8.0
"""Root mean square of residuals in usual deviations, from which on least squares is not to be relied on."""
_LOSSES = ("viscous", "coulomb", "coulomb_reverse")
_SOME = 1.5
"""Times its noise that is left of any torque, from which on factors are looked for."""
_RUNS = 8
"""Runs up to which offsets and delays are looked for in single ones."""
_CAUSES = 3
"""Causes that are looked for one after the other."""


class Looked(NamedTuple):
    """What was looked for, and notes of what was found."""

    notes: list[str]
    orders: bool
    """Whether torques and positions were tried as those of other joints, and none was better."""
    delays: bool
    """Whether there is no more to say of delays: they were tried, or the columns cannot tell."""
    bursts: tuple[str, ...] = ()
    """What is to be said of bursts of bad torques, of methods that do not cope with them."""

    def left(self, ready: Prepared) -> list[str]:
        """The notes of a log without those that the given robot alone made believe."""
        gone = [*(ready.delays if self.delays else ()), *(ready.swaps if self.orders else ())]
        return [note for note in ready.notes if note not in gone]


class _Table(NamedTuple):
    """What a search came to: notes, the last fit, and how it was judged."""

    notes: list[str]
    now: Fitted
    bench: Bench
    order: bool = False
    """Whether columns are those of others."""
    mended: bool = True
    """Whether the last fit is of what was found mended."""


def misplaced(regression: Regression, logs: Sequence[Prepared], runs: Sequence[Rows], whole: bool = True) -> Looked:
    """What to say of columns that would be explained far better if they were others, shifted, scaled or turned.

    ``runs`` are the rows of the logs. Where not all links and all friction are among the columns (``whole``), what they
    are thought to be decides: what is small beside it is not looked for.

    >>> import neuler
    >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 10.0, 0.02)
    >>> q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    >>> qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    >>> swapped = neuler.identify.Log(robot, t, q, robot.inverse_dynamics(q, qd, qdd)[:, ::-1])
    >>> found = neuler.identify.fit(swapped.prepare(check=False), columns="links")
    >>> [note[:54] for note in found.notes if "interchanged" in note]
    ['with the torques tau_joint1 and tau_joint2 interchange']
    """
    robot = regression.robot
    if robot.nu > _MOST:
        return Looked([], False, False)
    sample = Sample(regression, logs, runs)
    without = usual(sample.W, sample.y, sample.moving, sample.ends)
    bursts = _bursts(sample, without)
    if robot.nu < 2 or robot.nu != robot.nv or not robot.coordinates.own.plain:
        return Looked([], False, False, bursts)
    found = _searched(sample, without, logs, whole)
    notes, order, mended = list(found.notes), found.order, found.mended
    doubted = found.bench.excess(found.now.sd).any()
    if not notes and len(logs) > 1 and (found.now.sd > FAR * sample.noise).any():
        notes, order = _by_run(regression, logs, runs, whole)
        mended = not notes
    unknown: list[str] = []
    if mended and not bursts:
        noise = np.hypot(sample.noise, inertial_noise(regression, logs, found.now.values)) if doubted else sample.noise
        unknown = unexplained(sample, found.now, noise, whole)
    if mended and not unknown:
        values = dict(zip(regression.names, found.now.values.tolist(), strict=True))
        notes += _driven(sample, values)
    return Looked([*notes, *unknown], not order, True, () if notes else bursts)


def _searched(sample: Sample, without: Usual, logs: Sequence[Prepared], whole: bool) -> _Table:
    """Look for causes one after the other, each with the last one mended."""
    every, sample.moving = sample.moving, without.moving
    usual_rows = Trials(sample.W, sample.moving)
    rows = usual_rows if every is sample.moving else Trials(sample.W, every)
    names, counts = sample.regression.robot.coordinates.names("tau"), np.minimum(sample.independent, usual_rows.counts)
    now = usual_rows.fitted(sample.y)
    notes: list[str] = []
    bench = Bench(now.sd, sample.noise, counts, SURE, bool(_bursts(sample, without)))
    for _ in range(_CAUSES):
        best = bench.named(list(_candidates(sample, rows, usual_rows, now, logs, whole, bench)))
        if not best:
            break
        notes.append(said(best, names, now.sd))
        if not best[0].mend:
            return _Table(notes, now, bench, best[0].order, mended=False)
        for key, value in best[0].mend.items():
            setattr(sample, key, value)
        now = usual_rows.fitted(sample.y, now.sd)
        bench = dataclasses.replace(bench, now=now.sd)
    return _Table(notes, now, bench)


def _candidates(
    sample: Sample, rows: Trials, usual_rows: Trials, now: Fitted, logs: Sequence[Prepared], whole: bool, bench: Bench
) -> list[Cause]:
    """What could be wrong; what costs more is tried where there is something to explain."""
    robot, doubted = sample.regression.robot, bool(bench.excess(now.sd).any())
    some = bool((now.sd > _SOME * sample.noise).any())
    found = torque_orders(sample, usual_rows, now, doubted)
    if whole:
        for run in (None, *(range(len(logs)) if some and 1 < len(logs) <= _RUNS else ())):
            sample.run = slice(run, None if run is None else run + 1)
            found += [*constant(sample, usual_rows, now), *late(sample, rows, usual_rows, now)]
        sample.run = slice(None)
        found += factors(sample, usual_rows, now) if some else []
    if doubted and robot.nq == robot.nv:
        along = Along(sample, logs)
        found += position_orders(sample, along, now)
        found += [*zeros(sample, along, now), *direction(sample, along, now)] if whole else []
    return found


def _by_run(
    regression: Regression, logs: Sequence[Prepared], runs: Sequence[Rows], whole: bool
) -> tuple[list[str], bool]:
    """Causes in single runs, each fitted by itself."""
    notes: list[str] = []
    order = False
    for ready, run in zip(logs, runs, strict=True):
        sample = Sample(regression, [ready], [run])
        table = _searched(sample, usual(sample.W, sample.y, sample.moving, sample.ends), [ready], whole)
        notes += [f"{ready.name}: {note}" for note in table.notes]
        order = order or table.order
    return notes, order


def _bursts(sample: Sample, without: Usual) -> tuple[str, ...]:
    """Torques with residuals so far beyond the usual that they decide least squares."""
    far = (without.spread > _HEAVY) & (without.spread * without.usually > sample.noise)
    if not far.any():
        return ()
    named = [name for name, each in zip(sample.regression.robot.coordinates.names("tau"), far, strict=True) if each]
    run, at = sample.moment(without.worst)
    return (
        f"bursts of bad torques decide the estimate: what is left of {listed(named)} is up to "
        f"{without.spread.max():.2g} times what it usually is, most at {at:.4g} s of {run!r}; use method='reweighted', "
        "or cut them out of the log; positions may be bad there, too",
    )


def _driven(sample: Sample, values: Mapping[str, float]) -> list[str]:
    """Joints whose friction comes out as driving them."""
    qd, tau = sample.rates, sample.tau()
    found = []
    for k, owner in enumerate(sample.regression.robot.coordinates.owners("tau")):
        viscous, coulomb, reverse = (values.get(f"{owner.name}.{part}") for part in _LOSSES)
        if coulomb is None or viscous is None:
            continue
        at = sample.moving[:, k]
        dry = np.where(qd[at, k] > 0.0, coulomb, coulomb if reverse is None else reverse)
        lost = float((viscous * qd[at, k] ** 2 + dry * np.abs(qd[at, k])).sum())
        if lost < -_DRIVES * float(np.abs(tau[at, k] * qd[at, k]).sum()):
            found.append(
                f"the friction of {owner.name!r} comes out as driving it: has tau_{owner.name} the opposite sign?"
            )
    return found

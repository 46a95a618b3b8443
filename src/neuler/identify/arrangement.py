"""Whether torques and positions are those of the joints that they are named after, whatever the robot weighs.

A regressor knows how a robot can move and nothing of its parameters. Where the best parameters of all explain the
torques far better with two of them interchanged, or with one of opposite sign, their columns are named wrongly; and so
with positions. With the standard deviation sd_j of what weighted least squares leaves of each torque, the likelihood
of an arrangement is that of the least sum of log sd_j. A joint that moves by itself explains its torque with either
sign: friction that drives it tells. Constant offsets (``offsets.py``) and delays (``lateness.py``) are looked for, too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify.estimate import listed
from neuler.identify.lateness import late
from neuler.identify.offsets import constant, offsets_said
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, Rows
from neuler.identify.trials import Fitted, Sample, Trials, Usual, usual

Array = NDArray[np.float64]
BETTER = 1.3
"""How many times less another arrangement leaves of each torque that it moves, from which on it is named."""
_OPEN = 1.5
"""How many times more parameters of one robot leave than a torque's own would, from which on signs are tried."""
_UNEXPLAINED = 0.02
"""Share of a torque's power that is left, from which on other positions are tried."""
_DRIVES = 0.05
"""Share of a joint's power that friction gives instead of taking it, from which on the sign is doubted."""
_MOST = 16
"""Joints of robots that are looked at: there is a pair of each two."""
_HEAVY = 8.0
"""Root mean square of residuals in usual deviations, from which on least squares is not to be relied on."""
_LOSSES = ("viscous", "coulomb", "coulomb_reverse")


@dataclasses.dataclass(frozen=True)
class Arrangement:
    """Whose column each joint takes, and the sign of each."""

    order: tuple[int, ...]
    signs: tuple[float, ...]

    @property
    def moved(self) -> list[int]:
        """Joints that get another column than their own."""
        pairs = enumerate(zip(self.order, self.signs, strict=True))
        return [k for k, (at, sign) in pairs if k != at or sign < 0.0]

    def of(self, values: Array) -> Array:
        """Columns (n, joints) in this arrangement."""
        return values[:, list(self.order)] * np.array(self.signs)

    def said(self, what: str, names: Sequence[str]) -> str:
        """In words: "the torques tau_a and tau_b interchanged"."""
        own = [f"{what}_{names[k]}" for k in self.moved]
        kind = "torque" if what == "tau" else "position"
        if min(self.signs) < 0.0:
            return f"the {kind} {own[0]} reversed, or its counterpart,"
        return f"the {kind}s {own[0]} and {own[1]} interchanged"


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


def misplaced(regression: Regression, logs: Sequence[Prepared], runs: Sequence[Rows], whole: bool = True) -> Looked:
    """What to say of torques and positions that would be explained far better as those of other joints or times.

    ``runs`` are the rows of the logs. Where not all links and all friction are among the columns (``whole``), what they
    are thought to be decides: offsets and delays, which are small beside it, are not looked for.

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
    every, without = sample.moving, usual(sample)
    bursts = _bursts(sample, without)
    if robot.nu < 2 or robot.nu != robot.nv or not robot.coordinates.own.plain:
        return Looked([], False, False, bursts)
    sample.moving = without.moving
    trials = Trials(sample.W, sample.moving)
    now = trials.fitted(sample.y)
    offsets = constant(sample, trials, now) if whole else np.zeros(robot.nu)
    level = trials.fitted(sample.y - offsets, now.sd) if offsets.any() else now
    tau, alone = sample.tau(), trials.alone(sample.tau(), sample.known)
    found: list[tuple[float, str]] = []
    positions: list[Arrangement] = []
    for each in _likely(alone, now.sd, trials.levels(sample.y)):
        then = trials.fitted(each.of(tau) - sample.known, now.sd)
        gain = _gain(now, then, each)
        if gain > BETTER and np.log(then.sd / level.sd).sum() < 0.0:
            found.append((gain, each.said("tau", robot.coordinates.names("tau"))))
            positions.append(each)
    if robot.nq == robot.nv and not offsets.any():
        if not positions and alone.diagonal().max() > _UNEXPLAINED:
            positions = [*_swaps(robot.nv), *_flips(robot.nv)]
        plain = sample.along(lambda values: values) if positions else None
        for each in positions:
            other = sample.along(each.of)
            if plain is not None and other is not None and (gain := _gain(plain, other, each)) > BETTER:
                found.append((gain, each.said("q", robot.coordinates.names("q"))))
    if found:
        gain, what = max(found)
        note = (
            f"with {what} what is left of the torques is 1/{gain:.2g} of what it is, whatever the robot weighs: are "
            "these columns named rightly?"
        )
        return Looked([note], False, True)
    notes = []
    if offsets.any():
        notes.append(offsets_said(robot, offsets, now, level))
        sample.known = sample.known + offsets
    values = dict(zip(regression.names, level.values.tolist(), strict=True))
    notes += _driven(sample, values)
    if whole:
        notes += late(sample, trials if every is sample.moving else Trials(sample.W, every), trials)
    return Looked(notes, True, True, () if notes else bursts)


def _bursts(sample: Sample, without: Usual) -> tuple[str, ...]:
    """Torques with residuals so far beyond the usual that they decide least squares."""
    far = without.spread > _HEAVY
    if not far.any():
        return ()
    named = [name for name, each in zip(sample.regression.robot.coordinates.names("tau"), far, strict=True) if each]
    run, at = sample.moment(without.worst)
    return (
        f"bursts of bad torques decide the estimate: what is left of {listed(named)} is up to "
        f"{without.spread.max():.2g} times what it usually is, most at {at:.4g} s of {run!r}; use method='reweighted', "
        "or cut them out of the log",
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


# ---- arrangements ---------------------------------------------------------------------------------------------------


def _swaps(count: int) -> Iterator[Arrangement]:
    for a, b in itertools.combinations(range(count), 2):
        order = list(range(count))
        order[a], order[b] = b, a
        yield Arrangement(tuple(order), (1.0,) * count)


def _flips(count: int) -> Iterator[Arrangement]:
    for k in range(count):
        yield Arrangement(tuple(range(count)), tuple(-1.0 if j == k else 1.0 for j in range(count)))


def _likely(alone: Array, sd: Array, levels: Array) -> Iterator[Arrangement]:
    """Those worth trying: torques that each other's joint explains better, signs where joints contradict."""
    for each in _swaps(len(sd)):
        a, b = each.moved
        if alone[a, b] * alone[b, a] < alone[a, a] * alone[b, b]:
            yield each
    if (sd > _OPEN * np.sqrt(alone.diagonal()) * levels).any():
        yield from _flips(len(sd))


def _gain(now: Fitted, then: Fitted, each: Arrangement) -> float:
    """How many times less is left, the mean over the joints that an arrangement moves."""
    return float(np.exp(np.log(now.sd / then.sd).sum() / len(each.moved)))

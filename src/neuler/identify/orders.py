"""Columns that may be those of another joint, or of the opposite sign: torques, and positions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.identify.along import Along
from neuler.identify.causes import Cause
from neuler.identify.trials import Fitted, Sample, Trials

Array = NDArray[np.float64]
_OPEN = 1.5
"""How many times more parameters of one robot leave than a torque's own would, from which on signs are tried."""
_FEW, _BEST = 2, 3
"""Passes of weighted least squares for each arrangement that is tried; those of which all passes are made."""
_REMEDY = "are these columns named rightly?"


@dataclass(frozen=True)
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

    def back(self, sizes: Array) -> Array:
        """Numbers of joints (nu,) as those of the columns that they take."""
        return sizes[np.argsort(self.order)]

    def said(self, what: str, names: Sequence[str]) -> str:
        """In words: "with the torques tau_a and tau_b interchanged"."""
        own = [f"{what}_{names[k]}" for k in self.moved]
        kind = "torque" if what == "tau" else "position"
        if min(self.signs) < 0.0:
            return f"with the {kind} {own[0]} reversed"
        return f"with the {kind}s {own[0]} and {own[1]} interchanged"


def _swaps(count: int) -> Iterator[Arrangement]:
    for a, b in itertools.combinations(range(count), 2):
        order = list(range(count))
        order[a], order[b] = b, a
        yield Arrangement(tuple(order), (1.0,) * count)


def _flips(count: int) -> Iterator[Arrangement]:
    for k in range(count):
        yield Arrangement(tuple(range(count)), tuple(-1.0 if j == k else 1.0 for j in range(count)))


def torque_orders(sample: Sample, trials: Trials, now: Fitted, every: bool) -> list[Cause]:
    """Torques in other orders or signs: ``every`` one, or those that single joints or contradictions make likely."""
    names, tau, y = sample.regression.robot.coordinates.names("tau"), sample.tau(), sample.y
    likely = _every(trials.nu) if every else _likely(trials.alone(tau, sample.known), now.sd, trials.levels(y))

    def left(each: Arrangement, start: Array, passes: int) -> Array:
        return trials.fitted(each.of(tau) - sample.known, start[list(each.order)], passes=passes).sd

    return [
        Cause(
            each.said("tau", names),
            _REMEDY,
            each.back(sd),
            each.back(trials.own(each.of(tau), sample.known)),
            order=True,
        )
        for each, sd in _best(likely, left, now)
    ]


def position_orders(sample: Sample, along: Along, now: Fitted) -> list[Cause]:
    """Positions in other orders or signs."""
    names, plain = sample.regression.robot.coordinates.names("q"), along.fitted()

    def left(each: Arrangement, start: Array, passes: int) -> Array:
        found = along.fitted(each.of, each.of, start, passes)
        return np.full(len(now.sd), np.inf) if found is None else found.sd

    if plain is None:
        return []
    scale = now.sd / plain.sd
    return [
        Cause(each.said("q", names), _REMEDY, scale * sd, scale * along.own(each.of, each.of), order=True)
        for each, sd in _best(_every(len(names)), left, plain)
    ]


def _best(
    tried: Iterator[Arrangement], left: Callable[[Arrangement, Array, int], Array], now: Fitted
) -> list[tuple[Arrangement, Array]]:
    """The arrangements that leave least, and what each of them leaves of the joints' torques."""
    levels = [(float(np.log(left(each, now.sd, _FEW)).sum()), each) for each in tried]
    levels.sort(key=lambda pair: pair[0])
    return [(each, left(each, now.sd, 8)) for _, each in levels[:_BEST]]


def _every(count: int) -> Iterator[Arrangement]:
    return itertools.chain(_swaps(count), _flips(count))


def _likely(alone: Array, sd: Array, levels: Array) -> Iterator[Arrangement]:
    """Torques that each other's joint explains better, signs where joints contradict."""
    for each in _swaps(len(sd)):
        a, b = each.moved
        if alone[a, b] * alone[b, a] < alone[a, a] * alone[b, b]:
            yield each
    if (sd > _OPEN * np.sqrt(alone.diagonal()) * levels).any():
        yield from _flips(len(sd))

"""Candidate causes of what the best parameters leave of torques, all judged alike.

A cause is named where, with it mended, what is left falls nearly to the noise of every torque, or far. A cause that
explains as well is named beside the best one; others are not, whatever they explain: much that is wrong looks like an
offset or a delay, too, if nothing else is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NEAR = 6.0
"""Times the noise up to which what is left counts as near it: real robots have friction that no law describes."""
SMALL = 1e-3
"""Share of a torque that counts as noise at least: of numbers that were simulated there is none."""
_REST, _TENTH = 0.25, 0.1
"""Share of the excess over the noise, as logarithms, that a cause may leave; and so much more in any case."""
_LESS, _OWN = 2.0, 1.15
"""Where what a cause leaves of a torque is beyond, but not far from, the noise: how many times less that is, unless it
is no more than so many times what separate parameters of every joint would leave, of which there is nothing to explain.
"""
_LARGE = 10.0
"""Where it is far from the noise: how many times less."""
FAR = 15.0
"""Times the noise of a torque that are far from it: real robots have up to ten."""
BETTER = 1.3
"""How many times less is left of one torque at least."""
_ALIKE = 1.15
"""Times what the best cause leaves, on average, up to which another one explains as well."""
_MOST = 3
"""Causes that explain alike, of which more are no answer."""


@dataclass(frozen=True, eq=False)
class Cause:
    """One thing that could be wrong, and what is left of the torques (nu,), in the order of columns, if it is mended.

    ``what`` says how it is mended, ``remedy`` what to do about it.
    """

    what: str
    remedy: str
    left: Array
    own: Array
    """What is left if each torque has parameters of its own: what no robot explains."""
    mend: Mapping[str, Any] = field(default_factory=dict)
    """What of the sample is replaced, where there is more to look for afterwards."""
    then: str = ", what is left of the torques is"
    """How the sentence goes on."""
    least: float = BETTER
    """How many times less is to be left of one torque."""
    order: bool = False
    """Whether columns are those of others, or of the opposite sign."""
    common: bool = False
    """Whether all torques agree on one number."""


@dataclass(frozen=True, eq=False)
class Bench:
    """What is left as things are (nu,), the noise (nu,), and how many rows of each torque are independent (nu,)."""

    now: Array
    noise: Array
    counts: Array
    sure: float
    doubtful: bool = False
    """Whether rows were left out as bursts of bad torques, so that what is left may be theirs."""

    def excess(self, left: Array) -> Array:
        """Of each torque the logarithm of what is left beyond what is near the noise."""
        return np.log(np.maximum(left / (NEAR * self.noise), 1.0))

    def explains(self, cause: Cause) -> bool:
        """Whether a cause explains what is left almost wholly, beyond doubt."""
        gains = np.log(self.now / cause.left)
        if self.counts @ gains < self.sure or gains.max() < np.log(cause.least):
            return False
        if self.doubtful and gains.max() < np.log(_LARGE):
            return False
        before, after = self.excess(self.now), self.excess(cause.left)
        if after.sum() <= _REST * before.sum() + _TENTH:
            return True
        far = gains >= np.log(_LESS)
        some = (cause.left <= FAR * self.noise) & (far | (cause.left <= _OWN * cause.own))
        done = (after <= 0.0) | some | (gains >= np.log(_LARGE))
        return bool(done[before > 0.0].all() and (cause.common or far.any()))

    def named(self, causes: Sequence[Cause]) -> list[Cause]:
        """The cause that explains most, and those that explain as well; none where many do, or none does."""
        found = sorted((each for each in causes if self.explains(each)), key=self._level)
        alike = [each for each in found if self._level(each) <= self._level(found[0]) + np.log(_ALIKE)]
        return alike if len(alike) <= _MOST else []

    def _level(self, cause: Cause) -> float:
        return float(np.log(np.maximum(cause.left, self.noise)).mean())


def falls(names: Sequence[str], now: Array, left: Array) -> str:
    """By how much less is left of each torque: "1/3.7 (joint2), 1/4.1 (joint3)"; of those with much less alone."""
    ratios = now / left
    shown = [k for k in np.argsort(-ratios) if ratios[k] >= min(BETTER, 0.99 * ratios.max())]
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    return ", ".join(f"1/{digits(ratios[k])} ({names[k]})" for k in sorted(shown[:4])) + more


def digits(x: float) -> str:
    """Two digits, one above 100, without an exponent."""
    return f"{x:.2g}" if x < 100.0 else f"{float(f'{x:.1g}'):.0f}"


def said(causes: Sequence[Cause], names: Sequence[str], now: Array) -> str:
    """One cause in words, or several that explain alike."""
    what = ", or as well ".join(each.what for each in causes)
    less = f"{causes[0].then} {falls(names, now, causes[0].left)} of what it is, whatever the robot weighs"
    remedies = "; or ".join(dict.fromkeys(each.remedy for each in causes if each.remedy))
    return f"{what}{less}{': ' * bool(remedies)}{remedies}"

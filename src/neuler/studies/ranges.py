"""Ranges that settings are drawn from: each maps numbers between 0 and 1 to values, by the inverse of its distribution.

All samplers share them: whatever spreads points evenly over the unit cube spreads them over the ranges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import inputs
from neuler.errors import InputError
from neuler.extras import require
from neuler.inputs import told
from neuler.studies.digests import digest_of, digest_of_all
from neuler.studies.values import Column, column_of

__all__ = ["Range", "choice", "log_uniform", "normal", "range_of", "whole"]

Array = NDArray[np.float64]

SMALLEST, LARGEST = 2.0**-54, 1.0 - 2.0**-53
"""The open interval from 0 to 1 ends here, so that no value is infinite."""


class Range(ABC):
    """Values that a setting may have, and how likely they are."""

    shape: tuple[int, ...] = ()
    """Of one value: () or (k,)."""
    continuous = True
    """Whether two draws are practically never equal."""

    @property
    def numbers(self) -> int:
        """How many numbers between 0 and 1 decide a value."""
        return int(np.prod(self.shape))

    @abstractmethod
    def values(self, u: Array) -> Column:
        """Values (n, *shape) of the numbers u (n, numbers), which lie between 0 and 1 and may be overwritten."""

    @abstractmethod
    def parameters(self) -> tuple[NDArray[Any], ...]:
        """The arrays that decide everything."""

    def digest(self) -> bytes:
        """Equal for equal ranges."""
        return digest_of_all(type(self).__name__, repr(self.shape), *map(digest_of, self.parameters())).encode()

    def __repr__(self) -> str:
        shown = ", ".join(told(value.tolist()) for value in self.parameters())
        return f"{type(self).__name__.strip('_')}({shown})"


def range_of(name: str, given: Any) -> Range:
    """What a user gave as a range: made by a function of this file, a pair (low, high), or one number or text.

    >>> range_of("payload", (0.0, 3.0)), range_of("kind", "panda")
    (uniform(0.0, 3.0), constant('panda'))
    """
    what = f"range of {name!r}"
    if isinstance(given, Range):
        return given
    if isinstance(given, list | tuple) and len(given) == 2:
        return _uniform(*_bounds(what, *given))
    if isinstance(given, str) or np.isscalar(given):
        return _constant(column_of(what, [given])[0])
    raise InputError(
        f"{what} must be a pair (low, high), a number, a text, or made by normal, log_uniform, whole or choice, got "
        f"{told(given)}; a constant vector is choice([vector])"
    )


def normal(mean: Any, deviation: Any) -> Range:
    """A normal distribution with its mean and standard deviation; vectors give a vector. It needs SciPy.

    >>> normal(0.0, [0.1, 0.2]).shape
    (2,)
    """
    center, spread = _pair("normal", ("mean", mean), ("deviation", deviation))
    if not (spread > 0).all():
        raise InputError(f"normal: deviation must be above zero, got {told(deviation)}; a constant is a plain number")
    require("scipy", "normal needs SciPy", "scale")
    return _normal(center, spread)


def log_uniform(low: Any, high: Any) -> Range:
    """Numbers whose logarithm is uniform from that of ``low``, above zero, to that of ``high``; vectors give a vector.

    The last digit may differ between processors, which compute exponentials in different ways.

    >>> log_uniform(1e-3, 1e3)
    log_uniform(0.001, 1000.0)
    """
    least, most = _bounds("log_uniform", low, high)
    if not (least > 0).all():
        raise InputError(f"log_uniform: low must be above zero, got {told(low)}")
    return _log_uniform(least, most)


def whole(low: Any, high: Any) -> Range:
    """Whole numbers from ``low`` to ``high``, both included, each as likely as the others.

    >>> whole(1, 6)
    whole(1, 6)
    """
    ends = [column_of(f"whole: {name}", [value])[0] for name, value in (("low", low), ("high", high))]
    if any(end.dtype.kind != "i" for end in ends):
        raise InputError(f"whole: low and high must be whole numbers, got {told(low)} and {told(high)}")
    least, most = _alike("whole", *ends)
    if not (least < most).all():
        raise InputError(f"whole: low must be below high, got {told(low)} and {told(high)}")
    if not (most.astype(float) - least.astype(float) < 2.0**52).all():
        raise InputError(f"whole: at most 2**52 numbers can be drawn from, got {told(low)} to {told(high)}")
    return _whole(least, most)


def choice(options: Any) -> Range:
    """One of several texts, numbers or vectors (rows of an array), each as likely as the others.

    >>> choice(["panda", "ur5"])
    choice(['panda', 'ur5'])
    """
    found = column_of("choice: options", [options] if isinstance(options, str) else options)
    if not len(found):
        raise InputError("choice: there are no options; give at least one")
    return _choice(found)


# ---- checks --------------------------------------------------------------------------------------------------------


def _pair(what: str, *given: tuple[str, Any]) -> tuple[Array, Array]:
    """Two finite numbers or vectors, of one shape."""
    found = []
    for name, value in given:
        taken = inputs.real(value)
        if taken is None or taken.ndim > 1 or not taken.size:
            raise InputError(f"{what}: {name} must be a number or a vector of numbers, got {told(value)}")
        if not np.isfinite(taken).all():
            raise InputError(f"{what}: {name} must be finite, got {told(value)}")
        found.append(taken)
    return _alike(what, *found)


def _alike(what: str, a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        found = np.broadcast_arrays(a, b)
    except ValueError:
        raise InputError(f"{what}: vectors must have one length, got shapes {a.shape} and {b.shape}") from None
    return found[0].copy(), found[1].copy()


def _bounds(what: str, low: Any, high: Any) -> tuple[Array, Array]:
    if isinstance(low, str) or isinstance(high, str):
        raise InputError(f"{what}: low and high must be numbers, got {told((low, high))}; of texts use choice([...])")
    least, most = _pair(what, ("low", low), ("high", high))
    if not (least < most).all():
        raise InputError(f"{what}: low must be below high, got {told(low)} and {told(high)}")
    with np.errstate(over="ignore"):
        if not np.isfinite(most - least).all():
            raise InputError(f"{what}: high - low must be finite, got {told(low)} and {told(high)}")
    return least, most


# ---- kinds ---------------------------------------------------------------------------------------------------------


class _uniform(Range):
    def __init__(self, low: Array, high: Array) -> None:
        self.low, self.high, self.shape = low, high, low.shape

    def values(self, u: Array) -> Column:
        u = u.reshape(-1, *self.shape)
        u *= self.high - self.low
        u += self.low
        return np.clip(u, self.low, self.high, out=u)  # a sum may be rounded beyond

    def parameters(self) -> tuple[NDArray[Any], ...]:
        return self.low, self.high


class _log_uniform(_uniform):
    def values(self, u: Array) -> Column:
        u = u.reshape(-1, *self.shape)
        u *= np.log(self.high) - np.log(self.low)
        u += np.log(self.low)
        return np.clip(np.exp(u, out=u), self.low, self.high, out=u)


class _normal(Range):
    def __init__(self, mean: Array, deviation: Array) -> None:
        self.mean, self.deviation, self.shape = mean, deviation, mean.shape

    def values(self, u: Array) -> Column:
        from scipy.special import ndtri

        u = u.reshape(-1, *self.shape)
        ndtri(u, out=u)
        u *= self.deviation
        u += self.mean
        return u

    def parameters(self) -> tuple[NDArray[Any], ...]:
        return self.mean, self.deviation


class _whole(Range):
    continuous = False

    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        self.low, self.high, self.shape = low, high, low.shape

    def values(self, u: Array) -> Column:
        count = self.high - self.low + 1
        steps = (u.reshape(-1, *self.shape) * count).astype(np.int64)
        return self.low + np.minimum(steps, count - 1)

    def parameters(self) -> tuple[NDArray[Any], ...]:
        return self.low, self.high


class _choice(Range):
    continuous = False

    def __init__(self, options: Column) -> None:
        self.options, self.shape = options, options.shape[1:]

    @property
    def numbers(self) -> int:
        return int(len(self.options) > 1)

    def values(self, u: Array) -> Column:
        if not self.numbers:
            return self.options[np.zeros(len(u), dtype=np.int64)]
        places = (u[:, 0] * len(self.options)).astype(np.int64)
        return self.options[np.minimum(places, len(self.options) - 1)]

    def parameters(self) -> tuple[NDArray[Any], ...]:
        return (self.options,)


class _constant(Range):
    continuous = False
    numbers = 0

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value)

    def values(self, u: Array) -> Column:
        return np.full(len(u), self.value)

    def parameters(self) -> tuple[NDArray[Any], ...]:
        return (self.value,)

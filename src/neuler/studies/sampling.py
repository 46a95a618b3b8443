"""Settings made of ranges: all combinations, independent draws, Sobol points, a Latin hypercube.

All but the last are recipes: a part is the recipe and a range of rows, and costs its own rows only. Each function takes
ranges by name, as keywords or, for names such as "simulate.step", as a mapping.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import inputs
from neuler.errors import InputError
from neuler.extras import require
from neuler.studies.digests import digest_of, digest_of_all, equal_rows
from neuler.studies.ranges import LARGEST, SMALLEST, Range, range_of
from neuler.studies.settings import ColumnSettings, Settings
from neuler.studies.values import Column, checked_names, column_of

__all__ = ["SAMPLERS", "latin_hypercube", "product", "random", "sampler", "sobol"]

_MOST_POINTS = 2**30
"""Of SciPy's Sobol sequence, and its resolution."""


class _Recipe(Settings):
    """Rows ``first`` to ``last - 1`` of a rule that makes any of them."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last

    def __len__(self) -> int:
        return self._last - self._first

    @abstractmethod
    def _arrays(self) -> Iterable[NDArray[Any]]:
        """What the recipe carries."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The recipe, or the rows where they are smaller: a few rows of a long list."""
        carried = sum(array.nbytes for array in self._arrays())
        row = sum(column.nbytes for column in self.part(0, 1).columns().values())
        if carried > len(self) * row:
            return ColumnSettings, (self.columns(), self.kind)
        return super().__reduce_ex__(protocol)


def _by_name(called: str, given: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """What was given by name, in a mapping and as keywords."""
    found = inputs.named(f"{called}: ranges", given)
    twice = next((name for name in more if name in found), None)
    if twice is not None:
        raise InputError(f"{called}: {twice!r} is given twice, in the mapping and as a keyword; drop one")
    found |= more
    checked_names(called, found)
    return found


def _digests(pairs: Iterable[tuple[str, bytes]]) -> str:
    """One digest of names and what belongs to them, in order."""
    return digest_of_all(*(part for pair in pairs for part in pair))


# ---- all combinations ----------------------------------------------------------------------------------------------


def product(values: Mapping[str, Any] | None = None, /, **more: Any) -> Settings:
    """All combinations of values; the last name varies fastest.

    values: by name, a list or array of numbers, truth values or texts, the rows of a 2-D array (vectors), or one number
    or text. Rows are made when they are needed: 10^9 of them cost nothing.

    >>> grid = product(payload=[0.0, 1.0, 2.0], robot=["panda", "ur5"])
    >>> grid
    <product: 6 rows of 'payload', 'robot'>
    >>> grid.part(1, 3).columns()["robot"].tolist()
    ['ur5', 'panda']
    """
    axes = {}
    for name, given in _by_name("product", values, more).items():
        single = isinstance(given, str) or np.isscalar(given)
        axes[name] = column_of(f"product: {name!r}", [given] if single else given)
        if not len(axes[name]):
            raise InputError(f"product: {name!r} has no values; give at least one")
    rows = math.prod(map(len, axes.values()))
    if rows > sys.maxsize:
        raise InputError(f"product: there are {rows:.1e} combinations, more than can be counted; give fewer values")
    return _Product(axes, 0, rows)


class _Product(_Recipe):
    kind = "product"

    def __init__(self, axes: dict[str, Column], first: int, last: int) -> None:
        super().__init__(first, last)
        self.names = tuple(axes)
        self._axes = axes

    def columns(self) -> dict[str, Column]:
        rows = np.arange(self._first, self._last)
        return {name: self._axes[name][rows // stride % len(self._axes[name])] for name, stride in self._strides()}

    def _strides(self) -> list[tuple[str, int]]:
        """How many rows a value of each axis lasts."""
        sizes = [len(axis) for axis in self._axes.values()]
        return [(name, math.prod(sizes[place + 1 :])) for place, name in enumerate(self.names)]

    def _cut(self, first: int, last: int) -> _Product:
        return _Product(self._axes, self._first + first, self._first + last)

    def _arrays(self) -> Iterable[NDArray[Any]]:
        return self._axes.values()

    def fingerprint(self) -> str:
        axes = _digests((name, digest_of(axis)) for name, axis in self._axes.items())
        return digest_of_all("product", self._first, self._last, axes)

    def duplicate(self) -> tuple[int, int] | None:
        """By the axes alone: rows are equal where an axis has a value twice."""
        found = []
        for name, stride in self._strides():
            pair = ColumnSettings({name: self._axes[name]}).duplicate()
            if pair is not None:
                found.append((pair[0] * stride, pair[1] * stride))
        if not found:
            return None
        if len(self) == math.prod(map(len, self._axes.values())):
            return min(found, key=lambda pair: pair[1])
        return equal_rows(len(self), self._blocks)  # a part, in which these rows need not be


# ---- samplers over the unit cube -----------------------------------------------------------------------------------


class _Sampled(_Recipe):
    """Rows drawn from ranges."""

    drawn = True

    def __init__(self, ranges: dict[str, Range], seed: int, first: int, last: int) -> None:
        super().__init__(first, last)
        self.names = tuple(ranges)
        self._ranges, self._seed = ranges, seed

    def _cut(self, first: int, last: int) -> _Sampled:
        return type(self)(self._ranges, self._seed, self._first + first, self._first + last)

    def _arrays(self) -> Iterable[NDArray[Any]]:
        return itertools.chain.from_iterable(given.parameters() for given in self._ranges.values())

    def duplicate(self) -> tuple[int, int] | None:
        if any(given.continuous for given in self._ranges.values()):
            return None
        return super().duplicate()


def random(rows: int, ranges: Mapping[str, Any] | None = None, *, seed: int = 0, **more: Any) -> Settings:
    """Independent draws from ranges.

    ranges: by name, a pair ``(low, high)`` of numbers or vectors, one number or text that stays as it is, or what
    ``normal``, ``log_uniform``, ``whole`` and ``choice`` make. Row r depends on the seed and r alone, and a column on
    its name besides: more rows or other columns leave it as it was.

    >>> random(1_000_000, payload=(0.0, 3.0), q=([-1, -2], [1, 2]), seed=1)
    <random: 1,000,000 rows of 'payload', 'q'>
    """
    return _Random(*_drawn("random", rows, ranges, more, seed))


def _drawn(
    called: str, rows: Any, ranges: Mapping[str, Any] | None, more: Mapping[str, Any], seed: Any
) -> tuple[dict[str, Range], int, int, int]:
    """The arguments of a sampler, checked."""
    last = inputs.whole(f"{called}: rows", rows, 1, sys.maxsize)
    found = {name: range_of(name, given) for name, given in _by_name(called, ranges, more).items()}
    return found, inputs.whole(f"{called}: seed", seed, 0), 0, last


class _Random(_Sampled):
    kind = "random"

    def columns(self) -> dict[str, Column]:
        return {name: given.values(self._numbers(name, given.numbers)) for name, given in self._ranges.items()}

    def _numbers(self, name: str, count: int) -> NDArray[np.float64]:
        """Uniform numbers (n, count): Philox, keyed by seed and name, counts four numbers a step."""
        key = hashlib.blake2b(f"{self._seed} {name}".encode(), digest_size=16).digest()
        stream = np.random.Philox(key=np.frombuffer(key, dtype="<u8").astype(np.uint64))
        steps, skipped = divmod(self._first * count, 4)
        stream.advance(steps)
        stream.random_raw(skipped)
        found = np.random.Generator(stream).random((len(self), count))
        return np.maximum(found, SMALLEST, out=found)

    def fingerprint(self) -> str:
        ranges = _digests(sorted((name, given.digest()) for name, given in self._ranges.items()))
        return digest_of_all("random", self._seed, self._first, self._last, ranges)


def sobol(rows: int, ranges: Mapping[str, Any] | None = None, *, seed: int = 0, **more: Any) -> Settings:
    """Points of a scrambled Sobol sequence, which fill the ranges more evenly than random ones. It needs SciPy.

    ranges: as in ``random``. Choose a power of two for ``rows``: the points are then most even. They are those of
    ``scipy.stats.qmc.Sobol`` with ``numpy.random.default_rng(seed)``, at most 2^30.

    >>> sobol(1024, payload=(0.0, 3.0), speed=(0.5, 1.0))
    <sobol: 1,024 rows of 'payload', 'speed'>
    """
    require("scipy", "sobol needs SciPy", "scale")
    made = _Sobol(*_drawn("sobol", rows, ranges, more, seed))
    if len(made) > _MOST_POINTS:
        raise InputError(f"sobol: rows must be at most 2**30, got {rows}; use random")
    made.engine()  # it refuses too many numbers a row
    return made


class _Sobol(_Sampled):
    kind = "sobol"

    def engine(self) -> Any:
        """SciPy's engine at its first point; None where all columns are constant."""
        from scipy.stats import qmc

        size = sum(given.numbers for given in self._ranges.values())
        if size > qmc.Sobol.MAXDIM:
            raise InputError(f"sobol: a row has {size} numbers, the most is {qmc.Sobol.MAXDIM}; use random")
        return qmc.Sobol(size, scramble=True, seed=np.random.default_rng(self._seed)) if size else None

    def columns(self) -> dict[str, Column]:
        return _split(self._points(self._first, self._last), self._ranges)

    def _points(self, first: int, last: int) -> NDArray[np.float64]:
        """Points (n, numbers) of the unit cube."""
        engine = self.engine()
        if engine is None:
            return np.empty((last - first, 0))
        if first:
            return engine.fast_forward(first).random(last - first)
        whole = 1 << (last - 1).bit_length()  # of another number from the start SciPy warns
        return engine.random(whole)[:last]

    def fingerprint(self) -> str:
        """Some points belong to it: another version of SciPy may scramble in another way."""
        ranges = _digests((name, given.digest()) for name, given in self._ranges.items())
        return digest_of_all("sobol", self._seed, self._first, self._last, digest_of(self._points(0, 16)), ranges)


def latin_hypercube(rows: int, ranges: Mapping[str, Any] | None = None, *, seed: int = 0, **more: Any) -> Settings:
    """A Latin hypercube: each range is cut into as many equally likely pieces as there are rows, each used once.

    ranges: as in ``random``. The points are those of ``scipy.stats.qmc.LatinHypercube`` with
    ``numpy.random.default_rng(seed)``; all rows are made at once. It needs SciPy.

    >>> found = latin_hypercube(4, payload=(0.0, 4.0)).columns()["payload"]
    >>> sorted(int(value) for value in found)
    [0, 1, 2, 3]
    """
    require("scipy", "latin_hypercube needs SciPy", "scale")
    from scipy.stats import qmc

    found, checked_seed, _, count = _drawn("latin_hypercube", rows, ranges, more, seed)
    size = sum(given.numbers for given in found.values())
    if size:
        points = qmc.LatinHypercube(size, seed=np.random.default_rng(checked_seed)).random(count)
    else:
        points = np.empty((count, 0))
    made = ColumnSettings(_split(points, found), "latin_hypercube")
    made.drawn = True
    return made


def _split(points: NDArray[np.float64], ranges: Mapping[str, Range]) -> dict[str, Column]:
    """Values of points (n, numbers) of the unit cube, by name."""
    points = np.clip(points, SMALLEST, LARGEST)
    edges = np.cumsum([given.numbers for given in ranges.values()])[:-1]
    parts = np.split(points, edges, axis=1)
    return {
        name: given.values(np.ascontiguousarray(part))
        for (name, given), part in zip(ranges.items(), parts, strict=True)
    }


SAMPLERS: dict[str, Callable[..., Settings]] = {
    "product": product,
    "random": random,
    "sobol": sobol,
    "latin_hypercube": latin_hypercube,
}
"""By the names that files use."""


def sampler(name: str) -> Callable[..., Settings]:
    """The sampler of a name, or an error that says which there are.

    >>> sampler("sobl")
    Traceback (most recent call last):
    neuler.errors.InputError: sampler must be one of 'product', 'random', 'sobol', 'latin_hypercube', got 'sobl'; did
    you mean 'sobol'?
    """
    return SAMPLERS[inputs.choice("sampler", name, SAMPLERS)]

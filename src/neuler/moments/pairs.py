"""Distances of many pairs at once: obstacles, radii and centres of balls are data, not code.

For each kind of obstacle there is one compiled function, of a point and of the numbers that say where an obstacle is
and how large. Two balls are a point, the difference of their centres, and a sphere about the origin. A scene of kinds
that were met before compiles nothing, and a thousand pairs are one call.

>>> from neuler.moments.clearance import Ball, HalfSpace, Sphere, clearance
>>> room = clearance([Ball("tool", 0.05)], [Sphere((0.5, 0.0, 0.2), 0.1), HalfSpace((0, 0, 0), (0, 0, 1))])
>>> table = PairTable.of(room)
>>> table.distances(np.array([[[0.5, 0.0, 0.6]]])).round(6).tolist()
[[0.25, 0.55]]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import function
from neuler.moments.clearance import (
    Clearance,
    Sphere,
    box_distance,
    capsule_distance,
    half_space_distance,
    sphere_distance,
)

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
DISTANCES: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "Sphere": (4, sphere_distance),
    "Capsule": (7, capsule_distance),
    "HalfSpace": (6, half_space_distance),
    "Box": (15, box_distance),
}
"""By the kind of an obstacle: how many numbers it has, and the distance of a point from it."""


@functools.cache
def pair_kernel(kind: str) -> Derivatives:
    """Distance of a ball ``at`` a point from an obstacle of a kind; its radius is the last of the ``numbers``."""
    size, distance = DISTANCES[kind]

    def rows(at: Any, numbers: Any) -> Any:
        return [distance(list(at), list(numbers[:size])) - numbers[size]]

    return derivatives(function(rows, {"at": 3, "numbers": size + 1}, "rows", f"from_{kind}"), ["at"])


class OneKind(NamedTuple):
    """Pairs whose obstacles are of one kind."""

    kind: str
    pairs: Integers
    """Their numbers among all."""
    numbers: Array
    """Of the obstacle, and the ball's radius: (pairs, size)."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs of a clearance, in the order of its labels."""

    first: Integers
    """The ball of each pair."""
    second: Integers
    """The other ball; -1 where it is an obstacle."""
    kinds: tuple[OneKind, ...]

    @classmethod
    def of(cls, clearance: Clearance) -> PairTable:
        """Return the pairs of a clearance."""
        balls, walls = clearance.balls, clearance.obstacles
        first = [i for i in range(len(balls)) for _ in walls] + [i for i, _ in clearance.own]
        second = [-1] * (len(balls) * len(walls)) + [k for _, k in clearance.own]
        found: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
        for number, (i, k) in enumerate(zip(first, second, strict=True)):
            wall = walls[number % len(walls)] if k < 0 else Sphere((0.0, 0.0, 0.0), 0.0)
            radius = balls[i].radius if k < 0 else balls[i].radius + balls[k].radius
            found.setdefault(type(wall).__name__, []).append((number, (*wall.numbers, radius)))
        kinds = tuple(
            OneKind(kind, np.array([n for n, _ in each], dtype=np.intp), np.array([x for _, x in each]))
            for kind, each in found.items()
        )
        return cls(np.array(first, dtype=np.intp), np.array(second, dtype=np.intp), kinds)

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self.first)

    def compile(self) -> None:
        """Make the machine code of all kinds, if it is not there."""
        for each in self.kinds:
            pair_kernel(each.kind).compile()

    def points(self, centers: Array, pairs: Integers | slice = slice(None)) -> Array:
        """Where the ball of each pair is, from the other ball if there is one: (..., pairs, 3).

        ``centers``: of all balls, (..., balls, 3).
        """
        first, second = self.first[pairs], self.second[pairs]
        found = centers[..., first, :]
        own = np.flatnonzero(second >= 0)
        if len(own):
            found[..., own, :] -= centers[..., second[own], :]
        return found

    def distances(self, centers: Array) -> Array:
        """Of all pairs (m), (N, pairs); ``centers``: of all balls, (N, balls, 3)."""
        at = self.points(centers)
        found = np.empty(at.shape[:-1])
        for each in self.kinds:
            values = pair_kernel(each.kind).function(at=at[:, each.pairs], numbers=each.numbers)
            found[:, each.pairs] = np.asarray(values)[..., 0]
        return found

    # ---- chosen pairs, each at a point of its own -----------------------------------------------------------------

    def _parts(self, pairs: Integers) -> Iterator[tuple[Derivatives, Integers, Array]]:
        """By kind: the function, which of the chosen are of this kind, and their numbers."""
        for each in self.kinds:
            place = np.full(self.count, -1, dtype=np.intp)
            place[each.pairs] = np.arange(len(each.pairs))
            mine = np.flatnonzero(place[pairs] >= 0)
            if len(mine):
                yield pair_kernel(each.kind), mine, each.numbers[place[pairs[mine]]]

    def values(self, at: Array, pairs: Integers) -> Array:
        """Distances (m), (R), of ``pairs`` at points (R, 3)."""
        found = np.empty(len(pairs))
        for kernel, mine, numbers in self._parts(pairs):
            found[mine] = np.asarray(kernel.function(at=at[mine], numbers=numbers))[:, 0]
        return found

    def slopes(self, at: Array, pairs: Integers) -> Array:
        """Derivatives of the distances by the points, (R, 3)."""
        found = np.zeros((len(pairs), 3))
        for kernel, mine, numbers in self._parts(pairs):
            entries = kernel.jacobian(at=at[mine], numbers=numbers)
            found[mine[:, None], kernel.jacobian.places[1]] = entries
        return found

    def bends(self, at: Array, pairs: Integers, weights: Array) -> Array:
        """Second derivatives of the distances by the points, times ``weights`` (R): (R, 3, 3)."""
        found = np.zeros((len(pairs), 3, 3))
        for kernel, mine, numbers in self._parts(pairs):
            if kernel.hessian is not None:
                i, k = kernel.hessian.places
                entries = kernel.hessian(at=at[mine], numbers=numbers, weights=weights[mine, None])
                found[mine[:, None], i, k] = entries
                found[mine[:, None], k, i] = entries
        return found

"""A phase in numbers: its splines, its grid, and where its variables stand among all.

Control points P (m, nc) and the duration T are variables. At a share s of the phase the profiles are q = B(s) P, and
their rates B'(s) P / T, B''(s) P / T^2, ...: what a traced function takes, B P, B' P, B'' P, ... and T, is linear in
the variables, Barman (4.13)-(4.15). In loops the positions of the other joints are variables at every grid point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from neuler.optimize.programme import Array
from neuler.plan import bspline

LOBATTO = {
    2: ((0.0, 1.0), (0.5, 0.5)),
    3: ((0.0, 0.5, 1.0), (1 / 6, 2 / 3, 1 / 6)),
    4: ((0.0, 0.5 - 0.5 / 5**0.5, 0.5 + 0.5 / 5**0.5, 1.0), (1 / 12, 5 / 12, 5 / 12, 1 / 12)),
    5: (
        (0.0, 0.5 - 0.5 * (3 / 7) ** 0.5, 0.5, 0.5 + 0.5 * (3 / 7) ** 0.5, 1.0),
        (1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20),
    ),
}  # fmt: skip
"""Points and weights of a span, its ends among them."""
PAYLOAD, SOFT = "payload", "soft"
"""Names of the inputs with the numbers of payloads, and with the width of rounded corners."""


def lobatto(breaks: Array, count: int) -> tuple[Array, Array]:
    """Grid and weights of the composite rule with ``count`` points in every span, ends shared.

    >>> points, weights = lobatto(np.array([0.0, 0.5, 1.0]), 3)
    >>> points.tolist(), float(round(weights @ points**3, 12))
    ([0.0, 0.25, 0.5, 0.75, 1.0], 0.25)
    """
    inside, parts = (np.array(x) for x in LOBATTO[count])
    length = np.diff(breaks)
    points = np.concatenate([(breaks[:-1, None] + length[:, None] * inside[:-1]).ravel(), breaks[-1:]])
    weights = np.zeros(len(points))
    at = np.arange(len(length))[:, None] * (count - 1) + np.arange(count)
    np.add.at(weights, at, length[:, None] * parts)
    return points, weights


@dataclass(frozen=True, eq=False)
class Segment:
    """Splines of one phase, and the places of their variables: control points first, then T, then followers."""

    nc: int
    degree: int
    knots: Array
    first: int
    """Of its variables among all."""
    grid: Array
    """Shares at which functions are evaluated, increasing."""
    weights: Array
    """Of the grid's points in integrals over the share."""
    followers: int = 0
    """Positions at every grid point that loops decide."""
    carried: Array | None = None
    """Numbers of payloads."""
    soft: float = 0.0
    """Below which sizes are rounded off, that they have derivatives at zero; 0: not at all."""

    @cached_property
    def m(self) -> int:
        """Control points of a profile."""
        return len(self.knots) - self.degree - 1

    @property
    def duration(self) -> int:
        """The place of T."""
        return self.first + self.m * self.nc

    @property
    def lengths(self) -> int:
        """Variables behind T that are lengths of spans: none on knots that stay."""
        return 0

    @property
    def followed(self) -> int:
        """The place of the first position that loops decide."""
        return self.duration + 1 + self.lengths

    @property
    def size(self) -> int:
        """How many variables."""
        return self.m * self.nc + 1 + self.lengths + self.followers * len(self.grid)

    @property
    def last(self) -> int:
        """Behind its variables."""
        return self.first + self.size

    def control_points(self, x: Array) -> Array:
        """(m, nc)."""
        return x[self.first : self.duration].reshape(self.m, self.nc)

    def following(self, x: Array) -> Array:
        """(grid, followers)."""
        return x[self.followed : self.last].reshape(len(self.grid), self.followers)

    def knots_at(self, x: Array) -> Array:
        """Knots as shares of the duration."""
        return self.knots

    def times(self, x: Array, shares: Array) -> Array:
        """Shares of the duration at shares of the phase: the same, unless knots move."""
        return shares

    def shares(self, x: Array, times: Array) -> Array:
        """The other way round."""
        return times

    def given(self, T: float) -> dict[int, float]:
        """Variables that follow from a duration alone."""
        return {self.duration: T}

    def condition(self, share: float, derivative: int, k: int, value: float) -> dict[int, float] | None:
        """Coefficients whose sum is zero (of a position: the value) where a derivative per second has a value.

        None where that is not linear in the variables.
        """
        terms = self.coefficients(share, derivative, k)
        if derivative > 1 and value:
            return None
        if derivative == 1 and value:
            terms[self.duration] = -value  # c' = v T
        return terms

    def coefficients(self, share: float, derivative: int, k: int, side: str = "right") -> dict[int, float]:
        """By variable, of a derivative (by the share) of profile k at one point."""
        first, values = bspline.basis(self.knots, self.degree, [share], derivative, side)  # type: ignore[arg-type]
        at = self.first + (int(first[0]) + np.arange(self.degree + 1)) * self.nc + k
        return {int(c): float(v) for c, v in zip(at, values[derivative, 0], strict=True) if v != 0.0}

    def operator(
        self,
        names: Sequence[str],
        points: Array,
        n: int,
        places: Any = None,
        others: Mapping[str, int] | None = None,
    ) -> Any:
        """z = L x: what a function takes at ``points``, by the names of its inputs, point by point; (points z, n).

        ``places`` are the numbers of the points in the grid, where it asks for followers; ``others`` are the places of
        variables by their names.
        """
        if not names:
            return sparse.csr_matrix((0, n))
        width = sum(self.width(name) for name in names)
        rows: list[Any] = []
        columns: list[Any] = []
        entries: list[Any] = []
        at = 0
        made = self.profile_entries(names, points)
        for name in names:
            if name in made:
                row, column, value = made[name]
            elif name == "followers":
                row, numbers = np.arange(self.followers), np.arange(self.followers)
                column = self.followed + np.asarray(places)[:, None] * self.followers + numbers
                value = np.ones(1)
            else:
                row, value = np.zeros(1, dtype=np.intp), np.ones(1)
                column = np.full((len(points), 1), self.duration if name == "T" else (others or {})[name])
            row = (np.arange(len(points)) * width + at).reshape(-1, *[1] * (column.ndim - 1)) + row
            for found, part in zip((rows, columns, entries), np.broadcast_arrays(row, column, value), strict=True):
                found.append(part.ravel())
            at += self.width(name)
        data = np.concatenate(entries)
        kept = data != 0.0
        where = np.concatenate(rows)[kept], np.concatenate(columns)[kept]
        return sparse.csr_matrix((data[kept], where), shape=(len(points) * width, n))

    def profile_entries(self, names: Sequence[str], points: Array) -> dict[str, tuple[Any, Any, Any]]:
        """By input: the row within its part of z, the variable and the coefficient, points first."""
        orders = [int(name[1:]) for name in names if is_profile(name)]
        first, values = bspline.basis(self.knots, self.degree, points, max(orders, default=0))
        profiles = np.arange(self.nc)[:, None]
        near = self.first + (first[:, None] + np.arange(self.degree + 1)) * self.nc  # of profile 0
        column = near[:, None, :] + profiles
        return {f"c{k}": (profiles, column, values[k][:, None, :]) for k in orders}

    def taken(self, x: Array, names: Sequence[str], points: Array) -> dict[str, Array]:
        """Inputs that are variables, in numbers: what :meth:`operator` times x gives, by name."""
        orders = [int(name[1:]) for name in names if is_profile(name)]
        first, values = bspline.basis(self.knots, self.degree, points, max(orders, default=0))
        near = self.control_points(x)[first[:, None] + np.arange(self.degree + 1)]
        found = {f"c{k}": np.einsum("na,nak->nk", values[k], near) for k in orders}
        if "T" in names:
            found["T"] = np.full(len(points), x[self.duration])
        return found

    def known(self, points: Array) -> dict[str, Array]:
        """Inputs that are no variables."""
        return {"share": points, SOFT: np.full(len(points), self.soft), **self._payload(points)}

    def _payload(self, points: Array) -> dict[str, Array]:
        if self.carried is None or not len(self.carried):
            return {}
        return {PAYLOAD: np.broadcast_to(self.carried, (len(points), len(self.carried)))}

    def width(self, name: str) -> int:
        """Numbers of an input."""
        return self.nc if is_profile(name) else self.followers if name == "followers" else 1


def is_profile(name: str) -> bool:
    """c0, c1, ..."""
    return name.startswith("c") and name[1:].isdigit()

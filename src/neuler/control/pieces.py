"""Functions of time as polynomials, piece by piece, that may be traced: a plan inside compiled code.

On each piece with middle m and half length h, x(t) = sum_k c_k s^k with s = (t - m) / h. Coefficients come from values
at Chebyshev's points; where derivatives are exact the highest one is fitted and integrated, with exact constants at the
middle, so that the derivatives of the polynomial are as exact as those of the motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from neuler import math as nm
from neuler.errors import InputError

Array = NDArray[np.float64]
DEGREES = (0, 1, 2, 3, 5, 8, 11)
"""That are tried for a fit."""
_EXACT = 3e-13
"""Share of the largest number by which a fit may be off."""
_INSIDE = 1.0 - 1e-6
"""How near to its ends a piece is looked at: at a knot itself a derivative may jump."""
_HALVINGS = 7
"""Of pieces on which no degree is enough."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials between times (pieces + 1,): coefficients (pieces, degree + 1, size) of s from -1 to 1."""

    times: Array
    coefficients: Array

    @classmethod
    def fitted(cls, values: Callable[[Array], Array], times: Array) -> Pieces:
        """Of a function t (N,) -> (N, size), smooth between ``times``.

        >>> path = Pieces.fitted(lambda t: np.stack([t**3, np.sin(t)], axis=1), np.array([0.0, 0.5, 2.0]))
        >>> bool(np.abs(path(1.3) - [1.3**3, np.sin(1.3)]).max() < 1e-13)
        True
        """
        for _ in range(_HALVINGS):
            middle, half = (times[1:] + times[:-1]) / 2, np.diff(times) / 2
            for degree in DEGREES:
                nodes, checks = chebyshev.chebpts1(degree + 1), np.linspace(-_INSIDE, _INSIDE, 2 * degree + 3)
                t = middle[:, None] + half[:, None] * np.concatenate([nodes, checks])
                found = np.asarray(values(t.ravel())).reshape(*t.shape, -1)
                rows: Any = np.linalg.solve(np.vander(nodes, increasing=True), found[:, : degree + 1])
                off = np.vander(checks, degree + 1, increasing=True) @ rows - found[:, degree + 1 :]
                if np.abs(off).max(initial=0.0) <= _EXACT * max(1.0, float(np.abs(found).max(initial=0.0))):
                    return cls(times, rows)
            times = np.sort(np.concatenate([times, middle]))
        raise InputError("the motion is not smooth between its knots, no polynomials follow it")

    @classmethod
    def integrated(cls, values: Callable[[Array], list[Array]], times: Array) -> Pieces:
        """Of a function t -> [x, its derivatives up to the highest], each (N, size): the highest is fitted.

        >>> path = Pieces.integrated(lambda t: [np.sin(t)[:, None], np.cos(t)[:, None]], np.linspace(0.0, 2.0, 5))
        >>> float(abs(path(1.3)[0] - np.sin(1.3))) < 1e-14
        True
        """
        top = cls.fitted(lambda t: values(t)[-1], times)
        middle, half = (top.times[1:] + top.times[:-1]) / 2, np.diff(top.times)[:, None] / 2
        rows = top.coefficients
        for constant in values(middle)[-2::-1]:
            powers = np.arange(1, rows.shape[1] + 1)[:, None]
            rows = np.concatenate([constant[:, None], half[:, None] * rows / powers], axis=1)
        return cls(top.times, rows)

    @classmethod
    def nearest(cls, values: Callable[[Array], list[Array]], times: Array) -> Pieces:
        """Of a function t -> [x, its first derivatives], each (N, size): quintics that meet at ``times``.

        They have the function's value and its first two derivatives at both ends (three values in between where it
        gives none): for motions with more pieces than compiled code should choose from.

        >>> path = Pieces.nearest(lambda t: [np.sin(t)[:, None], np.cos(t)[:, None], -np.sin(t)[:, None]],
        ...                       np.linspace(0.0, 2.0, 9))
        >>> float(abs(path(1.3)[0] - np.sin(1.3))) < 1e-8
        True
        """
        middle, half = (times[1:] + times[:-1]) / 2, np.diff(times) / 2
        inside = np.array([-_INSIDE, _INSIDE])
        ends = [np.asarray(x) for x in values((middle[:, None] + half[:, None] * inside).ravel())]
        if len(ends) < 3:
            nodes = np.linspace(-1.0, 1.0, 6)
            (found,) = values((middle[:, None] + half[:, None] * nodes).ravel())
            rows: Any = np.linalg.solve(np.vander(nodes, increasing=True), found.reshape(len(middle), 6, -1))
            return cls(times, rows)
        shape = (len(middle), 2, -1)
        scaled = [x.reshape(shape) * half[:, None, None] ** k for k, x in enumerate(ends[:3])]
        powers = np.array([[math.perm(k, d) * s ** max(k - d, 0) for k in range(6)] for d in range(3) for s in inside])
        wanted = np.concatenate(scaled, axis=1)
        return cls(times, np.linalg.solve(powers[None], wanted))

    def __call__(self, t: Any) -> Any:
        """At a time, (size,): a number or a traced value; it stays at its ends before and after."""
        middle, half = (self.times[1:] + self.times[:-1]) / 2, np.diff(self.times) / 2
        within = nm.clip(t, float(self.times[0]), float(self.times[-1]))
        if isinstance(within, float | np.floating | np.ndarray) and np.asarray(within).dtype != object:
            k = int(np.clip(np.searchsorted(self.times, float(within), "right") - 1, 0, len(middle) - 1))
            origin, scale, rows = middle[k], half[k], self.coefficients[k]
        else:
            origin, scale, rows = self._chosen(within, np.column_stack([middle, half]))
        s = (within - origin) / scale
        total: Any = rows[-1]
        for row in rows[-2::-1]:
            total = total * s + row
        return total

    def _chosen(self, t: Any, places: Array) -> tuple[Any, Any, Any]:
        """Numbers of the piece that a traced time lies in; columns that are alike everywhere cost nothing."""
        flat = np.concatenate([places, self.coefficients.reshape(len(places), -1)], axis=1)
        chosen: Any = flat[0].astype(object)
        for edge, row in zip(self.times[1:-1], flat[1:], strict=True):
            chosen = nm.where(nm.less(t, float(edge)), chosen, row)
        return chosen[0], chosen[1], chosen[2:].reshape(self.coefficients.shape[1:])

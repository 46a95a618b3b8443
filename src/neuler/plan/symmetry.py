"""Profiles that repeat, and pairs of them that mirror each other: linear relations between control points.

Rows that are zero times the control points: what is linear is eliminated, not imposed. All of it is exact, on knots of
:mod:`neuler.plan.bspline`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import InputError
from neuler.plan.bspline import SAME, Array, both_ends, changed, checked, count_of, degree_of, sparse, tidy


def closed(knots: ArrayLike, degree: int, order: int | None = None, sign: float = 1.0) -> Any:
    """Relations of a profile that ends as it begins: q^(k)(1) = sign q^(k)(0) for k = 0 ... order, a csr_matrix.

    Rows times the control points (m) are zero; each has 1 as its largest entry. ``order`` is degree - 1 by default.
    """
    start, end = _ends(knots, degree, order)
    return sparse().csr_matrix(end - sign * start)


def mirrored(knots: ArrayLike, degree: int, sign: float = 1.0, shift: float = 0.5) -> Any:
    """Relations of two profiles that repeat, one behind the other: left(s) = sign right(s + shift), a csr_matrix.

    s goes round from 1 to 0. Rows over the control points of left (m), then right (m): m that give left by right, then
    ``degree`` by which right repeats; all are independent. The breaks, 0 among them, must fall on breaks when they are
    shifted.

    >>> from neuler.plan.bspline import clamped
    >>> mirrored(clamped(7, 3), 3, sign=-1.0).shape
    (10, 14)
    """
    p = degree_of(degree)
    t = checked(knots, p)
    if not np.isfinite(shift):
        raise InputError(f"B-spline: shift must be a finite share of the period, got {shift!r}")
    b = t[p : len(t) - p - 1]
    moved = np.sort(np.mod(b + shift + SAME, 1.0) - SAME)
    if np.abs(moved - b).max() > 2 * SAME:
        raise InputError(
            f"B-spline: shifted by {shift:g} of the period the breaks do not fall on breaks: no profile has its mirror "
            "image on these knots; take breaks that repeat so, for a half an even number of equal spans"
        )
    change, start = changed(t, t, p, shift)
    again = closed(t, p).toarray()
    m = len(start)
    return sparse().csr_matrix(np.block([[np.eye(m), -sign * tidy(change)], [np.zeros((len(again), m)), again]]))


def _ends(knots: ArrayLike, degree: int, order: int | None) -> tuple[Array, Array]:
    """Derivatives 0 ... order at 0 and at 1, both in units of the larger one."""
    p = degree_of(degree)
    t = checked(knots, p)
    order = p - 1 if order is None else count_of("order", order, 0)
    if order > p - 1:
        raise InputError(
            f"B-spline: of degree {p} at most {p - 1} derivatives go on (order), got {order}; raise the degree"
        )
    rows, size = both_ends(t, p, order)
    half = order + 1
    scale = np.maximum(size[:half], size[half:])[:, None]
    return rows[:half] / scale, rows[half:] / scale

"""B-splines: knots, basis functions with their derivatives, Barman (4.13)-(4.15), and maps between control points.

q(s) = sum_i B_i(s) p_i on 0 <= s <= 1, of degree d with m control points and m + d + 1 knots t. In the span
t_mu <= s < t_mu+1 the d + 1 basis functions that are not zero are the row R_1(s) R_2(s) ... R_d(s), where R_k is
bidiagonal, k by k + 1, with (t_mu+i - s) / w and (s - t_mu+i-k) / w, w = t_mu+i - t_mu+i-k, in row i. A derivative
puts k dR_k/ds for R_k at the last factors. Factors at different arguments give the blossom of the piece: what knot
insertion and every exact change of knots are made of. No w is zero: each holds the span.

>>> knots = clamped(6, 3)
>>> first, values = basis(knots, 3, [0.0, 0.5], order=1)
>>> first.tolist(), values[0].round(4).tolist()
([0, 1], [[1.0, 0.0, 0.0, 0.0], [0.0312, 0.4687, 0.4687, 0.0312]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler import inputs
from neuler.errors import InputError, NeulerError
from neuler.extras import install

Array = NDArray[np.float64]
Whole = NDArray[np.intp]
Side = Literal["left", "right"]

SAME = 1e-12
"""Knots that differ by less are one."""
MOST = 25
"""The highest degree."""
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


def clamped(control_points: int, degree: int, breaks: ArrayLike | None = None) -> Array:
    """Knots (control_points + degree + 1) on [0, 1] with both ends repeated: the ends are control points.

    ``breaks`` (control_points - degree + 1): from 0 to 1, uniform by default; one that is repeated lowers the
    continuity there.

    >>> clamped(5, 3).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    """
    p, m = degree_of(degree), count_of("control_points", control_points, 2)
    if m < p + 1:
        raise InputError(
            f"B-spline: degree {p} needs at least {p + 1} control points, got {m}; give more, or a lower degree"
        )
    b = _breaks(breaks, m - p)
    knots = np.concatenate([np.zeros(p), b, np.ones(p)])
    checked(knots, p)
    return knots


def basis(knots: ArrayLike, degree: int, at: ArrayLike, order: int = 0, side: Side = "right") -> tuple[Whole, Array]:
    """The basis functions that are not zero at the points ``at`` (N), and their derivatives up to ``order``.

    Returns the number of the first one, (N), and values (order + 1, N, degree + 1). At a knot they are those of the
    span to its right, or to its ``side`` "left"; at 1 always of the last span, at 0 of the first one.
    """
    p = degree_of(degree)
    t = checked(knots, p)
    s = _points(at)
    if side not in ("left", "right"):
        raise InputError(f"B-spline: side must be 'left' or 'right', got {side!r}")
    order = count_of("order", order, 0)
    span = np.clip(np.searchsorted(t, s, side=side) - 1, p, len(t) - p - 2)
    rows = derivatives(_around(t, p, span), p, s, order)
    values = np.zeros((order + 1, len(s), p + 1))
    for k, row in enumerate(rows):
        for i, entry in enumerate(row):
            values[k, :, i] = entry
    return span - p, values


def operator(knots: ArrayLike, degree: int, at: ArrayLike, derivative: int = 0, side: Side = "right") -> Any:
    """A derivative at the points ``at`` (N) by the control points: a scipy.sparse.csr_matrix (N, m), (4.15).

    >>> float((operator(clamped(4, 3), 3, [0.0], derivative=1) @ [0.0, 1.0, 1.0, 1.0])[0])
    3.0
    """
    first, values = basis(knots, degree, at, derivative, side)
    count, width = len(first), degree + 1
    columns = (first[:, None] + np.arange(width)).ravel()
    starts = np.arange(0, count * width + 1, width)
    shape = (count, len(np.asarray(knots)) - degree - 1)
    return sparse().csr_matrix((values[-1].ravel(), columns, starts), shape=shape)


def greville(knots: ArrayLike, degree: int) -> Array:
    """Where control points stand, (m): those of the line q = s are these, the means of ``degree`` knots each.

    >>> greville(clamped(5, 3), 3).round(4).tolist()
    [0.0, 0.1667, 0.5, 0.8333, 1.0]
    """
    p = degree_of(degree)
    t = checked(knots, p)
    return np.lib.stride_tricks.sliding_window_view(t[1:-1], p).mean(axis=-1)


def gauss(knots: ArrayLike, count: int) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights on [0, 1], ``count`` in each span between knots: exact to degree 2 count - 1.

    >>> points, weights = gauss(clamped(6, 3), 2)
    >>> len(points), float(round(weights @ points**3, 12))
    (6, 0.25)
    """
    t = inputs.row("B-spline: knots", knots)
    b = np.unique(np.concatenate([[0.0, 1.0], t[(t > 0.0) & (t < 1.0)]]))
    x, w = np.polynomial.legendre.leggauss(count_of("count", count, 1))
    length = np.diff(b)[:, None]
    return (b[:-1, None] + 0.5 * length * (1.0 + x)).ravel(), (0.5 * length * w).ravel()


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


def fitted(knots: ArrayLike, degree: int, new_knots: ArrayLike, new_degree: int | None = None, ends: int = 1) -> Array:
    """Control points of the nearest spline of another space: a matrix (m_new, m_old).

    Least squares over [0, 1], with the values and the first ``ends`` derivatives at 0 and 1 kept exactly.

    >>> coarse, fine = clamped(8, 3), clamped(20, 3)
    >>> bool(np.allclose(fitted(coarse, 3, fine) @ greville(coarse, 3), greville(fine, 3)))
    True
    """
    p, d = degree_of(degree), degree_of(degree if new_degree is None else new_degree)
    old, new = checked(knots, p), checked(new_knots, d)
    m, kept = len(new) - d - 1, count_of("ends", ends, 0)
    if kept > d or 2 * (kept + 1) > m:
        raise InputError(
            f"B-spline: degree {d} with {m} control points cannot keep {kept} derivatives at both ends; "
            f"give fewer (ends) or at least {2 * (kept + 1)} control points of degree {kept} or more"
        )
    points, weights = gauss(np.concatenate([old, new]), max(p, d) + 1)
    root = np.sqrt(weights)[:, None]
    goal = root * operator(old, p, points).toarray()
    design = root * operator(new, d, points).toarray()
    fixed, size = both_ends(new, d, kept)
    wanted = both_ends(old, p, kept)[0] / size[:, None]
    q, r = np.linalg.qr((fixed / size[:, None]).T, mode="complete")
    rows = len(fixed)
    given = q[:, :rows] @ np.linalg.solve(r[:rows].T, wanted)
    free = q[:, rows:]
    if free.shape[1]:
        given = given + free @ np.linalg.lstsq(design @ free, goal - design @ given, rcond=None)[0]
    return given


def derivatives(around: Sequence[Any], degree: int, at: Any, order: int) -> list[list[Any]]:
    """Rows of basis functions and their derivatives, up to the degree, over any scalar."""
    plain: list[list[Any]] = [[1.0]]
    for k in range(1, degree + 1):
        plain.append(_factor(plain[-1], around, degree, k, at))
    found = []
    for r in range(min(order, degree) + 1):
        row = plain[degree - r]
        for k in range(degree - r + 1, degree + 1):
            row = _slope(row, around, degree, k)
        found.append(row)
    return found


def _factor(row: Sequence[Any], around: Sequence[Any], degree: int, k: int, at: Any) -> list[Any]:
    """The row times R_k(at); ``around`` are the knots t_mu+1-degree ... t_mu+degree about a span mu."""
    found: list[Any] = [0.0] * (k + 1)
    for i in range(1, k + 1):
        left, right = around[degree - 1 + i - k], around[degree - 1 + i]
        part = row[i - 1] / (right - left)
        found[i - 1] = found[i - 1] + (right - at) * part
        found[i] = found[i] + (at - left) * part
    return found


def _slope(row: Sequence[Any], around: Sequence[Any], degree: int, k: int) -> list[Any]:
    """The row times k dR_k/ds."""
    found: list[Any] = [0.0] * (k + 1)
    for i in range(1, k + 1):
        part = k * row[i - 1] / (around[degree - 1 + i] - around[degree - 1 + i - k])
        found[i - 1] = found[i - 1] - part
        found[i] = found[i] + part
    return found


def _around(knots: Array, degree: int, span: Whole) -> list[Array]:
    return [knots[span + i] for i in range(1 - degree, degree + 1)]


def changed(old: Array, new: Array, degree: int, shift: float) -> tuple[Array, Whole]:
    """Control points on ``new`` of the old spline shifted: new(s) = old(s + shift), round from 1 to 0; (m_new, m_old).

    Exact where every break of the shifted old spline is one of the new knots. Also the spans that were taken.
    """
    p, m, m_old = degree, len(new) - degree - 1, len(old) - degree - 1
    spans = np.arange(p, m)
    filled = spans[new[spans + 1] - new[spans] > SAME]
    j = np.arange(m)
    span = filled[np.searchsorted(filled, np.maximum(j, p))]  # of the new knots, under basis function j, in [0, 1]
    middle = 0.5 * (new[span] + new[span + 1]) + shift
    turns = np.floor(middle)
    place = np.clip(np.searchsorted(old, middle - turns, side="right") - 1, p, m_old - 1)
    around = _around(old, p, place)
    row: list[Any] = [1.0]
    for k in range(1, p + 1):
        row = _factor(row, around, p, k, new[j + k] + (shift - turns))
    found = np.zeros((m, m_old))
    for i, entry in enumerate(row):
        found[j, place - p + i] = entry
    return tidy(found), span


def tidy(matrix: Array) -> Array:
    """Rounding in the place of zeros and ones taken out."""
    whole = np.round(matrix)
    return np.where(np.abs(matrix - whole) < 1e-13, whole, matrix) + 0.0


def both_ends(knots: Array, degree: int, order: int) -> tuple[Array, Array]:
    """Derivatives 0 ... order at 0, then at 1, by control points; and the largest entry of each."""
    first, values = basis(knots, degree, [0.0, 1.0], order)
    found = np.zeros((2, order + 1, len(knots) - degree - 1))
    for side in range(2):
        found[side, :, first[side] : first[side] + degree + 1] = values[:, side]
    rows = found.reshape(2 * (order + 1), -1)
    return rows, np.maximum(np.abs(rows).max(axis=1), 1.0)


# ---- profiles that repeat, and pairs that mirror each other ---------------------------------------------------------


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

    >>> from neuler.motions.splines import clamped
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


# ---- arguments ---------------------------------------------------------------------------------------------------


def degree_of(degree: int) -> int:
    """The degree of a B-spline, refused where it is no whole number from 1 to ``MOST``."""
    return inputs.whole("B-spline: degree", degree, 1, MOST)


def count_of(name: str, value: int, least: int) -> int:
    """A whole number that ``name`` stands for, refused where it is less than ``least``."""
    return inputs.whole(f"B-spline: {name}", value, least)


def _points(at: ArrayLike) -> Array:
    found = inputs.row("B-spline: points", np.atleast_1d(at) if np.ndim(at) == 0 else at, least=0)
    out = (found < 0.0) | (found > 1.0)
    if out.any():
        raise InputError(f"B-spline: points must be shares from 0 to 1, got {found[out][0]!r}")
    return found


def _breaks(breaks: ArrayLike | None, spans: int) -> Array:
    if breaks is None:
        return np.linspace(0.0, 1.0, spans + 1)
    found = inputs.row("B-spline: breaks", breaks)
    if len(found) != spans + 1 or found[0] != 0.0 or found[-1] != 1.0 or (np.diff(found) < 0).any():
        raise InputError(
            f"B-spline: breaks must be {spans + 1} increasing numbers from 0 to 1 for this degree and these control "
            f"points, got {found.tolist()!s:.120}"
        )
    return found


def checked(knots: ArrayLike, degree: int) -> Array:
    """Sorted, over [0, 1], none more often than degree + 1 times."""
    t = inputs.row("B-spline: knots", knots)
    p = degree
    if len(t) < 2 * p + 2:
        raise InputError(f"B-spline: degree {p} needs at least {2 * p + 2} knots, got {len(t)}")
    steps = np.diff(t)
    if (steps < 0).any():
        k = int(np.argmax(steps < 0))
        raise InputError(f"B-spline: knots must not decrease, got {t[k]:g} before {t[k + 1]:g} (number {k}); sort them")
    often = np.flatnonzero(t[p + 1 :] == t[: -p - 1])
    if len(often):
        times = np.count_nonzero(t == t[often[0]])
        raise InputError(
            f"B-spline: a knot of degree {p} may stand {p + 1} times at most, {t[often[0]]:g} stands {times} times"
        )
    if t[p] != 0.0 or t[-p - 1] != 1.0 or t[p + 1] <= 0.0 or t[-p - 2] >= 1.0:
        raise InputError(
            f"B-spline: knots must span 0 to 1: number {p} must be the last 0 and number {len(t) - p - 1} the first 1, "
            f"got {t[p]:g} and {t[-p - 1]:g}; clamped() and periodic() make such knots"
        )
    return t


def sparse() -> Any:
    """scipy.sparse, or a clear error."""
    try:
        from scipy import sparse as found
    except ImportError:
        raise NeulerError(f"plans need SciPy; install it with: {install('plan')}") from None
    return found

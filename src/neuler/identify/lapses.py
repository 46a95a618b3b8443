"""Rows in which a position was not measured: it repeats an old value while the joint moves on, or jumps away and back.

A moving joint changes its position in every row. A repeated value is an old one if the steps before and after are many
times the smallest step of the column; a step many times as large as its neighbours is not a motion of the joint.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_COARSE = 5.0
"""Smallest steps a row: a joint that is so fast changes its position in every row."""
_ALIKE, _JUMP = 0.3, 3.0
"""A repeated value is an old one where the joint was, over these rows, at least so many times as fast as just before
and after, in one direction; or where the next step is so many times as large as those beside it."""
_NOISY = 8.0
"""Usual deviations of the noise that a jump has at least, and the motion in a row that noise cannot hide."""
_BESIDE = 3
"""Steps beside rows that tell how fast the joint was; the median counts."""
_STEP, _FAST = 5.0, 0.9
"""How many times a step that no joint makes is as large as those about it, and as this quantile of all."""
_DOUBT = 2.0
"""A jump that does not come back is so many times as large as one that does; one of the two jumps of a pair may be as
many times smaller than the other must be."""
_ABOUT = 7
"""Steps about a step, itself among them."""
_LONGEST = 0.1
"""Share of a log that a jump away and back may last."""
_BACK = 0.25
"""How near a position comes back, as a share of the jump."""
_NEAR, _GAP, _DEGREE = 6, 16, 5
"""Rows on either side from which a gap is filled; rows up to which it is short; degree of the polynomial then."""
_TURN = 0.2
"""How near to a turn (rad) a jump is one of angles that were not unwrapped."""


class Lapses(NamedTuple):
    """Rows (n,) of a column that were not measured, by kind; and jumps from which it did not return."""

    repeated: NDArray[np.bool_]
    away: NDArray[np.bool_]
    jumps: list[int]

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Of either kind."""
        return self.repeated | self.away


def lapses(column: Array, angle: bool) -> tuple[Array, Lapses]:
    """A column (n,) of positions, interpolated where it was not measured, and these rows.

    ``angle``: jumps by a turn are left as they are. One or two bad rows in a row are left to the repair of outliers.

    >>> q = np.sin(np.arange(200) / 30.0)
    >>> bad = q.copy(); bad[50:60], bad[120:123] = q[50], 0.0
    >>> found, where = lapses(bad, True)
    >>> np.flatnonzero(where.repeated).tolist(), np.flatnonzero(where.away).tolist(), bool(abs(found - q).max() < 1e-5)
    ([51, 52, 53, 54, 55, 56, 57, 58, 59], [120, 121, 122], True)
    """
    steps = np.diff(column)
    repeated, away = np.zeros(len(column), bool), np.zeros(len(column), bool)
    sizes = np.abs(steps)
    if not sizes.any():
        return column, Lapses(repeated, away, [])
    least = float(sizes[sizes > 0.0].min())
    noise = float(np.quantile(np.abs(np.diff(column, 3)), 0.9)) / 1.645 / math.sqrt(20.0)
    for a, b in (jumps := _away(column, least, noise, angle)):
        away[a:b] = True
    found = filled(column, away)
    for a, b in _old(np.diff(found), least, noise):
        repeated[a:b] = True
    if repeated.any():  # old values end with a jump, too
        found = filled(found, repeated)
        jumps = _away(found, least, noise, angle)
    return found, Lapses(repeated & ~away, away, [a for a, b in jumps if not b])


def spans(rows: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last (not among them) of every run of rows.

    >>> spans(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def filled(column: Array, rows: NDArray[np.bool_], smooth: bool = True) -> Array:
    """A column whose rows are replaced, by lines between their neighbours, or ``smooth``.

    A short gap by the polynomial that is nearest to the rows beside it, so that accelerations have no jumps; a long one
    by a cubic with the slopes on either side.
    """
    if not rows.any():
        return column
    good, every = ~rows, np.arange(len(column))
    found = np.where(rows, np.interp(every, every[good], column[good]), column)
    if not smooth:
        return found
    for a, b in spans(rows):
        sides = [np.arange(max(a - _NEAR, 0), a), np.arange(b, min(b + _NEAR, len(column)))]
        if any(len(side) < _NEAR or not good[side].all() for side in sides):
            continue
        if b - a <= _GAP:
            beside = np.concatenate(sides)
            curve = np.polynomial.Polynomial.fit(beside, column[beside], _DEGREE)
            found[a:b] = curve(np.arange(a, b))
            continue
        curves = [np.polynomial.Polynomial.fit(side, column[side], 2) for side in sides]
        before, after = (float(curve.deriv()(at)) for curve, at in zip(curves, (a - 1, b), strict=True))
        wide = b - a + 1
        s = np.arange(1, wide) / wide
        line = (column[b] - column[a - 1]) / wide
        found[a:b] += wide * s * (1.0 - s) * ((before - line) * (1.0 - s) - (after - line) * s)
    return found


def _old(steps: Array, least: float, noise: float) -> list[tuple[int, int]]:
    """Rows that repeat an old value: first and last of them."""
    rows = np.flatnonzero(steps != 0.0) + 1
    waited = np.diff(rows)
    jump = steps[rows[1:] - 1]
    likely = (waited > 1) & (np.abs(jump) >= 2.0 * max(_COARSE * least, _NOISY * noise))
    found = []
    for k in np.flatnonzero(likely).tolist():
        first, last = int(rows[k]), int(rows[k + 1])
        before = float(np.median(steps[max(first - _BESIDE, 0) : first]))
        after = float(np.median(steps[last : last + _BESIDE])) if last < len(steps) else 0.0
        beside = max(abs(before), abs(after))
        speed = float(jump[k]) / (last - first)
        on = before * speed > 0.0 and after * speed > 0.0
        moved_on = on and abs(speed) >= max(_COARSE * least, _ALIKE * beside)
        jumps = waited[k] > 2 and abs(jump[k]) >= _JUMP * beside and min(abs(before), abs(after)) > least
        if moved_on or jumps:
            found.append((first + 1, last))
    return found + _ends(steps, max(_COARSE * least, _NOISY * noise))


def _ends(steps: Array, bound: float) -> list[tuple[int, int]]:
    """Rows before the first change and after the last, where the joint is fast beside them: it cannot stop at once."""
    found = []
    for way in (1, -1):
        first, *others = np.flatnonzero(steps[::way] != 0.0)[: _BESIDE + 1].tolist()
        beside = steps[::way][others]
        alike = len(others) == _BESIDE and (beside * beside[0] > 0.0).all()
        fast = max(bound, _ALIKE * float(np.quantile(np.abs(steps), _FAST)))
        if first >= _ABOUT and alike and others[-1] == first + _BESIDE and np.abs(beside).min() > fast:
            found.append((1, first + 1) if way > 0 else (len(steps) - first + 1, len(steps) + 1))
    return found


def _away(column: Array, least: float, noise: float, angle: bool) -> list[tuple[int, int]]:
    """Jumps away and back, first and last row; with zero for the last one that does not come back."""
    steps = np.diff(column)
    if len(steps) < _ABOUT:
        return []
    sizes = np.abs(steps)
    fast = float(np.quantile(sizes[sizes > 0.0], _FAST)) if sizes.any() else 0.0
    usual = max(_STEP * fast, 2.0 * _COARSE * least, _NOISY * noise)
    half, bounds = _ABOUT // 2, {}
    for j in np.flatnonzero(sizes > usual / _DOUBT).tolist():
        about = abs(float(np.median(steps[max(j - half, 0) : j + half + 1])))
        bounds[j] = max(_STEP * about, usual)
    at = [j for j, bound in bounds.items() if sizes[j] > bound / _DOUBT]
    found, longest, k = [], max(_ABOUT, int(_LONGEST * len(column))), 0
    while k < len(at):
        first = at[k] + 1
        size = abs(float(steps[at[k]]))
        own = float(np.median(steps[max(at[k] - _BESIDE, 0) : at[k]])) if at[k] else 0.0
        turn = angle and abs(size / (2.0 * math.pi) - max(round(size / (2.0 * math.pi)), 1)) < _TURN / (2.0 * math.pi)
        back = next(
            (
                j
                for j in range(k + 1, len(at))
                if at[j] - at[k] <= longest
                and abs(column[at[j] + 1] - column[first - 1] - own * (at[j] + 2 - first)) <= _BACK * size
            ),
            None,
        )
        if turn:
            k += 1
        elif back is None:
            if sizes[at[k]] > _DOUBT * bounds[at[k]]:
                found.append((first, 0))
            k += 1
        elif all(sizes[at[each]] <= bounds[at[each]] for each in (k, back)):
            k += 1
        else:
            if at[back] + 1 - first > 2:
                found.append((first, at[back] + 1))
            k = back + 1
    return found

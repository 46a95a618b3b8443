"""Columns that change in every k-th row only: a fieldbus that is slower than the log repeats its last sample.

Two derivatives of such a staircase are those of its steps. It is known by its large steps: where a column moves by
several of its smallest steps at once, and yet stood still the row before, it was not sampled in that row.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.extras import require

Array = NDArray[np.float64]

_LARGE = 3.0
"""Smallest steps that a large one has: a column that is rounded changes by one or two of them, in any row."""
_FEW = 12
"""Large steps that are needed to tell."""
_SURE, _REGULAR, _MANY = 0.9, 0.7, 0.3
"""Share of large steps that follow a row without one; share that come after about as many rows as usual; share of all
steps that are large: friction makes a coarse torque jump, too, where a joint turns round."""
_NEAR = 0.5
"""How far, as a share, the rows between two steps may be from the usual number and still count as about as many."""
FEWEST = 20
"""Steps without which there is nothing to interpolate between."""


def held(values: Array) -> Array:
    """In every how many rows each column (n, columns) changes, in the mean; 1 where it changes freely, (columns,).

    >>> t = np.arange(400)
    >>> held(np.stack([np.sin(t / 50.0), np.sin(t // 4 / 10.0), np.round(np.sin(t / 90.0), 2)], -1)).tolist()
    [1.0, 4.0, 1.0]
    """
    found = np.array([_every(column) for column in values.T])
    if (slow := found > 1.0).any():
        # beside such a column, one that moves slowly has no large steps: its rows tell
        usual = float(np.median(found[slow]))
        for k in np.flatnonzero(~slow).tolist():
            rows = np.diff(_changes(values[:, k]))
            if len(rows) >= _FEW and (rows > _NEAR * usual).mean() >= _SURE:
                found[k] = usual
    return found


def _changes(column: Array) -> NDArray[np.intp]:
    """The rows in which a column has another value than in the row before."""
    return np.flatnonzero(np.diff(column) != 0.0) + 1


def _every(column: Array) -> float:
    rows = _changes(column)
    if len(rows) <= _FEW:
        return 1.0
    sizes = np.abs(column[rows] - column[rows - 1])
    large = sizes[1:] >= _LARGE * sizes.min()
    after = np.diff(rows)[large]
    if len(after) < _FEW or large.mean() < _MANY or (after >= 2).mean() < _SURE:
        return 1.0
    usual = float(np.median(after))
    near = np.abs(after - usual) <= max(_NEAR * usual, 1.0)
    return float(after[near].mean()) if near.mean() >= _REGULAR else 1.0


def interpolated(t: Array, column: Array, every: float, smooth: bool = True) -> Array:
    """A column (n,) between the rows in which it changes: by a cubic spline, or by lines where it is noisy.

    Where it rests it is sampled, too: every so many rows.
    """
    rows = [0, *_changes(column).tolist(), len(t)]
    knots: list[int] = []
    for a, b in itertools.pairwise(rows):
        more = max(1, round((b - a) / every))
        knots += [a + round(k * every) for k in range(more) if k == 0 or a + round(k * every) < b]
    if rows[1] < every:  # the first step is the first sample that is known to be new
        knots = knots[1:]
    if not smooth:
        return np.asarray(np.interp(t, t[knots], column[knots]))
    require("scipy", "splines of logs need SciPy", "control")
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t[knots], column[knots])(t))


def said(names: Sequence[str], every: Sequence[float], rate: float) -> str:
    """What a note says of columns that were interpolated, by how many rows they change."""
    parts = []
    for k in dict.fromkeys(round(each, 1) for each in every):
        own = [repr(name) for name, each in zip(names, every, strict=True) if round(each, 1) == k]
        is_one = len(own) == 1
        parts.append(
            f"column{'' if is_one else 's'} {', '.join(own)} change{'s' if is_one else ''} in every {ordinal(k)} row "
            f"only, at {rate / k:.4g} Hz"
        )
    return f"{'; '.join(parts)}: interpolated between the rows in which they change"


def ordinal(k: float) -> str:
    """The number of rows as an ordinal: "4th", "3.3th".

    >>> ordinal(2.0), ordinal(3.0), ordinal(21.0), ordinal(3.3)
    ('2nd', '3rd', '21st', '3.3th')
    """
    whole = round(k)
    if abs(k - whole) > 0.05:
        return f"{k:g}th"
    ending = "th" if whole % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")
    return f"{whole}{ending}"

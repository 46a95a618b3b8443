"""Names in a picture, each beside what it names and not on another."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import shown
from neuler.view.space import INK, on_paper

Array = NDArray[np.float64]

_SIZE = 7.5
"""Of the letters (points)."""
_SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_REACH = (9.0, 14.0, 21.0, 30.0)
"""Points between a label and its place: the nearest that is free."""


_CROWDED = 60.0
"""Cost of one label on another: rather none than that."""
_MARGIN = 30.0
"""Points beyond the space shown that a label may take."""


def merged(labels: Sequence[tuple[str, Array]], size: float) -> list[tuple[str, Array]]:
    """Labels of one place as one.

    >>> [name for name, _ in merged([("a", np.zeros(3)), ("b", np.ones(3)), ("c", np.zeros(3))], 1.0)]
    ['a, c', 'b']
    """
    found: list[tuple[str, Array]] = []
    for name, place in labels:
        for k, (before, there) in enumerate(found):
            if float(np.abs(place - there).max()) < 1e-3 * size:
                found[k] = (f"{before}, {name}", there)
                break
        else:
            found.append((name, place))
    return found


def label(ax: Any, labels: Sequence[tuple[str, Array]], lines: Sequence[Array], points: Array, corners: Array) -> None:
    """Write the labels, clear of ``lines`` (pairs of points in space) and ``points`` as far as there is room.

    ``corners`` of the space shown are the bounds of the paper, but for a margin.
    """
    if not labels:
        return
    scale = 72.0 / ax.get_figure().dpi
    spots = on_paper(ax, points) * scale
    segments = [on_paper(ax, ends) * scale for ends in lines]
    edge = on_paper(ax, corners) * scale
    paper = (*(edge.min(axis=0) - _MARGIN), *(edge.max(axis=0) + _MARGIN))
    taken: list[tuple[float, float, float, float]] = []
    for name, place in labels:
        spot = on_paper(ax, place) * scale
        wide, high = 0.58 * _SIZE * len(name), 1.25 * _SIZE
        best, least = None, np.inf
        for reach in _REACH:
            for turn, (x, y) in enumerate(_SIDES):
                away = reach / np.hypot(x, y)
                corner = spot + np.array([x, y]) * away
                low = corner - np.array([wide * (1 - x) / 2, high * (1 - y) / 2])
                box = (low[0], low[1], low[0] + wide, low[1] + high)
                cost = 60.0 * sum(_overlap(box, other) for other in taken)
                cost += 100.0 * (box[0] < paper[0] or box[1] < paper[1] or box[2] > paper[2] or box[3] > paper[3])
                cost += 25.0 * sum(_inside(box, other) for other in spots)
                cost += 8.0 * sum(_crosses(box, ends) for ends in segments) + 0.3 * reach + 0.1 * turn
                if cost < least:
                    best, least = (x, y, away, box), cost
        if best is None or least >= _CROWDED:
            continue
        x, y, away, box = best
        taken.append(box)
        _write(ax, name, place, x, y, away)


def _write(ax: Any, name: str, place: Array, x: int, y: int, away: float) -> None:
    transforms = importlib.import_module("matplotlib.transforms")
    strokes = importlib.import_module("matplotlib.patheffects")
    shift = transforms.ScaledTranslation(x * away / 72, y * away / 72, ax.get_figure().dpi_scale_trans)
    text = ax.text(
        *place, shown(name), fontsize=_SIZE, color=INK, zorder=9, parse_math=False,
        ha=("right", "center", "left")[x + 1], va=("top", "center", "bottom")[y + 1],
    )  # fmt: skip
    text.set_transform(ax.transData + shift)
    text.set_path_effects([strokes.withStroke(linewidth=2.2, foreground="white")])


Box = tuple[float, float, float, float]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] + 2 and b[0] < a[2] + 2 and a[1] < b[3] + 1 and b[1] < a[3] + 1


def _inside(box: Box, point: Array) -> bool:
    return bool(box[0] - 6 < point[0] < box[2] + 6 and box[1] - 6 < point[1] < box[3] + 6)


def _crosses(box: Box, ends: Array) -> bool:
    points = ends[0] + np.linspace(0.0, 1.0, 40)[:, None] * (ends[1] - ends[0])
    within = (points > (box[0] - 2, box[1] - 1)) & (points < (box[2] + 2, box[3] + 1))
    return bool(within.all(axis=1).any())

"""A dense look at a phase: all its limits between grid points, where to refine, and what to draw bounds in by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neuler.optimize.programme import Array
from neuler.plan import checking
from neuler.plan.checking import Dense
from neuler.plan.rows import EQUAL, LIMIT, SLACK, Rows
from neuler.plan.segment import Segment
from neuler.plan.source import Splines

DRAWN_MOST = 0.05
"""Of the distance of two bounds: what each is drawn in by at most."""


def looked(splines: Splines, k: int, stage: Any, segment: Segment, slacks: Mapping[str, float]) -> Dense:
    """Limits of one phase, positions among them, peaks that are to be least, and what must be zero."""
    model = splines.model
    low_box, high_box = stage.boxes(model)
    parts = [rows for rows in (stage.path, stage.idle) if rows is not None]
    lows, highs = [low_box], [high_box]
    for rows in parts:
        low, high = rows.bounds()
        peaks = iter(slacks.values())
        for part in rows.parts:
            if part.kind == SLACK:  # measure <= slack
                high[part.rows] = next(peaks)
            elif part.kind not in (LIMIT, EQUAL) or part.name == "closure":
                low[part.rows], high[part.rows] = -np.inf, np.inf
        lows.append(low)
        highs.append(high)

    def values(shares: Array) -> Array:
        none = {name: np.zeros(len(shares)) for name in slacks}
        found = [splines.profiles(k, shares, 0)[0]]
        found += [splines.values(rows.derived.function, k, shares, none) for rows in parts]
        return np.concatenate(found, axis=1)

    low, high = np.concatenate(lows), np.concatenate(highs)
    windows = _windows(stage, model.nc, len(low))

    def side(bound: Array, none: float) -> Callable[[Array], Array]:
        def at(shares: Array) -> Array:
            inside = (shares[:, None] >= windows[0] - 1e-12) & (shares[:, None] <= windows[1] + 1e-12)
            return np.where(inside, bound, none)

        return at

    more = slow_shares(splines, k, stage) if splines.model.width else None
    found = checking.dense(values, side(low, -np.inf), side(high, np.inf), segment.grid, more)
    sizes = np.fmax(np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0))
    return replace(found, size=1.0 + sizes, upper=high)


def slow_shares(splines: Splines, k: int, stage: Any) -> Array:
    """Shares at which joints turn back, and about them: there friction changes within a small part of the motion."""
    T = splines.durations[k]
    shares = np.linspace(0.0, 1.0, checking.LEAST + 1)
    c1, c2 = splines.profiles(k, shares, 2)[1:]
    at, joint = np.nonzero((c1[1:] * c1[:-1] <= 0.0) & (np.abs(c1[1:]) + np.abs(c1[:-1]) > 0.0))
    slope = (c1[at + 1, joint] - c1[at, joint]) / (shares[1] - shares[0])
    turn = shares[at] - c1[at, joint] / slope
    bend = np.maximum(np.abs(c2[at, joint]), np.abs(slope))
    reach = splines.model.width * T / np.maximum(bend, 1e-300)  # the share in which the speed changes by the width
    steps = np.linspace(-4.0, 4.0, 33)
    return np.unique(np.clip(turn[:, None] + reach[:, None] * steps, 0.0, 1.0))


def _windows(stage: Any, nc: int, count: int) -> Array:
    """Shares between which each row is limited."""
    found = np.stack([np.zeros(count), np.ones(count)])
    if stage.path is not None:
        for part in stage.path.parts:
            if part.limit is not None:
                found[:, nc + part.rows.start : nc + part.rows.stop] = np.array(part.limit.when)[:, None]
    return found


def finer(segment: Segment, found: Dense, rows: Rows | None) -> tuple[Array, Array]:
    """The grid with points at the maxima that count; new ones have no weight in integrals."""
    nc = segment.nc
    last = nc + (rows.count if rows is not None else 0)
    new = sorted(
        share for row, share, relative, _ in found.peaks if relative > 0.1 * checking.TOLERANCE and nc <= row < last
    )
    grid = segment.grid
    span = np.diff(np.unique(segment.knots)).min()
    kept: list[float] = []
    for share in new:
        near = np.abs(grid - share).min() if len(grid) else 1.0
        if near > 1e-5 * span and all(abs(share - other) > 1e-3 * span for other in kept[-2:]):
            kept.append(share)
    places = np.searchsorted(grid, kept)
    return np.insert(grid, places, kept), np.insert(segment.weights, places, 0.0)


def drawn_in(rows: Rows, found: Dense, margin: Array, first_row: int) -> Array:
    """Bounds drawn in by what limits are passed by."""
    more = margin.copy()
    limited = np.zeros(rows.count, dtype=bool)
    for part in rows.parts:
        limited[part.rows] = part.kind in (LIMIT, SLACK)
    offset = first_row
    for row, _, relative, _ in found.peaks:
        at = row - offset
        if 0 <= at < rows.count and limited[at] and relative > 0.5 * checking.TOLERANCE:
            more[at] = max(more[at], margin[at] + 1.5 * relative * found.size[row])
    low, high = rows.bounds()
    return np.minimum(more, DRAWN_MOST * np.where(np.isfinite(high - low) & (high > low), high - low, np.inf))


def coarse(stage: Any, segment: Segment, found: Dense) -> bool:
    """Whether forces that no motor gives are not zero between the points at which they were asked to be."""
    if stage.idle is None:
        return False
    first = segment.nc + (stage.path.count if stage.path is not None else 0)
    return any(row >= first and relative > checking.TOLERANCE for row, _, relative, _ in found.peaks)

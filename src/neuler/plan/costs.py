"""What a motion costs, term by term, with integrals on many more points than the solve had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neuler.optimize.programme import Array
from neuler.plan import bspline
from neuler.plan.checking import Dense
from neuler.plan.measures import Measure
from neuler.plan.objectives import DURATION, END, INTEGRAL, PEAK
from neuler.plan.posing import Posed
from neuler.plan.rows import OBJECTIVE, SLACK
from neuler.plan.source import Splines

MANY, LEAST = 12, 400
"""Points in every span, and of all spans together."""


def costs(plan: Any, state: Posed, x: Array, looked: Sequence[Dense] = ()) -> dict[str, float]:
    """By the names of the objective's terms, weights included; corners that were rounded off are sharp again.

    Peaks are those that a dense look found, where there was one.
    """
    splines = Splines(plan.model, [replace(segment, soft=0.0) for segment in state.segments], x)
    found: dict[str, float] = {}
    integrals = _integrals(plan, splines)
    slacks = iter(zip(state.slacks.values(), _peaks(plan, looked), strict=False))
    for term in plan.objective.terms:
        if term.kind == DURATION:
            value = splines.duration
        elif term.kind == INTEGRAL:
            value = next(integrals)
        elif term.kind == PEAK:
            place, seen = next(slacks)
            value = float(x[place]) if seen is None else seen
        else:
            assert term.kind == END
            assert isinstance(term.measure, Measure)
            value = float(splines.measure(term.measure, splines.breaks[-1:]).sum())
        found[term.name] = found.get(term.name, 0.0) + term.weight * value
    return found


def _peaks(plan: Any, looked: Sequence[Dense]) -> list[float | None]:
    """Of every term that is a peak: the largest value of its rows."""
    found: list[list[float]] = [[] for _ in plan.slacks]
    for stage, each in zip(plan.stages, looked, strict=False):
        parts = [part for part in stage.path.parts if part.kind == SLACK] if stage.path is not None else []
        for values, part in zip(found, parts, strict=True):
            rows = slice(plan.model.nc + part.rows.start, plan.model.nc + part.rows.stop)
            values.append(float((each.upper[rows] + each.relative[:, rows] * each.size[rows]).max()))
            values += [value for row, _, _, value in each.peaks if rows.start <= row < rows.stop]
    return [max(values) if values else None for values in found]


def _integrals(plan: Any, splines: Splines) -> Any:
    """Of every integral in turn, all phases together."""
    totals: list[float] = []
    for k, (stage, segment) in enumerate(zip(plan.stages, splines.segments, strict=True)):
        if not stage.integrates:
            continue
        edges = np.unique(segment.knots)
        pieces = -(-LEAST // (MANY * (len(edges) - 1)))  # of every span
        places = np.linspace(0.0, len(edges) - 1.0, pieces * (len(edges) - 1) + 1)
        shares, weights = bspline.gauss(np.interp(places, np.arange(len(edges)), edges), MANY)
        slacks = {name: np.zeros(len(shares)) for name in plan.slacks}
        values = splines.values(stage.path.derived.function, k, shares, slacks) * max(segment.lengths, 1)
        mine = [float(weights @ values[:, part.rows.start]) for part in stage.path.parts if part.kind == OBJECTIVE]
        totals = mine if not totals else [a + b for a, b in zip(totals, mine, strict=True)]
    return iter(totals)

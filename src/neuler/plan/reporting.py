"""What a solve left over, in words and numbers: which limits are passed, by how much, when, and what to relax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.optimize.programme import Solution
from neuler.plan import checking
from neuler.plan.checking import Dense
from neuler.plan.planned import Bound, Violation
from neuler.plan.posing import Posed
from neuler.plan.rows import LIMIT
from neuler.plan.source import Splines


def violations_of(
    plan: Any, splines: Splines, found: Sequence[Dense], state: Posed, solution: Solution
) -> list[Violation]:
    """The worst of every row that is passed."""
    worst: dict[tuple[int, int], tuple[float, float, float]] = {}
    for k, each in enumerate(found):
        for row, share, relative, value in each.peaks:
            if relative > 0.0 and relative > worst.get((k, row), (0.0, 0.0, 0.0))[0]:
                worst[k, row] = relative, share, value
    violations = []
    for (k, row), (_, share, value) in worst.items():
        stage = plan.stages[k]
        name, label, low, _ = _row(plan, stage, row)
        high = found[k].upper[row]
        bound = low if abs(value - low) < abs(value - high) else high
        time_at = float(splines.breaks[k] + share * splines.durations[k])
        violations.append(Violation(name, label, time_at, value, float(bound), _remedy(name, label)))
    violations += _conditions_left(plan, splines, state, solution)
    return sorted(violations, key=lambda each: -each.relative)


def _conditions_left(plan: Any, splines: Splines, state: Posed, solution: Solution) -> list[Violation]:
    """Conditions at ends and via points, and phases, that were not met."""
    found = []
    for group in state.programme.groups:
        if group.tag is None:
            continue
        k, spot = group.tag
        if spot is None:
            found += _not_joined(splines, k, group.values(group.inputs(solution.x))[0], group.kept[0])
            continue
        if spot.objective:
            continue
        value = group.values(group.inputs(solution.x))[0]
        low, high = group.lower[0], group.upper[0]
        excess = np.fmax(low - value, value - high)
        size = 1.0 + np.abs(np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0)))
        at = float(splines.breaks[k] + spot.share * splines.durations[k])
        for row in np.flatnonzero(~(excess <= checking.TOLERANCE * size)):
            part, label = spot.rows.find(int(row))
            bound = low[row] if np.isfinite(low[row]) else high[row]
            name = f"{spot.what}: {part.name}"
            found.append(Violation(name, label, at, float(value[row]), float(bound), "it cannot be met so"))
    return found


def _not_joined(splines: Splines, k: int, value: Any, kept: Any) -> list[Violation]:
    """Rates that jump from a phase to the next."""
    words = ("velocity", "acceleration", "jerk", "snap")
    nc, T = splines.model.nc, splines.durations[k]
    rates = splines.profiles(k, np.ones(1), len(value) // nc)
    found = []
    for row in np.flatnonzero(kept):
        order, joint = divmod(int(row), nc)
        end = float(rates[order + 1][0, joint] / T ** (order + 1))
        if not abs(value[row]) <= checking.TOLERANCE * (1.0 + abs(end)):
            name = words[order] if order < len(words) else f"derivative {order + 1}"
            what = f"phases {k + 1} and {k + 2} are not joined: {name}"
            at = float(splines.breaks[k + 1])
            start = end - float(value[row])
            remedy = "more iterations, or a lower continuity of the phase"
            found.append(Violation(what, splines.model.names[joint], at, end, start, remedy))
    return found


def _row(plan: Any, stage: Any, row: int) -> tuple[str, str, float, float]:
    """Name, label and bounds of a row of the dense look."""
    nc = plan.model.nc
    if row < nc:
        low, high = stage.boxes(plan.model)
        return "position", plan.model.names[row], low[row], high[row]
    row -= nc
    for rows in (stage.path, stage.idle):
        if rows is None:
            continue
        if row < rows.count:
            part, label = rows.find(row)
            low, high = rows.bounds()
            return part.name, label, low[row], high[row]
        row -= rows.count
    raise AssertionError(row)


def _remedy(name: str, label: str) -> str:
    who = f" of {label}" if label else ""
    if name == "force without a motor":
        return (
            "use more control points, a higher degree, or a smooth objective: profiles cannot follow forces that jump"
        )
    return f"relax the limit on {name}{who}, allow more time, or use more control points"


def bounds_of(plan: Any) -> list[Bound]:
    """Limits of the first phase, for figures."""
    found: dict[str, Bound] = {}
    for stage in plan.stages:
        low, high = stage.boxes(plan.model)
        if np.isfinite(low).any() or np.isfinite(high).any():
            found.setdefault("position", Bound("position", tuple(plan.model.names), low, high))
        for part in stage.path.parts if stage.path is not None else ():
            if part.kind == LIMIT:
                found.setdefault(part.name, Bound(part.name, tuple(part.names), part.lower, part.upper))
    return list(found.values())


def friction_left(plan: Any, splines: Splines) -> list[str]:
    """What Coulomb friction takes more than the plan counts, where joints move slowly."""
    model = splines.model
    if not model.width or model.elastic or model.robot.loops:
        return []
    t = np.linspace(0.0, splines.duration, checking.LEAST + 1)
    tau = np.asarray(plan.robot.inverse_dynamics(*splines.evaluate(t, 2)))[:, model.pushed]
    more = np.abs(tau - splines.torques(t)[:, model.pushed])
    at, k = np.unravel_index(int(np.argmax(more)), more.shape)
    if not more[at, k] > 0.0:
        return []
    name = model.tau_names[model.pushed[int(k)]]
    return [
        f"where joints move slowly their Coulomb friction is up to {more[at, k]:.3g} N m (N) more than the plan counts "
        f"({name} at {t[at]:.3g} s); a smaller friction_width comes nearer and solves slower"
    ]

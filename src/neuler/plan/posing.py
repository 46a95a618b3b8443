"""From phases to a programme: variables, equalities taken away, rows and objective on a grid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError
from neuler.optimize.blocks import Derived, Pointwise
from neuler.optimize.elimination import Elimination, Equality, eliminated
from neuler.optimize.programme import Array, Solution
from neuler.optimize.transcription import Transcription
from neuler.plan import bspline
from neuler.plan.free_knots import SHORTEST, FreeSegment
from neuler.plan.model import Model
from neuler.plan.objectives import DURATION, Objective
from neuler.plan.rows import LIMIT, OBJECTIVE, Rows
from neuler.plan.segment import Segment, is_profile
from neuler.plan.stage import Stage, idle_profiles

LEFT = 1e-7
"""Of a span: how far before a knot points lie at which rows take their values before it."""
BRIEFEST = 1e-3
"""Of the duration that is guessed, the least share that is tried."""


@dataclass(frozen=True)
class Mesh:
    """Of one phase: knots of its splines, grid and weights."""

    knots: Array
    grid: Array
    weights: Array


@dataclass(eq=False)
class Posed:
    """A programme, and how to read its variables."""

    model: Model
    stages: Sequence[Stage]
    segments: list[Segment]
    slacks: dict[str, int]
    elimination: Elimination
    programme: Transcription
    path_groups: list[Pointwise | None]

    def x(self, y: Array) -> Array:
        """All variables."""
        return np.asarray(self.elimination.Z @ y + self.elimination.c)

    def y(self, x: Array) -> Array:
        """The free ones."""
        return x[self.elimination.free]

    def multipliers(self, solution: Solution) -> list[Array]:
        """Of the rows of every group, (points, rows)."""
        found, at = [], 0
        for group in self.programme.groups:
            part = np.zeros(group.kept.shape)
            part[group.kept] = solution.multipliers[at : at + group.count]
            at += group.count
            found.append(part)
        return found


def segments_of(model: Model, meshes: Sequence[Mesh], degree: int) -> list[Segment]:
    """Places of all variables, phase by phase."""
    found, first = [], 0
    for mesh in meshes:
        kind = FreeSegment if model.free else Segment
        segment = kind(
            model.nc, degree, mesh.knots, first, mesh.grid, mesh.weights, len(model.followers), model.carried
        )
        found.append(segment)
        first = segment.last
    return found


def equalities_of(model: Model, stages: Sequence[Stage], segments: Sequence[Segment]) -> list[Equality]:
    """Durations that are given, positions and velocities at ends and via points, phases that go on in the next."""
    found: list[Equality] = []
    for stage, segment in zip(stages, segments, strict=True):
        low, high = stage.span
        if isinstance(segment, FreeSegment):
            found.append(segment.total())
        if low == high:
            found.append(Equality({segment.duration: 1.0}, low, f"{stage.name}duration"))
        for spot in stage.spots:
            for derivative, values in spot.linear:
                for k in np.flatnonzero(np.isfinite(values)):
                    found.append(_condition(model, segment, spot.share, derivative, int(k), values[k], spot.what))
    for before, after in itertools.pairwise(segments):
        for number, name in enumerate(model.names):
            terms = before.coefficients(1.0, 0, number)
            for place, value in after.coefficients(0.0, 0, number).items():
                terms[place] = terms.get(place, 0.0) - value
            found.append(Equality(terms, 0.0, f"{name}: phases joined"))
    return found


def _condition(
    model: Model, segment: Segment, share: float, derivative: int, k: int, value: float, what: str
) -> Equality:
    words = ("position", "velocity", "acceleration", "jerk", "snap")
    name = f"{what}: {words[derivative]} of {model.names[k]}"
    terms = segment.condition(share, derivative, k, float(value))
    if terms is None:
        raise InputError(f"{name}: on knots that move it is not linear; use knots='uniform'")
    if not terms:
        raise InputError(f"{name}: profiles of degree {segment.degree} have no such derivative; raise the degree")
    return Equality(terms, float(value) if derivative == 0 else 0.0, name)


def posed(
    plan: Any,
    meshes: Sequence[Mesh],
    guess: Array | None,
    *,
    margins: Sequence[Array] | None = None,
    left_out: Sequence[Array] | None = None,
    soft: float = 0.0,
) -> Posed:
    """The programme of a ``Plan`` on meshes; ``guess`` are all variables.

    ``margins`` (a phase's rows) draw bounds of limits in; ``left_out`` (a phase's rows) are not posed; ``soft`` rounds
    corners off.
    """
    model: Model = plan.model
    stages: Sequence[Stage] = plan.stages
    objective: Objective = plan.objective
    slacks: Mapping[str, float] = plan.slacks
    degree: int = plan.degree
    joints: Derived | None = plan.joined
    segments = [replace(segment, soft=soft) for segment in segments_of(model, meshes, degree)]
    n = segments[-1].last + len(slacks)
    places = {name: segments[-1].last + k for k, name in enumerate(slacks)}
    found = _eliminated(plan, segments, n)
    x = np.zeros(n) if guess is None else guess
    low, high = _boxes(model, stages, segments, n, x)
    linear = _dependent_bounds(model, found, segments, low, high)
    cost = np.zeros(n)
    for term in objective.terms:
        if term.kind == DURATION:
            cost[[segment.duration for segment in segments]] += term.weight
    for name, weight in slacks.items():
        cost[places[name]] += weight
    groups: list[Pointwise] = []
    path_groups: list[Pointwise | None] = []
    for k, (stage, segment) in enumerate(zip(stages, segments, strict=True)):
        path_groups.append(None)
        if stage.path is not None:
            margin = None if margins is None else margins[k]
            out = None if left_out is None else left_out[k]
            path = _path_group(stage, segment, n, places, found, margin, out)
            path_groups[-1] = path
            groups.append(path)
        if stage.idle is not None:
            points = bspline.greville(segment.knots[2:-2], degree - 2)
            groups.append(_group(stage.idle, segment, points, n, places, found, *stage.idle.bounds()))
        for spot in stage.spots:
            if spot.rows is not None:
                group = _group(
                    spot.rows, segment, np.array([spot.share]), n, places, found, spot.lower, spot.upper, spot.given
                )
                group.tag = k, spot
                if spot.objective:
                    group.weights[:] = [part.weight for part in spot.rows.parts]
                    group.__post_init__()
                groups.append(group)
    if joints is not None:
        for k, (a, b, kept) in enumerate(_pairs(model, stages, segments, joints)):
            groups.append(_joint_group(joints, a, b, kept, n, found))
            groups[-1].tag = k, None
    programme = Transcription(
        np.asarray(found.Z.T @ cost), groups, (low[found.free], high[found.free]), linear, x[found.free]
    )
    programme.offset = float(cost @ found.c)
    return Posed(model, stages, segments, places, found, programme, path_groups)


def _eliminated(plan: Any, segments: Sequence[Segment], n: int) -> Elimination:
    """Kept by the plan: a finer grid changes nothing about it."""
    kept: dict[Any, Elimination] = plan.__dict__.setdefault("_eliminations", {})
    key = n, *((segment.first, segment.knots.tobytes()) for segment in segments)
    if key not in kept:
        equalities = equalities_of(plan.model, plan.stages, segments) + plan.relations_of(segments)
        kept[key] = eliminated(n, equalities, [segment.duration for segment in segments])
    return kept[key]


def _boxes(
    model: Model, stages: Sequence[Stage], segments: Sequence[Segment], n: int, guess: Array
) -> tuple[Array, Array]:
    """Bounds of all variables."""
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for stage, segment in zip(stages, segments, strict=True):
        lower, upper = stage.boxes(model)
        low[segment.first : segment.duration] = np.tile(lower, segment.m)
        high[segment.first : segment.duration] = np.tile(upper, segment.m)
        least, most = stage.span
        if isinstance(segment, FreeSegment):
            mean = guess[segment.duration] / segment.spans
            low[segment.duration + 1 : segment.followed] = SHORTEST * mean
        low[segment.duration] = max(least, BRIEFEST * guess[segment.duration]) if least < most else -np.inf
        high[segment.duration] = most if least < most else np.inf
    return low, high


def _dependent_bounds(
    model: Model, found: Elimination, segments: Sequence[Segment], low: Array, high: Array
) -> tuple[Any, Array, Array]:
    """Bounds of variables that equalities decide, as linear rows of the free ones."""
    free = np.zeros(len(low), dtype=bool)
    free[found.free] = True
    held = np.flatnonzero(~free & (np.isfinite(low) | np.isfinite(high)))
    if not len(held):
        return sparse.csr_matrix((0, len(found.free))), np.zeros(0), np.zeros(0)
    rows = found.Z[held]
    fixed = np.diff(rows.indptr) == 0
    for k in held[fixed]:
        slack = 1e-9 * (1.0 + abs(found.c[k]))
        if not low[k] - slack <= found.c[k] <= high[k] + slack:
            raise InputError(_outside(model, segments, int(k), found.c[k], low[k], high[k]))
    rest = held[~fixed]
    return found.Z[rest], low[rest] - found.c[rest], high[rest] - found.c[rest]


def _outside(model: Model, segments: Sequence[Segment], k: int, value: float, low: float, high: float) -> str:
    """A boundary that limits do not allow."""
    for segment in segments:
        if segment.first <= k < segment.duration:
            point, profile = divmod(k - segment.first, segment.nc)
            near = segment.degree - 1
            end = "start" if point < near else "goal" if point >= segment.m - near else "position asked for"
            return (
                f"{end}: position {value:g} of {model.names[profile]} is outside its limits, {low:g} to {high:g}; move "
                "it or widen the limit (plan.limit(plan.position, ...) replaces the robot's own, robot_limits=False "
                "takes them all away)"
            )
    return f"a duration of {value:g} s is outside {low:g} to {high:g} s"


def _group(
    rows: Rows,
    segment: Segment,
    points: Array,
    n: int,
    places: Mapping[str, int],
    found: Elimination,
    lower: Array,
    upper: Array,
    given: Array | None = None,
) -> Pointwise:
    derived = rows.derived
    at = np.searchsorted(segment.grid, points - 1e-12) if segment.followers else None
    L = segment.operator(derived.wrt, points, n, at, places)
    known = segment.known(points)
    if given is not None and len(given):
        known["given"] = np.broadcast_to(given, (len(points), len(given)))
    known = {name: known[name] for name in derived.known}
    shape = (len(points), rows.count)
    size = np.maximum(np.abs(lower), np.abs(upper))
    scale = np.where(np.isfinite(size) & (size > 0.0), size, rows.scales())
    return Pointwise(
        derived,
        (L @ found.Z).tocsr(),
        np.asarray(L @ found.c),
        known,
        np.broadcast_to(lower, shape).copy(),
        np.broadcast_to(upper, shape).copy(),
        np.zeros(shape),
        scale,
    )


def rough_rows(derived: Derived, degree: int) -> NDArray[np.bool_]:
    """Rows that depend on a derivative that jumps at knots."""
    found = np.zeros(derived.rows, dtype=bool)
    rows, columns = derived.slope_at
    at = 0
    for name, size in zip(derived.wrt, derived.widths, strict=True):
        if is_profile(name) and int(name[1:]) >= degree:
            found[rows[(columns >= at) & (columns < at + size)]] = True
        at += size
    return found


def _path_group(
    stage: Stage,
    segment: Segment,
    n: int,
    places: Mapping[str, int],
    found: Elimination,
    margin: Array | None,
    left_out: Array | None,
) -> Pointwise:
    """Limits at every grid point in their windows, and integrands with the grid's weights."""
    assert stage.path is not None
    rows = stage.path
    low, high = rows.bounds()
    group = _group(rows, segment, segment.grid, n, places, found, low, high)
    group.scale = rows.scales()
    if margin is not None:
        group.lower = group.lower + margin
        group.upper = group.upper - margin
    for part in rows.parts:
        if part.kind == OBJECTIVE:
            group.weights[:, part.rows] = (segment.weights * (part.weight * max(segment.lengths, 1)))[:, None]
        if part.kind == LIMIT and part.limit is not None:
            begin, end = part.limit.when
            outside = (segment.grid < begin - 1e-12) | (segment.grid > end + 1e-12)
            group.lower[outside, part.rows] = -np.inf
            group.upper[outside, part.rows] = np.inf
    rough = rough_rows(rows.derived, segment.degree)
    if rough.any():  # just before a knot: rows that jump there, alone
        edges = np.unique(segment.knots)
        before = np.abs(segment.grid[:, None] - (edges[1:-1] - LEFT * np.diff(edges)[:-1])).min(axis=1, initial=1.0)
        smooth = np.ix_(before < 1e-3 * LEFT, ~rough)
        group.lower[smooth], group.upper[smooth] = -np.inf, np.inf
    if left_out is not None:
        group.lower[:, left_out] = -np.inf
        group.upper[:, left_out] = np.inf
    group.__post_init__()
    return group


# ---- phases that go on in the next ------------------------------------------------------------------------------


def _pairs(
    model: Model, stages: Sequence[Stage], segments: Sequence[Segment], joints: Derived
) -> list[tuple[Segment, Segment, Array]]:
    """Two phases, and which derivatives of which profiles go on, (orders, nc)."""
    orders = joints.rows // model.nc
    found = []
    for stage, a, b in zip(stages, segments, segments[1:], strict=False):
        kept = np.ones((orders, model.nc), dtype=bool)
        most = stage.continuity if stage.continuity is not None else a.degree - 1
        kept[most:] = False
        kept[1:, idle_profiles(model)] = False
        found.append((a, b, kept))
    return found


def _joint_group(joints: Derived, a: Segment, b: Segment, kept: Array, n: int, found: Elimination) -> Pointwise:
    """c_k(1) / T^k of a phase is c_k(0) / T^k of the next."""
    names = [name.split("_")[0] for name in joints.wrt]
    ends = [name.endswith("_a") for name in joints.wrt]
    first = a.operator([name for name, end in zip(names, ends, strict=True) if end], np.array([1.0]), n)
    last = b.operator([name for name, end in zip(names, ends, strict=True) if not end], np.array([0.0]), n)
    L = sparse.vstack([first, last]).tocsr()
    bound = np.where(kept.ravel(), 0.0, np.inf)[None, :]
    return Pointwise(
        joints,
        (L @ found.Z).tocsr(),
        np.asarray(L @ found.c),
        {},
        -bound,
        bound,
        np.zeros_like(bound),
        np.ones(joints.rows),
    )

"""A phase with all that holds in it: limits of the plan, of the robot and its own, and traced rows for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.optimize.programme import Array
from neuler.plan.conditions import Boundary, Via, pose_of, targets
from neuler.plan.measures import Limit, Measure, acceleration, frame_position, position, velocity
from neuler.plan.model import Model
from neuler.plan.moment import Moment
from neuler.plan.objectives import END, INTEGRAL, PEAK, Objective
from neuler.plan.rows import OBJECTIVE, Part, Rows, equal_part, limit_part, objective_part, peak_part, traced_rows


@dataclass(eq=False)
class Spot:
    """Conditions at one share of a phase: numbers of profiles and their derivatives, and traced rows for the others.

    ``linear`` holds (derivative, values (nc), NaN where free): derivatives per second. ``rows`` have bounds of their
    own and take ``given``.
    """

    share: float
    what: str
    linear: list[tuple[int, Array]] = field(default_factory=list)
    rows: Rows | None = None
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    given: Array = field(default_factory=lambda: np.zeros(0))
    poses: dict[str, Array] = field(default_factory=dict)
    objective: bool = False


@dataclass(eq=False)
class Stage:
    """One phase of a plan."""

    name: str
    span: tuple[float, float]
    """Of its duration (s)."""
    control_points: int | None
    limits: tuple[Limit, ...]
    spots: list[Spot]
    continuity: int | None
    path: Rows | None = None
    """Limits and integrands at every grid point."""
    idle: Rows | None = None
    """Forces that no motor gives, zero at as many points as profiles have accelerations."""

    @property
    def integrates(self) -> bool:
        """Whether integrals are part of the objective."""
        return self.path is not None and any(part.kind == OBJECTIVE for part in self.path.parts)

    def boxes(self, model: Model) -> tuple[Array, Array]:
        """Bounds of all control points: limits of positions hold where they hold for these (convex hull)."""
        low, high = np.full(model.nc, -np.inf), np.full(model.nc, np.inf)
        for limit in self.limits:
            if limit.measure is position and limit.when == (0.0, 1.0):
                lower, upper = limit.bounds(model.names)
                low, high = np.maximum(low, lower), np.minimum(high, upper)
        return low, high

    def positions(self, share: float) -> Array | None:
        """What is asked of positions at a share; NaN where they are free."""
        found = None
        for spot in self.spots:
            for derivative, values in spot.linear:
                if spot.share == share and derivative == 0:
                    found = values if found is None else np.where(np.isnan(found), values, found)
        return found


def idle_profiles(model: Model) -> list[int]:
    """Profiles of joints that no motor drives: what they do follows from the others."""
    names = {model._tau_joints[k].name for k in model.unpushed} if not model.robot.loops else set()
    return [k for k, joint in enumerate(model.joints) if joint is not None and joint.name in names]


def floating_profiles(model: Model) -> list[int]:
    """Of a free base, whose rest nobody can ask for: it floats, at rest with the other joints, or it falls."""
    return [k for k in idle_profiles(model) if (joint := model.joints[k]) is not None and joint.nv == 6]


def spot_of(model: Model, share: float, boundary: Boundary, what: str, *, goal: bool = False) -> Spot:
    """Conditions of a boundary; at a ``goal`` the rest of a base that floats is not asked for: it follows."""
    spot = Spot(share, what)
    spot.linear.append((0, targets(model, boundary.q, f"{what}: q", position=True)))
    parts: list[Part] = []
    bounds: list[tuple[Array, Array]] = []
    moving = targets(model, boundary.qd, f"{what}: qd")
    bending = targets(model, boundary.qdd, f"{what}: qdd")
    by_default = not isinstance(boundary.qd, Mapping) and np.ndim(boundary.qd) == 0
    if goal and by_default:
        moving[floating_profiles(model)] = np.nan
    _derivative(model, spot, parts, bounds, 1, moving, velocity)
    still = model.coordinates.plain or not np.any(np.nan_to_num(moving))
    _derivative(model, spot, parts, bounds, 2, bending, acceleration, still)
    if boundary.qdd is None and model.rest > 1 and by_default and boundary.qd == 0.0:
        for k in range(2, model.rest + 1):  # with springs: that motors stand still, too
            spot.linear.append((k, moving.copy()))
    given: list[float] = []
    for frame, wanted in boundary.poses.items():
        model.robot.locate(frame)
        pose = pose_of(wanted, f"{what}: pose of {frame}")
        spot.poses[frame] = pose
        place = pose[:3, 3] if pose.shape == (4, 4) else pose
        where = frame_position(frame)
        parts.append(limit_part(model, Limit(where)))
        bounds.append((place, place))
        if pose.shape == (4, 4):
            parts.append(_turned(frame, len(given)))
            bounds.append((np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, np.inf])))
            given.extend(pose[:3, :3].ravel())
    if parts:
        spot.given = np.array(given)
        spot.rows = traced_rows(model, parts, "conditions", given=len(given))
        spot.lower = np.concatenate([low for low, _ in bounds])
        spot.upper = np.concatenate([high for _, high in bounds])
    return spot


def _derivative(
    model: Model,
    spot: Spot,
    parts: list[Part],
    bounds: list[tuple[Array, Array]],
    order: int,
    values: Array,
    measure: Measure,
    plain: bool = True,
) -> None:
    """Zero, and velocities of plain joints, are linear in control points and duration; others are rows."""
    zero = np.where(values == 0.0, 0.0, np.nan) if plain else np.full(model.nc, np.nan)
    if order == 1 and model.coordinates.plain:
        zero = values
    rest = np.where(np.isnan(zero), values, np.nan)
    if not np.isnan(zero).all():
        spot.linear.append((order, zero))
    if not np.isnan(rest).all():
        parts.append(Part("limit", measure.name, measure.rows, lambda n: model.names))
        bounds.append((np.where(np.isnan(rest), -np.inf, rest), np.where(np.isnan(rest), np.inf, rest)))


def _turned(frame: str, first: int) -> Part:
    """sin(angle) times axis of what is left to turn, zero; and its trace, that it is not half a turn."""

    def rows(moment: Moment) -> Any:
        wanted = np.asarray(moment.given[first : first + 9], dtype=object).reshape(3, 3)
        left = wanted.T @ moment.pose(frame)[:3, :3]
        skew = [0.5 * (left[2, 1] - left[1, 2]), 0.5 * (left[0, 2] - left[2, 0]), 0.5 * (left[1, 0] - left[0, 1])]
        return [*skew, left[0, 0] + left[1, 1] + left[2, 2]]

    labels = [f"{frame}.turn_{axis}" for axis in "xyz"] + [f"{frame}.turn"]
    return Part("limit", f"turn of {frame}", rows, lambda n: labels)


def end_objective(model: Model, objective: Objective) -> Spot | None:
    """Terms that are paid at the end."""
    terms = [term for term in objective.terms if term.kind == END]
    if not terms:
        return None
    spot = Spot(1.0, "objective", objective=True)
    spot.rows = traced_rows(model, [objective_part(term) for term in terms], "at_end")
    spot.lower = np.full(spot.rows.count, -np.inf)
    spot.upper = -spot.lower
    return spot


def via_spots(model: Model, vias: Sequence[Via], what: str) -> list[Spot]:
    """Of via points at known shares."""
    return [
        spot_of(model, float(via.at), Boundary(via.q, via.qd, None, via.poses), f"{what}via at {via.at:g}")
        for via in vias
        if via.at is not None
    ]


def trace_stage(model: Model, stage: Stage, objective: Objective) -> dict[str, Any]:
    """Make the rows of a phase; returns slacks of peaks with their weights."""
    parts: list[Part] = []
    for limit in stage.limits:
        if limit.measure is position and limit.when == (0.0, 1.0):
            continue  # bounds of control points
        parts.append(limit_part(model, limit))
    slacks: dict[str, float] = {}
    for term in objective.terms:
        if term.kind == INTEGRAL:
            parts.append(objective_part(term))
        elif term.kind == PEAK:
            slacks[f"slack{len(slacks)}"] = term.weight
    for name, term in zip(slacks, (t for t in objective.terms if t.kind == PEAK), strict=True):
        parts.append(peak_part(model, term, name))
    if model.followers:
        parts.append(equal_part("closure", lambda moment: moment.closure, ()))
    stage.path = traced_rows(model, parts, "path", list(slacks)) if parts else None
    if model.unpushed and not model.robot.loops:
        names = [model.tau_names[k] for k in model.unpushed]
        rows = equal_part("force without a motor", lambda moment: moment.all_tau[model.unpushed], names)
        stage.idle = traced_rows(model, [rows], "idle")
    return slacks

"""What a plan is given, looked at: each argument by itself, and limits against each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuler.control.coordinates import Coordinates
from neuler.errors import InputError, NeulerError
from neuler.inputs import number, real, several, whole
from neuler.optimize.programme import Array
from neuler.plan.conditions import Boundary, Phase, Via
from neuler.plan.measures import Limit, Measure, velocity
from neuler.plan.model import Model, Payload
from neuler.plan.relations import Mirror, Relation
from neuler.plan.stage import Stage
from neuler.robot import Robot
from neuler.robot.columns import by_columns

OPEN = 1e-6
"""Metres or radians that loops may be open by in a position that is given."""
USUAL, MOST_POINTS = 20, 2000
"""Control points that a phase may have."""


def meshes_of(mesh: Any, degree: int) -> list[int]:
    """Numbers of control points, coarse to fine."""
    try:
        sizes = list(mesh)
    except TypeError:
        sizes = [mesh]
    if not sizes:
        raise InputError("solve: mesh must be numbers of control points, coarse to fine, got none")
    return [count_of(size, degree) for size in sizes]


def payloads_of(payload: Any, robot: Robot) -> tuple[Payload, ...]:
    """What the robot carries, each a body that can be."""
    found = tuple(several("plan: payloads", payload, Payload, "plan.Payload(frame, mass, com, inertia)"))
    for each in found:
        robot.with_payload(each.frame, each.mass, each.com, each.inertia)  # says what is wrong with it
    return found


def knots_of(knots: Any) -> Any:
    """ "uniform", "free", or breaks from 0 to 1."""
    if isinstance(knots, str):
        if knots not in ("uniform", "free"):
            raise InputError(f"plan: knots must be 'uniform', 'free' or breaks from 0 to 1, got {knots!r}")
        return knots
    try:
        breaks = np.asarray(knots, dtype=float)
    except (TypeError, ValueError):
        breaks = np.zeros(0)
    good = breaks.ndim == 1 and len(breaks) > 1 and np.isfinite(breaks).all() and (np.diff(breaks) > 0.0).all()
    if not good or breaks[0] != 0.0 or breaks[-1] != 1.0:
        raise InputError(f"plan: knots must be 'uniform', 'free' or increasing breaks from 0 to 1, got {knots!r:.80}")
    return breaks


def robot_of(robot: Any) -> Robot:
    """A robot that can move."""
    if not isinstance(robot, Robot):
        raise InputError(f"plan: a robot is needed, got {type(robot).__name__}; neuler.load reads one from a file")
    if not robot.nv:
        raise InputError(f"plan: robot {robot.name!r} has no joint that moves")
    return robot


def smoothed(robot: Robot, width: Any, notes: list[str]) -> Robot:
    """With friction that has derivatives."""
    rough = any(
        joint.coulomb or (joint.friction is not None and not joint.friction.width) for joint in robot.joints
    ) or any(getattr(motor, "coulomb", 0.0) for motor in robot.motors)
    size = number("plan: friction_width, a speed (rad/s, m/s),", width)
    if size <= 0.0:
        raise InputError(f"plan: friction_width must be above zero (rad/s, m/s), got {width!r}")
    if not rough:
        return robot
    notes.append(f"Coulomb friction is rounded off below about {3 * size:g} rad/s (m/s): tanh(v / {size:g})")
    return robot.with_smooth_friction(size)


def reference_of(robot: Robot, begin: Boundary, end: Boundary) -> Array:
    """A position about which rotations are counted: between start and goal, as far as they are known.

    Of a robot with loops, the start, closed.
    """
    known = [q for q in (_position(robot, begin, "start"), _position(robot, end, "goal")) if q is not None]
    if not known:
        return np.asarray(robot.neutral(), dtype=float)
    if len(known) == 1 or robot.loops or robot.nq == robot.nv:
        return known[0]
    found = known[0].copy()
    at = 0
    for joint in robot.moving_joints:
        first = joint.type.quaternion
        if first is not None:
            places = slice(at + first, at + first + 4)
            a, b = known[0][places], known[1][places]
            middle = a + (b if a @ b >= 0.0 else -b)
            found[places] = middle / np.linalg.norm(middle)
        at += joint.nq
    return found


def _position(robot: Robot, boundary: Boundary, what: str) -> Array | None:
    """Of all joints, closed; None where it is not given, or not of a length that can be read."""
    q = by_columns(robot, "plan", what, boundary.q, "q")
    array = None if q is None or isinstance(q, Mapping) else real(q)
    if array is None or array.ndim != 1 or not np.isfinite(array).all():
        return None
    neutral = np.asarray(robot.neutral(), dtype=float)
    coordinates = Coordinates.of_links(robot)
    if array.shape == neutral.shape:
        if robot.loops:
            gap = float(np.abs(np.asarray(robot.closure.ufunc(array)[0])).max())
            if not gap <= OPEN:
                raise InputError(
                    f"{what}: loops of robot {robot.name!r} are open there, by {gap:.3g} (m, rad); give a closed "
                    f"position, or the {coordinates.size} numbers of its independent joints"
                )
        return array
    if array.size != coordinates.size:
        return None
    found = neutral.copy()
    found[coordinates.places] = array
    if robot.loops:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = np.asarray(robot.assemble(array[None], guess=neutral).q)[0]
            except NeulerError:
                found = np.full(robot.nq, np.nan)
        if not np.isfinite(found).all():
            raise InputError(
                f"{what}: the loops of robot {robot.name!r} cannot be closed at {array.tolist()}; it is out of reach"
            )
    return found


def degree_of(model: Model, degree: Any) -> int:
    """Of the profiles."""
    if degree is None:
        return model.usual_degree
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not model.degree <= degree <= 9:
        why = ", as torques of elastic drives need the snap" if model.elastic else ""
        raise InputError(f"plan: degree must be a whole number from {model.degree} to 9{why}, got {degree!r}")
    return int(degree)


def grid_of(grid: Any, degree: int) -> int:
    """Points in every span."""
    if grid is None:
        return 3 if degree <= 3 else 4
    if isinstance(grid, bool) or grid not in (2, 3, 4, 5):
        raise InputError(f"plan: grid must be 2, 3, 4 or 5 points in every span between knots, got {grid!r}")
    return int(grid)


def count_of(count: Any, degree: int) -> int:
    """Control points of a profile."""
    return whole(f"plan: control_points (degree {degree})", count, degree + 1, MOST_POINTS)


def points_of(count: Any, degree: int, knots: Any) -> int:
    """Control points of a profile: as many as asked for, as given breaks make, or 20."""
    if isinstance(knots, str):
        return max(USUAL, degree + 1) if count is None else count_of(count, degree)
    made = len(knots) - 1 + degree
    if count is not None and count_of(count, degree) != made:
        raise InputError(
            f"plan: {len(knots)} breaks make {made} control points of degree {degree}, control_points={count!r} "
            "differs; leave it away"
        )
    return made


def limits_of(limits: Any) -> list[Limit]:
    """A list of limits."""
    return several("plan: limits", limits, Limit, "plan.limit(measure, lower, upper)")


def relations_of(relations: Any, model: Model, degree: int, phases: int) -> list[Relation | Mirror]:
    """Relations of profiles that are there."""
    found = several("plan: relations", relations, (Relation, Mirror), "plan.repeats, plan.exchanges and plan.mirrors")
    for relation in found:
        relation.check(model, degree, phases)
    return found


def own_limit(model: Model, measure: Measure, given: Sequence[Limit]) -> Limit | None:
    """Limits of a robot's joints; where a side of a row is given for all times, that one holds instead."""
    assert measure.of_robot is not None
    assert measure.labels is not None
    low, high = (side.copy() for side in measure.of_robot(model))
    for limit in given:
        if limit.measure is measure and limit.when == (0.0, 1.0):
            below, above = limit.covers(measure.labels(model))
            low[below], high[above] = -np.inf, np.inf
    return Limit(measure, low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None


def check_limits(model: Model, limits: Sequence[Limit], what: str) -> None:
    """Refuse bounds of one row that contradict each other."""
    for measure in {limit.measure for limit in limits if limit.measure.labels is not None}:
        assert measure.labels is not None
        labels = measure.labels(model)
        sides = [(limit, *limit.bounds(labels)) for limit in limits if limit.measure is measure]
        for one, low, _ in sides:
            for other, _, high in sides:
                overlap = one.when[0] <= other.when[1] and other.when[0] <= one.when[1]
                for row in map(int, np.flatnonzero(low > high)) if overlap else ():
                    who = f" of {labels[row]}" if labels[row] else ""
                    raise InputError(
                        f"{what}limit of {measure.name}{who}: one limit asks for at least {low[row]:g}, another for at "
                        f"most {high[row]:g}"
                    )


def phases_of(phases: Any, duration: Any, via: Sequence[Via], goal: Any, end: Boundary) -> list[Phase]:
    """Phases as given; of one, split where a via point has no time."""
    if phases is not None:
        found = several("plan: phases", phases, Phase, "plan.Phase(...)")
        if not found:
            raise InputError("plan: phases are none; leave them away, or give one at least")
        if duration is not None:
            raise InputError("plan: with phases each has a duration of its own; leave the plan's away")
        if via:
            raise InputError("plan: with phases each has via points of its own; leave the plan's away")
        if goal is not None and found[-1].end is not None:
            raise InputError("plan: both goal and the end of the last phase are given; leave one away")
        for number, phase in enumerate(found, start=1):
            if any(isinstance(each, Via) and each.at is None for each in phase.via):
                raise InputError(
                    f"plan: phase {phase.name or number}: a via point within a phase needs its share, at=...; one "
                    "without a time is the end of a phase of its own: Phase(end=...)"
                )
        if goal is not None:
            found[-1] = Phase(**{**found[-1].__dict__, "end": end})
        return found
    via = several("plan: via points", via, Via, "plan.Via(...)")
    timed = [each for each in via if each.at is not None]
    free = [each for each in via if each.at is None]
    if not free:
        return [Phase(duration=duration, end=end, via=timed)]
    if timed or duration is not None:
        raise InputError(
            "plan: via points without a time split the plan into phases: then all have none, and durations are "
            "those of phases (plan.Phase)"
        )
    spans = [
        Phase(end=Boundary(each.q, each.qd, None, each.poses), name=f"to via {k + 1}") for k, each in enumerate(free)
    ]
    return [*spans, Phase(end=end, name="to goal")]


def check_speeds(model: Model, stage: Stage) -> None:
    """Refuse velocities at ends and via points that limits do not allow."""
    for limit in stage.limits:
        if limit.measure is not velocity:
            continue
        low, high = limit.bounds(model.names)
        for spot in stage.spots:
            inside = limit.when[0] <= spot.share <= limit.when[1]
            for order, values in spot.linear if inside else ():
                for k in np.flatnonzero((values < low) | (values > high)) if order == 1 else ():
                    raise InputError(
                        f"{spot.what}: velocity {values[k]:g} of {model.names[k]} is outside its limits, {low[k]:g} to "
                        f"{high[k]:g}; change it or widen the limit"
                    )

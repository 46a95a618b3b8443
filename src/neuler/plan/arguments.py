"""Arguments of a plan, checked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, real, several, whole
from neuler.moments.moving_robot import MovingRobot, Payload, whole_position
from neuler.optimize.programme import Array
from neuler.plan.conditions import Boundary
from neuler.plan.relations import Relation
from neuler.robot import Robot

USUAL, MOST_POINTS = 20, 2000
"""Control points of a profile by default, and at most."""


def meshes_of(mesh: Any, degree: int) -> list[int]:
    """Return the numbers of control points of all meshes, coarse to fine."""
    try:
        sizes = list(mesh)
    except TypeError:
        sizes = [mesh]
    if not sizes:
        raise InputError("solve: mesh must be numbers of control points, coarse to fine, got none")
    return [count_of(size, degree) for size in sizes]


def payloads_of(payload: Any, robot: Robot) -> tuple[Payload, ...]:
    """Return the payloads that are given, each checked to be a body that can exist."""
    found = tuple(several("plan: payloads", payload, Payload, "plan.Payload(frame, mass, com, inertia)"))
    for each in found:
        robot.with_payload(each.frame, each.mass, each.com, each.inertia)  # says what is wrong with it
    return found


def breaks_of(knots: Any) -> Array | None:
    """Return the breaks from 0 to 1 between which profiles are polynomials; None if they are uniform."""
    if isinstance(knots, str) and knots == "uniform":
        return None
    if isinstance(knots, str) and knots == "free":
        raise InputError(
            "plan: knots='free' is gone: it ended later than uniform knots. Take more control_points, or give breaks "
            "where the torques jump"
        )
    breaks = real(knots)
    good = breaks is not None and breaks.ndim == 1 and len(breaks) > 1 and bool((np.diff(breaks) > 0.0).all())
    if breaks is None or not good or breaks[0] != 0.0 or breaks[-1] != 1.0:
        raise InputError(f"plan: knots must be 'uniform' or increasing breaks from 0 to 1, got {knots!r:.80}")
    return breaks


def robot_of(robot: Any) -> Robot:
    """Return the robot, or refuse what is none and robots that cannot move."""
    if not isinstance(robot, Robot):
        raise InputError(f"plan: a robot is needed, got {type(robot).__name__}; neuler.load reads one from a file")
    if not robot.nv:
        raise InputError(f"plan: robot {robot.name!r} has no joint that moves")
    return robot


def phase_robot(
    robot: Robot, reference: Array, payloads: tuple[Payload, ...], width: Any, notes: list[str]
) -> MovingRobot:
    """Return the robot with smooth friction; if that changes it, a note says so."""
    size = number("plan: friction_width, a speed (rad/s, m/s),", width)
    if size <= 0.0:
        raise InputError(f"plan: friction_width must be above zero (rad/s, m/s), got {width!r}")
    if robot.is_smooth:
        return MovingRobot(robot, robot, reference, 0.0, payloads)
    note = f"the solve rounds Coulomb friction off below about {3 * size:g} rad/s (m/s): tanh(v / {size:g})"
    if note not in notes:
        notes.append(note)
    return MovingRobot(robot.with_smooth_friction(size), robot, reference, size, payloads)


def reference_of(robot: Robot, begin: Boundary, end: Boundary) -> Array:
    """A position about which rotations are counted: between start and goal, as far as they are known.

    Of a robot with loops, the start, closed.
    """
    known = [
        q for q in (whole_position(robot, begin.q, "start"), whole_position(robot, end.q, "goal")) if q is not None
    ]
    if not known:
        return np.asarray(robot.neutral(), dtype=float)
    if len(known) == 1 or robot.loops or robot.nq == robot.nv:
        return known[0]
    found = known[0].copy()
    for entry in robot.coordinates:
        if entry.quaternion is not None:
            a, b = known[0][entry.quaternion], known[1][entry.quaternion]
            middle = a + (b if a @ b >= 0.0 else -b)
            found[entry.quaternion] = middle / np.linalg.norm(middle)
    return found


def degree_of(robots: Sequence[MovingRobot], degree: Any) -> int:
    """Return the degree of the profiles: as asked for, or high enough for the robots of all phases."""
    least = max(robot.degree for robot in robots)
    if degree is None:
        return max(robot.usual_degree for robot in robots)
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not least <= degree <= 9:
        why = ", as torques of elastic drives need the snap" if any(robot.elastic for robot in robots) else ""
        raise InputError(f"plan: degree must be a whole number from {least} to 9{why}, got {degree!r}")
    return int(degree)


def grid_of(grid: Any, degree: int) -> int:
    """Return the number of grid points in every span between knots."""
    if grid is None:
        return 3 if degree <= 3 else 4
    if isinstance(grid, bool) or grid not in (2, 3, 4, 5):
        raise InputError(f"plan: grid must be 2, 3, 4 or 5 points in every span between knots, got {grid!r}")
    return int(grid)


def count_of(count: Any, degree: int) -> int:
    """Return a number of control points, checked to be one that a profile of the degree can have."""
    return whole(f"plan: control_points (degree {degree})", count, degree + 1, MOST_POINTS)


def points_of(count: Any, degree: int, breaks: Array | None) -> int:
    """Return the number of control points: as asked for, as given breaks make, or 20."""
    if breaks is None:
        return max(USUAL, degree + 1) if count is None else count_of(count, degree)
    made = len(breaks) - 1 + degree
    if count is not None and count_of(count, degree) != made:
        raise InputError(
            f"plan: {len(breaks)} breaks make {made} control points of degree {degree}, control_points={count!r} "
            "differs; leave it away"
        )
    return made


def relations_of(relations: Any, robot: MovingRobot, degree: int, phases: int) -> list[Relation]:
    """Return the relations that are given, each checked against the robot."""
    made_by = "plan.repeats, plan.exchanges, plan.mirrors and plan.relate"
    found: list[Relation] = several("plan: relations", relations, Relation, made_by)
    for relation in found:
        relation.check(robot, degree, phases)
    return found

"""``time_path``: the fastest motion along a path that is given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.robot import Robot
from neuler.timing.constraint_set import ConstraintSet, given_constraints
from neuler.timing.paths import Path, PathPoints
from neuler.timing.speed_profile import ProfileSolver, SpeedProfile, grid_of
from neuler.timing.timed_path import TimedPath, times

Array = NDArray[np.float64]
TOGETHER = 16
"""Paths that are solved at once: two vectors of lanes, whose rows stay in the cache."""


def time_path(
    robot: Robot,
    path: Any,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    torque_rate: Any = None,
    constraints: Any = (),
    grid: Any = 1000,
    start_speed: Any = 0.0,
    end_speed: Any = 0.0,
    robot_limits: bool = True,
    refine: bool = True,
    failed: str = "raise",
) -> TimedPath:
    """Return the fastest motion along a path under bounds on velocities, accelerations, torques and torque rates.

    ``path``: a :class:`Path`, points (..., W, nq) to draw a cubic spline through, or a spline of SciPy's. Leading axes
    are a batch, of which all paths are done at once. Bounds are a number, one a joint, or a pair (lower, upper) of
    these, in rad/s, rad/s^2, N m and N m/s (m and N of slides); what is not given is the robot's own velocity and
    effort limits, and nothing with ``robot_limits=False``. ``grid`` is the number of points along the path, or the
    points; ``start_speed`` and ``end_speed`` are ds/dt at its ends. ``constraints`` are others, each a
    :class:`Constraint` of a user's own.

    Coulomb friction is that of a path which moves forward; viscous friction, and every other law, is linear about the
    last solution until that changes by less than 1e-9. Bounds hold at both ends of every interval; they are checked on
    a grid ten times finer, and with ``refine`` tightened where they did not hold, until they do to 1e-6 (1 + |bound|).
    Bounds on torque rates are not convex: the solution without them is where a local optimisation in time begins,
    whose result is slowed until they hold.

    What cannot be is an :class:`InputError` that names the point of the path and the rows; with ``failed="nan"`` it is
    NaN in a batch, and ``message`` says why.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> one = time_path(arm, [[0.0, 0.0], [1.0, 1.0]], velocity=2.0, torque=30.0)
    >>> many = time_path(arm, [[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.5, -1.0]]], velocity=2.0, torque=30.0)
    >>> many.duration.shape, bool(abs(many.duration[0] - one.duration) < 1e-12)
    ((2,), True)
    """
    if failed not in ("raise", "nan"):
        raise InputError(f"time_path: failed must be 'raise' or 'nan', got {failed!r}")
    bounds = velocity, acceleration, torque, torque_rate
    given = given_constraints("time_path", robot, bounds, constraints, bool(robot_limits))
    way = path_of(robot, path)
    s = grid_of(way, grid)
    every = ConstraintSet(*given, PathPoints.of(way, s[:2] if way.everywhere else s))
    ends = (_speed("start_speed", start_speed, way), _speed("end_speed", end_speed, way))
    law = solved(every, way, s, ends, refine=bool(refine))
    if law.failed and failed == "raise":
        raise InputError(f"time_path: {next(iter(law.failed.values()))}")
    timed = timed_of(every, way, s, law)
    if every.rates_bounded:
        from neuler.timing.torque_rates.solve import rate_bounded

        return rate_bounded(timed, ends)
    return timed


def solved(
    constraints: ConstraintSet,
    path: Path,
    s: Array,
    ends: tuple[Array, Array],
    *,
    refine: bool,
) -> SpeedProfile:
    """Return x and u of all paths, solved in groups whose rows fit into the cache."""
    count = math.prod(path.shape)
    if count <= TOGETHER:
        return ProfileSolver(constraints, path, s, ends).solve(refine)
    speeds = [np.broadcast_to(x, path.shape).reshape(-1) for x in ends]
    laws = []
    for first in range(0, count, TOGETHER):
        cut = slice(first, first + TOGETHER)
        part = path.part(cut)
        laws.append(ProfileSolver(constraints, part, s, (speeds[0][cut], speeds[1][cut])).solve(refine))
    together = [
        np.concatenate(values).reshape((*path.shape, *values[0].shape[1:]))
        for values in ([law.x for law in laws], [law.u for law in laws])
    ]
    worst = np.concatenate([law.worst for law in laws]).reshape(path.shape) if refine else None
    failed = {k * TOGETHER + number: text for k, law in enumerate(laws) for number, text in law.failed.items()}
    return SpeedProfile(
        together[0], together[1], worst, max(x.iterations for x in laws), max(x.rounds for x in laws), failed
    )


def timed_of(constraints: ConstraintSet, path: Path, s: Array, law: SpeedProfile) -> TimedPath:
    """Return the timed paths of x and u on a grid."""
    t = times(np.diff(s), law.x)
    u = np.concatenate([law.u, law.u[..., -1:]], axis=-1)
    worst: Any = float(law.worst) if law.worst is not None and not law.worst.ndim else law.worst
    message = "; ".join(law.failed.values())
    return TimedPath(
        constraints, path, t, np.broadcast_to(s, t.shape), np.sqrt(law.x), u, np.zeros(u.shape), worst,
        law.iterations, law.rounds, message,
    )  # fmt: skip


def path_of(robot: Robot, given: Any) -> Path:
    """Return what a user gives as a path of the robot's positions."""
    if callable(given) or isinstance(given, Path):
        path = Path.of(given)
    else:
        if robot.nq != robot.nv:
            raise InputError(
                f"time_path: positions of robot {robot.name!r} are no points to draw a spline through "
                f"(nq = {robot.nq}, nv = {robot.nv}): give Path.sampled(s, q, dq/ds, d2q/ds2)"
            )
        path = Path.through(given)
    if path.sizes != (robot.nq, robot.nv):
        raise InputError(
            f"time_path: expected a path of robot {robot.name!r} with {robot.nq} positions and {robot.nv} velocities "
            f"({', '.join(robot.joint_names[:8])}), got {path.sizes[0]} and {path.sizes[1]}"
        )
    return path


def _speed(name: str, given: Any, path: Path) -> Array:
    try:
        found = np.asarray(given, dtype=float)
        np.broadcast_to(found, path.shape)
    except (TypeError, ValueError):
        raise InputError(f"time_path: {name} must be a number, or one for each of the paths {path.shape}") from None
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(f"time_path: {name} must be zero or more, and finite, got {given!r}")
    return found

"""Constraints along a path: rows that are linear in x = sdot^2 and u = sddot, and ceilings of x.

    lower <= a u + b x + c <= upper,   x <= ceiling

A :class:`Constraint` returns its coefficients at points of a path. Bounds on velocities, accelerations and torques are
constraints of this kind, and so is whatever users write: see :func:`neuler.timing.time_path`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.timing.dynamics import PathDynamics
from neuler.timing.paths import PathPoints
from neuler.timing.scans import FAR

Array = NDArray[np.float64]
Pair = tuple[Array, Array]
"""Lower and upper bounds."""


@dataclass(frozen=True)
class Coefficients:
    """What a constraint asks at points of a path: rows lower <= a u + b x + c <= upper, and x <= ceiling.

    ``a``, ``b`` and ``c`` have axes (..., N, R), or any shape that broadcasts to them: N points and R rows; ``c`` is
    zero where it is not given. ``lower`` and ``upper`` are (R,), or (..., N, R) where they change along the path;
    infinite where there is no bound. ``ceiling`` is (..., N). Rows, or the ceiling, may be left out.
    """

    a: Any = None
    b: Any = None
    c: Any = 0.0
    lower: Any = -np.inf
    upper: Any = np.inf
    ceiling: Any = None


class Constraint:
    """Something that bounds a motion along a path; subclass it and write :meth:`coefficients`.

    ``label`` names it in messages. With it, one constraint is one class:

    >>> import neuler
    >>> from neuler.timing import Coefficients, Constraint, time_path
    >>> class PathSpeed(Constraint):
    ...     label = "path speed"
    ...     def coefficients(self, points):
    ...         return Coefficients(ceiling=np.full(points.q.shape[:-1], 0.5**2))
    >>> arm = neuler.robots.two_link()
    >>> timed = time_path(arm, [[0.0, 0.0], [1.0, 1.0]], torque=30.0, constraints=[PathSpeed()])
    >>> round(float(timed.sdot.max()), 9), "path speed" in timed.active
    (0.5, True)
    """

    label: str = ""
    nonlinear: bool = False
    """Whether rows have a part f(s, x, u) besides, which :meth:`nonlinear_part` gives."""
    needs_iteration: bool = False
    """Whether that part changes with x or u, so that it is linearised about one solution after the other."""

    @property
    def name(self) -> str:
        """The label, or the name of the class."""
        return self.label or type(self).__name__

    def coefficients(self, points: PathPoints) -> Coefficients:
        """Return the rows and the ceiling at points of the path; :class:`PathPoints` has q, dq/ds and d2q/ds2."""
        raise NotImplementedError(f"{type(self).__name__}.coefficients(points) must return Coefficients")

    def row_labels(self, count: int) -> list[str]:
        """Return a name for each of the rows."""
        return [self.name] if count == 1 else [f"{self.name} {k}" for k in range(count)]

    def ceiling_labels(self, points: PathPoints) -> NDArray[np.str_]:
        """Return the name of what gives the ceiling at each point, an array that broadcasts to (..., N)."""
        return np.array(self.name)

    def nonlinear_part(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return f at x and u (..., N): (..., N, R). Used where ``nonlinear`` is true."""
        raise NotImplementedError(f"{type(self).__name__}.nonlinear_part(points, x, u) must return (..., N, R)")

    def nonlinear_slopes(self, points: PathPoints, x: Array, u: Array) -> tuple[Array, Array]:
        """Return the derivatives of f by u and by x, each (..., N, R); by differences unless a class knows better."""
        found = []
        for du, dx in ((1e-6, 0.0), (0.0, 1e-6)):
            p, r = du * (1.0 + np.abs(u)), dx * (1.0 + np.abs(x))
            low = np.minimum(r, x)
            change = self.nonlinear_part(points, x + r, u + p) - self.nonlinear_part(points, x - low, u - p)
            found.append(change / (2.0 * p + r + low)[..., None])
        return found[0], found[1]

    def speed_rows(self, points: PathPoints) -> tuple[Array, Array, Array]:
        """Return the ceiling as rows d sdot, smooth along the path, within bounds: d (N, C), lower and upper (C)."""
        ceiling = np.broadcast_to(self.coefficients(points).ceiling, points.q.shape[:-1])
        return 1.0 / np.sqrt(ceiling)[..., None], np.array([-np.inf]), np.array([1.0])

    def speed_labels(self, count: int) -> list[str]:
        """Return a name for each of these rows."""
        return [self.name] * count


class VelocityBound(Constraint):
    """Bounds on qd (rad/s, m/s): a ceiling of x at every point."""

    label = "velocity"

    def __init__(self, robot: Robot, bounds: Pair) -> None:
        self.robot = robot
        self.lower, self.upper = bounds
        self.rows = _bounded(bounds)
        self.labels = [f"velocity of {name}" for name in robot.coordinates.names("qd")]
        self._pair = (
            np.where(self.rows, np.maximum(bounds[0], -FAR), -FAR),
            np.where(self.rows, np.minimum(bounds[1], FAR), FAR),
        )

    def coefficients(self, points: PathPoints) -> Coefficients:
        """Return the greatest x at which no joint is faster than its bound."""
        return Coefficients(ceiling=_velocity_kernel(self.robot)(points.first, *self._pair))

    def ceiling_labels(self, points: PathPoints) -> NDArray[np.str_]:
        """Return the joint, and the side of its bounds, that gives the ceiling at each point."""
        slope = points.first
        with np.errstate(divide="ignore", invalid="ignore"):
            speeds = np.where(slope > 0, self.upper / slope, np.where(slope < 0, self.lower / slope, np.inf))
        k = np.argmin(speeds, axis=-1)
        rises = np.take_along_axis(slope, k[..., None], axis=-1)[..., 0] > 0
        names = np.array([[f"{label}, {side}" for side in ("lower", "upper")] for label in self.labels])
        return names[k, rises.astype(int)]

    def speed_rows(self, points: PathPoints) -> tuple[Array, Array, Array]:
        """Return dq/ds of the bounded joints, and their bounds."""
        return points.first[..., self.rows], self.lower[self.rows], self.upper[self.rows]

    def speed_labels(self, count: int) -> list[str]:
        """Return "velocity of <joint>" for every bounded joint."""
        return [label for label, bounded in zip(self.labels, self.rows, strict=True) if bounded]


class AccelerationBound(Constraint):
    """Bounds on qdd = q' u + q'' x (rad/s^2, m/s^2)."""

    label = "acceleration"

    def __init__(self, robot: Robot, bounds: Pair) -> None:
        self.rows = np.flatnonzero(_bounded(bounds))
        self.lower, self.upper = (side[self.rows] for side in bounds)
        names = robot.coordinates.names("qd")
        self.labels = [f"acceleration of {names[k]}" for k in self.rows]

    def coefficients(self, points: PathPoints) -> Coefficients:
        """Return q' and q'' of the bounded joints."""
        return Coefficients(
            points.first[..., self.rows], points.second[..., self.rows], lower=self.lower, upper=self.upper
        )

    def row_labels(self, count: int) -> list[str]:
        """Return "acceleration of <joint>" for every row."""
        return self.labels


class TorqueBound(Constraint):
    """Bounds on tau (N m, N), friction included: see :class:`PathDynamics`."""

    label = "torque"

    def __init__(self, dynamics: PathDynamics, bounds: Pair, besides: Any = False) -> None:
        """``besides`` marks entries of tau, (nu), that get rows even where they have no bounds."""
        self.dynamics = dynamics
        self.rows = np.flatnonzero(_bounded(bounds) | besides)
        self.lower, self.upper = (side[self.rows] for side in bounds)
        names = dynamics.robot.coordinates.names("tau")
        self.labels = [f"torque of {names[k]}" for k in self.rows]
        self.nonlinear = dynamics.has_friction
        self.needs_iteration = dynamics.has_friction and not dynamics.coulomb_only

    def coefficients(self, points: PathPoints) -> Coefficients:
        """Return a, b and c of the bounded torques, without friction."""
        found = self.dynamics.linear(points, tuple(self.rows.tolist()))
        return Coefficients(*found, lower=self.lower, upper=self.upper)

    def row_labels(self, count: int) -> list[str]:
        """Return "torque of <joint>" for every row."""
        return self.labels

    def nonlinear_part(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return friction."""
        return self.dynamics.friction(points, x, u)[..., self.rows]

    def nonlinear_slopes(self, points: PathPoints, x: Array, u: Array) -> tuple[Array, Array]:
        """Return the slopes of friction, by differentiation."""
        du, dx = self.dynamics.friction_slopes(points, x, u)
        return du[..., self.rows], dx[..., self.rows]


@dataclass(frozen=True)
class RobotBounds:
    """Bounds on velocity and acceleration (nv), torque and torque rate (nu), infinite where there are none."""

    velocity: Pair
    acceleration: Pair
    torque: Pair
    torque_rate: Pair

    @classmethod
    def given(
        cls, robot: Robot, velocity: Any, acceleration: Any, torque: Any, torque_rate: Any, robot_limits: bool
    ) -> RobotBounds:
        """Return what a user gives; for what is not given, the robot's own limits, or none."""
        own: dict[str, Any] = {"velocity": np.inf, "torque": np.inf}
        if robot_limits:
            own["velocity"] = np.array([entry.limits.velocity for entry in robot.coordinates.owners("qd")])
            own["torque"] = np.array([entry.limits.effort for entry in robot.coordinates.owners("tau")])
        nv, nu = robot.nv, robot.nu
        return cls(
            _pair("velocity", own["velocity"] if velocity is None else velocity, nv),
            _pair("acceleration", np.inf if acceleration is None else acceleration, nv),
            _pair("torque", own["torque"] if torque is None else torque, nu),
            _pair("torque_rate", np.inf if torque_rate is None else torque_rate, nu),
        )

    def constraints(self, dynamics: PathDynamics) -> list[Constraint]:
        """Return the constraints they are; torques whose rates are bounded have rows even where they are not."""
        found: list[Constraint] = []
        rated = _bounded(self.torque_rate)
        if (_bounded(self.torque) | rated).any():
            found.append(TorqueBound(dynamics, self.torque, rated))
        if _bounded(self.acceleration).any():
            found.append(AccelerationBound(dynamics.robot, self.acceleration))
        if _bounded(self.velocity).any():
            found.append(VelocityBound(dynamics.robot, self.velocity))
        return found


def _pair(name: str, given: Any, size: int) -> Pair:
    """A number or one a joint for both sides, or a pair of lower and upper ones."""
    pair = isinstance(given, tuple) and len(given) == 2
    sides = []
    for side in given if pair else (given, given):
        try:
            value = np.asarray(side, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{name}: bounds must be numbers, got {side!r}") from None
        if value.shape not in ((), (size,)) or np.isnan(value).any():
            raise InputError(
                f"{name}: expected a number, {size} numbers or a pair (lower, upper) of these, got shape {value.shape}"
                f"{' with NaN' if np.isnan(value).any() else ''}"
            )
        sides.append(np.broadcast_to(value, (size,)).astype(float))
    lower, upper = sides if pair else (-sides[0], sides[1])
    bad = lower >= upper if name == "torque" else (lower >= 0) | (upper <= 0)
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"{name}: the bounds of entry {k} leave nothing, {lower[k]:g} to {upper[k]:g}; give a number above zero, "
            "or a pair (lower, upper) with room between"
        )
    return lower, upper


def _bounded(bounds: Pair) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isfinite(bounds[0]) | np.isfinite(bounds[1])
    return found


@kept
def _velocity_kernel(robot: Robot) -> Function:
    """From q' and bounds of velocities to the ceiling of x."""

    def ceiling(first: Any, slowest: Any, fastest: Any) -> Any:
        most: Any = FAR
        for slope, low, high in zip(first, slowest, fastest, strict=True):
            bound, divisor = nm.where(nm.less(slope, 0.0), low, high), nm.less(nm.absolute(slope), 1e-90)
            speed = bound / nm.where(divisor, 1e-90, slope)
            most = nm.minimum(most, speed * speed)
        return most

    inputs = dict.fromkeys(("first", "slowest", "fastest"), robot.nv)
    return function(ceiling, inputs, "ceiling", name="path_ceiling")

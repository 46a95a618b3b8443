"""Bounds along a path as rows that are linear in x = sdot^2 and u = sddot.

    qd = q' sdot,  qdd = q' u + q'' x,  tau = a u + b x + c
    a = M q',  b = M q'' + C(q, q') q',  c = gravity, springs, and friction f(q, qd, qdd)

A row is lower <= a u + b x <= upper at a point of the path, c taken to its bounds. What friction is not constant is
linear about the last x and u, and that again until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.control.coordinates import refuse_undriven, springs
from neuler.errors import InputError
from neuler.functions.function import Function, function
from neuler.robot import Joint, Motor, Robot
from neuler.robot.columns import column_names
from neuler.robot.friction import Coulomb
from neuler.rollouts.events import joints_of
from neuler.timing.paths import Path
from neuler.timing.scans import FAR
from neuler.trace.recipe import Operand

Array = NDArray[np.float64]
SLOWEST = 1e-13
"""Of the largest sdot: below it friction is taken as that of a path that begins to move."""


@dataclass(frozen=True)
class Bounds:
    """Lower and upper ones of velocity and acceleration (nv), torque and torque rate (nu); infinite where none."""

    velocity: tuple[Array, Array]
    acceleration: tuple[Array, Array]
    torque: tuple[Array, Array]
    torque_rate: tuple[Array, Array]

    @classmethod
    def given(
        cls, robot: Robot, velocity: Any, acceleration: Any, torque: Any, torque_rate: Any, robot_limits: bool
    ) -> Bounds:
        """What is not given is the robot's own, or none."""
        if not isinstance(robot, Robot):
            raise InputError(f"time_path: a robot is needed, got {type(robot).__name__}; neuler.load reads one")
        remedy = "A motion in which some joints follow by themselves is one for plan.Plan."
        refuse_undriven(robot, "time_path", remedy, list(springs(robot)))
        own: dict[str, Any] = {"velocity": np.inf, "torque": np.inf}
        if robot_limits:
            limits, owners = robot.coordinate_limits, joints_of(robot)
            own["velocity"] = np.array([limits[k].velocity for k in owners["qd"]])
            own["torque"] = np.array([limits[k].effort for k in owners["tau"]])
        nv, nu = robot.nv, robot.nu
        return cls(
            _pair("velocity", own["velocity"] if velocity is None else velocity, nv),
            _pair("acceleration", np.inf if acceleration is None else acceleration, nv),
            _pair("torque", own["torque"] if torque is None else torque, nu),
            _pair("torque_rate", np.inf if torque_rate is None else torque_rate, nu),
        )

    @property
    def rate_bounded(self) -> bool:
        """Whether there is a bound on torque rates."""
        return bool(np.isfinite(self.torque_rate).any())


def _pair(name: str, given: Any, size: int) -> tuple[Array, Array]:
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


class Coefficients(NamedTuple):
    """All rows at the points of a grid, a, b, c of (..., N, R), and the greatest x that velocities allow, (..., N)."""

    a: Array
    b: Array
    c: Array
    ceiling: Array


@dataclass
class PathPoints:
    """A path at points s: q, q', q'' of (..., N, n)."""

    s: Array
    q: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, path: Path, s: Array) -> PathPoints:
        """All of them finite."""
        found = cls(s, *(path(s, order) for order in range(3)))
        for name, values in (("q", found.q), ("dq/ds", found.first), ("d2q/ds2", found.second)):
            if not np.isfinite(values).all():
                where = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
                raise InputError(f"the path's {name} is {values[where]} at s = {s[where[-2]]:g}, entry {where[-1]}")
        return found


class PathDynamics:
    """A robot along paths: its rows, and its torques."""

    def __init__(self, robot: Robot, bounds: Bounds) -> None:
        if any(joint.series for joint in robot.moving_joints):
            raise InputError(
                f"robot {robot.name!r} has elastic drives: the timing of a path is for rigid ones; "
                "plan its motion instead, or leave the springs of its motors out"
            )
        self.robot, self.bounds = robot, bounds
        held = robot.__dict__.setdefault("rows along paths", {})
        if "plain" not in held:
            without = robot.without_friction()
            held["plain"] = robot if without == robot else without
        self.plain: Robot = held["plain"]
        self.rubs = self.plain is not robot
        self.constant = all(map(_constant, robot.joints)) and all(map(_constant, robot.motors))
        """Friction, at every speed."""
        self.torque_rows = np.flatnonzero(np.isfinite(bounds.torque[0]) | np.isfinite(bounds.torque[1]))
        self.acceleration_rows = np.flatnonzero(
            np.isfinite(bounds.acceleration[0]) | np.isfinite(bounds.acceleration[1])
        )
        names = [
            f"{what} of {column.partition('_')[2]}"
            for what, operand, rows in (
                ("torque", Operand("tau", (robot.nu,)), self.torque_rows),
                ("acceleration", Operand("qd", (robot.nv,)), self.acceleration_rows),
            )
            for column in np.array(column_names(robot, operand), dtype=object)[rows]
        ]
        self.labels = names
        columns = column_names(robot, Operand("qd", (robot.nv,)))
        self.velocity_labels = [f"velocity of {column.partition('_')[2]}" for column in columns]

    @property
    def lower(self) -> Array:
        """Of the rows, (R)."""
        return np.concatenate(
            [self.bounds.torque[0][self.torque_rows], self.bounds.acceleration[0][self.acceleration_rows]]
        )

    @property
    def upper(self) -> Array:
        """Of the rows, (R)."""
        return np.concatenate(
            [self.bounds.torque[1][self.torque_rows], self.bounds.acceleration[1][self.acceleration_rows]]
        )

    def rows(self, at: PathPoints) -> Coefficients:
        """Without friction."""
        lower, upper = self.bounds.velocity
        bounded = np.isfinite(lower) | np.isfinite(upper)
        pair = np.where(bounded, np.maximum(lower, -FAR), -FAR), np.where(bounded, np.minimum(upper, FAR), FAR)
        return Coefficients(*self._kernel(at.q, at.first, at.second, *pair))

    @property
    def _kernel(self) -> Any:
        """All rows of a point, compiled once for a robot."""
        made = self.robot.__dict__.setdefault("rows along paths", {})
        tau, acc = self.torque_rows.tolist(), self.acceleration_rows.tolist()
        if (*tau, -1, *acc) not in made:
            made[(*tau, -1, *acc)] = _rows_kernel(self.plain, tau, acc)
        return made[(*tau, -1, *acc)]

    def friction(self, at: PathPoints, x: Array, u: Array) -> tuple[Array, Array, Array]:
        """Friction at x and u, (..., N), and its slopes along u and x: each (..., N, R)."""
        root = np.sqrt(np.maximum(x, 0.0))
        speed = np.maximum(root, SLOWEST * np.where(root > 0, root, 1.0).max(axis=-1, keepdims=True))
        value = self._friction(at, speed, u)
        shape = (*value.shape[:-1], len(self.torque_rows) + len(self.acceleration_rows))
        found = [np.zeros(shape) for _ in range(3)]
        n = len(self.torque_rows)
        found[0][..., :n] = value[..., self.torque_rows]
        if not self.constant:
            du, dv = self._slopes(at, speed, u)
            found[1][..., :n] = du[..., self.torque_rows]
            moves = (root >= speed)[..., None]  # at rest x is given, and its slope would be infinite
            found[2][..., :n] = np.where(moves, dv / (2.0 * speed[..., None]), 0.0)[..., self.torque_rows]
        return found[0], found[1], found[2]

    def friction_force(self, at: PathPoints, x: Array, u: Array) -> Array:
        """Its value alone, (..., N, R)."""
        speed = np.sqrt(np.maximum(x, 0.0))
        speed = np.maximum(speed, SLOWEST * np.where(speed > 0, speed, 1.0).max(axis=-1, keepdims=True))
        value = self._friction(at, speed, u)[..., self.torque_rows]
        none = np.zeros((*value.shape[:-1], len(self.acceleration_rows)))
        return np.concatenate([value, none], axis=-1)

    def _friction(self, at: PathPoints, speed: Array, u: Array) -> Array:
        qd = at.first * speed[..., None]
        qdd = at.first * u[..., None] + at.second * (speed * speed)[..., None]
        found: Array = self.robot.inverse_dynamics(at.q, qd, qdd) - self.plain.inverse_dynamics(at.q, qd, qdd)
        return found

    def _slopes(self, at: PathPoints, speed: Array, u: Array) -> tuple[Array, Array]:
        """Along u and along sdot."""
        n, m = self.robot.nq, self.robot.nv
        made = self.robot.__dict__["rows along paths"]
        if "slopes" not in made:

            def along(q: Any, first: Any, second: Any, motion: Any) -> Any:
                u, v = motion
                qd, qdd = first * v, first * u + second * (v * v)
                return self.robot.inverse_dynamics(q, qd, qdd) - self.plain.inverse_dynamics(q, qd, qdd)

            inputs = {"q": n, "first": m, "second": m, "motion": 2}
            made["slopes"] = function(along, inputs, "friction").jacobian("motion")
        found = made["slopes"](at.q, at.first, at.second, np.stack([u, speed], axis=-1))
        return found[..., 0], found[..., 1]

    def torques(self, at: PathPoints, x: Array, u: Array) -> Array:
        """tau of (..., N, nu), everything included; friction of a path that moves forward."""
        speed = np.maximum(np.sqrt(np.maximum(x, 0.0)), 1e-12 if self.rubs else 0.0)[..., None]
        found: Array = self.robot.inverse_dynamics(
            at.q, at.first * speed, at.first * u[..., None] + at.second * np.maximum(x, 0.0)[..., None]
        )
        return found


def _rows_kernel(robot: Robot, tau: list[int], acc: list[int]) -> Function:
    """q, q', q'' and bounds of velocities to a, b, c and the ceiling of x."""

    def rows(q: Any, first: Any, second: Any, slowest: Any, fastest: Any) -> Any:
        still = np.zeros(robot.nv)
        a, b, c = list(first[acc]), list(second[acc]), [0.0] * len(acc)
        if tau:
            rest = robot.inverse_dynamics(q, still, still)
            a = [*(robot.inverse_dynamics(q, still, first) - rest)[tau], *a]
            b = [*(robot.inverse_dynamics(q, first, second) - rest)[tau], *b]
            c = [*rest[tau], *c]
        most: Any = FAR
        for slope, low, high in zip(first, slowest, fastest, strict=True):
            speed = nm.where(nm.less(slope, 0.0), low, high) / nm.where(
                nm.less(nm.absolute(slope), 1e-90), 1e-90, slope
            )
            most = nm.minimum(most, speed * speed)
        return np.array(a, object), np.array(b, object), np.array(c, object), most

    n = robot.nv
    inputs = {"q": robot.nq, "first": n, "second": n, "slowest": n, "fastest": n}
    return function(rows, inputs, ("a", "b", "c", "ceiling"), name="path_rows")


def _constant(part: Joint | Motor) -> bool:
    """Whether its friction is that of Coulomb alone."""
    law = part.friction
    return not part.viscous and (law is None or (type(law) is Coulomb and not law.viscous and not law.width))

"""All constraints of a motion along paths, as one block of rows and one ceiling of x."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.control.coordinates import refuse_undriven
from neuler.errors import InputError
from neuler.robot import Robot
from neuler.robot.coordinates import springs
from neuler.timing.constraints import Coefficients, Constraint, Pair, RobotBounds
from neuler.timing.dynamics import PathDynamics
from neuler.timing.paths import PathPoints
from neuler.timing.scans import FAR

Array = NDArray[np.float64]
NO_BOUND = 1e15
"""A bound that changes along the path and is infinite somewhere has this size there: it stands in c."""


class PathRows(NamedTuple):
    """All rows at points of a path, a, b, c of (..., N, R), and the ceiling of x, (..., N)."""

    a: Array
    b: Array
    c: Array
    ceiling: Array


class _Checked(NamedTuple):
    """One constraint at points: rows with bounds that do not change along the path."""

    a: Array
    b: Array
    c: Array
    lower: Array
    upper: Array
    ceiling: Array | None


class ConstraintSet:
    """Constraints of a robot along paths, in their order; ``lower``, ``upper`` and ``labels`` are those of all rows.

    The number of rows and their bounds are found at ``points``, and must be the same at all others.
    """

    def __init__(
        self, dynamics: PathDynamics, constraints: Sequence[Constraint], torque_rate: Pair, points: PathPoints
    ) -> None:
        self.dynamics, self.constraints, self.torque_rate = dynamics, tuple(constraints), torque_rate
        self._slices: list[slice] = []
        self._split: list[int] = []
        """How many rows each constraint gives itself where bounds that change make two rows of each; or -1."""
        lower, upper, labels, ceilings, at = [], [], [], [], 0
        for constraint in self.constraints:
            given = constraint.coefficients(points)
            found = _checked(constraint, given, points)
            count = found.a.shape[-1]
            varies = count > 0 and max(np.ndim(given.lower), np.ndim(given.upper)) > 1
            self._split.append(count // 2 if varies else -1)
            names = list(constraint.row_labels(count // 2 if varies else count))
            if len(names) != (count // 2 if varies else count):
                raise InputError(f"constraint {constraint.name!r}: row_labels gave {len(names)} names for {count} rows")
            labels += [*names, *names] if varies else names
            ceilings.append(found.ceiling is not None)
            lower.append(found.lower)
            upper.append(found.upper)
            self._slices.append(slice(at, at + count))
            at += count
        self.lower: Array = np.concatenate([*lower, np.zeros(0)])
        self.upper: Array = np.concatenate([*upper, np.zeros(0)])
        self.labels: list[str] = labels
        self.with_ceiling = tuple(c for c, has in zip(self.constraints, ceilings, strict=True) if has)
        """Constraints that give a ceiling of x."""

    @property
    def robot(self) -> Robot:
        """The robot that moves."""
        return self.dynamics.robot

    @property
    def nonlinear(self) -> bool:
        """Whether some rows have a part that is not linear in x and u."""
        return any(constraint.nonlinear for constraint in self.constraints)

    @property
    def needs_iteration(self) -> bool:
        """Whether that part changes with x or u."""
        return any(constraint.needs_iteration for constraint in self.constraints)

    @property
    def rates_bounded(self) -> bool:
        """Whether there are bounds on torque rates."""
        return bool(np.isfinite(self.torque_rate).any())

    def rows(self, points: PathPoints) -> PathRows:
        """Return all rows at points, without what is not linear, and the least ceiling."""
        parts, ceiling = [], None
        for constraint, cut in zip(self.constraints, self._slices, strict=True):
            found = _checked(constraint, constraint.coefficients(points), points)
            if not (np.array_equal(found.lower, self.lower[cut]) and np.array_equal(found.upper, self.upper[cut])):
                raise InputError(
                    f"constraint {constraint.name!r}: its rows or their bounds are not those of other points of the "
                    "path; bounds that change along it need axes (..., N, R)"
                )
            if found.lower.size:
                parts.append(found)
            if found.ceiling is not None:
                ceiling = found.ceiling if ceiling is None else np.minimum(ceiling, found.ceiling)
        shape = points.q.shape[:-1]
        if ceiling is None:
            ceiling = np.full(shape, FAR)
        if len(parts) == 1:
            return PathRows(parts[0].a, parts[0].b, parts[0].c, ceiling)
        if not parts:
            none = np.zeros((*shape, 0))
            return PathRows(none, none, none, ceiling)
        a, b, c = (np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in ("a", "b", "c"))
        return PathRows(a, b, c, ceiling)

    def nonlinear_part(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return what is not linear in x and u (..., N), of all rows: (..., N, R)."""
        found = np.zeros((*np.broadcast_shapes(points.q.shape[:-1], x.shape), len(self.lower)))
        for constraint, columns in self._nonlinear():
            value = constraint.nonlinear_part(points, x, u)
            for cut in columns:
                found[..., cut] = value
        return found

    def linearised(self, points: PathPoints, x: Array, u: Array) -> tuple[Array, Array, Array]:
        """Return the part that is not linear, and its derivatives by u and by x: each (..., N, R)."""
        shape = (*np.broadcast_shapes(points.q.shape[:-1], x.shape), len(self.lower))
        found = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for constraint, columns in self._nonlinear():
            parts = [constraint.nonlinear_part(points, x, u)]
            if constraint.needs_iteration:
                parts += constraint.nonlinear_slopes(points, x, u)
            for whole, part in zip(found, parts, strict=False):
                for cut in columns:
                    whole[..., cut] = part
        return found

    def _nonlinear(self) -> list[tuple[Constraint, list[slice]]]:
        """Constraints that are not linear, and where their rows are: in two places if bounds change along the path."""
        found = []
        for constraint, cut, split in zip(self.constraints, self._slices, self._split, strict=True):
            if constraint.nonlinear:
                halves = (
                    [cut] if split < 0 else [slice(cut.start, cut.start + split), slice(cut.start + split, cut.stop)]
                )
                found.append((constraint, halves))
        return found

    def values(self, points: PathPoints, x: Array, u: Array) -> Array:
        """Return a u + b x + c and what is not linear, at x and u (..., N): (..., N, R)."""
        a, b, c, _ = self.rows(points)
        found: Array = a * u[..., None] + b * x[..., None] + c
        return found + self.nonlinear_part(points, x, u) if self.nonlinear else found

    def of(self, constraint: Constraint) -> slice:
        """Return where its rows stand among all."""
        return self._slices[self.constraints.index(constraint)]

    def ceiling(self, points: PathPoints) -> tuple[Array, NDArray[np.str_]]:
        """Return the least ceiling of x at points and what gives it, both (..., N)."""
        shape = points.q.shape[:-1]
        least, names = np.full(shape, FAR), np.full(shape, "", dtype=object)
        for constraint in self.with_ceiling:
            found = constraint.coefficients(points).ceiling
            lower = found < least
            least = np.where(lower, found, least)
            names = np.where(lower, constraint.ceiling_labels(points), names)
        return least, names.astype(str)


def given_constraints(
    what: str, robot: Any, bounds: tuple[Any, Any, Any, Any], constraints: Any, robot_limits: bool
) -> tuple[PathDynamics, list[Constraint], Pair]:
    """Return the dynamics, the constraints and the bounds on torque rates that a user of ``what`` gives.

    ``bounds`` are on velocity, acceleration, torque and torque rate.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"{what}: a robot is needed, got {type(robot).__name__}; neuler.load reads one")
    remedy = "A motion in which some joints follow by themselves is one for plan.Plan."
    refuse_undriven(robot, what, remedy, list(springs(robot)))
    own = RobotBounds.given(robot, *bounds, robot_limits)
    dynamics = PathDynamics(robot)
    if isinstance(constraints, Constraint) or not isinstance(constraints, Iterable):
        raise InputError(f"{what}: constraints must be a list of timing.Constraint, got {constraints!r}")
    others = list(constraints)
    for k, each in enumerate(others):
        if not isinstance(each, Constraint):
            raise InputError(
                f"{what}: constraints[{k}] must be a timing.Constraint (a subclass with coefficients(points)), "
                f"got {type(each).__name__}"
            )
    found = [*own.constraints(dynamics), *others]
    if not found:
        raise InputError(
            f"{what}: nothing bounds the motion; give velocity, acceleration or torque, or a robot with limits"
        )
    return dynamics, found, own.torque_rate


def _checked(constraint: Constraint, given: Any, points: PathPoints) -> _Checked:
    """The coefficients of a constraint with all their axes; what cannot be is refused by its name."""
    name = f"constraint {constraint.name!r}"
    if not isinstance(given, Coefficients):
        raise InputError(f"{name}: coefficients(points) must return timing.Coefficients, got {type(given).__name__}")
    shape = points.q.shape[:-1]
    ceiling = None
    if given.ceiling is not None:
        ceiling = _numbers(name, "ceiling", given.ceiling, shape)
        if not (ceiling > 0).all():
            where = _where(points, ceiling, np.argwhere(~(ceiling > 0))[0])
            raise InputError(f"{name}: a ceiling of sdot^2 must be above zero, {where}")
    if (given.a is None) != (given.b is None):
        raise InputError(f"{name}: rows need both a and b (a u + b x + c); give zeros where one has no effect")
    if given.a is None:
        if ceiling is None:
            raise InputError(f"{name}: coefficients(points) gives neither rows (a, b) nor a ceiling")
        none = np.zeros((*shape, 0))
        return _Checked(none, none, none, np.zeros(0), np.zeros(0), ceiling)
    size = max(np.shape(x)[-1] if np.ndim(x) else 1 for x in (given.a, given.b, given.c, given.lower, given.upper))
    rows = (*shape, size)
    for key in ("a", "b", "c"):
        if np.ndim(getattr(given, key)) == 1:
            raise InputError(
                f"{name}: {key} must have axes (..., points, rows), got shape {np.shape(getattr(given, key))}; write "
                f"{key}[:, None] for one row"
            )
    a, b, c = (_numbers(name, key, getattr(given, key), rows) for key in ("a", "b", "c"))
    for key, values in (("a", a), ("b", b), ("c", c)):
        if not np.isfinite(values).all():
            place = np.argwhere(~np.isfinite(values))[0]
            label = constraint.row_labels(size)[place[-1]]
            where = _where(points, values, place)
            raise InputError(
                f"{name}: {key} of the {label} is not finite, {where}: is the position one of the robot's?"
            )
    varies = max(np.ndim(given.lower), np.ndim(given.upper)) > 1
    lower, upper = (_numbers(name, key, getattr(given, key), rows if varies else (size,)) for key in ("lower", "upper"))
    if not (lower < upper).all():
        place = np.argwhere(~(lower < upper))[0]
        at = f" at s = {_s(points, place):g}" if varies else ""
        raise InputError(
            f"{name}: the bounds of the {constraint.row_labels(size)[place[-1]]} leave nothing{at}, "
            f"{lower[tuple(place)]:g} to {upper[tuple(place)]:g}; lower must be below upper"
        )
    if not varies:
        return _Checked(a, b, c, lower, upper, ceiling)
    below, above = c - np.maximum(lower, -NO_BOUND), c - np.minimum(upper, NO_BOUND)
    none, far = np.zeros(size), np.full(size, np.inf)
    a, b, c = (np.concatenate([x, y], axis=-1) for x, y in ((a, a), (b, b), (below, above)))
    return _Checked(a, b, c, np.concatenate([none, -far]), np.concatenate([far, none]), ceiling)


def _numbers(name: str, key: str, given: Any, shape: tuple[int, ...]) -> Array:
    try:
        value = np.asarray(given, dtype=float)
        found = np.broadcast_to(value, shape)
    except (TypeError, ValueError):
        raise InputError(
            f"{name}: {key} must be numbers that broadcast to {shape}, got {np.shape(given) or type(given).__name__}"
        ) from None
    return found


def _s(points: PathPoints, place: Any) -> float:
    """s of an entry (..., N, R), or (..., N)."""
    batch = points.q.shape[:-1]
    return float(np.broadcast_to(points.s, batch)[tuple(place[: len(batch)])])


def _where(points: PathPoints, values: Array, place: Any) -> str:
    return f"it is {values[tuple(place)]:g} at s = {_s(points, place):g}"

"""Measures: what limits hold and objectives weigh, each a function of a moment of the plan.

>>> hold = limit(torque, -10.0, 10.0, joints=("joint1",))
>>> hold.measure.name, hold.joints
('torque', ('joint1',))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neuler import math as nm
from neuler.errors import InputError
from neuler.inputs import names, number, real
from neuler.naming import hint
from neuler.optimize.programme import Array
from neuler.plan.charts import WIDEST, turn_rows
from neuler.plan.clearance import Ball, Clearance, Obstacle, clearance
from neuler.plan.model import Model
from neuler.plan.moment import Moment

Rows = Callable[[Moment], Any]
Labels = Callable[[Model], Sequence[str]]
Bounds = Callable[[Model], tuple[Array, Array]]
SMOOTH = 1e-4
"""Forces (N, N m) below which norms are rounded off, that they have derivatives at zero."""


@dataclass(frozen=True)
class Measure:
    """A named vector that depends on one moment of a motion; ``unit`` is for figures."""

    name: str
    rows: Rows = field(repr=False)
    labels: Labels | None = field(default=None, repr=False)
    of_robot: Bounds | None = field(default=None, repr=False)
    """Limits that the robot's own joints have."""
    unit: str = ""
    positive: bool = False
    """Whether it is never below zero."""

    def __reduce__(self) -> Any:
        if _built_in(self.name) is self:  # pickled, it is itself again
            return _built_in, (self.name,)
        return Measure, (self.name, self.rows, self.labels, self.of_robot, self.unit, self.positive)

    def row_names(self, model: Model, count: int) -> list[str]:
        """Of its rows."""
        if self.labels is not None:
            return list(self.labels(model))
        return [""] if count == 1 else [str(k) for k in range(count)]


def measure(f: Rows, name: str, *, labels: Sequence[str] | None = None, unit: str = "") -> Measure:
    """A measure of your own: ``f(moment)`` gives an array of traced values, made as in ``neuler.function``.

    >>> lift = measure(lambda moment: moment.tau @ moment.speeds, "power in all", unit="W")
    >>> lift.name
    'power in all'
    """
    if not callable(f):
        raise InputError(f"measure {name!r}: a function of a moment is needed, got {type(f).__name__}")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"measure: a name is needed, got {name!r}")
    return Measure(name, f, None if labels is None else Fixed(names(f"measure {name!r}: labels", labels)), None, unit)


@dataclass(frozen=True)
class Fixed:
    """Labels that are the same for every robot."""

    labels: tuple[str, ...]

    def __call__(self, model: Model) -> Sequence[str]:
        """The labels."""
        return self.labels


@dataclass(frozen=True)
class Asked:
    """Rows that a moment has under a name."""

    name: str

    def __call__(self, moment: Moment) -> Any:
        """The rows."""
        return getattr(moment, self.name)


@dataclass(frozen=True)
class Norms:
    """Sizes of the forces (or, from column 3 on, moments) inside all joints that move."""

    first: int

    def __call__(self, moment: Moment) -> Any:
        """One for each joint."""
        parts = [moment.reactions[k][self.first : self.first + 3] for _, k in moving_links(moment.model)]
        return [nm.sqrt(part @ part + SMOOTH**2) for part in parts]


@dataclass(frozen=True)
class Origin:
    """The origin of a frame."""

    frame: str

    def __call__(self, moment: Moment) -> Any:
        """(3)."""
        return moment.pose(self.frame)[:3, 3]


@dataclass(frozen=True)
class Distances:
    """Of a robot's balls from obstacles."""

    clearance: Clearance

    def __call__(self, moment: Moment) -> Any:
        """One for each pair."""
        for frame in self.clearance.frames:
            moment.robot.locate(frame)
        return self.clearance.rows(moment)


def _profiles(model: Model) -> list[str]:
    return model.names


def _of_joints(model: Model, *names: str) -> Array:
    """Limits of plain joints, one row for each name."""
    found = np.full((len(names), model.nc), np.inf)
    for k, joint in enumerate(model.joints):
        if joint is not None and joint.type.quaternion is None and joint.nv == 1:
            found[:, k] = [getattr(joint.limits, name) for name in names]
        else:
            found[:, k] = [-np.inf if name == "lower" else np.inf for name in names]
    return found


def _positions(model: Model) -> tuple[Array, Array]:
    low, high = _of_joints(model, "lower", "upper")
    return low, high


def _speeds(model: Model) -> tuple[Array, Array]:
    (most,) = _of_joints(model, "velocity")
    return -most, most


def _efforts(model: Model) -> tuple[Array, Array]:
    return -model.efforts, model.efforts


def _pushed(model: Model) -> list[str]:
    return [model.tau_names[k] for k in model.pushed]


def moving_links(model: Model) -> list[tuple[str, int]]:
    """Joints with a coordinate, and the rows of their links among reactions."""
    shown = model.robot.shown_names
    return [
        (joint.name, shown.index(joint.child))
        for joint in model.robot.joints
        if joint.moves and joint.series is None and joint.child in shown
    ]


def _links(model: Model) -> list[str]:
    return [name for name, _ in moving_links(model)]


def _powers(moment: Moment) -> Any:
    return moment.tau * moment.speeds


def _turns(moment: Moment) -> Any:
    c = moment.chart
    return [sum(c[k] * c[k] for k in places) for _, places in turn_rows(moment.model.coordinates)]


def _turning(model: Model) -> list[str]:
    return [name for name, _ in turn_rows(model.coordinates)]


def _loop_names(model: Model) -> list[str]:
    return [joint.name for joint, _, _ in model.loop_joints]


def _loop_ranges(model: Model) -> tuple[Array, Array]:
    sides = np.array([(j.limits.lower, j.limits.upper) for j, _, _ in model.loop_joints]).reshape(-1, 2)
    return sides[:, 0], sides[:, 1]


def _loop_speeds(model: Model) -> tuple[Array, Array]:
    most = np.array([joint.limits.velocity for joint, _, _ in model.loop_joints])
    return -most, most


position = Measure("position", Asked("chart"), _profiles, _positions, "rad, m")
velocity = Measure("velocity", Asked("qd"), _profiles, _speeds, "rad/s, m/s")
acceleration = Measure("acceleration", Asked("qdd"), _profiles, None, "rad/s^2, m/s^2")
jerk = Measure("jerk", Asked("qddd"), _profiles, None, "rad/s^3, m/s^3")
torque = Measure("torque", Asked("tau"), _pushed, _efforts, "N m, N")
torque_rate = Measure("torque_rate", Asked("tau_rate"), _pushed, None, "N m/s, N/s")
power = Measure("power", _powers, _pushed, None, "W")
joint_force = Measure("joint_force", Norms(0), _links, None, "N", True)
joint_moment = Measure("joint_moment", Norms(3), _links, None, "N m", True)
loop_position = Measure("loop_position", Asked("loop_positions"), _loop_names, _loop_ranges, "rad, m")
"""Of joints that loops move, which have no profiles."""
loop_velocity = Measure("loop_velocity", Asked("loop_velocities"), _loop_names, _loop_speeds, "rad/s, m/s")
turned = Measure("squared turn from the reference", _turns, _turning, None, "rad^2", True)
"""Of rotation vectors: they must stay below half a turn."""
MEASURES: dict[str, Measure] = {
    each.name: each
    for each in (
        position, velocity, acceleration, jerk, torque, torque_rate, power, joint_force, joint_moment
    )
}  # fmt: skip
"""Those that have no arguments, by name."""


def _built_in(name: str) -> Measure | None:
    return MEASURES.get(name) or next((x for x in (turned, loop_position, loop_velocity) if x.name == name), None)


OF_ROBOT = (position, velocity, torque, loop_position, loop_velocity)
"""Those for which a robot's joints have limits."""


def frame_position(frame: str) -> Measure:
    """Origin of a link or frame in the base frame, (3), m.

    >>> frame_position("tool").labels(None)
    ('tool.x', 'tool.y', 'tool.z')
    """
    (frame,) = names("frame_position: frame", [frame])
    labels = tuple(f"{frame}.{axis}" for axis in "xyz")
    return Measure(f"position of {frame}", Origin(frame), Fixed(labels), None, "m")


def clear_of(balls: Sequence[Ball], obstacles: Sequence[Obstacle] = (), margin: float = 0.0, own: Any = ()) -> Limit:
    """The robot, as balls on its frames, keeps ``margin`` (m) from obstacles, and by ``own`` from itself.

    ``own``: pairs of frames, all of whose balls keep clear of each other, or "all".

    >>> from neuler import plan
    >>> wall = plan.HalfSpace((0.0, 0.5, 0.0), (0.0, -1.0, 0.0))
    >>> clear_of([plan.Ball("tool", 0.05)], [wall], margin=0.01).lower
    0.01
    """
    found = clearance(balls, obstacles, margin, own)
    return limit(Measure("clearance", Distances(found), Fixed(tuple(found.labels)), None, "m"), found.margin)


@dataclass(frozen=True, eq=False)
class Limit:
    """lower <= measure <= upper at all times, or in a window of shares of a phase."""

    measure: Measure
    lower: Any = None
    upper: Any = None
    joints: tuple[str, ...] | None = None
    when: tuple[float, float] = (0.0, 1.0)
    lazy: bool = False
    """Left out until a check finds it violated."""
    own: bool = False
    """Bounds are those of the robot's joints, which :meth:`of` looks up."""

    def of(self, model: Model) -> Limit:
        """The limit with its bounds as numbers."""
        if not self.own:
            return self
        assert self.measure.of_robot is not None
        low, high = self.measure.of_robot(model)
        found = replace(self, lower=low, upper=high, own=False)
        chosen = np.array(found.bounds(self.measure.labels(model) if self.measure.labels else ()))
        if not np.isfinite(chosen).any():
            of = f" of {', '.join(self.joints)}" if self.joints else ""
            raise InputError(
                f"within: robot {model.robot.name!r} has no limits of {self.measure.name}{of}; give a bound: "
                f"within({self.measure.name}, 10.0)"
            )
        return found

    def covers(self, labels: Sequence[str]) -> tuple[Any, Any]:
        """Rows whose lower, and whose upper bounds are given, be they infinite."""
        found = []
        for given in (self.lower, self.upper):
            rows = np.zeros(len(labels), dtype=bool)
            if isinstance(given, Mapping):
                rows[[row for name in given for row in named_rows(name, labels)]] = True
            elif given is not None:
                rows[:] = True
            if self.joints is not None:
                chosen = [row for name in self.joints for row in named_rows(name, labels)]
                rows &= np.isin(np.arange(len(labels)), chosen)
            found.append(rows)
        return found[0], found[1]

    def bounds(self, labels: Sequence[str]) -> tuple[Array, Array]:
        """Of every row, infinite where there is none."""
        low = self._side(labels, self.lower, -np.inf, "lower")
        high = self._side(labels, self.upper, np.inf, "upper")
        if self.joints is not None:
            wanted = np.zeros(len(labels), dtype=bool)
            for name in self.joints:
                rows = named_rows(name, labels)
                if not rows:
                    raise InputError(f"limit of {self.measure.name}: there is no {name!r}; {hint(name, labels)}")
                wanted[rows] = True
            low, high = np.where(wanted, low, -np.inf), np.where(wanted, high, np.inf)
        crossed = np.flatnonzero(low > high)
        if len(crossed):
            k = int(crossed[0])
            who = f" of {labels[k]}" if labels[k] else ""
            raise InputError(
                f"limit of {self.measure.name}{who}: the lower bound {low[k]:g} is above the upper bound {high[k]:g}"
            )
        return low, high

    def _side(self, labels: Sequence[str], given: Any, none: float, side: str) -> Array:
        what = f"limit of {self.measure.name}: {side} bound"
        if given is None:
            return np.full(len(labels), none)
        if isinstance(given, Mapping):
            found = np.full(len(labels), none)
            for name, value in given.items():
                rows = named_rows(name, labels)
                if not rows:
                    raise InputError(f"{what}: there is no {name!r}; {hint(name, labels)}")
                found[rows] = number(f"{what} of {name}", value, finite=False)
            return found
        array = real(given)
        if array is None:
            raise InputError(f"{what} must be a number, {len(labels)} of them or a mapping by joint, got {given!r:.60}")
        if array.shape not in ((), (1,), (len(labels),)):
            raise InputError(f"{what} must be a number or {len(labels)} of them, one for each row, got {array.shape}")
        if np.isnan(array).any():
            raise InputError(f"{what} is NaN; leave it away where there is none")
        if (array == -none).any():
            raise InputError(f"{what} is {-none}: nothing can hold it; leave it away where there is none")
        return np.broadcast_to(array, (len(labels),)).copy()


PARTS = frozenset(
    ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz", "fx", "fy", "fz", "mx", "my", "mz")
)  # fmt: skip
"""What rows of a joint with several coordinates, or of a frame, are called behind its name."""


def named_rows(name: str, labels: Sequence[str]) -> list[int]:
    """Rows of a name: the one that is called so, else those of its parts.

    >>> named_rows("arm", ["arm", "arm_2"]), named_rows("base", ["base_vx", "base_vy", "base_2"])
    ([0], [0, 1])
    """
    exact = [k for k, label in enumerate(labels) if label == name]
    if exact:
        return exact
    heads = tuple(f"{name}{between}" for between in "_.")
    return [k for k, label in enumerate(labels) if label.startswith(heads) and label[len(name) + 1 :] in PARTS]


def limit(
    measure: Measure,
    lower: Any = None,
    upper: Any = None,
    *,
    joints: str | Sequence[str] | None = None,
    when: tuple[float, float] = (0.0, 1.0),
    lazy: bool = False,
) -> Limit:
    """lower <= measure <= upper: bounds are numbers, one for each row, or mappings by joint; None is none.

    ``joints`` takes some rows by their names, ``when`` a window of shares of the phase. A ``lazy`` limit is left out
    of the programme at first, where it is rarely met, checked after the solve, and added where it was violated.
    """
    if not isinstance(measure, Measure):
        raise InputError(f"limit: a measure is needed, plan.torque or one of plan.measure(...), got {measure!r:.60}")
    if lower is None and upper is None:
        raise InputError(f"limit of {measure.name}: give a lower bound, an upper bound or both")
    window = real(when)
    if window is None or window.shape != (2,) or not 0.0 <= window[0] <= window[1] <= 1.0:
        raise InputError(f"limit of {measure.name}: when must be two shares, 0 <= a <= b <= 1, got {when!r:.60}")
    chosen = None if joints is None else names(f"limit of {measure.name}: joints", joints)
    return Limit(measure, lower, upper, chosen, (float(window[0]), float(window[1])), bool(lazy))


def below_half_a_turn() -> Limit:
    """Rotation vectors stay where they are unique."""
    return Limit(turned, None, WIDEST**2)


def within(measure: Measure, bound: Any = None, **options: Any) -> Limit:
    """-bound <= measure <= bound; without a bound, the limits that the robot's own joints have.

    The latter exist of position, velocity and torque. A plan keeps them anyway, unless it is told
    ``robot_limits=False``.

    >>> within(torque, 10.0).upper
    10.0
    >>> within(torque).own
    True
    """
    if bound is None and isinstance(measure, Measure):
        if measure.of_robot is None:
            having = ", ".join(each.name for each in OF_ROBOT if each.name in MEASURES)
            raise InputError(
                f"within: robots have no limits of {measure.name} (they have of {having}); give a bound: "
                f"within({measure.name}, 10.0)"
            )
        return replace(limit(measure, 0.0, **options), lower=None, own=True)
    if isinstance(bound, Mapping):
        below = {name: -number(f"bound of {name}", value, finite=False) for name, value in bound.items()}
        return limit(measure, below, dict(bound), **options)
    size = real(bound)
    if size is None:
        raise InputError(f"within: bound must be a number or several, got {bound!r:.60}")
    return limit(measure, -size if size.ndim else -float(size), size if size.ndim else float(size), **options)

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
from neuler.motions.motion import MEASURES as BY_NAME
from neuler.motions.motion import moving_links
from neuler.naming import hint
from neuler.optimize.programme import Array
from neuler.plan.clearance import Ball, Clearance, Obstacle, clearance
from neuler.plan.moment import Moment
from neuler.plan.phase_robot import PhaseRobot
from neuler.plan.rotations import WIDEST, turn_rows

OfOneMoment = Callable[[Moment], Any]
Labels = Callable[[PhaseRobot], Sequence[str]]
RobotBounds = Callable[[PhaseRobot], tuple[Array, Array]]
SMOOTH = 1e-4
"""Forces (N, N m) below which norms are rounded off, that they have derivatives at zero."""


@dataclass(frozen=True)
class Measure:
    """A named vector that depends on one moment of a motion; ``unit`` is for figures."""

    name: str
    rows: OfOneMoment = field(repr=False)
    labels: Labels | None = field(default=None, repr=False)
    of_robot: RobotBounds | None = field(default=None, repr=False)
    """Limits that the robot's own joints have."""
    unit: str = ""
    positive: bool = False
    """Whether it is never below zero."""

    def __reduce__(self) -> Any:
        if _built_in(self.name) is self:  # pickled, it is itself again
            return _built_in, (self.name,)
        return Measure, (self.name, self.rows, self.labels, self.of_robot, self.unit, self.positive)

    def along(self, motion: Any, t: Array) -> Array:
        """The measure along a motion at times t (N,), (N, rows)."""
        from neuler.plan.spline_motion import measured

        return measured(self, motion, t)

    def row_names(self, robot: PhaseRobot, count: int) -> list[str]:
        """A label for each of its rows."""
        if self.labels is not None:
            return list(self.labels(robot))
        return [""] if count == 1 else [str(k) for k in range(count)]


def measure(f: OfOneMoment, name: str, *, labels: Sequence[str] | None = None, unit: str = "") -> Measure:
    """A measure of your own: ``f(moment)`` gives an array of traced values, made as in ``neuler.function``.

    >>> lift = measure(lambda moment: moment.tau @ moment.speeds, "power in all", unit="W")
    >>> lift.name
    'power in all'
    """
    if not callable(f):
        raise InputError(f"measure {name!r}: a function of a moment is needed, got {type(f).__name__}")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"measure: a name is needed, got {name!r}")
    return Measure(
        name, f, None if labels is None else ConstantLabels(names(f"measure {name!r}: labels", labels)), None, unit
    )


@dataclass(frozen=True)
class ConstantLabels:
    """Labels that are the same for every robot."""

    labels: tuple[str, ...]

    def __call__(self, robot: PhaseRobot) -> Sequence[str]:
        """The labels."""
        return self.labels


@dataclass(frozen=True)
class OfMoment:
    """Rows that a moment has under a name."""

    name: str

    def __call__(self, moment: Moment) -> Any:
        """The rows."""
        return getattr(moment, self.name)


@dataclass(frozen=True)
class ReactionNorms:
    """Sizes of the forces (or, from column 3 on, moments) inside all joints that move."""

    first: int

    def __call__(self, moment: Moment) -> Any:
        """One for each joint."""
        parts = [moment.reactions[k][self.first : self.first + 3] for _, k in moving_links(moment.robot)]
        return [nm.sqrt(part @ part + SMOOTH**2) for part in parts]


@dataclass(frozen=True)
class Origin:
    """The origin of a frame."""

    frame: str

    def __call__(self, moment: Moment) -> Any:
        """Its position in the base frame, (3)."""
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


def _profiles(robot: PhaseRobot) -> list[str]:
    return robot.names


def _of_joints(robot: PhaseRobot, *names: str) -> Array:
    """Limits of plain joints, one row for each name."""
    found = np.full((len(names), robot.profile_count), np.inf)
    for k, entry in enumerate(robot.entries):
        if entry is not None and entry.quaternion is None and entry.nv == 1:
            found[:, k] = [getattr(entry.joint.limits, name) for name in names]
        else:
            found[:, k] = [-np.inf if name == "lower" else np.inf for name in names]
    return found


def _positions(robot: PhaseRobot) -> tuple[Array, Array]:
    low, high = _of_joints(robot, "lower", "upper")
    return low, high


def _speeds(robot: PhaseRobot) -> tuple[Array, Array]:
    (most,) = _of_joints(robot, "velocity")
    return -most, most


def _efforts(robot: PhaseRobot) -> tuple[Array, Array]:
    return -robot.efforts, robot.efforts


def _driven(robot: PhaseRobot) -> list[str]:
    return [robot.tau_names[k] for k in robot.driven]


def _links(robot: PhaseRobot) -> list[str]:
    return [name for name, _ in moving_links(robot.robot)]


def _powers(moment: Moment) -> Any:
    return moment.tau * moment.speeds


def _turns(moment: Moment) -> Any:
    c = moment.positions
    return [sum(c[k] * c[k] for k in places) for _, places in turn_rows(moment.model.coordinates)]


def _turning(robot: PhaseRobot) -> list[str]:
    return [name for name, _ in turn_rows(robot.coordinates)]


def _loop_names(robot: PhaseRobot) -> list[str]:
    return [entry.name for entry, _ in robot.loop_joints]


def _loop_ranges(robot: PhaseRobot) -> tuple[Array, Array]:
    sides = np.array([(entry.joint.limits.lower, entry.joint.limits.upper) for entry, _ in robot.loop_joints]).reshape(
        -1, 2
    )
    return sides[:, 0], sides[:, 1]


def _loop_speeds(robot: PhaseRobot) -> tuple[Array, Array]:
    most = np.array([entry.joint.limits.velocity for entry, _ in robot.loop_joints])
    return -most, most


position = Measure("position", OfMoment("positions"), _profiles, _positions, "rad, m")
velocity = Measure("velocity", OfMoment("qd"), _profiles, _speeds, "rad/s, m/s")
acceleration = Measure("acceleration", OfMoment("qdd"), _profiles, None, "rad/s^2, m/s^2")
jerk = Measure("jerk", OfMoment("qddd"), _profiles, None, "rad/s^3, m/s^3")
torque = Measure("torque", OfMoment("tau"), _driven, _efforts, "N m, N")
torque_rate = Measure("torque_rate", OfMoment("tau_rate"), _driven, None, "N m/s, N/s")
power = Measure("power", _powers, _driven, None, "W")
joint_force = Measure("joint_force", ReactionNorms(0), _links, None, "N", True)
joint_moment = Measure("joint_moment", ReactionNorms(3), _links, None, "N m", True)
loop_position = Measure("loop_position", OfMoment("loop_positions"), _loop_names, _loop_ranges, "rad, m")
"""Positions of the joints that loops move, which have no profiles."""
loop_velocity = Measure("loop_velocity", OfMoment("loop_velocities"), _loop_names, _loop_speeds, "rad/s, m/s")
squared_rotation = Measure("squared turn from the reference", _turns, _turning, None, "rad^2", True)
"""The squares of rotation vectors' lengths: they must stay below half a turn."""
MEASURES: dict[str, Measure] = {
    each.name: each
    for each in (
        position, velocity, acceleration, jerk, torque, torque_rate, power, joint_force, joint_moment
    )
}  # fmt: skip
"""Measures without arguments, by name."""
BY_NAME.update(MEASURES)


def _built_in(name: str) -> Measure | None:
    return MEASURES.get(name) or next(
        (x for x in (squared_rotation, loop_position, loop_velocity) if x.name == name), None
    )


OF_ROBOT = (position, velocity, torque, loop_position, loop_velocity)
"""Those for which a robot's joints have limits."""


@dataclass(frozen=True)
class FrameVelocity:
    """The velocity of a frame: of its origin, then angular."""

    frame: str

    def __call__(self, moment: Moment) -> Any:
        """In the axes of the base frame, (6)."""
        return moment.frame_velocity(self.frame)


def frame_velocity(frame: str) -> Measure:
    """Velocity of a link or frame in the axes of the base frame, (6): of its origin (m/s), then angular (rad/s).

    >>> frame_velocity("tool").labels(None)[:2]
    ('tool.vx', 'tool.vy')
    """
    (frame,) = names("frame_velocity: frame", [frame])
    labels = tuple(f"{frame}.{kind}{axis}" for kind in "vw" for axis in "xyz")
    return Measure(f"velocity of {frame}", FrameVelocity(frame), ConstantLabels(labels), None, "m/s, rad/s")


def frame_position(frame: str) -> Measure:
    """Origin of a link or frame in the base frame, (3), m.

    >>> frame_position("tool").labels(None)
    ('tool.x', 'tool.y', 'tool.z')
    """
    (frame,) = names("frame_position: frame", [frame])
    labels = tuple(f"{frame}.{axis}" for axis in "xyz")
    return Measure(f"position of {frame}", Origin(frame), ConstantLabels(labels), None, "m")


def clear_of(balls: Sequence[Ball], obstacles: Sequence[Obstacle] = (), margin: float = 0.0, own: Any = ()) -> Limit:
    """The robot, as balls on its frames, keeps ``margin`` (m) from obstacles, and by ``own`` from itself.

    ``own``: pairs of frames, all of whose balls keep clear of each other, or "all".

    >>> from neuler import plan
    >>> wall = plan.HalfSpace((0.0, 0.5, 0.0), (0.0, -1.0, 0.0))
    >>> clear_of([plan.Ball("tool", 0.05)], [wall], margin=0.01).lower
    0.01
    """
    found = clearance(balls, obstacles, margin, own)
    return limit(Measure("clearance", Distances(found), ConstantLabels(tuple(found.labels)), None, "m"), found.margin)


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

    def of(self, robot: PhaseRobot) -> Limit:
        """The limit with its bounds as numbers."""
        if not self.own:
            return self
        assert self.measure.of_robot is not None
        low, high = self.measure.of_robot(robot)
        found = replace(self, lower=low, upper=high, own=False)
        chosen = np.array(found.bounds(self.measure.labels(robot) if self.measure.labels else ()))
        if not np.isfinite(chosen).any():
            of = f" of {', '.join(self.joints)}" if self.joints else ""
            raise InputError(
                f"within: robot {robot.robot.name!r} has no limits of {self.measure.name}{of}; give a bound: "
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
    return Limit(squared_rotation, None, WIDEST**2)


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

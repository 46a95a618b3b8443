"""Measures: named vectors that depend on one moment of a motion; limits bound them, objectives weigh them.

>>> torque.name, torque.unit
('torque', 'N m, N')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.errors import InputError
from neuler.inputs import names
from neuler.moments.clearance import Clearance
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot, moving_links
from neuler.moments.rotations import turn_rows
from neuler.naming import hint

Array = NDArray[np.float64]
OfOneMoment = Callable[[Moment], Any]
Labels = Callable[[MovingRobot], Sequence[str]]
RobotBounds = Callable[[MovingRobot], tuple[Array, Array]]
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

    def row_names(self, robot: MovingRobot, count: int) -> list[str]:
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

    def __call__(self, robot: MovingRobot) -> Sequence[str]:
        """The same labels, whatever the robot."""
        return self.labels


@dataclass(frozen=True)
class OfMoment:
    """Rows that a moment has under a name."""

    name: str

    def __call__(self, moment: Moment) -> Any:
        """The attribute of that name of the moment."""
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


def _profiles(robot: MovingRobot) -> list[str]:
    return robot.names


def _of_joints(robot: MovingRobot, *names: str) -> Array:
    """Limits of plain joints, one row for each name."""
    found = np.full((len(names), robot.profile_count), np.inf)
    for k, entry in enumerate(robot.entries):
        if entry is not None and entry.quaternion is None and entry.nv == 1:
            found[:, k] = [getattr(entry.joint.limits, name) for name in names]
        else:
            found[:, k] = [-np.inf if name == "lower" else np.inf for name in names]
    return found


def _positions(robot: MovingRobot) -> tuple[Array, Array]:
    low, high = _of_joints(robot, "lower", "upper")
    return low, high


def _speeds(robot: MovingRobot) -> tuple[Array, Array]:
    (most,) = _of_joints(robot, "velocity")
    return -most, most


def _efforts(robot: MovingRobot) -> tuple[Array, Array]:
    return -robot.efforts, robot.efforts


def _driven(robot: MovingRobot) -> list[str]:
    return [robot.tau_names[k] for k in robot.driven]


def _links(robot: MovingRobot) -> list[str]:
    return [name for name, _ in moving_links(robot.robot)]


def _powers(moment: Moment) -> Any:
    return moment.tau * moment.speeds


def _turns(moment: Moment) -> Any:
    c = moment.positions
    return [sum(c[k] * c[k] for k in places) for _, places in turn_rows(moment.model.coordinates)]


def _turning(robot: MovingRobot) -> list[str]:
    return [name for name, _ in turn_rows(robot.coordinates)]


def _loop_names(robot: MovingRobot) -> list[str]:
    return [entry.name for entry, _ in robot.loop_joints]


def _loop_ranges(robot: MovingRobot) -> tuple[Array, Array]:
    sides = np.array([(entry.joint.limits.lower, entry.joint.limits.upper) for entry, _ in robot.loop_joints]).reshape(
        -1, 2
    )
    return sides[:, 0], sides[:, 1]


def _loop_speeds(robot: MovingRobot) -> tuple[Array, Array]:
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


@dataclass(frozen=True)
class OfGround:
    """A part of what the ground exerts on the robot."""

    part: str

    def __call__(self, moment: Moment) -> Any:
        """The force, or the zero-moment point, (3)."""
        return getattr(moment.ground, self.part)


@dataclass(frozen=True)
class OfContact:
    """What the ground exerts on a contact; zero while there is none of that name."""

    contact: str

    def __call__(self, moment: Moment) -> Any:
        """Force, then moment about the contact's centre, (6)."""
        found = moment.contact_wrenches.get(self.contact)
        return np.zeros(6) if found is None else np.concatenate([found.force, found.moment])


def _axes(name: str) -> ConstantLabels:
    return ConstantLabels(tuple(f"{name}.{axis}" for axis in "xyz"))


ground_force = Measure("ground_force", OfGround("force"), _axes("ground"), None, "N")
"""Resultant force of the ground, (3), in the axes of the base frame; zero without contacts."""
zero_moment_point = Measure("zero_moment_point", OfGround("zero_moment_point"), _axes("ground"), None, "m")
"""Where the moment of the ground has no part along it, (3), in the base frame: the whole's centre of pressure."""


def contact_force(contact: str) -> Measure:
    """What the ground exerts on a contact, by its name, (6): force (N), then moment about its centre (N m).

    In the axes of the base frame; zero in phases without that contact.

    >>> contact_force("left").labels(None)[:2]
    ('left.fx', 'left.fy')
    """
    (contact,) = names("contact_force: contact", [contact])
    labels = tuple(f"{contact}.{kind}{axis}" for kind in "fm" for axis in "xyz")
    return Measure(f"force on {contact}", OfContact(contact), ConstantLabels(labels), None, "N, N m")


def measure_of(what: Any) -> Measure:
    """A measure, or the one that a name means.

    >>> measure_of("power").unit
    'W'
    """
    if isinstance(what, str):
        if what not in MEASURES:
            raise InputError(f"measure: there is no {what!r}; {hint(what, MEASURES)}")
        return MEASURES[what]
    if not isinstance(what, Measure):
        raise InputError(f"measure: one of neuler.plan's measures or its name is needed, got {what!r:.60}")
    return what

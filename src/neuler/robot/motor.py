"""Motors: bodies on any link, with a rotor that spins behind a gear, Hua II.

A motor at rest is a part of its carrier (Hua's unified body). Its spin adds, for rotor speed s about the axis z of the
carrier, the angular momentum I s z: the moments I (s' z + s omega x z) on the carrier, (24), and I (s' + z . omega')
on the shaft, (27), (29). ``mechanism.py`` says the same with bodies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuler.dask_arrays import refuse_dask
from neuler.errors import RobotError
from neuler.inputs import told
from neuler.naming import listed
from neuler.robot.friction import Friction, check_law
from neuler.robot.joint import Joint
from neuler.robot.kinds.kind import InARow
from neuler.robot.numbers import finite, vector
from neuler.robot.transform import Transform, Vec3

if TYPE_CHECKING:
    from neuler.robot.model import Robot

_SINGULAR = 1e-10
"""Of a transmission's largest singular value: a smaller one is none."""
_LARGEST = 1e50
"""Of a ratio, whose square multiplies inertias and friction; and one over it the least."""


@dataclass(frozen=True)
class Motor:
    """A motor that drives ``joint`` through a gear; it sits on any link.

    ``ratio``: turns of the rotor for one of the joint (of a slide rad/m), with the sign of the turn about ``axis``;
    where one motor turns several joints, or several motors one, a ratio a joint: ``{"joint5": 50, "joint6": -50}``.
    Rotor angle = sum of ratio x theta, with theta on the output side of the gear.

    ``carrier``: the link it sits on, by default the joint's parent. ``axis``: of the rotor in the carrier's frame, by
    default the joint's own where the carrier is its parent. ``inertia`` (kg m^2) of what turns, on the motor's side:
    (xx, yy, zz) with z along the axis, about the centre of mass, or zz alone. ``mass`` (kg) and ``position`` (m) of the
    motor's centre of mass in the carrier's frame. ``included``: the carrier's data contain the motor at rest, as those
    of most files do; the spin alone is added then.

    ``stiffness`` (N m/rad, on the output side) and ``damping`` of a spring between the gear and the joint: with one,
    theta is a coordinate of its own, named ``joint3.motor``; without (infinite) the drive is rigid and theta = q.

    ``viscous`` (N m s/rad), ``coulomb`` and ``coulomb_reverse`` (N m), and a law ``friction``: on the motor's side, at
    the rotor's speed. ``coupled=False``: as many models have it, the rotor's spin is felt along theta alone, and not
    by the carrier: reflected inertia of rigid drives, and Spong's model of elastic ones.

    >>> import neuler
    >>> motor = neuler.Motor("m2", "joint2", ratio=100, inertia=1e-4, included=True)
    >>> arm = neuler.robots.two_link().replace(motors=[motor])
    >>> more = arm.mass_matrix([0, 0]) - neuler.robots.two_link().mass_matrix([0, 0])
    >>> more.round(6).tolist()  # it turns with link 1, too
    [[0.0, 0.01], [0.01, 1.0]]
    """

    name: str
    joint: str
    ratio: float | Mapping[str, float] | tuple[tuple[str, float], ...] = 1.0
    carrier: str = ""
    axis: Vec3 | None = None
    inertia: Vec3 | float = 0.0
    mass: float = 0.0
    position: Vec3 | None = None
    included: bool = False
    stiffness: float = math.inf
    damping: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_reverse: float | None = None
    coupled: bool = True
    friction: Friction | None = None

    def __post_init__(self) -> None:
        owner = f"motor {self.name!r}"
        for field in ("name", "joint"):
            if not isinstance(getattr(self, field), str) or not getattr(self, field):
                raise RobotError(f"{owner}: {field} must be a name, got {getattr(self, field)!r}")
        if not isinstance(self.carrier, str):
            raise RobotError(f"{owner}: carrier must be the name of a link, got {self.carrier!r}")
        for field in ("included", "coupled"):
            if not isinstance(getattr(self, field), bool | np.bool_):
                raise RobotError(f"{owner}: {field} must be True or False, got {getattr(self, field)!r}")
            object.__setattr__(self, field, bool(getattr(self, field)))
        self._set("ratio", self._ratios(owner))
        if self.axis is not None:
            axis = np.array(vector(owner, "axis", self.axis, 3))
            norm = float(np.linalg.norm(axis))
            if norm < 1e-9:
                raise RobotError(f"{owner}: the axis has no direction, got {axis.tolist()}; give a unit vector")
            self._set("axis", tuple((axis / norm + 0.0).tolist()))
        self._set("inertia", self._moments(owner))
        if self.position is not None:
            self._set("position", vector(owner, "position", self.position, 3))
        for field in ("mass", "damping", "viscous", "coulomb"):
            self._set(field, _not_negative(owner, field, getattr(self, field)))
        if self.coulomb_reverse is not None:
            self._set("coulomb_reverse", _not_negative(owner, "coulomb_reverse", self.coulomb_reverse))
        self._check_spring(owner)
        check_law(owner, self.friction)
        if self.friction is not None and self.friction.loaded and not self.elastic:
            raise RobotError(
                f"{owner}: has no force of its own that its friction could depend on, for the drive is rigid; give "
                f"load-dependent friction to joint {self.joint!r}"
            )

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _ratios(self, owner: str) -> tuple[tuple[str, float], ...]:
        """By joint, the motor's own first."""
        given = self.ratio
        if isinstance(given, Mapping):
            pairs = list(given.items())
        elif isinstance(given, tuple | list) and all(
            isinstance(each, tuple | list) and len(each) == 2 for each in given
        ):
            pairs = [(each[0], each[1]) for each in given]
        else:
            pairs = [(self.joint, given)]  # type: ignore[list-item]
        found = {name: finite(owner, f"ratio of {name!r}", value) for name, value in pairs}
        for name, value in found.items():
            if value == 0.0:
                raise RobotError(
                    f"{owner}: the ratio of joint {name!r} is zero; a motor that does not turn drives nothing"
                )
            if not 1.0 / _LARGEST <= abs(value) <= _LARGEST:
                raise RobotError(
                    f"{owner}: the ratio of joint {name!r} is {value:g}; expected turns of the rotor for one of the "
                    f"joint, from {1.0 / _LARGEST:g} to {_LARGEST:g}"
                )
        if self.joint not in found:
            raise RobotError(f"{owner}: its joint {self.joint!r} has no ratio; there are {listed(self.joint, found)}")
        return tuple(sorted(found.items(), key=lambda each: each[0] != self.joint))

    def _moments(self, owner: str) -> Vec3:
        refuse_dask(owner, "inertia", self.inertia, error=RobotError)
        try:
            given = np.asarray(self.inertia, dtype=float)
        except (TypeError, ValueError, OverflowError):
            given = np.array([math.nan])
        if given.shape == ():
            given = np.array([0.0, 0.0, float(given)])
        if given.shape != (3,) or not np.isfinite(given).all():
            raise RobotError(f"{owner}: inertia must be (xx, yy, zz) or zz alone, got {told(self.inertia)}")
        if (given < 0).any():
            raise RobotError(f"{owner}: moments of inertia must not be negative, got {given.tolist()}")
        x, y, z = given.tolist()
        return (x, y, z)

    def _check_spring(self, owner: str) -> None:
        try:
            stiffness = float(self.stiffness)
        except (TypeError, ValueError, OverflowError):
            stiffness = math.nan
        if not stiffness > 0.0:
            raise RobotError(
                f"{owner}: the stiffness must be greater than zero, got {told(self.stiffness)}; leave it out for a "
                "rigid drive, and leave out the motor where nothing holds the joint"
            )
        self._set("stiffness", stiffness)
        if self.damping and not self.elastic:
            raise RobotError(f"{owner}: damping belongs to a spring; give a stiffness, or viscous friction instead")
        if self.elastic and self.rotor == 0.0:
            raise RobotError(f"{owner}: an elastic drive needs a rotor inertia, or its acceleration is not defined")

    @property
    def elastic(self) -> bool:
        """Whether a spring stands between gear and joint."""
        return math.isfinite(self.stiffness)

    @property
    def ratios(self) -> dict[str, float]:
        """Turns of the rotor for one of each joint."""
        return dict(self.ratio)  # type: ignore[arg-type]

    @property
    def moments(self) -> Vec3:
        """xx, yy, zz (kg m^2) about the centre of mass, z along the axis."""
        assert isinstance(self.inertia, tuple)
        return self.inertia

    @property
    def rotor(self) -> float:
        """Inertia about the axis (kg m^2)."""
        return self.moments[2]


def _not_negative(owner: str, field: str, value: object) -> float:
    found = finite(owner, field, value)  # type: ignore[arg-type]
    if found < 0.0:
        raise RobotError(f"{owner}: {field} must not be negative, got {found}")
    return found


# ---- checks ------------------------------------------------------------------------------------------------


def check_motors(owner: str, robot: Robot) -> None:
    """Each names what exists; together they decide the motion of the joints they drive."""
    joints = {joint.name: joint for joint in robot.joints}
    followers = {coupling.joint for coupling in robot.couplings}
    names: set[str] = set()
    springs: set[str] = set()
    for motor in robot.motors:
        if not isinstance(motor, Motor):
            raise RobotError(f"{owner}: expected a Motor, got {motor!r}")
        if motor.name in names:
            raise RobotError(f"{owner}: two motors are named {motor.name!r}")
        names.add(motor.name)
        for name in motor.ratios:
            _check_driven(motor, name, joints, followers)
        if motor.carrier and motor.carrier not in robot.link_names:
            raise RobotError(
                f"motor {motor.name!r}: there is no link {motor.carrier!r} to carry it; "
                f"{owner} has {listed(motor.carrier, robot.link_names)}"
            )
        seat(motor, joints[motor.joint])
        if motor.elastic and motor.joint in springs:
            raise RobotError(f"motor {motor.name!r}: joint {motor.joint!r} has a motor with a spring already")
        springs |= {motor.joint} if motor.elastic else set()
    for group in transmissions(robot.motors):
        _check_transmission(group)


def _check_driven(motor: Motor, name: str, joints: Mapping[str, Joint], followers: set[str]) -> None:
    if name not in joints:
        raise RobotError(f"motor {motor.name!r}: there is no joint {name!r}; there are {listed(name, joints)}")
    joint = joints[name]
    if not joint.type.has_axis:
        raise RobotError(f"motor {motor.name!r}: joint {name!r} is {joint.kind}; a motor drives a joint with one axis")
    if name in followers:
        raise RobotError(f"motor {motor.name!r}: joint {name!r} is coupled to others; drive one that leads it")
    if joint.role != "driven":
        raise RobotError(
            f"motor {motor.name!r}: joint {name!r} has the role {joint.role!r}; a joint with a motor is 'driven'"
        )


def _check_transmission(group: Sequence[Motor]) -> None:
    """Of motors that share joints: the matrix of their ratios must decide the joints."""
    joints = list(dict.fromkeys(name for motor in group for name in motor.ratios))
    matrix = np.array([[motor.ratios.get(name, 0.0) for name in joints] for motor in group])
    scaled = matrix / np.abs(matrix).max(axis=1, keepdims=True)
    values = np.linalg.svd(scaled, compute_uv=False)
    if len(group) < len(joints) or values[-1] < _SINGULAR * values[0]:
        names = ", ".join(repr(motor.name) for motor in group)
        raise RobotError(
            f"the transmission of motors {names} is singular: their ratios do not decide the joints "
            f"{', '.join(map(repr, joints))}; {len(joints)} motors with independent rows of ratios do"
        )


def transmissions(motors: Sequence[Motor]) -> list[list[Motor]]:
    """Motors in groups that share no joint with another group."""
    groups: list[list[Motor]] = []
    for motor in motors:
        touched = [group for group in groups if any(set(each.ratios) & set(motor.ratios) for each in group)]
        groups = [group for group in groups if not any(group is each for each in touched)]
        groups.append([*(each for group in touched for each in group), motor])
    return groups


def seat(motor: Motor, joint: Joint) -> Transform:
    """The motor's frame in its carrier's: z along the axis, the centre of mass as origin."""
    own = not motor.carrier or motor.carrier == joint.parent
    if motor.axis is None and not own:
        raise RobotError(
            f"motor {motor.name!r}: sits on {motor.carrier!r}, which is not the parent of joint {joint.name!r}; "
            "give the axis of its rotor in that link's frame"
        )
    if motor.position is None and not own and motor.mass and not motor.included:
        raise RobotError(
            f"motor {motor.name!r}: has a mass on {motor.carrier!r}, which is not the parent of joint {joint.name!r}; "
            "give the position of its centre of mass in that link's frame"
        )
    axis = np.array(joint.placement.rotation) @ np.array(joint.axis) if motor.axis is None else np.array(motor.axis)
    place = joint.placement.translation if own else (0.0, 0.0, 0.0)
    return Transform(_to(axis), place if motor.position is None else motor.position)


def _to(axis: NDArray[np.float64]) -> tuple[Vec3, Vec3, Vec3]:
    """The smallest rotation that takes z to an axis."""
    x, y, z = axis.tolist()
    a, b, c = (InARow.turned((x, y, z), each) for each in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    return (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])

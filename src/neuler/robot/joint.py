"""Joints, their limits, and frames fixed to links."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from neuler.dask_arrays import refuse_dask
from neuler.errors import RobotError
from neuler.inputs import told
from neuler.naming import closest
from neuler.robot.friction import Friction, check_law
from neuler.robot.kinds import DRIVES, KINDS, Kind
from neuler.robot.numbers import finite, vector
from neuler.robot.transform import Transform, Vec3

ROLES = ("driven", "passive", "elastic", "guide")


@dataclass(frozen=True)
class Limits:
    """Position (rad or m), velocity and effort (N m or N) limits; infinite where there is none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "effort"):
            refuse_dask("limits", name, getattr(self, name), error=RobotError)
            try:
                value = float(getattr(self, name))
            except (TypeError, ValueError, OverflowError):
                value = math.nan
            if math.isnan(value):
                raise RobotError(f"limit {name!r} must be a number, got {told(getattr(self, name))}")
            object.__setattr__(self, name, value + 0.0)

    def led(self, follower: Limits, ratio: float, offset: float) -> Limits:
        """Of a joint that leads another, q = ratio q_of + offset: where both are within theirs.

        >>> Limits(-1.0, 1.0).led(Limits(-1.0, 1.0), -2.0, 0.5)
        Limits(lower=-0.25, upper=0.75, velocity=inf, effort=inf)
        """
        ends = sorted(((follower.lower - offset) / ratio, (follower.upper - offset) / ratio))
        velocity = min(self.velocity, follower.velocity / abs(ratio))
        return Limits(max(self.lower, ends[0]), min(self.upper, ends[1]), velocity, self.effort)


@dataclass(frozen=True)
class Joint:
    """A joint between two links.

    The child's frame at position zero has ``placement`` in the parent link's frame. From there it moves by ``kind``:

    =============  ===================================================  ==========================================
    kind           position                                             velocity
    =============  ===================================================  ==========================================
    revolute       angle about ``axis``, a unit vector of the child     its rate
    prismatic      way along ``axis``                                   its rate
    helical        angle about ``axis``; it slides by ``pitch`` m/rad   its rate
    spherical      quaternion x, y, z, w                                angular velocity in the child's axes
    planar         x, y, angle about ``axis`` (z) of its seat           their rates
    translation    x, y, z, in the axes of its seat                     their rates
    free           x, y, z, quaternion x, y, z, w                       screw (linear; angular) in the child's frame
    spin           angle about ``axis``; the body turns ``gear_ratio``   its rate
                   times as far, its frame stays: flywheels, rotors
    fixed          none                                                 none
    =============  ===================================================  ==========================================

    Loss, drive and spring, all on the joint's side of the gear:

    ``tau = ... + rotor_inertia * qdd + viscous * qd + coulomb * sign(qd) + stiffness * (q - rest)``

    Khalil (31), (69), (70); of several velocities each has the same ``viscous``. ``coulomb_reverse`` is the magnitude
    for negative velocity where it differs. ``friction`` is a law besides: ``Stribeck``, ``LoadDependent``, or
    ``Coulomb`` with a width, for optimisers.
    ``gear_ratio`` (motor turns per joint turn) is kept for information; of a ``spin`` it counts. ``role`` says who
    moves the joint: a motor (``driven``), nobody (``passive``), or its spring (``elastic``: the default where there
    is stiffness). A ``guide`` is no joint of the machine: it says how loops let its child move, and carries nothing.
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Transform = field(default_factory=Transform)
    axis: Vec3 = (0.0, 0.0, 1.0)
    limits: Limits = field(default_factory=Limits)
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_reverse: float | None = None
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    stiffness: float = 0.0
    rest: float = 0.0
    role: str = ""
    pitch: float = 0.0
    friction: Friction | None = None

    def __post_init__(self) -> None:
        owner = f"joint {self.name!r}"
        if self.kind not in KINDS:
            raise RobotError(f"{owner}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}{_meant(self.kind)}")
        for name, kind in (("placement", Transform), ("limits", Limits)):
            if not isinstance(getattr(self, name), kind):
                raise RobotError(f"{owner}: {name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        axis = np.array(vector(owner, "axis", self.axis, 3))
        if self.type.has_axis or self.type.elements:
            largest = float(np.abs(axis).max())
            axis = axis / largest if largest > 1e100 else axis
            norm = float(np.linalg.norm(axis))
            if norm < 1e-9:
                raise RobotError(f"{owner}: the axis has no direction, got {axis.tolist()}; give a unit vector")
            axis = axis / norm if abs(norm - 1.0) > 1e-15 else axis
        object.__setattr__(self, "axis", tuple((axis + 0.0).tolist()))
        for name in ("viscous", "coulomb", "rotor_inertia", "gear_ratio", "stiffness", "rest", "pitch"):
            object.__setattr__(self, name, finite(owner, name, getattr(self, name)))
        if self.stiffness < 0:
            raise RobotError(f"{owner}: the stiffness must not be negative, got {self.stiffness}")
        check_law(owner, self.friction)
        self._check_role(owner)
        if self.coulomb_reverse is not None:
            object.__setattr__(self, "coulomb_reverse", finite(owner, "coulomb_reverse", self.coulomb_reverse))

    def _check_role(self, owner: str) -> None:
        role = self.role or ("passive" if self.type.always_passive else "elastic" if self.stiffness else "driven")
        if role not in ROLES:
            raise RobotError(f"{owner}: role must be one of {', '.join(ROLES)}, got {self.role!r}")
        for name in DRIVES:
            if getattr(self, name) and name not in self.type.drives:
                raise RobotError(f"{owner}: a {self.kind} joint has no {name.replace('_', ' ')}; use external wrenches")
        if role == "elastic" and not self.stiffness:
            raise RobotError(f"{owner}: an elastic joint needs a stiffness; a joint that nobody moves is passive")
        object.__setattr__(self, "role", role)
        if self.type.always_passive and role != "passive":
            raise RobotError(f"{owner}: a {self.kind} joint is passive, it cannot be {role}")
        if self.friction is not None and self.friction.loaded and self.moves and role != "driven":
            raise RobotError(
                f"{owner}: load-dependent friction is that of a drive, and the joint is {role}; give it to the motor, "
                "or take a law of the speed alone"
            )
        if self.pitch and not self.type.has_pitch:
            raise RobotError(f"{owner}: a {self.kind} joint has no pitch; a helical one has")

    @property
    def type(self) -> Kind:
        """What its kind is: how it moves, and what may drive it."""
        return KINDS[self.kind]

    @property
    def coulomb_both(self) -> tuple[float, float]:
        """Magnitudes of Coulomb friction forward and in reverse."""
        return self.coulomb, self.coulomb if self.coulomb_reverse is None else self.coulomb_reverse

    @property
    def inner(self) -> bool:
        """Whether it is a part of a motor: such joints stand last, and their links are not shown."""
        return False

    @property
    def series(self) -> tuple[str, float, float] | None:
        """Of a motor's shaft: the joint at the other end of its spring, stiffness and damping."""
        return None

    @property
    def turns_per_unit(self) -> float:
        """Of a rotor, turns for one of its coordinate, at whose speed its friction is counted."""
        return self.gear_ratio if self.type.geared else 1.0

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.type.nv > 0

    @property
    def nq(self) -> int:
        """The number of its position coordinates."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """The number of its velocity coordinates."""
        return self.type.nv


_OTHER_NAMES = {
    "continuous": "a 'revolute' joint without limits",
    "hinge": "a 'revolute' joint",
    "rotary": "a 'revolute' joint",
    "rotational": "a 'revolute' joint",
    "slide": "a 'prismatic' joint",
    "slider": "a 'prismatic' joint",
    "linear": "a 'prismatic' joint",
    "translational": "a 'prismatic' joint",
    "floating": "a 'free' joint",
    "freeflyer": "a 'free' joint",
    "weld": "a 'fixed' joint",
    "rigid": "a 'fixed' joint",
    "ball": "a 'spherical' joint",
    "screw": "a 'helical' joint",
    "cartesian": "a 'translation' joint",
    "universal": "two 'revolute' joints whose axes meet in a point",
    "cylindrical": "a 'revolute' and a 'prismatic' joint on one axis",
}
"""What kinds of joints are called elsewhere, and what they are here."""


def _meant(kind: object) -> str:
    name = str(kind).lower().replace("_", "").replace("-", "").replace(" ", "")
    if name in _OTHER_NAMES:
        return f"; that is {_OTHER_NAMES[name]} here"
    likely = closest(kind, KINDS)
    return f"; did you mean {likely!r}?" if likely else ""


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a link: a tool, a sensor, a contact."""

    name: str
    link: str
    placement: Transform = field(default_factory=Transform)

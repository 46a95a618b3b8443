"""The form that the recursions read: bodies in canonical frames, numbered outward from the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuler.algebra import vector as vec
from neuler.algebra.placement import STRAIGHT, Placement
from neuler.algebra.pose import Pose
from neuler.algebra.screw import Column, Screw
from neuler.algebra.turns import Angle
from neuler.algebra.vector import Symmetric, Vector
from neuler.robot import Friction, Joint, Transform
from neuler.robot.kinds import KINDS, Kind
from neuler.robot.transform import Vec3, exact_cos_sin
from neuler.robot.value import kept
from neuler.trace.graph import Scalar, cos, sin

REVOLUTE, PRISMATIC, FIXED = 0, 1, 2
"""Values of Khalil's sigma."""
_STILL = KINDS["fixed"]

Place = Placement | Pose
"""Where a frame is in its antecedent's."""


@dataclass(frozen=True)
class Series:
    """The spring and damper between a coordinate theta and another one, q_j, of the tree.

    e = K (theta - q_j) + D (thetad - qd_j): theta needs the force e, q_j needs -e.
    """

    position: int
    """The number of q_j among the tree's positions."""
    velocity: int
    """The number of its rate among the tree's velocities."""
    stiffness: Scalar
    damping: Scalar = 0.0


@dataclass(frozen=True)
class Drive:
    """Loss, rotor and spring of a joint, Khalil (31), (69), (70); all but friction on the joint's side of the gear."""

    viscous: Scalar = 0.0
    coulomb: Scalar = 0.0
    coulomb_reverse: Scalar = 0.0
    rotor_inertia: Scalar = 0.0
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0
    ratio: float = 1.0
    """Turns of the rotor for a unit of the coordinate: friction acts on the rotor, ratio f(ratio qd) on the joint."""
    series: Series | None = None
    """The spring that this coordinate drives another one by."""
    momentum: Vector | None = None
    """Angular momentum of the joint's rotors on its antecedent for a unit of its velocity, in the antecedent's axes
    (kg m^2): n I z. Direct dynamics alone know it; elsewhere rotors are bodies."""

    law: Friction | None = None
    """A friction law besides, on the rotor as well."""

    @classmethod
    def of(cls, joint: Joint) -> Drive:
        """As the joint has them; a Coulomb friction that is not given in reverse is the same both ways."""
        reverse = joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse
        own = (joint.rotor_inertia, joint.stiffness, joint.rest, joint.turns_per_unit)
        return cls(joint.viscous, joint.coulomb, reverse, *own, law=joint.friction)


@dataclass(frozen=True)
class Body:
    """A link in its canonical frame: z along its joint's axis, x along a common normal.

    ``antecedent`` is the number of its parent, Khalil's a(j). The frame's place in the parent's
    is Rot(z, gamma) Tran(p) Rot(x, alpha) Rot(z, theta) Tran(z, r) with theta = q + offset
    (revolute) or r = q (prismatic), or both. A link whose joint has no axis, a free or spherical one, keeps the
    user's frame; its seat on the antecedent is ``mount``.
    """

    name: str
    antecedent: int
    kind: Kind = _STILL
    gamma: Angle = STRAIGHT
    p: Vec3 = (0.0, 0.0, 0.0)
    alpha: Angle = STRAIGHT
    quarters: int = 0
    offset: float = 0.0
    mass: Scalar = 0.0
    first_moment: Vector = (0.0, 0.0, 0.0)
    inertia: Symmetric = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    joint: Joint | None = None
    drive: Drive = Drive()
    coordinate: int | None = None
    """Number of its first velocity."""
    position: int = 0
    """Number of its first position."""
    mount: Transform = field(default_factory=Transform)
    seat: Pose | None = None
    """Of a joint whose placement is no constant: the frame in its antecedent's at position zero."""

    @property
    def joint_name(self) -> str:
        """The name that the user gave its joint."""
        return self.joint.name if self.joint else self.name

    @property
    def sigma(self) -> int | None:
        """Khalil's, of the kinds of joints that the papers have; None for others."""
        return self.kind.sigma

    @property
    @kept
    def columns(self) -> tuple[Column, ...]:
        """How the joint moves, a column a velocity: Khalil's a_j, (16)."""
        return self.kind.columns(self.joint, (0.0, 0.0, 1.0)) if self.joint else ()

    @property
    def freedoms(self) -> tuple[tuple[int, Column], ...]:
        """(number of the velocity, column) of each."""
        first = self.coordinate or 0
        return tuple((first + k, column) for k, column in enumerate(self.columns))

    def relative(self, values: Sequence[Scalar]) -> Screw:
        """The screw of the body relative to its antecedent, from the robot's velocities (or accelerations)."""
        linear, angular = vec.ZERO, vec.ZERO
        for index, column in self.freedoms:
            v, w = column.times(values[index])
            linear, angular = vec.add(linear, v), vec.add(angular, w)
        return linear, angular

    def positions(self, q: Sequence[Scalar]) -> Sequence[Scalar]:
        """The joint's own part of the robot's positions."""
        return q[self.position : self.position + self.kind.nq]

    def place(self, q: Sequence[Scalar]) -> Place:
        """The body's frame in its antecedent's, at the robot's positions q."""
        if self.kind.has_axis:
            assert self.joint is not None
            turn, slide = self.kind.travel(self.joint, q[self.position])
            return self.placement(turn, slide) if self.seat is None else self.seated(turn, slide)
        if not self.columns:
            return self.placement(0.0, 0.0) if self.seat is None else self.seat
        turned, moved = self.kind.pose(self.positions(q))
        seat = self.seat or Pose(self.mount.rotation, self.mount.translation)
        return Pose(vec.product(seat.rotation, turned), vec.add(seat.position, vec.apply(seat.rotation, moved)))

    def seated(self, turn: Scalar, slide: Scalar) -> Pose:
        """The frame behind a joint with an axis on a seat that is no constant."""
        assert self.seat is not None
        c, s = cos(turn), sin(turn)
        about_z = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
        moved = vec.apply(self.seat.rotation, (0.0, 0.0, slide))
        return Pose(vec.product(self.seat.rotation, about_z), vec.add(self.seat.position, moved))

    def placement(self, turn: Scalar, slide: Scalar) -> Placement:
        """The frame behind a joint that has turned about its axis and slid along it."""
        if isinstance(turn, float) and turn == 0.0:
            turned: Angle = exact_cos_sin(self.offset)
        else:
            angle = turn + self.offset if self.offset else turn
            turned = cos(angle), sin(angle)
        c, s = turned
        theta = ((c, s), (-s, c), (-c, -s), (s, -c))[self.quarters]
        return Placement(self.gamma, self.p, self.alpha, theta, slide)


@dataclass(frozen=True)
class Tree:
    """All bodies; ``bodies[0]`` is the base. ``frames`` places every named frame of the robot on a body."""

    name: str
    bodies: tuple[Body, ...]
    gravity: Vector
    frames: dict[str, tuple[int, Transform]] = field(hash=False, compare=False)
    link_names: tuple[str, ...] = ()
    """Of the links that results have rows for, base first."""
    usual: Mapping[int, float] = field(default_factory=dict, hash=False, compare=False)
    """By velocity, where a joint may feel no inertia in some pose: what it feels in others."""

    @property
    def dof(self) -> int:
        """The number of velocity coordinates of all bodies."""
        return sum(len(body.columns) for body in self.bodies)

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """Of the joint behind every velocity."""
        return tuple(body.joint_name for body in self.bodies for _ in body.columns)

    @property
    def base(self) -> Transform:
        """The robot's base frame in the canonical frame of the base."""
        return self.frames[self.link_names[0]][1]

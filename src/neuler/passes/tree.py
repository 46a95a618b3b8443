"""The form that the recursions read: bodies in canonical frames, numbered outward from the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuler.algebra import vector as vec
from neuler.algebra.placement import STRAIGHT, Placement
from neuler.algebra.pose import Pose, rotation
from neuler.algebra.turns import Angle
from neuler.robot import Joint, Transform
from neuler.robot.link import Inertia6
from neuler.robot.transform import Vec3, exact_cos_sin
from neuler.trace.graph import Scalar, cos, sin

REVOLUTE, PRISMATIC, FIXED, FREE = 0, 1, 2, 3
"""Khalil's sigma, and a base that moves."""

Place = Placement | Pose
"""Where a frame is in its antecedent's."""


@dataclass(frozen=True)
class Body:
    """A link in its canonical frame: z along its joint's axis, x along a common normal.

    ``antecedent`` is the number of its parent, Khalil's a(j). The frame's place in the parent's
    is Rot(z, gamma) Tran(p) Rot(x, alpha) Rot(z, theta) Tran(z, r) with theta = q + offset
    (revolute) or r = q (prismatic). A free link keeps the user's frame; its seat on the base is ``mount``.
    """

    name: str
    antecedent: int
    sigma: int = FIXED
    gamma: Angle = STRAIGHT
    p: Vec3 = (0.0, 0.0, 0.0)
    alpha: Angle = STRAIGHT
    quarters: int = 0
    offset: float = 0.0
    mass: float = 0.0
    first_moment: Vec3 = (0.0, 0.0, 0.0)
    inertia: Inertia6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    joint: Joint | None = None
    coordinate: int | None = None
    """Number of its first velocity."""
    position: int = 0
    """Number of its first position."""
    mount: Transform = field(default_factory=Transform)

    @property
    def columns(self) -> tuple[int, ...]:
        """Where the joint moves among (vx, vy, vz, wx, wy, wz): Khalil's a_j, (16)."""
        return {REVOLUTE: (5,), PRISMATIC: (2,), FIXED: (), FREE: (0, 1, 2, 3, 4, 5)}[self.sigma]

    @property
    def freedoms(self) -> tuple[tuple[int, int], ...]:
        """(number of the velocity, column) of each."""
        first = self.coordinate or 0
        return tuple((first + k, column) for k, column in enumerate(self.columns))

    def place(self, q: Sequence[Scalar]) -> Place:
        """The body's frame in its antecedent's, at the robot's positions q."""
        if self.sigma == FREE:
            x, y, z, *turn = q[self.position : self.position + 7]
            seat, at = self.mount.rotation, self.mount.translation
            free = rotation((turn[0], turn[1], turn[2], turn[3]))
            return Pose(vec.product(seat, free), vec.add(at, vec.apply(seat, (x, y, z))))
        return self.placement(0.0 if self.coordinate is None else q[self.position])

    def placement(self, q: Scalar) -> Placement:
        """The frame behind a joint with one coordinate or none, at position q."""
        if self.sigma == REVOLUTE:
            angle = q + self.offset if self.offset else q
            c, s = cos(angle), sin(angle)
        else:
            c, s = exact_cos_sin(self.offset)
        theta = ((c, s), (-s, c), (-c, -s), (s, -c))[self.quarters]
        return Placement(self.gamma, self.p, self.alpha, theta, q if self.sigma == PRISMATIC else 0.0)


@dataclass(frozen=True)
class Tree:
    """All bodies; ``bodies[0]`` is the base. ``frames`` places every named frame of the robot on a body."""

    name: str
    bodies: tuple[Body, ...]
    gravity: Vec3
    frames: dict[str, tuple[int, Transform]] = field(hash=False, compare=False)
    link_names: tuple[str, ...] = ()
    usual: Mapping[int, float] = field(default_factory=dict, hash=False, compare=False)
    """By velocity, where a joint may feel no inertia in some pose: what it feels in others."""

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return sum(len(body.columns) for body in self.bodies)

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """Of the joint behind every velocity."""
        return tuple(body.joint.name if body.joint else body.name for body in self.bodies for _ in body.columns)

    @property
    def base(self) -> Transform:
        """The robot's base frame in the canonical frame of the base."""
        return self.frames[self.link_names[0]][1]

"""What a kind of joint is: everything that the rest of the house asks about it.

A joint lets its child move by columns: the child's screw relative to the parent is ``sum of columns x velocities``,
with columns that are constant in the child's own frame (Khalil's a_j, (16)). A kind says which columns these are,
where the child is at a position, and how positions follow from velocities. A kind that is several simple joints in a
row names them (``elements``) and has nothing else to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuler.algebra import vector as vec
from neuler.algebra.screw import Column
from neuler.algebra.ten import Ten
from neuler.algebra.vector import Matrix, Vector
from neuler.robot.transform import Vec3
from neuler.trace.graph import Scalar

if TYPE_CHECKING:
    from neuler.robot.joint import Joint, Limits
    from neuler.robot.link import Link

Array = NDArray[np.float64]
Part = Sequence[Scalar]
Body = TypeVar("Body", "Link", Ten)
"""Ten inertial parameters, as numbers or over any scalar."""
DRIVES = ("viscous", "coulomb", "coulomb_reverse", "rotor_inertia", "stiffness", "friction")
"""What a motor, a gear and a spring may add to a joint: fields of ``Joint``."""


@dataclass(frozen=True)
class Simple:
    """One of the simple joints that a kind is made of: what its name ends in, its kind and its axis."""

    name: str
    kind: str
    axis: Vec3


class Kind:
    """A kind of joint. One object for all joints of its kind; what differs between them stands in the ``Joint``."""

    name: str
    nq: int
    """Number of position coordinates."""
    nv: int
    """Number of velocity coordinates."""
    sigma: int | None = None
    """Khalil's, of the kinds that he has: 0 revolute, 1 prismatic, 2 fixed."""
    has_axis = False
    """Whether the child moves about or along one axis: its canonical frame has z there."""
    has_pitch = False
    """Whether a turn about the axis slides along it: by ``Joint.pitch``."""
    geared = False
    """Whether the child turns by ``Joint.gear_ratio`` times the coordinate."""
    any_line = False
    """Whether every line along the axis is as good as the axis itself."""
    drives: frozenset[str] = frozenset()
    """Which of ``DRIVES`` it may have."""
    always_passive = False
    """Whether no motor may drive it."""
    turns: tuple[bool, ...] = ()
    """By velocity: whether it is one of turning (rad/s, N m), else of sliding (m/s, N)."""
    quaternion: int | None = None
    """Number of its first position that belongs to a quaternion."""
    parts: tuple[str, ...] = ()
    """Names of its positions where there are several."""
    velocity_parts: tuple[str, ...] = ()
    """Names of its velocities where there are several."""
    elements: tuple[Simple, ...] = ()
    """The simple joints that it is made of, from the parent to the child; none for a simple one."""
    symbol = ""
    """What stands for it in a picture: hinge, slide, screw, ball, plate, cross; nothing for a link that is free."""

    # ---- motion, over any scalar --------------------------------------------------------------

    def columns(self, joint: Joint, axis: Vec3) -> tuple[Column, ...]:
        """The child's screw for a unit of each velocity, in its own axes at its origin; ``axis`` in these axes."""
        raise NotImplementedError

    def travel(self, joint: Joint, q: Scalar) -> tuple[Scalar, Scalar]:
        """Of a kind with an axis: the angle about it and the way along it at a position."""
        raise NotImplementedError

    def pose(self, q: Sequence[Scalar]) -> tuple[Matrix, Vector]:
        """Of a kind without an axis: rotation and origin of the child's frame in its seat."""
        return vec.ONE, vec.ZERO

    def rates(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """The rates dq/dt of the positions at a velocity qd."""
        return list(qd)

    def velocities(self, q: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
        """qd of dq/dt: ``rates`` the other way."""
        return list(rates)

    def integrate(self, q: Sequence[Scalar], qd: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
        """Where q is after the velocity qd has lasted dt."""
        return [x + dt * rate for x, rate in zip(q, qd, strict=True)]

    def way(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """The velocity that leads from one position to another in a second; ``difference`` is the same of arrays."""
        return [b - a for a, b in zip(start, end, strict=True)]

    def way_rates(self, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """d(way)/dt at a velocity qd, where ``integrate(q, way, 1)`` is the position; right to the way's third order.

        Where velocities commute it is qd; else qd + [way, qd] / 2 + [way, [way, qd]] / 12 (Munthe-Kaas 1999).
        """
        return list(qd)

    # ---- positions as arrays --------------------------------------------------------------------

    def difference(self, start: Array, end: Array) -> Array:
        """The velocity that leads from one position to another in a second: (..., nq) twice -> (..., nv)."""
        return end - start

    def neutral(self, limits: Limits) -> tuple[float, ...]:
        """The position at zero, or at the limit next to it."""
        nearest = min(max(0.0, limits.lower), limits.upper) if limits.lower <= limits.upper else 0.0
        return (nearest,) * self.nq

    def spans(self, limits: Limits) -> list[tuple[float, float]]:
        """Bounds for random positions: half a turn or 1 m either way, within the limits."""
        found = []
        for turns in self.turns:
            span = np.pi if turns else 1.0
            lower, upper = max(limits.lower, -span), min(limits.upper, span)
            if lower > upper:  # limits far from zero, or limits that exclude each other
                near = min(max(0.0, limits.lower), limits.upper)
                lower, upper = max(limits.lower, near - span), min(limits.upper, near + span)
            found.append((lower, upper) if lower <= upper else (-span, span))
        return found

    # ---- inertia ----------------------------------------------------------------------------------

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """A link in its canonical frame as what its joint shows, and what acts like a part of the parent.

        Of base parameters, Gautier and Khalil (1990): the second must look the same at every position.
        """
        return link, type(link)("moved")


class Axial(Kind):
    """A joint with one coordinate on an axis: (turn, slide) of a unit of it are constant."""

    nq = nv = 1
    has_axis = True
    drives = frozenset(DRIVES)

    def unit(self, joint: Joint) -> tuple[float, float]:
        """Angle and way of a unit of the coordinate."""
        raise NotImplementedError

    def columns(self, joint: Joint, axis: Vec3) -> tuple[Column, ...]:
        """A turn about the axis, a slide along it, or both."""
        turn, slide = self.unit(joint)
        return (Column(vec.scale(slide, axis), vec.scale(turn, axis)),)

    def travel(self, joint: Joint, q: Scalar) -> tuple[Scalar, Scalar]:
        """The unit, times the coordinate."""
        turn, slide = self.unit(joint)
        return turn * q, slide * q


class InARow(Kind):
    """Simple joints in a row, each with a coordinate of its own.

    Their axes are given for a joint whose ``axis`` is z; the smallest rotation that takes z to the joint's axis takes
    them to where they are.
    """

    def __init__(self, name: str, elements: Sequence[Simple]) -> None:
        self.name, self.elements = name, tuple(elements)
        self.nq = self.nv = len(self.elements)
        self.parts = self.velocity_parts = tuple(element.name for element in self.elements)
        self.turns = tuple(element.kind == "revolute" for element in self.elements)

    def as_free(self, q: Part, qd: Part, qdd: Part) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Position, velocity and acceleration of a joint on z, as those of a free joint."""
        raise NotImplementedError

    @staticmethod
    def turned(axis: Vec3, vector: Vec3) -> Vec3:
        """A vector under the smallest rotation that takes z to the axis (Rodrigues)."""
        a, b, c = axis
        x, y, z = vector
        across = a * a + b * b
        if c < 0.0 and across < 1e-300:
            return (x, -y, -z)
        k = (1.0 - c) / across if c < 0.0 else 1.0 / (1.0 + c)  # the same; near -z without a loss of digits
        return (
            (1.0 - a * a * k) * x - a * b * k * y + a * z,
            -a * b * k * x + (1.0 - b * b * k) * y + b * z,
            -a * x - b * y + c * z,
        )

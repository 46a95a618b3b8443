"""What a robot is: immutable data, equal by value, hashable by content."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import RobotError
from neuler.robot.transform import Transform, Vec3
from neuler.robot.verbs import Verbs

Inertia6 = tuple[float, float, float, float, float, float]
"""xx, yy, zz, xy, xz, yz of a symmetric matrix."""

KINDS = ("revolute", "prismatic", "fixed")


def _finite(owner: str, what: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: {what} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise RobotError(f"{owner}: {what} must be finite, got {number}")
    return number + 0.0  # -0.0 and 0.0 are one value and must hash alike


def _vector(owner: str, what: str, value: ArrayLike, length: int) -> tuple[float, ...]:
    try:
        items = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got {value!r}") from None
    if items.shape != (length,):
        raise RobotError(f"{owner}: {what} must be {length} numbers, got shape {items.shape}")
    if not np.isfinite(items).all():
        raise RobotError(f"{owner}: {what} must be finite, got {items.tolist()}")
    return tuple((items + 0.0).tolist())


def inertia6(value: ArrayLike, owner: str = "inertia") -> Inertia6:
    """Six numbers (xx, yy, zz, xy, xz, yz) from six, three (a diagonal) or a symmetric 3x3 matrix."""
    try:
        a = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: inertia must be 3 or 6 numbers or a 3x3 matrix, got {value!r}") from None
    if a.shape == (3,):
        a = np.concatenate([a, np.zeros(3)])
    elif a.shape == (3, 3):
        if not np.allclose(a, a.T, rtol=1e-9, atol=1e-12 * float(np.abs(a).max())):
            raise RobotError(f"{owner}: the inertia matrix is not symmetric: {a.tolist()}")
        a = np.array([a[0, 0], a[1, 1], a[2, 2], a[0, 1], a[0, 2], a[1, 2]])
    return _vector(owner, "inertia (xx, yy, zz, xy, xz, yz)", a, 6)  # type: ignore[return-value]


@dataclass(frozen=True)
class Link:
    """A rigid body with Khalil's ten inertial parameters, all in the link's frame.

    ``mass`` (kg), ``first_moment`` = mass times mass centre (kg m), ``inertia`` about the
    origin of the link's frame (kg m^2): xx, yy, zz, xy, xz, yz.

    >>> Link.from_com("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)).inertia[2]
    0.6
    """

    name: str
    mass: float = 0.0
    first_moment: Vec3 = (0.0, 0.0, 0.0)
    inertia: Inertia6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        owner = f"link {self.name!r}"
        object.__setattr__(self, "mass", _finite(owner, "mass", self.mass))
        object.__setattr__(self, "first_moment", _vector(owner, "first_moment", self.first_moment, 3))
        object.__setattr__(self, "inertia", inertia6(self.inertia, owner))

    @classmethod
    def from_com(cls, name: str, *, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)) -> Link:
        """From the mass centre (m) and the inertia about it, both in the axes of the link's frame."""
        owner = f"link {name!r}"
        m = _finite(owner, "mass", mass)
        c = np.array(_vector(owner, "com", com, 3))
        xx, yy, zz, xy, xz, yz = inertia6(inertia, owner)
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_origin = about_com + m * (c @ c * np.eye(3) - np.outer(c, c))
        return cls(name, m, tuple((m * c).tolist()), inertia6(about_origin, owner))

    @property
    def com(self) -> Vec3:
        """Mass centre (m); the origin for a link without mass."""
        if self.mass == 0:
            return (0.0, 0.0, 0.0)
        x, y, z = self.first_moment
        return (x / self.mass, y / self.mass, z / self.mass)

    @property
    def inertia_matrix(self) -> NDArray[np.float64]:
        """3x3 inertia about the link frame's origin."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def inertia_about_com(self) -> NDArray[np.float64]:
        """3x3 inertia about the mass centre."""
        c = np.array(self.com)
        return self.inertia_matrix - self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def seen_from(self, placement: Transform) -> Link:
        """The same body described in a frame in which this link's frame has ``placement``."""
        r = np.asarray(placement.rotation)
        p = np.asarray(placement.translation)
        s = r @ np.asarray(self.first_moment)
        j = r @ self.inertia_matrix @ r.T
        j += 2 * (s @ p) * np.eye(3) - np.outer(s, p) - np.outer(p, s)
        j += self.mass * (p @ p * np.eye(3) - np.outer(p, p))
        moment = tuple((s + self.mass * p).tolist())
        return Link(self.name, self.mass, moment, inertia6((j + j.T) / 2, self.name))

    def merged(self, other: Link) -> Link:
        """This link with another one, described in the same frame, rigidly added to it."""
        moment = tuple(a + b for a, b in zip(self.first_moment, other.first_moment, strict=True))
        inertia = tuple(a + b for a, b in zip(self.inertia, other.inertia, strict=True))
        return Link(self.name, self.mass + other.mass, moment, inertia)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Limits:
    """Position (rad or m), velocity and effort (N m or N) limits; infinite where there is none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "effort"):
            try:
                value = float(getattr(self, name))
            except (TypeError, ValueError):
                value = math.nan
            if math.isnan(value):
                raise RobotError(f"limit {name!r} must be a number, got {getattr(self, name)!r}")
            object.__setattr__(self, name, value + 0.0)


@dataclass(frozen=True)
class Joint:
    """A joint between two links.

    The child's frame at position zero has ``placement`` in the parent link's frame; the joint
    then turns about (revolute) or slides along (prismatic) ``axis``, a unit vector of the
    child's frame. Loss and drive, all on the joint's side of the gear:

    ``tau = ... + rotor_inertia * qdd + viscous * qd + coulomb * sign(qd)``   Khalil (31)

    ``coulomb_reverse`` is the magnitude for negative velocity where it differs.
    ``gear_ratio`` (motor turns per joint turn) is kept for information.
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

    def __post_init__(self) -> None:
        owner = f"joint {self.name!r}"
        if self.kind not in KINDS:
            raise RobotError(f"{owner}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        for name, kind in (("placement", Transform), ("limits", Limits)):
            if not isinstance(getattr(self, name), kind):
                raise RobotError(f"{owner}: {name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        axis = np.array(_vector(owner, "axis", self.axis, 3))
        if self.kind != "fixed":
            largest = float(np.abs(axis).max())
            axis = axis / largest if largest > 1e100 else axis
            norm = float(np.linalg.norm(axis))
            if norm < 1e-9:
                raise RobotError(f"{owner}: the axis has no direction, got {axis.tolist()}; give a unit vector")
            axis = axis / norm if abs(norm - 1.0) > 1e-15 else axis
        object.__setattr__(self, "axis", tuple((axis + 0.0).tolist()))
        for name in ("viscous", "coulomb", "rotor_inertia", "gear_ratio"):
            object.__setattr__(self, name, _finite(owner, name, getattr(self, name)))
        if self.coulomb_reverse is not None:
            object.__setattr__(self, "coulomb_reverse", _finite(owner, "coulomb_reverse", self.coulomb_reverse))

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.kind != "fixed"


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a link: a tool, a sensor, a contact."""

    name: str
    link: str
    placement: Transform = field(default_factory=Transform)


@dataclass(frozen=True)
class Robot(Verbs):
    """A tree of links. ``links[0]`` is the base; ``joints[k]`` carries ``links[k + 1]``.

    Give links and joints in any order: they are sorted outward from the base, depth first,
    children in the order given. The joints that move give the coordinates, in that order
    (``joint_names``). ``gravity`` (m/s^2) is expressed in the base frame.

    ``notes`` holds what a file said that has no effect on the dynamics; the doctor repeats it.

    >>> from neuler import Joint, Link, Robot
    >>> arm = Robot("pendulum", [Link("base"), Link.from_com("bob", mass=1.0, com=(1, 0, 0))],
    ...             [Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))])
    >>> arm.joint_names
    ('hinge',)
    >>> arm.inverse_dynamics([0.0], [0.0], [0.0])
    array([-9.81])
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    gravity: Vec3 = (0.0, 0.0, -9.81)
    frames: tuple[Frame, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        links: Iterable[Link],
        joints: Iterable[Joint] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        frames: Iterable[Frame] = (),
        notes: Iterable[str] = (),
    ) -> None:
        owner = f"robot {name!r}"
        sorted_links, sorted_joints = _outward(owner, tuple(links), tuple(joints))
        values = {
            "name": str(name),
            "links": sorted_links,
            "joints": sorted_joints,
            "gravity": _vector(owner, "gravity", gravity, 3),
            "frames": tuple(frames),
            "notes": tuple(notes),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if isinstance(notes, str) or not all(isinstance(note, str) for note in self.notes):
            raise RobotError(f"{owner}: notes must be a list of texts, got {notes!r}")
        names = set(self.link_names)
        for frame in self.frames:
            if not isinstance(frame, Frame) or not isinstance(frame.name, str) or not frame.name:
                raise RobotError(f"{owner}: expected a Frame with a name, got {frame!r}")
            if not isinstance(frame.placement, Transform):
                raise RobotError(f"frame {frame.name!r}: placement must be a Transform, got {frame.placement!r}")
            if frame.link not in names:
                raise RobotError(f"frame {frame.name!r}: there is no link {frame.link!r} in {owner}")
            if frame.name in names:
                raise RobotError(f"frame {frame.name!r}: another frame or link of {owner} has this name")
            names.add(frame.name)

    # ---- what it has -------------------------------------------------------------------

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, base first."""
        return tuple(link.name for link in self.links)

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints that have a coordinate, in coordinate order."""
        return tuple(joint for joint in self.joints if joint.moves)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move, in coordinate order."""
        return tuple(joint.name for joint in self.moving_joints)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links, then of the extra frames."""
        return self.link_names + tuple(frame.name for frame in self.frames)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return len(self.joint_names)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return len(self.joint_names)

    @property
    def antecedents(self) -> tuple[int, ...]:
        """For each joint the index of its parent link: Khalil's a(j)."""
        index = {name: k for k, name in enumerate(self.link_names)}
        return tuple(index[joint.parent] for joint in self.joints)

    @property
    def tip(self) -> str:
        """Name of the link behind the most moving joints (the first of them): the hand of an arm."""
        depth = {self.links[0].name: 0}
        for joint in self.joints:
            depth[joint.child] = depth[joint.parent] + joint.moves
        return max(depth, key=lambda name: depth[name])

    @property
    def mass(self) -> float:
        """Total mass (kg), the base included."""
        return math.fsum(link.mass for link in self.links)

    def locate(self, frame: str) -> tuple[int, Transform]:
        """Index of the link that carries ``frame`` (a link's or a frame's name), and its placement there."""
        names = self.link_names
        if frame in names:
            return names.index(frame), Transform()
        for extra in self.frames:
            if extra.name == frame:
                return names.index(extra.link), extra.placement
        raise RobotError(f"robot {self.name!r} has no link or frame {frame!r}; it has: {_shortlist(self.frame_names)}")

    @property
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the robot: equal robots, equal hashes, on every machine."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()

    # ---- a changed robot is a new robot --------------------------------------------------

    def replace(self, **changes: object) -> Robot:
        """A copy with the given fields changed."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        unknown = set(changes) - set(fields)
        if unknown:
            raise RobotError(f"a robot has no field {sorted(unknown)[0]!r}; its fields are {', '.join(fields)}")
        return Robot(**{**fields, **changes})

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity vector (m/s^2, base frame)."""
        return self.replace(gravity=gravity)

    def with_payload(
        self, frame: str, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)
    ) -> Robot:
        """The same robot with a body rigidly attached to ``frame``: mass centre and inertia about it in its axes."""
        index, placement = self.locate(frame)
        load = Link.from_com("payload", mass=mass, com=com, inertia=inertia).seen_from(placement)
        links = [link.merged(load) if k == index else link for k, link in enumerate(self.links)]
        return self.replace(links=links)

    def with_frame(self, name: str, link: str, placement: Transform | None = None) -> Robot:
        """The same robot with one more named frame."""
        return self.replace(frames=(*self.frames, Frame(name, link, placement or Transform())))

    def without_friction(self) -> Robot:
        """The same robot without viscous and Coulomb friction, as many libraries compute it."""
        joints = [dataclasses.replace(j, viscous=0.0, coulomb=0.0, coulomb_reverse=None) for j in self.joints]
        return self.replace(joints=joints)

    def without_motors(self) -> Robot:
        """The same robot without rotor inertia."""
        return self.replace(joints=[dataclasses.replace(j, rotor_inertia=0.0) for j in self.joints])

    def __getstate__(self) -> dict[str, object]:
        """Pickle the data alone; compiled kernels are found again in the cache."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, value)


def _shortlist(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:12]))
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _unique(owner: str, what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise RobotError(f"{owner}: a {what} needs a name, got {name!r}")
        if name in seen:
            raise RobotError(f"{owner}: two {what}s are named {name!r}")
        seen.add(name)


def _outward(
    owner: str, links: tuple[Link, ...], joints: tuple[Joint, ...]
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """Links and joints sorted outward from the one link that is nobody's child."""
    if not links:
        raise RobotError(f"{owner}: needs at least one link, its base")
    for kind, items in ((Link, links), (Joint, joints)):
        for item in items:
            if not isinstance(item, kind):
                raise RobotError(f"{owner}: expected a {kind.__name__}, got {item!r}")
    _unique(owner, "link", [link.name for link in links])
    _unique(owner, "joint", [joint.name for joint in joints])
    by_name = {link.name: link for link in links}
    carried: dict[str, Joint] = {}
    children: dict[str, list[Joint]] = {name: [] for name in by_name}
    for joint in joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in by_name:
                raise RobotError(f"joint {joint.name!r}: its {role} link {name!r} does not exist in {owner}")
        if joint.child in carried:
            raise RobotError(
                f"link {joint.child!r} is carried by two joints, {carried[joint.child].name!r} and {joint.name!r}: "
                "a closed loop; a tree has one joint a link"
            )
        carried[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [name for name in by_name if name not in carried]
    if not roots:
        raise RobotError(f"{owner}: the joints form a cycle; no link is a base")
    if len(roots) > 1:
        raise RobotError(f"{owner}: has {len(roots)} roots, {_shortlist(roots)}; join them with a fixed joint")
    ordered_links = [by_name[roots[0]]]
    ordered_joints: list[Joint] = []
    stack = children[roots[0]][::-1]
    while stack:
        joint = stack.pop()
        ordered_joints.append(joint)
        ordered_links.append(by_name[joint.child])
        stack.extend(children[joint.child][::-1])
    if len(ordered_links) != len(links):
        reached = {link.name for link in ordered_links}
        lost = [name for name in by_name if name not in reached]
        raise RobotError(f"{owner}: links {_shortlist(lost)} form a cycle that the base {roots[0]!r} does not reach")
    return tuple(ordered_links), tuple(ordered_joints)

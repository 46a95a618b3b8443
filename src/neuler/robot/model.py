"""What a robot is: immutable data, equal by value, hashable by content."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.robot.configuration import Configurations
from neuler.robot.joint import Frame, Joint
from neuler.robot.link import Link
from neuler.robot.numbers import vector
from neuler.robot.transform import Transform, Vec3
from neuler.robot.value import Value, kept
from neuler.robot.verbs import Verbs


@dataclass(frozen=True)
class Robot(Value, Verbs, Configurations):
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

    called = "robot"

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
            "gravity": vector(owner, "gravity", gravity, 3),
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
        return sum(joint.nq for joint in self.joints)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return sum(joint.nv for joint in self.joints)

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
        raise RobotError(
            f"robot {self.name!r} has no link or frame {frame!r}; it has: {listed(frame, self.frame_names)}"
        )

    @property
    @kept
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the robot: equal robots, equal hashes, on every machine."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()

    # ---- a changed robot is a new robot --------------------------------------------------

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

    def with_spring(self, joint: str, stiffness: float, rest: float = 0.0, role: str = "elastic") -> Robot:
        """The same robot with a spring on a joint, which moves it (``elastic``) or helps its motor (``driven``)."""
        return self._with_joint(joint, stiffness=stiffness, rest=rest, role=role)

    def with_passive(self, *joints: str) -> Robot:
        """The same robot with joints that no motor moves."""
        robot = self
        for name in joints:
            robot = robot._with_joint(name, role="passive")
        return robot

    def _with_joint(self, name: str, **changes: object) -> Robot:
        if name not in self.joint_names:
            raise RobotError(
                f"robot {self.name!r} has no moving joint {name!r}; it has {listed(name, self.joint_names)}"
            )
        joints = [dataclasses.replace(j, **changes) if j.name == name else j for j in self.joints]  # type: ignore[arg-type]
        return self.replace(joints=joints)

    def with_free_base(self, joint: str = "root_joint", world: str = "world") -> Robot:
        """The same robot with its base free to move: a new base ``world``, and a free joint to the old one."""
        ground = Link(world)
        free = Joint(joint, "free", world, self.links[0].name)
        return self.replace(links=(ground, *self.links), joints=(free, *self.joints))

    def with_planar_base(self, names: Sequence[str] = ("base_x", "base_y", "base_turn"), world: str = "world") -> Robot:
        """The same robot on a mobile base: two slides along x and y of ``world`` and a turn about its z."""
        x, y, turn = names
        links = (Link(world), Link(x + "_slide"), Link(y + "_slide"))
        joints = (
            Joint(x, "prismatic", world, links[1].name, axis=(1, 0, 0)),
            Joint(y, "prismatic", links[1].name, links[2].name, axis=(0, 1, 0)),
            Joint(turn, "revolute", links[2].name, self.links[0].name),
        )
        return self.replace(links=(*links, *self.links), joints=(*joints, *self.joints))

    def without_friction(self) -> Robot:
        """The same robot without viscous and Coulomb friction, as many libraries compute it."""
        joints = [dataclasses.replace(j, viscous=0.0, coulomb=0.0, coulomb_reverse=None) for j in self.joints]
        return self.replace(joints=joints)

    def without_motors(self) -> Robot:
        """The same robot without rotor inertia."""
        return self.replace(joints=[dataclasses.replace(j, rotor_inertia=0.0) for j in self.joints])


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
        raise RobotError(f"{owner}: has {len(roots)} roots, {listed('', roots)}; join them with a fixed joint")
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
        raise RobotError(f"{owner}: links {listed('', lost)} form a cycle that the base {roots[0]!r} does not reach")
    return tuple(ordered_links), tuple(ordered_joints)

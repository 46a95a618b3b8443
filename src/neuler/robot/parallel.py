"""Parallel robots: a platform that legs carry, Khalil 5."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import RobotError
from neuler.robot.joint import Frame, Joint
from neuler.robot.link import Link
from neuler.robot.mechanism import CUTS, Loop, Mechanism
from neuler.robot.model import Robot
from neuler.robot.numbers import vector
from neuler.robot.parallel_verbs import ParallelVerbs
from neuler.robot.transform import Transform, Vec3

PLATFORM = "platform"
"""Name of the platform's link and of the free joint that gives its pose."""


@dataclass(frozen=True)
class Leg:
    """A chain of links from the base, and the joint that ties it to the platform.

    ``chain`` is a robot on the common base; its driven joints are the leg's motors. ``tip`` is the frame on it that
    the platform's joint of ``kind`` (as of ``Loop``) joins to ``attachment``, a frame of the platform. The joint's
    own motion is not among the leg's coordinates. ``reference`` is a guess of the chain's position.
    """

    name: str
    chain: Robot
    tip: str
    kind: str
    attachment: Transform = field(default_factory=Transform)
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        owner = f"leg {self.name!r}"
        if not isinstance(self.chain, Robot):
            raise RobotError(f"{owner}: its chain must be a Robot, got {type(self.chain).__name__}")
        if self.kind not in CUTS:
            raise RobotError(f"{owner}: kind must be one of {', '.join(CUTS)}, got {self.kind!r}")
        if not isinstance(self.attachment, Transform):
            raise RobotError(f"{owner}: its attachment must be a Transform, got {self.attachment!r}")
        if self.chain.nq != self.chain.nv:
            raise RobotError(f"{owner}: a leg has no free joints")
        if not self.chain.nv:
            raise RobotError(f"{owner}: none of its joints moves")
        try:
            self.chain.locate(self.tip)
        except RobotError as error:
            raise RobotError(f"{owner}: {error}") from None
        if self.reference is not None:
            object.__setattr__(self, "reference", vector(owner, "reference", self.reference, self.chain.nq))

    @property
    def motors(self) -> tuple[str, ...]:
        """Names of its driven joints."""
        return tuple(joint.name for joint in self.chain.moving_joints if joint.role == "driven")


@dataclass(frozen=True)
class ParallelRobot(ParallelVerbs):
    """A platform on legs, from six to fewer freedoms.

    Positions q are the platform's pose (x, y, z, quaternion x, y, z, w) in the base frame, then the joints of all
    legs; velocities are the platform's screw (linear; angular) in its own frame. ``reference`` is a pose that the
    legs can reach.
    """

    name: str
    platform: Link
    legs: tuple[Leg, ...]
    gravity: Vec3 = (0.0, 0.0, -9.81)
    reference: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def __init__(
        self,
        name: str,
        platform: Link,
        legs: Iterable[Leg],
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        reference: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    ) -> None:
        owner = f"parallel robot {name!r}"
        pose = vector(owner, "reference", reference, 7)
        size = float(np.linalg.norm(pose[3:]))
        if abs(size - 1.0) > 1e-3:
            raise RobotError(f"{owner}: the quaternion of its reference has length {size:.6g}, not 1")
        values = {
            "name": str(name),
            "platform": platform,
            "legs": tuple(legs),
            "gravity": vector(owner, "gravity", gravity, 3),
            "reference": (*pose[:3], *(x / size for x in pose[3:])),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if not isinstance(platform, Link):
            raise RobotError(f"{owner}: its platform must be a Link, got {platform!r}")
        if not self.legs or not all(isinstance(leg, Leg) for leg in self.legs):
            raise RobotError(f"{owner}: needs legs, got {self.legs!r}")
        names = [leg.name for leg in self.legs]
        if len(set(names)) != len(names) or PLATFORM in names:
            raise RobotError(f"{owner}: its legs need names of their own, other than {PLATFORM!r}; got {names}")

    @property
    def active_names(self) -> tuple[str, ...]:
        """The motors, leg by leg: 'leg1.slide'."""
        return tuple(f"{leg.name}.{motor}" for leg in self.legs for motor in leg.motors)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The platform, then all joints of the legs."""
        return self.mechanism.joint_names

    @property
    def nq(self) -> int:
        """Seven numbers of the platform's pose and the positions of the legs."""
        return 7 + sum(leg.chain.nq for leg in self.legs)

    @property
    def nv(self) -> int:
        """Six numbers of the platform's velocity and the velocities of the legs."""
        return 6 + sum(leg.chain.nv for leg in self.legs)

    @functools.cached_property
    def mechanism(self) -> Mechanism:
        """The same robot as a tree with loops: the platform free, each leg's last joint cut."""
        links, joints, frames, loops = _module("", self, "base", "base")
        tree = Robot(self.name, [Link("base"), *links], joints, self.gravity, frames)
        return Mechanism(self.name, tree, loops, reference=_guess(tree, {"": self}))

    @property
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the robot."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()

    def with_gravity(self, gravity: ArrayLike) -> ParallelRobot:
        """The same robot under another gravity vector (m/s^2, base frame)."""
        return ParallelRobot(self.name, self.platform, self.legs, gravity, self.reference)

    def __getstate__(self) -> dict[str, object]:
        """Pickle the data alone; compiled kernels are found again in the cache."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, value)


def _module(
    prefix: str, robot: ParallelRobot, ground: str, carrier: str
) -> tuple[list[Link], list[Joint], list[Frame], list[Loop]]:
    """Links, joints, frames and loops of one parallel robot whose legs stand on ``carrier``; names get a prefix."""
    plate = prefix + PLATFORM
    links = [dataclasses.replace(robot.platform, name=plate)]
    joints = [Joint(plate, "free", ground, plate)]
    frames, loops = [], []
    for leg in robot.legs:
        own = f"{prefix}{leg.name}."
        called = {leg.chain.links[0].name: carrier} | {link.name: own + link.name for link in leg.chain.links[1:]}
        links += [dataclasses.replace(link, name=called[link.name]) for link in leg.chain.links[1:]]
        joints += [
            dataclasses.replace(joint, name=own + joint.name, parent=called[joint.parent], child=called[joint.child])
            for joint in leg.chain.joints
        ]
        index, placement = leg.chain.locate(leg.tip)
        frames.append(Frame(own + "end", called[leg.chain.links[index].name], placement))
        frames.append(Frame(own + "seat", plate, leg.attachment))
        loops.append(Loop(prefix + leg.name, leg.kind, own + "end", own + "seat"))
    return links, joints, frames, loops


def _guess(tree: Robot, modules: dict[str, ParallelRobot]) -> list[float]:
    """A position of the tree from the references of platforms and legs."""
    values: dict[str, Sequence[float]] = {}
    for prefix, robot in modules.items():
        values[prefix + PLATFORM] = robot.reference
        for leg in robot.legs:
            for k, joint in enumerate(leg.chain.moving_joints):
                guess = leg.reference[k] if leg.reference is not None else 0.0
                values[f"{prefix}{leg.name}.{joint.name}"] = (guess,)
    return [x for joint in tree.moving_joints for x in values[joint.name]]


def stack(name: str, modules: Iterable[tuple[str, ParallelRobot]], mounts: Iterable[Transform] = ()) -> Mechanism:
    """Parallel robots in series: every one after the first stands on the platform of the one before.

    ``mounts`` places the base frame of the second, third, ... on that platform (by default on its frame). Poses of
    all platforms are in the frame of the ground; names are 'module.platform', 'module.leg.joint'.
    """
    chosen = list(modules)
    places = list(mounts) or [Transform()] * (len(chosen) - 1)
    if len(chosen) < 2 or len(places) != len(chosen) - 1:
        raise RobotError(f"stack {name!r}: needs two modules or more and a mount for each after the first")
    if len({key for key, _ in chosen}) != len(chosen):
        raise RobotError(f"stack {name!r}: its modules need different names, got {[key for key, _ in chosen]}")
    links: list[Link] = [Link("base")]
    joints: list[Joint] = []
    frames: list[Frame] = []
    loops: list[Loop] = []
    carrier = "base"
    for k, (key, robot) in enumerate(chosen):
        prefix = key + "."
        if k:
            foot = prefix + "base"
            links.append(Link(foot))
            joints.append(Joint(foot, "fixed", carrier, foot, placement=places[k - 1]))
            carrier = foot
        more = _module(prefix, robot, "base", carrier)
        links, joints, frames, loops = links + more[0], joints + more[1], frames + more[2], loops + more[3]
        carrier = prefix + PLATFORM
    tree = Robot(name, links, joints, chosen[0][1].gravity, frames)
    references = _stacked_references(chosen, places)
    return Mechanism(name, tree, loops, reference=_guess(tree, references))


def _stacked_references(
    modules: Sequence[tuple[str, ParallelRobot]], mounts: Sequence[Transform]
) -> dict[str, ParallelRobot]:
    """The modules with the references of their platforms in the frame of the ground."""
    found = {}
    ground = Transform()
    for k, (key, robot) in enumerate(modules):
        pose = ground @ Transform.from_quaternion(robot.reference[:3], robot.reference[3:])
        placed = (*pose.translation, *pose.quaternion)
        found[key + "."] = ParallelRobot(robot.name, robot.platform, robot.legs, robot.gravity, placed)
        if k < len(mounts):
            ground = pose @ mounts[k]
    return found

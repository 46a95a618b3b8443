"""Parallel robots: a platform that legs carry, Khalil 5."""

from __future__ import annotations

import dataclasses
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
from neuler.robot.value import Value, kept

PLATFORM = "platform"
"""Name of the platform's link and of the free joint that gives its pose."""


@dataclass(frozen=True)
class Leg:
    """A chain of links from the base, and the joint that ties it to the platform.

    ``chain`` is a robot on the common base; its driven joints are the leg's motors, its own gravity is not used.
    ``tip`` is the link or frame on it that the platform's joint of ``kind`` joins to ``attachment``, a frame of the
    platform: tip and attachment are the first and the second frame of a ``Loop`` of that kind. The joint's own motion
    is not among the leg's coordinates. ``reference`` is a guess of the chain's position, one number a moving joint.

    >>> crank = Link.from_com("crank", mass=0.5, com=(0.15, 0, 0), inertia=(0, 4e-3, 4e-3))
    >>> chain = Robot("chain", [Link("base"), crank], [Joint("motor", "revolute", "base", "crank")])
    >>> Leg("left", chain, tip="crank", kind="spherical").motors
    ('motor',)
    """

    name: str
    chain: Robot
    tip: str
    kind: str
    attachment: Transform = field(default_factory=Transform)
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        owner = f"leg {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise RobotError(f"a leg needs a name, got {self.name!r}")
        if not isinstance(self.chain, Robot):
            raise RobotError(f"{owner}: its chain must be a Robot, got {type(self.chain).__name__}")
        if self.kind not in CUTS:
            raise RobotError(f"{owner}: kind must be one of {', '.join(CUTS)}, got {self.kind!r}")
        if not isinstance(self.attachment, Transform):
            raise RobotError(f"{owner}: its attachment must be a Transform, got {self.attachment!r}")
        if self.chain.nq != self.chain.nv:
            free = next(joint.name for joint in self.chain.moving_joints if joint.kind == "free")
            raise RobotError(f"{owner}: its joint {free!r} is free; a leg stands on the base")
        if not self.chain.nv:
            raise RobotError(f"{owner}: none of its joints moves")
        try:
            index, _ = self.chain.locate(self.tip)
        except RobotError as error:
            raise RobotError(f"{owner}: {error}") from None
        self._check_path(owner, index)
        if self.reference is not None:
            object.__setattr__(self, "reference", vector(owner, "reference", self.reference, self.chain.nq))

    def _check_path(self, owner: str, index: int) -> None:
        """Every moving joint must be between the base and the tip."""
        carried = set()
        while index:
            carried.add(index)
            index = self.chain.antecedents[index - 1]
        for k, joint in enumerate(self.chain.joints, start=1):
            if joint.moves and k not in carried:
                raise RobotError(
                    f"{owner}: its joint {joint.name!r} is not between the base and the tip {self.tip!r}; "
                    "a leg is one chain, from the base to the platform"
                )

    @property
    def motors(self) -> tuple[str, ...]:
        """Names of its driven joints."""
        return tuple(joint.name for joint in self.chain.moving_joints if joint.role == "driven")


@dataclass(frozen=True)
class ParallelRobot(Value, ParallelVerbs):
    """A platform on legs, with six freedoms or fewer.

    Positions q are the platform's pose (x, y, z, quaternion x, y, z, w) in the base frame, then the joints of all
    legs; velocities are the platform's screw (linear; angular) in its own frame. ``reference`` is a pose that the
    legs can reach, or nearly so.

    ``mechanism`` is the same robot as a tree with loops, with all verbs of a ``Mechanism``: motors as coordinates,
    reaction wrenches, sensitivities, constrained dynamics. ``mechanism.mobility`` has the number of freedoms.

    >>> import neuler
    >>> robot = neuler.robots.delta()
    >>> q = robot.inverse_kinematics([0.05, 0.0, -0.55, 0, 0, 0, 1]).q
    >>> robot.inverse_dynamics(q, [0.1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]).shape
    (3,)
    """

    called = "parallel robot"

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
        try:
            given = tuple(legs)
        except TypeError:
            raise RobotError(f"{owner}: needs a list of legs, got {legs!r}") from None
        values = {
            "name": str(name),
            "platform": platform,
            "legs": given,
            "gravity": vector(owner, "gravity", gravity, 3),
            "reference": (*pose[:3], *(x / size for x in pose[3:])),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if not isinstance(platform, Link):
            raise RobotError(f"{owner}: its platform must be a Link, got {platform!r}")
        if not self.legs:
            raise RobotError(f"{owner}: has no legs")
        names: set[str] = set()
        for leg in self.legs:
            if not isinstance(leg, Leg):
                raise RobotError(f"{owner}: expected a Leg, got {leg!r}")
            if leg.name in names:
                raise RobotError(f"{owner}: two legs are named {leg.name!r}")
            if leg.name == PLATFORM:
                raise RobotError(f"{owner}: a leg cannot be named {PLATFORM!r}, that is the platform's own name")
            names.add(leg.name)

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

    @property
    @kept
    def mechanism(self) -> Mechanism:
        """The same robot as a tree with loops: the platform free, each leg's last joint cut."""
        links, joints, frames, loops = _module("", self, "base", "base")
        tree = Robot(self.name, [Link("base"), *links], joints, self.gravity, frames)
        return Mechanism(self.name, tree, loops, reference=_guess(tree, {"": self}))

    @property
    @kept
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the robot."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()

    # ---- a changed robot is a new one ---------------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> ParallelRobot:
        """The same robot under another gravity vector (m/s^2, base frame)."""
        return self.replace(gravity=gravity)

    def without_friction(self) -> ParallelRobot:
        """The same robot without viscous and Coulomb friction."""
        return self.replace(legs=[dataclasses.replace(leg, chain=leg.chain.without_friction()) for leg in self.legs])


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
        foot, *moving = leg.chain.links
        called = {link.name: own + link.name for link in leg.chain.links}
        if foot == Link(foot.name):
            called[foot.name] = carrier
        else:  # the leg's base has a mass, which a module on a platform carries along
            links.append(dataclasses.replace(foot, name=called[foot.name]))
            joints.append(Joint(f"{own}{foot.name}.mount", "fixed", carrier, called[foot.name]))
        links += [dataclasses.replace(link, name=called[link.name]) for link in moving]
        joints += [
            dataclasses.replace(joint, name=own + joint.name, parent=called[joint.parent], child=called[joint.child])
            for joint in leg.chain.joints
        ]
        frames += [
            dataclasses.replace(frame, name=own + frame.name, link=called[frame.link]) for frame in leg.chain.frames
        ]
        frames.append(Frame(f"{plate}.{leg.name}", plate, leg.attachment))
        loops.append(Loop(prefix + leg.name, leg.kind, own + leg.tip, f"{plate}.{leg.name}"))
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
    """Parallel robots in series, a hybrid robot: every one after the first stands on the platform of the one before.

    ``modules`` are pairs of a name and a robot, from the ground up. ``mounts`` places the base frame of the second,
    third, ... on the platform below (by default on its frame). Poses and references of all platforms are in the frame
    of the ground, and so is gravity, the first module's; names are 'module.platform', 'module.leg.joint'. Motors come
    in the order of the modules; ``joint_names`` of the mechanism has the order of all positions.

    >>> import neuler
    >>> arm = neuler.stack("arm", [("low", neuler.robots.delta()), ("high", neuler.robots.delta())])
    >>> arm.mobility.freedoms, arm.active_names[3]
    (6, 'high.leg1.motor')
    """
    owner = f"stack {name!r}"
    chosen = _modules(owner, modules)
    places = list(mounts) or [Transform()] * (len(chosen) - 1)
    if len(places) != len(chosen) - 1 or not all(isinstance(place, Transform) for place in places):
        raise RobotError(
            f"{owner}: mounts must be {len(chosen) - 1} Transforms, one for each module after the first, got {places!r}"
        )
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
        more_links, (plate, *legs), more_frames, more_loops = _module(prefix, robot, "base", carrier)
        links, frames, loops = links + more_links, frames + more_frames, loops + more_loops
        joints += [*legs, plate]  # what stands on the platform follows it: motors come in the order of the modules
        carrier = prefix + PLATFORM
    tree = Robot(name, links, joints, chosen[0][1].gravity, frames)
    references = _stacked_references(chosen, places)
    return Mechanism(name, tree, loops, reference=_guess(tree, references))


def _modules(owner: str, modules: Iterable[tuple[str, ParallelRobot]]) -> list[tuple[str, ParallelRobot]]:
    try:
        found = [(key, robot) for key, robot in modules]
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: its modules must be pairs of a name and a ParallelRobot, got {modules!r}") from None
    names: set[str] = set()
    for key, robot in found:
        if not isinstance(key, str) or not key:
            raise RobotError(f"{owner}: a module needs a name, got {key!r}")
        if not isinstance(robot, ParallelRobot):
            raise RobotError(f"{owner}: module {key!r} must be a ParallelRobot, got {type(robot).__name__}")
        if key in names:
            raise RobotError(f"{owner}: two modules are named {key!r}")
        names.add(key)
    if len(found) < 2:
        raise RobotError(f"{owner}: needs two modules or more, got {len(found)}")
    return found


def _stacked_references(
    modules: Sequence[tuple[str, ParallelRobot]], mounts: Sequence[Transform]
) -> dict[str, ParallelRobot]:
    """The modules with the references of their platforms in the frame of the ground."""
    found = {}
    ground = Transform()
    for k, (key, robot) in enumerate(modules):
        pose = ground @ Transform.from_quaternion(robot.reference[:3], robot.reference[3:])
        placed = (*pose.translation, *pose.quaternion)
        found[key + "."] = robot.replace(reference=placed)
        if k < len(mounts):
            ground = pose @ mounts[k]
    return found

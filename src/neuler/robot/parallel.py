"""Parallel robots: a platform that legs carry, Khalil 5."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import RobotError
from neuler.robot.coupling import Coupling
from neuler.robot.joint import Frame, Joint
from neuler.robot.kinds import KINDS
from neuler.robot.link import Link
from neuler.robot.loop import CUTS, Loop
from neuler.robot.model import Robot
from neuler.robot.numbers import vector
from neuler.robot.transform import Transform

PLATFORM = "platform"
"""Name of the platform's link, and of the joint that gives its position."""
MOVES = ("free", "planar", "translation")
"""Kinds of that joint."""


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
        if self.chain.loops or self.chain.couplings:
            raise RobotError(f"{owner}: its chain has loops or couplings of its own; a leg is one chain")
        free = next((joint for joint in self.chain.moving_joints if joint.type.always_passive), None)
        if free is not None:
            raise RobotError(f"{owner}: its joint {free.name!r} is free; a leg stands on the base")
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


def parallel_robot(
    name: str,
    platform: Link,
    legs: Iterable[Leg],
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    reference: ArrayLike | None = None,
    joint: str = "free",
) -> Robot:
    """A platform on legs: a robot whose velocities are the platform's.

    ``joint`` says how the platform may move, and so what its position and velocity are: ``free`` (x, y, z, quaternion
    x, y, z, w in the base frame; screw (linear; angular) in its own), ``planar`` (x, y, angle; their rates) or
    ``translation`` (x, y, z; their rates). Positions q are the platform's, then those of all joints of the legs, which
    are called 'leg.joint'. ``reference`` is a position of the platform that the legs can reach, or nearly so.

    A platform with fewer freedoms than its joint has takes the motors' velocities as its own; ``independent`` of the
    robot says which it has. ``inverse_kinematics`` finds the legs for a platform, ``forward_kinematics`` both for the
    motors.

    >>> import neuler
    >>> robot = neuler.robots.delta()
    >>> q = robot.inverse_kinematics([0.05, 0.0, -0.55]).q
    >>> robot.inverse_dynamics(q, [0.1, 0, 0], [0, 0, 1]).shape
    (3,)
    """
    owner = f"parallel robot {name!r}"
    if joint not in MOVES:
        raise RobotError(f"{owner}: the platform's joint must be one of {', '.join(MOVES)}, got {joint!r}")
    if not isinstance(platform, Link):
        raise RobotError(f"{owner}: its platform must be a Link, got {platform!r}")
    given = _legs(owner, legs)
    pose = _pose(owner, joint, reference)
    links = [Link("base"), dataclasses.replace(platform, name=PLATFORM)]
    role = "guide" if KINDS[joint].elements else "passive"
    joints = [Joint(PLATFORM, joint, "base", PLATFORM, role=role)]
    frames: list[Frame] = []
    loops: list[Loop] = []
    guess = list(pose)
    for leg in given:
        foot, *moving = leg.chain.links
        called = {link.name: f"{leg.name}.{link.name}" for link in leg.chain.links}
        if foot == Link(foot.name):
            called[foot.name] = "base"
        else:  # the leg's base has a mass, which a module on a platform carries along
            links.append(dataclasses.replace(foot, name=called[foot.name]))
            joints.append(Joint(f"{called[foot.name]}.mount", "fixed", "base", called[foot.name]))
        links += [dataclasses.replace(link, name=called[link.name]) for link in moving]
        joints += [
            dataclasses.replace(
                each, name=f"{leg.name}.{each.name}", parent=called[each.parent], child=called[each.child]
            )
            for each in leg.chain.joints
        ]
        frames += [
            dataclasses.replace(frame, name=f"{leg.name}.{frame.name}", link=called[frame.link])
            for frame in leg.chain.frames
        ]
        frames.append(Frame(f"{PLATFORM}.{leg.name}", PLATFORM, leg.attachment))
        tip = called.get(leg.tip, f"{leg.name}.{leg.tip}")
        loops.append(Loop(leg.name, leg.kind, tip, f"{PLATFORM}.{leg.name}"))
        guess += list(leg.reference if leg.reference is not None else leg.chain.neutral())
    motors = Robot(name, links, joints, gravity, frames, loops=loops, reference=guess)
    if motors.nv != KINDS[joint].nv:
        return motors
    try:
        return motors.with_independent(PLATFORM)
    except RobotError:  # its freedoms are as many, but others: a leg's own spin for one
        return motors


def _legs(owner: str, legs: Iterable[Leg]) -> tuple[Leg, ...]:
    try:
        given = tuple(legs)
    except TypeError:
        raise RobotError(f"{owner}: needs a list of legs, got {legs!r}") from None
    if not given:
        raise RobotError(f"{owner}: has no legs")
    names: set[str] = set()
    for leg in given:
        if not isinstance(leg, Leg):
            raise RobotError(f"{owner}: expected a Leg, got {leg!r}")
        if leg.name in names:
            raise RobotError(f"{owner}: two legs are named {leg.name!r}")
        if leg.name == PLATFORM:
            raise RobotError(f"{owner}: a leg cannot be named {PLATFORM!r}, that is the platform's own name")
        names.add(leg.name)
    return given


def _pose(owner: str, joint: str, reference: ArrayLike | None) -> list[float]:
    """The platform's position, its quaternion of length one."""
    kind = KINDS[joint]
    if reference is None:
        return [*(0.0 for _ in range(kind.nq - 1)), 1.0 if kind.quaternion is not None else 0.0]
    pose = list(vector(owner, "reference", reference, kind.nq))
    if kind.quaternion is not None:
        size = float(np.linalg.norm(pose[kind.quaternion :]))
        if abs(size - 1.0) > 1e-3:
            raise RobotError(f"{owner}: the quaternion of its reference has length {size:.6g}, not 1")
        pose[kind.quaternion :] = [x / size for x in pose[kind.quaternion :]]
    return pose


def stack(name: str, modules: Iterable[tuple[str, Robot]], mounts: Iterable[Transform] = ()) -> Robot:
    """Robots in series, a hybrid robot: every one after the first stands on the platform of the one before.

    ``modules`` are pairs of a name and a robot, from the ground up; all but the last need a link ``platform``.
    ``mounts`` places the base frame of the second, third, ... on the platform below (by default on its frame).
    Positions of a module are relative to its own base, gravity is the first module's in the frame of the ground;
    names are 'module.platform', 'module.leg.joint'.

    >>> import neuler
    >>> arm = neuler.stack("arm", [("low", neuler.robots.delta()), ("high", neuler.robots.delta())])
    >>> arm.nv, arm.active_names[3]
    (6, 'high.leg1.motor')
    """
    owner = f"stack {name!r}"
    chosen = _modules(owner, modules)
    places = list(mounts) or [Transform()] * (len(chosen) - 1)
    if len(places) != len(chosen) - 1 or not all(isinstance(place, Transform) for place in places):
        raise RobotError(
            f"{owner}: mounts must be {len(chosen) - 1} Transforms, one for each module after the first, got {places!r}"
        )
    parts: dict[str, list[object]] = {"links": [Link("base")], "joints": [], "frames": [], "loops": [], "couplings": []}
    independent: list[str] = []
    values: dict[str, Sequence[float]] = {}
    carrier, ground = "base", chosen[0][1].gravity
    for (key, robot), place in zip(chosen, [Transform(), *places], strict=True):
        own = _renamed(robot, key + ".")
        foot = own.links[0]
        parts["joints"].append(Joint(f"{key}.mount", "fixed", carrier, foot.name, place))
        joints = sorted(own.joints, key=lambda joint: joint.child == f"{key}.{PLATFORM}")  # what stands on it follows
        for field_name, items in (
            ("links", own.links), ("joints", joints), ("frames", own.frames), ("loops", own.loops),
            ("couplings", own.couplings),
        ):  # fmt: skip
            parts[field_name].extend(items)
        independent += own.mobility.independent if own.loops else own.joint_names
        reference = own.neutral().tolist()
        values |= {entry.name: reference[entry.q] for entry in own.coordinates}
        carrier = f"{key}.{PLATFORM}"
    tree = Robot(name, parts["links"], parts["joints"], ground, parts["frames"])  # type: ignore[arg-type]
    followers = {coupling.joint for coupling in parts["couplings"]}  # type: ignore[attr-defined]
    guess = [x for joint in tree.moving_joints if joint.name not in followers for x in values[joint.name]]
    return tree.replace(
        loops=parts["loops"], couplings=parts["couplings"], reference=guess, independent=tuple(independent) or None
    )


def _renamed(robot: Robot, prefix: str) -> Robot:
    """With a prefix to all names."""
    return Robot(
        robot.name,
        [dataclasses.replace(link, name=prefix + link.name) for link in robot.links],
        [
            dataclasses.replace(j, name=prefix + j.name, parent=prefix + j.parent, child=prefix + j.child)
            for j in robot.joints
        ],
        robot.gravity,
        [dataclasses.replace(f, name=prefix + f.name, link=prefix + f.link) for f in robot.frames],
        robot.notes,
        [Loop(prefix + x.name, x.kind, prefix + x.first, prefix + x.second) for x in robot.loops],
        [
            Coupling(prefix + c.joint, tuple(prefix + of for of in c.of), c.ratio, c.offset, c.function)
            for c in robot.couplings
        ],
        robot.reference,
        robot.independent and tuple(prefix + joint for joint in robot.independent),
    )


def _modules(owner: str, modules: Iterable[tuple[str, Robot]]) -> list[tuple[str, Robot]]:
    try:
        found = [(key, robot) for key, robot in modules]
    except (TypeError, ValueError):
        raise RobotError(f"{owner}: its modules must be pairs of a name and a Robot, got {modules!r}") from None
    names: set[str] = set()
    for k, (key, robot) in enumerate(found):
        if not isinstance(key, str) or not key:
            raise RobotError(f"{owner}: a module needs a name, got {key!r}")
        if not isinstance(robot, Robot):
            raise RobotError(f"{owner}: module {key!r} must be a Robot, got {type(robot).__name__}")
        if key in names:
            raise RobotError(f"{owner}: two modules are named {key!r}")
        if k < len(found) - 1 and PLATFORM not in robot.link_names:
            raise RobotError(f"{owner}: module {key!r} has no link {PLATFORM!r} for the next one to stand on")
        names.add(key)
    if len(found) < 2:
        raise RobotError(f"{owner}: needs two modules or more, got {len(found)}")
    return found

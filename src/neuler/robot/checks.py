"""What must be so of a robot's parts: links and joints form a tree, loops and couplings name what exists."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuler.errors import RobotError, caller
from neuler.naming import listed
from neuler.robot.coupling import Coupling, in_order
from neuler.robot.joint import Joint
from neuler.robot.link import Link
from neuler.robot.loop import Loop

if TYPE_CHECKING:
    from neuler.robot.model import Robot


def _unique(owner: str, what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise RobotError(f"{owner}: a {what} needs a name, got {name!r}")
        if name in seen:
            raise RobotError(f"{owner}: two {what}s are named {name!r}")
        seen.add(name)


def outward(
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
                "a tree has one joint a link; a Loop closes it"
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
    for joint in ordered_joints:
        below = carried.get(joint.parent)
        if below is not None and below.type.geared:
            raise RobotError(
                f"joint {joint.name!r}: its parent {joint.parent!r} spins about joint {below.name!r}, and its frame "
                "does not turn with it; a body that carries others needs a revolute joint"
            )
    ordered_joints = [joint for joint in ordered_joints if not joint.inner]
    ordered_joints += [joint for joint in joints if joint.inner]  # those of motors stand last, in the order given
    return (ordered_links[0], *(by_name[joint.child] for joint in ordered_joints)), tuple(ordered_joints)


def warn_of_negative(owner: str, links: Sequence[Link]) -> None:
    """One warning about links of negative mass, which no body has; of a link once, not of every robot made of it."""
    bad = [link for link in links if link.mass < 0 and "_warned" not in link.__dict__]
    if not bad:
        return
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    warnings.warn(
        f"{owner}: link {bad[0].name!r} has a negative mass, {bad[0].mass:.6g} kg{more}; robot.check() lists what is "
        "wrong with a robot, strict=True of neuler.load and from_dh refuses it",
        UserWarning,
        stacklevel=caller(),
    )
    for link in bad:
        link.__dict__["_warned"] = True


def sequence(owner: str, what: str, value: object) -> None:
    """Refuse one thing where a list of them is expected."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise RobotError(f"{owner}: {what} must be a list, got {value!r}; put it in [ ]")


def check_couplings(owner: str, joints: Sequence[Joint], couplings: Sequence[Coupling]) -> None:
    """Each names joints with one coordinate, none follows two, and none follows itself by way of others."""
    moving = {joint.name: joint for joint in joints if joint.moves}
    followers: dict[str, Coupling] = {}
    for coupling in couplings:
        if not isinstance(coupling, Coupling):
            raise RobotError(f"{owner}: expected a Coupling, got {coupling!r}")
        for name in (coupling.joint, *coupling.of):
            if name not in moving:
                raise RobotError(
                    f"{owner}: a coupling names {name!r}, which is no moving joint; it has {listed(name, moving)}"
                )
            if not moving[name].type.has_axis:
                raise RobotError(
                    f"{owner}: joint {name!r} is {moving[name].kind} and cannot be coupled; "
                    "a joint with one coordinate can"
                )
        law = moving[coupling.joint].friction
        if law is not None and law.loaded:
            raise RobotError(
                f"{owner}: joint {coupling.joint!r} follows others and has no force of its own that its friction could "
                "depend on; give load-dependent friction to a joint that leads it, or take a law of the speed alone"
            )
        if coupling.joint in followers:
            raise RobotError(f"{owner}: joint {coupling.joint!r} is coupled twice; it can follow one coupling alone")
        followers[coupling.joint] = coupling
    in_order(owner, couplings)


def check_loops(owner: str, robot: Robot) -> None:
    """Each joins two frames of different links."""
    names: set[str] = set()
    for loop in robot.loops:
        if not isinstance(loop, Loop):
            raise RobotError(f"{owner}: expected a Loop, got {loop!r}")
        if loop.name in names:
            raise RobotError(f"{owner}: two loops are named {loop.name!r}")
        names.add(loop.name)
        bodies = []
        for frame in (loop.first, loop.second):
            try:
                bodies.append(robot.locate(frame)[0])
            except RobotError as error:
                raise RobotError(f"{owner}, loop {loop.name!r}: {error}") from None
        if bodies[0] == bodies[1]:
            raise RobotError(f"{owner}, loop {loop.name!r}: both frames are fixed to one link; it closes no loop")


def check_independent(owner: str, robot: Robot) -> None:
    """Names of moving joints, or of parts of theirs, each once; without loops all joints are independent."""
    if robot.independent is None:
        return
    numbers: list[int] = []
    for name in robot.independent:
        found = robot.coordinates.numbers(name)
        if not found:
            raise RobotError(f"{owner}: has no moving joint {name!r}; it has {listed(name, robot.joint_names)}")
        numbers += found
    if len(set(numbers)) != len(numbers):
        raise RobotError(f"{owner}: a joint is named twice in {', '.join(robot.independent)}")
    if not robot.loops:
        raise RobotError(f"{owner}: has no loops, so that all its joints are independent; leave independent= out")

"""Names of velocities: a joint's name for all of its velocities, ``ball.wx`` for one of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuler.robot.joint import Joint


def velocity_names(joints: Sequence[Joint]) -> list[str]:
    """Of every velocity of the joints, in order: the joint's name, with a part behind it where it has several.

    >>> from neuler import Joint
    >>> velocity_names([Joint("ball", "spherical", "a", "b"), Joint("slide", "prismatic", "b", "c")])
    ['ball.wx', 'ball.wy', 'ball.wz', 'slide']
    """
    found: list[str] = []
    for joint in joints:
        parts = joint.type.velocity_parts if joint.nv > 1 else ()
        found += [f"{joint.name}.{part}" for part in parts] if parts else [joint.name] * joint.nv
    return found


def named_velocities(joints: Sequence[Joint], name: str) -> list[int]:
    """Numbers of the velocities that a name stands for: all of a joint's, or one part; none where it is unknown."""
    at = 0
    for joint in joints:
        if joint.name == name:
            return list(range(at, at + joint.nv))
        at += joint.nv
    return [k for k, other in enumerate(velocity_names(joints)) if other == name]


def names_of(joints: Sequence[Joint], numbers: Sequence[int]) -> tuple[str, ...]:
    """The names of some velocities in their order: of a joint whose velocities are all among them its own.

    >>> from neuler import Joint
    >>> names_of([Joint("ball", "spherical", "a", "b"), Joint("slide", "prismatic", "b", "c")], [3, 0, 2])
    ('slide', 'ball.wx', 'ball.wz')
    """
    parts = velocity_names(joints)
    owners = [joint for joint in joints for _ in range(joint.nv)]
    whole = {joint.name for joint in joints if set(named_velocities(joints, joint.name)) <= set(numbers)}
    return tuple(dict.fromkeys(owners[k].name if owners[k].name in whole else parts[k] for k in numbers))


@dataclass(frozen=True)
class Held:
    """What says where an independent joint is, or a part of one."""

    joint: Joint | None
    """The joint, where it is a whole one."""
    places: tuple[int, ...]
    """Numbers of its positions in q."""
    turned: tuple[int, ...]
    """Of a part of a ball, which has no position of its own: the number of its velocity, along which turns count."""


def held(joints: Sequence[Joint], name: str) -> Held:
    """By the name of a joint, or of one of its velocities.

    >>> from neuler import Joint
    >>> joints = [Joint("ball", "spherical", "a", "b"), Joint("table", "planar", "b", "c")]
    >>> [(each.places, each.turned) for each in (held(joints, name) for name in ("ball", "ball.wy", "table.y"))]
    [((0, 1, 2, 3), ()), ((), (1,)), ((5,), ())]
    """
    at = first = 0
    number = next(iter(named_velocities(joints, name)))
    for joint in joints:
        if number < first + joint.nv:
            break
        at, first = at + joint.nq, first + joint.nv
    if joint.name == name or joint.nv == 1:
        return Held(joint, tuple(range(at, at + joint.nq)), ())
    if joint.type.quaternion is None:
        return Held(None, (at + number - first,), ())
    return Held(None, (), (number,))

"""Kinds of joints that are simple joints in a row, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.joint import Joint
from neuler.robot.kinds.kind import InARow
from neuler.robot.link import Link
from neuler.robot.transform import Transform
from neuler.robot.value import kept

if TYPE_CHECKING:
    from neuler.robot.model import Robot


@kept
def simple_names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Of every joint that is made of simple ones, what these are called: names that nothing else has."""
    taken = {*robot.frame_names, *(joint.name for joint in robot.joints)}
    return {
        joint.name: tuple(_unused(f"{joint.name}.{element.name}", taken) for element in joint.type.elements)
        for joint in robot.joints
        if joint.type.elements
    }


@kept
def expand(robot: Robot) -> Robot:
    """The same robot with simple joints only; links without mass stand between those of a row."""
    names = simple_names(robot)
    if not names:
        return robot
    links, joints = [robot.links[0]], []
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        parent, seat = joint.parent, joint.placement
        for element, name in zip(joint.type.elements, names.get(joint.name, ()), strict=True):
            last = name == names[joint.name][-1]
            child = link.name if last else name
            axis = InARow.turned(joint.axis, element.axis)
            part = Joint(name, element.kind, parent, child, seat, axis, viscous=joint.viscous, role=joint.role)
            joints.append(part)
            if not last:
                links.append(Link(name))
            parent, seat = child, Transform()
        if not joint.type.elements:
            joints.append(joint)
        links.append(link)
    return robot.replace(links=links, joints=joints)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name

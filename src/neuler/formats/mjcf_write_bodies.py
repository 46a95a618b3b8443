"""The tree of an MJCF file: bodies with their inertia and joints, of robots that are saved and of those for peers.

What differs between the two is data: names, what stands for a body's inertia, what a joint is told, which links are no
bodies of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.formats.armatures import refuse_spin
from neuler.robot import Joint, Link, Robot
from neuler.robot.transform import Transform, quaternion

Array = NDArray[np.float64]
Attributes = dict[str, str]

WORLD = "world"
"""What MuJoCo calls the body that does not move."""
KINDS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}
"""Kinds of joints that MuJoCo has, beside the free one."""


@dataclass
class Worldbody:
    """The tree of a robot of simple joints as ``<worldbody>``.

    ``inertial`` gives the attributes of a link's ``<inertial>``, or None where it has none; ``told`` those of a joint
    beside its name, kind, place and axis. ``links`` and ``joints`` are what they are called where that is not their
    own name. Links named in ``rows`` are no bodies: their joints stand in a row in the
    body that the next joint carries.
    """

    robot: Robot
    inertial: Callable[[Link], Attributes | None]
    told: Callable[[Joint], Attributes] = lambda joint: {}
    rows: Collection[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    joints: Mapping[str, str] = field(default_factory=dict)
    world: ET.Element = field(init=False)
    places: dict[str, tuple[ET.Element, Transform]] = field(init=False)
    """Of every link the body that it is part of, and where its frame is in that body's."""
    seats: dict[str, Transform] = field(init=False)
    """Of every free joint, where its position zero is in the world."""

    def __post_init__(self) -> None:
        robot = self.robot
        self.world, self.places, self.seats = ET.Element("worldbody"), {}, {}
        base = robot.links[0]
        if self.links.get(base.name, base.name) == WORLD:
            self.places[base.name] = self.world, Transform()
        else:
            self._body(self.world, base, Transform())
        still = {base.name: Transform()}  # links that are fixed to the world, and where they are
        row: dict[str, list[tuple[Joint, Transform]]] = {}
        for joint, link in zip(robot.joints, robot.links[1:], strict=True):
            if joint.parent in still and not joint.moves:
                still[link.name] = still[joint.parent] @ joint.placement
            if joint.kind == "free":  # only the world may carry it
                if joint.parent not in still:
                    raise InputError(
                        f"joint {joint.name!r}: MuJoCo lets only the world carry a free joint, and "
                        f"{joint.parent!r} moves"
                    )
                seat = self.seats[joint.name] = still[joint.parent] @ joint.placement
                ET.SubElement(
                    self._body(self.world, link, seat), "freejoint", {"name": self.joints.get(joint.name, joint.name)}
                )
                continue
            holder, parent = self.places[joint.parent]
            place = parent @ joint.placement
            before = [*row.get(joint.parent, []), *([(joint, place)] if joint.moves else [])]
            if link.name in self.rows:
                self.places[link.name], row[link.name] = (holder, place), before
                continue
            body = self._body(holder, link, place)
            back = place.inverse()
            for each, seat in before:
                self._joint(body, each, Transform() if each is joint else back @ seat)

    def _body(self, holder: ET.Element, link: Link, place: Transform) -> ET.Element:
        where = {"pos": numbers(place.translation), "quat": turned(place.rotation)}
        body = ET.SubElement(holder, "body", {"name": self.links.get(link.name, link.name), **where})
        inertial = self.inertial(link)
        if inertial is not None:
            ET.SubElement(body, "inertial", inertial)
        self.places[link.name] = body, Transform()
        return body

    def _joint(self, body: ET.Element, joint: Joint, seat: Transform) -> None:
        """In a body in whose frame the joint's own child stands at ``seat``, all joints at zero."""
        if joint.type.has_pitch:
            raise InputError(f"joint {joint.name!r}: MuJoCo has no helical joints")
        refuse_spin(joint, "mujoco")
        attributes = {"name": self.joints.get(joint.name, joint.name), "type": KINDS[joint.kind]}
        if any(seat.translation):
            attributes["pos"] = numbers(seat.translation)
        if joint.type.has_axis:
            attributes["axis"] = numbers(np.array(seat.rotation) @ joint.axis)
        ET.SubElement(body, "joint", attributes | self.told(joint))

    def add(self, link: str, tag: str, attributes: Attributes) -> None:
        """An element of a link's body, before the bodies that it carries."""
        body, _ = self.places[link]
        before = next((k for k, child in enumerate(body) if child.tag == "body"), len(body))
        body.insert(before, ET.Element(tag, attributes))

    @property
    def order(self) -> list[str]:
        """Names of the joints in MuJoCo's order."""
        return [each.attrib["name"] for each in self.world.iter() if each.tag in ("joint", "freejoint")]


def numbers(values: Iterable[float]) -> str:
    """Numbers with all their digits, blanks between them.

    >>> numbers([1, -0.0])
    '1.0 0.0'
    """
    return " ".join(repr(float(x) + 0.0) for x in values)


def turned(rotation: object) -> str:
    """The quaternion of a rotation in MuJoCo's order, (w, x, y, z).

    >>> turned(Transform().rotation)
    '1.0 0.0 0.0 0.0'
    """
    return numbers(np.roll(quaternion(rotation), 1))  # type: ignore[arg-type]


def text_of(root: ET.Element) -> str:
    """The file, indented."""
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def principal_inertias(link: Link) -> tuple[Array, Array]:
    """Principal inertias about the centre of mass and the right-handed axes they belong to."""
    about_com = link.inertia_about_com
    if not np.any(about_com - np.diag(np.diag(about_com))):
        return np.diag(about_com).copy(), np.eye(3)
    inertias, axes = np.linalg.eigh(about_com)
    axes[:, 2] *= np.linalg.det(axes)
    return inertias, axes


def inertial_of(link: Link, mass: float, inertias: Iterable[float], axes: Array) -> Attributes:
    """The attributes of ``<inertial>``, at the link's centre of mass."""
    return {"pos": numbers(link.com), "quat": turned(axes), "mass": numbers([mass]), "diaginertia": numbers(inertias)}

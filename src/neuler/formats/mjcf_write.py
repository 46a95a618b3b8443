"""Robots as MJCF, MuJoCo's format."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.formats.armatures import refuse_motors, refuse_spin
from neuler.formats.mjcf_write_bodies import (
    KINDS,
    WORLD,
    Attributes,
    Worldbody,
    numbers,
    text_of,
    turned,
)
from neuler.formats.mjcf_write_couplings import written
from neuler.formats.mjcf_write_links import carried, inertial, is_solid, with_stators
from neuler.naming import fresh
from neuler.robot import Joint, Limits, Link, Loop, Robot
from neuler.robot.coupling import in_order
from neuler.robot.expand import expand, simple_names
from neuler.robot.friction import Coulomb
from neuler.robot.kinds.quaternions import product
from neuler.robot.transform import Transform, quaternion

Array = NDArray[np.float64]

UNLIMITED = 1e10
"""MuJoCo's mjMAXVAL: stands for the end of a range that is open."""
ALONG = 0.1
"""m between the two points on its axis that hold the cut joint of a loop that turns."""
ROW = 6
"""Degrees of freedom that a body may have."""
REFERENCE = "reference"
"""The keyframe at which loops are closed."""
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write(robot: Robot) -> str:
    """The robot as the text of an MJCF file, for MuJoCo 3.2.3 or newer.

    Links are bodies, frames are sites, all by their names. Joints have their limits, damping, Coulomb friction
    (``frictionloss``), rotor inertia (``armature``) and spring; every driven joint has a ``<motor>`` of its name, whose
    control is the joint's force, within its effort limit. Joints that are several simple ones stand in a row in one
    body, as ``JOINT.x``, ``JOINT.y``, ``JOINT.angle`` of a planar one; so do the joints on both sides of links
    without mass, which are no bodies then. Motors whose rotors joints alone feel (``coupled=False``) are armature.

    Loops are equality constraints: ``spherical`` a connect, ``fixed`` a weld, ``revolute`` two connects on its axis;
    couplings are polynomials up to the fourth degree, or fixed tendons where several joints lead. MuJoCo's constraints
    are soft: they hold a loop as stiffly as its ``solref`` and ``solimp`` say. Named positions are keyframes; the
    keyframe ``reference`` is a position at which loops are closed.

    What MuJoCo has no word for and what does not change the dynamics is in ``<custom>``: ``velocity_limit.JOINT``,
    ``effort_limit.JOINT`` where there is no actuator, ``gear_ratio.JOINT``; neuler reads it back. A body with mass that
    has no inertia about an axis gets 2e-15 kg m^2, the least that MuJoCo takes. Left out: notes, and which joints are
    independent.

    Refused by name: helical and spin joints, friction laws and friction that differs between directions, links without
    mass that move where they are not in a row, bodies that cannot be, other loops, couplings and motors, free joints on
    links that move.

    >>> import neuler
    >>> [line.strip() for line in write(neuler.robots.two_link()).splitlines() if "<joint" in line][0]
    '<joint name="joint1" type="hinge" axis="0.0 0.0 1.0" actuatorfrcrange="-10.0 10.0" />'
    """
    if not isinstance(robot, Robot):
        raise FormatError(f"expected a Robot, got {type(robot).__name__}")
    try:
        return text_of(_Writer(robot).root())
    except FormatError:
        raise
    except InputError as error:  # of what peers refuse, too
        raise FormatError(str(error)) from None


class _Writer:
    def __init__(self, robot: Robot) -> None:
        refuse_motors(robot, "MuJoCo")
        for motor in robot.motors:
            if motor.friction is not None:
                raise FormatError(
                    f"motor {motor.name!r}: has a friction law, and an MJCF file knows Coulomb and viscous friction of "
                    "joints; give the motor these, or none"
                )
        self.given = robot
        whole = with_stators(robot.with_simple_motors().mechanism)
        limits = {joint.name: joint.limits for joint in whole.joints}
        parts = {part: name for name, names in simple_names(whole).items() for part in names}
        joints = [_limited(joint, limits[parts.get(joint.name, joint.name)]) for joint in expand(whole).joints]
        self.robot = carried(expand(whole.tree).replace(joints=joints))
        self.sites = {frame.name for frame in robot.frames}
        self.equalities: set[str] = set()
        self.actuators = {joint.name for joint in self.robot.joints}
        self.followers = {coupling.joint for coupling in robot.couplings}
        self._refuse()
        self.tree = Worldbody(self.robot, inertial, self._told, self._rows())

    def root(self) -> ET.Element:
        """The whole file."""
        root = ET.Element("mujoco", {"model": _name("robot", self.given.name)})
        ET.SubElement(root, "compiler", {"angle": "radian", "autolimits": "true", "balanceinertia": "false"})
        ET.SubElement(root, "option", {"gravity": numbers(self.given.gravity)})
        custom = [ET.Element("numeric", {"name": name, "data": numbers([x])}) for name, x in self._custom()]
        root.append(self.tree.world)
        for frame in self.given.frames:
            self._site(frame.name, frame.link, frame.placement)
        loops = list(self._loops())
        tendons, couplings = written(self.given.couplings, lambda name: _unused(name, self.equalities))
        parts = {
            "custom": custom,
            "tendon": tendons,
            "equality": [*loops, *couplings],
            "actuator": [ET.Element("motor", each) for each in self._motors()],
            "keyframe": [ET.Element("key", each) for each in self._keys()],
        }
        for tag, elements in parts.items():
            if elements:
                ET.SubElement(root, tag).extend(elements)
        return root

    # ---- what it cannot hold ------------------------------------------------------------------------

    def _refuse(self) -> None:
        robot = self.robot
        for what, named in (("link", robot.links), ("joint", robot.joints), ("frame", robot.frames)):
            for each in named:
                _name(f"{what} {each.name!r}", each.name)
        for link in robot.links:
            if link.name == WORLD and (link != robot.links[0] or link != Link(WORLD)):
                raise FormatError(
                    f"link {WORLD!r}: has the name of MuJoCo's world, and is not a base without mass; rename it"
                )
        for joint in robot.joints:
            if joint.moves:
                refuse_spin(joint, "MuJoCo")
                if joint.type.has_pitch:
                    raise FormatError(f"joint {joint.name!r}: MuJoCo has no {joint.kind} joints")
                _losses(joint)
                _check_limits(joint)

    def _rows(self) -> set[str]:
        """Links without mass between two moving joints, or in a chain of such; others without mass are refused."""
        robot = self.robot
        onward: dict[str, list[Joint]] = {link.name: [] for link in robot.links}
        for joint in robot.joints:
            onward[joint.parent].append(joint)
        links = {link.name: link for link in robot.links}
        held = {frame.link for frame in robot.frames}
        held |= {self._located(name)[0] for loop in self.given.loops for name in (loop.first, loop.second)}
        rows: set[str] = set()
        free = {joint.child: joint.nv for joint in robot.joints}
        for joint in robot.joints:
            if not joint.moves:
                continue
            body, pending = [joint.child], [joint.child]
            while pending:  # what is fixed to the child
                fixed = [each.child for each in onward[pending.pop()] if not each.moves]
                body += fixed
                pending += fixed
            if any(is_solid(links[name]) for name in body):
                continue
            nxt = [each for name in body for each in onward[name] if each.moves]
            bare = all(links[name] == Link(name) and name not in held and len(onward[name]) == 1 for name in body)
            if not (bare and joint.type.has_axis and len(nxt) == 1 and nxt[0].kind in KINDS):
                raise FormatError(
                    f"link {joint.child!r}: moves without mass, and MuJoCo refuses such bodies; give it mass, "
                    "or make it a part of a link that has some (a bare link between two joints becomes joints in a "
                    "row, unless a frame or a loop is on it)"
                )
            rows.update(body)
            free[nxt[0].child] += free[joint.child]
            if free[nxt[0].child] > ROW:
                raise FormatError(
                    f"joint {nxt[0].name!r}: {free[nxt[0].child]} degrees of freedom in a row without a mass between "
                    f"them, and a body of MuJoCo has {ROW} at most; give one of the links mass"
                )
        return rows

    # ---- bodies and joints ----------------------------------------------------------------------------

    def _told(self, joint: Joint) -> Attributes:
        """Limits, losses, rotor and spring of a joint that is not free."""
        viscous, coulomb = _losses(joint)
        found = {"damping": viscous, "frictionloss": coulomb, "armature": joint.rotor_inertia}
        found |= {"stiffness": joint.stiffness, "springref": joint.rest if joint.stiffness else 0.0}
        told = {name: numbers([value]) for name, value in found.items() if value}
        limits = joint.limits
        if math.isfinite(limits.lower) or math.isfinite(limits.upper):
            told["range"] = numbers([max(limits.lower, -UNLIMITED), min(limits.upper, UNLIMITED)])
        if joint.type.has_axis and 0.0 < limits.effort < math.inf:
            told["actuatorfrcrange"] = numbers([-limits.effort, limits.effort])
        return told

    def _motors(self) -> Iterator[Attributes]:
        """Of every driven joint an actuator for each of its velocities; what follows another has none."""
        for joint in self.robot.joints:
            effort = joint.limits.effort
            if not joint.moves or joint.role != "driven" or joint.name in self.followers or effort == 0.0:
                continue
            more = {"forcerange": numbers([-effort, effort])} if math.isfinite(effort) else {}
            if joint.type.has_axis:
                yield {"name": joint.name, "joint": joint.name, **more}
                continue
            for k, part in enumerate(joint.type.velocity_parts):
                gear = numbers(np.eye(3)[k])
                yield {
                    "name": _unused(f"{joint.name}.{part}", self.actuators),
                    "joint": joint.name,
                    "gear": gear,
                    **more,
                }

    def _custom(self) -> Iterator[tuple[str, float]]:
        for joint in self.robot.joints:
            if not joint.moves:
                continue
            if math.isfinite(joint.limits.velocity):
                yield f"velocity_limit.{joint.name}", joint.limits.velocity
            effort = joint.limits.effort
            if effort == 0.0 or (math.isfinite(effort) and not joint.type.has_axis and joint.role != "driven"):
                yield f"effort_limit.{joint.name}", effort
            if joint.gear_ratio != 1.0:
                yield f"gear_ratio.{joint.name}", joint.gear_ratio

    # ---- frames, loops, couplings, positions ------------------------------------------------------------

    def _located(self, frame: str) -> tuple[str, Transform]:
        number, placement = self.given.locate(frame)
        return self.given.links[number].name, placement

    def _site(self, name: str, link: str, placement: Transform) -> None:
        where = {"pos": numbers(placement.translation), "quat": turned(placement.rotation)}
        self.tree.add(link, "site", {"name": name, **where})

    def _end(self, loop: Loop, frame: str, side: str, shift: float = 0.0) -> str:
        """The site of one end of a loop, or of a point on its axis."""
        link, placement = self._located(frame)
        if not shift and frame in self.sites:
            return frame
        name = _unused(f"{loop.name}.{side}", self.sites)
        self._site(name, link, placement @ Transform(translation=(0.0, 0.0, shift)))
        return name

    def _loops(self) -> Iterator[ET.Element]:
        for loop in self.given.loops:
            _name(f"loop {loop.name!r}", loop.name)
            if loop.kind not in ("fixed", "spherical", "revolute"):
                raise FormatError(
                    f"loop {loop.name!r}: MuJoCo closes loops by points and by welds, and this cut joint is "
                    f"{loop.kind}; cut the loop at a spherical, revolute or fixed joint instead"
                )
            tag = "weld" if loop.kind == "fixed" else "connect"
            ends = {f"site{k}": self._end(loop, each, side) for k, each, side in _sides(loop)}
            yield ET.Element(tag, {"name": _unused(loop.name, self.equalities), **ends})
            if loop.kind == "revolute":
                ends = {f"site{k}": self._end(loop, each, f"{side}.axis", ALONG) for k, each, side in _sides(loop)}
                yield ET.Element(tag, {"name": _unused(f"{loop.name}.axis", self.equalities), **ends})

    def _keys(self) -> Iterator[Attributes]:
        reference = self.given.mobility.reference if self.given.loops else self.given.reference
        taken: set[str] = set()
        for name, q in self.given.named_positions.numbers():
            yield {"name": _unused(_name(f"named position {name!r}", name), taken), "qpos": numbers(self.qpos(q))}
        if reference is not None:
            yield {"name": _unused(REFERENCE, taken), "qpos": numbers(self.qpos(reference))}

    def qpos(self, q: Sequence[float]) -> list[float]:
        """Positions of the robot in MuJoCo's order; those of joints that follow others are added."""
        found: dict[str, list[float]] = {}
        names = simple_names(self.given)
        for entry in self.given.coordinates:
            part = [float(x) for x in q[entry.q]]
            if entry.joint.kind == "free":
                part = _pose(self.tree.seats[entry.name], np.array(part))
            elif entry.joint.type.quaternion is not None:
                part = [part[3], *part[:3]]
            parts = names.get(entry.name)
            found |= {name: [x] for name, x in zip(parts, part, strict=True)} if parts else {entry.name: part}
        for coupling in in_order(f"robot {self.given.name!r}", self.given.couplings):
            value, _, _ = coupling.at([found[name][0] for name in coupling.of])
            found[coupling.joint] = [value]  # type: ignore[list-item]
        return [x for name in self.tree.order for x in found[name]]


# ---- parts ---------------------------------------------------------------------------------------------


def _limited(joint: Joint, limits: Limits) -> Joint:
    return joint if joint.limits == limits else dataclasses.replace(joint, limits=limits)


def _name(owner: str, name: str) -> str:
    if _FORBIDDEN.search(name):
        raise FormatError(f"{owner}: its name has a character that no XML file holds; rename it")
    return name


def _unused(name: str, taken: set[str]) -> str:
    """A name that nothing of its sort has; it has it then."""
    found = fresh(name, taken)
    taken.add(found)
    return found


def _losses(joint: Joint) -> tuple[float, float]:
    """Viscous and Coulomb friction; refused is what differs between directions, other laws, and what is negative."""
    law, (forward, reverse), viscous = joint.friction, joint.coulomb_both, joint.viscous
    owner = f"joint {joint.name!r}"
    if isinstance(law, Coulomb) and not law.width:
        back = law.coulomb if law.coulomb_reverse is None else law.coulomb_reverse
        forward, reverse, viscous = forward + law.coulomb, reverse + back, viscous + law.viscous
    elif law is not None:
        raise FormatError(
            f"{owner}: an MJCF file knows Coulomb and viscous friction, and it has {type(law).__name__} friction"
            f"{' with a width' if law.width else ''}; robot.with_friction({joint.name!r}, Coulomb(...)) changes it"
        )
    if forward != reverse:
        raise FormatError(
            f"{owner}: MuJoCo's friction is the same in both directions, and its is {forward:g} forward and "
            f"{reverse:g} in reverse; give it one value"
        )
    for what, value in (("viscous", viscous), ("coulomb", forward), ("rotor_inertia", joint.rotor_inertia)):
        if value < 0.0:
            raise FormatError(f"{owner}: {what} is {value:g}, and MuJoCo takes nothing below zero; change it")
    return viscous, forward


def _check_limits(joint: Joint) -> None:
    limits, owner = joint.limits, f"joint {joint.name!r}"
    if limits.effort < 0.0:
        raise FormatError(f"{owner}: its effort limit is {limits.effort:g}, and must not be negative; change it")
    if limits == Limits(velocity=limits.velocity, effort=limits.effort):
        return
    if not joint.type.has_axis:
        raise FormatError(
            f"{owner}: is {joint.kind}, and its position limits, {limits.lower:g} to {limits.upper:g}, are none that "
            "MuJoCo has; leave them out"
        )
    if limits.lower >= limits.upper:
        raise FormatError(
            f"{owner}: its limits, {limits.lower:g} to {limits.upper:g}, leave it no way, and MuJoCo takes no such "
            "range; widen them, or hold the joint: robot.with_fixed"
        )


def _sides(loop: Loop) -> list[tuple[int, str, str]]:
    return [(1, loop.first, "first"), (2, loop.second, "second")]


def _pose(seat: Transform, pose: Array) -> list[float]:
    """Of a free joint, as MuJoCo counts it: from the world, the quaternion's real part first."""
    position = np.array(seat.translation) + np.array(seat.rotation) @ pose[:3]
    x, y, z, w = product(quaternion(seat.rotation), pose[3:]).tolist()
    return [*position.tolist(), w, x, y, z]

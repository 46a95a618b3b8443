"""URDF files: what they say about the dynamics, nothing dropped without a word."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import FormatError, RobotError
from neuler.formats.source import Source
from neuler.formats.urdf_motors import Transmissions
from neuler.formats.xml import Element, read_xml
from neuler.robot import Coupling, Joint, Limits, Link, Robot
from neuler.robot.transform import Transform, Vec3

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", "floating")

SDF = (
    "is SDF, Gazebo's format, which neuler does not read; convert the model: sdf2urdf (of sdformat_tools, or pysdf) "
    "makes a URDF file of it, sdf2mjcf (of sdformat-mjcf) an MJCF file"
)
"""Of files of another simulator: what to do with them."""
UNLIMITED = sys.float_info.max
"""The largest number: as a limit it is none."""
_RUN_XACRO = "give it the suffix .xacro, with which it is expanded"
_GEOMETRY = {"visual", "collision", "material"}
_KNOWN_ATTRIBUTES = {
    "robot": {"name", "version"},
    "link": {"name"},
    "joint": {"name", "type"},
    "origin": {"xyz", "rpy"},
    "axis": {"xyz"},
    "parent": {"link"},
    "child": {"link"},
    "mass": {"value"},
    "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"},
    "limit": {"lower", "upper", "velocity", "effort"},
    "dynamics": {"damping", "friction", "armature"},
    "mimic": {"joint", "multiplier", "offset"},
}
_LOOPS = {"loop_joint", "joint", "ball_constraint", "distance_constraint", "linear_bushing_rpy", "tendon_constraint"}


def load_urdf(
    source: Source,
    *,
    mimic: str = "couple",
    floating: str = "free",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Robot:
    """A robot from a URDF file: a path, or the XML itself (bytes, or text that begins with ``<``).

    Units are URDF's: m, kg, rad. ``gravity`` (m/s^2) is expressed in the base link's frame.
    Every link of the file is a link of the robot, those behind fixed joints included, and its
    frame is the URDF link frame. ``<dynamics damping friction>`` become viscous (N m s/rad or
    N s/m) and Coulomb friction (N m or N); ``armature``, which some files have, the rotor inertia
    (kg m^2 or kg). A limit that is not given, or the largest number, is infinite; a continuous joint has no position
    limits. A link without ``<inertial>`` has no mass.

    A *planar* joint has three coordinates: x and y (m) and the angle about the plane's normal (rad). The
    smallest rotation that takes z to the normal takes x and y to the two directions of sliding.

    A joint that *mimics* another has no coordinate of its own: a :class:`Coupling` holds q = multiplier
    q_of + offset. ``mimic="independent"`` gives each a coordinate instead, ``"refuse"`` refuses them.

    A *floating* joint is free: seven position and six velocity coordinates. ``floating="fixed"`` welds
    floating joints, ``"refuse"`` refuses them.

    A simple transmission gives ``gear_ratio``. Where one says the inertia of its rotor, ``<motorInertia>`` in the
    ``<actuator>`` or Drake's ``<drake:rotor_inertia value="1e-4"/>`` (kg m^2, on the motor's side), it is a
    :class:`Motor`; so are both motors of a ``DifferentialTransmission`` or ``FourBarLinkageTransmission`` of
    ros_control. A file does not say where a rotor sits: such motors are ``included`` in the links' data and felt along
    their joints alone (``coupled=False``).

    What a file says that has no effect here (other transmissions, sensors, simulator settings) is named in
    ``robot.notes``; shapes and materials are not read. Loop constraints are refused: close loops in code, with
    :class:`Loop`.

    >>> arm = load_urdf('''<robot name="pendulum"><link name="base"/>
    ...   <link name="bob"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
    ...     <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/>
    ...     <axis xyz="0 1 0"/><dynamics damping="0.1"/></joint></robot>''')
    >>> arm.joint_names, arm.mass, arm.moving_joints[0].viscous
    (('hinge',), 2.0, 0.1)
    """
    check_options("load_urdf", mimic, floating)
    return robot_of(read_xml(source, "URDF", _advice), mimic, floating, gravity)


def check_options(reader: str, mimic: object, floating: object) -> None:
    """Refuse what the options of a reader cannot be."""
    for option, value, allowed in (
        ("mimic", mimic, ("couple", "independent", "refuse")),
        ("floating", floating, ("free", "fixed", "refuse")),
    ):
        if value not in allowed:
            raise FormatError(f"option {option!r} of {reader} must be one of {', '.join(allowed)}, got {value!r}")


def robot_of(root: Element, mimic: str, floating: str, gravity: ArrayLike) -> Robot:
    """The robot of a URDF file that is read, with the options of :func:`load_urdf`."""
    if root.tag == "sdf":
        raise root.error(SDF)
    if root.tag != "robot":
        raise root.error(f"expected the root element <robot> of a URDF file, got <{root.tag}>; only URDF is supported")
    try:
        return _Reader(root, mimic, floating).robot(gravity)
    except RobotError as error:
        raise FormatError(f"{root.file}: {error}") from None


class _Reader:
    def __init__(self, root: Element, mimic: str, floating: str) -> None:
        self.root = root
        self.mimic_option = mimic
        self.floating_option = floating
        self.ignored: Counter[str] = Counter()
        self.notes: list[str] = []
        self.independent: list[str] = []
        self.mimics: list[tuple[Element, Coupling]] = []
        self.welded: list[str] = []
        self.simulated: list[str] = []
        self.unlimited: list[str] = []
        self.links: list[Link] = []
        self.joints: list[Joint] = []

    def robot(self, gravity: ArrayLike) -> Robot:
        _refuse_xacro(self.root)
        self.attributes(self.root)
        transmissions: list[Element] = []
        for element in self.root.children:
            prefix, _, tag = element.tag.rpartition(":")
            if element.tag == "link":
                self.links.append(self.link(element))
            elif element.tag == "joint":
                self.joints.extend(self.joint(element))
            elif element.tag == "transmission":
                transmissions.append(element)
            elif element.tag == "loop_joint" or (prefix and tag in _LOOPS):
                name = element.attributes.get("name", "")
                raise element.error(
                    f"<{element.tag}> {name!r}: loop constraints are not supported; remove it to load the open tree, "
                    "then close it in code: name a frame on either side with robot.with_frame(...) and build "
                    f'robot.replace(loops=[Loop({name or "loop"!r}, "revolute", "frame_1", "frame_2")])'
                )
            elif element.tag not in _GEOMETRY:
                self.ignore(element)
                if element.tag == "gazebo":
                    self.gazebo(element)
        if not self.links:
            raise self.root.error("<robot> has no <link>; a robot needs at least its base")
        self.named("mimic joints with coordinates of their own", self.independent)
        self.named("floating joints taken as fixed", self.welded)
        self.named("revolute and prismatic joints without a <limit>, taken as unlimited", self.unlimited)
        self.named("joints of the simulator alone, in <gazebo>, ignored", self.simulated)
        couplings = self.couplings()
        followers = [coupling.joint for coupling in couplings]
        joints, motors = Transmissions(self.joints, followers).read(transmissions, self.named)
        counts = [f"ignored: {what} ({count})" for what, count in sorted(self.ignored.items())]
        name = self.root.attributes.get("name", "").strip() or "robot"
        notes = [*self.notes, *counts]
        return Robot(name, self.links, joints, gravity, notes=notes, couplings=couplings, motors=motors)

    # ---- notes -----------------------------------------------------------------------------

    def ignore(self, element: Element, parent: str = "") -> None:
        self.ignored[f"<{element.tag}>" + (f" in <{parent}>" if parent else "")] += 1

    def attributes(self, element: Element) -> None:
        known = _KNOWN_ATTRIBUTES[element.tag]
        for name in element.attributes:
            if name not in known and not name.startswith("xmlns"):
                self.ignored[f"attribute {name!r} of <{element.tag}>"] += 1

    def children(self, element: Element, known: Iterable[str]) -> None:
        for child in element.children:
            if child.tag not in known:
                self.ignore(child, element.tag)

    def named(self, what: str, names: list[str]) -> None:
        if names:
            self.notes.append(f"{what}: {', '.join(map(repr, names))}")

    def gazebo(self, element: Element) -> None:
        """A simulator may close loops in its own section: say which."""
        for child in element.children:
            if child.tag == "joint" or child.tag.startswith("joint:"):
                self.simulated.append(child.attributes.get("name", ""))

    # ---- links -----------------------------------------------------------------------------

    def link(self, element: Element) -> Link:
        self.attributes(element)
        name = element.attribute("name", "link")
        owner = f"link {name!r}"
        self.children(element, {"inertial"} | _GEOMETRY)
        inertial = element.one("inertial", owner)
        if inertial is None:
            return Link(name)
        self.children(inertial, ("origin", "mass", "inertia"))
        placement = self.origin(inertial, owner)
        mass_element = inertial.need("mass", owner)
        self.attributes(mass_element)
        mass = mass_element.number("value", owner)
        moments = inertial.need("inertia", owner)
        self.attributes(moments)
        about_com = [moments.number(key, owner) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
        with np.errstate(over="ignore", invalid="ignore"):  # the model names a number that overflowed
            return Link.from_com(name, mass=mass, inertia=about_com).seen_from(placement)

    def origin(self, element: Element, owner: str) -> Transform:
        origin = element.one("origin", owner)
        if origin is None:
            return Transform()
        self.attributes(origin)
        if "quat_xyzw" in origin.attributes:
            raise origin.error(f"{owner}: 'quat_xyzw' of <origin> is not supported; give the rotation as 'rpy'")
        zero = (0.0, 0.0, 0.0)
        return Transform.from_rpy(origin.vector("xyz", owner, zero), origin.vector("rpy", owner, zero))

    # ---- joints ----------------------------------------------------------------------------

    def joint(self, element: Element) -> list[Joint]:
        self.attributes(element)
        name = element.attribute("name", "joint")
        owner = f"joint {name!r}"
        kind = element.attribute("type", owner)
        if kind not in JOINT_TYPES:
            raise element.error(f"{owner}: type must be one of {', '.join(JOINT_TYPES)}, got {kind!r}")
        known = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
        self.children(element, known)
        parent, child = (self.end(element, role, owner) for role in ("parent", "child"))
        placement = self.origin(element, owner)
        if kind == "floating":
            if self.floating_option == "refuse":
                raise element.error(
                    f'{owner}: is floating; floating="free" gives it seven coordinates, floating="fixed" welds it'
                )
            if self.floating_option == "free":
                for child_element in element.children:
                    if child_element.tag in ("axis", "limit", "dynamics", "mimic"):
                        self.ignore(child_element, "joint type=floating")
                return [Joint(name, "free", parent, child, placement)]
            self.welded.append(name)
        if kind in ("fixed", "floating"):
            return [Joint(name, "fixed", parent, child, placement)]
        self.mimic(element, name, kind, owner)
        axis = self.axis(element, owner)
        losses, armature = self.dynamics(element, owner)
        if kind == "planar":
            return self.planar(element, name, (parent, child), placement, axis, (*losses, armature))
        limits = self.limits(element, owner, bounded=kind != "continuous")
        kind = "revolute" if kind == "continuous" else kind
        return [Joint(name, kind, parent, child, placement, axis, limits, *losses, rotor_inertia=armature)]

    def end(self, element: Element, role: str, owner: str) -> str:
        end = element.need(role, owner)
        self.attributes(end)
        return end.attribute("link", owner)

    def axis(self, element: Element, owner: str) -> Vec3:
        axis = element.one("axis", owner)
        if axis is None:
            return (1.0, 0.0, 0.0)
        self.attributes(axis)
        x, y, z = axis.vector("xyz", owner, (1.0, 0.0, 0.0))
        largest = max(abs(x), abs(y), abs(z))
        if largest == 0.0:
            raise axis.error(f"{owner}: the axis has no direction, got '0 0 0'; give a unit vector")
        x, y, z = x / largest, y / largest, z / largest  # no overflow, no underflow
        norm = math.hypot(x, y, z)
        return (x / norm, y / norm, z / norm)

    def limits(self, element: Element, owner: str, *, bounded: bool) -> Limits:
        limit = element.one("limit", owner)
        if limit is None:
            if bounded:
                self.unlimited.append(element.attributes["name"].strip())
            return Limits()
        self.attributes(limit)
        usual = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
        given = [limit.number(key, owner, none, infinite=True) for key, none in usual.items()]
        lower, upper, velocity, effort = (x if abs(x) < UNLIMITED else math.copysign(math.inf, x) for x in given)
        return Limits(lower, upper, velocity, effort) if bounded else Limits(velocity=velocity, effort=effort)

    def dynamics(self, element: Element, owner: str) -> tuple[tuple[float, float], float]:
        """Viscous and Coulomb friction, and the rotor's inertia on the joint's side."""
        dynamics = element.one("dynamics", owner)
        if dynamics is None:
            return (0.0, 0.0), 0.0
        self.attributes(dynamics)
        damping, friction, armature = (dynamics.number(x, owner, 0.0) for x in ("damping", "friction", "armature"))
        return (damping, friction), armature

    def mimic(self, element: Element, name: str, kind: str, owner: str) -> None:
        mimic = element.one("mimic", owner)
        if mimic is None:
            return
        self.attributes(mimic)
        leader = mimic.attribute("joint", owner)
        if self.mimic_option == "refuse":
            raise mimic.error(
                f"{owner}: mimics joint {leader!r}; "
                'mimic="couple" lets it follow, mimic="independent" gives it a coordinate of its own'
            )
        if self.mimic_option == "independent":
            self.independent.append(name)
            return
        if kind == "planar":
            raise mimic.error(f"{owner}: a planar joint cannot mimic another; write two prismatic and a revolute joint")
        if leader == name:
            raise mimic.error(f"{owner}: mimics itself; name the joint that leads it")
        ratio, offset = mimic.number("multiplier", owner, 1.0), mimic.number("offset", owner, 0.0)
        self.mimics.append((mimic, Coupling(name, leader, ratio, offset)))

    def couplings(self) -> list[Coupling]:
        """The couplings of all mimic joints."""
        moving = {joint.name: joint for joint in self.joints if joint.moves}
        known = {joint.name for joint in self.joints}
        for element, coupling in self.mimics:
            (leader,) = coupling.of
            if leader not in moving or not moving[leader].type.has_axis:
                what = "is not revolute or prismatic" if leader in known else "does not exist"
                raise element.error(
                    f"joint {coupling.joint!r}: mimics joint {leader!r}, which {what}; "
                    "name a revolute or prismatic joint"
                )
        leads = {coupling.joint: coupling.of[0] for _, coupling in self.mimics}
        for element, coupling in self.mimics:
            path = [coupling.joint]
            while path[-1] in leads and path[-1] not in path[:-1]:
                path.append(leads[path[-1]])
            if path[-1] == coupling.joint:
                circle = " of ".join(map(repr, path))
                raise element.error(
                    f"joint {coupling.joint!r}: mimic joints lead in a circle: {circle}; one must move by itself"
                )
        return [coupling for _, coupling in self.mimics]

    def planar(
        self,
        element: Element,
        name: str,
        ends: tuple[str, str],
        placement: Transform,
        normal: Vec3,
        drive: tuple[float, float, float],
    ) -> list[Joint]:
        if any(drive):
            raise element.error(
                f"joint {name!r}: rotor or friction of a planar joint does not say in which direction it acts; "
                "write two prismatic joints and a revolute one"
            )
        for limit in element.all("limit"):
            self.ignore(limit, "joint type=planar")
        return [Joint(name, "planar", *ends, placement, normal)]


def _advice(text: str) -> str:
    """About a text that should have been a number."""
    return f"; this is a xacro file: {_RUN_XACRO}" if "${" in text or "$(" in text else ""


def _refuse_xacro(root: Element) -> None:
    pending = [root]
    while pending:
        element = pending.pop()
        if element.tag.startswith("xacro:"):
            raise element.error(f"<{element.tag}>: this is a xacro file; {_RUN_XACRO}")
        pending.extend(element.children)

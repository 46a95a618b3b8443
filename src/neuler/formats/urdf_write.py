"""Robots as URDF files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from neuler.errors import FormatError
from neuler.formats.urdf import UNLIMITED
from neuler.formats.urdf_motors import DIFFERENTIAL, FOUR_BAR, SIMPLE
from neuler.robot import Coupling, Joint, Link, Motor, Robot
from neuler.robot.motor import transmissions
from neuler.robot.transform import Transform

GRAVITY = (0.0, 0.0, -9.81)
_KINDS = {"revolute": "revolute", "prismatic": "prismatic", "fixed": "fixed", "free": "floating", "planar": "planar"}
_NAME = re.compile(r"(?!\s)[^\x00-\x1f\ud800-\udfff\ufffe\uffff]+(?<!\s)")
LIMITS = ("lower", "upper", "velocity", "effort")
_SAME = 1e-12
"""Share by which ratios of a differential may be off."""


def write(robot: Robot) -> str:
    """The robot as the text of a URDF file, which :func:`neuler.load_urdf` reads again.

    Numbers are written with all their digits. Frames become links without mass on fixed joints; a coupling in
    proportion to one joint is a mimic; rotor inertia is ``armature`` of ``<dynamics>``, which few programs read. Motors
    that are contained in the links' data and felt along their joints alone are transmissions, with the inertia of the
    rotor as Drake has it; two that share two joints are a differential or a four-bar linkage of ros_control.

    Refused by name: loops, springs, friction laws and friction that differs between directions, passive joints, other
    kinds of joints, couplings and motors, a gravity other than (0, 0, -9.81), a reference. Notes are left out.

    >>> from neuler import Joint, Link, Robot
    >>> arm = Robot("arm", [Link("base"), Link("bob")], [Joint("hinge", "revolute", "base", "bob")])
    >>> print(write(arm).strip())
    <?xml version="1.0"?>
    <robot name="arm" xmlns:drake="http://drake.mit.edu">
      <link name="base"/>
      <link name="bob"/>
      <joint name="hinge" type="continuous">
        <parent link="base"/>
        <child link="bob"/>
        <origin xyz="0.0 0.0 0.0" rpy="0.0 0.0 0.0"/>
        <axis xyz="0.0 0.0 1.0"/>
      </joint>
    </robot>
    """
    if not isinstance(robot, Robot):
        raise FormatError(f"expected a Robot, got {type(robot).__name__}")
    _refuse(robot)
    mimics = {coupling.joint: _mimic(coupling) for coupling in robot.couplings}
    lines = ['<?xml version="1.0"?>', f'<robot name={_name(robot.name)} xmlns:drake="http://drake.mit.edu">']
    for link in robot.links:
        lines += _link(link)
    lines += [f"  <link name={_name(frame.name)}/>" for frame in robot.frames]
    for joint in robot.joints:
        lines += _joint(joint, mimics.get(joint.name, ""))
    taken = {joint.name for joint in robot.joints}
    for frame in robot.frames:
        name = f"{frame.name}_fixed"
        while name in taken:
            name += "_"
        taken.add(name)
        lines += _joint(Joint(name, "fixed", frame.link, frame.name, frame.placement), "")
    lines += _gears(robot)
    for group in transmissions(robot.motors):
        lines += _transmission(group)
    return "\n".join([*lines, "</robot>", ""])


# ---- what it cannot hold -----------------------------------------------------------------------------


def _refuse(robot: Robot) -> None:
    for loop in robot.loops:
        raise FormatError(
            f"loop {loop.name!r}: a URDF file holds trees; save the robot as .par, or without its loops: robot.tree"
        )
    if robot.gravity != GRAVITY:
        raise FormatError(
            f"robot {robot.name!r}: a URDF file holds no gravity, and it is {robot.gravity}; write it with "
            f"with_gravity({GRAVITY}) and read it with load(..., gravity={robot.gravity})"
        )
    if robot.reference is not None:
        raise FormatError(f"robot {robot.name!r}: a URDF file holds no reference; write it with reference=None")
    for joint in robot.joints:
        what = _lost(joint)
        if what:
            raise FormatError(
                f"joint {joint.name!r}: a URDF file holds no {what}; change the joint, or save it as .par"
            )


def _lost(joint: Joint) -> str:
    if joint.kind not in _KINDS:
        return f"{joint.kind} joint"
    if joint.friction is not None:
        return "friction law"
    if joint.coulomb_reverse not in (None, joint.coulomb):
        return "friction that differs between directions"
    if joint.stiffness:
        return "spring"
    if joint.moves and joint.role != "driven" and not joint.type.always_passive:
        return f"role, and the joint is {joint.role}"
    return ""


def _mimic(coupling: Coupling) -> str:
    if coupling.function is not None or len(coupling.of) != 1:
        raise FormatError(
            f"joint {coupling.joint!r}: in a URDF file a joint follows one other in proportion, and this one follows "
            f"{', '.join(coupling.of)}{' by a function' if coupling.function else ''}; save it as .par"
        )
    leader, ratio = coupling.of[0], coupling.ratio[0]
    return f"<mimic joint={_name(leader)} multiplier={_number(ratio)} offset={_number(coupling.offset)}/>"


# ---- links and joints ---------------------------------------------------------------------------------


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise FormatError(f"the name {text!r} cannot be written in a URDF file; rename it without blanks at its ends")
    return quoteattr(text)


def _number(x: float) -> str:
    return f'"{float(x)!r}"'


def _vector(values: Iterable[float]) -> str:
    return f'"{" ".join(repr(float(x) + 0.0) for x in values)}"'


def _origin(placement: Transform) -> str:
    return f"<origin xyz={_vector(placement.translation)} rpy={_vector(placement.rpy)}/>"


def _link(link: Link) -> list[str]:
    name = _name(link.name)
    if link == Link(link.name):
        return [f"  <link name={name}/>"]
    if link.mass == 0 and any(link.first_moment):
        raise FormatError(f"link {link.name!r}: has a first moment but no mass; a URDF file gives the centre of mass")
    about = link.inertia_about_com
    cells = [f"i{a}{b}={_number(about[i, k])}" for i, a in enumerate("xyz") for k, b in enumerate("xyz") if i <= k]
    return [
        f"  <link name={name}>",
        "    <inertial>",
        f"      {_origin(Transform(translation=link.com))}",
        f"      <mass value={_number(link.mass)}/>",
        f"      <inertia {' '.join(cells)}/>",
        "    </inertial>",
        "  </link>",
    ]


def _joint(joint: Joint, mimic: str) -> list[str]:
    limits = joint.limits
    free = math.isinf(limits.lower) and math.isinf(limits.upper)
    kind = "continuous" if joint.kind == "revolute" and free else _KINDS[joint.kind]
    lines = [
        f"  <joint name={_name(joint.name)} type={quoteattr(kind)}>",
        f"    <parent link={_name(joint.parent)}/>",
        f"    <child link={_name(joint.child)}/>",
        f"    {_origin(joint.placement)}",
    ]
    if joint.type.has_axis or joint.type.elements:
        lines.append(f"    <axis xyz={_vector(joint.axis)}/>")
    lines += [f"    {told}"] if (told := _limit(joint, kind)) else []
    losses = (("damping", joint.viscous), ("friction", joint.coulomb), ("armature", joint.rotor_inertia))
    if any(x for _, x in losses):
        lines.append(f"    <dynamics {' '.join(f'{key}={_number(x)}' for key, x in losses if x)}/>")
    return [*lines, *([f"    {mimic}"] if mimic else []), "  </joint>"]


def _limit(joint: Joint, kind: str) -> str:
    """All that other programs insist on: for no limit stands the largest number there is, which ``load`` knows."""
    keys = {"continuous": ("velocity", "effort"), "revolute": LIMITS, "prismatic": LIMITS}.get(kind, ())
    bounds = {key: getattr(joint.limits, key) for key in keys}
    if not keys or (kind == "continuous" and all(map(math.isinf, bounds.values()))):
        return ""
    told = [f"{key}={_number(min(max(x, -UNLIMITED), UNLIMITED))}" for key, x in bounds.items()]
    return f"<limit {' '.join(told)}/>"


# ---- transmissions ------------------------------------------------------------------------------------


def _gears(robot: Robot) -> list[str]:
    """Gear ratios of joints without motors, which have no effect."""
    driven = {name for motor in robot.motors for name in motor.ratios}
    lines: list[str] = []
    for joint in robot.joints:
        if joint.gear_ratio != 1.0 and joint.name not in driven and joint.type.has_axis:
            ratio = f"<mechanicalReduction>{joint.gear_ratio!r}</mechanicalReduction>"
            lines += _written(
                f"{joint.name}_transmission", SIMPLE, [(joint.name, "")], [(f"{joint.name}_motor", ratio)]
            )
    return lines


def _transmission(group: Sequence[Motor]) -> list[str]:
    for motor in group:
        why = _held(motor)
        if why:
            raise FormatError(f"motor {motor.name!r}: a URDF file holds no motor that {why}")
    lines: list[str] = []
    if all(len(motor.ratios) == 1 for motor in group):
        for motor in group:
            n = motor.ratios[motor.joint]
            told = _reduction(n) + _rotor(motor, f"<drake:gear_ratio value={_number(n)}/>")
            lines += _written(f"{motor.name}_transmission", SIMPLE, [(motor.joint, "")], [(motor.name, told)])
        return lines
    return _shared(group)


def _held(motor: Motor) -> str:
    """Why a motor cannot be written; nothing where it can."""
    if motor.elastic:
        return "drives its joint through a spring; leave out the stiffness"
    if motor.coupled and motor.rotor:
        return "its carrier feels; robot.with_simple_motors() has motors that joints alone feel"
    if not motor.included and (motor.mass or any(motor.moments[:2]) or motor.rotor):
        return "is no part of its link's data; add its mass and inertia to the link and say included=True"
    if motor.viscous or motor.coulomb or motor.coulomb_reverse or motor.friction is not None:
        return "has friction; give it to the joint"
    return ""


def _shared(group: Sequence[Motor]) -> list[str]:
    """Two motors on two joints: a four-bar linkage where one turns with one joint alone, else a differential."""
    first, *others = sorted(group, key=lambda motor: len(motor.ratios))
    names = [first.joint, *(name for motor in group for name in motor.ratios if name != first.joint)]
    joints = list(dict.fromkeys(names))
    if len(others) != 1 or len(joints) != 2:
        raise _unlike(group)
    n = np.array([[motor.ratios.get(name, 0.0) for name in joints] for motor in (first, others[0])])
    if n[0, 1] == 0.0 and n[1].all():
        kind, a, j = FOUR_BAR, (n[0, 0], n[1, 0]), (1.0, n[1, 1] / n[1, 0])
    elif n.all() and abs(n[0, 0] * n[1, 1] + n[0, 1] * n[1, 0]) <= _SAME * abs(n[0, 0] * n[1, 1]):
        kind, a, j = DIFFERENTIAL, (n[0, 0], n[1, 0]), (1.0, n[0, 1] / n[0, 0])
    else:
        raise _unlike(group)
    sides = [(name, f"<role>joint{k + 1}</role>{_reduction(j[k])}") for k, name in enumerate(joints)]
    motors = [
        (motor.name, f"<role>actuator{k + 1}</role>{_reduction(a[k])}{_rotor(motor)}")
        for k, motor in enumerate((first, others[0]))
    ]
    return _written(f"{first.name}_{others[0].name}_transmission", kind, sides, motors)


def _unlike(group: Sequence[Motor]) -> FormatError:
    names = ", ".join(repr(motor.name) for motor in group)
    return FormatError(
        f"motors {names}: their transmission is neither a differential nor a four-bar linkage of two motors, which are "
        "all that a URDF file holds; save the robot as .par"
    )


def _reduction(n: float) -> str:
    return f"<mechanicalReduction>{float(n)!r}</mechanicalReduction>"


def _rotor(motor: Motor, gear: str = "") -> str:
    return f"{gear}<drake:rotor_inertia value={_number(motor.rotor)}/>"


def _written(name: str, kind: str, joints: Sequence[tuple[str, str]], motors: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"  <transmission name={_name(name)}>", f"    <type>transmission_interface/{kind}</type>"]
    lines += [f"    <joint name={_name(joint)}>{inside}</joint>" for joint, inside in joints]
    lines += [f"    <actuator name={_name(motor)}>{inside}</actuator>" for motor, inside in motors]
    return [*lines, "  </transmission>"]

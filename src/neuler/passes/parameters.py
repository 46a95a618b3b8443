"""Parameters of a robot as scalars: masses, drives, gravity and placements that are inputs, not constants.

The frames are chosen for the robot as it is; what is a parameter is then put in its place. A link's ten parameters
are described in its body's frame, linearly; a joint's placement P stands between the frames of its two links,
U_parent P U_child^-1, before the joint's own motion. Where nothing is a parameter the numbers stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuler.algebra import vector as vec
from neuler.algebra.pose import Pose
from neuler.algebra.ten import Ten
from neuler.algebra.vector import Matrix, Symmetric, Vector
from neuler.errors import InputError
from neuler.naming import closest
from neuler.passes import motors
from neuler.passes.canonical import canonical
from neuler.passes.fuse import fuse
from neuler.passes.regroup import regroup
from neuler.passes.tree import Tree
from neuler.passes.trees import usual_inertias
from neuler.robot import Friction, Joint, Link, Robot, Transform
from neuler.robot.expand import expand, simple_names
from neuler.robot.mechanism import Shaft
from neuler.trace.graph import Node, Scalar, cos, sin

MOMENT, INERTIA, PLACE, XYZ = ("mx", "my", "mz"), ("xx", "yy", "zz", "xy", "xz", "yz"), ("x", "y", "z"), ("x", "y", "z")
TEN = ("mass", *MOMENT, *INERTIA)
"""Of a link: mass (kg), first moment (kg m), inertia about the origin of its frame (kg m^2)."""
SIX = (*PLACE, "roll", "pitch", "yaw")
"""Of a placement: translation (m), and URDF's angles (rad) about the fixed axes x, y, z in turn."""
DRIVES = ("viscous", "coulomb", "coulomb_reverse", "rotor_inertia", "stiffness", "rest")
_PARTS = {"first_moment": MOMENT, "inertia": INERTIA, **{name: (name,) for name in TEN}}


@dataclass(frozen=True)
class Parameter:
    """One number: whose it is ("link", "payload", "joint", "motor", "gravity"), its owner's name, what it is, its value
    now."""

    of: str
    owner: str
    part: str
    value: float

    @property
    def name(self) -> str:
        """The name under which ``parameter_names`` lists it."""
        prefix = {"payload": f"payload:{self.owner}", "gravity": "gravity"}.get(self.of, self.owner)
        return f"{prefix}.{self.part}"


def parse(robot: Robot, names: str | Iterable[str], option: str = "parameters") -> tuple[Parameter, ...]:
    """The numbers that names and groups stand for, in their order; unknown ones and repetitions are refused.

    ``option`` is what messages call them.
    """
    chosen = (names,) if isinstance(names, str) else tuple(names)
    found: list[Parameter] = []
    for name in chosen:
        if not isinstance(name, str):
            raise InputError(f"{option}: names are expected, got {name!r}")
        found += _group(robot, name, option)
    seen: set[str] = set()
    for each in found:
        if each.name in seen:
            raise InputError(f"{option}: {each.name!r} is named twice")
        seen.add(each.name)
    if not found:
        raise InputError(f"{option}: names none; leave the option out")
    return tuple(found)


_DRIVE_UNITS = {
    "viscous": ("N m s/rad", "N s/m"),
    "damping": ("N m s/rad", "N s/m"),
    "stiffness": ("N m/rad", "N/m"),
    "coulomb": ("N m", "N"),
    "coulomb_reverse": ("N m", "N"),
    "static": ("N m", "N"),
    "speed": ("rad/s", "m/s"),
    "width": ("rad/s", "m/s"),
    "rest": ("rad", "m"),
    "rotor_inertia": ("kg m^2", "kg"),
    "inertia": ("kg m^2", "kg m^2"),
    "mass": ("kg", "kg"),
    "xx": ("kg m^2", "kg m^2"),
    "yy": ("kg m^2", "kg m^2"),
}
"""Of joints' and motors' numbers, where the joint turns and where it slides; others have none."""


def unit(robot: Robot, each: Parameter) -> str:
    """The SI unit of a parameter; none of plain numbers, and of a joint's that both turns and slides.

    >>> from neuler import robots
    >>> robot = robots.stanford()
    >>> [unit(robot, each) for each in parse(robot, ["gravity", "joint3.viscous", "joint4.viscous"])[2:]]
    ['m/s^2', 'N s/m', 'N m s/rad']
    """
    if each.of == "gravity":
        return "m/s^2"
    if each.part.startswith("placement."):
        return "m" if each.part.rpartition(".")[2] in PLACE else "rad"
    if each.of in ("link", "payload"):
        return "kg" if each.part == "mass" else "kg m" if each.part in MOMENT else "kg m^2"
    joint = next((x for x in robot.mechanism.joints if x.name == each.owner), None)
    turning, sliding = _DRIVE_UNITS.get(each.part.rpartition(".")[2], ("", ""))
    if each.of == "motor" or joint is None or all(joint.type.turns):
        return turning
    return "" if any(joint.type.turns) else sliding


GROUPS = {
    "friction": ("viscous", "coulomb", "coulomb_reverse", "friction", "damping"),
    "rotors": ("rotor_inertia", "inertia"),
    "springs": ("stiffness",),
    "motors": ("mass", "xx", "yy"),
}
"""Names of joints' and motors' numbers of one kind; "motors" are their bodies, where carriers do not contain them."""


def group_names(robot: Robot, group: str) -> list[str]:
    """The numbers of one of ``GROUPS`` that a robot's joints and motors may have, by name.

    The reverse Coulomb friction of a joint is one of them where it is given. Of a friction law those are in it in which
    it is linear, and the joint's own friction where it is not zero.
    """
    parts, found = GROUPS[group], []
    for joint in robot.joints:
        if not joint.moves or isinstance(joint, Shaft):
            continue
        own = [part for part in parts if part in joint.type.drives and part != "friction"]
        if joint.coulomb_reverse is None:
            own = [part for part in own if part != "coulomb_reverse"]
        if joint.friction is not None and "friction" in parts:
            plain = [part for part in own if getattr(joint, part)]  # beside a law, where there are some
            own = [*plain, *(f"friction.{part}" for part in joint.friction.parameters if _known(joint.friction, part))]
        found += [f"{joint.name}.{part}" for part in own]
    for motor in motors.named(robot):
        found += [f"{motor}.{part}" for part in parts if motors.has(robot, motor, part)]
    return found


def _known(law: Friction, part: str) -> bool:
    """Whether the law is linear in a number of its own: one that is another's by default is not given."""
    return part not in law.nonlinear and getattr(law, part) is not None


def own_columns(robot: Robot) -> tuple[str, ...]:
    """The parameters in which forces are linear and that a robot has: all links, and drives that are not zero."""
    drives = [each for group in GROUPS for name in group_names(robot, group) for each in _group(robot, name)]
    return ("links", *(each.name for each in drives if each.value))


def _group(robot: Robot, name: str, option: str = "parameters") -> list[Parameter]:
    links = {link.name: link for link in robot.links}
    if name == "gravity":
        return [Parameter("gravity", "", axis, g) for axis, g in zip(XYZ, robot.gravity, strict=True)]
    if name == "links":
        return [each for name in robot.shown_names for each in _ten_of(links[name])]
    if name in GROUPS and name not in links:
        return [each for own in group_names(robot, name) for each in _group(robot, own, option)]
    if name.startswith("payload:"):
        frame = name.removeprefix("payload:")
        parts: tuple[str, ...] = TEN
        owner, _, part = frame.rpartition(".")
        if frame not in robot.frame_names and owner in robot.frame_names and part in _PARTS:
            frame, parts = owner, _PARTS[part]
        robot.locate(frame)
        return [Parameter("payload", frame, part, 0.0) for part in parts]
    if name in links:
        return _ten_of(links[name])
    owner, _, part = name.rpartition(".")
    if owner in links and part in _PARTS:
        return [each for each in _ten_of(links[owner]) if each.part in _PARTS[part]]
    law = next((found for joint in robot.joints if (found := _of_law(joint, name)) is not None), None)
    if law is not None:
        return law
    joint = next((joint for joint in robot.joints if joint.name == owner), None)
    if joint is not None and part in DRIVES:
        if not joint.moves or part not in (*joint.type.drives, "rest") or (part == "rest" and not joint.type.has_axis):
            raise InputError(f"{option}: a {joint.kind} joint such as {owner!r} has no {part.replace('_', ' ')}")
        value = getattr(joint, part)
        return [Parameter("joint", owner, part, joint.coulomb if value is None else value)]
    place = _placement(robot, name)
    if place:
        return place
    if part in motors.PARTS and owner in motors.named(robot):
        return [Parameter("motor", owner, part, motors.value(robot, owner, part))]
    known = ["gravity", "links", *GROUPS, *links, *(f"{link}.mass" for link in links)]
    known += [f"{motor}.{what}" for motor in motors.named(robot) for what in motors.PARTS]
    places = ("placement", *(f"placement.{k}" for k in SIX))
    known += [f"{joint.name}.{what}" for joint in robot.joints for what in (*DRIVES, *places)]
    known += [f"{joint.name}.friction.{what}" for joint in robot.joints for what in _numbers(joint)]
    likely = closest(name, known)
    meant = f"; did you mean {likely!r}? There" if likely else ". There"
    raise InputError(
        f"{option}: robot {robot.name!r} has none called {name!r}{meant} are 'gravity', 'links', 'friction', 'rotors', "
        f"'springs', a link's "
        f"name (its ten), 'LINK.mass', 'LINK.first_moment', 'LINK.inertia', 'payload:FRAME', 'JOINT.placement' (its "
        f"six numbers, or 'JOINT.placement.x' alone) and "
        f"{', '.join(repr('JOINT.' + drive) for drive in DRIVES)}, 'JOINT.friction' of one with a law, and "
        f"{', '.join(repr('MOTOR.' + part) for part in motors.PARTS)}"
    )


def _placement(robot: Robot, name: str) -> list[Parameter]:
    """``JOINT.placement``, six numbers, or one of them: ``JOINT.placement.x``."""
    for joint in robot.joints:
        whole = f"{joint.name}.placement"
        if name == whole or name.startswith(f"{whole}."):
            six = (*joint.placement.translation, *joint.placement.rpy)
            every = [Parameter("joint", joint.name, f"placement.{k}", x) for k, x in zip(SIX, six, strict=True)]
            found = [each for each in every if name in (whole, each.name)]
            if found:
                return found
    return []


def _numbers(joint: Joint) -> tuple[str, ...]:
    """Of the joint's friction law."""
    return () if joint.friction is None else joint.friction.parameters


def _of_law(joint: Joint, name: str) -> list[Parameter] | None:
    """``JOINT.friction``, all numbers of its law, or one of them."""
    chosen = [part for part in _numbers(joint) if name in (f"{joint.name}.friction", f"{joint.name}.friction.{part}")]
    if not chosen or not joint.moves:
        return None
    law = joint.friction
    values = [getattr(law, part) for part in chosen]
    own = [law.coulomb if value is None else value for value in values]  # type: ignore[union-attr]
    return [Parameter("joint", joint.name, f"friction.{part}", x) for part, x in zip(chosen, own, strict=True)]


def _ten_of(link: Link) -> list[Parameter]:
    values = (link.mass, *link.first_moment, *link.inertia)
    return [Parameter("link", link.name, part, x) for part, x in zip(TEN, values, strict=True)]


# ---- trees --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trees:
    """The three trees of a robot, with parameters in the place of its numbers."""

    whole: Tree
    fused: Tree
    grouped: Tree


def parametrised(robot: Robot, parameters: Sequence[Parameter], values: Sequence[Scalar]) -> Trees:
    """The trees of a robot without loops and couplings."""
    given = {(each.of, each.owner, each.part): x for each, x in zip(parameters, values, strict=True)}
    given |= motors.as_parts(robot, given)
    placed = {each.owner for each in parameters if each.part.startswith("placement")}
    simple = expand(robot)
    apart = {_first(robot, name) for name in placed}
    trees = [canonical(simple), canonical(fuse(simple, keep=apart))]
    whole, fused = (_filled(robot, tree, given, placed) for tree in trees)
    return Trees(whole, fused, regroup(fused))


def _first(robot: Robot, name: str) -> str:
    """The simple joint that has the placement of a joint."""
    return simple_names(robot).get(name, (name,))[0]


def _filled(robot: Robot, tree: Tree, given: Mapping[tuple[str, str, str], Scalar], placed: set[str]) -> Tree:
    bodies = list(tree.bodies)
    for number, ten in _tens(robot, tree, given).items():
        body = bodies[number]
        bodies[number] = dataclasses.replace(body, mass=ten.mass, first_moment=ten.first_moment, inertia=ten.inertia)
    seats = {_first(robot, name): name for name in placed}
    whole = {simple: name for name, parts in simple_names(robot).items() for simple in parts}
    for number, body in enumerate(bodies):
        joint = body.joint
        if joint is None:
            continue
        own = whole.get(joint.name, joint.name)
        drives = {part: given["joint", own, part] for part in DRIVES if ("joint", own, part) in given}
        if "coulomb" in drives and "coulomb_reverse" not in drives and joint.coulomb_reverse is None:
            drives["coulomb_reverse"] = drives["coulomb"]
        springs = {part: given["series", own, part] for part in motors.SPRING if ("series", own, part) in given}
        if springs and body.drive.series is not None:
            series = dataclasses.replace(body.drive.series, **springs)  # type: ignore[arg-type]
            drives["series"] = series  # type: ignore[assignment]
        seat = body.seat
        if joint.name in seats:
            name = seats[joint.name]
            keys = {part: ("joint", name, f"placement.{part}") for part in SIX}
            some = {part: given[key] for part, key in keys.items() if key in given}
            seated = next(each for each in robot.joints if each.name == name)
            parent, child = (tree.frames[link][1] for link in (seated.parent, joint.child))
            seat = _seat(parent, seated.placement, some, child.inverse())
        drive = dataclasses.replace(body.drive, **drives)  # type: ignore[arg-type]
        if drive.law is not None:
            known = {part: ("joint", own, f"friction.{part}") for part in drive.law.parameters}
            law = drive.law.filled({part: given[key] for part, key in known.items() if key in given})
            drive = dataclasses.replace(drive, law=law)
        bodies[number] = dataclasses.replace(body, drive=drive, seat=seat)
    gravity: Vector = tree.gravity
    if ("gravity", "", "x") in given:
        gx, gy, gz = (given["gravity", "", axis] for axis in XYZ)
        to_base: Matrix = tree.frames[robot.link_names[0]][1].rotation
        gravity = vec.apply(to_base, (gx, gy, gz))
    return dataclasses.replace(
        tree, bodies=tuple(bodies), gravity=gravity, link_names=robot.shown_names, usual=usual_inertias(robot)
    )


def _tens(robot: Robot, tree: Tree, given: Mapping[tuple[str, str, str], Scalar]) -> dict[int, Ten]:
    """Of every body with a link that has parameters, or a payload: all its links together, in its frame."""
    changed = {owner for of, owner, _ in given if of == "link"}
    loads = {owner for of, owner, _ in given if of == "payload"}
    numbers = {tree.frames[name][0] for name in (*changed, *loads)}
    found: dict[int, Ten] = {number: Ten(tree.bodies[number].name) for number in numbers}
    for link in robot.links:
        number, placement = tree.frames[link.name]
        if number in numbers:
            found[number] = found[number].merged(_described(link, placement, given))
    for frame in loads:
        number, placement = tree.frames[frame]
        own = Ten(frame, *_parts([given.get(("payload", frame, part), 0.0) for part in TEN]))
        found[number] = found[number].merged(own.seen_from(_pose(placement)))
    return found


def _described(link: Link, placement: Transform, given: Mapping[tuple[str, str, str], Scalar]) -> Ten:
    """A link in its body's frame: numbers as numbers are, parameters over any scalar."""
    values = (link.mass, *link.first_moment, *link.inertia)
    own = [given.get(("link", link.name, part), x) for part, x in zip(TEN, values, strict=True)]
    if not any(isinstance(x, Node) for x in own):
        mass, moment, inertia = _parts(own)
        seen = Link(link.name, mass, moment, inertia).seen_from(placement)  # type: ignore[arg-type]
        return Ten(link.name, seen.mass, seen.first_moment, seen.inertia)
    return Ten(link.name, *_parts(own)).seen_from(_pose(placement))


def _parts(ten: Sequence[Scalar]) -> tuple[Scalar, Vector, Symmetric]:
    m, x, y, z, xx, yy, zz, xy, xz, yz = ten
    return m, (x, y, z), (xx, yy, zz, xy, xz, yz)


def _pose(placement: Transform) -> Pose:
    return Pose(placement.rotation, placement.translation)


def _seat(parent: Transform, placement: Transform, given: Mapping[str, Scalar], child: Transform) -> Pose:
    """U_parent P U_child^-1 with some of P's six numbers given; the rotation stays as it is where no angle is."""
    six: dict[str, Scalar] = dict(zip(SIX, (*placement.translation, *placement.rpy), strict=True))
    x, y, z, roll, pitch, yaw = (six | dict(given)).values()
    turn: Matrix = placement.rotation
    if not set(given) <= set(PLACE):
        (cr, sr), (cp, sp), (cy, sy) = ((cos(angle), sin(angle)) for angle in (roll, pitch, yaw))
        turn = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
    rotation, position = Pose(turn, (x, y, z)).pose_up(child.rotation, child.translation)
    rotation, position = _pose(parent).pose_up(rotation, position)
    return Pose(rotation, position)

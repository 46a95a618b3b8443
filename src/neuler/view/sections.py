"""Sections of a report that say what a robot is: facts, pictures, loops, tree, findings, tables; and how fast it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from neuler.diagnose.finding import Finding
from neuler.errors import NeulerError
from neuler.plain import number, vector
from neuler.robot import Robot
from neuler.solve.base_parameters import HEAD
from neuler.speed import Measurement, machine
from neuler.view import motors, text
from neuler.view.draw import pose_pictures
from neuler.view.html import Markup, escape, join, pictures, table, tag
from neuler.view.marks import symbols
from neuler.view.sample_motion import SampleMotion
from neuler.view.space import CUT, INK, MASS, ROTOR, SPRING, STEEL

LONG = 12
"""Positions beyond which a reference is not written out."""


def heading(robot: Robot, found: Sequence[Finding]) -> Markup:
    """Name, and facts at a glance."""
    kinds = [joint.kind for joint in robot.joints]
    names = list(dict.fromkeys(kinds))
    numbers = [robot.nq, robot.nv, *([robot.nu] if robot.nu != robot.nv else [])]
    called = ["positions", "velocities", "forces"][: len(numbers)]
    facts: list[tuple[str, object]] = [
        (", ".join(called), ", ".join(map(str, numbers))) if text.apart(robot) else ("coordinates", robot.nv),
        ("links", len(robot.links)),
    ]
    if names:
        facts.append((" / ".join(names), " / ".join(str(kinds.count(kind)) for kind in names)))
    if robot.loops:
        mobility = robot.mobility
        facts.append(("loops", len(robot.loops)))
        facts.append(("constraints, redundant", f"{mobility.constraints}, {mobility.constraints - mobility.rank}"))
    if robot.couplings:
        facts.append(("couplings", len(robot.couplings)))
    if robot.motors:
        elastic = sum(motor.elastic for motor in robot.motors)
        facts.append(
            ("motors, elastic", f"{len(robot.motors)}, {elastic}") if elastic else ("motors", len(robot.motors))
        )
    facts += [
        ("mass", f"{number(robot.mass)} kg"),
        ("gravity, m/s²", vector(robot.gravity)),
        ("errors and warnings", sum(finding.severity != "note" for finding in found)),
    ]
    entries = [tag("div", tag("dt", what), tag("dd", value)) for what, value in facts]
    return join([tag("h1", robot.name), tag("p", "Robot report", cls="lead"), tag("dl", *entries, cls="facts")])


def key(marks: Iterable[tuple[str, str]]) -> Markup:
    """Colours and what they mean."""
    return tag("div", *(tag("span", tag("i", style=f"background:{colour}"), name) for colour, name in marks), cls="key")


def marks_of(robot: Robot) -> list[tuple[str, str]]:
    """The key to a picture of a robot: what there is of it."""
    found = [
        (INK, "base", True), (STEEL, "link", bool(robot.joints)), *((*mark, True) for mark in symbols(robot)),
        (MASS, "centre of mass, larger for more mass", any(link.mass > 0 for link in robot.links)),
        (SPRING, "spring", any(joint.stiffness for joint in robot.joints)),
        (ROTOR, "rotor, dotted to its joint", bool(robot.motors)),
        (SPRING, "dotted: through a spring", any(motor.elastic for motor in robot.motors)),
        (CUT, "cut joint, a cross", bool(robot.loops)), (CUT, "coupling, dotted", bool(robot.couplings)),
    ]  # fmt: skip
    return [(colour, name) for colour, name, there in found if there]


def poses(robot: Robot, motion: SampleMotion) -> Markup:
    """The neutral position and the end of the test motion, each at a scale of its own, and the key to their colours."""
    if robot.loops:
        first, then = "reference pose, loops closed", "another closed pose"
    else:
        plain = [x for joint in robot.moving_joints for x in joint.type.neutral(joint.limits) if joint.nq == 1]
        first, then = "zero pose, moved into the limits" if any(plain) else "zero pose", "bent pose"
    states = {first if robot.nq else "as it is: no joint moves": motion.q[0]}
    if motion.moves:
        states[then] = motion.q[-1]
    images = zip(states, pose_pictures(robot, list(states.values())), strict=True)
    parts = [tag("h2", "Poses"), pictures(images, "poses"), key(marks_of(robot))]
    if len({joint.role == "driven" for joint in robot.joints if joint.type.symbol}) == 2:
        parts.append(tag("p", "A pale joint is one that no motor moves.", cls="note"))
    return join(parts)


def structure(robot: Robot) -> Markup:
    """What the loops leave free, and who leads whom."""
    parts: list[Markup] = []
    if robot.loops:
        rows = text.mobility_rows(robot)
        rows = rows if robot.nq <= LONG else rows[:-1]  # a long position is in the table of the test motion
        facts = [(name, tag("span", fact, style="white-space:normal")) for name, fact in rows]
        parts += [tag("h2", "Mobility"), table(("", "at the reference and near it"), facts, left=2)]
        parts += [tag("h2", "Loops"), table(text.LOOP_HEAD, text.loop_rows(robot), left=7)]
    if robot.couplings:
        parts += [tag("h2", "Couplings"), table(text.COUPLING_HEAD, text.coupling_rows(robot), left=3)]
    return join(parts)


def tree(robot: Robot) -> Markup:
    """The section with the kinematic tree, as text."""
    lines = "\n".join(escape(line) for line in text.tree(robot).split("\n"))
    return join([tag("h2", "Kinematic tree"), tag("pre", Markup(lines))])


def findings(found: Sequence[Finding]) -> Markup:
    """The section with what the checks found."""
    items = [
        tag("li", tag("b", finding.severity), f" · {finding.subject}: {finding.message}", cls=finding.severity)
        for finding in found
    ]
    body = tag("ul", *items, cls="findings") if items else tag("p", "Nothing to report: the robot is healthy.")
    return join([tag("h2", "Checks"), body])


def parameters(robot: Robot) -> Markup:
    """Tables of masses, joints and motors."""
    units = "Inertia about the centre of mass in the axes of its link; an empty limit does not exist. "
    units += "Friction and rotor inertia at the joint, behind the gear. Units: kg, m, rad, s, N, N m."
    units = " ".join([units, *([text.several(robot)] if text.several(robot) else [])])
    link_head = ("link", "mass", "centre of mass", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    parts = [tag("h2", "Masses"), table(link_head, text.link_rows(robot))]
    if any(joint.moves for joint in robot.joints):
        parts += [tag("h2", "Joints"), table(text.joint_head(robot), text.joint_rows(robot), left=2)]
    parts.append(tag("p", units, cls="note"))
    if robot.motors:
        rows = motors.motor_rows(robot)
        parts += [tag("h2", "Motors"), table(motors.motor_head(robot), rows, left=motors.LEFT)]
        parts.append(tag("p", motors.UNITS, cls="note"))
    return join(parts)


def base_parameters(robot: Robot) -> Markup:
    """What forces depend on: base parameters, their groups, and parameters without effect.

    Nothing of robots whose forces are not linear in them, or are not those of motors.
    """
    try:
        base = robot.base_parameters()
    except NeulerError:
        return join([])
    rows = [
        (name, tag("span", group if group != name else "", style="white-space:normal"), value)
        for name, value, group in base.rows()
    ]
    head = (HEAD[0], "sum", HEAD[1])
    told = f"{len(base)} numbers decide all joint forces, of {len(base.columns)}: each a parameter with those that no "
    told += "motion tells apart from it."
    lost = tag("p", f"Without effect: {', '.join(base.without_effect)}.", cls="note") if base.without_effect else ""
    return join([tag("h2", "Base parameters"), tag("p", told), table(head, rows, left=2), *([lost] if lost else [])])


def speed(measured: Sequence[Measurement], batch: int, left: Sequence[str] = ()) -> Markup:
    """Operations and times; ``left`` are quantities that are measured only when asked for."""
    head = ("quantity", "mul", "add", "div", "trig", "compile, s", "one call, µs", f"batch of {batch}, ns/state")
    rows = []
    for one in measured:
        if one.operations is None:
            rows.append([one.quantity, *["-"] * 7])
            continue
        counts = dataclasses.astuple(one.operations)
        times = (f"{one.compile_seconds:.2f}", f"{one.call_us:.2f}", f"{one.batch_ns:.1f}")
        rows.append([one.quantity, *map(str, counts), *times])
    facts = machine()
    told = (
        f"One thread; {facts['cpu']}, code for {facts['code_for']}; Python {facts['python']}, NumPy {facts['numpy']}. "
        "Operations are for one state. Code is compiled once and stored. The call is made from Python and pays for it; "
        "a batch does not."
    )
    failed = [tag("p", f"{one.quantity}: not measured: {one.failure}", cls="note") for one in measured if one.failure]
    if left:
        told += f" Measured when asked for (--verbs): {', '.join(left)}, which take long to compile for so many joints."
    return join([tag("h2", "Operations and speed"), table(head, rows), *failed, tag("p", told, cls="note")])

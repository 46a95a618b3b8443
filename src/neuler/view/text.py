"""A robot as text: its tree, its loops, couplings and motors, its parameters, what looks wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neuler.diagnose.finding import Finding
from neuler.plain import columns, count, number, safe, shown, vector
from neuler.robot import Coupling, Joint, Loop, Robot
from neuler.view import motors

FANCY = ("├─ ", "└─ ", "│  ")
PLAIN = ("|- ", "`- ", "|  ")
LIMITS = ("lower", "upper", "velocity", "effort")


# ---- the tree ------------------------------------------------------------------------------------


def branches(robot: Robot, marks: tuple[str, str, str] = FANCY) -> Iterator[tuple[str, Joint]]:
    """For each joint, outward: the branch drawn before it, and the joint."""
    middle, last, through = marks
    children: dict[str, list[Joint]] = {name: [] for name in robot.link_names}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    stack = _pending(children[robot.links[0].name], "")
    while stack:
        before, final, joint = stack.pop()
        yield before + (last if final else middle), joint
        stack.extend(_pending(children[joint.child], before + (" " * len(through) if final else through)))


def _pending(joints: list[Joint], before: str) -> list[tuple[str, bool, Joint]]:
    return [(before, k == 0, joint) for k, joint in enumerate(reversed(joints))]


def places(robot: Robot) -> dict[str, tuple[range, range]]:
    """Where the numbers of each moving joint are in q and in qd; in loops only independent velocities are in qd.

    >>> import neuler
    >>> places(neuler.robots.four_bar())
    {'crank': (range(0, 1), range(0, 1)), 'coupler': (range(1, 2), range(0, 0)), 'rocker': (range(2, 3), range(0, 0))}
    """
    own = {k: place for place, k in enumerate(robot.coordinates.independent)}
    found = {}
    for entry in robot.coordinates:
        mine = sorted(own[k] for k in entry.velocities if k in own)  # side by side, as the joints' own are
        found[entry.name] = entry.positions, range(mine[0], mine[-1] + 1) if mine else range(0)
    return found


def _spelled(numbers: range) -> str:
    """One number, or from a first to before a last; nothing for none."""
    return f"{numbers.start}:{numbers.stop}" if len(numbers) > 1 else ",".join(map(str, numbers))


def coordinates(robot: Robot) -> dict[str, tuple[str, str]]:
    """The same as text.

    >>> import neuler
    >>> coordinates(neuler.robots.two_link().with_free_base())
    {'root_joint': ('0:7', '0:6'), 'joint1': ('7', '6'), 'joint2': ('8', '7')}
    """
    return {name: (_spelled(q), _spelled(qd)) for name, (q, qd) in places(robot).items()}


def apart(robot: Robot) -> bool:
    """Whether positions and velocities are counted apart."""
    return any(q != qd for q, qd in places(robot).values())


def tree(robot: Robot, marks: tuple[str, str, str] = FANCY) -> str:
    """The kinematic tree: each joint with its kind, coordinates and role, and the link that it carries."""
    mass = {link.name: link.mass for link in robot.links}
    where, told, both = coordinates(robot), _drives(robot), apart(robot)
    by = motors.drives(robot)
    led = {coupling.joint: coupling for coupling in robot.couplings}

    def body(name: str) -> str:
        return shown(name) + (f" ({number(mass[name])} kg)" if mass[name] else "")

    lines = [body(robot.links[0].name)]
    for before, joint in branches(robot, marks):
        what = joint.kind
        if joint.name in where:
            q, qd = where[joint.name]
            what += f" q[{q}]" + (f" qd[{qd}]" if both and qd else "")
            what += f", {_drive(joint)}" if told and not joint.type.always_passive else ""
            what += f" by {shown(by[joint.name])}" if told and joint.name in by else ""
        elif joint.name in led:
            what += f", follows {', '.join(map(shown, led[joint.name].of))}"
        lines.append(f"{before}{shown(joint.name)}: {what} -> {body(joint.child)}")
    return "\n".join(lines)


def _drives(robot: Robot) -> bool:
    """Whether it is worth saying who moves the joints: not where all are driven, by nobody named, without springs."""
    if robot.motors:
        return True
    joints = [joint for joint in robot.moving_joints if not joint.type.always_passive]
    return any(joint.role != "driven" or joint.stiffness for joint in joints)


def _drive(joint: Joint) -> str:
    return joint.role + (f", spring {number(joint.stiffness)} from {number(joint.rest)}" if joint.stiffness else "")


# ---- loops and couplings -------------------------------------------------------------------------


def mobility_rows(robot: Robot) -> list[list[str]]:
    """What the loops leave free, one fact a row."""
    facts = robot.mobility
    lost = facts.constraints - facts.rank
    joints = robot.coordinates.velocities
    return [
        ["degrees of freedom", f"{facts.freedoms} = {joints} joint velocities - {facts.rank} independent constraints"],
        ["constraints", f"{facts.constraints}, {lost} redundant" + (f": {', '.join(facts.redundant)}" if lost else "")],
        ["forces (tau) of", ", ".join(robot.active_names) or "no joint"],
        ["independent joints", ", ".join(facts.independent) or "none"],
        ["closed at", f"q = {vector(facts.reference)}"],
    ]


LOOP_HEAD = ("loop", "kind", "first frame", "on link", "second frame", "on link", "through joints", "constraints")


def loop_rows(robot: Robot) -> list[list[str]]:
    """Every cut joint, the frames that it joins, and the joints around the loop."""
    rows = []
    for loop in robot.loops:
        first, second = (robot.links[robot.locate(frame)[0]].name for frame in (loop.first, loop.second))
        through = ", ".join(around(robot, loop))
        rows.append([loop.name, loop.kind, loop.first, first, loop.second, second, through, str(loop.constraints)])
    return rows


def around(robot: Robot, loop: Loop) -> list[str]:
    """Names of the joints of the tree that a loop goes through and that move, outward on either side.

    >>> import neuler
    >>> robot = neuler.robots.sr400()
    >>> around(robot, robot.loops[0])
    ['joint7', 'joint8', 'joint2', 'joint3']
    """
    sides = []
    for frame in (loop.first, loop.second):
        index, path = robot.locate(frame)[0], []
        while index:
            path.append(index)
            index = robot.antecedents[index - 1]
        sides.append(path[::-1])
    own = [[k for k in side if k not in other] for side, other in (sides, sides[::-1])]
    return [robot.joints[k - 1].name for side in own for k in side if robot.joints[k - 1].moves]


COUPLING_HEAD = ("coupled joint", "follows", "by")


def coupling_rows(robot: Robot) -> list[list[str]]:
    """Every joint that others lead, and how."""
    return [[coupling.joint, ", ".join(coupling.of), _law(coupling)] for coupling in robot.couplings]


def _law(coupling: Coupling) -> str:
    """Its position, of those that lead it.

    >>> _law(Coupling("finger", "thumb", -2.0, 0.1))
    '-2 q + 0.1'
    """
    if coupling.function is not None:
        name = type(coupling.function).__name__.lower()
        terms = [f"{_factor(coupling.ratio[0])}{name}(q)"]
    elif len(coupling.of) == 1:
        terms = [f"{_factor(coupling.ratio[0])}q"]
    else:
        terms = [f"{_factor(ratio)}q_{of}" for ratio, of in zip(coupling.ratio, coupling.of, strict=True)]
    return " + ".join([*terms, *([number(coupling.offset)] if coupling.offset else [])])


def _factor(ratio: float) -> str:
    return "" if ratio == 1.0 else f"{number(ratio)} "


# ---- parameters ----------------------------------------------------------------------------------

LINK_HEAD = ("link", "mass kg", "centre of mass m", "inertia about it kg m^2: xx", "yy", "zz", "xy", "xz", "yz")


def link_rows(robot: Robot) -> list[list[str]]:
    """Mass, centre of mass and inertia about it, of every link."""
    rows = []
    for link in robot.links:
        j = link.inertia_about_com
        size = max(abs(float(x)) for x in j.flat)
        entries = (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2])
        moments = [number(float(x) if abs(x) > 1e-12 * size else 0.0, 4) for x in entries]
        rows.append([link.name, number(link.mass), vector(link.com), *moments])
    return rows


def _moving(robot: Robot) -> list[Joint]:
    """With a coordinate or without."""
    return [joint for joint in robot.joints if joint.moves]


def _sprung(robot: Robot) -> bool:
    return any(joint.stiffness for joint in _moving(robot))


def _lawful(robot: Robot) -> bool:
    return any(joint.friction for joint in _moving(robot))


def _pitched(robot: Robot) -> bool:
    return any(joint.type.has_pitch for joint in _moving(robot))


def has_direction(joint: Joint) -> bool:
    """Whether the axis of the joint decides how it moves."""
    return joint.type.has_axis or bool(joint.type.elements)


def joint_head(robot: Robot) -> list[str]:
    """The head of the table of joints: roles, springs, pitches and numbers of velocities where these say anything."""
    head = ["joint", "kind", *(["role"] if _drives(robot) else []), "q", *(["qd"] if apart(robot) else [])]
    head += ["axis", *(["pitch"] if _pitched(robot) else []), *LIMITS, "viscous", "Coulomb", "rotor", "gear"]
    head += ["stiffness", "rest"] if _sprung(robot) else []
    return head + (["friction law"] if _lawful(robot) else [])


def joint_rows(robot: Robot) -> list[list[str]]:
    """Coordinates, axis, limits, friction, rotor and spring of every joint that moves."""
    rows, where = [], coordinates(robot)
    drives, both, pitched = _drives(robot), apart(robot), _pitched(robot)
    sprung, lawful = _sprung(robot), _lawful(robot)
    for joint in _moving(robot):
        q, qd = where.get(joint.name, ("", ""))
        role = "" if joint.type.always_passive else joint.role if joint.name in where else "coupled"
        row = [joint.name, joint.kind, *([role] if drives else []), q, *([qd] if both else [])]
        row += [vector(joint.axis) if has_direction(joint) else ""]
        row += [number(joint.pitch) if joint.type.has_pitch else ""] if pitched else []
        row += [number(getattr(joint.limits, key)) for key in LIMITS]
        row += [
            number(joint.viscous),
            motors.coulomb_text(joint),
            number(joint.rotor_inertia),
            number(joint.gear_ratio),
        ]
        if sprung:
            row += [number(joint.stiffness), number(joint.rest)] if joint.stiffness else ["", ""]
        if lawful:
            row += [motors.law_text(joint.friction)]
        rows.append(row)
    return rows


def several(robot: Robot) -> str:
    """What the numbers of joints with several coordinates are.

    >>> import neuler
    >>> several(neuler.robots.two_link().with_free_base())
    "A free joint: q is x, y, z, qx, qy, qz, qw; qd is vx, vy, vz, wx, wy, wz in the link's own frame."
    """
    told = []
    for kind in dict.fromkeys(joint.type for joint in robot.moving_joints if joint.type.parts):
        rates = "their rates"
        if kind.velocity_parts != kind.parts:
            rates = f"{', '.join(kind.velocity_parts)} in the link's own frame"
        told.append(f"A {kind.name} joint: q is {', '.join(kind.parts)}; qd is {rates}.")
    return " ".join(told)


def parameters(robot: Robot) -> list[str]:
    """Tables of links, joints, motors, frames and named positions."""
    parts = [columns(LINK_HEAD, safe(link_rows(robot)))]
    if _moving(robot):
        parts.append(columns(joint_head(robot), safe(joint_rows(robot)), left=2))
        told = "rad, m, s, N m, N. Empty: no limit. Friction and rotor on the joint's side of the gear."
        parts.append("\n".join([told, *([several(robot)] if several(robot) else [])]))
    if robot.motors:
        parts.append(columns(motors.motor_head(robot), safe(motors.motor_rows(robot)), left=motors.LEFT))
        parts.append(motors.UNITS)
    if robot.frames:
        rows = [[shown(f.name), shown(f.link), vector(f.placement.translation)] for f in robot.frames]
        parts.append(columns(("frame", "on link", "at m"), rows, left=2))
    if robot.named_positions:
        rows = [[shown(name), vector(q)] for name, q in robot.named_positions.numbers()]
        parts.append(columns(("position", "q"), rows, left=2))
    return parts


# ---- all of it -----------------------------------------------------------------------------------


def size(robot: Robot) -> list[str]:
    """What it is made of, and how many numbers its state has.

    >>> import neuler
    >>> ", ".join(size(neuler.robots.four_bar()))
    '4 links, 3 joints, 1 loop, 3 positions, 1 velocity'
    """
    moving = _moving(robot)
    parts = [count(len(robot.links), "link"), count(len(moving), "joint")]
    parts += [count(len(robot.loops), "loop")] if robot.loops else []
    parts += [count(len(robot.couplings), "coupling")] if robot.couplings else []
    parts += [count(len(robot.motors), "motor")] if robot.motors else []
    if not apart(robot):
        return [*parts, count(robot.nv, "coordinate")]
    parts += [count(robot.nq, "position"), count(robot.nv, "velocity")]
    return parts + ([count(robot.nu, "force")] if robot.nu != robot.nv else [])


def doctor(findings: Iterable[Finding]) -> str:
    """What the checks found, a line a finding."""
    lines = [shown(str(finding)) for finding in findings]
    return "checks:\n" + "\n".join(f"  {line}" for line in lines or ["nothing to report"])


def summary(robot: Robot, findings: Iterable[Finding], marks: tuple[str, str, str] = FANCY) -> str:
    """All that ``neuler info`` prints."""
    what = ", ".join(size(robot))
    parts = [f"{shown(robot.name)}: {what}, {number(robot.mass)} kg, gravity ({vector(robot.gravity)}) m/s^2"]
    if robot.loops:
        rows = mobility_rows(robot)
        parts.append("mobility:\n" + "\n".join(f"  {name:<18}  {shown(fact)}" for name, fact in rows))
        parts.append(columns(LOOP_HEAD, safe(loop_rows(robot)), left=7))
    if robot.couplings:
        parts.append(columns(COUPLING_HEAD, safe(coupling_rows(robot)), left=3))
    return "\n\n".join([*parts, tree(robot, marks), *parameters(robot), doctor(findings)])

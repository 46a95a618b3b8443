"""A robot as text: its tree, its parameters, what the doctor found."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from neuler.files.columns import slots

if TYPE_CHECKING:
    from neuler.robot import Joint, Robot
    from neuler.robot.doctor import Finding

FANCY = ("├─ ", "└─ ", "│  ")
PLAIN = ("|- ", "`- ", "|  ")


def shown(text: str) -> str:
    """Text that cannot steer a terminal: what is not printable is written as an escape.

    >>> shown("arm" + chr(27) + "[2J")
    'arm\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(x: float | None, digits: int = 5) -> str:
    """Short and exact enough to read; nothing for None and infinite numbers.

    >>> number(0.30000000000000004), number(float("inf"))
    ('0.3', '')
    """
    return "" if x is None or math.isinf(x) else f"{x:.{digits}g}"


def vector(values: Iterable[float]) -> str:
    """Numbers side by side, zeros short."""
    return " ".join(number(x if abs(x) > 1e-15 else 0.0, 4) for x in values)


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """An aligned table: the first ``left`` columns to the left, the others to the right."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = []
    for row in cells:
        padded = [c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


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


def coordinates(robot: Robot) -> dict[str, tuple[str, str]]:
    """Where the numbers of each moving joint are in q and in qd: one, or from a first to before a last.

    >>> import neuler
    >>> coordinates(neuler.robots.two_link().with_free_base())
    {'root_joint': ('0:7', '0:6'), 'joint1': ('7', '6'), 'joint2': ('8', '7')}
    """
    found = {}
    for joint, q, v in slots(robot):
        one = joint.nq == 1
        found[joint.name] = (str(q), str(v)) if one else (f"{q}:{q + joint.nq}", f"{v}:{v + joint.nv}")
    return found


def tree(robot: Robot, marks: tuple[str, str, str] = FANCY) -> str:
    """The kinematic tree: each joint with its kind, coordinates and role, and the link that it carries."""
    mass = {link.name: link.mass for link in robot.links}
    places, told = coordinates(robot), _drives(robot)

    def body(name: str) -> str:
        return shown(name) + (f" ({number(mass[name])} kg)" if mass[name] else "")

    lines = [body(robot.links[0].name)]
    for before, joint in branches(robot, marks):
        what = "fixed"
        if joint.moves:
            q, qd = places[joint.name]
            what = f"{joint.kind} q[{q}]" + (f" qd[{qd}]" if robot.nq != robot.nv else "")
            what += f", {_drive(joint)}" if told and joint.kind != "free" else ""
        lines.append(f"{before}{shown(joint.name)}: {what} -> {body(joint.child)}")
    return "\n".join(lines)


LINK_HEAD = ("link", "mass kg", "mass centre m", "inertia about it kg m^2: xx", "yy", "zz", "xy", "xz", "yz")


def link_rows(robot: Robot) -> list[list[str]]:
    """Mass, mass centre and inertia about it, of every link."""
    rows = []
    for link in robot.links:
        j = link.inertia_about_com
        size = max(abs(float(x)) for x in j.flat)
        entries = (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2])
        moments = [number(float(x) if abs(x) > 1e-12 * size else 0.0, 4) for x in entries]
        rows.append([link.name, number(link.mass), vector(link.com), *moments])
    return rows


def _drives(robot: Robot) -> bool:
    """Whether it is worth saying who moves the joints: not where motors move all, and no springs help them."""
    return any(joint.role != "driven" or joint.stiffness for joint in robot.moving_joints if joint.kind != "free")


def _sprung(robot: Robot) -> bool:
    return any(joint.stiffness for joint in robot.moving_joints)


def _drive(joint: Joint) -> str:
    return joint.role + (f", spring {number(joint.stiffness)} from {number(joint.rest)}" if joint.stiffness else "")


def joint_head(robot: Robot) -> list[str]:
    """The head of the table of joints: roles, springs and numbers of velocities where these say anything."""
    head = ["joint", "kind", *(["role"] if _drives(robot) else []), "q", *(["qd"] if robot.nq != robot.nv else [])]
    head += ["axis", "lower", "upper", "velocity", "effort", "viscous", "Coulomb", "rotor", "gear"]
    return head + (["stiffness", "rest"] if _sprung(robot) else [])


def joint_rows(robot: Robot) -> list[list[str]]:
    """Coordinates, axis, limits, friction, rotor and spring of every joint that moves."""
    rows, places = [], coordinates(robot)
    for joint in robot.moving_joints:
        coulomb = number(joint.coulomb)
        if joint.coulomb_reverse is not None and joint.coulomb_reverse != joint.coulomb:
            coulomb += f" / {number(joint.coulomb_reverse)}"
        q, qd = places[joint.name]
        role = ["" if joint.kind == "free" else joint.role] if _drives(robot) else []
        row = [joint.name, joint.kind, *role, q, *([qd] if robot.nq != robot.nv else [])]
        row += ["" if joint.kind == "free" else vector(joint.axis)]
        row += [number(getattr(joint.limits, key)) for key in ("lower", "upper", "velocity", "effort")]
        row += [number(joint.viscous), coulomb, number(joint.rotor_inertia), number(joint.gear_ratio)]
        if _sprung(robot):
            row += [number(joint.stiffness), number(joint.rest)] if joint.stiffness else ["", ""]
        rows.append(row)
    return rows


def summary(robot: Robot, findings: Iterable[Finding], marks: tuple[str, str, str] = FANCY) -> str:
    """All that ``neuler info`` prints."""
    moves = count(robot.nv, "coordinate") if robot.nq == robot.nv else f"{robot.nq} positions, {robot.nv} velocities"
    parts = [
        f"{shown(robot.name)}: {count(len(robot.links), 'link')}, {moves}, "
        f"{number(robot.mass)} kg, gravity ({vector(robot.gravity)}) m/s^2",
        tree(robot, marks),
        *parameters(robot),
        doctor(findings),
    ]
    return "\n\n".join(parts)


def parameters(robot: Robot) -> list[str]:
    """Tables of links, joints and frames."""
    parts = [columns(LINK_HEAD, safe(link_rows(robot)))]
    if robot.nv:
        parts.append(columns(joint_head(robot), safe(joint_rows(robot)), left=2))
        told = "rad, m, s, N m, N. Empty: no limit. Friction and rotor on the joint's side of the gear."
        parts.append(told + (f"\n{FREE}" if robot.nq != robot.nv else ""))
    if robot.frames:
        rows = [[shown(f.name), shown(f.link), vector(f.placement.translation)] for f in robot.frames]
        parts.append(columns(("frame", "on link", "at m"), rows, left=2))
    return parts


FREE = "Free: q is x, y, z, quaternion x, y, z, w; qd the screw (linear; angular) in the link's own frame."


def doctor(findings: Iterable[Finding]) -> str:
    """What the doctor found."""
    lines = [shown(str(finding)) for finding in findings]
    return "doctor:\n" + "\n".join(f"  {line}" for line in lines or ["nothing to report"])


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "link"), count(3, "link")
    ('1 link', '3 links')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def safe(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Cells that cannot steer a terminal."""
    return [[shown(cell) for cell in row] for row in rows]


def as_dict(robot: Robot, findings: Iterable[Finding]) -> dict[str, Any]:
    """The same as plain data for JSON; a limit that does not exist is null.

    ``q`` and ``qd`` of a joint are its first number and the one after its last; ``coordinate`` is its first position.
    """
    places = {joint.name: (q, v) for joint, q, v in slots(robot)}
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.mass,
        "gravity": list(robot.gravity),
        "links": [
            {
                "name": link.name,
                "mass": link.mass,
                "com": list(link.com),
                "inertia_about_com": [[_json_number(x) for x in row] for row in link.inertia_about_com.tolist()],
            }
            for link in robot.links
        ],
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "coordinate": places[joint.name][0] if joint.moves else None,
                "q": [places[joint.name][0], places[joint.name][0] + joint.nq] if joint.moves else None,
                "qd": [places[joint.name][1], places[joint.name][1] + joint.nv] if joint.moves else None,
                "role": joint.role if joint.moves else None,
                "rotation": [list(row) for row in joint.placement.rotation],
                "translation": list(joint.placement.translation),
                "axis": list(joint.axis) if joint.kind in ("revolute", "prismatic") else None,
                "limits": {
                    key: _json_number(getattr(joint.limits, key)) for key in ("lower", "upper", "velocity", "effort")
                },
                "viscous": joint.viscous,
                "coulomb": joint.coulomb,
                "coulomb_reverse": joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse,
                "rotor_inertia": joint.rotor_inertia,
                "gear_ratio": joint.gear_ratio,
                "stiffness": joint.stiffness,
                "rest": joint.rest,
            }
            for joint in robot.joints
        ],
        "frames": [
            {
                "name": frame.name,
                "link": frame.link,
                "rotation": [list(row) for row in frame.placement.rotation],
                "translation": list(frame.placement.translation),
            }
            for frame in robot.frames
        ],
        "findings": [dataclasses.asdict(finding) for finding in findings],
    }


def _json_number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None

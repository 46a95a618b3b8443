"""A robot as text: its tree, its parameters, what the doctor found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

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


def branches(robot: Robot, marks: tuple[str, str, str] = FANCY) -> Iterator[tuple[str, Joint, int]]:
    """For each joint, outward: the branch drawn before it, the joint, and its coordinate (-1 for none)."""
    middle, last, through = marks
    coordinates = {name: k for k, name in enumerate(robot.joint_names)}
    children: dict[str, list[Joint]] = {name: [] for name in robot.link_names}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    stack = _pending(children[robot.links[0].name], "")
    while stack:
        before, final, joint = stack.pop()
        yield before + (last if final else middle), joint, coordinates.get(joint.name, -1)
        stack.extend(_pending(children[joint.child], before + (" " * len(through) if final else through)))


def _pending(joints: list[Joint], before: str) -> list[tuple[str, bool, Joint]]:
    return [(before, k == 0, joint) for k, joint in enumerate(reversed(joints))]


def tree(robot: Robot, marks: tuple[str, str, str] = FANCY) -> str:
    """The kinematic tree: each joint with its kind and coordinate, and the link that it carries."""
    mass = {link.name: link.mass for link in robot.links}

    def body(name: str) -> str:
        return shown(name) + (f" ({number(mass[name])} kg)" if mass[name] else "")

    lines = [body(robot.links[0].name)]
    for before, joint, k in branches(robot, marks):
        what = f"{joint.kind} q[{k}]" if joint.moves else "fixed"
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


JOINT_HEAD = (
    "joint", "kind", "q", "axis", "lower", "upper", "velocity", "effort", "viscous", "Coulomb", "rotor", "gear",
)  # fmt: skip


def joint_rows(robot: Robot) -> list[list[str]]:
    """Axis, limits, friction and rotor of every joint that moves."""
    rows = []
    for k, joint in enumerate(robot.moving_joints):
        coulomb = number(joint.coulomb)
        if joint.coulomb_reverse is not None and joint.coulomb_reverse != joint.coulomb:
            coulomb += f" / {number(joint.coulomb_reverse)}"
        rows.append([
            joint.name, joint.kind, str(k), vector(joint.axis), number(joint.limits.lower), number(joint.limits.upper),
            number(joint.limits.velocity), number(joint.limits.effort), number(joint.viscous), coulomb,
            number(joint.rotor_inertia), number(joint.gear_ratio),
        ])  # fmt: skip
    return rows


def summary(robot: Robot, findings: Iterable[Finding], marks: tuple[str, str, str] = FANCY) -> str:
    """All that ``neuler info`` prints."""
    parts = [
        f"{shown(robot.name)}: {count(len(robot.links), 'link')}, {count(robot.nv, 'coordinate')}, "
        f"{number(robot.mass)} kg, gravity ({vector(robot.gravity)}) m/s^2",
        tree(robot, marks),
        columns(LINK_HEAD, _safe(link_rows(robot))),
    ]
    if robot.nv:
        parts.append(columns(JOINT_HEAD, _safe(joint_rows(robot)), left=2))
        parts.append("rad, m, s, N m, N. Empty: no limit. Friction and rotor on the joint's side of the gear.")
    if robot.frames:
        rows = [[shown(f.name), shown(f.link), vector(f.placement.translation)] for f in robot.frames]
        parts.append(columns(("frame", "on link", "at m"), rows, left=2))
    lines = [shown(str(finding)) for finding in findings]
    parts.append("doctor:\n" + "\n".join(f"  {line}" for line in lines or ["nothing to report"]))
    return "\n\n".join(parts)


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "link"), count(3, "link")
    ('1 link', '3 links')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _safe(rows: list[list[str]]) -> list[list[str]]:
    return [[shown(cell) for cell in row] for row in rows]


def as_dict(robot: Robot, findings: Iterable[Finding]) -> dict[str, Any]:
    """The same as plain data for JSON; a limit that does not exist is null."""
    coordinates = {name: k for k, name in enumerate(robot.joint_names)}
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
                "coordinate": coordinates.get(joint.name),
                "rotation": [list(row) for row in joint.placement.rotation],
                "translation": list(joint.placement.translation),
                "axis": list(joint.axis) if joint.moves else None,
                "limits": {
                    key: _json_number(getattr(joint.limits, key)) for key in ("lower", "upper", "velocity", "effort")
                },
                "viscous": joint.viscous,
                "coulomb": joint.coulomb,
                "coulomb_reverse": joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse,
                "rotor_inertia": joint.rotor_inertia,
                "gear_ratio": joint.gear_ratio,
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
        "findings": [
            {"severity": finding.severity, "subject": finding.subject, "message": finding.message}
            for finding in findings
        ],
    }


def _json_number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None

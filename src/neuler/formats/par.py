"""SYMORO+ files (``.par``): Khalil's tables of trees and closed loops, with symbols, read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from neuler.errors import FormatError, RobotError
from neuler.formats.khalil import tilt
from neuler.formats.par_remarks import Remarks
from neuler.formats.par_table import ALL_DRIVEN, Table, checked
from neuler.formats.par_text import decode, is_text
from neuler.formats.par_write import write
from neuler.formats.source import Source
from neuler.robot import Frame, Joint, Link, Loop, Robot
from neuler.robot.transform import Transform

__all__ = ["is_text", "read", "write"]

_KINDS = ("revolute", "prismatic", "fixed")
"""Kinds of joints, at the places of Khalil's sigma."""


def read(
    source: Source,
    values: Mapping[str, float] | None = None,
    *,
    missing: str = "refuse",
    gravity: ArrayLike | None = None,
) -> Robot:
    """The robot of a SYMORO+ file: a path, or its content (bytes, or text with a line break).

    Closed loops (NJ > NL) are loops of the robot: joints 1 to NL are the tree,
    each cut joint k is the :class:`Loop` "jointk" between the frames "framek" on its antecedent and "frame(k+B)",
    B = NJ - NL, by its sigma revolute, prismatic or fixed. Frames beyond 2 NJ - NL are frames of the robot. Links are
    "base", "link1" ..., joints "joint1" ...; the coordinates follow ``robot.joint_names``. Units are SI, rad.

    Entries are expressions: numbers, pi, symbols, + - * / ^ **, sqrt, sin, cos, tan, asin, acos, atan, atan2, abs.
    ``values`` gives the symbols their numbers. A symbol without one in theta of a revolute joint, or in r of a
    prismatic one, is the joint's variable, and what is added to it an offset; without a variable the coordinate is
    added to the number. ``missing="zero"`` takes dynamic parameters (XX to M, IA, FV, FS, k) that have no value as
    zero; lengths, angles and gravity are always needed.

    G is the acceleration of free fall in frame 0: {0,0,-9.81} pulls along -z0 (OpenSYMORO gives the base the
    acceleration VP0 - G). ``gravity`` is taken in its place. Mu = 1 is a driven joint, 0 a passive one; where it is 0
    for all joints of an open chain it says nothing, and all are driven. eta = 1 is an elastic joint of stiffness k.
    A floating or mobile base is free: a link "world" and the free joint "root_joint" before it. Z is the placement of
    frame 0, in the frame in which gravity is then given. External forces, velocities and accelerations are no part
    of a robot.

    >>> text = '''NL = 1
    ... NJ = 1
    ... Ant = {0} Sigma = {0} d = {L} R = {0} Alpha = {pi/2} Theta = {th1 - pi/2}
    ... M = {2} MX = {0.5*2} ZZ = {ZZ1}  G = {0,0,-9.81}'''
    >>> arm = read(text, values={"L": 0.3}, missing="zero")
    >>> arm.joints[0].placement.translation, arm.links[1].com
    ((0.3, 0.0, 0.0), (0.5, 0.0, 0.0))
    """
    if missing not in ("refuse", "zero"):
        raise FormatError(f"option 'missing' must be one of refuse, zero, got {missing!r}")
    label, text = decode(source)
    try:
        table = Table(label, text, checked(values or {}), missing == "zero", gravity)
        return _robot(table, Remarks(table.sheet), "robot" if is_text(source) else Path(label).stem)
    except RobotError as error:
        raise FormatError(f"{label}: {error}") from None


def _robot(table: Table, remarks: Remarks, file: str) -> Robot:
    remarks.check_numbers(table.links, table.joints)
    robot = remarks.of_robot
    name: str = robot.get("name") or _name(table) or file or "robot"
    base = table.base
    links = [remarks.link(0, "base", table.bodies[0], still=not table.moving_base)]
    joints: list[Joint] = []
    if table.moving_base:
        world = remarks.world("world")
        links.insert(0, world)
        joints.append(Joint(robot.get("root_joint", "root_joint"), "free", world.name, links[1].name, base))
        base = Transform()
    tilts = [tilt(remarks.axis(j)) for j in range(table.links + 1)]
    names = {0: links[-1].name}
    seats: dict[int, tuple[int, Transform]] = {0: (0, base)}
    """By number: the link that a frame is fixed to, and Khalil's frame in the link's own."""
    for j in range(1, table.links + 1):
        row = table.rows[j]
        carrier, seat = seats[row.antecedent]
        placement = seat @ row.placement
        if remarks.is_helper(j) and row.sigma == 2 and table.bodies[j] == Link(""):
            seats[j] = (carrier, placement)
            continue
        link = remarks.link(j, f"link{j}", table.bodies[j]).seen_from(tilts[j])
        kind, data = _KINDS[row.sigma], _drive(table, j) if row.sigma != 2 else {}
        joint = Joint(f"joint{j}", kind, names[carrier], link.name, placement @ tilts[j].inverse(), **data)
        joints.append(remarks.joint(j, joint))
        links.append(link)
        names[j], seats[j] = link.name, (j, tilts[j])
    for j in range(table.links + 1, table.frames + 1):
        carrier, seat = seats[table.rows[j].antecedent]
        seats[j] = (carrier, seat @ table.rows[j].placement)
    frames = remarks.frames()
    known = {frame.name: frame for frame in frames} | {link.name: Frame(link.name, link.name) for link in links}
    loops = []
    for j in range(table.links + 1, table.joints + 1):
        ends = []
        for k, role in ((j, "first"), (j + table.loops, "second")):
            frame = Frame(f"frame{k}", names[seats[k][0]], seats[k][1])
            ends.append(remarks.end(j, role, frame, known, frames))
        loops.append(Loop(remarks.loop_name(j, f"joint{j}"), _KINDS[table.rows[j].sigma], ends[0], ends[1]))
    for k in range(2 * table.joints - table.links + 1, table.frames + 1):
        frames.append(Frame(f"frame{k}", names[seats[k][0]], seats[k][1]))
    notes = [*robot.get("notes", ()), *(note for note in table.notes if note != ALL_DRIVEN or not remarks.has_roles)]
    more = (loops, remarks.couplings(), robot.get("reference"), robot.get("independent"))
    return Robot(name, links, joints, table.gravity, frames, notes, *more, motors=remarks.motors())


def _drive(table: Table, j: int) -> dict[str, Any]:
    rotor, viscous, coulomb = table.drives[j]
    spring = {"stiffness": table.stiffness[j]} if table.rows[j].elastic else {}
    return {"viscous": viscous, "coulomb": coulomb, "rotor_inertia": rotor, "role": table.roles[j], **spring}


def _name(table: Table) -> str:
    for _, comment in table.sheet.comments:
        found = re.match(r"""Robotname\s*=\s*['"]?([^'"]*)""", comment)
        if found and found[1].strip():
            return found[1].strip()
    return ""

"""Robots as SYMORO+ files."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.errors import FormatError
from neuler.formats.khalil import Six, factors, tilt
from neuler.formats.motor_data import motor_data
from neuler.formats.par_remarks import coupling_data, remark
from neuler.robot import Joint, Link, Robot
from neuler.robot.joint import Limits
from neuler.robot.transform import Transform

_SIGMA = {"revolute": 0, "prismatic": 1, "fixed": 2}
_STILL = Joint("", "fixed", "", "")


@dataclass
class _Row:
    antecedent: int
    sigma: int
    six: Six
    link: Link = field(default_factory=lambda: Link(""))
    joint: Joint = _STILL
    mu: int = 0


def write(robot: Robot) -> str:
    """The robot as the text of a SYMORO+ file, which :func:`neuler.formats.par.read` reads again.

    The z axis of each link becomes its joint's axis: where it is not, the link is described in a frame turned to it
    by the smallest turn. Between nearly parallel axes a massless link, fixed, keeps the parameters small. Numbers are
    written with all their digits, quarter turns as pi/2. What the format has no place for (names, own axes, limits,
    Coulomb friction of the reverse direction, friction laws, frames, springs of driven joints, couplings, motors, the
    reference and the independent joints of a robot with loops, the body of a base that does not move) stands in
    comments that ``read`` understands and SYMORO+ skips: it takes coupled joints as joints of their own, and knows no
    motors.

    Refused: joints and cut joints other than revolute, prismatic and fixed; free links but for the base.

    >>> from neuler import Joint, Link, Robot
    >>> arm = Robot("arm", [Link("base"), Link("bob", 1.0)], [Joint("hinge", "revolute", "base", "bob")])
    >>> print(write(arm).partition("(* Dynamic")[0].partition("(* Geometric parameters *)")[2].strip())
    Ant = {0}
    Sigma = {0}
    B = {0}
    d = {0}
    R = {0}
    gamma = {0}
    Alpha = {0}
    Mu = {1}
    Theta = {th1}
    """
    if not isinstance(robot, Robot):
        raise FormatError(f"expected a Robot, got {type(robot).__name__}")
    return _Writer(robot).text()


class _Writer:
    def __init__(self, robot: Robot) -> None:
        bare = robot.replace(motors=()) if robot.motors else robot
        self.name, self.tree, self.motors = robot.name, bare.tree, robot.motors
        self.loops, self.couplings = robot.loops, robot.couplings
        self.reference, self.independent = robot.reference, robot.independent
        self.remarks: list[str] = []
        self.floating, self.base, self.seat = self._ground()
        self.rows: list[_Row] = [_Row(0, 2, (0.0,) * 6, self.base)]
        self.numbers = {self.base.name: 0}
        self.tilts = {self.base.name: Transform()}

    # ---- the base -----------------------------------------------------------------------------

    def _ground(self) -> tuple[bool, Link, Transform]:
        """Whether the base is free, link 0, and the placement of its frame."""
        tree = self.tree
        free = [joint for joint in tree.joints if joint.kind == "free"]
        if not free:
            return False, tree.links[0], Transform()
        if len(free) > 1:
            raise FormatError(
                f"robot {tree.name!r}: a SYMORO+ file holds one free link, the base; "
                f"{', '.join(repr(joint.name) for joint in free)} are free"
            )
        if tree.joints[0] is not free[0] or any(joint.parent == tree.links[0].name for joint in tree.joints[1:]):
            raise FormatError(
                f"robot {tree.name!r}: in a SYMORO+ file nothing but the free base stands on the ground; "
                f"{tree.links[0].name!r} carries more than the joint {free[0].name!r}"
            )
        return True, tree.links[1], free[0].placement

    # ---- rows -----------------------------------------------------------------------------------

    def _add(self, antecedent: int, placement: Transform, sigma: int) -> _Row:
        """A row for a frame; before it, if need be, one for a massless link between."""
        *before, six = factors(placement)
        for between in before:
            self.rows.append(_Row(antecedent, 2, between))
            antecedent = len(self.rows) - 1
            self.remarks.append(remark("link", {"helper": True}, antecedent))
        return _Row(antecedent, sigma, six)

    def _links(self) -> None:
        silent = not self.loops and not any(joint.role in ("driven", "elastic") for joint in self._tree_joints())
        for joint, link in zip(self.tree.joints, self.tree.links[1:], strict=True):
            if joint.kind == "free":
                continue
            if joint.kind not in _SIGMA:
                raise FormatError(
                    f"joint {joint.name!r}: a SYMORO+ file holds revolute, prismatic and fixed joints, not a "
                    f"{joint.kind} one; build it of these, with links without mass between them"
                )
            turned = tilt(joint.axis) if joint.moves else Transform()
            placement = self.tilts[joint.parent].inverse() @ joint.placement @ turned
            row = self._add(self.numbers[joint.parent], placement, _SIGMA[joint.kind])
            row.link, row.joint = link.seen_from(turned.inverse()), joint
            row.mu = int(joint.moves and joint.role == "driven")
            self.rows.append(row)
            number = len(self.rows) - 1
            self.numbers[link.name], self.tilts[link.name] = number, turned
            if link.name != f"link{number}":
                self.remarks.append(remark("link", {"name": link.name}, number))
            data = _more(joint, number, silent)
            if data:
                self.remarks.append(remark("joint", data, number))

    def _tree_joints(self) -> list[Joint]:
        return [joint for joint in self.tree.moving_joints if joint.kind != "free"]

    def _cuts(self) -> tuple[list[_Row], list[_Row]]:
        """Rows of the frames on both sides of the cut joints; massless links they need come before, in the tree."""
        firsts: list[_Row] = []
        seconds: list[_Row] = []
        for loop in self.loops:
            if loop.kind not in _SIGMA:
                raise FormatError(
                    f"loop {loop.name!r}: a SYMORO+ file cuts revolute, prismatic and fixed joints, not a {loop.kind} "
                    "one; build it of revolute joints and massless links and cut one of them"
                )
            for name, found, sigma in ((loop.first, firsts, _SIGMA[loop.kind]), (loop.second, seconds, 2)):
                index, placement = self.tree.locate(name)
                link = self.tree.links[index].name
                if link not in self.numbers:
                    raise FormatError(f"loop {loop.name!r}: in a SYMORO+ file nothing is joined to the ground {link!r}")
                found.append(self._add(self.numbers[link], self.tilts[link].inverse() @ placement, sigma))
        return firsts, seconds

    # ---- text -----------------------------------------------------------------------------------

    def text(self) -> str:
        self._links()
        firsts, seconds = self._cuts()
        links = len(self.rows) - 1
        joints = links + len(self.loops)
        rows = [*self.rows[1:], *firsts, *seconds]
        chain = all(row.antecedent == j for j, row in enumerate(self.rows[1:]))
        kind = 2 if self.loops else 0 if chain else 1
        self._remark_rest(links)
        plain = re.sub(r"[^\w -]", "_", self.name, flags=re.ASCII).strip() or "robot"
        lines = [
            f"(* Robotname = '{plain}' *)",
            f"NL = {links}", f"NJ = {joints}", f"NF = {len(rows)}", f"Type = {kind}",
            f"is_floating = {int(self.floating)}", "is_mobile = 0",
            "", "(* Geometric parameters *)",
        ]  # fmt: skip
        lines += [_list(name, column) for name, column in self._geometry(rows, joints).items()]
        lines += ["", "(* Dynamic parameters and external forces *)"]
        lines += [_list(name, column) for name, column in self._dynamics().items()]
        lines += ["", "(* Joint parameters *)"]
        springs = [row.joint if row.joint.role == "elastic" else _STILL for row in rows[:joints]]
        lines += [_list("eta", [str(int(joint.stiffness > 0)) for joint in springs])]
        lines += [_list("k", [_shown(joint.stiffness) for joint in springs])]
        lines += [_list(name, [f"{name}{j}" for j in range(1, joints + 1)]) for name in ("QP", "QDP", "GAM")]
        lines += ["", "(* Velocity and acceleration of the base *)"]
        lines += [_list(name, ["0", "0", "0"]) for name in ("W0", "WP0", "V0", "VP0")]
        gravity = np.asarray(self.seat.rotation).T @ np.asarray(self.tree.gravity)
        lines += ["", "(* Acceleration of gravity *)", _list("G", [_shown(x) for x in (gravity + 0.0).tolist()])]
        lines += ["", "(* Transformation of 0 frame position fT0 *)"]
        lines += [_list("Z", [_shown(x) for x in self.seat.matrix.ravel().tolist()])]
        if self.remarks:
            lines += ["", "(* What this format has no place for *)", *self.remarks]
        return "\n".join([*lines, "", "(* End of definition *)", ""])

    @staticmethod
    def _geometry(rows: list[_Row], joints: int) -> dict[str, list[str]]:
        columns: dict[str, list[str]] = {
            "Ant": [str(row.antecedent) for row in rows],
            "Sigma": [str(row.sigma) for row in rows],
        }
        for name, k in (("B", 1), ("d", 3), ("R", 5), ("gamma", 0), ("Alpha", 2), ("Mu", -1), ("Theta", 4)):
            column = []
            for j, row in enumerate(rows, start=1):
                if k < 0:
                    column.append(str(row.mu))
                    continue
                value = _shown(row.six[k], angle=k % 2 == 0)
                moves = j <= joints and ((name == "Theta" and row.sigma == 0) or (name == "R" and row.sigma == 1))
                column.append(_moved(f"{'th' if name == 'Theta' else 'r'}{j}", value) if moves else value)
            columns[name] = column
        return columns

    def _dynamics(self) -> dict[str, list[str]]:
        rows = self.rows if self.floating else self.rows[1:]
        columns: dict[str, list[float]] = {}
        for name, k in (("XX", 0), ("XY", 3), ("XZ", 4), ("YY", 1), ("YZ", 5), ("ZZ", 2)):
            columns[name] = [row.link.inertia[k] for row in rows]
        for k, name in enumerate(("MX", "MY", "MZ")):
            columns[name] = [row.link.first_moment[k] for row in rows]
        columns["M"] = [row.link.mass for row in rows]
        joints = [row.joint if row.sigma != 2 else _STILL for row in rows]
        columns["IA"] = [joint.rotor_inertia for joint in joints]
        columns["FV"] = [joint.viscous for joint in joints]
        columns["FS"] = [joint.coulomb for joint in joints]
        for name in ("FX", "FY", "FZ", "CX", "CY", "CZ"):
            columns[name] = [0.0] * len(rows)
        return {name: [_shown(value) for value in column] for name, column in columns.items()}

    # ---- remarks -----------------------------------------------------------------------------------

    def _remark_rest(self, links: int) -> None:
        tree = self.tree
        data: dict[str, Any] = {}
        plain = re.sub(r"[^\w -]", "_", self.name, flags=re.ASCII).strip()
        if plain != self.name:
            data["name"] = self.name
        if tree.notes:
            data["notes"] = list(tree.notes)
        if self.reference is not None:
            data["reference"] = self.reference
        if self.independent is not None:
            data["independent"] = self.independent
        if self.floating:
            data |= {"world": tree.links[0].name, "root_joint": tree.joints[0].name}
            if tree.links[0] != Link(tree.links[0].name):
                data["world_body"] = _body(tree.links[0])
        if data:
            self.remarks.insert(0, remark("robot", data))
        base: dict[str, Any] = {} if self.base.name == "base" else {"name": self.base.name}
        if not self.floating and self.base != Link(self.base.name):
            base |= _body(self.base)
        if base:
            self.remarks.append(remark("link", base, 0))
        for frame in tree.frames:
            place = {"name": frame.name, "link": frame.link}
            placement = frame.placement
            self.remarks.append(
                remark("frame", {**place, "rotation": placement.rotation, "translation": placement.translation})
            )
        for k, loop in enumerate(self.loops, start=links + 1):
            self.remarks.append(remark("loop", {"name": loop.name, "first": loop.first, "second": loop.second}, k))
        self.remarks += [remark("coupling", coupling_data(coupling)) for coupling in self.couplings]
        self.remarks += [remark("motor", motor_data(motor)) for motor in self.motors]


def _more(joint: Joint, number: int, silent: bool) -> dict[str, Any]:
    """What the table does not say of a joint."""
    data: dict[str, Any] = {}
    if joint.name != f"joint{number}":
        data["name"] = joint.name
    if joint.moves and joint.axis != _STILL.axis:
        data["axis"] = joint.axis
    if joint.limits != Limits():
        bounds = (joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort)
        data["limits"] = [bound if math.isfinite(bound) else None for bound in bounds]
    if joint.coulomb_reverse is not None:
        data["coulomb_reverse"] = joint.coulomb_reverse
    if joint.friction is not None:
        data["friction"] = joint.friction.data
    if joint.gear_ratio != 1.0:
        data["gear_ratio"] = joint.gear_ratio
    if joint.role != "elastic" and joint.stiffness:
        data["stiffness"] = joint.stiffness
    if joint.rest:
        data["rest"] = joint.rest
    if joint.moves and silent:
        data["role"] = joint.role
    return data


def _body(link: Link) -> dict[str, Any]:
    return {"mass": link.mass, "first_moment": link.first_moment, "inertia": link.inertia}


def _list(name: str, entries: list[str]) -> str:
    return f"{name} = {{{','.join(entries)}}}"


def _shown(value: float, angle: bool = False) -> str:
    """All digits; quarter turns by name, so that their sines stay exact."""
    if angle:
        for size, name in ((math.pi / 2, "pi/2"), (math.pi, "pi")):
            if abs(value) == size:
                return name if value > 0 else "-" + name
    return str(int(value)) if value.is_integer() and abs(value) < 1e6 else repr(value)


def _moved(variable: str, offset: str) -> str:
    if offset == "0":
        return variable
    return f"{variable} - {offset[1:]}" if offset.startswith("-") else f"{variable} + {offset}"

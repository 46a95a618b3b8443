"""What a SYMORO+ file has no place for, in comments: names, own axes, limits, frames, couplings, motors.

A comment ``(* neuler WHAT NUMBER {JSON} *)`` holds it; SYMORO+ and OpenSYMORO skip comments.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np

from neuler.errors import FormatError, RobotError
from neuler.formats.motor_data import FIELDS as MOTOR
from neuler.formats.motor_data import motor_of
from neuler.formats.par_text import Sheet
from neuler.formats.source import clip
from neuler.robot import Coupling, Frame, Joint, Limits, Link, Motor, Polynomial, Spline
from neuler.robot.friction import friction_law
from neuler.robot.transform import Transform, Vec3

_REMARK = re.compile(r"neuler (robot|link|joint|frame|loop|coupling|motor)(?: ([0-9]{1,6}))? (\{.*\})", re.DOTALL)
_LIMIT = 100_000
_TEXTS = {"name", "world", "root_joint", "role", "link", "first", "second", "joint"}
_FIELDS = {
    "robot": {"name", "notes", "world", "root_joint", "world_body", "reference", "independent"},
    "link": {"name", "helper", "mass", "first_moment", "inertia"},
    "joint": {
        "name", "axis", "limits", "coulomb_reverse", "gear_ratio", "stiffness", "rest", "role", "friction",
    },
    "frame": {"name", "link", "rotation", "translation"},
    "loop": {"name", "first", "second"},
    "coupling": {"joint", "of", "ratio", "offset", "polynomial", "spline"},
    "motor": set(MOTOR),
}  # fmt: skip

Data = dict[str, Any]


def remark(what: str, data: Data, number: int | None = None) -> str:
    """The comment that holds the data.

    >>> remark("joint", {"name": "elbow"}, 3)
    '(* neuler joint 3 {"name": "elbow"} *)'
    """
    count = "" if number is None else f" {number}"
    body = json.dumps(data).replace("*)", "*\\u0029").replace("(*", "\\u0028*")
    return f"(* neuler {what}{count} {body} *)"


class Remarks:
    """The remarks of a file, each checked where it is used."""

    def __init__(self, sheet: Sheet) -> None:
        self.file = sheet.file
        self.found: dict[tuple[str, int], tuple[int, Data]] = {}
        self.lists: dict[str, list[tuple[int, Data]]] = {"frame": [], "coupling": [], "motor": []}
        for line, comment in sheet.comments:
            match = _REMARK.fullmatch(comment)
            if match is None:
                continue
            what, number = match[1], int(match[2] or 0)
            data = self._data(what, match[3], line)
            if what in self.lists:
                self.lists[what].append((line, data))
            elif (what, number) in self.found:
                raise self.error(line, f"a second remark on {what} {number}; remove one of them")
            else:
                self.found[what, number] = (line, data)

    def error(self, line: int, message: str) -> FormatError:
        """An error that says where in the file it is."""
        return FormatError(f"{self.file}, line {line}: {message}")

    def _data(self, what: str, text: str, line: int) -> Data:
        try:
            data = json.loads(text, parse_int=float) if len(text) <= _LIMIT else None
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise self.error(line, f"the remark is not JSON: {clip(text)}; mend or remove the comment")
        for key in data:
            if key not in _FIELDS[what]:
                known = ", ".join(sorted(_FIELDS[what]))
                raise self.error(line, f"a remark on a {what} has no {clip(str(key))}; it may have {known}")
            if key in _TEXTS and not isinstance(data[key], str):
                raise self.error(line, f"the remark's {key!r} must be text, got {clip(repr(data[key]))}")
        return data

    def check_numbers(self, links: int, joints: int) -> None:
        """Every remark is on something that is there."""
        for (what, number), (line, _) in self.found.items():
            low, high = {"robot": (0, 0), "link": (0, links), "joint": (1, links), "loop": (links + 1, joints)}[what]
            if not low <= number <= high:
                raise self.error(line, f"a remark on {what} {number}, which is not in the table; remove the comment")

    def _of(self, what: str, number: int = 0) -> Data:
        return self.found.get((what, number), (0, {}))[1]

    def _refuse(self, what: str, number: int, error: Exception) -> FormatError:
        line = self.found.get((what, number), (0, {}))[0]
        return self.error(line, f"the remark on {what} {number} cannot be used: {error}; mend or remove the comment")

    # ---- what they say -------------------------------------------------------------------------

    @property
    def of_robot(self) -> Data:
        """Names and notes of the robot."""
        data = self._of("robot")
        for key in ("notes", "independent"):
            texts = data.get(key, [])
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise self._refuse("robot", 0, ValueError(f"{key} must be a list of texts"))
        return data

    @property
    def has_roles(self) -> bool:
        """Whether some joint is told its role."""
        return any("role" in data for (what, _), (_, data) in self.found.items() if what == "joint")

    def axis(self, j: int) -> Vec3:
        """The joint's axis in the own frame of its link; z where nothing is said."""
        given = self._of("joint", j).get("axis", (0.0, 0.0, 1.0))
        try:
            axis = np.array([float(x) for x in given])
            size = float(np.linalg.norm(axis))
            if axis.shape != (3,) or not abs(size - 1.0) < 1e-6:
                raise ValueError(f"axis must be a unit vector, got {given!r}")
        except (TypeError, ValueError) as error:
            raise self._refuse("joint", j, error) from None
        x, y, z = axis.tolist() if abs(size - 1.0) <= 1e-15 else (axis / size).tolist()
        return x, y, z

    def is_helper(self, j: int) -> bool:
        """Whether the link only stands between two others in the table."""
        return self._of("link", j).get("helper") is True

    def link(self, j: int, name: str, body: Link, still: bool = False) -> Link:
        """The link with its name; a base that stands still has its body here alone."""
        data = dict(self._of("link", j))
        data.pop("helper", None)
        name = data.pop("name", name)
        if data and not still:
            raise self._refuse("link", j, ValueError("its body is in the table"))
        return self._link("link", j, name, data) if data else dataclasses.replace(body, name=name)

    def world(self, name: str) -> Link:
        """The ground under a free base."""
        data = self._of("robot")
        name, body = data.get("world", name), data.get("world_body")
        return Link(name) if body is None else self._link("robot", 0, name, body)

    def _link(self, what: str, j: int, name: str, data: Data) -> Link:
        try:
            return Link(name, data["mass"], data["first_moment"], data["inertia"])
        except (LookupError, TypeError, RobotError) as error:
            raise self._refuse(what, j, error) from None

    def joint(self, j: int, joint: Joint) -> Joint:
        """The joint of the table with what the remark adds."""
        data = dict(self._of("joint", j))
        try:
            if "limits" in data:
                infinite = (-math.inf, math.inf, math.inf, math.inf)
                bounds = zip(data["limits"], infinite, strict=True)
                data["limits"] = Limits(*(bound if value is None else value for value, bound in bounds))
            if "axis" in data:
                data["axis"] = self.axis(j)
            if "friction" in data:
                data["friction"] = friction_law(data["friction"])
            return dataclasses.replace(joint, **data)
        except (TypeError, ValueError, RobotError) as error:
            raise self._refuse("joint", j, error) from None

    def frames(self) -> list[Frame]:
        """The named frames that remarks fix to links."""
        found = []
        for line, data in self.lists["frame"]:
            try:
                rotation = data.get("rotation", Transform().rotation)
                placement = Transform(rotation, data.get("translation", (0.0, 0.0, 0.0)))
                found.append(Frame(data["name"], data["link"], placement))
            except (KeyError, RobotError) as error:
                raise self.error(line, f"the remark on a frame cannot be used: {error}; mend or remove it") from None
        return found

    def loop_name(self, j: int, name: str) -> str:
        """The name of a cut joint."""
        return str(self._of("loop", j).get("name", name))

    def end(self, j: int, role: str, frame: Frame, known: dict[str, Frame], frames: list[Frame]) -> str:
        """The name of a frame of a cut joint; one that is not there already is added."""
        name = self._of("loop", j).get(role, frame.name)
        there = known.get(name) if isinstance(name, str) else None
        if there is None:
            found = Frame(str(name), frame.link, frame.placement)
            known[found.name] = found
            frames.append(found)
            return found.name
        apart = float(np.abs(there.placement.matrix - frame.placement.matrix).max())
        if there.link != frame.link or apart > 1e-9:
            raise self.error(
                self.found.get(("loop", j), (0, {}))[0],
                f"frame {name!r} of the cut joint {j} is not where the table has it; remove the remark on the loop",
            )
        return there.name

    def motors(self) -> list[Motor]:
        """The motors of the robot, from their remarks."""
        found = []
        for line, data in self.lists["motor"]:
            try:
                found.append(motor_of(data))
            except (TypeError, ValueError) as error:
                raise self.error(line, f"the remark on a motor cannot be used: {error}; mend or remove it") from None
        return found

    def couplings(self) -> list[Coupling]:
        """The couplings of joints that follow others, from their remarks."""
        found = []
        for line, data in self.lists["coupling"]:
            try:
                found.append(_coupling(data))
            except (KeyError, TypeError, ValueError) as error:
                raise self.error(line, f"the remark on a coupling cannot be used: {error}; mend or remove it") from None
        return found


def coupling_data(coupling: Coupling) -> Data:
    """A coupling as a remark holds it."""
    one = len(coupling.of) == 1
    data: Data = {"joint": coupling.joint, "of": coupling.of[0] if one else coupling.of}
    data |= {"ratio": coupling.ratio[0] if one else coupling.ratio, "offset": coupling.offset}
    match coupling.function:
        case Polynomial(coefficients=coefficients):
            data["polynomial"] = coefficients
        case Spline(x=x, y=y, degree=degree):
            data["spline"] = {"x": x, "y": y, "degree": degree}
    return data


def _coupling(data: Data) -> Coupling:
    data = dict(data)
    if "polynomial" in data:
        data["function"] = Polynomial(data.pop("polynomial"))
    if "spline" in data:
        if "function" in data:
            raise ValueError("it is a polynomial or a spline, not both")
        data["function"] = Spline(**data.pop("spline"))
    return Coupling(**data)

"""The tables of a SYMORO+ file as numbers: symbols given values, joint variables found, what is missing named."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import FormatError, RobotError
from neuler.formats.par_text import RESERVED, Expression, scan
from neuler.formats.source import clip
from neuler.naming import hint
from neuler.robot import Link
from neuler.robot.transform import Transform

MAX_FRAMES = 2000

_COUNTS = ("NL", "NJ", "NF", "Type", "is_floating", "is_mobile")
_GEOMETRY = ("Ant", "Sigma", "B", "d", "R", "gamma", "Alpha", "Mu", "Theta")
_NEEDED = ("Ant", "Sigma", "d", "R", "Alpha", "Theta")
_BODY = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
_DRIVE = ("IA", "FV", "FS")
_FORCES = ("FX", "FY", "FZ", "CX", "CY", "CZ")
_MOTION = ("QP", "QDP", "GAM")
_BASE = ("W0", "WP0", "V0", "VP0")
_KNOWN = (*_COUNTS, *_GEOMETRY, *_BODY, *_DRIVE, *_FORCES, "eta", "k", *_MOTION, *_BASE, "G", "Z")
_NAMES = {name.lower(): name for name in _KNOWN} | {name[:-1].lower() + "o": name for name in _BASE}
_REPEATABLE = frozenset(name.lower() for name in (*_FORCES, *_MOTION))
ALL_DRIVEN = "Mu is 0 for every joint of an open structure; all are taken as driven"
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def checked(values: Mapping[str, float]) -> dict[str, float]:
    """Symbols and their numbers, as the caller gave them."""
    if not isinstance(values, Mapping):
        raise FormatError(f"values must be a mapping of symbols to numbers, got {type(values).__name__}")
    for name, value in values.items():
        if not isinstance(name, str) or name.lower() in RESERVED:
            raise FormatError(f"values: {name!r} is no symbol; give names such as 'D3' or 'M1'")
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise FormatError(f"values: {name!r} must be a finite number, got {value!r}")
    return {name: float(value) for name, value in values.items()}


@dataclass
class Row:
    """A frame of the table."""

    antecedent: int
    sigma: int
    driven: bool
    placement: Transform
    elastic: bool = False


class Table:
    """What a file says of a robot, in numbers.

    ``rows``: the base and frames 1 to NF. ``bodies``, ``drives`` (IA, FV, FS), ``stiffness``, ``roles``: of links and
    joints 0 to NL. ``gravity`` is expressed in the frame in which frame 0 has the placement ``base``.
    """

    def __init__(self, label: str, text: str, values: dict[str, float], zero: bool, gravity: ArrayLike | None) -> None:
        self.sheet = scan(label, text, _NAMES, _REPEATABLE)
        self.notes: list[str] = []
        self._values = values
        self._zero = zero
        self._geometric: dict[str, str] = {}
        self._dynamic: dict[str, str] = {}
        self._absent: list[str] = []
        self._variables: dict[str, Expression] = {}
        self.links, self.joints, self.frames = self._counts()
        self.loops = self.joints - self.links
        self.moving_base = self._truth("is_floating") or self._truth("is_mobile")
        self.rows = self._rows()
        body = {name: self._parameters(name) for name in _BODY}
        drive = {name: self._parameters(name) for name in _DRIVE}
        self.bodies = [_body({name: column[j] for name, column in body.items()}) for j in range(self.links + 1)]
        self.drives = [tuple(drive[name][j] for name in _DRIVE) for j in range(self.links + 1)]
        self.stiffness = [0.0, *map(self._parameter, self._of_joints("k"))]
        self.base = self._base()
        self.gravity = self._gravity() if gravity is None else gravity
        self._refuse_unknown()
        self._refuse_missing()
        self.roles = self._roles()
        self._ignored()

    def _error(self, message: str) -> FormatError:
        return FormatError(f"{self.sheet.file}: {message}")

    def _refuse_unknown(self) -> None:
        """Values of symbols that stand nowhere: a mistyped name must not leave the right one without a value."""
        if not self._values:
            return
        entries = [entry for column in self.sheet.lists.values() for entry in column]
        symbols = {name for entry in (*entries, *self.sheet.singles.values()) for name in entry.symbols}
        for name in self._values:
            if name not in symbols:
                likely = hint(name, sorted(symbols)) if symbols else "the file has no symbols"
                raise self._error(f"values: {name!r} is no symbol of this file; {likely}")

    # ---- single values ---------------------------------------------------------------------

    def _counts(self) -> tuple[int, int, int]:
        links, joints = self._count("NL"), self._count("NJ")
        if joints < links:
            entry = self.sheet.singles["nj"]
            raise entry.error(f"is {joints}, fewer than the NL = {links} links; every link is carried by a joint")
        least = 2 * joints - links
        frames = self._count("NF", least)
        if frames < least:
            raise self.sheet.singles["nf"].error(
                f"must be at least 2 NJ - NL = {least}, two frames for each cut joint, got {frames}"
            )
        kind = self._count("Type", 2 if joints > links else 1)
        if kind not in (0, 1, 2):
            raise self.sheet.singles["type"].error(f"must be 0 (simple), 1 (tree) or 2 (closed loops), got {kind}")
        if kind != 2 and joints > links:
            raise self.sheet.singles["type"].error(
                f"is {kind}, an open structure, but NJ - NL = {joints - links} joints are cut; "
                "set Type = 2, or NJ to the number of links"
            )
        return links, joints, frames

    def _count(self, name: str, default: int | None = None) -> int:
        entry = self.sheet.singles.get(name.lower())
        if entry is None:
            if name.lower() in self.sheet.lists:
                raise self._error(f"{name} must be a single number, got a list; write {name} = 6")
            if default is None:
                raise self._error(f"{name} is missing; a SYMORO+ file begins with NL, NJ and NF, such as {name} = 6")
            return default
        if not re.fullmatch(r"[0-9]{1,9}", entry.text):
            raise entry.error(f"must be a whole number, got {clip(entry.text)}")
        value = int(entry.text)
        if value > MAX_FRAMES:
            raise entry.error(f"is {value:,}, the limit is {MAX_FRAMES:,}")
        return value

    def _truth(self, name: str) -> bool:
        entry = self.sheet.singles.get(name)
        if entry is None:
            return False
        if entry.text.lower() not in _TRUTH:
            raise entry.error(f"must be 0 or 1, got {clip(entry.text)}")
        return _TRUTH[entry.text.lower()]

    # ---- lists ---------------------------------------------------------------------------------

    def _column(self, name: str, *lengths: int, default: str | None = None) -> list[Expression]:
        entries = self.sheet.lists.get(name.lower())
        if entries is None:
            if name.lower() in self.sheet.singles:
                raise self.sheet.singles[name.lower()].error("must be a list in braces, such as {0,1,2}")
            if default is None:
                raise self._error(f"the list {name} is missing; add {name} = {{...}} with {lengths[0]} entries")
            entries = [Expression(default, f"{name}, number {k}", 0, self.sheet.file) for k in range(1, lengths[0] + 1)]
        if len(entries) not in lengths:
            line = f", line {entries[0].line}" if entries else ""
            counts = {"NL": self.links, "NJ": self.joints, "NF": self.frames}
            raise FormatError(
                f"{self.sheet.file}{line}: {name} must have {' or '.join(map(str, lengths))} entries "
                f"({', '.join(f'{key} = {count}' for key, count in counts.items())}), got {len(entries)}; "
                "mend the list or the counts"
            )
        return entries

    def _whole(self, entry: Expression, *allowed: int, what: str = "") -> int:
        value, _ = entry.value({}) if not entry.symbols else (math.nan, 0.0)
        if not value.is_integer() or (allowed and value not in allowed):
            raise entry.error(f"must be {what or 'a whole number'}, got {clip(entry.text)}")
        return int(value)

    def _number(self, entry: Expression, variable: str | None = None) -> float:
        """A length, an angle, gravity: its symbols need values."""
        unknown = [name for name in entry.symbols if name not in self._values and name != variable]
        for name in unknown:
            self._geometric.setdefault(name, entry.owner)
        if unknown:
            return 0.0
        value, slope = entry.value(self._values, variable)
        if variable is not None and slope != 1.0:
            raise entry.error(
                f"the joint variable {variable!r} must be added once, not {slope:g} times; "
                f"write {variable} + a constant, or give {variable!r} a value"
            )
        return value

    def _parameter(self, entry: Expression) -> float:
        """The value of a dynamic parameter; zero where its symbol has none, which is remembered."""
        unknown = [name for name in entry.symbols if name not in self._values]
        if unknown and not self._zero:
            for name in unknown:
                self._dynamic.setdefault(name, entry.owner)
            return 0.0
        return entry.value({**self._values, **dict.fromkeys(unknown, 0.0)})[0]

    def _parameters(self, name: str) -> list[float]:
        """Those of the links, after that of the base: zero for one that does not move."""
        if name.lower() not in self.sheet.lists and name.lower() not in self.sheet.singles and not self._zero:
            self._absent.append(name)
        lengths = (self.links, self.links + 1) if self.moving_base else (self.links,)
        found = [self._parameter(entry) for entry in self._column(name, *lengths, default="0")]
        return found if len(found) == self.links + 1 else [0.0, *found]

    # ---- the table ------------------------------------------------------------------------------

    def _rows(self) -> list[Row]:
        """Rows 1 to NF, after one for the base."""
        columns = {
            name: self._column(name, self.frames, default=None if name in _NEEDED else "1" if name == "Mu" else "0")
            for name in _GEOMETRY
        }
        if self.loops and "mu" not in self.sheet.lists:
            raise self._error("the list Mu is missing; with closed loops it says which joints are motorised")
        elastic = [self._whole(entry, 0, 1, what="0 (rigid) or 1 (flexible)") for entry in self._of_joints("eta")]
        found = [Row(0, 2, False, Transform())]
        for j in range(1, self.frames + 1):
            here = {name: column[j - 1] for name, column in columns.items()}
            antecedent = self._whole(here["Ant"])
            if not 0 <= antecedent < j:
                raise here["Ant"].error(
                    f"the antecedent of {j} must be 0 (the base) to {j - 1}, got {antecedent}; "
                    "number the links outward from the base"
                )
            if antecedent > self.links and found[antecedent].sigma != 2:
                raise here["Ant"].error(f"frame {antecedent} is that of a cut joint and carries nothing")
            sigma = self._whole(here["Sigma"], 0, 1, 2, what="0 (revolute), 1 (prismatic) or 2 (fixed)")
            if j > self.joints and sigma != 2:
                raise here["Sigma"].error(f"frame {j} is fixed to its antecedent (NJ = {self.joints}): sigma must be 2")
            mu = self._whole(here["Mu"], 0, 1, what="0 (passive) or 1 (motorised)")
            if mu and self.links < j <= self.joints and sigma != 2 and "mu" in self.sheet.lists:
                raise here["Mu"].error(f"joint {j} is cut and must be passive; cut the loop at a joint without a motor")
            variable = {name: self._variable(here[name], j) for k, name in enumerate(("Theta", "R")) if k == sigma}
            six = {
                key: self._number(here[name], variable.get(name))
                for key, name in (("gamma", "gamma"), ("b", "B"), ("alpha", "Alpha"), ("d", "d"), ("theta", "Theta"),
                                  ("r", "R"))
            }  # fmt: skip
            flexible = j <= self.joints and bool(elastic[j - 1])
            if flexible and j > self.links:
                raise self._of_joints("eta")[j - 1].error(f"joint {j} is cut and must be rigid; cut another joint")
            found.append(Row(antecedent, sigma, bool(mu), Transform.khalil(**six), flexible))
        self._check_variables([entry for column in columns.values() for entry in column])
        return found

    def _of_joints(self, name: str) -> list[Expression]:
        return self._column(name, self.joints, default="0")

    def _variable(self, entry: Expression, j: int) -> str | None:
        """The symbol that is the joint's coordinate: the only one without a value, or the one named like it."""
        unknown = [name for name in entry.symbols if name not in self._values]
        if len(unknown) > 1:
            named = [name for name in unknown if re.fullmatch(rf"(t|th|theta|q|qpos|r)_?{j}", name, re.IGNORECASE)]
            if len(named) != 1:
                raise entry.error(
                    f"which of {', '.join(unknown)} is the joint's variable? Name it th{j}, or r{j} if the joint "
                    "slides, and give the others values"
                )
            unknown = named
        if not unknown:
            return None
        if unknown[0] in self._variables:
            other = self._variables[unknown[0]].owner
            raise entry.error(
                f"{unknown[0]!r} is already the joint variable of {other}; give each joint its own and couple them "
                "with robot.replace(couplings=[Coupling(...)])"
            )
        self._variables[unknown[0]] = entry
        return unknown[0]

    def _check_variables(self, entries: list[Expression]) -> None:
        for entry in entries:
            for name in entry.symbols:
                if self._variables.get(name, entry) is not entry:
                    raise entry.error(
                        f"{name!r} is the joint variable of {self._variables[name].owner} and cannot stand here; "
                        f"if it is a constant give it a value, values={{{name!r}: ...}}"
                    )

    # ---- gravity, roles, and what has no effect --------------------------------------------------

    def _base(self) -> Transform:
        if "z" not in self.sheet.lists:
            return Transform()
        entries = self._column("Z", 16)
        matrix = np.array([self._number(entry) for entry in entries]).reshape(4, 4)
        if any(name not in self._values for entry in entries for name in entry.symbols):
            return Transform()  # refused below, with all that is missing
        try:
            return Transform.from_matrix(matrix)
        except RobotError as error:
            raise entries[0].error(f"must be the homogeneous matrix of a placement, row by row: {error}") from None

    def _gravity(self) -> ArrayLike:
        if "g" not in self.sheet.lists:
            raise self._error(
                "the list G is missing, the acceleration of free fall; add G = {0,0,-9.81} or pass gravity=..."
            )
        in_base = np.array([self._number(entry) for entry in self._column("G", 3)])
        return np.asarray(self.base.rotation) @ in_base

    def _roles(self) -> list[str]:
        rows = self.rows[: self.links + 1]
        moving = [row for row in rows if row.sigma != 2]
        silent = not self.loops and not any(row.driven or row.elastic for row in moving)
        if silent and moving:
            self.notes.append(ALL_DRIVEN)
        return ["elastic" if row.elastic else "driven" if row.driven or silent else "passive" for row in rows]

    def _ignored(self) -> None:
        for names, why in (
            (_FORCES, "are inputs: compile with external=...; SYMORO's are those of the robot on its environment"),
            (_BASE, "are a motion of the base; for a constant acceleration of it give gravity = G - VP0"),
        ):
            found = [name for name in names if any(map(_some, self.sheet.lists.get(name.lower(), ())))]
            if found:
                self.notes.append(f"ignored: {', '.join(found)}, which {why}")
        fixed = [str(j) for j in range(1, self.links + 1) if self.rows[j].sigma == 2 and any(self.drives[j])]
        if fixed:
            self.notes.append(f"ignored: IA, FV, FS of the joints {', '.join(fixed)}, which are fixed")
        rigid = [str(j) for j in range(1, self.links + 1) if self.stiffness[j] and not self.rows[j].elastic]
        if rigid:
            self.notes.append(f"ignored: the stiffness k of the joints {', '.join(rigid)}, which are rigid (eta = 0)")
        for j in range(1, self.links + 1):
            if self.rows[j].elastic and not self.stiffness[j]:
                entry = self._of_joints("eta")[j - 1]
                raise entry.error(f"joint {j} is flexible, but its stiffness k is zero; give k, or set eta to 0")
        if self.moving_base and len(self.sheet.lists.get("m", ())) == self.links:
            self.notes.append("the base moves, but the file gives no dynamic parameters of link 0: it has no mass")
        if self._truth("is_mobile") and not self._truth("is_floating"):
            self.notes.append("the mobile base is free here, with six coordinates")

    def _refuse_missing(self) -> None:
        every = {**self._geometric, **self._dynamic}
        lines = []
        if every:
            shown = ", ".join(f"{name} ({owner})" for name, owner in list(every.items())[:60])
            more = f" and {len(every) - 60} more" if len(every) > 60 else ""
            example = ", ".join([f'"{name}": ...' for name in list(every)[:3]] + ["..."] * (len(every) > 3))
            plural = "s have" if len(every) > 1 else " has"
            lines.append(f"{len(every)} symbol{plural} no value: {shown}{more}; pass values={{{example}}}")
        if self._absent:
            lines.append(f"the lists {', '.join(self._absent)} are missing; add them")
        if self._dynamic or self._absent:
            lines.append('missing="zero" takes dynamic parameters without a value as zero')
        if lines:
            raise self._error("; ".join(lines))


def _some(entry: Expression) -> bool:
    """Whether it is a number that is not zero; a symbol is a placeholder."""
    return not entry.symbols and entry.value({})[0] != 0.0


def _body(given: Mapping[str, float]) -> Link:
    xx, xy, xz, yy, yz, zz, mx, my, mz, m = (given[name] for name in _BODY)
    return Link("", m, (mx, my, mz), (xx, yy, zz, xy, xz, yz))

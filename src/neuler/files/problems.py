"""Problem files: TOML that says what is to be done with which robot. One reader for all commands.

A :class:`Problem` is a file's tables; a :class:`Section` is one of them, asked for its keys one by one. What is asked
for is checked, and messages name file, line, section and key. :meth:`Section.done` refuses what nobody asked for.

>>> problem = Problem.of_text("[simulate]\\nduration = 2.0\\nstep = 1e-3\\n")
>>> section = problem.root.section("simulate")
>>> section.number("duration", above=0.0), section.number("step"), section.number("every", 1.0)
(2.0, 0.001, 1.0)
>>> problem.done()
"""

from __future__ import annotations

import math
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.formats.source import clip, file_chunks, label_of
from neuler.naming import hint, listed
from neuler.robot.value import kept

Array = NDArray[np.float64]
Default = TypeVar("Default")
Spot = tuple[str | int, ...]
"""Keys that lead to a value; of an array of tables the number of one."""

LARGEST = 4 * 2**20
"""Bytes of a problem file; data belong in files of their own."""
DEEPEST = 100
"""Parts of a dotted key: TOML's reader needs time and memory with the square of their number."""
MISSING: Any = object()
"""Default of what must be there."""


@dataclass
class Problem:
    """A problem file that was read: its tables, where it stands, and what is worth knowing of it."""

    label: str
    folder: Path
    table: dict[str, Any]
    lines: dict[Spot, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What is worth saying, without being wrong."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Problem:
        """From a file: UTF-8, of bounded size."""
        where = os.fspath(path)
        data = b"".join(file_chunks(where, "problem", LARGEST))
        return cls._parsed(data, label_of(where), Path(where).resolve().parent)

    @classmethod
    def of_text(cls, text: str, folder: str | os.PathLike[str] = ".") -> Problem:
        """From text; files that it names are sought in ``folder``."""
        return cls._parsed(text.encode("utf-8", "surrogatepass"), "problem", Path(folder).resolve())

    @classmethod
    def _parsed(cls, data: bytes, label: str, folder: Path) -> Problem:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise FormatError(f"{label}: line {line}: is not UTF-8 text: {error.reason}") from None
        if _longest_key(text) > DEEPEST:
            raise FormatError(f"{label}: has a key of more than {DEEPEST} parts; its tables are nested too deep")
        try:
            table = tomllib.loads(text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            raise FormatError(f"{label}: is not TOML: {error}") from None
        except RecursionError:
            raise FormatError(f"{label}: its tables are nested too deep") from None
        except ValueError as error:  # a date that does not exist, a number of too many digits
            raise FormatError(f"{label}: is not TOML: {error}") from None
        return cls(label, folder, table, _lines(text))

    @property
    @kept
    def root(self) -> Section:
        """The table that holds all others; always the same, so that it knows what was asked."""
        return Section(self, (), self.table)

    def done(self) -> None:
        """Refuse what nobody asked for."""
        self.root.done()

    def set(self, keys: Sequence[str], value: Any, what: str = "set") -> None:
        """Change or add a value, by the keys that lead to it; of an array of tables by a number, else of the first.

        >>> problem = Problem.of_text("[[load]]\\nframe = 'a'\\n[[load]]\\nframe = 'b'")
        >>> problem.set(["load", "1", "frame"], "c")
        >>> problem.set(["load", "frame"], "d")
        >>> problem.table
        {'load': [{'frame': 'd'}, {'frame': 'c'}]}
        """
        table: Any = self.table
        for place, key in enumerate(keys[:-1]):
            if isinstance(table, list):
                if key.isdecimal():
                    if int(key) >= len(table):
                        raise InputError(f"{what} {'.'.join(keys)}: there are {len(table)} tables {keys[place - 1]!r}")
                    table = table[int(key)]
                    continue
                table = table[0] if table else {}
            if not isinstance(table, dict):
                break
            table = table.setdefault(key, {})
        if isinstance(table, list) and table:
            table = table[0]
        if not isinstance(table, dict):
            raise InputError(f"{what} {'.'.join(keys)}: {keys[-2]!r} is no table")
        table[keys[-1]] = value

    def error(self, spot: Spot, told: str) -> FormatError:
        """About a value, by its place."""
        line = next((self.lines[spot[:k]] for k in range(len(spot), 0, -1) if spot[:k] in self.lines), None)
        where = f"{self.label}: " + (f"line {line}: " if line else "")
        return FormatError(f"{where}{_named(spot)}{told}")

    def path(self, spot: Spot, name: str) -> Path:
        """A file that the problem names, from the problem's folder; one that lies elsewhere is noted."""
        if "\0" in name:
            raise self.error(spot, f"expected the name of a file, got {clip(name)}")
        found = (self.folder / name).resolve()
        if not found.is_relative_to(self.folder):
            self.notes.append(f"{_named(spot)}{clip(name)} lies outside the folder of {self.label}: {found}")
        return found


class Section:
    """A table of a problem file. Whatever is asked for is checked, and remembered as known."""

    def __init__(self, problem: Problem, spot: Spot, table: dict[str, Any]) -> None:
        self.problem, self.spot, self.table = problem, spot, table
        self.known: list[str] = []
        self.parts: list[Section] = []

    def __contains__(self, key: str) -> bool:
        self.known.append(key)
        return key in self.table

    def error(self, key: str, told: str) -> FormatError:
        """About one of its values."""
        return self.problem.error((*self.spot, key), told)

    def refusal(self, told: str) -> FormatError:
        """About the table as a whole."""
        return self.problem.error((*self.spot, ""), told)

    def done(self) -> None:
        """Refuse keys that nobody asked for, here and in all tables below."""
        for key in self.table:
            if key not in self.known:
                known = dict.fromkeys(self.known)  # some are asked for twice
                told = f"unknown key; {hint(key, known)}" if known else "unknown key; the table takes none"
                raise self.problem.error((*self.spot, key), told)
        for part in self.parts:
            part.done()

    def raw(self, key: str, default: Default = MISSING) -> Any | Default:
        """The value as it stands there; what must be there and is not is an error."""
        self.known.append(key)
        if key in self.table:
            return self.table[key]
        if default is MISSING:
            other = next((name for name in self.table if hint(name, [key]).startswith("did")), None)
            meant = f"; is that what {other!r} stands for?" if other else ""
            raise self.refusal(f"expected a key {key!r}{meant}")
        return default

    # ---- values of a kind ----------------------------------------------------------------------

    @overload
    def number(self, key: str, *, above: float = ..., least: float = ..., most: float = ...) -> float: ...

    @overload
    def number(
        self, key: str, default: Default, *, above: float = ..., least: float = ..., most: float = ...
    ) -> float | Default: ...

    def number(
        self, key: str, default: Any = MISSING, *, above: float = -math.inf, least: float = -math.inf,
        most: float = math.inf,
    ) -> Any:  # fmt: skip
        """A finite number, ``above`` one and within ``least`` and ``most``."""
        value = self.raw(key, default)
        if key not in self.table:
            return value
        found = _number(value)
        if found is None or not (found > above and least <= found <= most):
            raise self.error(key, f"expected {_wanted('a number', above, least, most)}, got {_got(value)}")
        return found

    def whole(self, key: str, default: Default = MISSING, *, least: int = 0, most: int | None = None) -> int | Default:
        """A whole number, from ``least`` to ``most``."""
        value = self.raw(key, default)
        if key not in self.table:
            return value
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and least <= value
            and (most is None or value <= most)
        ):
            return value
        span = f"{least} or more" if most is None else f"from {least} to {most}"
        raise self.error(key, f"expected a whole number, {span}, got {_got(value)}")

    def text(self, key: str, default: Default = MISSING, *, among: Sequence[str] = ()) -> str | Default:
        """A text that is not empty, one of those given where there are some."""
        value = self.raw(key, default)
        if key not in self.table:
            return value
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f"expected a text, got {_got(value)}")
        if among and value not in among:
            raise self.error(key, f"there is no {clip(value)}; {hint(value, among)}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """A truth value, true or false; anything else is an error that names the key."""
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"expected true or false, got {_got(value)}")
        return value

    def names(self, key: str, default: Default = MISSING, *, among: Sequence[str] = ()) -> list[str] | Default:
        """A list of texts, or one text alone."""
        value = self.raw(key, default)
        if key not in self.table:
            return value
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self.error(key, f"expected a list of names, got {_got(value)}")
        for name in found:
            if among and name not in among:
                raise self.error(key, f"there is no {clip(name)}; {hint(name, among)}")
        return found

    def vector(self, key: str, length: int, default: Default = MISSING) -> Array | Default:
        """A list of so many finite numbers."""
        value = self.raw(key, default)
        return self._numbers(key, value, length) if key in self.table else value

    def _numbers(self, key: str, value: Any, length: int) -> Array:
        found = [_number(x) for x in value] if isinstance(value, list) else [None]
        if isinstance(value, list) and len(found) == length and None in found:
            at = found.index(None)
            raise self.error(key, f"expected a list of {length} numbers, but number {at + 1} is {_got(value[at])}")
        if None in found or len(found) != length:
            got = f"{len(found)}" if isinstance(value, list) and None not in found else _got(value)
            raise self.error(key, f"expected a list of {length} numbers, got {got}")
        return np.array(found, dtype=float)

    def each(self, key: str, names: Sequence[str], default: float | Array = MISSING, *, alike: bool = True) -> Array:
        """A number for every name: a list in their order, a table of some of them, or (``alike``) one for all.

        Of those that a table leaves out ``default`` holds; where it is missing, the table must have all.

        >>> problem = Problem.of_text("q0 = {elbow = 0.5}\\nkp = 30.0")
        >>> problem.root.each("q0", ["shoulder", "elbow"], 0.0).tolist(), problem.root.each("kp", ["a", "b"]).tolist()
        ([0.0, 0.5], [30.0, 30.0])
        """
        value = self.raw(key, default)
        if key not in self.table:
            return np.array(np.broadcast_to(np.asarray(value, dtype=float), (len(names),)))
        if isinstance(value, dict):
            return self._by_name(key, value, names, default)
        if alike and _number(value) is not None:
            return np.full(len(names), float(value))
        if isinstance(value, list) and len(value) == len(names):
            return self._numbers(key, value, len(names))
        also = "a number, " if alike else ""
        order = ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:8])}, ..."
        raise self.error(
            key, f"expected {also}a list of {len(names)} ({order}), or a table by name, got "
            f"{len(value) if isinstance(value, list) else _got(value)}",
        )  # fmt: skip

    def _by_name(self, key: str, value: dict[str, Any], names: Sequence[str], default: Any) -> Array:
        for name in value:
            if name not in names:
                raise self.problem.error((*self.spot, key, name), f"there is no such name; {hint(name, names)}")
        absent = [name for name in names if name not in value]
        if default is MISSING and absent:
            raise self.error(key, f"expected a number for each name, {listed('', absent)} missing")
        start = np.zeros(len(names)) if default is MISSING else np.asarray(default, dtype=float)
        found = np.array(np.broadcast_to(start, (len(names),)))
        for k, name in enumerate(names):
            if name in value:
                x = _number(value[name])
                if x is None:
                    raise self.problem.error((*self.spot, key, name), f"expected a number, got {_got(value[name])}")
                found[k] = x
        return found

    # ---- tables below --------------------------------------------------------------------------

    def section(self, key: str) -> Section:
        """A table below; an empty one where it is not there."""
        value: Any = self.raw(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"expected a table, [{_joined((*self.spot, key))}], got {_got(value)}")
        return self._part((*self.spot, key), value)

    def sections(self, key: str) -> list[Section]:
        """An array of tables below, or one table alone."""
        value: Any = self.raw(key, [])
        found = [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.error(key, f"expected tables, [[{_joined((*self.spot, key))}]], got {_got(value)}")
        return [self._part((*self.spot, key, k), one) for k, one in enumerate(found)]

    def _part(self, spot: Spot, table: dict[str, Any]) -> Section:
        part = Section(self.problem, spot, table)
        self.parts.append(part)
        return part

    def path(self, key: str) -> Path:
        """A file's name, from the folder of the problem."""
        return self.problem.path((*self.spot, key), self.text(key))


# ---- for messages --------------------------------------------------------------------------------


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def _got(value: object) -> str:
    kinds = {dict: "a table", list: "a list", bool: "true or false"}
    for kind, name in kinds.items():
        if isinstance(value, kind):
            return f"{name} {str(value).lower()}" if kind is bool else f"{name} of {len(value)}"  # type: ignore[arg-type]
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"a whole number of {value.bit_length()} bits"  # Python does not print those of many digits
    return clip(value) if isinstance(value, str) else str(value)[:60]


def _wanted(what: str, above: float, least: float, most: float) -> str:
    if above == 0.0:
        what = what.replace("a number", "a positive number")
    elif above > -math.inf:
        what += f" above {above:g}"
    if least > -math.inf:
        what += f", {least:g} or more"
    return what + (f", {most:g} or less" if most < math.inf else "")


def _joined(spot: Spot) -> str:
    return ".".join(str(part) for part in spot if isinstance(part, str))


def _named(spot: Spot) -> str:
    """A place in words: ``[robot.payload] 2 mass: ``; with an empty key the table itself."""
    *tables, key = spot or ("",)
    if not tables:
        return f"{key}: " if key else ""
    number = f" {tables[-1] + 1}" if isinstance(tables[-1], int) else ""
    return f"[{_joined(tuple(tables))}]{number}{f' {key}' if key else ''}: "


def _lines(text: str) -> dict[Spot, int]:
    """On which line each key stands, as far as one sees without parsing: for messages."""
    found: dict[Spot, int] = {}
    here: Spot = ()
    counts: dict[Spot, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.strip()
        if bare.startswith("["):
            path = tuple(_keys(bare.partition("]")[0].lstrip("[") or "?"))
            here = _numbered(path[:-1], counts) + path[-1:]
            if bare.startswith("[["):
                counts[here] = counts.get(here, -1) + 1
                here = (*here, counts[here])
            found.setdefault(here, number)
        elif "=" in bare and not bare.startswith("#"):
            keys = _keys(bare.partition("=")[0])
            for k in range(len(keys)):
                found.setdefault((*here, *keys[: k + 1]), number)
    return found


def _longest_key(text: str) -> int:
    """Parts of the longest dotted key, as far as one sees without parsing.

    >>> _longest_key("robot.payload.mass = 1.5")
    3
    """
    longest = run = 0
    for piece in text.split("."):
        whole = _PIECE.fullmatch(piece) is not None  # else a key ends in it, and another one may begin
        longest, run = max(longest, run + 1), run + 1 if whole else 1
    return longest


_PIECE = re.compile(r"[ \t]*[^\s=,\[\]{}]+[ \t]*")
"""What may stand between two dots of a key."""


def _keys(text: str) -> list[str]:
    return [part.strip().strip("\"'") for part in text.split(".")]


def _numbered(path: Sequence[str], counts: dict[Spot, int]) -> Spot:
    """With the numbers of the arrays of tables that a path leads through."""
    found: Spot = ()
    for key in path:
        found = (*found, key)
        found = (*found, counts[found]) if found in counts else found
    return found

"""OpenSim's storage files, .mot and .sto: a header that ends with ``endheader``, names of columns, rows of numbers.

The header may have ``version``, ``nRows``, ``nColumns`` and ``inDegrees``; SIMM's older ``datarows`` and
``datacolumns`` are read, too. Files of version 3 need neither rows nor columns there. What the header says is compared
with the rows below.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.ends import written
from neuler.inputs import choice, real

Array = NDArray[np.float64]

SUFFIXES = (".mot", ".sto")
"""Of the files: motions and storage, which have one format."""
_END = "endheader"
_ROWS, _COLUMNS = ("nrows", "datarows"), ("ncolumns", "datacolumns")
_LONGEST_HEADER = 1000
"""Lines; a longer one is none of OpenSim's."""


@dataclass(frozen=True, eq=False)
class Storage:
    """A storage file: columns by name, (rows,) each, ``time`` (s) first."""

    columns: dict[str, Array]
    in_degrees: bool | None = None
    """Whether angles are in degrees; None where the header does not say."""
    name: str = ""
    """Its first line."""
    header: dict[str, str] = field(default_factory=dict)
    """What the header says, by names in small letters."""

    @property
    def time(self) -> Array:
        """Times (s), (rows,)."""
        return self.columns["time"]


def read_storage(path: str | os.PathLike[str]) -> Storage:
    """Read a .mot or .sto file.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "walk.mot")
    >>> write_storage(path, {"time": [0.0, 0.1], "knee_angle_r": [5.0, 6.5]}, in_degrees=True)
    >>> found = read_storage(path)
    >>> found.in_degrees, found.columns["knee_angle_r"].tolist()
    (True, [5.0, 6.5])
    """
    shown = repr(os.fspath(path))
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{shown}: cannot be read as text: {error}") from None
    end = next((k for k, line in enumerate(lines[:_LONGEST_HEADER]) if line.strip().lower() == _END), None)
    if end is None:
        raise FormatError(f"{shown}: is no storage file of OpenSim: a line {_END!r} must end its header")
    header = dict(filter(None, map(_entry, lines[:end])))
    kind = header.get("datatype", "double").lower()
    if kind != "double":
        raise FormatError(f"{shown}: DataType={header['datatype']} is not read, only double: one number a column")
    body = [line for line in lines[end + 1 :] if line.strip()]
    if len(body) < 2:
        raise FormatError(f"{shown}: names of columns and rows of numbers must follow {_END!r}")
    names = body[0].split("\t") if "\t" in body[0].strip() else body[0].split()
    names = [name.strip() for name in names if name.strip()]
    _check_names(shown, names)
    rows = _numbers(shown, body[1:], names)
    _check_sizes(shown, header, rows.shape)
    first = lines[0].strip() if end > 0 and _entry(lines[0]) is None else ""
    columns = {name: rows[:, k].copy() for k, name in enumerate(names)}
    return Storage(columns, _degrees(shown, header), first, header)


def write_storage(
    path: str | os.PathLike[str], columns: Mapping[str, Any], *, in_degrees: bool, name: str = ""
) -> None:
    """Write columns (rows,) by name, ``time`` (s) first, as a .mot or .sto file; numbers come back to the last bit."""
    shown = repr(os.fspath(path))
    if Path(path).suffix.lower() not in SUFFIXES:
        raise FormatError(f"{shown}: expected a file that ends in {' or '.join(SUFFIXES)}")
    names = list(columns)
    _check_names(shown, names)
    arrays = [real(columns[each]) for each in names]
    first = arrays[0]
    for each, values in zip(names, arrays, strict=True):
        if values is None or values.ndim != 1 or first is None or len(values) != len(first):
            raise FormatError(f"{shown}: column {each!r} must have one number for each row of 'time'")
    title = " ".join(name.split()) or Path(path).stem
    if "=" in title or title.lower() == _END:
        raise FormatError(f"{shown}: the name {title!r} would be read as a part of the header; choose another")
    rows = np.stack([np.asarray(values) for values in arrays], axis=-1)
    head = [
        title, "version=1", f"nRows={len(rows)}", f"nColumns={len(names)}",
        f"inDegrees={'yes' if in_degrees else 'no'}", _END, "\t".join(names),
    ]  # fmt: skip
    with written(path) as file:
        file.write(("\n".join(head) + "\n").encode())
        for row in rows.tolist():
            file.write(("\t".join(map(repr, row)) + "\n").encode())


def _entry(line: str) -> tuple[str, str] | None:
    """A line of the header: a name and what it is, ``nRows=101``, or of SIMM ``datarows 101``."""
    key, sign, value = line.partition("=")
    if sign:
        return key.strip().lower(), value.strip()
    words = line.split()
    if len(words) == 2 and words[0].lower() in (*_ROWS, *_COLUMNS, "range"):
        return words[0].lower(), words[1]
    return None


def _check_names(shown: str, names: list[str]) -> None:
    if not names or names[0].lower() != "time":
        raise FormatError(f"{shown}: the first column must be 'time', got {names[0] if names else 'none'!r}")
    names[0] = "time"
    for k, name in enumerate(names):
        if name in names[:k]:
            raise FormatError(f"{shown}: two columns are called {name!r}")
        if not name or any(sign in name for sign in "\t\n\r"):
            raise FormatError(f"{shown}: {name!r} cannot be the name of a column")


def _numbers(shown: str, body: list[str], names: list[str]) -> Array:
    rows = []
    for k, line in enumerate(body):
        cells = line.split()
        if len(cells) != len(names):
            raise FormatError(f"{shown}: row {k + 1} has {len(cells)} numbers under {len(names)} names of columns")
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError as error:
            raise FormatError(f"{shown}: row {k + 1}: {error}") from None
    return np.array(rows)


def _check_sizes(shown: str, header: Mapping[str, str], shape: tuple[int, ...]) -> None:
    for keys, size, what in ((_ROWS, shape[0], "rows"), (_COLUMNS, shape[1], "columns")):
        for key in keys:
            if key in header and header[key] != str(size):
                raise FormatError(f"{shown}: the header says {header[key]} {what}, and {size} follow; the file is cut?")


def _degrees(shown: str, header: Mapping[str, str]) -> bool | None:
    if "indegrees" not in header:
        return None
    return choice(f"{shown}: inDegrees", header["indegrees"].lower(), ("yes", "no"), error=FormatError) == "yes"

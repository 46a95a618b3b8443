"""Settings from CSV: each column becomes whole numbers, numbers or texts, whichever all of its cells are."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.cells import bare
from neuler.files.ends import as_text
from neuler.inputs import told
from neuler.studies.values import MOST_TEXT, Column, checked_names, texts

_LINE = 2**24
"""Characters of a line."""
_CELLS = 2**19
"""Cells that are held as texts at once."""
_MAGIC = {b"PAR1": "a Parquet file; let its name end in .parquet", b"PK\x03\x04": "a ZIP archive (.npz or .xlsx?)"}

_WHOLE, _NUMBER, _TEXT = range(3)


@dataclass
class _Kind:
    """What the cells of a column are, as far as they have been read."""

    kind: int = _WHOLE
    empty: int = 0
    """The line of the first empty cell."""
    filled: bool = False
    text: bool = False
    """Whether a cell was neither empty nor a number."""
    pieces: list[Column] = field(default_factory=list)
    again: bool = False
    """Whether pieces were read as numbers before a text was found."""


def csv_columns(path: str, label: str) -> dict[str, Column]:
    """The columns of a CSV file with a header, by name; ``label`` is the file as messages call it.

    The file is read once, and once more where a text comes after many numbers.
    """
    names, kinds = _read(path, label, {})
    if any(kind.again for kind in kinds):
        found = {name: kind.kind for name, kind in zip(names, kinds, strict=True)}
        names, kinds = _read(path, label, found)
    columns = {}
    for name, kind in zip(names, kinds, strict=True):
        if kind.kind == _TEXT and kind.filled and kind.empty and not kind.text:
            raise FormatError(
                f"{label}: line {kind.empty}, column {name!r}: is empty among numbers; write nan where there is none"
            )
        widest = max((piece.dtype.itemsize for piece in kind.pieces), default=0)
        if kind.kind == _TEXT and widest * sum(map(len, kind.pieces)) > MOST_TEXT:
            raise FormatError(
                f"{label}: column {name!r} has a text of {widest // 4} characters, and all rows take as much room as "
                "the longest; give names of files instead of long texts"
            )
        columns[name] = np.concatenate(kind.pieces)
    return columns


def _read(path: str, label: str, known: dict[str, int]) -> tuple[tuple[str, ...], list[_Kind]]:
    with open(path, "rb") as raw:
        start = raw.peek(4)[:4]
        if start in _MAGIC:
            raise FormatError(f"{label}: is no CSV but {_MAGIC[start]}")
        with as_text(raw) as file:
            rows = csv.reader(_lines(file, label), strict=True)
            try:
                names = _header(next(rows, []), label)
                kinds = [_Kind(known.get(name, _WHOLE)) for name in names]
                for lines, block in _blocks(rows, label, len(names)):
                    for name, kind, cells in zip(names, kinds, zip(*block, strict=True), strict=True):
                        _add(kind, cells, lines, f"{label}: column {name!r}")
            except csv.Error as error:
                raise FormatError(f"{label}: line {rows.line_num}: is not CSV, or is cut: {error}") from None
            except UnicodeDecodeError as error:
                raise FormatError(f"{label}: line {rows.line_num + 1}: is not UTF-8 text: {error.reason}") from None
    if not any(kind.pieces for kind in kinds):
        raise FormatError(f"{label}: there are no rows; expected a header that names the columns, then one row a line")
    return names, kinds


def _lines(file: IO[str], label: str) -> Iterator[str]:
    number = 0
    while line := file.readline(_LINE):
        number += 1
        if len(line) == _LINE:
            raise FormatError(f"{label}: line {number} has {_LINE:,} characters or more; is it CSV?")
        if "\0" in line:
            raise FormatError(f"{label}: line {number} has a NUL byte; is it UTF-8 text?")
        yield line


def _header(cells: list[str], label: str) -> tuple[str, ...]:
    header = bare(cells, ())
    if not header:
        raise FormatError(f"{label}: is empty; expected a header that names the columns, then one row a line")
    other = next((sign for sign in ";\t|" if len(header) == 1 and sign in header[0]), None)
    if other is not None:
        raise FormatError(f"{label}: the columns are separated by {other!r}; separate them by commas")
    return checked_names(label, header, FormatError)


def _blocks(rows: Any, label: str, width: int) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Rows with the numbers of their lines; empty lines only at the end."""
    lines: list[int] = []
    block: list[list[str]] = []
    blank = 0
    for row in rows:
        if not row:
            blank = blank or rows.line_num
            continue
        if blank:
            raise FormatError(f"{label}: line {blank} is empty, with rows after it; remove it or fill it in")
        if len(row) != width:
            raise FormatError(f"{label}: line {rows.line_num} has {len(row)} cells, the header has {width}")
        lines.append(rows.line_num)
        block.append(row)
        if len(block) * width >= _CELLS:
            yield lines, block
            lines, block = [], []
    if block:
        yield lines, block


def _add(kind: _Kind, cells: tuple[str, ...], lines: list[int], what: str) -> None:
    """Take some cells of a column, and widen its kind where they are not of it."""
    before = kind.kind
    if kind.kind == _WHOLE:
        whole = _whole_numbers(cells, lines, what)
        if whole is not None:
            kind.pieces.append(whole)
            kind.filled = True
            return
        kind.kind = _NUMBER
    if kind.kind == _NUMBER:
        found = _numbers(cells, lines, what)
        if found is not None:
            kind.pieces = [piece.astype(np.float64, copy=False) for piece in kind.pieces] + [found]
            kind.filled = True
            return
        kind.kind = _TEXT
    kind.again |= before != _TEXT and bool(kind.pieces)
    if not (kind.text and kind.filled):
        kind.filled |= any(cell.strip() for cell in cells)
        kind.text |= any(cell.strip() and not _is_number(cell) for cell in cells)
    if not kind.empty:
        kind.empty = next((line for line, cell in zip(lines, cells, strict=True) if not cell.strip()), 0)
    kind.pieces.append(texts(what, cells, FormatError))


def _whole_numbers(cells: tuple[str, ...], lines: list[int], what: str) -> NDArray[np.int64] | None:
    """None where a cell is no whole number; Python reads 1_000 as one, tables do not."""
    try:
        found = list(map(int, cells))
    except ValueError:
        return None
    if "_" in "".join(cells):
        return None
    try:
        return np.array(found, dtype=np.int64)
    except OverflowError:
        place = next(place for place, value in enumerate(found) if not -(2**63) <= value < 2**63)
        raise FormatError(
            f"{what}: line {lines[place]}: {told(cells[place])} is beyond 64-bit whole numbers; write it with a "
            "decimal point, or as a text"
        ) from None


def _numbers(cells: tuple[str, ...], lines: list[int], what: str) -> NDArray[np.float64] | None:
    """None where a cell is no number."""
    try:
        found = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    if "_" in "".join(cells):
        return None
    for place in np.flatnonzero(np.isinf(found)).tolist():
        if "inf" not in cells[place].lower():
            raise FormatError(f"{what}: line {lines[place]}: {told(cells[place])} is beyond 64-bit numbers")
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell

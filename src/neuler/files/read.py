"""States from CSV, in chunks of bounded memory, or from NPZ; and what these files hold beside them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.archives import Archive
from neuler.files.cells import bare
from neuler.files.ends import STANDARD, as_text, name_of, source
from neuler.files.match import Chosen, first, match, signature
from neuler.files.states import Closing, Where, ready
from neuler.kernels import Kernel
from neuler.robot.columns import spellings

Array = NDArray[np.float64]
Report = Callable[[int], Any]
"""Told how many bytes were read."""

CHUNK = 65_536


@dataclass(frozen=True)
class Part:
    """Some states: a kernel's inputs, and by name what is kept; of CSV these are cells (an array of objects)."""

    inputs: list[Array]
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)


def read_csv(
    path: str,
    kernel: Kernel,
    chosen: Chosen,
    report: Report | None = None,
    chunk: int = CHUNK,
    ways: Sequence[Closing] = (),
) -> Iterator[Part]:
    """The kernel's inputs, ``chunk`` states at a time; loops are closed in one of the ``ways`` where there are any."""
    told = name_of(path)
    with source(path) as raw:
        if raw.peek(4)[:4] == b"PK\x03\x04":
            other = "give --in-format npz" if path == STANDARD else "is it .npz or .xlsx?"
            raise FormatError(f"{told}: is a ZIP archive, not CSV; {other}")
        with as_text(raw) as text:
            rows = csv.reader(text, strict=True)
            try:
                read = 0
                for part in _parts(told, rows, kernel, chosen, chunk, ways):
                    yield part
                    if report is not None and path != STANDARD:
                        report(raw.tell() - read)
                        read = raw.tell()
            except csv.Error as error:
                raise FormatError(f"{told}: line {rows.line_num}: is not CSV: {error}") from None
            except UnicodeDecodeError as error:
                raise FormatError(f"{told}: line {rows.line_num + 1}: is not UTF-8 text: {error.reason}") from None


def _parts(path: str, rows: Any, kernel: Kernel, chosen: Chosen, chunk: int, ways: Sequence[Closing]) -> Iterator[Part]:
    header = bare(next(rows, []), spellings(kernel.robot, kernel.inputs, kernel.options))
    if not header:
        raise FormatError(f"{path}: is empty; expected a header that names the columns, then one state a row")
    columns = match(path, header, kernel, chosen, ways)
    edges = np.cumsum([operand.size for operand in kernel.inputs])
    empty = np.zeros(edges[-1])
    if columns.closing is not None:
        empty[first(kernel) : first(kernel) + len(columns.closing.guess)] = columns.closing.guess
    states = 0
    for lines, block in _blocks(path, rows, chunk):
        given = _numbers(path, header, list(columns.order.values()), lines, block)
        values = np.tile(empty, (len(given), 1))
        values[:, list(columns.order)] = given
        states += len(values)
        parts = np.split(values, edges[:-1], axis=1)
        arrays = [x.reshape(-1, *o.shape) for x, o in zip(parts, kernel.inputs, strict=True)]
        kept = {name: np.array([row[k] for row in block], dtype=object) for name, k in columns.kept.items()}
        yield Part(ready(kernel, arrays, _by_line(path, lines), columns.closing), kept)
    if not states:
        raise FormatError(f"{path}: has a header but no states; expected one state a row")


def _by_line(path: str, lines: list[int]) -> Where:
    return lambda spot: f"{path}: line {lines[spot[0]]}"


def _blocks(path: str, rows: Any, chunk: int) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Rows with their line numbers; empty lines only at the end."""
    lines: list[int] = []
    block: list[list[str]] = []
    blank = 0
    for row in rows:
        if not row:
            blank = blank or rows.line_num
            continue
        if blank:
            raise FormatError(f"{path}: line {blank} is empty, with states after it; remove it or fill it in")
        lines.append(rows.line_num)
        block.append(row)
        if len(block) == chunk:
            yield lines, block
            lines, block = [], []
    if block:
        yield lines, block


def _numbers(path: str, header: list[str], order: list[int], lines: list[int], block: list[list[str]]) -> Array:
    width = len(header)
    for line, row in zip(lines, block, strict=True):
        if len(row) != width:
            raise FormatError(f"{path}: line {line} has {len(row)} cells, the header has {width}")
    try:
        values = np.array([[float(row[k]) for k in order] for row in block])
    except ValueError:
        values = np.array([[_float(row[k]) for k in order] for row in block])
    if not np.isfinite(values).all():
        spot, place = (int(x[0]) for x in np.nonzero(~np.isfinite(values)))
        cell = block[spot][order[place]]
        raise FormatError(
            f"{path}: line {lines[spot]}, column {header[order[place]]!r}: expected a finite number, got {cell[:40]!r}"
        )
    return values


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


def read_npz(path: str, kernel: Kernel, chosen: Chosen, ways: Sequence[Closing] = ()) -> Part:
    """The kernel's inputs, by name; every number finite. Loops are closed in the way that the size of q says."""
    told = name_of(path)
    known = [operand.name for operand in kernel.inputs]
    arrays = _arrays(path, told, known, chosen)
    others = {name: value for name, value in arrays.items() if name not in known}
    for operand in kernel.inputs:
        if operand.name not in arrays:
            beside = f"; it has {', '.join(map(repr, others))}" if others else ""
            raise FormatError(f"{told}: has no array {operand.name!r} of {signature(kernel)}{beside}")
        value = arrays[operand.name]
        if value.dtype.kind in "fiu" and not np.isfinite(value).all():
            spot = tuple(int(x[0]) for x in np.nonzero(~np.isfinite(value)))
            raise FormatError(f"{told}: array {operand.name!r} is not finite at {list(spot)}: {value[spot]}")
        if value.size == 0:
            raise FormatError(f"{told}: array {operand.name!r} has no states, its shape is {value.shape}")
    closing = next((way for way in ways if arrays["q"].shape[-1:] == (len(way.places),)), ways[0] if ways else None)
    inputs = ready(kernel, [arrays[name] for name in known], lambda spot: f"{told}: state {list(spot)}", closing)
    return Part(inputs, others)


def _arrays(path: str, told: str, known: Sequence[str], chosen: Chosen) -> dict[str, NDArray[Any]]:
    """All that are wanted, by name."""
    with source(path) as raw:
        archive = Archive(io.BytesIO(raw.read()) if path == STANDARD else raw, told)
        chosen.check(told, archive.names)
        return {
            name: archive.read(name, "" if name in known else f"; --ignore {name!r} leaves it out")
            for name in archive.names
            if not chosen.ignores(name) and (name in known or not chosen.drop)
        }

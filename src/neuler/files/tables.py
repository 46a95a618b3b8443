"""States in, results out, as files: CSV in chunks of bounded memory, or NPZ. Never a half-written file.

A CSV file has one state a row under a header that names the columns. The vector ``q`` of a robot
with the joints ``shoulder`` and ``elbow`` is spelled ``q_shoulder, q_elbow`` or ``q1, q2`` or
``q[0], q[1]``; the same goes for ``qd``, ``qdd``, ``tau``. Results are named likewise:
``tau_shoulder``; a matrix is flattened to ``mass_matrix[0,0], mass_matrix[0,1]``. An NPZ file holds
one array for each input under the input's name, batch axes first. :mod:`neuler.files.columns` has all names,
:mod:`neuler.files.states` what is asked of states of machines with loops.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.columns import column_names, mechanism_of, spellings
from neuler.files.states import Closing, Where, closings, ready
from neuler.kernels import Kernel
from neuler.naming import closest

Array = NDArray[np.float64]
Report = Callable[[int], Any]
"""Told how many bytes were read."""
Note = Callable[[str], Any]
"""Told what is worth knowing about the results."""

CHUNK = 65_536
SUFFIXES = (".csv", ".npz")


def evaluate(
    kernel: Kernel,
    source: str,
    target: str,
    *,
    ignore: Sequence[str] = (),
    report: Report | None = None,
    assemble: bool = False,
    note: Note | None = None,
) -> int:
    """Compute ``kernel`` for all states of ``source`` into ``target`` (.csv or .npz); gives their number.

    ``assemble``: loops are closed, with the platform's pose or the independent joints as given in the file.
    """
    for path in (source, target):
        if Path(path).suffix.lower() not in SUFFIXES:
            raise FormatError(f"{path!r}: expected a file that ends in {' or '.join(SUFFIXES)}")
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise FormatError(f"{target!r}: is the file that the states come from; write the results to another one")
    ways = closings(kernel) if assemble else []
    if Path(source).suffix.lower() == ".npz":
        parts: Iterable[list[Array]] = [read_npz(source, kernel, ignore, ways)]
    else:
        parts = read_csv(source, kernel, ignore, report, ways=ways)
    chunks = (_outputs(kernel, arrays) for arrays in parts)
    write = _write_npz if Path(target).suffix.lower() == ".npz" else _write_csv
    with written(target) as file:
        return write(file, target, kernel, _counted(kernel, chunks, note))


def _outputs(kernel: Kernel, arrays: Sequence[Array]) -> tuple[Array, ...]:
    ignore: Any = "ignore" if mechanism_of(kernel.robot) is not None else None  # of a machine they are counted
    with np.errstate(invalid=ignore, divide=ignore):
        found = kernel(*arrays)
    return found if isinstance(found, tuple) else (found,)


def _counted(kernel: Kernel, chunks: Iterable[tuple[Array, ...]], note: Note | None) -> Iterator[tuple[Array, ...]]:
    """The same; of a machine, states without a result are counted and told."""
    lost = states = 0
    for outputs in chunks:
        core = len(kernel.outputs[0].shape)
        nan = np.isnan(outputs[0]).any(axis=tuple(range(-core, 0)))
        lost, states = lost + int(nan.sum()), states + nan.size
        yield outputs
    if lost and note is not None and mechanism_of(kernel.robot) is not None:
        note(
            f"{lost} of {states} states have no result (nan): there the machine is singular, or asked to move as its "
            "loops do not allow"
        )


# ---- columns -------------------------------------------------------------------------------------


def _match(
    path: str, header: Sequence[str], kernel: Kernel, ignore: Sequence[str], ways: Sequence[Closing] = ()
) -> tuple[dict[int, int], Closing | None]:
    """For every number of the inputs the column that holds it; and how the positions that are left out are found."""
    known = spellings(kernel.robot, kernel.inputs, kernel.options)
    wanted = [name for operand in kernel.inputs for name in column_names(kernel.robot, operand, kernel.options)]
    found: dict[int, int] = {}
    for column, name in enumerate(header):
        if name in ignore:
            continue
        if name not in known:
            if len(header) == 1 and set(name) & set(";\t "):
                raise FormatError(f"{path}: the header is one column, {name!r}; columns must be separated by commas")
            raise FormatError(
                f"{path}: column {column + 1}, {name!r}, is no input of {_signature(kernel)}{_near(name, known)}"
            )
        place = known[name]
        if place in found:
            raise FormatError(f"{path}: columns {header[found[place]]!r} and {name!r} are the same input; keep one")
        found[place] = column
    closing = next((way for way in ways if all(_start(kernel) + k in found for k in way.places)), None)
    closing = closing or (ways[-1] if ways else None)
    spared = _spared(kernel, closing)
    missing = [name for place, name in enumerate(wanted) if place not in found and place not in spared]
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        listed = ", ".join(map(repr, missing[:4])) + more
        raise FormatError(f"{path}: has no column for {listed} of {_signature(kernel)}")
    return found, closing


def _start(kernel: Kernel) -> int:
    """The place of q among all numbers of the inputs."""
    names = [operand.name for operand in kernel.inputs]
    return sum(operand.size for operand in kernel.inputs[: names.index("q")])


def _spared(kernel: Kernel, closing: Closing | None) -> set[int]:
    """Places that a file may leave out because closing the loops finds them."""
    if closing is None:
        return set()
    return {_start(kernel) + k for k in range(len(closing.guess)) if k not in closing.places}


def _signature(kernel: Kernel) -> str:
    return f"{kernel.quantity}({', '.join(operand.name for operand in kernel.inputs)})"


def _near(name: str, known: Iterable[str]) -> str:
    likely = closest(name, known)
    hint = f"did you mean {likely!r}?" if likely else "its columns are named like q_<joint>, q1 or q[0]"
    return f"; {hint} --ignore {name!r} leaves the column out"


# ---- reading -------------------------------------------------------------------------------------


def read_csv(
    path: str,
    kernel: Kernel,
    ignore: Sequence[str] = (),
    report: Report | None = None,
    chunk: int = CHUNK,
    ways: Sequence[Closing] = (),
) -> Iterator[list[Array]]:
    """The kernel's inputs, ``chunk`` states at a time; loops are closed in one of the ``ways`` where there are any."""
    with open(path, "rb") as raw:
        text = _decoded(path, raw)
        rows = csv.reader(text, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
            if not header:
                raise FormatError(f"{path}: is empty; expected a header that names the columns, then one state a row")
            order, closing = _match(path, header, kernel, ignore, ways)
            edges = np.cumsum([operand.size for operand in kernel.inputs])
            empty = np.zeros(edges[-1])
            if closing is not None:
                empty[_start(kernel) : _start(kernel) + len(closing.guess)] = closing.guess
            read = states = 0
            for lines, block in _blocks(path, rows, chunk):
                given = _numbers(path, header, list(order.values()), lines, block)
                values = np.tile(empty, (len(given), 1))
                values[:, list(order)] = given
                states += len(values)
                parts = np.split(values, edges[:-1], axis=1)
                arrays = [x.reshape(-1, *o.shape) for x, o in zip(parts, kernel.inputs, strict=True)]
                yield ready(kernel, arrays, _by_line(path, lines), closing)
                if report is not None:
                    report(raw.tell() - read)
                    read = raw.tell()
            if not states:
                raise FormatError(f"{path}: has a header but no states; expected one state a row")
        except csv.Error as error:
            raise FormatError(f"{path}: line {rows.line_num}: is not CSV: {error}") from None
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: line {rows.line_num + 1}: is not UTF-8 text: {error.reason}") from None


def _by_line(path: str, lines: list[int]) -> Where:
    return lambda spot: f"{path}: line {lines[spot[0]]}"


def _decoded(path: str, raw: io.BufferedReader) -> IO[str]:
    if raw.peek(4)[:4] == b"PK\x03\x04":
        raise FormatError(f"{path}: is a ZIP archive, not CSV; is it .npz or .xlsx?")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


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


def read_npz(path: str, kernel: Kernel, ignore: Sequence[str] = (), ways: Sequence[Closing] = ()) -> list[Array]:
    """The kernel's inputs, by name; every number finite. Loops are closed in the way that the size of q says."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise FormatError(f"{path}: is a single array, not an .npz archive of named arrays")
            names = [name for name in archive.files if name not in ignore]
            arrays = {name: archive[name] for name in names}
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: cannot be read as an .npz archive of numbers: {error}") from None
    known = [operand.name for operand in kernel.inputs]
    for name in names:
        if name not in known:
            raise FormatError(f"{path}: array {name!r} is no input of {_signature(kernel)}; --ignore leaves it out")
    for operand in kernel.inputs:
        if operand.name not in arrays:
            raise FormatError(f"{path}: has no array {operand.name!r} of {_signature(kernel)}")
        value = arrays[operand.name]
        if value.dtype.kind in "fiu" and not np.isfinite(value).all():
            spot = tuple(int(x[0]) for x in np.nonzero(~np.isfinite(value)))
            raise FormatError(f"{path}: array {operand.name!r} is not finite at {list(spot)}: {value[spot]}")
        if value.size == 0:
            raise FormatError(f"{path}: array {operand.name!r} has no states, its shape is {value.shape}")
    closing = next((way for way in ways if arrays["q"].shape[-1:] == (len(way.places),)), ways[0] if ways else None)
    return ready(kernel, [arrays[name] for name in known], lambda spot: f"{path}: state {list(spot)}", closing)


# ---- writing -------------------------------------------------------------------------------------


def _write_csv(file: IO[bytes], path: str, kernel: Kernel, chunks: Iterable[tuple[Array, ...]]) -> int:
    names = [name for operand in kernel.outputs for name in column_names(kernel.robot, operand, kernel.options)]
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(names)
    states = 0
    for outputs in chunks:
        batch = outputs[0].shape[: outputs[0].ndim - len(kernel.outputs[0].shape)]
        if len(batch) > 1:
            raise FormatError(f"{path}: CSV holds one state a row, the input has batch axes {batch}; write .npz")
        flat = [np.reshape(x, (-1, o.size)) for x, o in zip(outputs, kernel.outputs, strict=True)]
        together = np.concatenate(flat, axis=1)
        rows.writerows(together.tolist())
        states += len(together)
    text.flush()
    text.detach()
    return states


def _write_npz(file: IO[bytes], path: str, kernel: Kernel, chunks: Iterable[tuple[Array, ...]]) -> int:
    collected = list(chunks)
    names = [operand.name for operand in kernel.outputs]
    columns = list(zip(*collected, strict=True))
    merged = [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in columns]
    named: dict[str, Any] = dict(zip(names, merged, strict=True))
    np.savez(file, **named)
    return merged[0].size // max(kernel.outputs[0].size, 1)


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write into that appears under its name only when all is written."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no regular file"
        raise FormatError(f"{os.fspath(path)!r} is {what}; give the name of a file to write")
    if not target.parent.is_dir():
        raise FormatError(f"{os.fspath(path)!r}: the folder {str(target.parent)!r} does not exist; make it first")
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".neuler-", suffix=target.suffix)
    except OSError as error:
        raise FormatError(f"{os.fspath(path)!r}: nothing can be written to its folder: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

"""Tables of measurements on disk: the columns of a CSV, Parquet or NPZ file by name, and the units that it states."""

from __future__ import annotations

import csv
import importlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.extras import require
from neuler.files.archives import Archive
from neuler.files.cells import bare

Array = NDArray[np.float64]

SUFFIXES = (".csv", ".npz", ".parquet")


class MeasuredTable(NamedTuple):
    """Columns of numbers (n,), or of texts; ``units`` of those columns for which the file states one."""

    columns: dict[str, NDArray[Any]]
    units: dict[str, str]
    scalars: dict[str, float]
    """Single numbers of an NPZ file."""
    skipped: tuple[str, ...] = ()
    """What is neither a column of numbers nor of texts."""


def csv_columns(path: str | os.PathLike[str], texts: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """Columns of a CSV file by name; empty cells are gaps, NaN. Columns named in ``texts`` are not made numbers.

    Messages count rows below the header from zero, as those on arrays do.
    """
    shown = repr(os.fspath(path))
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
        header, below = bare(rows[0] if rows else [], ()), rows[1:]
        _check_commas(shown, header)
        for k, each in enumerate(below):
            if len(each) != len(header):
                raise FormatError(f"{shown}: row {k} has {len(each)} cells under {len(header)} names of columns")
        plain = [k for k, name in enumerate(header) if name not in texts]
        numbers = _numbers(header, plain, below)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{shown}: cannot be read as a table of numbers: it is no text in UTF-8 ({error.reason}); save it in that "
            "encoding"
        ) from None
    except (OSError, ValueError, csv.Error) as error:
        raise FormatError(f"{shown}: cannot be read as a table of numbers: {error}") from None
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise FormatError(f"{shown}: two columns are called {twice!r}; a header with different names is needed")
    if not below:
        raise FormatError(f"{shown}: a header with different names is needed, then rows of numbers")
    found: dict[str, NDArray[Any]] = dict(zip([header[k] for k in plain], numbers.T, strict=True))
    return {
        name: found[name] if name in found else np.array([each[k].strip() for each in below])
        for k, name in enumerate(header)
    }


def _check_commas(shown: str, header: list[str]) -> None:
    """Refuse a header of one name that has another separator in it."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and mark in header[0]:
            raise FormatError(f"{shown}: its columns are separated by {name}; write commas, and points in decimals")


def _numbers(header: list[str], plain: list[int], below: list[list[str]]) -> Array:
    """Cells as numbers, (rows, columns), NaN where they are empty; the first that is no number is named."""
    try:
        return np.array([[float(each[k]) if each[k].strip() else np.nan for k in plain] for each in below])
    except ValueError:
        for row, each in enumerate(below):
            for k in plain:
                try:
                    float(each[k].strip() or "nan")
                except ValueError:
                    raise ValueError(f"row {row}, column {header[k]!r}: {each[k][:40]!r} is no number") from None
        raise


def read_columns(path: str | os.PathLike[str], texts: Collection[str] = ()) -> MeasuredTable:
    """The columns of a file that ends in .csv, .npz or .parquet; NaN where there is no value.

    An array (n, k) of NPZ, or lists of k numbers in Parquet, are the columns ``name[0]`` to ``name[k-1]``. Nothing is
    unpickled. Parquet needs pyarrow; the metadata ``unit`` of its fields is the unit of their columns.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FormatError(f"{os.fspath(path)!r}: expected a file that ends in {', '.join(SUFFIXES)}")
    if not os.path.isfile(path):
        raise FormatError(f"{os.fspath(path)!r}: there is no such file")
    if suffix == ".csv":
        return MeasuredTable(csv_columns(path, texts), {}, {})
    return _parquet(path) if suffix == ".parquet" else _npz(path)


def _npz(path: str | os.PathLike[str]) -> MeasuredTable:
    columns: dict[str, NDArray[Any]] = {}
    scalars: dict[str, float] = {}
    skipped: list[str] = []
    with open(path, "rb") as file:
        archive = Archive(file, repr(os.fspath(path)))
        for name in archive.names:
            values = archive.read(name)
            if values.ndim == 0 and values.dtype.kind in "fiu":
                scalars[name] = float(values)
            elif values.ndim in (1, 2) and values.dtype.kind in "fiuUb":
                columns |= _spread(name, values)
            else:
                skipped.append(name)
    return MeasuredTable(columns, {}, scalars, tuple(skipped))


def _parquet(path: str | os.PathLike[str]) -> MeasuredTable:
    require("pyarrow", "Parquet files need pyarrow", "scale")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    shown = repr(os.fspath(path))
    try:
        table = parquet.read_table(path)
    except Exception as error:  # of Arrow, of the file system
        raise FormatError(f"{shown}: cannot be read as Parquet: {error}") from None
    columns: dict[str, NDArray[Any]] = {}
    units: dict[str, str] = {}
    skipped: list[str] = []
    for field in table.schema:
        found = _of_arrow(table.column(field.name).combine_chunks())
        if found is None:
            skipped.append(field.name)
            continue
        spread = _spread(field.name, found)
        columns |= spread
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        units |= {name: unit for name in spread if unit}
    return MeasuredTable(columns, units, {}, tuple(skipped))


def _of_arrow(column: Any) -> NDArray[Any] | None:
    """Numbers (n,) or lists of equal length (n, k), NaN where null; texts; None of other types."""
    kind = str(column.type)
    if "list" in kind:
        rows = column.to_pylist()
        if any(row is None or len(row) != len(rows[0]) for row in rows):
            return None
        found = np.array(rows)
        return found if found.ndim == 2 and found.dtype.kind in "fiu" else None
    if kind in ("string", "large_string"):
        return np.array(column.to_pylist(), dtype=str)
    found = column.to_numpy(zero_copy_only=False)
    return found.astype(float) if found.dtype.kind in "fiub" else None


def _spread(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {name: values} if values.ndim == 1 else {f"{name}[{k}]": column for k, column in enumerate(values.T)}

"""Settings from files: CSV is read whole, Parquet part by part; tables of pyarrow as columns of NumPy."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from neuler.errors import FormatError, InputError, NeulerError
from neuler.extras import require
from neuler.studies.csv_files import csv_columns
from neuler.studies.settings import ColumnSettings, Settings
from neuler.studies.values import Column, checked_names, column_of, texts

_PANDAS_INDEX = "__index_level_"
"""How pandas calls an index without a name that it writes beside the columns."""


def settings_of_file(path: str | os.PathLike[str]) -> Settings:
    """The settings in a CSV or Parquet file, by its suffix."""
    name = os.fsdecode(path)
    label = repr(name)
    suffix = Path(name).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise FormatError(
            f"settings {label}: expected the path of a file that ends in .csv or .parquet; samplings are made by "
            "neuler.studies.product, random, sobol and latin_hypercube"
        )
    if not os.path.isfile(name):
        what = "is a folder; give a file" if os.path.isdir(name) else "there is no such file"
        raise FormatError(f"settings {label}: {what}")
    try:
        if not os.path.getsize(name):
            raise FormatError(f"settings {label}: is empty; expected named columns, and one row or more")
        if suffix == ".csv":
            return ColumnSettings(csv_columns(name, f"settings {label}"), f"settings of {label}")
        return ParquetSettings(_Reader(name, f"settings {label}"))
    except OSError as error:
        raise FormatError(f"settings {label}: cannot be read: {error.strerror or error}") from None


# ---- Parquet -------------------------------------------------------------------------------------------------------


class ParquetSettings(Settings):
    """Rows of a Parquet file, read when they are asked for; pickled, they are the rows themselves."""

    def __init__(self, reader: _Reader, first: int = 0, last: int | None = None) -> None:
        self.names = reader.names
        self.kind = f"settings of {reader.path!r}"
        self._reader = reader
        self._first, self._last = first, reader.rows if last is None else last

    def __len__(self) -> int:
        return self._last - self._first

    def columns(self) -> dict[str, Column]:
        """Read from the file."""
        found = self._reader.read(self._first, self._last)
        return {name: column if column.flags.writeable else column.copy() for name, column in found.items()}

    def _cut(self, first: int, last: int) -> ParquetSettings:
        return ParquetSettings(self._reader, self._first + first, self._first + last)

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnSettings, (self.columns(), self.kind)  # another machine does not have the file


class _Reader:
    """A Parquet file by rows: the row groups read last are kept, so that each is read once where parts are in order."""

    def __init__(self, path: str, label: str) -> None:
        require("pyarrow", f"{label}: Parquet needs pyarrow", "scale")
        self.path, self.label = path, label
        self._stamp = self._stamped()
        self._metadata: Any = None
        with self._opened() as file:
            self._metadata = file.metadata
            every = file.schema_arrow.names
        self.names = checked_names(label, [n for n in every if not n.startswith(_PANDAS_INDEX)], FormatError)
        groups = [self._metadata.row_group(group).num_rows for group in range(self._metadata.num_row_groups)]
        self._edges = np.concatenate([[0], np.cumsum(groups, dtype=np.int64)])
        self.rows = int(self._edges[-1])
        if not self.rows:
            raise FormatError(f"{label}: there are no rows; give at least one")
        self._kept: tuple[int, int, Any] = (0, 0, None)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._shapes = {name: column.shape[1:] for name, column in self.read(0, 1).items()}

    def read(self, first: int, last: int) -> dict[str, Column]:
        """Rows first to last - 1."""
        start, end, table = self._kept
        if table is None or not start <= first < last <= end:
            low = int(np.searchsorted(self._edges, first, side="right")) - 1
            high = int(np.searchsorted(self._edges, last, side="left"))
            with self._opened() as file:
                table = self._guarded(file.read_row_groups, list(range(low, high))).select(self.names)
            start, end = int(self._edges[low]), int(self._edges[high])
            self._kept = (start, end, table)
        found = arrow_columns(self.label, table.slice(first - start, last - first), first, FormatError)
        for name, shape in self._shapes.items():
            if found[name].shape[1:] != shape:
                raise FormatError(
                    f"{self.label}: column {name!r}: row {first} has shape {found[name].shape[1:]}, and row 0 has "
                    f"{shape}; give all vectors one length"
                )
        return found

    def _opened(self) -> Any:
        if self._stamped() != self._stamp:
            raise FormatError(f"{self.label}: the file was changed while its rows were in use; start again")
        parquet = importlib.import_module("pyarrow.parquet")
        return self._guarded(parquet.ParquetFile, self.path, metadata=self._metadata)

    def _guarded(self, function: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (importlib.import_module("pyarrow").ArrowException, OSError, ValueError) as error:
            told = " ".join(str(error).split())[:200]
            raise FormatError(f"{self.label}: is not Parquet, or is cut or damaged: {told}") from None

    def _stamped(self) -> tuple[int, int]:
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise FormatError(f"{self.label}: cannot be read any more: {error.strerror}") from None
        return found.st_size, found.st_mtime_ns


# ---- pyarrow's columns ---------------------------------------------------------------------------------------------


def arrow_columns(label: str, table: Any, first: int = 0, error: type[NeulerError] = InputError) -> dict[str, Column]:
    """The columns of a pyarrow Table by name; ``first`` is the number of its first row in messages.

    Nulls among floating-point numbers are NaN, as pandas writes them; elsewhere they are refused.
    """
    return {
        name: _column(f"{label}: column {name!r}", column, first, error)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _column(what: str, column: Any, first: int, error: type[NeulerError]) -> Column:
    arrow = importlib.import_module("pyarrow")
    kind = column.type
    chunks = column.chunks if isinstance(column, arrow.ChunkedArray) else [column]
    if arrow.types.is_dictionary(kind):
        decoded = arrow.chunked_array([chunk.dictionary_decode() for chunk in chunks], type=kind.value_type)
        return _column(what, decoded, first, error)
    if arrow.types.is_floating(kind):
        return column_of(what, np.asarray(column.to_numpy(zero_copy_only=False)), error)
    if column.null_count:
        rows = np.concatenate([chunk.is_null().to_numpy(zero_copy_only=False) for chunk in chunks])
        raise error(f"{what}: row {first + int(np.argmax(rows))} has no value; fill it in")
    if arrow.types.is_integer(kind) or arrow.types.is_boolean(kind):
        return column_of(what, np.asarray(column.to_numpy(zero_copy_only=False)), error)
    if arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind):
        return _vectors(what, kind, chunks, first, error)
    if kind in (arrow.string(), arrow.large_string()) or str(kind) == "string_view":
        return texts(what, column.to_pylist(), error)
    raise error(f"{what} has values of type {kind}; expected numbers, truth values, texts or vectors of numbers")


def _vectors(what: str, kind: Any, chunks: list[Any], first: int, error: type[NeulerError]) -> Column:
    arrow, compute = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    lengths = np.concatenate([compute.list_value_length(chunk).to_numpy(zero_copy_only=False) for chunk in chunks])
    if not lengths[0]:
        raise error(f"{what} has vectors without entries; leave it out")
    other = lengths != lengths[0]
    if other.any():
        row = int(np.argmax(other))
        raise error(
            f"{what}: row {first + row} has {lengths[row]} numbers, and row {first} has {lengths[0]}; give all vectors "
            "one length"
        )
    flat = arrow.chunked_array([chunk.flatten() for chunk in chunks], type=kind.value_type)
    if not (arrow.types.is_primitive(kind.value_type) or arrow.types.is_nested(kind.value_type)):
        raise error(f"{what} has vectors of {kind.value_type}; expected vectors of numbers")
    entries = _column(f"{what}: entries of the vectors", flat, 0, error)
    return column_of(what, entries.reshape(len(lengths), -1, *entries.shape[1:]), error)

"""Series of numbers over time on disk: CSV and Parquet with a column a number, NPZ with whole arrays."""

from __future__ import annotations

import csv
import importlib
import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, NeulerError
from neuler.extras import install
from neuler.files.cells import write_row
from neuler.files.ends import written

KINDS = ("csv", "npz", "parquet")
"""Suffixes of the files that are written."""
_ROWS = 65_536
"""Rows of text that are held at once."""


def save_series(
    path: str | os.PathLike[str],
    columns: Mapping[str, NDArray[Any]],
    arrays: Mapping[str, NDArray[Any]],
    units: Mapping[str, str],
) -> None:
    """Write a table, whole or not at all: ``columns`` (n,) to CSV or Parquet, ``arrays`` to NPZ, by the suffix.

    Parquet keeps ``units`` of columns in the metadata of its fields; it needs pyarrow.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise FormatError(f"{os.fspath(path)!r}: expected a file that ends in {', '.join(f'.{k}' for k in KINDS)}")
    if kind == "parquet":
        _arrow()  # before a file is made
    with written(path) as file:
        if kind == "csv":
            _csv(file, columns)
        elif kind == "npz":
            _npz(file, arrays)
        else:
            _parquet(file, columns, units)


def _csv(file: IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    write_row(text, list(columns))
    count = len(next(iter(columns.values())))
    for first in range(0, max(count, 1), _ROWS):
        rows.writerows(zip(*(column[first : first + _ROWS].tolist() for column in columns.values()), strict=True))
        file.write(text.getvalue().encode("utf-8"))
        text.seek(0)
        text.truncate()


def _npz(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(value), allow_pickle=False)


def _arrow() -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise NeulerError(
            f"Parquet needs pyarrow, which is not installed ({error}); install it with: {install('scale')}"
        ) from None


def _parquet(file: IO[bytes], columns: Mapping[str, NDArray[Any]], units: Mapping[str, str]) -> None:
    parquet, arrow = _arrow(), importlib.import_module("pyarrow")
    made = {name: arrow.array(np.ascontiguousarray(values)) for name, values in columns.items()}
    fields = [
        arrow.field(name, values.type, metadata={"unit": units[name]} if units.get(name) else None)
        for name, values in made.items()
    ]
    parquet.write_table(arrow.Table.from_arrays(list(made.values()), schema=arrow.schema(fields)), file)

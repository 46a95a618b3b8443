"""Parts of a study as NPZ, for machines without pyarrow: one array a column, nothing pickled.

``numpy.load`` finds numbers under the names of their columns. The entry ``neuler`` is JSON: which columns there are,
the texts that numbers in columns of texts stand for, and the shapes of arrays that differ.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.files.archives import Archive
from neuler.naming import fresh
from neuler.studies.table import PartColumn, PartTable

_VERSION = 1
_HEAD = "neuler"
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of all entries: the same table has the same bytes."""


def encode(table: PartTable) -> bytes:
    """The table as the bytes of an NPZ file."""
    entries: dict[str, NDArray[Any]] = {_HEAD: np.zeros(0, np.uint8)}
    told = []
    for k, (name, column) in enumerate(table.columns.items()):
        plain = not set(name) & set("/\\:") and not name.endswith(".npy")
        entry = fresh(name if plain else f"column {k}", entries)
        entries[entry] = column.values
        about: dict[str, Any] = {"name": name, "entry": entry, "words": column.words, "shapes": column.shapes}
        if column.there is not None:
            about["there"] = fresh(f"{entry} there", [*entries, *table.columns])
            entries[about["there"]] = column.there
        told.append(about)
    head = {"version": _VERSION, "rows": table.rows, "settings": table.settings, "columns": told}
    entries[_HEAD] = np.frombuffer(json.dumps(head).encode("ascii"), np.uint8)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for entry, values in entries.items():
            with archive.open(zipfile.ZipInfo(f"{entry}.npy", _DATE), "w", force_zip64=True) as place:
                np.lib.format.write_array(place, np.ascontiguousarray(values), allow_pickle=False)
    return file.getvalue()


def decode(data: bytes, names: Collection[str] | None) -> PartTable:
    """The table in the bytes of an NPZ file."""
    archive = Archive(io.BytesIO(data), "a part of a study")
    head = json.loads(archive.read(_HEAD).tobytes())
    if head["version"] != _VERSION:
        raise FormatError("a part of a study was written by another version of neuler")
    columns = {}
    for about in head["columns"]:
        if names is None or about["name"] in names:
            there = archive.read(about["there"]) if "there" in about else None
            words = None if about["words"] is None else tuple(map(str, about["words"]))
            shapes = None if about["shapes"] is None else tuple(map(tuple, about["shapes"]))
            column = PartColumn(archive.read(about["entry"]), there, words, shapes)
            _check(about["name"], column, int(head["rows"]))
            columns[about["name"]] = column
    return PartTable(int(head["rows"]), tuple(head["settings"]), columns)


def _check(name: str, column: PartColumn, rows: int) -> None:
    good = len(column) == rows and len(column.present) == rows and column.values.dtype.kind in "bif"
    if good and column.words is not None:
        codes = column.values[column.present]
        good = codes.dtype.kind == "i" and bool(np.all((codes >= 0) & (codes < len(column.words))))
    if good and column.shapes is not None:
        good = column.values.ndim == 1 and int(column.sizes.sum()) == len(column.values)
    if not good:
        raise FormatError(f"a part of a study is damaged: the column {name!r} does not fit its {rows} rows")

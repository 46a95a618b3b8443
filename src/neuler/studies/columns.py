"""Columns of one part of the results of a study: from what tasks returned, to the bytes of a file, and joined again.

Settings and results keep their types: truth values, whole numbers (int64), floats (float64, or float32), texts, arrays
with one shape (n, ...), and arrays whose shapes differ from row to row. Rows that failed have no results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.inputs import choice
from neuler.studies import npz, parquet
from neuler.studies.returned import RESERVED, problem_of, problem_of_batch
from neuler.studies.table import PartColumn, PartTable, column_of_array, column_of_rows, column_of_texts

__all__ = [
    "KINDS",
    "RESERVED",
    "STATUSES",
    "Outcome",
    "PartColumn",
    "PartTable",
    "decode",
    "encode",
    "joined",
    "problem_of",
    "problem_of_batch",
    "table_of",
]  # fmt: skip

STATUSES = ("ok", "failed", "timeout", "killed")
"""How a row can end."""
KINDS = ("parquet", "npz")
"""Files that parts are written to."""
_FILES = {"parquet": parquet, "npz": npz}
_WIDE = 1 << 24
"""Characters up to which a column of texts is one block of equally long ones, whatever these are."""
_SHORT = 8
"""Length of texts up to which it always is: statuses are."""


@dataclass(frozen=True)
class Outcome:
    """How one row ended, and what the task returned for it."""

    status: str
    """One of ``STATUSES``."""
    message: str
    """What went wrong; "" where nothing did."""
    values: Mapping[str, Any] | None
    """What the task returned, by name; None unless the status is "ok"."""


def table_of(
    first: int, settings: Mapping[str, NDArray[Any]], results: Sequence[Outcome] | Mapping[str, NDArray[Any]]
) -> PartTable:
    """The columns of one part of a study, whose first row is ``first``.

    ``settings`` are columns (n, ...); ``results`` has one outcome a row, or columns (n, ...) of a batch in which all
    rows are ok. ``problem_of`` and ``problem_of_batch`` must have found nothing wrong with them.

    >>> outcomes = [Outcome("ok", "", {"peak": 3.5}), Outcome("failed", "no solution", None)]
    >>> table = table_of(10, {"payload": np.array([1.0, 2.0])}, outcomes)
    >>> list(table.columns)
    ['row', 'payload', 'peak', 'status', 'message']
    >>> joined([table])["peak"].tolist()
    [3.5, nan]
    """
    if isinstance(results, Mapping):
        found = {name: column_of_array(value) for name, value in results.items()}
        sizes = {len(column) for column in found.values()} | {len(column) for column in settings.values()}
        rows = sizes.pop() if sizes else 0
        ended = PartColumn(np.zeros(rows, np.int32), None, ("ok",)), PartColumn(np.zeros(rows, np.int32), None, ("",))
    else:
        found, rows = _results(results), len(results)
        ended = column_of_texts([x.status for x in results]), column_of_texts([x.message for x in results])
    columns = {"row": PartColumn(np.arange(first, first + rows, dtype=np.int64))}
    columns |= {name: column_of_array(value) for name, value in settings.items()}
    columns |= found | dict(zip(("status", "message"), ended, strict=True))
    return PartTable(rows, tuple(settings), columns)


def _results(outcomes: Sequence[Outcome]) -> dict[str, PartColumn]:
    """What the rows returned, by name, in the order in which names first appear."""
    values = [outcome.values or {} for outcome in outcomes]
    found = {}
    for name in dict.fromkeys(name for row in values for name in row):
        given = [row[name] for row in values if name in row]
        there = None if len(given) == len(values) else np.array([name in row for row in values])
        found[name] = column_of_rows(given, there)
    return found


def encode(table: PartTable, kind: str) -> bytes:
    """The table as the bytes of a file of a ``kind``: "parquet", which needs pyarrow, or "npz".

    >>> table = table_of(0, {"payload": np.array([1.0, 2.0])}, {"peak": np.array([3.5, 4.5])})
    >>> decode(encode(table, "npz"), "npz") == table
    True
    """
    return _FILES[choice("encode: kind", kind, KINDS)].encode(table)


def decode(data: bytes, kind: str, names: Collection[str] | None = None) -> PartTable:
    """The table in the bytes of a file, whole or only the columns with ``names``, where it has them.

    Bytes that are cut or of something else raise ``FormatError``; that single numbers are as they were written is for
    the checksum of the file to say (``neuler.studies.folder``).
    """
    read = _FILES[choice("decode: kind", kind, KINDS)].decode
    try:
        return read(data, names)
    except ImportError:
        raise
    except FormatError:
        raise
    except Exception as error:  # of pyarrow, ZIP, NumPy and JSON, and of contents that fit nowhere
        raise FormatError(f"a part of a study cannot be read as {kind}: {str(error) or type(error).__name__}") from None


# ---- many parts together -------------------------------------------------------------------------------------------


def joined(tables: Sequence[PartTable]) -> dict[str, NDArray[Any]]:
    """One array a column, over all parts: row, settings, results as they first appear, status, message.

    Parts are put in the order of their rows. Where rows have no value: NaN in floats and whole numbers (which become
    floats), None in truth values (an array of objects), "" in texts. Arrays whose shapes differ come as an array of
    objects, (n,), with None where there is none.
    """
    parts = list(tables)
    if all("row" in part.columns and len(part) for part in parts):
        parts.sort(key=lambda part: int(part.columns["row"].values[0]))
    order: dict[str, None] = {}
    for part in parts:
        order |= dict.fromkeys(part.columns)
    names = [*[name for name in order if name not in RESERVED[1:]], *[name for name in RESERVED[1:] if name in order]]
    return {name: _joined([(len(part), part.columns.get(name)) for part in parts]) for name in names}


def _joined(pieces: Sequence[tuple[int, PartColumn | None]]) -> NDArray[Any]:
    """One column over all parts, given as the number of rows and the column, None where a part has none."""
    known = [column for _, column in pieces if column is not None]
    known = [column for column in known if column.present.any()] or known
    whole = all(column is not None and column.whole for _, column in pieces)
    if any(column.words is not None for column in known):
        return _joined_texts(pieces)
    if any(column.shapes is not None for column in known) or len({column.values.shape[1:] for column in known}) > 1:
        return _joined_arrays(pieces)
    dtype = np.result_type(*{column.values.dtype for column in known})
    empty: float | None = 0
    if not whole:
        dtype = np.dtype({"b": object, "i": np.float64}.get(dtype.kind, dtype))
        empty = None if dtype.kind == "O" else np.nan
    found = np.full((sum(n for n, _ in pieces), *known[0].values.shape[1:]), empty, dtype)
    at = 0
    for n, column in pieces:
        if column is not None and column.there is None:
            found[at : at + n] = column.values
        elif column is not None and column.there is not None and column.there.any():
            found[at : at + n][column.there] = column.values[column.there]
        at += n
    return found


def _joined_arrays(pieces: Sequence[tuple[int, PartColumn | None]]) -> NDArray[Any]:
    every = [row for n, column in pieces for row in ([None] * n if column is None else column.arrays())]
    found = np.empty(len(every), dtype=object)
    for k, row in enumerate(every):
        found[k] = row
    return found


def _joined_texts(pieces: Sequence[tuple[int, PartColumn | None]]) -> NDArray[Any]:
    """Texts of equal length in memory, or an array of objects where one that is long would make all others so."""
    index: dict[str, int] = {"": 0}
    every = np.zeros(sum(n for n, _ in pieces), dtype=np.int32)
    at = 0
    for n, column in pieces:
        if column is not None:
            told = column if column.words is not None else column_of_texts(column.texts())
            places = np.array([index.setdefault(word, len(index)) for word in told.words or ()], dtype=np.int32)
            there = told.present
            every[at : at + n][there] = places[told.values[there]]
        at += n
    longest = max(map(len, index))
    short = longest <= _SHORT or longest * max(len(every), len(index)) <= _WIDE
    return np.array(list(index), dtype=str if short else object)[every]

"""Parts of a study as Parquet: plain columns that any reader of Parquet understands; rows without a value are null.

An array (k,) is a list of fixed size; one of more axes is flattened, and its shape is in the metadata of its field.
Arrays whose shapes differ are lists; where one of them has not exactly one axis, a column beside it has the shapes.
Floats have no dictionary: to build one takes five times as long as to write them. Snappy costs a third more than no
compression with random numbers, and makes repeated ones twenty times smaller; zstd takes twice as long for 4 %.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError
from neuler.extras import require
from neuler.naming import fresh
from neuler.studies.table import PartColumn, PartTable

_VERSION = "1"
_SHAPE, _SHAPES, _COMPANION = b"neuler.shape", b"neuler.shapes", b"neuler.shapes_of"
"""Keys of a field's metadata: the shape of its arrays, the column with their shapes, the column whose shapes it has."""
_WIDEST = np.iinfo(np.int32).max


def encode(table: PartTable) -> bytes:
    """The table as the bytes of a Parquet file."""
    arrow, parquet = _arrow()
    fields: list[Any] = []
    arrays: list[Any] = []
    texts: list[str] = []
    for name, column in table.columns.items():
        marks: dict[bytes, Any] = {}
        if column.words is not None:
            array = _texts(arrow, column)
            texts.append(name)
        elif column.shapes is not None or column.values.ndim > 1:
            array = _lists(arrow, column)
            marks = {_SHAPE: json.dumps(column.values.shape[1:])} if column.shapes is None else {_SHAPES: ""}
        else:
            array = _scalars(arrow, column.values, column.there)
        if column.shapes is not None and any(len(shape) != 1 for shape in column.shapes):
            beside = fresh(f"{name}.shape", [*table.columns, *(field.name for field in fields)])
            lengths = arrow.array([[*shape] for shape in column.shapes], arrow.list_(arrow.int64()))
            marks = {_SHAPES: beside}
            fields.append(arrow.field(beside, lengths.type, metadata={_COMPANION: name}))
            arrays.append(lengths)
        fields.append(arrow.field(name, array.type, metadata=marks or None))
        arrays.append(array)
    told = {"neuler.version": _VERSION, "neuler.settings": json.dumps(table.settings)}
    content = arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, metadata=told))
    sink = arrow.BufferOutputStream()
    parquet.write_table(content, sink, compression="snappy", use_dictionary=texts)
    return bytes(sink.getvalue())


def decode(data: bytes, names: Collection[str] | None) -> PartTable:
    """The table in the bytes of a Parquet file."""
    arrow, parquet = _arrow()
    file = parquet.ParquetFile(arrow.BufferReader(data))
    schema = file.schema_arrow
    told = schema.metadata or {}
    if told.get(b"neuler.version", b"").decode() != _VERSION:
        raise FormatError("a part of a study was written by another version of neuler")
    fields = [field for field in schema if _COMPANION not in (field.metadata or {})]
    chosen = [field for field in fields if names is None or field.name in names]
    beside = {field.name: (field.metadata or {}).get(_SHAPES, b"").decode() for field in chosen}
    content = file.read(columns=[*beside, *filter(None, beside.values())])
    columns = {}
    for field in chosen:
        lengths = content.column(beside[field.name]) if beside[field.name] else None
        columns[field.name] = _column(arrow, field, content.column(field.name), lengths)
    return PartTable(int(file.metadata.num_rows), tuple(json.loads(told[b"neuler.settings"])), columns)


def _arrow() -> tuple[Any, Any]:
    require("pyarrow", "Parquet files need pyarrow", "scale")
    return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")


def _scalars(arrow: Any, values: NDArray[Any], there: NDArray[np.bool_] | None) -> Any:
    mask = None if there is None else ~there
    return arrow.array(np.ascontiguousarray(values), mask=mask, from_pandas=False)


def _texts(arrow: Any, column: PartColumn) -> Any:
    words = arrow.array(column.words, arrow.string())
    return arrow.DictionaryArray.from_arrays(_scalars(arrow, column.values, column.there), words).cast(arrow.string())


def _lists(arrow: Any, column: PartColumn) -> Any:
    """Arrays as lists, of fixed size where all rows have one: before pyarrow 26, nulls among these cannot be read."""
    size = math.prod(column.values.shape[1:])
    if column.shapes is None and column.whole and size:
        return arrow.FixedSizeListArray.from_arrays(_scalars(arrow, column.values.reshape(-1), None), size)
    flat = column.values if column.shapes is not None else column.values[column.present].reshape(-1)
    ends = np.concatenate([[0], np.cumsum(column.sizes)])
    missing = None if column.there is None else np.append(~column.there, False)
    kind, offset = (arrow.ListArray, np.int32) if len(flat) <= _WIDEST else (arrow.LargeListArray, np.int64)
    return kind.from_arrays(arrow.array(ends.astype(offset), mask=missing), _scalars(arrow, flat, None))


def _column(arrow: Any, field: Any, given: Any, lengths: Any) -> PartColumn:
    array = given.combine_chunks() if given.num_chunks != 1 else given.chunk(0)
    there = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    marks = field.metadata or {}
    if arrow.types.is_string(array.type):
        coded = array.dictionary_encode()
        return PartColumn(_numbers(coded.indices), there, tuple(coded.dictionary.to_pylist()))
    if _SHAPE in marks:
        shape = tuple(int(size) for size in json.loads(marks[_SHAPE]))
        flat = _numbers(array.flatten())
        if there is None:
            return PartColumn(flat.reshape(len(array), *shape))
        full = np.zeros((len(array), *shape), flat.dtype)
        full[there] = flat.reshape(int(there.sum()), *shape)
        return PartColumn(full, there)
    if _SHAPES in marks:
        flat = _numbers(array.flatten())
        if lengths is not None:
            shapes = tuple(map(tuple, lengths.to_pylist()))
        else:
            sizes = np.diff(array.offsets.to_numpy())
            shapes = tuple((size,) for size in sizes.tolist())
        column = PartColumn(flat, there, None, shapes)
        if len(shapes) != len(array) or column.sizes.sum() != len(flat):
            raise FormatError(f"a part of a study is damaged: the shapes of {field.name!r} do not fit its numbers")
        return column
    return PartColumn(_numbers(array), there)


def _numbers(array: Any) -> NDArray[Any]:
    """Numbers of an array of pyarrow's, zero where it is null."""
    if array.null_count:
        array = array.fill_null(False if str(array.type) == "bool" else 0)
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    if found.dtype.kind not in "bif":
        raise FormatError(f"a part of a study has a column of type {array.type}, which none has")
    return found

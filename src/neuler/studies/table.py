"""Columns of one part of a study in memory: numbers, texts, and arrays whose shapes differ from row to row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.studies.returned import numbers

Mask = NDArray[np.bool_]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PartColumn:
    """One quantity in the rows of a part; equal to another one where every row has the same bits, NaN among them."""

    values: NDArray[Any]
    """Numbers (n, *shape); of texts their places in ``words``, (n,); of arrays whose shapes differ, the numbers of all
    rows one after another."""
    there: Mask | None = None
    """Which rows have a value, (n,); None: all of them."""
    words: tuple[str, ...] | None = None
    """Of texts: the different ones."""
    shapes: tuple[Shape, ...] | None = None
    """Of arrays whose shapes differ: one a row, (0,) where there is no value."""

    def __len__(self) -> int:
        return len(self.values) if self.shapes is None else len(self.shapes)

    @property
    def present(self) -> Mask:
        """Which rows have a value, (n,)."""
        return np.ones(len(self), dtype=bool) if self.there is None else self.there

    @property
    def whole(self) -> bool:
        """Whether every row has a value."""
        return self.there is None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many numbers every row has, (n,), none where there is no value."""
        if self.shapes is None:
            return np.where(self.present, math.prod(self.values.shape[1:]), 0).astype(np.int64)
        return np.fromiter(map(math.prod, self.shapes), np.int64, len(self.shapes))

    def arrays(self) -> list[NDArray[Any] | None]:
        """One array of numbers a row; None where there is no value."""
        if self.shapes is None:
            return [row if there else None for row, there in zip(self.values, self.present, strict=True)]
        pieces = np.split(self.values, np.cumsum(self.sizes)[:-1]) if len(self) else []
        rows = zip(pieces, self.shapes, self.present, strict=True)
        return [piece.reshape(shape) if there else None for piece, shape, there in rows]

    def texts(self) -> list[str]:
        """One text a row: numbers as Python writes them, "" where there is no value."""
        if self.words is not None:
            return [self.words[k] if there else "" for k, there in zip(self.values.tolist(), self.present, strict=True)]
        return ["" if row is None else str(row.tolist()) for row in self.arrays()]

    def only(self, rows: Mask) -> PartColumn:
        """The same in some rows."""
        there = None if self.there is None or self.there[rows].all() else self.there[rows]
        if self.shapes is None:
            return PartColumn(self.values[rows], there, self.words)
        shapes = tuple(shape for shape, keep in zip(self.shapes, rows.tolist(), strict=True) if keep)
        return PartColumn(self.values[np.repeat(rows, self.sizes)], there, None, shapes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartColumn):
            return NotImplemented
        if len(self) != len(other) or not np.array_equal(self.present, other.present):
            return False
        if self.words is not None or other.words is not None:
            return (self.words is None) == (other.words is None) and self.texts() == other.texts()
        if self.values.dtype != other.values.dtype or self.shapes != other.shapes:
            return False
        if self.shapes is not None:
            return self.values.tobytes() == other.values.tobytes()
        if self.values.shape != other.values.shape:
            return False
        return self.values[self.present].tobytes() == other.values[self.present].tobytes()

    __hash__ = None  # type: ignore[assignment]  # as of arrays


@dataclass(frozen=True)
class PartTable:
    """The columns of one part of a study: row, settings, results, status and message, in this order."""

    rows: int
    settings: tuple[str, ...]
    """Names of the columns that are settings."""
    columns: dict[str, PartColumn]

    def __len__(self) -> int:
        return self.rows

    def only(self, rows: Mask) -> PartTable:
        """The same columns in some rows, (n,)."""
        chosen = {name: column.only(rows) for name, column in self.columns.items()}
        return PartTable(int(rows.sum()), self.settings, chosen)


def column_of_texts(texts: Iterable[str], there: Mask | None = None) -> PartColumn:
    """A column of one text a row; what no file can hold (half characters, NUL) is written as an escape."""
    index: dict[str, int] = {}
    codes = np.array([index.setdefault(text, len(index)) for text in texts], dtype=np.int32)
    return _spread(codes, there, tuple(map(_clean, index)))


def _clean(text: str) -> str:
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def column_of_array(value: Any) -> PartColumn:
    """A column of a clean array with one entry a row, (n, ...), of numbers or texts."""
    found = np.asarray(value)
    if found.dtype.kind in "OUT":
        return column_of_texts(found.tolist())
    return PartColumn(numbers(found))


def column_of_rows(found: Sequence[Any], there: Mask | None) -> PartColumn:
    """A column of clean values of the rows that are ``there`` (None: all rows), of whatever kinds they are.

    Where kinds differ: whole numbers become floats beside floats, and numbers become texts beside texts.
    """
    kinds = set(map(type, found))
    if kinds == {float} or kinds == {bool} or kinds == {int}:
        return _spread(np.array(found), there)
    if kinds == {str}:
        return column_of_texts(found, there)
    if any(isinstance(value, str) for value in found):
        return column_of_texts((v if isinstance(v, str) else str(numbers(v).tolist()) for v in found), there)
    arrays: Sequence[NDArray[Any]] = found if kinds == {np.ndarray} else [np.asarray(value) for value in found]
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) > 1:
        arrays = [numbers(array) for array in arrays]
        dtype = np.result_type(*{array.dtype for array in arrays})
        arrays = [array.astype(dtype, copy=False) for array in arrays]
    if len({array.shape for array in arrays}) == 1:
        return _spread(numbers(np.array(arrays)), there)
    values = numbers(np.concatenate([array.ravel() for array in arrays]))
    shapes = iter([array.shape for array in arrays])
    if there is None:
        return PartColumn(values, None, None, tuple(shapes))
    return PartColumn(values, there, None, tuple(next(shapes) if row else (0,) for row in there.tolist()))


def _spread(values: NDArray[Any], there: Mask | None, words: tuple[str, ...] | None = None) -> PartColumn:
    """Values of the rows that are there, with zeros in the others."""
    if there is None:
        return PartColumn(values, None, words)
    full = np.zeros((len(there), *values.shape[1:]), values.dtype)
    full[there] = values
    return PartColumn(full, there, words)

"""Settings: the rows of a study, each with values by name. They are cut into parts, which are small when pickled."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from neuler.errors import InputError, NeulerError
from neuler.inputs import told
from neuler.naming import listed
from neuler.studies.digests import digest_of_rows, equal_rows
from neuler.studies.values import RESERVED, Column, checked_names, column_of, refuse_other_names
from neuler.tables import is_table

__all__ = ["RESERVED", "ColumnSettings", "Settings", "settings_of"]

BLOCK = 65_536
"""Rows that are looked at together where all are gone through."""
_BLOCK_BYTES = 2**27
"""Of such rows; wide ones are taken fewer at a time."""


class Settings(ABC):
    """The rows of a study: ``names`` of the columns, and the values of each row by name.

    ``settings_of`` makes them of what users have; ``product``, ``random``, ``sobol`` and ``latin_hypercube`` make them
    of ranges.
    """

    names: tuple[str, ...]
    kind = "settings"
    """The name that ``repr`` shows."""
    drawn = False
    """Whether the rows were drawn at random: equal rows are then chance, not a mistake."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def columns(self) -> dict[str, Column]:
        """All values by name: arrays (n, ...) of bool, int64, float64 or np.str_, which the caller may change."""

    @abstractmethod
    def _cut(self, first: int, last: int) -> Settings:
        """Rows first to last - 1, which there are."""

    def part(self, first: int, last: int) -> Settings:
        """Rows ``first`` to ``last - 1`` as settings of their own, small when pickled.

        >>> settings_of({"mass": [1.0, 2.0, 3.0]}).part(1, 3).columns()["mass"].tolist()
        [2.0, 3.0]
        """
        if not 0 <= first < last <= len(self):
            raise InputError(f"part: expected rows from 0 to {len(self)}, at least one, got {first} to {last}")
        return self._cut(int(first), int(last))

    def fingerprint(self) -> str:
        """32 hexadecimal digits that are equal for equal names, types and values, on every machine.

        How the rows were given makes no difference; those of a sampler are known by its ranges and its seed.
        """
        return digest_of_rows(self.names, self._blocks)

    def duplicate(self) -> tuple[int, int] | None:
        """Two rows with equal values, the earlier one first; None where all differ. NaN equals NaN.

        >>> settings_of([{"mass": 1.0}, {"mass": 2.0}, {"mass": 1.0}]).duplicate()
        (0, 2)
        """
        return equal_rows(len(self), self._blocks)

    def _blocks(self) -> Iterator[tuple[int, dict[str, Column]]]:
        """All rows, some at a time: the first row of each block, and its columns."""
        wide = sum(column.nbytes for column in self.part(0, 1).columns().values())
        size = max(1, min(BLOCK, _BLOCK_BYTES // wide))
        for first in range(0, len(self), size):
            yield first, self.part(first, min(first + size, len(self))).columns()

    def __repr__(self) -> str:
        rows = len(self)
        return f"<{self.kind}: {rows:,} row{'s' * (rows != 1)} of {listed('', self.names)}>"


class ColumnSettings(Settings):
    """Settings whose values are in memory, as columns that have been checked."""

    def __init__(self, columns: Mapping[str, Column], kind: str = "settings") -> None:
        self.names = tuple(columns)
        self.kind = kind
        self._columns = dict(columns)

    def __len__(self) -> int:
        return len(self._columns[self.names[0]])

    def columns(self) -> dict[str, Column]:
        """Copies, so that nobody writes into what a user gave."""
        return {name: column.copy() for name, column in self._columns.items()}

    def _cut(self, first: int, last: int) -> ColumnSettings:
        return ColumnSettings({name: column[first:last] for name, column in self._columns.items()}, self.kind)


def checked_columns(
    what: str, names: Iterable[Any], columns: Iterable[Any], error: type[NeulerError] = InputError
) -> dict[str, Column]:
    """Columns of equal length, at least one row, by names that may be used."""
    found: dict[str, Column] = {}
    for name, given in zip(checked_names(what, names, error), columns, strict=True):
        found[name] = column_of(f"{what}: column {name!r}", given, error)
        first = next(iter(found))
        if len(found[name]) != len(found[first]):
            raise error(
                f"{what}: column {name!r} has {len(found[name])} rows, and {first!r} has {len(found[first])}; give "
                "all columns one length"
            )
    if not len(next(iter(found.values()))):
        raise error(f"{what}: there are no rows; give at least one")
    return found


def settings_of(given: Any) -> Settings:
    """The settings of a study, from what users have, checked.

    given: a list of dicts, one a row, all with the same names; a dict of columns, arrays of one length (a vector column
    is (n, k)); a NumPy record array; a pandas DataFrame; a pyarrow Table; the path of a CSV or Parquet file (Parquet is
    read part by part, so that it may be larger than the memory); or settings that a sampler made. Values are numbers,
    truth values, texts or arrays of numbers; NaN is a value.

    >>> settings_of([{"payload": 0.5, "speed": 1.0}, {"payload": 2.0, "speed": 1.5}])
    <settings: 2 rows of 'payload', 'speed'>
    >>> settings_of([{"payload": 0.5}, {"paylod": 2.0}])
    Traceback (most recent call last):
    neuler.errors.InputError: settings: row 1 has 'paylod', which row 0 has not; did you mean 'payload'?
    """
    if isinstance(given, Settings):
        return given
    if isinstance(given, str | os.PathLike):
        from neuler.studies.files import settings_of_file  # it makes settings of its own kind

        return settings_of_file(given)
    if isinstance(given, Mapping):
        return _of_columns(given)
    if isinstance(given, np.ndarray):
        return _of_records(given)
    if is_table(given):
        return _of_table(given)
    if callable(given) or isinstance(given, bytes):
        raise _unknown(given)
    try:
        rows = list(given)
    except TypeError:
        raise _unknown(given) from None
    return _of_rows(rows)


def _unknown(given: Any) -> InputError:
    called = getattr(given, "__name__", None)
    return InputError(
        "settings must be a list of dicts, a dict of columns, a record array, a DataFrame, a pyarrow Table, the path "
        "of a CSV or Parquet file, or made by a sampler such as neuler.studies.product(...), got "
        + (f"the function {called!r}; call it" if called and callable(given) else told(given))
    )


def _of_rows(rows: list[Any]) -> ColumnSettings:
    if not rows:
        raise InputError("settings: there are no rows; give at least one")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"settings: row {number} must be a dict of values by name, got {told(row)}")
    names = checked_names("settings", rows[0])
    same = rows[0].keys()
    for number, row in enumerate(rows):
        if row.keys() != same:
            refuse_other_names(number, row, names)
    return ColumnSettings(checked_columns("settings", names, ([row[name] for row in rows] for name in names)))


def _of_columns(given: Mapping[Any, Any]) -> ColumnSettings:
    if given and all(np.isscalar(value) for value in given.values()):
        raise InputError(
            f"settings: a dict is of columns, and {told(next(iter(given)))} has one value; for a single row give a "
            "list: [{...}]"
        )
    return ColumnSettings(checked_columns("settings", given.keys(), given.values()))


def _of_records(given: Column) -> ColumnSettings:
    if isinstance(given, np.ma.MaskedArray):
        raise InputError("settings: a masked array; fill or drop what is masked first")
    names = given.dtype.names
    if names is None:
        if given.dtype.kind == "O" and given.ndim == 1:
            return _of_rows(given.tolist())
        raise InputError(
            f"settings: the columns of an array of {given.dtype} have no names; give a dict, {{'payload': array[:, 0], "
            "...}, or a record array"
        )
    if given.ndim != 1:
        raise InputError(f"settings: a record array must have one axis, the rows; got shape {given.shape}")
    return ColumnSettings(checked_columns("settings", names, (given[name] for name in names)))


def _of_table(given: Any) -> ColumnSettings:
    """Of a DataFrame, whoever made it, or of a pyarrow Table."""
    if hasattr(given, "column_names") and hasattr(given, "schema"):
        from neuler.studies.files import arrow_columns

        checked_names("settings", given.column_names)
        if not given.num_rows:
            raise InputError("settings: there are no rows; give at least one")
        return ColumnSettings(arrow_columns("settings", given))
    if not hasattr(given, "columns"):
        raise InputError("settings: a series is one row or one column; give a DataFrame, or a dict of columns")
    names = checked_names("settings", given.columns)
    return ColumnSettings(checked_columns("settings", names, (given[name] for name in names)))

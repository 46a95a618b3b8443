"""Names and values of settings, checked once: each becomes a column of numbers, truth values or texts.

Errors name the row, the column and the remedy. Functions raise ``InputError``, or ``FormatError`` about a file.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.inputs import real, told
from neuler.naming import closest

Column = NDArray[Any]
"""(n, ...) values of one name: bool, int64, float64 or np.str_."""

RESERVED = ("row", "status", "message")
"""Columns that a study adds to its table; no setting may have their names."""
MOST_COLUMNS = 10_000
MOST_TEXT = 2**31
"""Bytes of a column of texts: NumPy gives each row as much room as the longest text needs."""

# ---- names ---------------------------------------------------------------------------------------------------------


def checked_names(what: str, given: Iterable[Any], error: type[NeulerError] = InputError) -> tuple[str, ...]:
    """The names of the columns: texts that differ, at least one, none of them reserved.

    >>> checked_names("settings", ["payload", "status"])
    Traceback (most recent call last):
    neuler.errors.InputError: settings: column 'status': the name is reserved for a column of the study's table (row,
    status, message); rename it
    """
    names = list(given)
    if not names:
        raise error(f"{what}: there are no columns; give each row at least one named value")
    if len(names) > MOST_COLUMNS:
        raise error(f"{what}: there are {len(names)} columns, the most is {MOST_COLUMNS}; put numbers into vectors")
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise error(f"{what}: the name of column {place} must be a text, got {told(name)}; rename it")
        if not name.strip():
            raise error(f"{what}: column {place} has an empty name; give it one")
        if not name.isprintable():
            raise error(f"{what}: column {place}: the name {told(name)} has characters that cannot be printed")
        if name in RESERVED:
            raise error(
                f"{what}: column {name!r}: the name is reserved for a column of the study's table "
                f"({', '.join(RESERVED)}); rename it"
            )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise error(f"{what}: there are two columns {twice!r}; rename one")
    return tuple(map(str, names))


def refuse_other_names(row: int, found: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a row whose names differ from those of row 0."""
    missing = [name for name in names if name not in found]
    unknown = [name for name in found if name not in names]
    if unknown:
        meant = closest(unknown[0], missing) or closest(unknown[0], names)
        remedy = f"did you mean {meant!r}?" if meant else "give every row the same names"
        raise InputError(f"settings: row {row} has {told(unknown[0])}, which row 0 has not; {remedy}")
    raise InputError(f"settings: row {row} has no {missing[0]!r}; give every row the same names")


# ---- columns -------------------------------------------------------------------------------------------------------


def column_of(what: str, given: Any, error: type[NeulerError] = InputError) -> Column:
    """One value a row, (n, ...), as an array of bool, int64, float64 or np.str_.

    ``what`` is the column as messages call it.

    >>> column_of("settings: column 'q'", [[0, 1], [2, 3.5]]).shape
    (2, 2)
    >>> column_of("settings: column 'kind'", ["panda", 7])
    Traceback (most recent call last):
    neuler.errors.InputError: settings: column 'kind': row 1 is a number, 7, and row 0 is a text, 'panda'; give all
    rows one type
    """
    if isinstance(given, np.ma.MaskedArray):
        raise error(f"{what} is a masked array; fill or drop what is masked first")
    if isinstance(given, str | bytes | Mapping) or np.isscalar(given) or given is None:
        raise error(f"{what} must have one value a row, got {told(given)}; give a list or an array")
    if not isinstance(given, list | tuple | range | np.ndarray):
        given = _listed(what, given, error)
    if isinstance(given, range) or (isinstance(given, np.ndarray) and given.dtype.kind not in "OUT"):
        found = _of_array(what, np.asarray(given), error)
    elif isinstance(given, np.ndarray) and given.ndim == 0:
        raise error(f"{what} must have one value a row, got one value; give a list or an array")
    elif isinstance(given, np.ndarray) and given.ndim > 1 and given.dtype.kind != "O":
        raise error(f"{what} has vectors of texts; give each entry a column of its own")
    else:
        found = _of_values(what, given.tolist() if isinstance(given, np.ndarray) else list(given), error)
    return found


def _listed(what: str, given: Any, error: type[NeulerError]) -> Any:
    """A series, a sequence or an iterator as an array or a list."""
    if hasattr(given, "to_numpy"):
        return np.asarray(given.to_numpy())
    if hasattr(given, "__array__"):
        return np.asarray(given)
    if isinstance(given, set | frozenset):
        raise error(f"{what} is a set, which has no order; give a list: sorted(...)")
    try:
        return list(given)
    except TypeError:
        raise error(f"{what} must have one value a row, got {told(given)}; give a list or an array") from None


_REFUSED = {
    "c": "complex numbers; give real and imaginary parts as columns of their own",
    "S": "bytes; give texts: .astype(str)",
    "M": "dates; give texts, or seconds as numbers",
    "m": "time differences; give seconds as numbers",
    "V": "records; give each of their fields a column of its own",
}


def _of_array(what: str, given: Column, error: type[NeulerError]) -> Column:
    kind = given.dtype.kind
    if given.ndim == 0:
        raise error(f"{what} must have one value a row, got one value; give a list or an array")
    if kind in _REFUSED:
        raise error(f"{what} has {_REFUSED[kind]}")
    if given.dtype.char == "g":
        raise error(f"{what} is {given.dtype}; convert it to float64")
    if 0 in given.shape[1:]:
        raise error(f"{what} has vectors without entries, its shape is {given.shape}; leave it out")
    if kind == "u" and given.size and given.max() > np.iinfo(np.int64).max:
        row = int(np.argwhere(given > np.iinfo(np.int64).max)[0][0])
        raise error(f"{what}: row {row} is beyond 64-bit whole numbers; give floats or texts")
    types: dict[str, Any] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
    return given.astype(types[kind], copy=False)


def _of_values(what: str, given: list[Any], error: type[NeulerError]) -> Column:
    kinds = set(map(type, given))
    if kinds == {str}:
        return texts(what, given, error)
    if kinds == {bool}:
        return np.array(given)
    if kinds and kinds <= {int, float}:
        try:
            return np.array(given, dtype=np.int64 if kinds == {int} else np.float64)
        except OverflowError:
            pass  # said by row below
    if kinds and kinds <= {list, tuple, np.ndarray}:
        try:
            found = np.array(given)
        except ValueError:  # ragged: said by row below
            found = np.array(None)
        if found.dtype.kind in "biuf" and found.ndim > 1:
            return _of_array(what, found, error)
    values = [_value(what, row, value, error) for row, value in enumerate(given)]
    for row, value in enumerate(values):
        if value.word != values[0].word:
            raise error(
                f"{what}: row {row} is {value.word}, {told(given[row])}, and row 0 is {values[0].word}, "
                f"{told(given[0])}; give all rows one type"
            )
        if value.shape != values[0].shape:
            raise error(
                f"{what}: row {row} has shape {value.shape}, and row 0 has {values[0].shape}; give all vectors one "
                "length"
            )
    if values and values[0].word == "a text":
        return texts(what, [value.plain for value in values], error)
    if values and values[0].word == "a number" and all(type(value.plain) is int for value in values):
        return np.array([value.plain for value in values], dtype=np.int64)
    return _of_array(what, np.array([value.plain for value in values]), error)


class _Value(NamedTuple):
    word: str
    shape: tuple[int, ...]
    plain: Any


def _value(what: str, row: int, value: Any, error: type[NeulerError]) -> _Value:
    """One row's value, and what it is in words."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return _Value("a truth value", (), value)
    if isinstance(value, str):
        return _Value("a text", (), str(value))
    if isinstance(value, numbers.Integral):
        if not -(2**63) <= int(value) < 2**63:
            raise error(
                f"{what}: row {row} is beyond 64-bit whole numbers (int64): {told(value)}; give floats or texts"
            )
        return _Value("a number", (), int(value))
    if isinstance(value, numbers.Real | Decimal):
        return _Value("a number", (), float(value))
    if isinstance(value, list | tuple) or (hasattr(value, "__array__") and not np.iscomplexobj(value)):
        return _vector(what, row, value, error)
    if isinstance(value, numbers.Complex) or np.iscomplexobj(value):
        raise error(f"{what}: row {row} is complex; give real and imaginary parts as columns of their own")
    raise error(
        f"{what}: row {row} is {told(value)} ({type(value).__name__}); expected a number, a truth value, a text or a "
        "vector of numbers (nan is a number that may stand for no value)"
    )


def _vector(what: str, row: int, value: Any, error: type[NeulerError]) -> _Value:
    try:
        found = np.asarray(value)
    except ValueError:
        raise error(f"{what}: row {row} is a ragged list, {told(value)}; give a vector of numbers") from None
    if found.ndim == 0:
        return _value(what, row, found.item(), error)
    if found.dtype.kind == "O":
        numbers_inside = real(found)
        found = found if numbers_inside is None else numbers_inside
    if found.dtype.kind not in "biuf" or isinstance(value, np.ma.MaskedArray):
        raise error(f"{what}: row {row} is {told(value)}; a vector must have real numbers alone")
    checked = _of_array(f"{what}: row {row}", found[None], error)[0]
    return _Value("a vector" if checked.dtype.kind != "b" else "a vector of truth values", found.shape, checked)


def texts(what: str, given: Sequence[str], error: type[NeulerError] = InputError) -> NDArray[np.str_]:
    """A column of texts, (n,); a text that NumPy or UTF-8 cannot hold is refused by its row."""
    whole = "".join(given)
    if "\0" in whole:
        row = next(row for row, text in enumerate(given) if "\0" in text)
        raise error(f"{what}: row {row} has a NUL character: {told(given[row])}; remove it")
    try:
        whole.encode()
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(given) if any("\ud800" <= letter <= "\udfff" for letter in text))
        raise error(f"{what}: row {row} is no valid Unicode text: {told(given[row])}") from None
    lengths = list(map(len, given))
    if 4 * len(given) * max(lengths, default=0) > MOST_TEXT:
        row = lengths.index(max(lengths))
        raise error(
            f"{what}: row {row} has {lengths[row]} characters, and all {len(given)} rows take as much room as the "
            "longest; give names of files instead of long texts"
        )
    return np.array(given, dtype=np.str_)

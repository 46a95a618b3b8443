"""What a task may return for a row: numbers, truth values, texts and arrays of numbers, by name.

``problem_of`` says in words what is wrong with the values of one row, ``problem_of_batch`` with the columns of many.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.inputs import told

RESERVED = ("row", "status", "message")
"""Columns that every study has; neither settings nor results may be called so."""
_MOST = np.iinfo(np.int64).max
_LEAST = np.iinfo(np.int64).min
_WIDE = f"is beyond the whole numbers of 64 bits, {_LEAST} to {_MOST}; return float(...) of it"
_PLAIN = (float, bool, np.float64, np.float32, np.bool_)
"""Types of values that are always good."""


def problem_of(values: Any, settings_names: Collection[str]) -> str | None:
    """What is wrong with what a task returned for one row, in words; None where nothing is.

    >>> problem_of({"peak": 3.5, "converged": True, "torque": [1.0, 2.0]}, ["payload"])
    >>> problem_of({"payload": 3.5}, ["payload"])
    "the result 'payload' has the name of a setting; give it another one"
    >>> problem_of({"first": {"peak": 1.0}}, ["payload"])
    "the result 'first' is a dict; flatten it: return each of its entries under a name of its own"
    """
    if not isinstance(values, Mapping):
        return _no_dict(values)
    for name, value in values.items():
        wrong = _problem_of_name(name, settings_names)
        if wrong is None and type(value) not in _PLAIN:
            wrong = _problem_of_value(value)
        if wrong is not None:
            return f"the result {told(name)} {wrong}"
    return None


def cleaned(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a task returned for one row, ``problem_of`` which there is none, as plain values and arrays of its own.

    Classes of the user's, such as enumerations, stay behind: who reads them elsewhere may not know them.

    >>> cleaned({"peak": np.float64(1.5), "path": [1, 2]})
    {'peak': 1.5, 'path': array([1, 2])}
    """
    return {str.__str__(name): _cleaned(value) for name, value in values.items()}


def _cleaned(value: Any) -> Any:
    if type(value) in (float, int, bool, str):
        return value
    if isinstance(value, np.generic):
        return value if value.dtype.kind == "f" and value.dtype.itemsize < 8 else value.item()
    for plain in (str, int, float):
        if isinstance(value, plain):
            return plain.__str__(value) if plain is str else plain(value)
    return np.array(value)


def problem_of_batch(values: Any, rows: int, names: Collection[str]) -> str | None:
    """What is wrong with the columns that a batched task returned for so many rows, in words; None where nothing is.

    ``names`` are those of the settings. Every column has the rows on its leading axis, (rows, ...).

    >>> problem_of_batch({"peak": np.zeros((4, 6))}, 4, ["payload"])
    >>> problem_of_batch({"peak": np.zeros(6)}, 4, ["payload"])
    "the result 'peak' has the shape (6,); its leading axis must be the 4 rows of the batch"
    """
    if not isinstance(values, Mapping):
        return _no_dict(values)
    for name, value in values.items():
        wrong = _problem_of_name(name, names) or _problem_of_column(value, rows)
        if wrong is not None:
            return f"the result {told(name)} {wrong}"
    return None


def _no_dict(values: Any) -> str:
    if values is None:
        return "the task returned None; it must return a dict of results by name, such as {'peak': 1.5}"
    return f"the task returned {told(values)}; it must return a dict of results by name, such as {{'peak': 1.5}}"


def _problem_of_name(name: Any, settings_names: Collection[str]) -> str | None:
    if not isinstance(name, str):
        return "has no text as its name; names of results are texts"
    if not name.strip() or not name.isprintable():
        return "has a name that is empty or cannot be printed; give it another one"
    if name in RESERVED:
        return f"has a name that every study uses itself ({', '.join(RESERVED)}); give it another one"
    if name in settings_names:
        return "has the name of a setting; give it another one"
    return None


def _problem_of_value(value: Any) -> str | None:
    if isinstance(value, str):
        return _problem_of_text(value)
    if isinstance(value, int):
        return None if _LEAST <= value <= _MOST else f"is {told(value)}: it {_WIDE}"
    wrong = _problem_of_kind(value)
    if wrong is not None:
        return wrong
    found = _array(value)
    if found is None:
        return "is a list whose parts differ in length; return an array, or parts under names of their own"
    if found.dtype.kind in "OUST" and found.ndim == 0:
        return f"is a {type(value).__name__}; return numbers, truth values, texts or arrays of numbers"
    if found.dtype.kind in "UST":
        return "is an array of texts; return one text, or several under names of their own"
    return _problem_of_numbers(found)


def _problem_of_column(value: Any, rows: int) -> str | None:
    wrong = _problem_of_kind(value)
    if wrong is not None:
        return wrong
    if isinstance(value, str | int | float):
        return f"is {told(value)}; a batch of {rows} rows needs an array with one entry a row"
    found = _array(value)
    if found is None:
        return "is a list whose parts differ in length; return an array with one entry a row, or do not use batches"
    if found.ndim == 0 or len(found) != rows:
        return f"has the shape {found.shape}; its leading axis must be the {rows} rows of the batch"
    if found.dtype.kind in "UT" or (found.dtype.kind == "O" and all(isinstance(x, str) for x in found.ravel())):
        if found.ndim > 1:
            return "has several texts a row; return each under a name of its own"
        return next(filter(None, map(_problem_of_text, found.tolist())), None)
    return _problem_of_numbers(found)


def _problem_of_text(value: str) -> str | None:
    if "\0" in value:
        return "is a text with the character NUL; leave it out"
    return None if _is_unicode(value) else "is a text with half characters (surrogates); leave them out"


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _problem_of_kind(value: Any) -> str | None:
    """What can be said without a look at the numbers."""
    if value is None:
        return "is None; leave it out, or return float('nan')"
    if isinstance(value, Mapping):
        return "is a dict; flatten it: return each of its entries under a name of its own"
    if isinstance(value, np.ma.MaskedArray):
        return "is a masked array; fill what is masked, for example with nan"
    if isinstance(value, bytes | set | frozenset) or not (
        isinstance(value, str | int | float | complex | list | tuple | np.generic) or hasattr(value, "__array__")
    ):
        return f"is a {type(value).__name__}; return numbers, truth values, texts or arrays of numbers"
    return None


def _problem_of_numbers(found: NDArray[Any]) -> str | None:
    kind = found.dtype.kind
    if kind == "c":
        return "is complex; return its real and imaginary parts under two names"
    if kind == "O":
        if found.size and all(isinstance(x, int) for x in found.ravel()):
            return f"has a number that {_WIDE}"
        return "is an array of objects; return an array of numbers"
    if kind not in "biuf":
        return f"has values of type {found.dtype}; return numbers"
    if found.dtype.char == "g" and found.dtype.itemsize > 8:
        return f"is {found.dtype}; convert it to float64"
    if kind == "u" and found.dtype.itemsize == 8 and found.size and int(found.max()) > _MOST:
        return f"has a number that {_WIDE}"
    return None


def _array(value: Any) -> NDArray[Any] | None:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return None


def numbers(value: Any) -> NDArray[Any]:
    """A clean value as an array of bool, int64, float32 or float64, of any shape; a view where it is one already."""
    found = np.asarray(value)
    kind, size = found.dtype.kind, found.dtype.itemsize
    if kind == "b":
        return found
    if kind in "iu":
        return found.astype(np.int64, copy=False)
    return found.astype(np.float32 if size < 8 else np.float64, copy=False)

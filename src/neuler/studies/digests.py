"""Digests of columns, the same on every machine, and rows that are equal, found by hashes of 64 bits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
Blocks = Callable[[], Iterable[tuple[int, Columns]]]
"""Goes through all rows: the first row of each block, and its columns."""

_LOOKED_AT = 1_000
"""Hashes that occur twice whose rows are compared at a time."""
_LONG = 100
"""Entries of a row above which they are hashed together."""

# ---- digests -------------------------------------------------------------------------------------------------------


class ColumnDigest:
    """The digest of one column that comes in pieces; where it was cut makes no difference.

    Columns of equal type, shape and values have equal digests. All NaN are one value.
    """

    def __init__(self) -> None:
        self._values = hashlib.blake2b(digest_size=16)
        self._lengths = hashlib.blake2b(digest_size=16)
        self._head = ""

    def add(self, column: NDArray[Any]) -> None:
        """Take the next rows."""
        kind = column.dtype.kind
        self._head = f"{kind}{column.shape[1:]}"
        if kind == "U":
            encoded = [text.encode() for text in column.tolist()]
            self._lengths.update(np.fromiter(map(len, encoded), dtype="<i8", count=len(encoded)).tobytes())
            self._values.update(b"".join(encoded))
        elif kind == "f":
            plain = np.where(np.isnan(column), np.nan, column)
            self._values.update(plain.astype("<f8", order="C").data)
        else:
            self._values.update(np.ascontiguousarray(column, dtype="?" if kind == "b" else "<i8").data)

    def digest(self) -> bytes:
        """Of all rows that were added."""
        return hashlib.blake2b(
            b"|".join([self._head.encode(), self._lengths.digest(), self._values.digest()]), digest_size=16
        ).digest()


def digest_of(column: NDArray[Any]) -> bytes:
    """The digest of a whole array, also of one number."""
    made = ColumnDigest()
    made.add(np.atleast_1d(column))
    return made.digest()


def digest_of_all(*parts: str | int | bytes) -> str:
    """One digest of several things, in hexadecimal digits; neither their order nor where one ends is lost."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        made.update(f"{type(part).__name__}{len(data)}:".encode() + data)
    return made.hexdigest()


def digest_of_rows(names: Iterable[str], blocks: Blocks) -> str:
    """The digest of all values by name, whatever the order of the columns and the size of the blocks."""
    made = {name: ColumnDigest() for name in names}
    for _, columns in blocks():
        for name, column in columns.items():
            made[name].add(column)
    return digest_of_all("values", *(part for name in sorted(made) for part in (name, made[name].digest())))


# ---- equal rows ----------------------------------------------------------------------------------------------------


def equal_rows(rows: int, blocks: Blocks) -> tuple[int, int] | None:
    """Two rows with the same values, or None; NaN equals NaN, and 0.0 equals -0.0.

    Two passes: the first makes a hash of each row (8 bytes), the second compares the rows whose hashes are equal.
    """
    hashes = np.empty(rows, dtype=np.uint64)
    for first, columns in blocks():
        made = row_hashes(columns)
        hashes[first : first + len(made)] = made
    hashes.sort()
    twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    for start in range(0, len(twice), _LOOKED_AT):
        found = _compared(twice[start : start + _LOOKED_AT], blocks)
        if found is not None:
            return found
    return None


def _compared(wanted: NDArray[np.uint64], blocks: Blocks) -> tuple[int, int] | None:
    """The first row that equals one before it, among those with certain hashes."""
    seen: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for first, columns in blocks():
        hashes = row_hashes(columns)
        for place in np.flatnonzero(np.isin(hashes, wanted)).tolist():
            values = {name: column[place] for name, column in columns.items()}
            others = seen.setdefault(int(hashes[place]), [])
            for row, other in others:
                if all(_equal(value, other[name]) for name, value in values.items()):
                    return row, first + place
            others.append((first + place, {name: np.copy(value) for name, value in values.items()}))
    return None


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def row_hashes(columns: Columns) -> NDArray[np.uint64]:
    """A hash of each row, (n,), that is equal where all values are.

    >>> row_hashes({"a": np.array([0.0, 1.0, -0.0])}).tolist().count(row_hashes({"a": np.array([0.0])})[0])
    2
    """
    rows = len(next(iter(columns.values())))
    found = np.full(rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns.values():
        if column.dtype.kind == "U":
            _mix_texts(found, np.ascontiguousarray(column))
        else:
            for word in _words(column.reshape(rows, -1)):
                _mix(found, word)
    return found


def _words(column: NDArray[Any]) -> Iterator[NDArray[np.uint64]]:
    """Of a column (n, k): one word an entry; of long rows one word a row, as a turn for each entry takes long."""
    if column.shape[1] > _LONG:
        made = b"".join(hashlib.blake2b(_word(row).data, digest_size=8).digest() for row in column)
        yield np.frombuffer(made, "<u8").astype(np.uint64)
    else:
        yield from map(_word, column.T)


def _word(values: NDArray[Any]) -> NDArray[np.uint64]:
    if values.dtype.kind == "f":
        return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)  # minus zero becomes zero
    return values.astype(np.int64).view(np.uint64)


def _mix(into: NDArray[np.uint64], word: NDArray[np.uint64]) -> None:
    """The multiplications and shifts of splitmix64 (Steele, Lea and Flood 2014), in place."""
    into ^= word
    into ^= into >> np.uint64(30)
    into *= np.uint64(0xBF58476D1CE4E5B9)
    into ^= into >> np.uint64(27)
    into *= np.uint64(0x94D049BB133111EB)
    into ^= into >> np.uint64(31)


def _mix_texts(into: NDArray[np.uint64], column: NDArray[Any]) -> None:
    """Letter by letter; what fills a text up to the longest of its block leaves the hash as it is."""
    letters = column.view(np.uint32).reshape(len(column), -1)
    for letter in letters.T:
        there = np.flatnonzero(letter)
        mixed = into[there]
        _mix(mixed, letter[there].astype(np.uint64))
        into[there] = mixed
    _mix(into, np.count_nonzero(letters, axis=1).astype(np.uint64))

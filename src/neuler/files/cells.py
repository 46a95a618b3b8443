"""CSV cell by cell: every name and text comes back as it was; tables of numbers with a header, for other rooms."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError


def write_row(file: IO[str], row: Sequence[Any]) -> None:
    """One row that may hold texts: a carriage return inside one is quoted, as a line feed is.

    >>> import io
    >>> file = io.StringIO()
    >>> write_row(file, ["t", "a" + chr(13) + "b"])
    >>> file.getvalue()
    '"t","a\\rb"\\n'
    """
    every = any(isinstance(cell, str) and "\r" in cell for cell in row)
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL).writerow(row)


def bare(header: Sequence[str], known: Iterable[str]) -> list[str]:
    """Names without the blanks around them, but for those that are known with their blanks.

    >>> bare(["t", " q_a", "q_b "], ["q_b "])
    ['t', 'q_a', 'q_b ']
    """
    taken = set(known)
    return [name if name in taken else name.strip() for name in header]


def numbers_below(path: str | os.PathLike[str], known: Iterable[str]) -> tuple[list[str], NDArray[np.float64]]:
    """The header of a CSV file, and all rows below as numbers; ``known`` names may have blanks around them."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header = bare(next(csv.reader(file), []), known)
            below = file.read()
        rows = np.loadtxt(io.StringIO(below), delimiter=",", ndmin=2) if header and below.strip() else np.zeros((0, 0))
    except (OSError, ValueError, csv.Error) as error:
        raise FormatError(f"cannot be read as a table of numbers: {error}") from None
    if not rows.size:
        raise FormatError("cannot be read as a table of numbers: expected a header, then rows of numbers")
    if rows.shape[1] != len(header):
        raise FormatError(f"has {len(header)} columns in its header and {rows.shape[1]} below")
    return header, rows

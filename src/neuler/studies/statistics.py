"""Numbers that describe a study, gathered part by part: memory does not grow with the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.studies.columns import RESERVED, STATUSES, PartColumn, PartTable

ENTRIES = 12
"""Entries of an array up to which each has statistics of its own."""
_MESSAGES = 10
"""Messages that are listed."""
_DIFFERENT = 10_000
"""Different messages that are counted; others are counted together."""


@dataclass
class Moments:
    """Count, mean, deviation and ends of numbers that come in parts; parts are merged as Chan, Golub and LeVeque do.

    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0, np.nan]), np.array([0, 1, 2]))
    >>> moments.add(np.array([6.0]), np.array([3]))
    >>> moments.mean, moments.max, moments.row_of_max, moments.nan
    (3.0, 6.0, 3, 1)
    """

    count: int = 0
    nan: int = 0
    infinite: int = 0
    finite: int = 0
    squares: float = 0.0
    """Sum of the squared distances from the mean."""
    min: float = math.inf
    max: float = -math.inf
    row_of_min: int | None = None
    row_of_max: int | None = None
    _origin: float = 0.0
    """The first number: means are kept as distances from it, so that numbers far from zero lose no digits."""
    _mean: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the finite numbers; NaN where there is none."""
        return self._origin + self._mean if self.finite else math.nan

    def add(self, values: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Take in numbers (n,) of rows (n,)."""
        x = values.astype(np.float64)
        good = np.isfinite(x)
        self.count += len(x)
        self.nan += int(np.isnan(x).sum())
        self.infinite += int(np.isinf(x).sum())
        x, rows = x[good], rows[good]
        if not len(x):
            return
        if not self.finite:
            self._origin = float(x[0])
        with np.errstate(over="ignore", invalid="ignore"):
            distance = x - self._origin
            mean = float(np.mean(distance))
            share = len(x) / (self.finite + len(x))
            apart = mean - self._mean
            self.squares += float(np.sum((distance - mean) ** 2)) + apart * apart * share * self.finite
            self._mean += apart * share
        self.finite += len(x)
        low, high = int(np.argmin(x)), int(np.argmax(x))
        if x[low] < self.min:
            self.min, self.row_of_min = float(x[low]), int(rows[low])
        if x[high] > self.max:
            self.max, self.row_of_max = float(x[high]), int(rows[high])

    def told(self, done: int) -> dict[str, Any]:
        """Plain numbers of so many rows; None for what is not finite."""
        deviation = math.sqrt(self.squares / self.finite) if self.finite and self.squares >= 0 else math.nan
        return {
            "count": self.count,
            "missing": done - self.count,
            "nan": self.nan,
            "infinite": self.infinite,
            "min": plain(self.min),
            "mean": plain(self.mean),
            "std": plain(deviation),
            "max": plain(self.max),
            "row_of_min": self.row_of_min,
            "row_of_max": self.row_of_max,
        }


def plain(x: float) -> float | None:
    """The number; None where it is not finite."""
    return float(x) if math.isfinite(x) else None


def entry_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of all entries of an array, the last axis varying fastest; of a number, its own.

    >>> entry_names("peak", (2,)), entry_names("peak", ()), entry_names("inertia", (1, 2))
    (['peak[0]', 'peak[1]'], ['peak'], ['inertia[0,0]', 'inertia[0,1]'])
    """
    return [f"{name}[{','.join(map(str, place))}]" if shape else name for place in np.ndindex(*shape)]


@dataclass
class Statistics:
    """What is known of all parts that were added."""

    done: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    columns: dict[str, Moments] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    """Results without statistics (texts, long arrays, shapes that differ): how many rows have one."""
    _messages: Counter[tuple[str, str]] = field(default_factory=Counter)
    _first: dict[tuple[str, str], int] = field(default_factory=dict)
    _uncounted: int = 0

    @classmethod
    def of(cls, tables: Iterable[PartTable]) -> Statistics:
        """Of all parts of a study."""
        found = cls()
        for table in tables:
            found.add(table)
        return found

    def add(self, table: PartTable) -> None:
        """Take in one part."""
        self.done += len(table)
        rows = table.columns["row"].values
        self._ended(table, rows)
        for name, column in table.columns.items():
            if name not in (*RESERVED, *table.settings):
                self._result(name, column, rows)

    def _ended(self, table: PartTable, rows: NDArray[np.int64]) -> None:
        status = table.columns["status"]
        for word, count in zip(status.words or (), np.bincount(status.values, minlength=1), strict=False):
            self.counts[word] = self.counts.get(word, 0) + int(count)
        if "message" not in table.columns:
            return
        bad = np.array([word != "ok" for word in status.words or ()], dtype=bool)[status.values]
        some = table.only(bad)
        told = zip(some.columns["status"].texts(), some.columns["message"].texts(), rows[bad].tolist(), strict=True)
        for state, message, row in told:
            key = state, message
            if key not in self._first:
                if len(self._first) >= _DIFFERENT:
                    self._uncounted += 1
                    continue
                self._first[key] = row
            self._messages[key] += 1

    def _result(self, name: str, column: PartColumn, rows: NDArray[np.int64]) -> None:
        shape = column.values.shape[1:]
        there = column.present
        if column.words is not None or column.shapes is not None or not 0 < math.prod(shape) <= ENTRIES:
            self.others[name] = self.others.get(name, 0) + int(there.sum())
            return
        flat = column.values[there].reshape(int(there.sum()), -1)
        for k, entry in enumerate(entry_names(name, shape)):
            self.columns.setdefault(entry, Moments()).add(flat[:, k], rows[there])

    def messages(self) -> list[dict[str, Any]]:
        """The most common messages of rows that are not ok: status, message, how many rows, and the first of them."""
        found: list[dict[str, Any]] = [
            {"status": key[0], "message": key[1], "count": count, "row": self._first[key]}
            for key, count in self._messages.most_common(_MESSAGES)
        ]
        left = self._uncounted + sum(self._messages.values()) - sum(each["count"] for each in found)
        if left:
            found.append({"status": "", "message": "other messages", "count": left, "row": None})
        return found

    def results(self) -> dict[str, dict[str, Any]]:
        """Statistics of every result by name; of results without, only how many rows have one."""
        found = {name: moments.told(self.done) for name, moments in self.columns.items()}
        return found | {name: {"count": count, "missing": self.done - count} for name, count in self.others.items()}

"""The results of a study: its table, what failed, statistics, and pictures."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.inputs import names as names_of
from neuler.inputs import whole
from neuler.naming import hint
from neuler.plain import columns as aligned
from neuler.plain import count, number, safe, shown
from neuler.studies.columns import RESERVED, PartTable, decode, joined
from neuler.studies.statistics import Statistics, entry_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Names = str | Sequence[str]
_SHOWN = 8
"""Results that are described where a study is printed."""
_FIRST = 5
"""Rows that a notebook shows."""
_CELL = "text-align:left;padding-right:1em"


class StoredPart(Protocol):
    """A file with the rows ``first`` to ``last - 1`` of a study."""

    @property
    def first(self) -> int:
        """The number of its first row."""
        ...

    @property
    def last(self) -> int:
        """The number after that of its last row."""
        ...

    @property
    def kind(self) -> str:
        """One of ``neuler.studies.columns.KINDS``."""
        ...

    def read(self) -> bytes:
        """The bytes of the file."""
        ...


class Study:
    """The results of a study: they stay on disk, and are read when they are asked for.

    ``rows`` is the number of rows of the whole study, as is ``len(study)``; some of them may not be done yet. Columns
    are ``row``, the settings, what the task returned, ``status`` ("ok", "failed", "timeout", "killed") and ``message``.
    """

    def __init__(
        self, folder: Path, rows: int, names: tuple[str, ...], parts: Sequence[StoredPart],
        notes: tuple[str, ...] = (), *, before: int | None = None, seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self.folder = Path(folder)
        self.rows = rows
        self.names = tuple(names)
        """Names of the settings."""
        self.notes = tuple(notes)
        """Remarks, each a sentence: what was resumed, settings that the task does not use."""
        self._parts = tuple(parts)
        self.computed = 0 if before is None else self.done - before
        """Rows that the call of ``neuler.study`` computed; the others were there. 0 where the study was loaded."""
        self.seconds = seconds
        """That this took."""

    def __len__(self) -> int:
        return self.rows

    @property
    def done(self) -> int:
        """Number of rows that have been computed, with or without success."""
        return sum(part.last - part.first for part in self._parts)

    @property
    def complete(self) -> bool:
        """Whether all rows are done."""
        return self.done == self.rows

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of rows that ended with each status."""
        return Statistics.of(self._read(("status",))).counts

    # ---- tables ----------------------------------------------------------------------------------------------------

    def table(self, columns: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """The rows that are done, in order: an array (n, ...) for every column, or for the named ``columns``.

        Rows without a result (failed, or without this key) have NaN there, None among truth values, "" among texts;
        whole numbers become floats beside them. Arrays whose shapes differ come as an array of objects, (n,). A column
        of texts has the type str, or is an array of objects where one long text would make all others as long.
        """
        if columns is None:
            return joined(list(self._read())) or self._empty()
        chosen = names_of("Study.table: columns", columns)
        return self._chosen(chosen, list(self._read(chosen)))

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, NDArray[Any]]]:
        """The table part by part, for studies that do not fit into memory.

        Types and columns are those of each part: a result that no row of a part has is not in its table.
        """
        chosen = None if columns is None else names_of("Study.tables: columns", columns)
        seen: set[str] = set()
        for part in self._read(chosen):
            found = joined([part])
            seen |= set(found)
            yield found if chosen is None else {name: found[name] for name in chosen if name in found}
        if chosen is not None:
            self._known(chosen, seen)

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """The table as a pandas DataFrame; arrays become one column per entry: ``peak[0]``, ``peak[1]``, ..."""
        if importlib.util.find_spec("pandas") is None:
            raise ImportError("Study.to_pandas needs pandas: pip install pandas")
        flat: dict[str, NDArray[Any]] = {}
        for name, values in self.table(columns).items():
            if values.ndim == 1:
                flat[name] = values
                continue
            shape = values.shape[1:]
            entries = values.reshape(len(values), math.prod(shape)).T
            flat |= dict(zip(entry_names(name, shape), entries, strict=True))
        return importlib.import_module("pandas").DataFrame(flat)

    def failures(self, most: int | None = None) -> dict[str, NDArray[Any]]:
        """The rows that are not ok, at most ``most`` of them: row, settings, status and message."""
        left = None if most is None else whole("Study.failures: most", most, 0)
        found: list[PartTable] = []
        for part in self._read((*RESERVED, *self.names)):
            bad = np.flatnonzero(np.array(part.columns["status"].texts()) != "ok")[:left]
            rows = np.zeros(len(part), dtype=bool)
            rows[bad] = True
            if len(bad):
                found.append(part.only(rows))
            if left is not None:
                left -= len(bad)
                if not left:
                    break
        return joined(found) or self._empty()

    def _empty(self) -> dict[str, NDArray[Any]]:
        texts = {name: np.zeros(0, dtype=str) for name in RESERVED[1:]}
        return {"row": np.zeros(0, dtype=np.int64)} | {name: np.zeros(0) for name in self.names} | texts

    def _chosen(self, chosen: Sequence[str], parts: Sequence[PartTable]) -> dict[str, NDArray[Any]]:
        found = joined(parts) or self._empty()
        self._known(chosen, found)
        return {name: found[name] for name in chosen}

    def _known(self, chosen: Sequence[str], found: Collection[str]) -> None:
        """Refuse names that no part has."""
        for name in chosen:
            if name not in found:
                known = list(dict.fromkeys([*self._empty(), *(name for part in self._read() for name in part.columns)]))
                raise InputError(f"the study in {str(self.folder)!r} has no column {name!r}; {hint(name, known)}")

    def _read(self, names: Sequence[str] | None = None) -> Iterator[PartTable]:
        """Every part, or some columns of it and the rows; what is wrong with a part is told with its rows."""
        wanted = None if names is None else {*names, "row"}
        for part in self._parts:
            try:
                table = decode(part.read(), part.kind, wanted)
                rows = table.columns["row"].values if "row" in table.columns else np.zeros(0)
                if not np.array_equal(rows, np.arange(part.first, part.last)):
                    raise FormatError("a part of a study has other rows than its name says")
            except FormatError as error:
                raise FormatError(
                    f"{self.folder}: rows {part.first} to {part.last - 1}: {error}; start the study again with this "
                    "folder, and they are computed again"
                ) from None
            yield table

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite.

        ``messages`` are the ten most common ones with the first row of each. ``results`` has, for every number that the
        task returned (also for each entry of arrays with at most twelve): ``count``, ``missing``, ``nan`` and
        ``infinite`` rows, and of the finite values ``min``, ``mean``, ``std`` (of the population, as in NumPy),
        ``max``, ``row_of_min`` and ``row_of_max``. Truth values count as 0 and 1. Parts are read one after another.
        """
        found = Statistics.of(self._read())
        return {
            "folder": str(self.folder),
            "rows": self.rows,
            "done": found.done,
            "complete": self.complete,
            "counts": found.counts,
            "messages": found.messages(),
            "results": found.results(),
            "notes": list(self.notes),
        }

    # ---- pictures --------------------------------------------------------------------------------------------------

    def plot(self, y: Names | None = None, x: Names | None = None, *, figure: Figure | None = None) -> Figure:
        """Results over settings, as a matplotlib figure; rows that failed are marked and counted in the title.

        A map where two settings form a grid, a curve over one setting, points over each of several settings, or the
        distribution of results where no setting is a number that varies. ``y`` and ``x`` choose columns, or entries of
        arrays such as "peak[2]"; two names for ``x`` ask for a map, an empty list for distributions. Arrays are drawn
        as one curve an entry, or as the distribution of each entry. Beyond 20,000 rows a part of them is drawn, which
        the title says.

        Notebooks show the figure, and ``matplotlib.pyplot.show()`` knows it. ``figure``: an empty one to draw into
        instead; it gets the size that it needs.
        """
        from neuler.studies.pictures import draw

        look = None  # the first part in which a row is ok, or the first one
        for part in self._read():
            look = part if look is None else look
            if "ok" in part.columns["status"].texts():
                look = part
                break
        drawn: Figure = draw(self, look, y, x, figure)
        return drawn

    def sample(self, columns: Sequence[str], most: int) -> dict[str, NDArray[Any]]:
        """Some columns of about ``most`` rows, chosen at random, the same ones every time.

        Parts are read one after another, so that memory does not grow with the study.
        """
        chosen = names_of("Study.sample: columns", columns)
        share = whole("Study.sample: most", most, 1) / max(self.done, 1)
        parts = self._read(chosen)
        if share >= 1.0:
            return self._chosen(chosen, list(parts))
        return self._chosen(chosen, [part.only(_drawn(part.columns["row"].values, share)) for part in parts])

    # ---- words -----------------------------------------------------------------------------------------------------

    def _facts(self) -> str:
        try:
            ended = [f"{n:,} {status}" for status, n in self.counts.items() if n]
        except FormatError:  # what only prints a study does not stop for it
            ended = ["a part cannot be read"]
        done = "" if self.complete else f", {self.done:,} done"
        return f"{self.rows:,} row{'s' * (self.rows != 1)}{done}{': ' * bool(ended)}{', '.join(ended)}"

    def __repr__(self) -> str:
        """A line: how many rows, how they ended, where they are."""
        return f"<study in {shown(str(self.folder))!r}, {self._facts()}>"

    def __str__(self) -> str:
        """A few lines: how rows ended, the most common failure, and the range of the first results."""
        found = Statistics.of(self._read())
        lines = [f"study in {shown(str(self.folder))}: {self._facts()}"]
        if self.computed and self.seconds > 0.0:
            rate = number(self.computed / self.seconds, 3)
            lines.append(f"computed now: {count(self.computed, 'row')} in {self.seconds:.1f} s, {rate} a second")
        for each in found.messages()[:1]:
            lines.append(f"most common failure ({count(each['count'], 'row')}): {shown(each['message'])[:200]}")
        lines.append(f"settings: {', '.join(map(shown, self.names))}")
        numbers = [(name, x) for name, x in found.results().items() if "min" in x]
        numbers.sort(key=lambda each: each[1]["min"] == each[1]["max"])  # those that vary come first
        rows = [
            [name, *(number(x.get(key), 4) for key in ("min", "mean", "max")), str(x["nan"] or "")]
            for name, x in numbers
        ]
        if rows:
            lines.append(aligned(("result", "least", "mean", "most", "NaN"), safe(rows[:_SHOWN])))
        if len(rows) > _SHOWN:
            lines.append(f"and {count(len(rows) - _SHOWN, 'result')} more")
        return "\n".join([*lines, *(f"note: {shown(note)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """For notebooks: how rows ended, and the first of them."""
        from neuler.view.html import join, tag

        part = next(self._read(), None)
        found = {} if part is None else joined([part.only(np.arange(len(part)) < _FIRST)])
        head = tag("tr", *(tag("th", name, style=_CELL) for name in found))
        rows = 0 if part is None else min(_FIRST, len(part))
        cells = [[tag("td", _cell(values[k]), style=_CELL) for values in found.values()] for k in range(rows)]
        facts = tag("p", tag("b", str(self.folder)), f": {self._facts()}")
        notes = [tag("p", f"note: {note}") for note in self.notes]
        return tag(
            "div", facts, *notes, tag("table", tag("thead", head), tag("tbody", join(tag("tr", *row) for row in cells)))
        )


def _drawn(rows: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Which rows are drawn, (n,), by a hash of their numbers (SplitMix64): strides of a grid do not meet its own."""
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) < np.uint64(share * 2.0**64)


def _cell(value: Any) -> str:
    """A value of a table, short."""
    if isinstance(value, float | np.floating):
        return f"{value:.5g}"
    text = str(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."

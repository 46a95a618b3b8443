"""Rows of a study where they are computed: the task is called with the settings of a row, or of many rows at once."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.naming import hint
from neuler.studies.columns import Outcome, encode, problem_of, problem_of_batch, table_of
from neuler.studies.returned import cleaned
from neuler.studies.settings import Settings
from neuler.version import __version__

OFTEN = 0.5
"""Seconds between two reports of rows that are done: lost when the process dies. They cost as much as a short row."""
MOST_TEXT = 500
"""Characters of a message."""


class Setting(dict[str, Any]):
    """The settings of a row by their names; the error of an unknown name suggests the nearest one.

    >>> Setting(payload=2.0)["paylod"]
    Traceback (most recent call last):
    KeyError: "there is no setting 'paylod'; did you mean 'payload'?"
    """

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"there is no setting {name!r}; {hint(name, self)}")


class Generators(Sequence[np.random.Generator]):
    """The random number generators of many rows, each made when it is asked for.

    That of a row follows from the seed of the study and the number of the row, however the rows are spread:
    ``numpy.random.SeedSequence(seed).spawn(rows)[row]``.

    >>> one, other = Generators(7, 0, 10), Generators(7, 3, 2)
    >>> one[4].random() == other[1].random()
    True
    """

    def __init__(self, seed: int, first: int, count: int) -> None:
        self._seed, self._rows = seed, range(first, first + count)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._made(row) for row in self._rows[place]]
        return self._made(self._rows[place])

    def _made(self, row: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(row,)))


@dataclass(frozen=True)
class RowRequest:
    """Rows to compute: those of ``settings`` from ``begin`` on."""

    first: int
    """The number of the first row of the settings in the study."""
    settings: Settings
    begin: int = 0
    batch: bool = False
    """Whether the task is called once with all rows."""
    each: bool = False
    """Whether every row is reported when it is done, so that it is known which one a process died of."""


@dataclass(frozen=True)
class Computed:
    """Rows of a part that are done: the bytes of its file and how many rows ended how."""

    data: bytes
    counts: Mapping[str, int]
    seconds: float
    """Computing time."""


@dataclass(frozen=True)
class RowTask:
    """What the processes of a study do: a function of a :class:`RowRequest`."""

    task: Callable[..., Any]
    batched: bool
    random: bool
    """Whether the task takes a generator beside the settings."""
    seed: int
    kind: str
    """Of the part files: "parquet" or "npz"."""
    names: tuple[str, ...]
    """Of the settings."""
    here: bool = False
    """Whether the rows are computed in the process of the user, whose Ctrl-C ends them."""
    version: str = field(default=__version__)

    def __call__(self, request: RowRequest, report: Callable[[Any], None]) -> Computed | list[Outcome] | str:
        """Compute the rows; report outcomes of some of them while others are computed.

        Returns the finished part if all of its rows were asked for, else the outcomes that were not yet reported; of a
        batch that failed, why.
        """
        if self.version != __version__:
            raise InputError(
                f"a worker has neuler {__version__} and the study was started with {self.version}: install the same "
                "version on all machines"
            )
        began, columns = time.perf_counter(), request.settings.columns()
        if request.batch:
            found = self._batch(request, columns)
            if isinstance(found, str):
                return found
            return part(self.kind, request.first, columns, found, time.perf_counter() - began)
        outcomes: list[Outcome] = []
        told, last = 0, time.perf_counter()
        for place in range(request.begin, len(request.settings)):
            try:
                outcomes.append(self._row(request.first, columns, place, not outcomes))
            except MemoryError:
                report(outcomes[told:])
                raise
            if request.each or time.perf_counter() - last > OFTEN:
                report(outcomes[told:])
                told, last = len(outcomes), time.perf_counter()
        if request.begin:
            return outcomes[told:]
        return part(self.kind, request.first, columns, outcomes, time.perf_counter() - began)

    def _batch(self, request: RowRequest, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | str:
        """What the task returns for all rows at once, by name; why it cannot be used where it cannot."""
        rows = len(request.settings)
        return self._called(columns, slice(0, rows), Generators(self.seed, request.first, rows))

    def _row(self, first: int, columns: Mapping[str, NDArray[Any]], place: int, alone: bool) -> Outcome:
        """How a row ends; a MemoryError goes on where others are kept, as it may be theirs: the row is tried alone."""
        generators = Generators(self.seed, first + place, 1)
        if self.batched:
            found = self._called(columns, slice(place, place + 1), generators, alone)
            values = found if isinstance(found, str) else {name: np.array(value[0]) for name, value in found.items()}
        else:
            values = self._called(columns, place, generators[0] if self.random else None, alone)
        return Outcome("failed", values, None) if isinstance(values, str) else Outcome("ok", "", values)

    def _called(
        self, columns: Mapping[str, NDArray[Any]], place: Any, generators: Any, alone: bool = True
    ) -> dict[str, Any] | str:  # fmt: skip
        """What the task returns for a row, or for a slice of rows; what went wrong, in words, where something did.

        It is given copies, which it may change, and what it returns for a row is copied, as it may write its next
        answer into the same array. Whatever it raises is about these rows alone; only the user's Ctrl-C goes further.
        """
        try:
            setting = Setting({name: _value(values[place]) for name, values in columns.items()})
            values = self.task(setting, *((generators,) * self.random))
            if not self.batched:
                return problem_of(values, self.names) or cleaned(values)
            rows = place.stop - place.start
            return problem_of_batch(values, rows, self.names) or {
                str.__str__(name): np.asarray(value) for name, value in values.items()
            }
        except BaseException as error:
            if self.here and isinstance(error, KeyboardInterrupt):
                raise
            if isinstance(error, MemoryError):
                if not (alone or self.here):
                    raise
                gc.collect()
            return _told(error)


def _value(value: Any) -> Any:
    """A number or text of Python where it is one of NumPy; a copy of a vector, which the task may change."""
    return value.copy() if isinstance(value, np.ndarray) else value.item()


def _told(error: BaseException) -> str:
    """What went wrong, and where in the user's code."""
    try:
        said = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    except Exception:  # texts are made by code of the user's too
        said = "a message that cannot be shown"
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            place = f" ({code.co_filename.rpartition('/')[2]}, line {trace.tb_lineno})"
            break
        trace = trace.tb_next
    return text[:MOST_TEXT] + place


def part(
    kind: str, first: int, columns: Mapping[str, NDArray[Any]], found: list[Outcome] | dict[str, NDArray[Any]],
    seconds: float,
) -> Computed:  # fmt: skip
    """A part of the study as a file of a kind."""
    rows = len(next(iter(columns.values())))
    counts = Counter(each.status for each in found) if isinstance(found, list) else {"ok": rows}
    return Computed(encode(table_of(first, columns, found), kind), dict(counts), seconds)

"""Chunks of a study: how large they are, and what becomes of their rows in processes that may die."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from neuler.errors import NeulerError
from neuler.studies.columns import Outcome
from neuler.studies.rows import Computed, RowRequest, RowTask, part
from neuler.studies.settings import Settings
from neuler.workers.jobs import Job
from neuler.workers.processes import Dismissed, Ended, TimedOut, borrowed

DEATHS = 3
"""Processes that may die of a row before it is given up: what killed them may have been meant for the process."""
STARTS = 5
"""Processes that may end before they have loaded the task."""
KILLED_STARTS = 25
"""The same, of processes that somebody killed (SIGKILL): that is not the task's doing, and may be over soon."""


@dataclass(frozen=True)
class Chunk:
    """Rows of a study that are computed together and written to one file."""

    first: int
    settings: Settings

    @property
    def last(self) -> int:
        """The row behind its last one."""
        return self.first + len(self.settings)


@dataclass(frozen=True)
class ChunkWork:
    """What is sent to the workers of a study with every chunk."""

    job: Job
    """Whose function is :class:`~neuler.studies.rows.RowTask`."""
    kind: str
    """Of the part files."""
    batched: bool
    timeout: float | None


def compute(work: ChunkWork, chunk: Chunk, attempt: int) -> Computed:
    """All rows of a chunk, each with its status; ``attempt`` makes a call that is sent again differ from the first.

    Rows run in a process that can be killed. A batch that fails is repeated row by row. A row whose process died is
    tried again, and given up after ``DEATHS`` processes.
    """
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    batch, each = work.batched, work.timeout is not None
    suspect, deaths, lost = -1, 0, 0
    while len(outcomes) < len(chunk.settings):
        started = False
        try:
            with borrowed(work.job) as process:
                started, lost = True, 0
                request = RowRequest(chunk.first, chunk.settings, len(outcomes), batch, each)
                answer = process.call(request, report=outcomes.extend, limit=work.timeout)
        except TimedOut:
            if not batch and len(outcomes) < len(chunk.settings):  # else all rows are done, and their file was late
                outcomes.append(Outcome("timeout", f"took longer than {work.timeout:g} s", None))
            batch = False
        except (NeulerError, Dismissed):
            raise
        except Exception as error:  # the process ended, or could not do what it does around the task
            if not started:
                if not isinstance(error, Ended):
                    raise
                lost += 1
                if lost >= (KILLED_STARTS if error.code == -9 else STARTS):
                    raise NeulerError(f"processes end before they have loaded the task: {error}") from None
                continue
            deaths = deaths + 1 if suspect == len(outcomes) else 1
            suspect, batch, each = len(outcomes), False, True
            if deaths >= DEATHS and len(outcomes) < len(chunk.settings):
                told = str(error) if isinstance(error, Ended) else f"the process failed with {type(error).__name__}"
                outcomes.append(Outcome("killed", f"{told}, {DEATHS} times{_limit(work.job)}", None))
                each = work.timeout is not None
        else:
            if isinstance(answer, Computed):
                return answer
            if isinstance(answer, str):
                batch = False
            else:
                outcomes.extend(answer)
    return part(work.kind, chunk.first, chunk.settings.columns(), outcomes, time.perf_counter() - began)


def _limit(job: Job) -> str:
    return "" if job.memory is None else f"; its memory is limited to {job.memory / 1e6:.6g} MB"


def compute_here(rows: RowTask, chunk: Chunk, attempt: int) -> Computed:
    """All rows of a chunk, in this process."""
    answer: Any = ""
    if rows.batched:
        answer = rows(RowRequest(chunk.first, chunk.settings, batch=True), _ignore)
    if isinstance(answer, str):
        answer = rows(RowRequest(chunk.first, chunk.settings), _ignore)
    assert isinstance(answer, Computed)
    return answer


def _ignore(outcomes: Any) -> None:
    """Nobody is told of rows that are done in this process."""


# ---- how many rows --------------------------------------------------------------------------------------------------

TIME = 1.0
"""Seconds that a chunk is to take: short enough to lose little, long enough that handing it out costs nothing."""
HANDED_OUT = 2.5e-3
"""Seconds that a scheduler takes for a chunk, about: with many workers chunks are longer, so that it keeps up."""
MOST_ROWS = 65_536
FIRST_ROWS = 1_024
"""Rows of the first chunks of a batched task."""
MOST_BYTES = 2**23
"""Bytes of a part file."""
ALL_BYTES = 2**28
"""Bytes of all parts that are being computed."""
LANES = 64
"""Batches are multiples of this, so that no lane of a vector is idle."""


class Cutter:
    """Cuts the rows that are to be computed into chunks, by what earlier ones took."""

    def __init__(
        self, settings: Settings, missing: list[tuple[int, int]], size: int | None, batched: bool,
        workers: Callable[[], int],
    ) -> None:  # fmt: skip
        self._settings, self._missing = settings, list(reversed(missing))
        self._left = sum(last - first for first, last in missing)
        self._fixed, self._batched, self._workers = size, batched, workers
        self._size = FIRST_ROWS if batched else 1

    def __iter__(self) -> Iterator[Chunk]:
        while self._missing:
            first, last = self._missing.pop()
            cut = min(last, first + self._next())
            if cut < last:
                self._missing.append((cut, last))
            self._left -= cut - first
            yield Chunk(first, self._settings.part(first, cut))

    def _next(self) -> int:
        if self._fixed is not None:
            return self._fixed
        share = -(-self._left // (2 * self._workers()))  # at the end small ones, so that all workers end together
        size = min(self._size, max(share, FIRST_ROWS if self._batched else 1))
        return -(-size // LANES) * LANES if self._batched else size

    def learn(self, rows: int, seconds: float, size: int) -> None:
        """From a chunk of so many rows: the seconds that it took, and the bytes that came out."""
        workers = self._workers()
        target = max(TIME, 2 * HANDED_OUT * workers)
        most = min(MOST_BYTES, max(ALL_BYTES // (2 * workers), 2**18))
        fitting = min(target * rows / max(seconds, 1e-9), most * rows / max(size, 1), MOST_ROWS)
        self._size = max(1, min(int(fitting), 8 * max(rows, self._size)))

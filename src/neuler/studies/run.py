"""``neuler.study``: a task for every row of a table of settings, on all cores or on many machines."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuler.errors import InputError
from neuler.files.problems import Problem
from neuler.inputs import number, told, whole
from neuler.progress import progress_bar
from neuler.studies.chunks import ChunkWork, Cutter, compute, compute_here
from neuler.studies.folder import Folder, described, ordered, parts_in
from neuler.studies.identity import check_names, identity_of, takes_generator
from neuler.studies.problems import ProblemTask, problem_task
from neuler.studies.result import Study
from neuler.studies.rows import Computed, RowTask
from neuler.studies.settings import Settings, settings_of
from neuler.version import __version__
from neuler.workers.engines import Engine, engine_of, spread
from neuler.workers.jobs import can_limit_memory, job_of
from neuler.workers.processes import dismiss

HEAVY = 2**20
"""Bytes of a pickled task above which a note says that it is large: it is sent with every chunk."""


class StudyStopped(KeyboardInterrupt):
    """Raised when Ctrl-C or a progress function stops a study; its ``study`` has the rows that were computed."""

    def __init__(self, study: Study) -> None:
        super().__init__(
            f"study stopped: {study.done:,} of {study.rows:,} rows are in {str(study.folder)!r}; run it again to go on"
        )
        self.study = study


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is; a progress function is called with it after every part."""

    done: int
    """Number of rows in the folder."""
    rows: int
    """Number of rows of the study."""
    counts: Mapping[str, int]
    """How many of the rows computed since the call ended with each status."""
    seconds: float
    """Seconds since the call."""
    computed: int
    """Number of rows computed since the call."""

    @property
    def rate(self) -> float:
        """Rows computed per second."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float:
        """Expected seconds until the end."""
        return (self.rows - self.done) / self.rate if self.rate else float("inf")


def study(
    task: Any,
    settings: Any,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    executor: Any = None,
    scheduler: str | None = None,
    seed: int = 0,
    chunk: int | None = None,
    timeout: float | None = None,
    batched: bool = False,
    memory: int | None = None,
    resume: bool = True,
    progress: Any = None,
) -> Study:
    """Run a task for every row of a table of settings; the results stream into a folder.

    ``task(setting)`` takes the settings of a row, a dict, and returns a dict of numbers, truth values, texts or arrays.
    A task with a second argument is given a ``numpy.random.Generator``, which depends on ``seed`` and the row alone.
    With ``batched`` it takes many rows at once, arrays (n, ...) by name and a sequence of n generators, and returns
    arrays (n, ...). The path of a problem file (TOML) is a task too; its settings are named like "simulate.step".

    ``settings``: a list of dicts, a dict of columns, a record array, a data frame, a CSV or Parquet file, or what
    ``neuler.studies.product``, ``random``, ``sobol`` and ``latin_hypercube`` make.

    Rows run in ``workers`` processes (default: one per core; 0: in this process, to debug a task), through an
    ``executor`` (a ``concurrent.futures.Executor``, or a function that makes one), or on the workers of a Dask
    ``scheduler`` ("tcp://host:8786"). The results do not depend on that, nor on ``chunk``, the number of rows in a part
    file (default: about one second of work). ``timeout`` limits the seconds of one call of the task, including what it
    compiles; ``memory`` limits the bytes that a process may take for its rows (Linux only).

    A row that raises, takes too long or kills its process is stored with its ``status`` ("failed", "timeout", "killed")
    and a message, and the others go on. A study that was stopped continues when it is called again with the same task,
    settings, seed and folder; ``resume=False`` refuses a folder that has a study. ``progress``: None or True shows a
    bar on a terminal or in a notebook, False nothing; a function is called with a :class:`StudyProgress` after every
    part, and stops the study by returning False.

    >>> import neuler, tempfile
    >>> def task(setting):
    ...     arm = neuler.robots.two_link()
    ...     return {"tau": arm.inverse_dynamics([setting["q1"], 0.0], [0.0, 0.0], [0.0, 0.0])}
    >>> folder = tempfile.mkdtemp()
    >>> found = neuler.study(task, neuler.studies.product(q1=[0.0, 0.5, 1.0]), folder, workers=0, progress=False)
    >>> found.table()["tau"].shape, found.counts["ok"]
    ((3, 2), 3)
    """
    asked = _Asked.of(task, settings, workers, executor, scheduler, seed, chunk, timeout, batched, memory)
    asked.check()
    taken = Folder(folder, asked.identity(), bool(resume))
    try:
        missing = taken.missing(len(asked.settings))
        notes = asked.notes + _resumed(taken, len(asked.settings), missing)
        if missing:
            _run(asked, taken, missing, notes, progress)
        return _study(taken, asked.settings, notes)
    finally:
        taken.close()


def load(folder: str | os.PathLike[str]) -> Study:
    """The study in a folder, with the rows that have been computed.

    >>> import neuler, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = neuler.study(lambda s: {"y": 2 * s["x"]}, [{"x": 1.0}], folder, workers=0, progress=False)
    >>> neuler.studies.load(folder).table()["y"].tolist()
    [2.0]
    """
    path = Path(folder).absolute()
    known = described(path) if path.is_dir() else {}
    if not known:
        raise InputError(f"{str(path)!r} has no study")
    return Study(path, int(known["rows"]), tuple(known["names"]), parts_in(path))


# ---- what is asked for ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """The arguments of a study, checked."""

    task: Callable[..., Any]
    settings: Settings
    engine: Callable[[], Engine]
    here: bool
    seed: int
    chunk: int | None
    timeout: float | None
    batched: bool
    memory: int | None
    kind: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, task: Any, settings: Any, workers: Any, executor: Any, scheduler: Any, seed: Any, chunk: Any,
        timeout: Any, batched: Any, memory: Any,
    ) -> _Asked:  # fmt: skip
        if isinstance(task, str | os.PathLike | Problem):
            task = problem_task(task)
        if not callable(task):
            raise InputError(
                f"study: task must be a function of the settings of a row, or a problem file, got {told(task)}"
            )
        here = workers == 0 and not isinstance(workers, bool)
        if here:
            other = {"executor": executor, "scheduler": scheduler, "timeout": timeout, "memory": memory}
            for name, given in other.items():
                if given is not None:
                    raise InputError(f"study: {name} needs rows in other processes, and workers is 0")
        kind = "npz" if importlib.util.find_spec("pyarrow") is None else "parquet"
        return cls(
            task, settings_of(settings), lambda: engine_of("study", workers, executor, scheduler), here,
            whole("study: seed", seed, 0), None if chunk is None else whole("study: chunk", chunk, 1),
            None if timeout is None else number("study: timeout", timeout, above=0.0, unit="s"), bool(batched),
            None if memory is None else int(number("study: memory", memory, least=2.0**20, unit="bytes")),
            kind,
        )  # fmt: skip

    @property
    def random(self) -> bool:
        """Whether the task takes a generator."""
        return takes_generator(self.task)

    def rows(self) -> RowTask:
        """What is done for every row."""
        return RowTask(self.task, self.batched, self.random, self.seed, self.kind, self.settings.names, self.here)

    def check(self) -> None:
        """Refuse what cannot work, before anything is done."""
        if isinstance(self.task, ProblemTask):
            self.notes.extend(self.task.check(self.settings))
        else:
            self.notes.extend(check_names(self.task, self.settings.names))
        twice = None if self.random or self.settings.drawn else self.settings.duplicate()
        if twice is not None:
            raise InputError(
                f"study: rows {twice[0]} and {twice[1]} have the same settings, and the task takes no generator that "
                "would let them differ: remove one, or give the task a second argument"
            )
        if self.memory is not None and not can_limit_memory():
            self.notes.append("memory has no effect: this system does not limit the address space of a process")

    def identity(self) -> dict[str, Any]:
        """What tells this study from others."""
        return {
            **identity_of(self.task), "neuler": __version__, "batched": self.batched, "seed": self.seed,
            "rows": len(self.settings), "settings": self.settings.fingerprint(), "names": list(self.settings.names),
            "kind": self.kind,
        }  # fmt: skip


# ---- the run -------------------------------------------------------------------------------------------------------


def _run(asked: _Asked, folder: Folder, missing: list[tuple[int, int]], notes: list[str], progress: Any) -> None:
    rows, job = asked.rows(), None
    function: Callable[..., Computed] = compute_here
    common: Any = rows
    engine = Engine(_Here(), lambda: 1)
    if not asked.here:
        job = job_of("study: the task", rows, asked.memory, here="take workers=0, which stays in this process")
        if len(job.function) > HEAVY:
            notes.append(
                f"the task has {len(job.function) / 1e6:.1f} MB as it goes to the workers, with every chunk: leave "
                "large arrays out of it, and send what they are made of"
            )
        function, common = compute, ChunkWork(job, asked.kind, asked.batched, asked.timeout)
        engine = asked.engine()
    try:
        _told(notes, progress)
        cutter = Cutter(asked.settings, missing, asked.chunk, asked.batched, engine.workers)
        with _reporting(progress, folder, len(asked.settings)) as report:
            for chunk, computed in spread(engine, function, common, iter(cutter)):
                folder.add(chunk.first, chunk.last, asked.kind, computed.data)
                rows_done = chunk.last - chunk.first
                cutter.learn(rows_done, computed.seconds, len(computed.data))
                if report(rows_done, computed) is False:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise StudyStopped(_study(folder, asked.settings, notes)) from None
    finally:
        if job is not None:
            dismiss(job)
        engine.close()


class _Here(Executor):
    """Runs a call at once, in this thread."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def _study(folder: Folder, settings: Settings, notes: list[str]) -> Study:
    return Study(
        folder.path, len(settings), settings.names, ordered(folder.parts), tuple(notes), before=folder.before,
        seconds=time.perf_counter() - folder.taken,
    )  # fmt: skip


def _resumed(folder: Folder, rows: int, missing: list[tuple[int, int]]) -> list[str]:
    """What is there already, and what will be done."""
    left = sum(last - first for first, last in missing)
    notes = []
    if folder.damaged:
        lost = sum(part.last - part.first for part in folder.damaged)
        notes.append(f"{len(folder.damaged)} damaged part files were removed; their {lost:,} rows are computed again")
    if folder.parts:
        what = f"the other {left:,} are computed" if left else "nothing is left to do"
        notes.append(f"{rows - left:,} of {rows:,} rows are in {str(folder.path)!r}; {what}")
    return notes


def _told(notes: list[str], progress: Any) -> None:
    if progress is not False:
        for note in notes:
            print(f"neuler: study: {note}", file=sys.stderr)


@contextmanager
def _reporting(progress: Any, folder: Folder, rows: int) -> Iterator[Callable[[int, Computed], Any]]:
    """A function that is told of every part: shows a bar, or calls the user's."""
    done = before = folder.before
    began, counts = time.perf_counter(), Counter[str]()

    def report(count: int, computed: Computed) -> Any:
        nonlocal done
        done += count
        counts.update(computed.counts)
        if callable(progress):
            return progress(StudyProgress(done, rows, dict(counts), time.perf_counter() - began, done - before))
        bad = ", ".join(f"{number:,} {status}" for status, number in sorted(counts.items()) if status != "ok")
        bar(count, bad)
        return None

    if callable(progress) or progress is False:
        bar: Callable[..., Any] = lambda *_: None  # noqa: E731
        yield report
        return
    with progress_bar(rows, f"study {folder.path.name}", "row", before) as bar:
        yield report

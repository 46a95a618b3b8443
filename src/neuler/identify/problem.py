"""Problem files of identification: the tables [robot], [identify], [[log]], [reading] and [output].

Keys of [identify] are arguments of :func:`neuler.identify.fit` and of :meth:`neuler.identify.Log.prepare`, those of
[reading] arguments of :meth:`neuler.identify.Log.read`, for all logs; a [[log]] may have its own.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from neuler.errors import FormatError
from neuler.files.columns import SUFFIXES
from neuler.files.problem_robots import read_robot
from neuler.files.problem_values import numbers_of
from neuler.files.problems import Problem, Section
from neuler.files.series import KINDS
from neuler.files.tasks import Output, Progress
from neuler.identify.advice import advice
from neuler.identify.fit import METHODS, fit
from neuler.identify.log import Log
from neuler.identify.offsets import offsets
from neuler.identify.preparation import DERIVATIVES, FILTERS
from neuler.identify.prepared import Prepared
from neuler.identify.result import TABLES, Identification
from neuler.identify.rows import COLUMNS
from neuler.identify.series import series_of
from neuler.progress import progress_bar
from neuler.robot import Robot

TABLE = "identify"
Step = Callable[..., Any]


@dataclass(frozen=True)
class LogFile:
    """A file of measurements, and how it is read."""

    path: Path
    name: str
    held_out: bool
    reading: dict[str, Any]
    """Arguments of ``Log.read_all``."""
    run: str | None = None
    """Which run of the file; None: all of them."""
    weight: float = 1.0
    instrument: bool = False
    """Whether it is the same motion, run again, for method "instrumental"."""

    def read(self, robot: Robot) -> list[Log]:
        """The runs of the file, called by its name."""
        if self.run is not None:
            name = f"{self.name}, run {self.run}"
            return [Log.read(self.path, robot, run=self.run, weight=self.weight, name=name, **self._reading)]
        return [self._named(log) for log in Log.read_all(self.path, robot, **self._reading)]

    @property
    def _reading(self) -> dict[str, Any]:
        return {"columns" if key == "map" else key: value for key, value in self.reading.items()}

    def _named(self, log: Log) -> Log:
        return replace(log, weight=self.weight, name=f"{self.name}{log.name.removeprefix(self.path.name)}")


@dataclass(frozen=True)
class IdentifyTask:
    """An identification as a problem file asks for it: a :class:`neuler.files.tasks.Task`."""

    title: str
    robot: Robot
    logs: tuple[LogFile, ...]
    options: dict[str, Any]
    """Arguments of :func:`neuler.identify.fit`."""
    preparation: dict[str, Any]
    """Arguments of :meth:`neuler.identify.Log.prepare`."""
    output: Output
    notes: list[str] = field(default_factory=list)
    offsets: tuple[str, ...] = ()
    """Forces whose constant offsets are looked for."""

    def run(self, progress: Progress = None) -> Identification:
        """Read and prepare the logs, fit, compare; a function ``progress`` is called with 1 after each of these."""
        if callable(progress) or not progress:
            return self._run(progress or (lambda *_: None))
        with progress_bar(len(self.logs) + 2, self.title, "step") as step:
            return self._run(step)

    def _run(self, step: Step) -> Identification:
        began = time.perf_counter()
        ready: dict[bool, list[Prepared]] = {False: [], True: []}
        again: list[Prepared] = []
        for each in self.logs:
            _tell(step, 0, f"{each.name}: reading and filtering")
            part = again if each.instrument else ready[each.held_out]
            part += [log.prepare(**self.preparation) for log in each.read(self.robot)]
            _tell(step, 1)
        _tell(step, 0, f"fit by {self.options['method']}")
        own = offsets(self.robot, self.offsets) if self.offsets else None
        found = fit(ready[False], held_out=ready[True], instruments=again, own=own, **self.options)
        _tell(step, 1, "comparing forces")
        runs = [
            series_of(each, found.forces(each), held_out=held_out) for held_out, part in ready.items() for each in part
        ]
        result = Identification(
            self.title, found, tuple(runs), advice(found.base, ready[False], found.estimate.force_sd),
            settings={"held_out_logs": {each.name: each.settings for each in ready[True]}},
            seconds=time.perf_counter() - began,
        )  # fmt: skip
        _tell(step, 1)
        return result


def _tell(step: Step, done: int, now: str = "") -> None:
    """Tell a bar what comes next, a user's function how much was done."""
    if now:
        try:
            step(done, now)
            return
        except TypeError:  # it takes a number alone
            pass
    if done:
        step(done)


# ---- from the file -----------------------------------------------------------------------------------------------


def read_identify(problem: Problem, robot: Robot | None = None) -> IdentifyTask:
    """Return the task of a problem file, read and checked; ``robot`` replaces the table [robot].

    Logs themselves are read when the task runs.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = Path(folder, "monday.csv").write_text("t,q1,q2,tau1,tau2")
    >>> problem = Problem.of_text('''
    ... [robot]
    ... name = "two_link"
    ... [identify]
    ... method = "weighted"
    ... columns = ["links", "friction"]
    ... cutoff = 8.0
    ... [reading]
    ... units = { q = "deg" }
    ... [[log]]
    ... file = "monday.csv"
    ... ''', folder)
    >>> task = read_identify(problem)
    >>> task.options["columns"], task.preparation["cutoff"], task.logs[0].reading
    (('links', 'friction'), 8.0, {'units': {'q': 'deg'}})
    """
    root = problem.root
    robot = read_robot(root.section("robot")) if robot is None else robot
    section = root.section(TABLE)
    options = {"method": section.text("method", METHODS[0], among=METHODS), "columns": _columns(section)}
    options |= {key: section.raw(key) for key in _others() if key in section}
    preparation = {name: read(section, key, robot) for key, (name, read) in _PREPARING.items() if key in section}
    logs = _logs(root, robot)
    title = root.text("title", f"{robot.name}: identification")
    output = Output.read(root, TABLES, KINDS)
    looked_for = _offsets(section, robot)
    problem.done()
    return IdentifyTask(title, robot, logs, options, preparation, output, problem.notes, looked_for)


def _offsets(section: Section, robot: Robot) -> tuple[str, ...]:
    """Joints whose torques may have a constant offset: named, or with true all that have one."""
    forces = robot.coordinates.names("tau")
    if isinstance(section.raw("offsets", False), bool):
        return tuple(forces) if section.flag("offsets") else ()
    return tuple(section.names("offsets", among=forces))


def _columns(section: Section) -> tuple[str, ...]:
    """Names in a list, or in one text with commas: a setting of a study is one text."""
    value = section.raw("columns", None)
    if isinstance(value, str) and "," in value:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(section.names("columns", list(COLUMNS)))


def _others() -> list[str]:
    """Other arguments of ``fit``, which checks them itself."""
    taken = ("columns", "method", "held_out", "instruments", "own", "controller")
    kinds = inspect.signature(fit).parameters.values()
    return [each.name for each in kinds if each.kind is each.KEYWORD_ONLY and each.name not in taken]


def _frequency(section: Section, key: str, robot: Robot) -> float:
    """A number above zero (Hz); infinite, also as the text "none", for no filter."""
    value = section.raw(key)
    if value == "none" or (isinstance(value, float) and math.isinf(value) and value > 0):
        return math.inf
    return section.number(key, above=0.0)


_PREPARING: dict[str, tuple[str, Callable[[Section, str, Robot], Any]]] = {
    "cutoff": ("cutoff", _frequency),
    "torque_cutoff": ("torque_cutoff", _frequency),
    "smoothing": ("method", lambda section, key, robot: section.text(key, among=FILTERS)),
    "order": ("order", lambda section, key, robot: section.whole(key, least=1, most=8)),
    "decimate": ("decimate", lambda section, key, robot: section.whole(key, least=1)),
    "trim": ("trim", lambda section, key, robot: section.number(key, least=0.0)),
    "outliers": ("outliers", lambda section, key, robot: section.flag(key)),
    "dead_zone": ("dead_zone", lambda section, key, robot: section.each(key, robot.coordinates.names("qd"))),
    "derivatives": ("derivatives", lambda section, key, robot: section.text(key, among=DERIVATIVES)),
    "check": ("check", lambda section, key, robot: section.flag(key)),
}
"""Keys of [identify] that say how logs are prepared: the argument of ``Log.prepare``, and how it is read."""


def _texts(section: Section, key: str) -> dict[str, str]:
    below = section.section(key)
    return {name: below.text(name) for name in list(below.table)}


def _map(section: Section, key: str) -> dict[str, Any]:
    """Names of columns: "q1", or with a factor ["q1", -1]."""
    below = section.section(key)
    found: dict[str, Any] = {}
    for name, value in below.table.items():
        pair = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
        plain = pair and isinstance(value[1], int | float) and not isinstance(value[1], bool)
        found[name] = (value[0], float(value[1])) if plain else below.text(name)
        below.known.append(name)
    return found


_READING: dict[str, Callable[[Section, str], Any]] = {
    "map": _map,
    "units": _texts,
    "torque_constants": lambda section, key: _numbers(section, key),
    "ratios": lambda section, key: _numbers(section, key),
    "rate": lambda section, key: section.number(key, above=0.0),
}
"""Keys of [reading], and of a [[log]]: arguments of ``Log.read``; ``map`` is its ``columns``."""


def _numbers(section: Section, key: str) -> Any:
    found = numbers_of(section, key)
    return found.tolist() if isinstance(found, np.ndarray) else found


def _reading(section: Section) -> dict[str, Any]:
    return {key: read(section, key) for key, read in _READING.items() if key in section}


def _logs(root: Section, robot: Robot) -> tuple[LogFile, ...]:
    shared = _reading(root.section("reading"))
    parts = root.sections("log")
    found = []
    for part in parts:
        path = part.path("file")
        if path.suffix.lower() not in SUFFIXES:
            raise part.error("file", f"expected a file that ends in {', '.join(SUFFIXES)}, got {path.name!r}")
        if not path.is_file():
            raise part.error("file", f"there is no file {str(path)!r}")
        run = part.raw("run", None)
        if run is not None and (isinstance(run, bool) or not isinstance(run, int | float | str)):
            raise part.error("run", "expected the number or the name of a run")
        label = None if run is None else f"{run:g}" if isinstance(run, int | float) else run
        found.append(
            LogFile(
                path, part.text("name", ""), part.flag("held_out"), {**shared, **_reading(part)}, label,
                part.number("weight", 1.0, above=0.0), part.flag("instrument"),
            )
        )  # fmt: skip
    if all(each.held_out or each.instrument for each in found):
        told = "all are held out, or instruments" if found else "there is none"
        raise FormatError(f"{root.problem.label}: expected a table [[log]] with the file of a log to fit; {told}")
    return _called(root, parts, found)


def _called(root: Section, parts: list[Section], found: list[LogFile]) -> tuple[LogFile, ...]:
    """With names: those that are given, else the files', with their folders where two are alike."""
    names = [each.name or each.path.name for each in found]
    places = [(each.path, each.run) for each in found]
    for k, place in enumerate(places):
        twin = places.index(place)
        if twin < k:
            two = "is fitted and held out; a log that is fitted cannot judge the fit" * (
                found[k].held_out != found[twin].held_out
            )
            raise parts[k].error("file", f"{names[k]!r} {two or 'is named twice; to count more, give it a weight'}")
    folder, twins = root.problem.folder, {name for name in names if names.count(name) > 1}
    for k, each in enumerate(found):
        if names[k] in twins and not each.name and each.run is None:
            names[k] = str(each.path.relative_to(folder) if each.path.is_relative_to(folder) else each.path)
    return tuple(dataclasses.replace(each, name=name) for each, name in zip(found, names, strict=True))

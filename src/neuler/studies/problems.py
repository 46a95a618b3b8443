"""Problem files in studies: the tasks that they describe, run with other values; and study files, [study] and below.

A study file is a problem file with a table [study]: which values change, and how they are drawn. Settings are named by
the keys that lead to them, "simulate.step", "robot.payload.mass".
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuler.errors import FormatError, InputError, NeulerError
from neuler.files.problems import Problem, Section
from neuler.files.tasks import Task
from neuler.inputs import told
from neuler.naming import hint
from neuler.studies import ranges, sampling
from neuler.studies.columns import RESERVED
from neuler.studies.settings import Settings, settings_of
from neuler.tasks import read_task

TABLE = "study"
"""Of a study file."""
_LEFT_OUT = ("robot", "method", "rows", "moments", "start", "settings")
"""Of a summary: what is told of the problem, not of its result."""
_ENDINGS = ("seconds", "_units")
"""Of its keys: times that the computer needed, and texts that say what numbers are."""


@dataclass(frozen=True)
class ProblemTask:
    """A problem file as the task of a study: run with the settings of a row, it returns the numbers of its summary.

    Those of tables inside of the summary have names with dots, ``largest_tau.joint1``; of lists without numbers there
    is the length. Times that the computer needed are left out, so that equal rows have equal results.
    """

    label: str
    folder: str
    table: dict[str, Any]

    def __call__(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Read the problem with these values, run it and return what came out."""
        return flat(self.read(setting).run().summary())

    def read(self, setting: Mapping[str, Any]) -> Task:
        """The task with the values of a row."""
        problem = Problem(self.label, Path(self.folder), copy.deepcopy(self.table))
        for name, value in setting.items():
            problem.set(name.split("."), value.tolist() if isinstance(value, np.ndarray) else value, "setting")
        return read_task(problem)

    def check(self, settings: Settings) -> list[str]:
        """Read the first row, so that names and values that the problem does not take are refused; return its notes."""
        for name in settings.names:
            if "." not in name and name != "title":
                raise InputError(
                    f"study: the setting {name!r} names no value of a problem file: give the keys that lead to it, as "
                    f"'simulate.step'"
                )
        first = {name: values[0] for name, values in settings.part(0, 1).columns().items()}
        try:
            return list(self.read({name: _plain(value) for name, value in first.items()}).notes)
        except FormatError as error:
            raise FormatError(f"study: row 0: {error}") from None


def _plain(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else value.item()


def problem_task(given: str | os.PathLike[str] | Problem) -> ProblemTask:
    """The task of a problem file, or of a problem that was read."""
    problem = given if isinstance(given, Problem) else Problem.read(given)
    table = {key: value for key, value in problem.table.items() if key != TABLE}
    return ProblemTask(problem.label, os.fspath(problem.folder), table)


def flat(summary: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The numbers and texts of a summary, by names with dots.

    >>> flat({"end": 1.0, "energy": {"first": 0.5, "least": None}, "events": ["a", "b"], "breaks": [0.0, 1.0]})
    {'end': 1.0, 'energy.first': 0.5, 'energy.least': nan, 'events': 2, 'breaks': array([0., 1.])}
    """
    found: dict[str, Any] = {}
    for key, value in summary.items():
        name = f"{before}{key}"
        if key.endswith(_ENDINGS) or name in _LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            numbers = bool(value) and all(isinstance(each, int | float) for each in value)
            found[f"result_{name}" if name in RESERVED else name] = np.array(value, float) if numbers else len(value)
        else:
            found[f"result_{name}" if name in RESERVED else name] = np.nan if value is None else value
    return found


# ---- study files ----------------------------------------------------------------------------------------------------

_OPTIONS: dict[str, Callable[[Section, str], Any]] = {
    "seed": lambda section, key: section.whole(key),
    "workers": lambda section, key: section.whole(key),
    "scheduler": lambda section, key: section.text(key),
    "chunk": lambda section, key: section.whole(key, least=1),
    "timeout": lambda section, key: section.number(key, above=0.0),
    "memory": lambda section, key: section.number(key, above=0.0),
}
"""Of the table [study]: arguments of ``neuler.study``."""
SAMPLERS = ("random", "sobol", "latin_hypercube")
_RANGES: dict[str, Callable[..., Any]] = {
    "normal": ranges.normal, "log_uniform": ranges.log_uniform, "choice": ranges.choice, "whole": ranges.whole,
    "uniform": lambda low, high: (low, high),
}  # fmt: skip


@dataclass(frozen=True)
class StudyFile:
    """What a study file asks for: the arguments of ``neuler.study``, and where the results go."""

    title: str
    task: ProblemTask
    settings: Settings
    options: dict[str, Any]
    folder: Path | None
    plot: tuple[str, ...] | None
    """Results that are drawn; None: the first that vary."""


def read_study(problem: Problem) -> StudyFile:
    """The study of a file: its table [study], beside the tables of the task or with ``problem``, the file of one.

    ``sampling``: "product" (default), "random", "sobol", "latin_hypercube", with ``rows``; or ``file``, a CSV or
    Parquet file whose columns are named like settings. ``seed``, ``workers``, ``scheduler``, ``chunk``, ``timeout``,
    ``memory``: arguments of ``neuler.study``. ``folder``: where the results go; ``plot``: names of results that are
    drawn. [study.settings]: for each value that
    changes a list of values (product), or a range (samplers): [low, high], {normal = [mean, deviation]},
    {log_uniform = [low, high]}, {choice = [...]}, {whole = [low, high]}, or one number.

    >>> found = read_study(Problem.of_text('''
    ... [robot]
    ... name = "two_link"
    ... [simulate]
    ... duration = 0.1
    ... [study.settings]
    ... simulate.step = [1e-3, 2e-3]
    ... simulate.method = ["rk4", "euler"]
    ... '''))
    >>> len(found.settings), found.settings.names
    (4, ('simulate.step', 'simulate.method'))
    """
    root = Section(problem, (), {TABLE: problem.table.get(TABLE, {})})
    section = root.section(TABLE)
    if not section.table:
        raise FormatError(f"{problem.label}: expected a table [study], which says what changes; there is none")
    task = problem_task(section.path("problem") if "problem" in section else problem)
    options = {key: read(section, key) for key, read in _OPTIONS.items() if key in section}
    settings = _settings(section, options.get("seed", 0))
    folder = section.path("folder") if "folder" in section else None
    plot = tuple(section.names("plot")) if "plot" in section else None
    section.done()
    title = str(problem.table.get("title", Path(problem.label).stem))
    return StudyFile(title, task, settings, options, folder, plot)


def _settings(section: Section, seed: int) -> Settings:
    below = section.section("settings")
    below.known.extend(below.table)
    if "file" in section:
        if below.table:
            raise section.error("file", "expected a file of settings or a table [study.settings], and there are both")
        return settings_of(section.path("file"))
    values = _dotted(below.table)
    if not values:
        raise section.refusal("expected a table [study.settings] with the values that change, or 'file'")
    kind = section.text("sampling", "product", among=("product", *SAMPLERS))
    try:
        if kind == "product":
            for name, value in values.items():
                if not isinstance(value, list):
                    raise below.error(name, f"expected a list of values, got {told(value)}")
            return sampling.product(values)
        rows = section.whole("rows", least=1)
        ranges = {name: _range(below, name, value) for name, value in values.items()}
        return getattr(sampling, kind)(rows, ranges, seed=seed)
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise section.refusal(str(error)) from None


def _dotted(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values of tables in tables, by names with dots; {normal = ...} and the like are values."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and not (len(value) == 1 and next(iter(value)) in _RANGES):
            found |= _dotted(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found


def _range(section: Section, name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        kind, numbers = next(iter(value.items()))
        if kind not in _RANGES:
            raise section.error(name, f"there is no {kind!r}; {hint(kind, _RANGES)}")
        if not isinstance(numbers, list) or (kind != "choice" and len(numbers) != 2):
            raise section.error(name, f"expected {{ {kind} = [...] }} with two numbers, got {told(value)}")
        return _RANGES[kind](numbers) if kind == "choice" else _RANGES[kind](*numbers)
    if isinstance(value, list):
        if len(value) != 2:
            raise section.error(name, f"expected [low, high], got {told(value)}")
        return tuple(value)
    return value

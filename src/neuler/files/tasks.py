"""Tasks: what a command, a problem file or a study runs, whatever it is about.

A problem file is read as a :class:`Task`; a task is run and returns a :class:`Result`; a result is summarised, saved,
drawn and shown as a page. Simulations, plans, walks and
identifications are tasks: ``neuler.tasks.read_task`` finds out which a file asks for.
Tasks can be pickled, so that they can run in other processes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from neuler.files.problems import Section
from neuler.robot import Robot

Progress = Any
"""True for a bar on standard error, a function that is told how far the task is, None or False for neither."""


@dataclass(frozen=True)
class Output:
    """Which files a task writes: the table [output] of a problem file."""

    folder: Path | None = None
    """Where they are written; None: nowhere, unless a command names a folder."""
    tables: tuple[str, ...] = ("csv",)
    """Suffixes of the tables."""
    figures: bool = True
    page: bool = True

    @classmethod
    def read(cls, root: Section, tables: Sequence[str], among: Sequence[str]) -> Output:
        """The table [output] of a problem file; ``tables`` are the default ones, ``among`` all that can be written.

        >>> from neuler.files.problems import Problem
        >>> Output.read(Problem.of_text("[output]\\nfigures = false").root, ["csv"], ["csv", "npz"])
        Output(folder=None, tables=('csv',), figures=False, page=True)
        """
        section = root.section("output")
        folder = section.path("folder") if "folder" in section else None
        kinds = tuple(section.names("tables", list(tables), among=among))
        return cls(folder, kinds, section.flag("figures", True), section.flag("page", True))


class Result(Protocol):
    """What a task returns: numbers, tables, figures and a page."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about it, in sentences."""
        ...

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table; the suffix of the path says which kind."""
        ...

    def plot(self, *, figure: Any = None) -> Any:
        """Draw it into a matplotlib figure, a new one or the empty one that is given."""
        ...

    def page(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write an HTML page that plays the motion."""
        ...


class Task(Protocol):
    """What a problem file asks for, read and checked, ready to run."""

    @property
    def title(self) -> str:
        """What the task is called in figures, pages and messages."""
        ...

    @property
    def robot(self) -> Robot:
        """The robot that it is about."""
        ...

    @property
    def output(self) -> Output:
        """Which files it writes, and where."""
        ...

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the problem file, in sentences."""
        ...

    def run(self, progress: Progress = None) -> Result:
        """Do what the problem file asks for, and return the result."""
        ...

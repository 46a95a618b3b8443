"""What commands that run the task of a problem file share: flags that change the file, files written, words told."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuler.cli.common import note, print_json
from neuler.errors import InputError, NeulerError
from neuler.plain import shown

if TYPE_CHECKING:
    from neuler.files.problems import Problem
    from neuler.files.tasks import Result, Task

SUFFIX = ".toml"
JOINTS = 40
"""Rows of a table on the terminal."""
Values = list[tuple[list[str], Any]]
"""Keys that lead to a value of a problem file, and the value."""


# ---- flags -----------------------------------------------------------------------------------------


def add_task_flags(command: argparse.ArgumentParser, tables: str) -> None:
    """The flags of all tasks; ``tables`` is the help of --tables."""
    command.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="a value of the problem file"
    )
    command.add_argument("-o", "--output", metavar="FOLDER", help="write tables, figures and a page there")
    command.add_argument("--tables", nargs="+", metavar="KIND", help=tables)
    command.add_argument("--no-figures", action="store_true", help="draw nothing")
    command.add_argument("--no-page", action="store_true", help="write no page that plays the motion")
    command.add_argument("--json", action="store_true", help="print a summary as JSON, and nothing else")


def task_values(chosen: Any, example: str) -> Values:
    """What the flags of all tasks change in a problem file; ``example`` is one of --set, for its message."""
    found = assigned("--set", chosen.set, "TABLE.KEY=VALUE", example)
    if chosen.tables is not None:
        found.append((["output", "tables"], chosen.tables))
    return found + [(["output", key], False) for key in ("figures", "page") if getattr(chosen, f"no_{key}")]


def assigned(flag: str, texts: Iterable[str], form: str, example: str, table: str = "") -> Values:
    """Texts KEY=VALUE of a flag, of one table or with the table's name before a dot."""
    found: Values = []
    for text in texts:
        key, equals, value = text.partition("=")
        keys = [*([table] if table else []), *(part.strip() for part in key.split("."))]
        if not equals or not all(keys) or (len(keys) < 2 and keys != ["title"]):  # the one value outside of tables
            raise InputError(f"{flag} expects {form}, as {example}, got {text!r}")
        found.append((keys, toml_value(value)))
    return found


def toml_value(text: str, several: bool = False) -> Any:
    """As TOML reads it: a number, a list, true; numbers with commas are a list; all else is text."""
    import tomllib

    text = text.strip()
    listed = f"[{text}]" if (several or "," in text) and not text.startswith(("[", "{", '"', "'")) else text
    for candidate in (listed, text):
        try:
            return tomllib.loads(f"x = {candidate}")["x"]
        except (ValueError, RecursionError):
            continue
    return text


# ---- a task ----------------------------------------------------------------------------------------


def read_problem(path: str, table: str, values: Callable[[], Values]) -> Problem:
    """A problem file for the task of a table, with the values of flags; a file for another task is refused by name."""
    from neuler.files.problems import Problem
    from neuler.tasks import refuse_others

    problem = Problem.read(path)
    refuse_others(problem, table)
    return change(problem, values())


def change(problem: Problem, values: Values) -> Problem:
    """A problem with the values of flags."""
    for keys, value in values:
        problem.set(keys, value, "--set")
    return problem


def tell(
    chosen: Any, task: Task, found: Result, name: str, told: Callable[[], str], *,
    more: dict[str, Any] | None = None, save: Callable[[Path], Any] | None = None,
    figures: Callable[[], dict[str, Any]] = dict, write: Callable[[Path], list[Path]] | None = None,
) -> None:  # fmt: skip
    """Write the files that are asked for, called ``name``, then print what came out: ``told()``, or JSON with ``more``.

    ``save`` writes a table in the place of ``found.save``, and may leave it out by returning False; ``figures`` gives
    more of them, by name. ``write`` writes all files into a folder, where their names are not ``name``.
    """
    folder = output_folder(chosen, task)
    files = []
    if folder is not None:
        written = write(folder) if write else _write(folder, task, found, name, save or found.save, figures)
        files = [nearby(path) for path in written]
    if chosen.json:
        listed = [os.fspath(path) for path in files]
        print_json({"title": shown(task.title), **found.summary(), **(more or {}), "files": listed})
        return
    print(told())
    for path in files:
        print(f"wrote {shown(os.fspath(path))}")


def _write(
    folder: Path, task: Task, found: Result, name: str, save: Callable[[Path], Any],
    figures: Callable[[], dict[str, Any]],
) -> list[Path]:  # fmt: skip
    """Tables, figures and the page."""
    from neuler.view.space import plotting

    make_folder(folder)
    written = []
    for kind in task.output.tables:
        path = folder / f"{name}.{kind}"
        if save(path) is not False:
            written.append(path)
    if task.output.figures:
        written += write_figures(folder, lambda: {name: found.plot(figure=plotting()()), **figures()})
    if task.output.page:
        written.append(folder / f"{name}.html")
        found.page(written[-1], title=task.title)
    return written


def write_figures(folder: Path, draw: Callable[[], dict[str, Any]]) -> list[Path]:
    """Figures by name as PNG files; where they cannot be drawn there is a note, and none is written."""
    from neuler.view.space import png

    try:
        drawn = draw()
    except NeulerError as error:
        note(f"no figures: {error}")
        return []
    for called, figure in drawn.items():
        (folder / f"{called}.png").write_bytes(png(figure))
    return [folder / f"{called}.png" for called in drawn]


def output_folder(chosen: Any, task: Task) -> Path | None:
    """Where files go: the folder of -o, else that of the problem file; None where neither names one."""
    return task.output.folder if chosen.output is None else Path(chosen.output).absolute()


def make_folder(folder: Path) -> None:
    """Make a folder and see that files can be written there; before work that takes long, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write into the folder {os.fspath(folder)!r}: {error.strerror or error}; name another one: "
            "-o FOLDER"
        ) from None


def nearby(path: Path) -> Path:
    """From here, where it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path

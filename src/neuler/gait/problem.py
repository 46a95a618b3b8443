"""Problem files of walks: [person], [gait], [events], [weights], [output].

Tables and keys are fields of ``gait.Walk`` and of what it is made of: numbers and texts of the walk are in [gait], its
parts are tables of their own. A field that a walk gains is a key of the file without a line here, if a reader in
``READERS`` has its type.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union, get_args, get_origin, get_type_hints

from neuler.errors import FormatError, InputError, NeulerError
from neuler.files.problems import Problem, Section
from neuler.files.tasks import Output, Progress
from neuler.gait.prediction import FILES, TABLES, Prediction, predict
from neuler.gait.starts import MOST_STARTS
from neuler.gait.walk import Walk
from neuler.optimize.solvers.choice import SOLVERS
from neuler.robot import Robot
from neuler.robots.humans import Person

TABLE, START = "gait", "start"
"""Of the file: the table of the walk, and the one in it of the walk with which the search begins."""


@dataclass(frozen=True)
class GaitTask:
    """A walk as a problem file asks for it: a :class:`neuler.files.tasks.Task`."""

    title: str
    walk: Walk
    options: dict[str, Any]
    """Arguments of :func:`neuler.gait.predict`."""
    output: Output
    start: Walk | None = None
    """The walk with which the search begins; None: an upright person gliding ahead."""
    notes: list[str] = field(default_factory=list)

    @property
    def robot(self) -> Robot:
        """The skeleton that walks."""
        return self.walk.robot

    def run(self, progress: Progress = None) -> Prediction:
        """Solve it; a function ``progress`` is called with the state of the solver after each iteration."""
        return predict(self.walk, start=self.start, progress=progress, **self.options)


def read_gait(problem: Problem, robot: Robot | None = None) -> GaitTask:
    """Return the task of a problem file, read and checked.

    >>> problem = Problem.of_text('''
    ... [person]
    ... stature = 1.68
    ... mass = 62.0
    ... sex = "female"
    ... [gait]
    ... speed = 1.1
    ... step = 0.56
    ... start = { speed = 1.2, step = 0.6 }  # solved first, to begin with
    ... ''')
    >>> task = read_gait(problem)
    >>> task.walk.person.sex, task.walk.speed, task.start.speed
    ('female', 1.1, 1.2)
    """
    if robot is not None:
        raise InputError("gait: a walk is that of a person, not of a robot; see the table [person] of problem files")
    root = problem.root
    section = root.section(TABLE)
    walk = _walk(root, section)
    options = _options(section)
    start = _start(section, walk)
    title = root.text("title", f"walk at {walk.speed:g} m/s with steps of {walk.step:g} m")
    output = Output.read(root, TABLES, tuple(FILES))
    problem.done()
    return GaitTask(title, walk, options, output, start, problem.notes)


# ---- the walk and where it begins -------------------------------------------------------------------------------


def _walk(root: Section, section: Section) -> Walk:
    """The walk of the tables, its parts first."""
    parts = {}
    for name, (kind, many) in parts_of(Walk).items():
        if many:
            parts[name] = tuple(_made(kind, each, read_fields(kind, each)) for each in root.sections(name))
        elif name in root:
            mine = root.section(name)
            parts[name] = _made(kind, mine, read_fields(kind, mine))
    return _made(Walk, section, {**read_fields(Walk, section), **{name: x for name, x in parts.items() if x != ()}})


def _start(section: Section, walk: Walk) -> Walk | None:
    """[gait.start]: what differs in the walk to begin with; [gait.start.person]: whose walk it is."""
    if START not in section:
        return None
    mine = section.section(START)
    changes = read_fields(Walk, mine)
    if "person" in mine:
        who = mine.section("person")
        given = {each.name: getattr(walk.person, each.name) for each in dataclasses.fields(Person)}
        changes["person"] = _made(Person, who, {**given, **read_fields(Person, who)})
    mine.done()
    if not changes:
        raise mine.refusal("expected what differs in the walk to begin with, as speed = 1.2 and step = 0.6")
    return _made(lambda **given: dataclasses.replace(walk, **given), mine, changes)


def _made(make: Callable[..., Any], section: Section, given: Mapping[str, Any]) -> Any:
    """What is made of a table's values; a refusal names the key, where one is meant, or the table."""
    try:
        return make(**given)
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        text = str(error).removeprefix("gait: ").removeprefix("person: ")
        for key in section.table:
            for start in (f"{key} ", f"weight of {key} "):
                if text.startswith(start):
                    raise section.error(key, text.removeprefix(start)) from None
        raise section.refusal(text) from None


# ---- fields of dataclasses --------------------------------------------------------------------------------------


def parts_of(kind: type) -> dict[str, tuple[type, bool]]:
    """Return fields that are dataclasses, with their class: tables; and (True) tuples of such: arrays of tables."""
    found: dict[str, tuple[type, bool]] = {}
    for name, hint in _hints(kind).items():
        several = get_origin(hint) is tuple and get_args(hint)[1:] == (...,)
        inner = get_args(hint)[0] if several else hint
        if isinstance(inner, type) and dataclasses.is_dataclass(inner):
            found[name] = inner, several
    return found


def read_fields(kind: type, section: Section) -> dict[str, Any]:
    """Return the fields of a dataclass that a table has, each read by its type; others keep their defaults.

    Of mappings, names that the table does not have keep their defaults, too.
    """
    found = {}
    defaults = {each.name: each for each in dataclasses.fields(kind)}
    for name, hint in _hints(kind).items():
        read = READERS.get(hint)
        if read is not None and name in section:
            found[name] = read(section, name)
            if isinstance(found[name], dict) and callable(make := defaults[name].default_factory):
                found[name] = {**make(), **found[name]}
    return found


def _hints(kind: type) -> dict[str, Any]:
    """Types of the fields of a dataclass, without None where it is one of them."""
    every = get_type_hints(kind)
    return {each.name: _without_none(every[each.name]) for each in dataclasses.fields(kind) if each.init}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        left = [each for each in get_args(hint) if each is not type(None)]
        return left[0] if len(left) == 1 else hint
    return hint


def _pair(section: Section, key: str) -> tuple[float, float]:
    first, second = section.vector(key, 2)
    return float(first), float(second)


def _by_name(section: Section, key: str, read: Callable[[Section, str], Any]) -> dict[str, Any]:
    below = section.section(key)
    return {name: read(below, name) for name in list(below.table)}


READERS: dict[Any, Callable[[Section, str], Any]] = {
    float: lambda section, key: section.number(key),
    int: lambda section, key: section.whole(key),
    bool: lambda section, key: section.flag(key),
    str: lambda section, key: section.text(key),
    tuple[float, float]: _pair,
    tuple[float, float, float]: lambda section, key: tuple(section.vector(key, 3).tolist()),
    tuple[str, ...]: lambda section, key: tuple(section.names(key)),
    Mapping[str, float]: lambda section, key: _by_name(section, key, lambda below, name: below.number(name)),
    Mapping[str, tuple[float, float]]: lambda section, key: _by_name(section, key, _pair),
}
"""By the type of a field: how a key of a table is read."""


# ---- the solve --------------------------------------------------------------------------------------------------


_OPTIONS: dict[str, Callable[[Section, str], Any]] = {
    "solver": lambda section, key: section.text(key, among=("auto", *SOLVERS)),
    "tolerance": lambda section, key: section.number(key, above=0.0),
    "valid_to": lambda section, key: section.number(key, above=0.0),
    "iterations": lambda section, key: section.whole(key, least=1, most=2**31 - 1),
    "seconds": lambda section, key: section.number(key, above=0.0),
    "refine": lambda section, key: section.flag(key),
    "rounds": lambda section, key: section.whole(key),
    "starts": lambda section, key: section.whole(key, least=1, most=MOST_STARTS),
    "seed": lambda section, key: section.whole(key),
    "workers": lambda section, key: section.whole(key, least=1),
}
"""Keys of [gait] that say how it is solved: arguments of :func:`neuler.gait.predict`."""


def _options(section: Section) -> dict[str, Any]:
    return {key: read(section, key) for key, read in _OPTIONS.items() if key in section}

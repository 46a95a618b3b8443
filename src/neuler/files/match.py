"""Which column of a table is which number of a kernel's inputs, and which are none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from neuler.errors import FormatError
from neuler.files.states import Closing
from neuler.kernels import Kernel
from neuler.naming import closest
from neuler.robot.columns import column_names, spellings

Note = Callable[[str], Any]
"""Told what is worth knowing."""


@dataclass(frozen=True)
class Chosen:
    """What is to become of columns that are no inputs: ``ignore`` holds names and patterns (``*``, ``?``).

    Ignored columns are as if they were not there; with ``drop`` no others are kept.

    >>> chosen = Chosen(("tau_*", "q[0]"))
    >>> [chosen.ignores(name) for name in ("tau_joint1", "q[0]", "q0")]
    [True, True, False]
    """

    ignore: Sequence[str] = ()
    drop: bool = False
    note: Note = lambda text: None

    def ignores(self, name: str) -> bool:
        """By its name as it is, or by a pattern."""
        return any(name == pattern or _matches(name, pattern) for pattern in self.ignore)

    def check(self, path: str, names: Sequence[str]) -> None:
        """Note a pattern that ignores nothing."""
        for pattern in self.ignore:
            if not any(name == pattern or _matches(name, pattern) for name in names):
                self.note(f"--ignore {pattern!r}: {path} has nothing of that name")


def _matches(name: str, pattern: str) -> bool:
    """Brackets stand for themselves: columns are named q[0]."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


@dataclass(frozen=True)
class Matched:
    """For every number of the inputs its column; how positions left out are found; columns kept as they are."""

    order: dict[int, int]
    closing: Closing | None
    kept: dict[str, int]


def match(path: str, header: Sequence[str], kernel: Kernel, chosen: Chosen, ways: Sequence[Closing] = ()) -> Matched:
    """The columns of a header; one that is missing, or there twice, is an error."""
    known = spellings(kernel.robot, kernel.inputs, kernel.options)
    chosen.check(path, header)
    found: dict[int, int] = {}
    others: dict[str, int] = {}
    ignored: list[str] = []
    for column, name in enumerate(header):
        if chosen.ignores(name):
            ignored.append(name)
        elif name in known:
            place = known[name]
            if place in found:
                raise FormatError(f"{path}: columns {header[found[place]]!r} and {name!r} are the same input; keep one")
            found[place] = column
        elif len(header) == 1 and set(name) & set(";\t "):
            raise FormatError(f"{path}: the header is one column, {name!r}; columns must be separated by commas")
        elif name in others and not chosen.drop:
            raise FormatError(
                f"{path}: columns {others[name] + 1} and {column + 1} are both named {name!r}; rename one, "
                f"or leave them out with --ignore {name!r}"
            )
        else:
            others[name] = column
    closing = next((way for way in ways if all(first(kernel) + k in found for k in way.places)), None)
    closing = closing or (ways[-1] if ways else None)
    wanted = [name for operand in kernel.inputs for name in column_names(kernel.robot, operand, kernel.options)]
    absent = {name: place for place, name in enumerate(wanted) if place not in found}
    spared = _spared(kernel, closing)
    missing = [name for name, place in absent.items() if place not in spared]
    if missing:
        lost = [name for name in ignored if known.get(name) in {absent[name] for name in missing}]
        raise FormatError(f"{path}: {_lack(kernel, missing, others, lost, bool(found))}")
    for name in others:
        likely = closest(name, absent, cutoff=0.8)
        if likely:  # it would have been a guess of where the loops close
            chosen.note(f"column {name!r} of {path} is no input of {signature(kernel)}; did you mean {likely!r}?")
    return Matched(found, closing, {} if chosen.drop else others)


def _lack(kernel: Kernel, missing: Sequence[str], others: dict[str, int], lost: Sequence[str], any_found: bool) -> str:
    more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
    told = f"has no column for {', '.join(map(repr, missing[:4]))}{more} of {signature(kernel)}"
    if lost:
        return f"{told}; --ignore leaves out its column {lost[0]!r}"
    for name, column in others.items():
        likely = closest(name, missing)
        if likely:
            return f"{told}; its column {column + 1}, {name!r}, is no input: did you mean {likely!r}?"
    return told if any_found else f"{told}; columns are named like q_<joint>, q1 or q[0]"


def first(kernel: Kernel) -> int:
    """The place of q among all numbers of the inputs."""
    names = [operand.name for operand in kernel.inputs]
    return sum(operand.size for operand in kernel.inputs[: names.index("q")])


def _spared(kernel: Kernel, closing: Closing | None) -> set[int]:
    """Places that a file may leave out because closing the loops finds them."""
    if closing is None:
        return set()
    return {first(kernel) + k for k in range(len(closing.guess)) if k not in closing.places}


def signature(kernel: Kernel) -> str:
    """A quantity with its inputs, for messages."""
    return f"{kernel.quantity}({', '.join(operand.name for operand in kernel.inputs)})"


def refuse_clash(path: str, kernel: Kernel, kept: Iterable[str], results: Iterable[str]) -> None:
    """What is kept may not have the name of a result."""
    taken = set(results)
    for name in kept:
        if name in taken:
            raise FormatError(
                f"{path}: {name!r} is no input of {signature(kernel)} and would be kept, but a result has that name; "
                f"rename it, leave it out with --ignore {name!r}, or keep nothing with --drop"
            )

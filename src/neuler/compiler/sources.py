"""The source files that decide what a module computes, found by following its imports.

Imports are read off the text, which takes a few milliseconds for the whole package; a test compares
them with those that Python's own parser finds.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time()
"""When this process read the package's sources, or began to."""
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_PACKAGE}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+({_PACKAGE}[\w., \t]*))",
    re.MULTILINE,
)


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def root() -> Path:
    """The folder of the package's sources."""
    return Path(_ROOT)


@functools.cache
def _modules() -> dict[str, str]:
    """Paths of all modules of this package by their names.

    Not of the package itself: its own ``__init__`` imports everything and decides nothing.
    """
    found: dict[str, str] = {}
    for folder, _, names in os.walk(_ROOT):
        parts = [_PACKAGE, *os.path.relpath(folder, _ROOT).split(os.sep)]
        package = ".".join(part for part in parts if part != ".")
        for name in names:
            if name == "__init__.py" and package != _PACKAGE:
                found[package] = os.path.join(folder, name)
            elif name.endswith(".py") and name != "__init__.py":
                found[f"{package}.{name[:-3]}"] = os.path.join(folder, name)
    return found


def imports(text: str) -> set[str]:
    """Names of modules of this package that a source imports, also indented; some may be no modules."""
    found: set[str] = set()
    for origin, names, plain in _IMPORT.findall(text):
        if plain:
            found.update(name.split()[0] for name in plain.split(",") if name.strip())
            continue
        found.add(origin)
        found.update(f"{origin}.{name.split()[0]}" for name in names.strip("() \t").split(",") if name.strip())
    return found


@functools.cache
def _read(module: str) -> tuple[str, bytes, frozenset[str]] | None:
    """Of a module: its path below the package, its digest, and what it imports; None where there is no such module."""
    path = _modules().get(module)
    if path is None:
        return None
    with open(path, "rb") as file:
        data = file.read()
        if os.fstat(file.fileno()).st_mtime > _STARTED:
            raise Changed(path)
    above = module.rpartition(".")[0]
    place = os.path.relpath(path, _ROOT).replace(os.sep, "/")
    return place, hashlib.sha256(data).digest(), frozenset(imports(data.decode()) | {above})


def _files(modules: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Paths and digests of these modules and all that they import."""
    waiting, seen = list(modules), set(modules)
    while waiting:
        found = _read(waiting.pop())
        if found is not None:
            path, digest, more = found
            yield path, digest
            waiting.extend(more - seen)
            seen |= more


def files(*modules: str) -> tuple[str, ...]:
    """Of these modules and all that they import: paths below the package's folder, sorted."""
    return tuple(sorted({path for path, _ in _files(modules)}))


class Changed(Exception):
    """A source was written after this process had begun: what runs here is not what stands there."""


@functools.cache
def digest(*modules: str) -> str:
    """Of these modules' sources and all that they import; empty where nothing tells what runs here.

    That is so where there are no sources (a zip), and where one was changed after the process began.
    """
    try:
        found = dict(_files(modules))
    except Changed:
        return ""
    total = hashlib.sha256()
    for path in sorted(found):
        total.update(path.encode() + b"\0" + found[path])
    return total.hexdigest() if found else ""

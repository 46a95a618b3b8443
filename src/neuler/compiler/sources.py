"""The source files that decide what a module computes, found by following its imports.

Imports are read off the text, which takes a few milliseconds for the whole package; a test compares
them with those that Python's own parser finds.
"""

from __future__ import annotations

import functools
import hashlib
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


def root() -> Path:
    """The package's folder."""
    return Path(__file__).resolve().parent.parent


def file_of(module: str) -> Path | None:
    """The file of a module of this package; None where it is no module, or the package as a whole.

    The package's own ``__init__`` imports everything and decides nothing.
    """
    parts = module.split(".")[1:]
    if not parts:
        return None
    path = root().joinpath(*parts)
    for candidate in (path.with_name(path.name + ".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


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


def _files(modules: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    waiting, seen = list(modules), set(modules)
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        if path is None:
            continue
        data = path.read_bytes()
        if path.stat().st_mtime > _STARTED:
            raise Changed(path)
        yield path.relative_to(root()).as_posix(), data
        above = module.rpartition(".")[0]
        for name in {above, *imports(data.decode())} - seen - {""}:
            seen.add(name)
            waiting.append(name)


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
        total.update(path.encode() + b"\0" + hashlib.sha256(found[path]).digest())
    return total.hexdigest() if found else ""

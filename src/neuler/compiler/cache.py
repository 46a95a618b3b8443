"""Compiled objects on disk. A damaged, foreign or missing entry costs a compile, never a wrong result.

The folder is ``NEULER_CACHE_DIR``, else the user's cache folder. It is made private; a folder
that others own or can write to is not used. Set ``NEULER_CACHE_DIR=off`` for no cache. The folder is
kept small: what has not been used for half a year goes, and beyond half a gigabyte the least recently used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuler.compiler import sources
from neuler.version import __version__

_MAGIC = b"neuler-kernel-3\n"
_DIGEST = hashlib.sha256
_OFF = ("off", "0", "none")
_COMPILER = "neuler.compiler.build"
_TEMPORARY = ".new-"
_HERE_ALONE = "here-alone-"
"""Begins names of what is good in this process alone: nothing tells which sources it was made of."""

MOST_BYTES = 512 * 1024 * 1024
"""Of all entries together: beyond it the least recently used ones go."""
MOST_SECONDS = 180 * 86400.0
"""For which an entry may lie unused."""
_DAY = 86400.0
_STORES = 100
"""Entries that a process writes between two looks at the whole folder."""


def key(*parts: object, origin: str = _COMPILER) -> str:
    """A name for what these parts, neuler's code and these libraries produce.

    ``origin`` is the module that makes a recipe of the parts: a changed line of it, of the compiler, or of
    anything that they import is a changed key.
    """
    import llvmlite

    code = sources.digest(_COMPILER, origin)
    text = repr((parts, __version__, code, llvmlite.__version__, np.__version__, sys.byteorder))
    name = _DIGEST(text.encode()).hexdigest()
    return name if code else _HERE_ALONE + name


def folder() -> Path | None:
    """Where entries live, made if need be; None where there is no private folder to be had."""
    chosen = os.environ.get("NEULER_CACHE_DIR", "")
    if chosen.lower() in _OFF:
        return None
    try:
        path = Path(chosen).expanduser() if chosen else _user_cache() / "neuler"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _private(path) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _private(path: Path) -> bool:
    """Owned by this user and writable by nobody else. Machine code is loaded from here."""
    return _owned(path.stat())


def _owned(info: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """What was stored under this name, if it is whole and ours."""
    where = folder()
    if where is None or name.startswith(_HERE_ALONE):
        return None
    try:
        data = _read(where / name)
        if not data.startswith(_MAGIC):
            return None
        digest, body = data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
        if _DIGEST(name.encode() + body).digest() != digest:
            return None
        size = int.from_bytes(body[:8], "little")
        facts = json.loads(body[8 : 8 + size])
        return (facts, body[8 + size :]) if isinstance(facts, dict) else None
    except (OSError, ValueError, RecursionError):
        return None


def _read(path: Path) -> bytes:
    """A private, regular file; its time is set to now, at most once a day, so that what is used is known."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not keep us waiting
    with open(os.open(path, flags), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or not _owned(info):
            raise ValueError("not an entry of ours")
        data = file.read()
    if time.time() - info.st_mtime > _DAY:
        with contextlib.suppress(OSError):  # a folder that can only be read
            os.utime(path)
    return data


def store(name: str, facts: dict[str, Any], code: bytes) -> None:
    """Write an entry whole or not at all: a temporary file, then a rename."""
    where = folder()
    if where is None or name.startswith(_HERE_ALONE):
        return
    head = json.dumps(facts).encode()
    body = len(head).to_bytes(8, "little") + head + code
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=where, prefix=_TEMPORARY)
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _DIGEST(name.encode() + body).digest() + body)
        os.replace(temporary, where / name)
    except OSError:
        if temporary is not None:
            _remove(temporary)
        return
    global _written
    if _written % _STORES == 0:
        prune(where)
    _written += 1


_written = 0


# ---- the folder as a whole ------------------------------------------------------------------------


@dataclass(frozen=True)
class CacheEntry:
    """A stored kernel: its file, its size in bytes and when it was last used (within a day)."""

    path: Path
    size: int
    used: float


def entries(where: Path) -> list[CacheEntry]:
    """All of them, the least recently used first; other files are not ours to count or remove."""
    found = []
    try:
        with os.scandir(where) as listing:
            for item in listing:
                if not (_is_name(item.name) or item.name.startswith(_TEMPORARY)):
                    continue
                try:
                    info = item.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process removed it
                if stat.S_ISREG(info.st_mode):
                    found.append(CacheEntry(Path(item.path), info.st_size, info.st_mtime))
    except OSError:
        return []
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def _is_name(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def prune(where: Path, most_bytes: int | None = None, most_seconds: float | None = None) -> list[CacheEntry]:
    """Remove what has not been used for long, and then the least recently used until the rest fits; what went."""
    room = MOST_BYTES if most_bytes is None else most_bytes
    oldest = time.time() - (MOST_SECONDS if most_seconds is None else most_seconds)
    kept = entries(where)
    total, gone = sum(entry.size for entry in kept), []
    for entry in kept:
        unfinished = entry.path.name.startswith(_TEMPORARY) and entry.used < time.time() - _DAY
        if total <= room and entry.used >= oldest and not unfinished:
            continue
        if _remove(entry.path):
            total -= entry.size
            gone.append(entry)
    return gone


def clear(where: Path) -> list[CacheEntry]:
    """Remove all entries; what went."""
    return [entry for entry in entries(where) if _remove(entry.path)]


def _remove(path: str | Path) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True

"""Compiled objects on disk. A damaged, foreign or missing entry costs a compile, never a wrong result.

The folder is ``NEULER_CACHE_DIR``, else the user's cache folder. It is made private; a folder
that others own or can write to is not used. Set ``NEULER_CACHE_DIR=off`` for no cache.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_MAGIC = b"neuler-kernel-2\n"
_DIGEST = hashlib.sha256
_DECIDING = (
    "algebra",
    "compiler",
    "derivatives.py",
    "motion_rates.py",
    "passes",
    "quantities.py",
    "recursions",
    "robot",
    "setup.py",
)
_OFF = ("off", "0", "none")


@functools.cache
def _source_digest() -> str:
    """Of all that decides the emitted code: a changed line of neuler is a changed key."""
    root = Path(__file__).resolve().parent.parent
    digest, files = _DIGEST(), 0
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in _DECIDING:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
            files += 1
    return digest.hexdigest() if files else ""


def key(*parts: object) -> str:
    """A name for what these parts, this code and these libraries produce."""
    import llvmlite

    text = repr((parts, _source_digest(), llvmlite.__version__, np.__version__, sys.byteorder))
    return _DIGEST(text.encode()).hexdigest()


def folder() -> Path | None:
    """Where entries live, made if need be; None where there is no private folder to be had."""
    chosen = os.environ.get("NEULER_CACHE_DIR", "")
    if chosen.lower() in _OFF or not _source_digest():  # without sources (a zip) nothing tells versions apart
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
    if os.name != "posix":
        return True
    info = path.stat()
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """What was stored under this name, if it is whole and ours."""
    where = folder()
    if where is None:
        return None
    path = where / name
    try:
        if not _private(path):
            return None
        data = path.read_bytes()
        if not data.startswith(_MAGIC):
            return None
        digest, body = data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
        if _DIGEST(name.encode() + body).digest() != digest:
            return None
        size = int.from_bytes(body[:8], "little")
        return json.loads(body[8 : 8 + size]), body[8 + size :]
    except (OSError, ValueError):
        return None


def store(name: str, facts: dict[str, Any], code: bytes) -> None:
    """Write an entry whole or not at all: a temporary file, then a rename."""
    where = folder()
    if where is None:
        return
    head = json.dumps(facts).encode()
    body = len(head).to_bytes(8, "little") + head + code
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=where, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _DIGEST(name.encode() + body).digest() + body)
        os.replace(temporary, where / name)
    except OSError:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                return

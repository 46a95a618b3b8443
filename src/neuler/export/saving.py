"""Exported files on disk: what neuler wrote is replaced, what others wrote stays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from neuler.errors import InputError
from neuler.version import __version__

_MARK = "Written by neuler"
WRITTEN = f"{_MARK} {__version__}."
"""Stands in every text that is exported."""


def save(files: Mapping[str, str | bytes], folder: str | os.PathLike[str]) -> list[Path]:
    """Write files by their names into a folder, which is made where there is none.

    Texts of the same names are replaced where neuler wrote them, which they say; others are refused, and nothing is
    written.
    """
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"save: give a folder, got {folder!r:.60}")
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise InputError(f"{os.fspath(folder)!r} is a file: give a folder for {', '.join(files)}")
    try:
        foreign = [name for name, text in files.items() if not _may_replace(where / name, text)]
        if foreign:
            raise InputError(
                f"{os.fspath(folder)!r} has {', '.join(foreign)} already, not written by neuler: give another folder"
            )
        where.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (where / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    except OSError as problem:
        raise InputError(f"{os.fspath(folder)!r} cannot be written: {problem.strerror or problem}") from None
    return [where / name for name in files]


def _may_replace(path: Path, text: str | bytes) -> bool:
    if not path.exists() or isinstance(text, bytes):
        return True
    return path.is_file() and _MARK in path.read_text(encoding="utf-8", errors="replace")

"""The folder of a study: ``study.json``, which says what it is, and a part file for every chunk that was computed.

A part's name has its rows and the checksum of its bytes, ``rows-000000000000-000000001000-9f3c01ab.parquet``: what is
done is known without a list that could be wrong, and a file that was cut or damaged is found. Files are written under
another name, flushed to the disk and renamed, so that each is there whole or not at all.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuler.errors import FormatError, InputError, NeulerError
from neuler.inputs import told

STUDY, LOCK, TEMPORARY = "study.json", "study.lock", ".writing-"
FORMAT = 1
"""Of the folder; another number is another layout."""
_PART = re.compile(r"rows-(\d{12})-(\d{12})-([0-9a-f]{8})\.(parquet|npz)")


@dataclass(frozen=True)
class PartFile:
    """Rows ``first`` to ``last - 1`` of a study, in a file."""

    path: Path
    first: int
    last: int
    kind: str
    """"parquet" or "npz"."""
    checksum: int

    def read(self) -> bytes:
        """Its bytes; a file that is not as it was written raises an error."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise FormatError(f"{str(self.path)!r} cannot be read: {error.strerror}") from None
        if zlib.crc32(data) != self.checksum:
            raise FormatError(
                f"{str(self.path)!r} is damaged: its bytes are not those that were written; run the study again to "
                "compute its rows anew"
            )
        return data

    @property
    def whole(self) -> bool:
        """Whether it is as it was written."""
        try:
            self.read()
        except FormatError:
            return False
        return True


def parts_in(folder: Path) -> list[PartFile]:
    """The parts of a study, in the order of their rows."""
    found = []
    for path in folder.iterdir():
        if match := _PART.fullmatch(path.name):
            first, last, checksum, kind = match.groups()
            found.append(PartFile(path, int(first), int(last), kind, int(checksum, 16)))
    found.sort(key=lambda part: part.first)
    for one, next_one in itertools.pairwise(found):
        if next_one.first < one.last:
            raise FormatError(
                f"{str(folder)!r}: {one.path.name} and {next_one.path.name} have rows in common; remove one of them"
            )
    return found


def described(folder: Path) -> dict[str, Any]:
    """What ``study.json`` says; empty where there is none."""
    path = folder / STUDY
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise FormatError(f"{str(path)!r} cannot be read: {error}; remove the folder, or choose another one") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FormatError(f"{str(path)!r} is not of this version of neuler; choose another folder")
    return found


class Folder:
    """The folder of a study, locked, so that only this process writes to it."""

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, Any], resume: bool) -> None:
        """Take the folder, a new one or that of the same study; ``identity`` is what tells studies apart."""
        try:
            self.path = Path(path).absolute()  # the user may go elsewhere meanwhile
        except TypeError:
            raise InputError(f"study: folder must be the path of a folder for the results, got {told(path)}") from None
        self._lock: Any = None
        try:
            self._check(identity, resume)
            self.path.mkdir(parents=True, exist_ok=True)
        except NeulerError:
            raise
        except (OSError, ValueError) as error:  # ValueError: of a name with NUL
            why = getattr(error, "strerror", None) or error
            raise InputError(f"study: the folder {told(str(self.path))} cannot be made: {why}") from None
        self._take()
        try:
            if not self._check(identity, resume):  # again: another process may have had it meanwhile
                self._write(self.path / STUDY, json.dumps({"format": FORMAT, **identity}, indent=1).encode())
            for path in self.path.iterdir():
                if path.name.startswith(TEMPORARY):
                    path.unlink()
            found = parts_in(self.path)
            self.parts = [part for part in found if part.whole]
            self.damaged = [part for part in found if part not in self.parts]
            for part in self.damaged:
                part.path.unlink()
            self.before = sum(part.last - part.first for part in self.parts)
            """Rows that were there."""
            self.taken = time.perf_counter()
        except BaseException:
            self.close()
            raise

    def _check(self, identity: Mapping[str, Any], resume: bool) -> bool:
        """Whether there is the same study already; what else there may be is refused."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"study: {str(self.path)!r} is a file; give the name of a folder for the results")
        present = described(self.path) if self.path.is_dir() else {}
        if present:
            if not resume:
                raise InputError(
                    f"study: {str(self.path)!r} has a study already, and resume is False: choose another folder, or "
                    "remove this one"
                )
            _same(self.path, present, identity)
        elif self.path.is_dir() and any(not path.name.startswith((LOCK, TEMPORARY)) for path in self.path.iterdir()):
            raise InputError(
                f"study: the folder {str(self.path)!r} has other files and no study; choose an empty or a new one"
            )
        return bool(present)

    def add(self, first: int, last: int, kind: str, data: bytes) -> None:
        """Write a part."""
        checksum = zlib.crc32(data)
        path = self.path / f"rows-{first:012d}-{last:012d}-{checksum:08x}.{kind}"
        self._write(path, data)
        self.parts.append(PartFile(path, first, last, kind, checksum))

    def missing(self, rows: int) -> list[tuple[int, int]]:
        """Rows that no part has, as (first, last + 1)."""
        found, at = [], 0
        for part in sorted(self.parts, key=lambda part: part.first):
            if part.first > at:
                found.append((at, part.first))
            at = max(at, part.last)
        return found + [(at, rows)] * (at < rows)

    def close(self) -> None:
        """Let others write to it."""
        if self._lock is not None:
            if os.name == "posix":  # in words: forks of this process may have the file open too
                fcntl = importlib.import_module("fcntl")
                with contextlib.suppress(OSError):
                    fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._lock.close()
            self._lock = None

    def _write(self, path: Path, data: bytes) -> None:
        temporary = self.path / f"{TEMPORARY}{path.name}"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            self._flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise NeulerError(
                f"study: {str(path)!r} cannot be written: {error.strerror}. What was written before is kept: make room "
                "or mend the folder, and run the study again to go on"
            ) from error

    def _flush(self) -> None:
        """Have the new name on the disk too."""
        if os.name == "posix":
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _take(self) -> None:
        """Lock the folder; the system unlocks it when this process ends, however that happens."""
        try:
            self._lock = open(self.path / LOCK, "a+b")  # noqa: SIM115 - open as long as the folder is taken
        except OSError as error:
            raise InputError(f"study: nothing can be written to {str(self.path)!r}: {error.strerror}") from None
        try:
            if os.name == "posix":
                fcntl = importlib.import_module("fcntl")
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:  # pragma: no cover - Windows
                msvcrt = importlib.import_module("msvcrt")
                self._lock.seek(0)
                msvcrt.locking(self._lock.fileno(), msvcrt.LK_NBLCK, 1)
        except (BlockingIOError, PermissionError):
            self.close()
            raise InputError(
                f"study: another process is writing to {str(self.path)!r}; wait for its end, or choose another folder"
            ) from None
        except OSError:
            pass  # a file system without locks


_TOLD = {
    "task": "another task",
    "source": "another version of the task, whose source text differs",
    "bound": "a task with other arguments, constants or helper functions",
    "batched": "a task that was called with batched the other way",
    "neuler": "another version of neuler",
    "seed": "another seed",
    "rows": "another number of rows",
    "settings": "other settings",
    "kind": "files of another kind",
}


def _same(path: Path, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a folder that has the results of another study."""
    for key, what in _TOLD.items():
        if present.get(key) != wanted.get(key):
            shown = "" if key in ("source", "settings", "bound") else (
                f" ({told(present.get(key))} there, {told(wanted.get(key))} here)"
            )  # fmt: skip
            raise InputError(
                f"study: {str(path)!r} has the results of {what}{shown}: choose another folder, or remove this one"
            )


def ordered(parts: Sequence[PartFile]) -> list[PartFile]:
    """In the order of their rows."""
    return sorted(parts, key=lambda part: part.first)

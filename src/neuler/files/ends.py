"""Where tables come from and where they go: files, standard input and output; never a half-written file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from neuler.errors import FormatError

FORMATS = ("csv", "npz")
STANDARD = "-"
"""The name of standard input and of standard output."""


def format_of(path: str, given: str | None, flag: str) -> str:
    """The format of a table: as given, else by the name's suffix; CSV for standard input and output.

    >>> format_of("states.NPZ", None, "--in-format"), format_of("-", None, "--in-format")
    ('npz', 'csv')
    """
    if given is not None:
        if given not in FORMATS:
            raise FormatError(f"{flag}: expected {' or '.join(FORMATS)}, got {given!r}")
        return given
    if path == STANDARD:
        return "csv"
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise FormatError(f"{path!r}: expected a file that ends in .csv or .npz; for another name give {flag}")
    return suffix


def name_of(path: str, output: bool = False) -> str:
    """What a message calls a path: itself, or standard input or output."""
    return ("standard output" if output else "standard input") if path == STANDARD else path


@contextmanager
def source(path: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of standard input, which stays open."""
    if path != STANDARD:
        with open(path, "rb") as file:
            yield file
        return
    if sys.stdin is None:
        raise FormatError("standard input: there is none; name a file")
    yield sys.stdin.buffer  # type: ignore[misc]


@contextmanager
def as_text(raw: io.BufferedReader) -> Iterator[IO[str]]:
    """Its UTF-8; the bytes below stay open."""
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
    try:
        yield text
    finally:
        with contextlib.suppress(ValueError, OSError):
            text.detach()


@contextmanager
def target(path: str, form: str) -> Iterator[IO[bytes]]:
    """A file to write into, whole or not at all; or standard output, as it comes."""
    if path != STANDARD:
        with written(path) as file:
            yield file
        return
    if sys.stdout is None:
        raise FormatError("standard output: there is none; name a file")
    if form == "npz" and sys.stdout.isatty():
        raise FormatError("standard output is a terminal, and .npz is not text; name a file, or pipe it to a program")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write into that appears under its name only when all is written."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no regular file"
        raise FormatError(f"{os.fspath(path)!r} is {what}; give the name of a file to write")
    if not target.parent.is_dir():
        raise FormatError(f"{os.fspath(path)!r}: the folder {str(target.parent)!r} does not exist; make it first")
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".neuler-", suffix=target.suffix)
    except OSError as error:
        raise FormatError(f"{os.fspath(path)!r}: nothing can be written to its folder: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

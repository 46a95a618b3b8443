"""Where the text of a robot comes from: a path, or the text itself; bounded in size, whatever it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from neuler.errors import FormatError

CHUNK = 2**16

Source = str | bytes | os.PathLike[str]
"""A path, or what stands in the file: bytes, or text that each format knows by how it begins."""


def check_source(source: object, what: str) -> None:
    """Refused: what is neither a path nor text, and text of blanks alone."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise FormatError(f"expected the path or the text of a {what} file, got {type(source).__name__}")
    if isinstance(source, str) and not source.strip():
        raise FormatError(f"expected the path or the text of a {what} file, got an empty string")


def label_of(path: str) -> str:
    """The path as errors show it.

    >>> label_of("arm.urdf")
    'arm.urdf'
    """
    return path if len(path) <= 200 else f"{path[:97]}...{path[-97:]}"


def clip(text: str) -> str:
    """A text of the file as errors show it.

    >>> clip("0.5 m")
    "'0.5 m'"
    """
    return repr(text if len(text) <= 60 else text[:57] + "...")


def check_size(label: str, size: int, limit: int) -> None:
    """FormatError where there are more bytes than a robot needs."""
    if size > limit:
        raise FormatError(
            f"{label}: has {size:,} bytes, the limit is {limit:,}; keep meshes and data in files of their own"
        )


def file_chunks(path: str, what: str, limit: int) -> Iterator[bytes]:
    """The bytes of a regular file of bounded size; FormatError, naming the file and the remedy, for anything else."""
    label = label_of(path)
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            raise FormatError(f"{label}: is a directory; give the path of a {what} file in it")
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{label}: is not a regular file; read it yourself and pass its text")
        check_size(label, status.st_size, limit)
        read = 0
        with Path(path).open("rb") as file:
            while chunk := file.read(CHUNK):
                read += len(chunk)
                check_size(label, read, limit)
                yield chunk
    except FileNotFoundError:
        raise FormatError(f"{label}: there is no such file; give the path or the text of a {what} file") from None
    except OSError as error:
        raise FormatError(f"{label}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{label!r}: is not a path: {error}") from None


# ---- files that include others ---------------------------------------------------------------------------------

_INCLUDED: dict[str, tuple[str, ...]] = {}


def remember(path: str, files: Iterable[str]) -> None:
    """Of a file that was read, all files that it is made of."""
    _INCLUDED[os.path.abspath(path)] = tuple(files)


def files_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The file, and those that it included when it was read last."""
    whole = os.path.abspath(os.fsdecode(path))
    return _INCLUDED.get(whole, (whole,))

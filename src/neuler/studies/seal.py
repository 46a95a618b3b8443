"""Bytes that hold a checksum of themselves, wherever in them a format leaves room for a text."""

from __future__ import annotations

import zlib

from neuler.errors import FormatError

_MARK = b"neuler-crc32:"
_DIGITS = 8
BLANK = _MARK + b"0" * _DIGITS
"""What is written first, as the last text of its kind in the file."""


def sealed(data: bytes | memoryview, tail: int) -> bytes:
    """The bytes with their checksum in place of the blank one, which is among the last ``tail`` bytes.

    >>> sealed(b"12345" + BLANK + b"67", 23)
    b'12345neuler-crc32:0b1ed8f467'
    """
    view = memoryview(data)
    start = len(view) - tail
    at = start + bytes(view[start:]).rindex(BLANK) + len(_MARK)
    return b"".join([view[:at], _checksum(view, at), view[at + _DIGITS :]])


def check(data: bytes) -> None:
    """Refuse bytes that are not those that were sealed."""
    at = data.rfind(_MARK) + len(_MARK)
    if at < len(_MARK):
        raise FormatError("a part of a study is cut, or was not written by a study: it has no checksum")
    if data[at : at + _DIGITS] != _checksum(memoryview(data), at):
        raise FormatError("a part of a study is damaged: its checksum is wrong")


def _checksum(view: memoryview, at: int) -> bytes:
    return b"%08x" % zlib.crc32(view[at + _DIGITS :], zlib.crc32(view[:at]))

"""Bytes of WebAssembly: numbers of variable length, sections, instructions as functions of their operands' code.

>>> add(get(0), number(1.0)).hex(" ")
'20 00 44 00 00 00 00 00 00 f0 3f a0'
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

MAGIC = b"\0asm\1\0\0\0"
I32, I64, F64 = b"\x7f", b"\x7e", b"\x7c"
END, RETURN, SELECT, DROP, NOTHING = b"\x0b", b"\x0f", b"\x1b", b"\x1a", b"\x40"
BLOCK, LOOP, IF = b"\x02", b"\x03", b"\x04"
PAGE = 65536
"""Bytes by which memory grows."""
TYPES, IMPORTS, FUNCTIONS, MEMORIES, GLOBALS, EXPORTS, CODES, CUSTOM = 1, 2, 3, 5, 6, 7, 10, 0
"""Sections by their numbers."""


def unsigned(n: int) -> bytes:
    """A whole number that is not negative, seven bits a byte.

    >>> unsigned(300).hex(" ")
    'ac 02'
    """
    found = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        found.append(low | (0x80 if n else 0))
        if not n:
            return bytes(found)


def signed(n: int) -> bytes:
    """A whole number, seven bits a byte, with its sign in the last one.

    >>> signed(-1).hex(), signed(64).hex(" ")
    ('7f', 'c0 00')
    """
    found = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        done = n == (-1 if low & 0x40 else 0)
        found.append(low | (0 if done else 0x80))
        if done:
            return bytes(found)


def vector(items: Sequence[bytes]) -> bytes:
    """Items behind their count."""
    return unsigned(len(items)) + b"".join(items)


def text(name: str) -> bytes:
    """A name behind its length."""
    data = name.encode()
    return unsigned(len(data)) + data


def section(kind: int, body: bytes) -> bytes:
    """A part of a module behind its length."""
    return bytes([kind]) + unsigned(len(body)) + body


def signature(takes: Iterable[bytes], gives: Iterable[bytes]) -> bytes:
    """The type of a function."""
    return b"\x60" + vector(list(takes)) + vector(list(gives))


def function(local: Sequence[tuple[int, bytes]], code: bytes) -> bytes:
    """The body of a function: counts of local variables by type, then its instructions."""
    body = vector([unsigned(count) + kind for count, kind in local if count]) + code + END
    return unsigned(len(body)) + body


# ---- instructions -------------------------------------------------------------------------------------------------


def _operation(code: int) -> Callable[..., bytes]:
    return lambda *operands: b"".join(operands) + bytes([code])


absolute, negative, root = (_operation(code) for code in (0x99, 0x9A, 0x9F))
add, subtract, multiply, divide = (_operation(code) for code in (0xA0, 0xA1, 0xA2, 0xA3))
differs, less, above, at_most, at_least = (_operation(code) for code in (0x62, 0x63, 0x64, 0x65, 0x66))
either, is_zero, from_whole = (_operation(code) for code in (0x72, 0x45, 0xB8))  # of 32 bits
add32, subtract32 = _operation(0x6A), _operation(0x6B)
bits, from_bits, odd = _operation(0xBD), _operation(0xBF), _operation(0xA7)  # 64 bits; odd: the low half of them
and64, xor64, add64, shift64 = (_operation(code) for code in (0x83, 0x85, 0x7C, 0x86))


def get(place: int) -> bytes:
    """A local variable's value."""
    return b"\x20" + unsigned(place)


def put(place: int, *code: bytes) -> bytes:
    """Store a value in a local variable."""
    return b"".join(code) + b"\x21" + unsigned(place)


def keep(place: int, *code: bytes) -> bytes:
    """Store a value in a local variable, and leave it on the stack."""
    return b"".join(code) + b"\x22" + unsigned(place)


def call(place: int, *operands: bytes) -> bytes:
    """Call a function."""
    return b"".join(operands) + b"\x10" + unsigned(place)


def number(x: float) -> bytes:
    """A constant, exactly."""
    return b"\x44" + struct.pack("<d", x)


def whole(n: int) -> bytes:
    """A constant of 32 bits."""
    return b"\x41" + signed(n)


def long(n: int) -> bytes:
    """A constant of 64 bits."""
    return b"\x42" + signed(n)


def load(address: bytes, place: int) -> bytes:
    """The number at so many places of eight bytes behind an address."""
    return address + b"\x2b\x03" + unsigned(8 * place)


def store(address: bytes, place: int, value: bytes) -> bytes:
    """Write a number at so many places of eight bytes behind an address."""
    return address + value + b"\x39\x03" + unsigned(8 * place)


def choose(x: bytes, otherwise: bytes, condition: bytes) -> bytes:
    """One of two values, both of which are computed."""
    return x + otherwise + condition + SELECT


def leave_if(depth: int, condition: bytes) -> bytes:
    """Leave so many blocks, or begin a loop again."""
    return condition + b"\x0d" + unsigned(depth)


def leave(depth: int) -> bytes:
    """The same without a condition."""
    return b"\x0c" + unsigned(depth)

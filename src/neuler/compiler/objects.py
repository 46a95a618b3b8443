"""Whether bytes are an object file that can be linked here. LLVM itself does not survive others."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable
from typing import NamedTuple

_MACHINES = {"x86_64": 62, "amd64": 62, "aarch64": 183, "arm64": 183}
"""The number of each machine in the header of an ELF file."""
_SYMBOLS, _NOTHING_IN_FILE = 2, 8
"""ELF's kinds of sections: a table of symbols; one without contents."""
_MACH = b"\xcf\xfa\xed\xfe"
_MACH_SYMBOLS = 2
"""The load command of its table of symbols."""
_MACH_CPUS = {"x86_64": 0x01000007, "arm64": 0x0100000C, "aarch64": 0x0100000C}


def linkable(code: bytes, triple: str, names: Iterable[str], known: Container[str] = ()) -> bool:
    """An object file for this target, whole, that defines all functions ``names`` and calls none but ``known`` ones."""
    try:
        found = _mach(code, triple) if code[:4] == _MACH else _elf(code, triple)
    except (struct.error, IndexError, ValueError):
        return False
    return found is not None and found.defined.issuperset(names) and all(name in known for name in found.needed)


def needed(code: bytes, triple: str) -> frozenset[str]:
    """The functions that an object file calls and does not define."""
    found = _mach(code, triple) if code[:4] == _MACH else _elf(code, triple)
    return frozenset() if found is None else found.needed


class _Symbols(NamedTuple):
    defined: frozenset[str]
    needed: frozenset[str]


def _elf(code: bytes, triple: str) -> _Symbols | None:
    """64 bits, little-endian, relocatable; all sections inside. Symbols that are empty count as not defined."""
    if code[:7] != b"\x7fELF\x02\x01\x01":
        return None
    kind, machine = struct.unpack_from("<HH", code, 16)
    if kind != 1 or machine != _MACHINES.get(triple.partition("-")[0], machine):
        return None
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    if size != 64 or not count:
        return None
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + k * size) for k in range(count)]
    for section in sections:
        if section[1] not in (0, _NOTHING_IN_FILE) and section[4] + section[5] > len(code):
            return None
    defined: set[str] = set()
    missing: set[str] = set()
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            label, _, _, owner, _, length = struct.unpack_from("<IBBHQQ", code, at)
            name = _text(code, strings + label)
            if owner and length:
                defined.add(name)
            elif not owner and name:
                missing.add(name)
    return _Symbols(frozenset(defined), frozenset(missing))


def _mach(code: bytes, triple: str) -> _Symbols | None:
    """64 bits, relocatable; all load commands and symbols inside. Names lose the underscore that C gives them."""
    cpu, _, kind, count, size = struct.unpack_from("<IIIII", code, 4)
    if kind != 1 or cpu != _MACH_CPUS.get(triple.partition("-")[0], cpu) or 32 + size > len(code):
        return None
    defined: set[str] = set()
    missing: set[str] = set()
    at = 32
    for _ in range(count):
        command, length = struct.unpack_from("<II", code, at)
        if command == _MACH_SYMBOLS:
            symbols, number, strings, _ = struct.unpack_from("<IIII", code, at + 8)
            for place in range(symbols, symbols + 16 * number, 16):
                label, what = struct.unpack_from("<IB", code, place)
                name = _text(code, strings + label).removeprefix("_")
                (missing if what & 0x0E == 0 else defined).add(name)
        at += length
    return _Symbols(frozenset(defined), frozenset(missing)) if at == 32 + size else None


def _text(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()

"""Whether bytes are an object file that can be linked here. LLVM itself does not survive others."""

from __future__ import annotations

import struct

_MACHINES = {"x86_64": 62, "amd64": 62, "aarch64": 183, "arm64": 183}
"""ELF's numbers."""
_SYMBOLS, _NOTHING_IN_FILE = 2, 8
"""ELF's kinds of sections: a table of symbols; one without contents."""
_MACH = b"\xcf\xfa\xed\xfe"
_MACH_CPUS = {"x86_64": 0x01000007, "arm64": 0x0100000C, "aarch64": 0x0100000C}


def linkable(code: bytes, triple: str, name: str) -> bool:
    """An object file for this target, whole, that defines the function ``name``."""
    try:
        return _mach(code, triple) if code[:4] == _MACH else _elf(code, triple, name)
    except (struct.error, IndexError, ValueError):
        return False


def _elf(code: bytes, triple: str, name: str) -> bool:
    """64 bits, little-endian, relocatable; all sections inside; the symbol is there and not empty."""
    if code[:7] != b"\x7fELF\x02\x01\x01":
        return False
    kind, machine = struct.unpack_from("<HH", code, 16)
    if kind != 1 or machine != _MACHINES.get(triple.partition("-")[0], machine):
        return False
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    if size != 64 or not count:
        return False
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + k * size) for k in range(count)]
    for section in sections:
        if section[1] not in (0, _NOTHING_IN_FILE) and section[4] + section[5] > len(code):
            return False
    wanted = name.encode() + b"\0"
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            label, _, _, owner, _, length = struct.unpack_from("<IBBHQQ", code, at)
            if owner and length and code[strings + label : strings + label + len(wanted)] == wanted:
                return True
    return False


def _mach(code: bytes, triple: str) -> bool:
    """64 bits, relocatable; all load commands inside."""
    cpu, _, kind, count, size = struct.unpack_from("<IIIII", code, 4)
    if kind != 1 or cpu != _MACH_CPUS.get(triple.partition("-")[0], cpu) or 32 + size > len(code):
        return False
    at = 32
    for _ in range(count):
        _, length = struct.unpack_from("<II", code, at)
        at += length
    return at == 32 + size

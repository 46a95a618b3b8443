"""Libraries of a unit: by this machine's C compiler, or for other platforms by that of the package ``ziglang``."""

from __future__ import annotations

import importlib.util
import platform
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from neuler.errors import CompileError, InputError
from neuler.export.c99.header import FLAGS
from neuler.export.compilers import find_compiler
from neuler.inputs import choice, told

TARGETS = {
    "linux64": ("x86_64-linux-gnu.2.17",),
    "win64": ("x86_64-windows-gnu",),
    "darwin64": ("x86_64-macos.11.0", "aarch64-macos.11.0"),
}
"""By platform, as FMI 2.0 names its folder, the machines whose code the library has. For macOS there is one folder."""
ENDS = {"linux64": ".so", "win64": ".dll", "darwin64": ".dylib"}
_SECTION = 1 << 14
"""Code of each machine in a universal library begins at a multiple of this."""


def this_platform() -> str | None:
    """The folder of this machine's library; None where FMI 2.0 has no name for it.

    The standard's names do not tell processors apart: importers on ARM look into the same folders.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"):
        return None
    system = "linux" if sys.platform.startswith("linux") else sys.platform
    return {"linux": "linux64", "win32": "win64", "darwin": "darwin64"}.get(system)


def checked_platforms(called: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of platforms; by default this machine's."""
    here = this_platform()
    if given is None:
        if here is None:
            raise InputError(f"{called}: FMI 2.0 has no name for this platform; platforms=() gives sources alone")
        return (here,)
    if not isinstance(given, str | Iterable) or isinstance(given, bytes):
        raise InputError(
            f"{called}: platforms must be names among {', '.join(TARGETS)}, or () for none, got {told(given)}"
        )
    chosen = (given,) if isinstance(given, str) else tuple(given)
    for each in chosen:
        choice(f"{called}: platforms", each, TARGETS)
    return tuple(dict.fromkeys(chosen))


def libraries(name: str, sources: Mapping[str, str], platforms: Sequence[str]) -> dict[str, bytes]:
    """The library for each platform, by its path in the archive."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="neuler-fmu-") as folder:
        for file, text in sources.items():
            (Path(folder) / file).write_text(text, encoding="utf-8", newline="\n")
        for each in platforms:
            found[f"binaries/{each}/{name}{ENDS[each]}"] = _library(name, sources, each, Path(folder))
    return found


def _library(name: str, sources: Mapping[str, str], chosen: str, folder: Path) -> bytes:
    files = sorted(file for file in sources if file.endswith(".c"))
    target = folder / f"{name}{ENDS[chosen]}"
    zig_is_here = importlib.util.find_spec("ziglang") is not None
    if chosen == this_platform() and not (chosen == "darwin64" and zig_is_here):
        try:
            compiler = find_compiler()
        except CompileError as error:
            raise CompileError(f"fmu: {error}; platforms=() gives a unit with sources alone") from None
        both = ["-arch", "x86_64", "-arch", "arm64"] if chosen == "darwin64" else []
        return _compiled([*compiler, *both, *_options(chosen)], files, target, folder)
    if not zig_is_here:
        raise CompileError(
            f"fmu: for the platform {chosen!r} the compiler of ziglang is needed: pip install ziglang; "
            "platforms=() gives a unit with sources alone"
        )
    zig = [sys.executable, "-m", "ziglang", "cc"]
    commands = [[*zig, "-target", machine, *_options(chosen)] for machine in TARGETS[chosen]]
    return universal([_compiled(command, files, target, folder) for command in commands])


def _options(chosen: str) -> list[str]:
    """No code of one processor only: the unit may run elsewhere."""
    code = [] if chosen == "win64" else ["-fPIC"]
    return [*FLAGS.split(), *code, "-shared", "-fvisibility=hidden", "-g0", "-s"]


def _compiled(command: Sequence[str], files: Sequence[str], target: Path, folder: Path) -> bytes:
    whole = [*command, "-o", target.name, *files, "-lm"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode or not target.is_file():
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        said = " ".join(lines[:3]) or f"it exited with status {done.returncode} and wrote no library"
        raise CompileError(
            f"fmu: {' '.join(command[:4])} failed: {said}; CC names another compiler, platforms=() gives a unit with "
            "sources alone"
        )
    return target.read_bytes()


def universal(codes: Sequence[bytes]) -> bytes:
    """One library of macOS for several machines: their libraries behind each other, a table before them.

    Every entry of the table has the type and subtype of the processor, which a library's own head begins with, the
    place, the size and the alignment, as a power of two.
    """
    if len(codes) == 1:
        return codes[0]
    table, bodies = struct.pack(">II", 0xCAFEBABE, len(codes)), b""
    at = _SECTION
    for code in codes:
        processor, kind = struct.unpack_from("<II", code, 4)
        table += struct.pack(">IIIII", processor, kind, at, len(code), _SECTION.bit_length() - 1)
        bodies += code + bytes(-len(code) % _SECTION)
        at = _SECTION + len(bodies)
    return table + bytes(_SECTION - len(table)) + bodies

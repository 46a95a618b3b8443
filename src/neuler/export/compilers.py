"""C compilers of this machine, for what is needed as a library at once; code itself needs none of them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from neuler.errors import CompileError
from neuler.export.c99.header import FLAGS


def find_compiler() -> list[str]:
    """The command of a C compiler: what CC names, the system's, or that of the package ``ziglang``."""
    named = os.environ.get("CC", "").strip()
    if named:
        try:
            command = shlex.split(named)
        except ValueError as error:
            raise CompileError(f"CC is no command: {named!r} ({error})") from None
        if shutil.which(command[0]) is None:
            raise CompileError(f"CC names {named!r}, and there is no such command")
        return command
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CompileError(
        "there is no C compiler: install one, or pip install ziglang, which brings one; CC names another"
    )


def shared_library(sources: Sequence[Path], target: Path) -> Path:
    """Compile C files of this machine to a shared library."""
    command = [
        *find_compiler(),
        *FLAGS.split(),
        "-march=native",
        "-shared",
        "-fPIC",
        "-o",
        str(target),
        *map(str, sources),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise CompileError(f"{command[0]} failed: {' '.join(lines[:3]) or f'exited with status {done.returncode}'}")
    return target

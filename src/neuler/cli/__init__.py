"""The command line: one file a command; ``main`` reads the arguments and tells what went wrong."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence

from neuler.cli import bench, cache, evaluate, export, gait, identify, info, plan, report, simulate, study
from neuler.cli.words import in_flags
from neuler.errors import NeulerError
from neuler.version import __version__

COMMANDS = (info, report, simulate, plan, gait, identify, study, bench, evaluate, export, cache)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 for success, 2 for what the user can mend, 130 when interrupted.

    1 for a broken pipe, for errors that ``info --strict`` found, for a plan or a walk that is not valid, and for an
    estimate that did not converge.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    chosen = parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            code = chosen.run(chosen) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more as it ends: give it somewhere to go.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (NeulerError, OSError) as error:
        print(f"neuler: error: {_message(error)}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"neuler: error: there is not enough memory for that: {error or 'ask for less'}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("neuler: interrupted", file=sys.stderr)
        return 130
    return int(code)


def _warned(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
    """A warning as the command line tells it: without a place in the code, on one line."""
    from neuler.plain import shown

    print(f"neuler: warning: {shown(str(message))}", file=sys.stderr)


def _message(error: Exception) -> str:
    from neuler.plain import shown

    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename!r}: " if error.filename is not None else ""
        return shown(f"{where}{error.strerror}")
    return "\n  ".join(shown(line) for line in in_flags(str(error)).split("\n"))


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    found = argparse.ArgumentParser(prog="neuler", description="Robot dynamics: a robot in, compiled dynamics out.")
    found.add_argument("--version", action="version", version=f"neuler {__version__}")
    commands = found.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return found

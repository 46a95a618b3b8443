"""The errors of neuler: each names the thing, what was expected, what came, and the remedy."""

from __future__ import annotations

import os
import sys

_HOME = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""Where the package lies."""


class NeulerError(Exception):
    """Base of every error that neuler raises on purpose."""


class RobotError(NeulerError, ValueError):
    """A robot that cannot be built: unknown names, loops, zero axes, non-finite numbers."""


class FormatError(NeulerError, ValueError):
    """A file or table that cannot be read, or that asks for something not supported."""


class InputError(NeulerError, ValueError):
    """An array handed to a kernel with the wrong shape, type or layout."""


class CompileError(NeulerError, RuntimeError):
    """The compiler could not produce machine code for this CPU."""


def caller() -> int:
    """For warnings: how many levels up the code is that is not neuler's own, whose call it was."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    return level

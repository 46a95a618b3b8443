"""The errors of neuler: each names the thing, what was expected, what came, and the remedy."""

from __future__ import annotations


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

"""What the doctor says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One finding: ``severity`` ("error", "warning", "note"), the ``subject`` it is about, and what was found.

    >>> print(Finding("warning", "link 'hand'", "has no mass"))
    warning: link 'hand': has no mass
    """

    severity: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.subject}: {self.message}"

"""Plain text: names that cannot steer a terminal, short numbers, aligned tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def shown(text: str) -> str:
    """Text that cannot steer a terminal: what is not printable is written as an escape.

    >>> shown("arm" + chr(27) + "[2J")
    'arm\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(x: float | None, digits: int = 5) -> str:
    """Short and exact enough to read; nothing for None and infinite numbers.

    >>> number(0.30000000000000004), number(float("inf"))
    ('0.3', '')
    """
    return "" if x is None or math.isinf(x) else f"{x:.{digits}g}"


def vector(values: Iterable[float]) -> str:
    """Numbers side by side, zeros short."""
    return " ".join(number(x if abs(x) > 1e-15 else 0.0, 4) for x in values)


def degrees(n: int) -> str:
    """Degrees of freedom, with their number.

    >>> degrees(1), degrees(6)
    ('1 degree of freedom', '6 degrees of freedom')
    """
    return f"{n} degree{'s' * (n != 1)} of freedom"


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "link"), count(3, "link"), count(2, "velocity")
    ('1 link', '3 links', '2 velocities')
    """
    if n == 1:
        return f"{n} {what}"
    return f"{n} {what[:-1]}ies" if what.endswith("y") else f"{n} {what}s"


def safe(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Cells that cannot steer a terminal."""
    return [[shown(cell) for cell in row] for row in rows]


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """An aligned table: the first ``left`` columns to the left, the others to the right."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = []
    for row in cells:
        padded = [c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)

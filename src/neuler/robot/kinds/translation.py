"""A link that keeps its orientation: three slides."""

from __future__ import annotations

from neuler.robot.kinds.kind import Element, Row

TRANSLATION = Row(
    "translation",
    (
        Element("x", "prismatic", (1.0, 0.0, 0.0)),
        Element("y", "prismatic", (0.0, 1.0, 0.0)),
        Element("z", "prismatic", (0.0, 0.0, 1.0)),
    ),
)
"""Position: x, y, z along the axes of its seat (m). Velocity: their rates."""
TRANSLATION.drives = frozenset({"viscous"})

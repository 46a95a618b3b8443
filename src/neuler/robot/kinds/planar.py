"""A plate on a plane: two slides and a turn."""

from __future__ import annotations

from neuler.robot.kinds.kind import Element, Row

PLANAR = Row(
    "planar",
    (
        Element("x", "prismatic", (1.0, 0.0, 0.0)),
        Element("y", "prismatic", (0.0, 1.0, 0.0)),
        Element("angle", "revolute", (0.0, 0.0, 1.0)),
    ),
)
"""Position: x, y along the axes of its seat (m), then the angle about z (rad). Velocity: their rates."""

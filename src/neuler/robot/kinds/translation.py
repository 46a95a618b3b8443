"""A link that keeps its orientation: three slides."""

from __future__ import annotations

from neuler.robot.kinds.kind import InARow, Part, Simple
from neuler.trace.graph import Scalar


class Translation(InARow):
    """Position: x, y, z along the axes of its seat (m). Velocity: their rates."""

    drives = frozenset({"viscous"})
    symbol = "cross"

    def as_free(self, q: Part, qd: Part, qdd: Part) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Position, velocity and acceleration of a free joint that moves alike and does not turn."""
        still: list[Scalar] = [0.0, 0.0, 0.0]
        return [*q, *still, 1.0], [*qd, *still], [*qdd, *still]


TRANSLATION = Translation(
    "translation",
    (
        Simple("x", "prismatic", (1.0, 0.0, 0.0)),
        Simple("y", "prismatic", (0.0, 1.0, 0.0)),
        Simple("z", "prismatic", (0.0, 0.0, 1.0)),
    ),
)

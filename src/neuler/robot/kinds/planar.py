"""A plate on a plane: two slides and a turn."""

from __future__ import annotations

from neuler.robot.kinds.kind import InARow, Part, Simple
from neuler.trace.graph import Scalar, cos, sin


class Planar(InARow):
    """Position: x, y along the axes of its seat (m), then the angle about z (rad). Velocity: their rates."""

    symbol = "plate"

    def as_free(self, q: Part, qd: Part, qdd: Part) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """The plate's own axes turn: v = R^T xd, and its rate R^T xdd - w x v."""
        (x, y, angle), (xd, yd, w), (xdd, ydd, wd) = q, qd, qdd
        c, s = cos(angle), sin(angle)
        u, v = c * xd + s * yd, c * yd - s * xd
        position: list[Scalar] = [x, y, 0.0, 0.0, 0.0, sin(0.5 * angle), cos(0.5 * angle)]
        acceleration: list[Scalar] = [c * xdd + s * ydd + w * v, c * ydd - s * xdd - w * u, 0.0, 0.0, 0.0, wd]
        return position, [u, v, 0.0, 0.0, 0.0, w], acceleration


PLANAR = Planar(
    "planar",
    (
        Simple("x", "prismatic", (1.0, 0.0, 0.0)),
        Simple("y", "prismatic", (0.0, 1.0, 0.0)),
        Simple("angle", "revolute", (0.0, 0.0, 1.0)),
    ),
)

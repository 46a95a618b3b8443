"""A slide along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.kinds.kind import Axial, Body

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Prismatic(Axial):
    """A slide along an axis. Position: one length (m)."""

    name = "prismatic"
    sigma = 1
    turns = (False,)
    any_line = True
    symbol = "slide"

    def unit(self, joint: Joint) -> tuple[float, float]:
        """One metre along the axis for each metre of q."""
        return 0.0, 1.0

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """Moved: the whole inertia tensor, since both links turn alike."""
        make = type(link)
        return make("kept", link.mass, link.first_moment), make("moved", inertia=link.inertia)

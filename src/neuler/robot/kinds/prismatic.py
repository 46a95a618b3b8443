"""A slide along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.kinds.kind import Axial
from neuler.robot.link import Link

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Prismatic(Axial):
    """One length (m)."""

    name = "prismatic"
    sigma = 1
    turns = (False,)
    any_line = True

    def unit(self, joint: Joint) -> tuple[float, float]:
        """A metre."""
        return 0.0, 1.0

    def split(self, link: Link, joint: Joint) -> tuple[Link, Link]:
        """Moved: the whole inertia tensor, since both links turn alike."""
        return Link("kept", link.mass, link.first_moment), Link("moved", inertia=link.inertia)

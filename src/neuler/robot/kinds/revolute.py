"""A turn about an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.kinds.kind import Axial, Body

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Revolute(Axial):
    """A hinge about an axis. Position: one angle (rad)."""

    name = "revolute"
    sigma = 0
    turns = (True,)
    symbol = "hinge"

    def unit(self, joint: Joint) -> tuple[float, float]:
        """One radian about the axis for each radian of q."""
        return 1.0, 0.0

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """Moved: what a turn about z does not change and what has no inertia about it.

        That is the mass, put on the axis, the first moment along z, and equal xx and yy.
        """
        make = type(link)
        xx, yy, zz, xy, xz, yz = link.inertia
        mx, my, mz = link.first_moment
        kept = make("kept", 0.0, (mx, my, 0.0), (xx - yy, 0.0, zz, xy, xz, yz))
        return kept, make("moved", link.mass, (0.0, 0.0, mz), (yy, yy, 0.0, 0.0, 0.0, 0.0))

"""A screw: a turn about an axis, with a slide along it that the turn decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.kinds.kind import Axial, Body

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Helical(Axial):
    """One angle (rad); the child slides by ``pitch`` (m/rad) for each radian."""

    name = "helical"
    turns = (True,)
    has_pitch = True
    symbol = "screw"

    def unit(self, joint: Joint) -> tuple[float, float]:
        """A radian, and the way that goes with it."""
        return 1.0, joint.pitch

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """Moved: equal xx and yy, which neither a turn about z nor a slide along it changes."""
        make = type(link)
        xx, yy, zz, xy, xz, yz = link.inertia
        kept = make("kept", link.mass, link.first_moment, (xx - yy, 0.0, zz, xy, xz, yz))
        return kept, make("moved", inertia=(yy, yy, 0.0, 0.0, 0.0, 0.0))

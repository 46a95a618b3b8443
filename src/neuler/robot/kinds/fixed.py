"""No motion at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.algebra.screw import Column
from neuler.robot.kinds.kind import DRIVES, Body, Kind
from neuler.robot.transform import Vec3

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Fixed(Kind):
    """A weld: the child does not move in its parent."""

    name = "fixed"
    sigma = 2
    nq = nv = 0
    drives = frozenset(DRIVES)  # kept as they were given, without effect: a joint may be fixed for a while

    def columns(self, joint: Joint, axis: Vec3) -> tuple[Column, ...]:
        """No column: the joint does not move."""
        return ()

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """All of it is a part of the parent."""
        make = type(link)
        return make("kept"), link

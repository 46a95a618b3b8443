"""A body that spins about its axis of symmetry: a rotor, a flywheel, a propeller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.robot.kinds.kind import Axial, Body
from neuler.trace.graph import Scalar

if TYPE_CHECKING:
    from neuler.robot.joint import Joint


class Spin(Axial):
    """One angle (rad); the body turns by ``gear_ratio`` times it, and its frame stays with the parent.

    The body looks the same at every angle (round about the axis, centre of mass on it), so that its inertia is constant
    in a frame that does not turn with it: Hua's assumption A2. Its angle then has no effect but on springs.
    """

    name = "spin"
    turns = (True,)
    geared = True
    symbol = "hinge"

    def unit(self, joint: Joint) -> tuple[float, float]:
        """Turns of the body for a turn of the coordinate."""
        return joint.gear_ratio, 0.0

    def travel(self, joint: Joint, q: Scalar) -> tuple[Scalar, Scalar]:
        """No angle and no way: the frame of a spinning body stands still."""
        return 0.0, 0.0

    def split(self, link: Body, joint: Joint) -> tuple[Body, Body]:
        """Moved: all but the inertia about the axis, which alone the spin shows, Hua (24)."""
        make = type(link)
        xx, yy, zz, xy, xz, yz = link.inertia
        kept = make("kept", inertia=(0.0, 0.0, zz, 0.0, 0.0, 0.0))
        return kept, make("moved", link.mass, link.first_moment, (xx, yy, 0.0, xy, xz, yz))

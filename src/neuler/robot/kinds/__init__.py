"""The kinds of joints, one file each; see ``kind.py`` for what a kind is."""

from __future__ import annotations

from neuler.robot.kinds.fixed import Fixed
from neuler.robot.kinds.free import Free
from neuler.robot.kinds.helical import Helical
from neuler.robot.kinds.kind import DRIVES, Kind, Simple
from neuler.robot.kinds.planar import PLANAR
from neuler.robot.kinds.prismatic import Prismatic
from neuler.robot.kinds.revolute import Revolute
from neuler.robot.kinds.spherical import Spherical
from neuler.robot.kinds.spin import Spin
from neuler.robot.kinds.translation import TRANSLATION

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Revolute(), Prismatic(), Fixed(), Free(), Spherical(), PLANAR, TRANSLATION, Helical(), Spin())
}  # fmt: skip
"""All kinds of joints, by name."""

__all__ = ["DRIVES", "KINDS", "Kind", "Simple"]

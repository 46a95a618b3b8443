"""Cut joints: what closes a loop of a tree (Khalil 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from neuler.errors import RobotError

CUTS: dict[str, int] = {
    "fixed": 6,
    "revolute": 5,
    "prismatic": 5,
    "universal": 4,
    "cylindrical": 4,
    "spherical": 3,
    "planar": 3,
    "point_on_line": 2,
    "point_on_plane": 1,
}
"""The kinds of cut joints, and how many constraints each sets."""


@dataclass(frozen=True)
class Loop:
    """A cut joint: it joins two frames of the tree, Khalil's R_k and R_(k+B).

    With p the second frame's origin seen from the first, and x, y, z the axes of the first (1) and the second (2):

    ========================  ========================================================================
    ``fixed``                 both frames coincide
    ``revolute``              p = 0, z1 = z2: the second turns about z
    ``prismatic``             equal axes, p along z
    ``cylindrical``           z1 = z2, p along z
    ``universal``             p = 0, x1 is orthogonal to y2: turns about x1, then about y2
    ``spherical``             p = 0
    ``planar``                z1 = z2, p orthogonal to z
    ``point_on_line``         p along z
    ``point_on_plane``        p orthogonal to z
    ========================  ========================================================================

    >>> Loop("cut", "spherical", "rod_end", "socket").constraints
    3
    """

    name: str
    kind: str
    first: str
    second: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise RobotError(f"a loop needs a name, got {self.name!r}")
        if self.kind not in CUTS:
            raise RobotError(f"loop {self.name!r}: kind must be one of {', '.join(CUTS)}, got {self.kind!r}")

    @property
    def constraints(self) -> int:
        """How many numbers of the relative motion it holds."""
        return CUTS[self.kind]

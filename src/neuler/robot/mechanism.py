"""A robot with closed loops: a tree, and the joints that were cut to make it one (Khalil 2.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from neuler.errors import RobotError
from neuler.robot.joint import Joint
from neuler.robot.mechanism_verbs import MechanismVerbs
from neuler.robot.model import Robot
from neuler.robot.numbers import finite, vector
from neuler.robot.value import Value, kept

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
    ``universal``             p = 0, x1 is square to y2: turns about x1, then about y2
    ``spherical``             p = 0
    ``planar``                z1 = z2, p square to z
    ``point_on_line``         p along z
    ``point_on_plane``        p square to z
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


@dataclass(frozen=True)
class Coupling:
    """Gears between two joints: q_joint = ratio q_of + offset. URDF's mimic joint is one."""

    joint: str
    of: str
    ratio: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        owner = f"coupling of joint {self.joint!r}"
        object.__setattr__(self, "ratio", finite(owner, "ratio", self.ratio))
        object.__setattr__(self, "offset", finite(owner, "offset", self.offset))
        if self.joint == self.of:
            raise RobotError(f"{owner}: a joint cannot be coupled to itself")


@dataclass(frozen=True)
class Mechanism(Value, MechanismVerbs):
    """A tree whose frames are joined by ``loops`` and whose joints by ``couplings``.

    The joints with role ``driven`` are the active ones; all others follow. Their number should be the
    mechanism's mobility. ``reference`` is a position of the tree at which the loops are closed, or nearly so:
    where several assemblies are possible it says which one is meant.
    """

    called = "mechanism"

    name: str
    tree: Robot
    loops: tuple[Loop, ...]
    couplings: tuple[Coupling, ...] = ()
    reference: tuple[float, ...] | None = None

    def __init__(
        self,
        name: str,
        tree: Robot,
        loops: Iterable[Loop] = (),
        couplings: Iterable[Coupling] = (),
        reference: ArrayLike | None = None,
    ) -> None:
        values = {"name": str(name), "tree": tree, "loops": tuple(loops), "couplings": tuple(couplings)}
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._check()
        if reference is not None:
            reference = vector(f"mechanism {name!r}", "reference", reference, tree.nq)
        object.__setattr__(self, "reference", reference)

    def _check(self) -> None:
        owner = f"mechanism {self.name!r}"
        if not isinstance(self.tree, Robot):
            raise RobotError(f"{owner}: its tree must be a Robot, got {type(self.tree).__name__}")
        if not self.loops and not self.couplings:
            raise RobotError(f"{owner}: has no loop and no coupling; it is the tree {self.tree.name!r} itself")
        names: set[str] = set()
        for loop in self.loops:
            if not isinstance(loop, Loop):
                raise RobotError(f"{owner}: expected a Loop, got {loop!r}")
            if loop.name in names:
                raise RobotError(f"{owner}: two loops are named {loop.name!r}")
            names.add(loop.name)
            bodies = []
            for frame in (loop.first, loop.second):
                try:
                    bodies.append(self.tree.locate(frame)[0])
                except RobotError as error:
                    raise RobotError(f"{owner}, loop {loop.name!r}: {error}") from None
            if bodies[0] == bodies[1]:
                raise RobotError(f"{owner}, loop {loop.name!r}: both frames are fixed to one link; it closes no loop")
        moving = {joint.name: joint for joint in self.tree.moving_joints}
        for coupling in self.couplings:
            if not isinstance(coupling, Coupling):
                raise RobotError(f"{owner}: expected a Coupling, got {coupling!r}")
            for joint in (coupling.joint, coupling.of):
                if joint not in moving:
                    raise RobotError(f"{owner}: a coupling names {joint!r}, which is no moving joint of its tree")
                if moving[joint].kind == "free":
                    raise RobotError(f"{owner}: a free joint such as {joint!r} cannot be coupled")

    # ---- what it has -------------------------------------------------------------------

    @property
    def active_joints(self) -> tuple[Joint, ...]:
        """The joints that motors move, in the order of their coordinates."""
        return tuple(joint for joint in self.tree.moving_joints if joint.role == "driven")

    @property
    def active_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(joint.name for joint in self.active_joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all moving joints of the tree, in the order of their coordinates."""
        return self.tree.joint_names

    @property
    def nq(self) -> int:
        """Positions of the tree."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Velocities of the tree."""
        return self.tree.nv

    @property
    def constraints(self) -> int:
        """How many equations loops and couplings set, redundant ones included."""
        return sum(loop.constraints for loop in self.loops) + len(self.couplings)

    @property
    @kept
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the mechanism."""
        own = repr((self.name, self.loops, self.couplings, self.reference))
        return hashlib.sha256((self.tree.content_hash + own).encode()).hexdigest()

    # ---- a changed mechanism is a new one ----------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> Mechanism:
        """The same mechanism under another gravity vector (m/s^2, base frame)."""
        return self.replace(tree=self.tree.with_gravity(gravity))

    def without_friction(self) -> Mechanism:
        """The same mechanism without viscous and Coulomb friction."""
        return self.replace(tree=self.tree.without_friction())

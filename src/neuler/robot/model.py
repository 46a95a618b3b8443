"""What a robot is: immutable data, equal by value, hashable by content."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import RobotError, caller
from neuler.naming import fresh, listed
from neuler.robot.checks import check_couplings, check_independent, check_loops, outward, sequence, warn_of_negative
from neuler.robot.configuration import Configurations
from neuler.robot.coordinates import Coordinates
from neuler.robot.coupling import Coupling, in_order
from neuler.robot.driven import Driven
from neuler.robot.joint import Frame, Joint, Limits
from neuler.robot.link import Link
from neuler.robot.loop import Loop
from neuler.robot.mechanism import Parts, parts
from neuler.robot.motor import Motor, check_motors
from neuler.robot.named_positions import NONE, NamedPositions, checked
from neuler.robot.numbers import vector
from neuler.robot.reduced import reduced
from neuler.robot.transform import Transform, Vec3
from neuler.robot.value import Value, kept

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuler.signatures import Verbs
    from neuler.structure.mobility import Mobility
    from neuler.verbs import Methods
else:  # they are put on Robot by the rooms that know them

    class Verbs:
        """Every quantity as a kernel."""

    class Methods:
        """What stands on kernels."""


@dataclass(frozen=True)
class Robot(Value, Configurations, Driven, Verbs, Methods):
    """A tree of links, and the ``loops`` and ``couplings`` that close it.

    ``links[0]`` is the base; ``joints[k]`` carries ``links[k + 1]``.

    Give links and joints in any order: they are sorted outward from the base, depth first,
    children in the order given. The joints that move give the coordinates, in that order
    (``joint_names``). ``gravity`` (m/s^2) is expressed in the base frame.

    ``loops`` join frames of the tree; ``couplings`` make joints follow others. ``reference`` is a position q at which
    the loops are closed, or nearly so: where several assemblies are possible it says which one is meant.
    ``independent`` names the joints whose velocities are the robot's own, qd (``ball.wx``: one of a ball's); by default
    the driven ones, as many as it has freedoms.

    ``motors`` drive joints from any link, with rotors that count in every verb: see ``Motor``. Coordinates are those of
    the joints, then theta of the motors behind springs.

    ``named_positions`` maps names to positions q, such as the keyframes of an MJCF file; a name will do wherever
    a state to start from is asked for.

    ``notes`` holds what a file said that has no effect on the dynamics; the doctor repeats it.

    >>> from neuler import Joint, Link, Robot
    >>> arm = Robot("pendulum", [Link("base"), Link.from_com("bob", mass=1.0, com=(1, 0, 0))],
    ...             [Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))])
    >>> arm.joint_names
    ('hinge',)
    >>> arm.inverse_dynamics([0.0], [0.0], [0.0])
    array([-9.81])
    """

    _called = "robot"

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    gravity: Vec3 = (0.0, 0.0, -9.81)
    frames: tuple[Frame, ...] = ()
    notes: tuple[str, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    reference: tuple[float, ...] | None = None
    independent: tuple[str, ...] | None = None
    motors: tuple[Motor, ...] = ()
    named_positions: NamedPositions = NONE

    _analyse: ClassVar[Callable[[Any], Mobility]]
    """How the freedoms of closed loops are found; the room that knows it says so."""
    _draw_closed: ClassVar[Callable[[Any, Any, int], NDArray[np.float64]]]
    """How random positions with closed loops are found: (robot, generator, count); likewise."""

    def __init__(
        self,
        name: str,
        links: Iterable[Link],
        joints: Iterable[Joint] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        frames: Iterable[Frame] = (),
        notes: Iterable[str] = (),
        loops: Iterable[Loop] = (),
        couplings: Iterable[Coupling] = (),
        reference: ArrayLike | None = None,
        independent: str | Iterable[str] | None = None,
        motors: Iterable[Motor] = (),
        named_positions: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise RobotError(f"a robot needs a name, got {name!r}")
        owner = f"robot {name!r}"
        lists = (("links", links), ("joints", joints), ("frames", frames), ("loops", loops), ("couplings", couplings))
        for what, given in (*lists, ("motors", motors)):
            sequence(owner, what, given)
        if independent is not None:
            sequence(owner, "independent", (independent,) if isinstance(independent, str) else independent)
        sorted_links, sorted_joints = outward(owner, tuple(links), tuple(joints))
        values = {
            "name": str(name),
            "links": sorted_links,
            "joints": sorted_joints,
            "gravity": vector(owner, "gravity", gravity, 3),
            "frames": tuple(frames),
            "notes": tuple(notes),
            "loops": tuple(loops),
            "couplings": tuple(couplings),
            "reference": None,
            "independent": (independent,) if isinstance(independent, str) else independent and tuple(independent),
            "motors": tuple(motors),
            "named_positions": NONE,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        warn_of_negative(owner, sorted_links)
        if isinstance(notes, str) or not all(isinstance(note, str) for note in self.notes):
            raise RobotError(f"{owner}: notes must be a list of texts, got {notes!r}")
        names = set(self.link_names)
        for frame in self.frames:
            if not isinstance(frame, Frame) or not isinstance(frame.name, str) or not frame.name:
                raise RobotError(f"{owner}: expected a Frame with a name, got {frame!r}")
            if not isinstance(frame.placement, Transform):
                raise RobotError(f"frame {frame.name!r}: placement must be a Transform, got {frame.placement!r}")
            if frame.link not in names:
                raise RobotError(f"frame {frame.name!r}: there is no link {frame.link!r} in {owner}")
            if frame.name in names:
                raise RobotError(f"frame {frame.name!r}: another frame or link of {owner} has this name")
            names.add(frame.name)
        check_couplings(owner, self.joints, self.couplings)
        check_loops(owner, self)
        check_motors(owner, self)
        if reference is not None:
            object.__setattr__(self, "reference", vector(owner, "reference", reference, self.nq))
        if named_positions:
            object.__setattr__(self, "named_positions", checked(owner, self, named_positions))
        check_independent(owner, self)
        if self.loops:
            _ = self.mobility  # what is wrong with its loops is said now

    def __repr__(self) -> str:
        """One line: how large it is."""
        sizes = [(sum(joint.moves for joint in self.joints), "joint"), (len(self.links), "link")]
        sizes += [(len(self.loops), "loop"), (len(self.couplings), "coupling"), (len(self.motors), "motor")]
        parts = [f"{n} {what}{'s' * (n != 1)}" for n, what in sizes if n or what in ("joint", "link")]
        more = f", nu {self.nu}" if self.nu != self.nv else ""
        return f"<robot {self.name!r}: {', '.join(parts)}, nq {self.nq}, nv {self.nv}{more}>"

    # ---- what it has -------------------------------------------------------------------

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, base first."""
        return tuple(link.name for link in self.links)

    @property
    @kept
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints that have a coordinate, in coordinate order: all that move, but those that are coupled."""
        whole = self._parts
        followers = {coupling.joint for coupling in whole.couplings}
        return tuple(joint for joint in whole.joints if joint.moves and joint.name not in followers)

    @property
    @kept
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have a coordinate, in coordinate order."""
        return tuple(joint.name for joint in self.moving_joints)

    @property
    @kept
    def coordinates(self) -> Coordinates:
        """The table of q, qd and tau: whose every number is, its place, name, unit and limits.

        >>> import neuler
        >>> table = neuler.robots.two_link().with_free_base().coordinates
        >>> table["joint1"].q, table["joint1"].v, table.names("qd")[-2:]
        (slice(7, 8, None), slice(6, 7, None), ['joint1', 'joint2'])
        """
        return Coordinates(self)

    @property
    @kept
    def coordinate_limits(self) -> tuple[Limits, ...]:
        """Limits of ``moving_joints``, tightened by those of joints that follow one of them in proportion.

        >>> from neuler import Coupling, robots
        >>> robots.two_link().replace(couplings=[Coupling("joint2", "joint1", 2.0)]).coordinate_limits[0].lower
        -inf
        """
        found = {joint.name: joint.limits for joint in self._parts.joints}
        for coupling in reversed(in_order(f"robot {self.name!r}", self.couplings)):
            if coupling.function is None and len(coupling.of) == 1 and coupling.ratio[0]:
                (leader,), (ratio,) = coupling.of, coupling.ratio
                found[leader] = found[leader].led(found[coupling.joint], ratio, coupling.offset)
        return tuple(found[joint.name] for joint in self.moving_joints)

    @property
    def active_names(self) -> tuple[str, ...]:
        """Names of the joints whose forces stand in tau, in its order.

        Of a tree all; of joints in loops those that a motor drives; of coupled joints none.
        """
        if not self.loops:
            return self.joint_names
        return tuple(dict.fromkeys(self.mobility.active))

    @property
    @kept
    def tree(self) -> Robot:
        """The same links and joints, motors as bodies, without loops and couplings; a tree is its own."""
        if self.motors:
            return self.mechanism.tree
        if not self.loops and not self.couplings:
            return self
        return self.replace(loops=(), couplings=(), reference=None, independent=None)

    @property
    @kept
    def _parts(self) -> Parts:
        return parts(self) if self.motors else Parts(self.links, self.joints, self.couplings)

    @property
    @kept
    def mechanism(self) -> Robot:
        """The same robot with its motors as bodies: rotors on ``spin`` joints that follow what they drive, or have a
        coordinate theta, and stators on their carriers. What verbs are computed with; without motors the robot itself.

        >>> import neuler
        >>> motor = neuler.Motor("m2", "joint2", ratio=100, inertia=1e-4, stiffness=500.0)
        >>> neuler.robots.two_link().replace(motors=[motor]).mechanism.joint_names
        ('joint1', 'joint2', 'joint2.motor')
        """
        if not self.motors:
            return self
        whole = self._parts
        fields: dict[str, Any] = {**self._fields(), "motors": (), "links": whole.links, "joints": whole.joints}
        return Robot(**{**fields, "couplings": whole.couplings})

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the links that results have rows for: all but the parts of motors."""
        inner = {joint.child for joint in self.joints if joint.inner}
        return tuple(name for name in self.link_names if name not in inner)

    @property
    @kept
    def mobility(self) -> Mobility:
        """Freedoms, rank and redundant constraints of the loops, and a position at which they are closed."""
        return self.mechanism.mobility if self.motors else Robot._analyse(self)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links, then of the extra frames."""
        return self.link_names + tuple(frame.name for frame in self.frames)

    @property
    @kept
    def nq(self) -> int:
        """Length of q: the positions of all moving joints."""
        return self.coordinates.nq

    @property
    @kept
    def nv(self) -> int:
        """Length of qd and qdd: the velocities of all moving joints, in loops of the independent ones."""
        return self.mobility.freedoms if self.loops else self.coordinates.velocities

    @property
    @kept
    def nu(self) -> int:
        """Length of tau: see ``active_names``."""
        return len(self.mobility.active) if self.loops else self.nv

    @property
    def constraints(self) -> int:
        """How many equations the loops set, redundant ones included."""
        return sum(loop.constraints for loop in self.loops)

    @property
    def antecedents(self) -> tuple[int, ...]:
        """For each joint the index of its parent link: Khalil's a(j)."""
        index = {name: k for k, name in enumerate(self.link_names)}
        return tuple(index[joint.parent] for joint in self.joints)

    @property
    def tip(self) -> str:
        """Name of the link behind the most moving joints (the first of them): the hand of an arm."""
        depth = {self.links[0].name: 0}
        for joint in self.joints:
            depth[joint.child] = 0 if joint.inner else depth[joint.parent] + joint.moves
        return max(depth, key=lambda name: depth[name])

    @property
    def mass(self) -> float:
        """Total mass (kg), base and motors included."""
        masses = [link.mass for link in self._parts.links]
        try:
            return math.fsum(masses)
        except OverflowError:  # of its partial sums
            return sum(masses)

    def locate(self, frame: str) -> tuple[int, Transform]:
        """Index of the link that carries ``frame`` (a link's or a frame's name), and its placement there."""
        names = self.link_names
        if frame in names:
            return names.index(frame), Transform()
        for extra in self.frames:
            if extra.name == frame:
                return names.index(extra.link), extra.placement
        raise RobotError(
            f"robot {self.name!r} has no link or frame {frame!r}; it has: {listed(frame, self.frame_names)}"
        )

    @property
    @kept
    def content_hash(self) -> str:
        """SHA-256 of everything that decides the robot: equal robots, equal hashes, on every machine."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()

    def replace(self, **changes: Any) -> Robot:
        """A copy with the given fields changed.

        Where joints, loops or couplings change, ``reference``, ``named_positions`` and ``independent`` keep what they
        say of joints that still have coordinates, unless they are given too; a position without a part of it is gone.
        """
        if not {"joints", "loops", "couplings", "motors"} & set(changes):
            return super().replace(**changes)
        without = {"reference": None, "named_positions": None, "independent": None, "loops": ()}
        bare = super().replace(**{**changes, **without})
        more: dict[str, Any] = {"loops": changes.get("loops", self.loops)}
        more["reference"] = changes["reference"] if "reference" in changes else self._translated(self.reference, bare)
        moved = ((name, self._translated(q, bare)) for name, q in self.named_positions.numbers())
        more["named_positions"] = changes.get("named_positions", {name: q for name, q in moved if q is not None})
        more["independent"] = changes.get("independent", self.independent)
        kept = all(bare.coordinates.numbers(name) for name in self.independent or ())
        if "independent" not in changes and not (more["loops"] and kept):
            more["independent"] = None
        if not any(more.values()):
            return bare
        return Value.replace(bare, **more)

    def _translated(self, q: tuple[float, ...] | None, other: Robot) -> tuple[float, ...] | None:
        """A position for another robot's joints; None where it does not have all of theirs."""
        if q is None:
            return None
        values = {(entry.name, entry.nq): q[entry.q] for entry in self.coordinates}
        keys = [(entry.name, entry.nq) for entry in other.coordinates]
        if [nq for _, nq in keys] == [nq for _, nq in values]:  # the same joints, by other names perhaps
            return q
        for entry in other.coordinates:  # a motor stands where its spring is at rest
            if entry.drives is not None and (entry.drives, 1) in values:
                values.setdefault((entry.name, 1), values[entry.drives, 1])
        return tuple(x for key in keys for x in values[key]) if all(key in values for key in keys) else None

    # ---- a changed robot is a new robot --------------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity vector (m/s^2, base frame)."""
        return self.replace(gravity=gravity)

    def with_payload(
        self, frame: str, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)
    ) -> Robot:
        """The same robot with a body rigidly attached to ``frame``: centre of mass and inertia about it in its axes.

        A negative mass takes a body away again, with a warning.
        """
        index, placement = self.locate(frame)
        load = Link.from_com("payload", mass=mass, com=com, inertia=inertia).seen_from(placement)
        links = [link.merged(load) if k == index else link for k, link in enumerate(self.links)]
        if load.mass < 0 <= links[index].mass:  # of a link that is left with a negative mass the robot itself tells
            warnings.warn(
                f"robot {self.name!r}: the payload of {frame!r} has a negative mass, {load.mass:.6g} kg; robot.check() "
                "lists what is wrong with the robot that is left",
                UserWarning,
                stacklevel=caller(),
            )
        return self.replace(links=links)

    def with_frame(self, name: str, link: str, placement: Transform | None = None) -> Robot:
        """The same robot with one more named frame."""
        return self.replace(frames=(*self.frames, Frame(name, link, placement or Transform())))

    def with_independent(self, *joints: str) -> Robot:
        """The same robot with the velocities of other joints as its own; ``ball.wx`` names one of a joint's several."""
        return self.replace(independent=joints)

    def with_fixed(self, positions: Mapping[str, ArrayLike]) -> Robot:
        """The same robot with some joints held still: a reduced model, without their coordinates.

        ``positions`` maps the name of a joint to where it is held: a number (rad or m), for joints with several
        coordinates all ``nq`` of them. It becomes a ``fixed`` joint; links and frames keep their names. A position
        beyond the limits of a joint is refused.

        Joints that follow a fixed one stand still where they are then. A motor whose joints are all fixed is locked,
        also behind a spring: its mass and inertia become part of the link that carries it. Loops are closed again near
        their reference, or refused where they cannot be.

        >>> import neuler
        >>> arm = neuler.robots.two_link()
        >>> stiff = arm.with_fixed({"joint2": 0.5})
        >>> stiff.joint_names
        ('joint1',)
        >>> bool(abs(stiff.mass_matrix([0.3])[0, 0] - arm.mass_matrix([0.3, 0.5])[0, 0]) < 1e-14)
        True
        """
        return reduced(self, positions)

    def with_free_base(self, joint: str | None = None, world: str | None = None) -> Robot:
        """The same robot with its base free to move: a new base ``world``, and a free joint to the old one.

        They are called "world" and "root_joint" unless names are given, with underscores behind where a link, a frame
        or a joint of the robot is called so already.

        >>> import neuler
        >>> arm = neuler.load("<robot name='arm'><link name='world'/></robot>")
        >>> arm.with_free_base().link_names
        ('world_', 'world')
        """
        world, (joint,) = self._unused(world, (("root_joint", joint),))
        return self._on((Link(world),), (Joint(joint, "free", world, self.links[0].name),))

    def _unused(self, world: str | None, joints: Sequence[tuple[str, str | None]]) -> tuple[str, list[str]]:
        """Names of a new base and its joints: those given, else the usual ones as far as they are not taken."""
        taken = [joint.name for joint in self.joints]
        found = [fresh(usual, taken) if given is None else given for usual, given in joints]
        return fresh("world", self.frame_names) if world is None else world, found

    def _on(self, links: tuple[Link, ...], joints: tuple[Joint, ...]) -> Robot:
        """On a new base with new joints below the old one."""
        at = [x for joint in joints for x in joint.type.neutral(joint.limits)]
        return self.replace(
            links=(*links, *self.links),
            joints=(*joints, *self.joints),
            reference=self.reference and (*at, *self.reference),
            named_positions={name: (*at, *q) for name, q in self.named_positions.numbers()},
            independent=self.independent and (*(joint.name for joint in joints), *self.independent),
        )

    def with_planar_base(self, names: Sequence[str] | None = None, world: str | None = None) -> Robot:
        """The same robot on a mobile base: two slides along x and y of ``world`` and a turn about its z.

        The joints are called "base_x", "base_y" and "base_turn" unless ``names`` are given; names that are taken get
        underscores behind them, as of :meth:`with_free_base`.
        """
        usual = ("base_x", "base_y", "base_turn")
        given = names if names is not None else (None, None, None)
        if isinstance(given, str) or len(given) != 3:
            raise RobotError(f"with_planar_base: names must be three, of the slides and the turn, got {names!r}")
        world, (x, y, turn) = self._unused(world, list(zip(usual, given, strict=True)))
        slides = [fresh(f"{name}_slide", self.frame_names) for name in (x, y)]
        joints = (
            Joint(x, "prismatic", world, slides[0], axis=(1, 0, 0)),
            Joint(y, "prismatic", slides[0], slides[1], axis=(0, 1, 0)),
            Joint(turn, "revolute", slides[1], self.links[0].name),
        )
        return self._on((Link(world), *map(Link, slides)), joints)

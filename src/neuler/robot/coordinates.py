"""The table of a robot's coordinates: whose every number of q, qd and tau is, where it stands, its name and its unit.

``robot.coordinates`` has an entry for every moving joint and for theta of every motor behind a spring. Positions q are
those of all entries. Velocities are counted over all entries too; of a tree these are qd. Of a robot with loops, qd has
the ``independent`` ones and tau the forces of the ``active`` ones, by their numbers among all velocities.

>>> import neuler
>>> table = neuler.robots.two_link().with_free_base().coordinates
>>> [(entry.name, entry.q, entry.v) for entry in table][:2]
[('root_joint', slice(0, 7, None), slice(0, 6, None)), ('joint1', slice(7, 8, None), slice(6, 7, None))]
>>> table.names("qd")[5:]
['root_joint_wz', 'joint1', 'joint2']
>>> table.units("tau")[2:4]
['N', 'N m']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neuler.algebra.linear import Orthogonal
from neuler.errors import InputError, RobotError
from neuler.naming import listed
from neuler.robot.joint import Joint, Limits
from neuler.robot.kinds import Kind

if TYPE_CHECKING:
    from neuler.robot.model import Robot

_UNITS = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "tau": ("N m", "N")}
"""Of numbers that turn, and of numbers that slide."""
_FORCES = {"v": "f", "w": "m"}
"""What a force is called whose velocity's name begins so: along vx acts fx, about wx mx."""


def slices(joints: Sequence[Joint]) -> Iterator[tuple[Joint, slice, slice]]:
    """Every joint of a row, with the slices of its positions and of its velocities among those of the row.

    >>> from neuler import Joint
    >>> [(q, v) for _, q, v in slices([Joint("ball", "spherical", "a", "b"), Joint("slide", "prismatic", "b", "c")])]
    [(slice(0, 4, None), slice(0, 3, None)), (slice(4, 5, None), slice(3, 4, None))]
    """
    q = v = 0
    for joint in joints:
        kind = joint.type
        yield joint, slice(q, q + kind.nq), slice(v, v + kind.nv)
        q, v = q + kind.nq, v + kind.nv


def sizes(joints: Sequence[Joint]) -> tuple[int, int]:
    """How many positions and how many velocities joints have together."""
    return sum(joint.nq for joint in joints), sum(joint.nv for joint in joints)


def names(joint: Joint, what: str, between: str = "_") -> list[str]:
    """The names of a joint's numbers in q, qd or tau: its own, with a part behind it where it has several.

    >>> from neuler import Joint
    >>> names(Joint("ball", "spherical", "a", "b"), "tau")
    ['ball_mx', 'ball_my', 'ball_mz']
    """
    parts = joint.type.parts if what == "q" else joint.type.velocity_parts
    if what == "tau":
        parts = tuple(_FORCES[part[0]] + part[1:] if part[0] in _FORCES else part for part in parts)
    return [f"{joint.name}{between}{part}" for part in parts] or [joint.name]


@dataclass(frozen=True)
class Entry:
    """The coordinates of one owner: a moving joint, or theta of a motor behind a spring."""

    joint: Joint
    """The owner; of theta the motor's shaft."""
    q: slice
    """Its positions in q."""
    v: slice
    """Its velocities among those of all entries; of a tree in qd."""
    limits: Limits
    """Those of the joint, tightened by those of joints that follow it: see ``robot.coordinate_limits``."""
    turns: tuple[bool, ...]
    """By velocity: whether it turns (rad, N m), else slides (m, N). Theta counts as the joint that it drives."""
    number: int
    """Its place among the entries, and among ``robot.moving_joints``."""

    def __hash__(self) -> int:
        return hash((self.name, self.number))

    @property
    def name(self) -> str:
        """The joint's; of theta ``<joint>.motor``."""
        return self.joint.name

    @property
    def kind(self) -> Kind:
        """How it moves: positions from velocities, differences, ranges."""
        return self.joint.type

    @property
    def nq(self) -> int:
        """How many positions it has."""
        return self.joint.type.nq

    @property
    def nv(self) -> int:
        """How many velocities it has."""
        return self.joint.type.nv

    @property
    def one(self) -> bool:
        """Whether it is one number in q and one velocity, its rate."""
        return self.nq == self.nv == 1

    @property
    def positions(self) -> range:
        """The numbers of its positions in q."""
        return range(self.q.start, self.q.stop)

    @property
    def velocities(self) -> range:
        """The numbers of its velocities among those of all entries."""
        return range(self.v.start, self.v.stop)

    @property
    def elastic(self) -> bool:
        """Whether it is theta of a motor behind a spring."""
        return self.joint.series is not None

    @property
    def drives(self) -> str | None:
        """Of theta the name of the joint at the other end of the spring; None of joints."""
        return self.joint.series[0] if self.joint.series is not None else None

    @property
    def quaternion(self) -> slice | None:
        """The unit quaternion among the numbers of q; None where it has none."""
        first = self.joint.type.quaternion
        return None if first is None else slice(self.q.start + first, self.q.start + first + 4)


class Position(NamedTuple):
    """What says where a joint is, or a part of one."""

    joint: Joint | None
    """The joint, where it is a whole one."""
    places: tuple[int, ...]
    """Numbers of its positions in q."""
    turned: tuple[int, ...]
    """Of a part of a ball, which has no position of its own: the number of its velocity, along which turns count."""


class Coordinates:
    """The coordinates of one robot, ``robot.coordinates``: entries in the order of q."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        turns = {joint.name: joint.type.turns for joint in robot.joints}
        self.entries = tuple(
            Entry(joint, q, v, limits, joint.type.turns if joint.series is None else turns[joint.series[0]], number)
            for number, ((joint, q, v), limits) in enumerate(
                zip(slices(robot.moving_joints), robot.coordinate_limits, strict=True)
            )
        )
        last = self.entries[-1] if self.entries else None
        self.nq: int = last.q.stop if last else 0
        """How many positions all entries have: the length of q."""
        self.velocities: int = last.v.stop if last else 0
        """How many velocities all entries have; of a tree the length of qd."""
        self._by_name = {entry.name: entry for entry in self.entries}
        self._owners: dict[tuple[str, bool], tuple[Entry, ...]] = {}

    def __repr__(self) -> str:
        """How many, and of whom."""
        sizes = f"nq {self.nq}, nv {self.robot.nv}, nu {self.robot.nu}"
        return f"<coordinates of robot {self.robot.name!r}: {sizes}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of, (self.robot,)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Entry:
        """The entry of a joint, or of theta (``joint3.motor``); an unknown name is refused.

        >>> import neuler
        >>> neuler.robots.two_link().coordinates["joint2"].v
        slice(1, 2, None)
        """
        if name not in self._by_name:
            raise RobotError(
                f"robot {self.robot.name!r} has no moving joint {name!r}; it has {listed(name, list(self._by_name))}"
            )
        return self._by_name[name]

    # ---- which of all velocities are qd, and whose forces are tau ------------------------------------------------

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The numbers, among all velocities, of those that are qd, in the order of qd; of a tree all."""
        robot = self.robot
        return robot.mobility.choice.independent if robot.loops else tuple(range(self.velocities))

    @cached_property
    def active(self) -> tuple[int, ...]:
        """The numbers, among all velocities, of those whose forces are tau, in the order of tau; of a tree all."""
        robot = self.robot
        return robot.mobility.active_numbers if robot.loops else tuple(range(self.velocities))

    def _picked(self, what: str) -> tuple[int, ...]:
        if what not in ("qd", "tau"):
            raise InputError(f"coordinates: expected 'q', 'qd' or 'tau', got {what!r}")
        return self.independent if what == "qd" else self.active

    # ---- names, units, owners ------------------------------------------------------------------------------------

    def names(self, what: str, between: str = "_", *, every: bool = False) -> list[str]:
        """The names of the numbers of q, qd or tau: the owner's, with a part behind it where it has several.

        ``every``: of all velocities, or of the forces along them, also those that are not in qd or tau.

        >>> import neuler
        >>> neuler.robots.five_bar().coordinates.names("qd")
        ['left_arm', 'right_arm']
        """
        found = [name for entry in self.entries for name in names(entry.joint, what, between)]
        return found if every or what == "q" else [found[k] for k in self._picked(what)]

    def units(self, what: str, *, every: bool = False) -> list[str]:
        """The units of the numbers of q, qd or tau, none of a quaternion; ``every`` as in :meth:`names`.

        >>> import neuler
        >>> neuler.robots.stanford().coordinates.units("tau")[1:4]
        ['N m', 'N', 'N m']
        """
        if what not in _UNITS:
            raise InputError(f"coordinates: expected 'q', 'qd' or 'tau', got {what!r}")
        turning, sliding = _UNITS[what]
        if what == "q":
            found: list[str] = []
            for entry in self.entries:
                plain = entry.nq if entry.kind.quaternion is None else entry.kind.quaternion
                found += [turning if turns else sliding for turns in entry.turns[:plain]] + [""] * (entry.nq - plain)
            return found
        found = [turning if turns else sliding for entry in self.entries for turns in entry.turns]
        return found if every else [found[k] for k in self._picked(what)]

    def owners(self, what: str, *, every: bool = False) -> tuple[Entry, ...]:
        """The entry of every number of q, qd or tau; ``every`` as in :meth:`names`.

        >>> import neuler
        >>> [entry.name for entry in neuler.robots.five_bar().coordinates.owners("tau")]
        ['left_arm', 'right_arm']
        """
        key = what, every or what == "q"
        if key not in self._owners:
            if what == "q":
                found = tuple(entry for entry in self.entries for _ in entry.positions)
            else:
                picked = range(self.velocities) if every else self._picked(what)
                spread = [entry for entry in self.entries for _ in entry.velocities]
                found = tuple(spread[k] for k in picked)
            self._owners[key] = found
        return self._owners[key]

    # ---- velocities by name --------------------------------------------------------------------------------------

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Of every velocity of all entries: the owner's name, with a part behind it where it has several, ``ball.wx``.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().coordinates.velocity_names[4:]
        ('root_joint.wy', 'root_joint.wz', 'joint1', 'joint2')
        """
        return tuple(self.names("qd", ".", every=True))

    def numbers(self, name: str) -> tuple[int, ...]:
        """The numbers, among all velocities, that a name stands for: all of an owner's, or one of ``velocity_names``.

        Empty where the name is unknown.
        """
        if name in self._by_name:
            return tuple(self._by_name[name].velocities)
        return tuple(k for k, other in enumerate(self.velocity_names) if other == name)

    def names_of(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """The names of some of all velocities, in their order; an owner's where all of its velocities are among them.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().coordinates.names_of([7, 0, 2])
        ('joint2', 'root_joint.vx', 'root_joint.vz')
        """
        owners, chosen = self.owners("qd", every=True), set(numbers)
        whole = {entry.name for entry in self.entries if chosen.issuperset(entry.velocities)}
        own = (owners[k].name if owners[k].name in whole else self.velocity_names[k] for k in numbers)
        return tuple(dict.fromkeys(own))

    def position(self, name: str) -> Position:
        """What says where a joint is, by its name; by that of one of its velocities, where that part of it is.

        >>> import neuler
        >>> neuler.robots.two_link().with_free_base().coordinates.position("joint1").places
        (7,)
        """
        numbers = self.numbers(name)
        entry = self[name] if not numbers else self.owners("qd", every=True)[numbers[0]]
        if entry.name == name:
            return Position(entry.joint, tuple(entry.positions), ())
        if entry.quaternion is None:
            return Position(None, (entry.positions[numbers[0] - entry.v.start],), ())
        return Position(None, (), numbers)

    # ---- the positions behind qd ---------------------------------------------------------------------------------

    @cached_property
    def own(self) -> Selection:
        """The positions behind qd: of a tree all of q, of loops those of the independent velocities."""
        place = {k: at for at, k in enumerate(self.independent)}
        parts: dict[int, Part] = {}
        for entry in self.entries:
            chosen = [k for k in entry.velocities if k in place]
            if not chosen:
                continue
            at = place[chosen[0]]
            if [place.get(k) for k in entry.velocities] == list(range(at, at + entry.nv)):
                parts[at] = Part(entry.joint, tuple(entry.positions), entry.nv)
            elif entry.quaternion is None:
                parts |= {place[k]: Part(None, (entry.positions[k - entry.v.start],), 1) for k in chosen}
            else:
                raise RobotError(
                    f"robot {self.robot.name!r}: of joint {entry.name!r}, which turns by a quaternion, some velocities "
                    "are independent and some are not, or they are in another order; name other independent joints: "
                    "robot.with_independent(...)"
                )
        return Selection(self.robot, tuple(parts[at] for at in sorted(parts)), tuple(range(len(place))))

    @cached_property
    def links(self) -> Selection:
        """The positions behind qd without theta of motors behind springs."""
        parts: list[Part] = []
        numbers: list[int] = []
        at = 0
        for part in self.own.parts:
            if part.joint is None or part.joint.series is None:
                parts.append(part)
                numbers += range(at, at + part.speeds)
            at += part.speeds
        return Selection(self.robot, tuple(parts), tuple(numbers))


def _of(robot: Robot) -> Coordinates:
    return robot.coordinates


class Part(NamedTuple):
    """Some positions of one joint, and how many velocities they have."""

    joint: Joint | None
    """The joint, where these are all of its positions."""
    places: tuple[int, ...]
    """The numbers of the positions in q."""
    speeds: int
    """The number of its velocities."""


@dataclass(frozen=True)
class Selection:
    """Some velocities of qd and the positions behind them: ``robot.coordinates.own`` and ``.links``.

    >>> import neuler
    >>> robot = neuler.robots.five_bar()
    >>> robot.coordinates.own.places, robot.nq
    ([0, 2], 4)
    """

    robot: Robot
    parts: tuple[Part, ...]
    """Joint by joint, in the order of qd."""
    numbers: tuple[int, ...]
    """Of every velocity its number in qd."""

    @property
    def places(self) -> list[int]:
        """Of every position its number in q."""
        return [place for part in self.parts for place in part.places]

    @property
    def size(self) -> int:
        """The number of positions in the selection."""
        return len(self.places)

    @property
    def speeds(self) -> int:
        """The number of velocities in the selection."""
        return len(self.numbers)

    @property
    def plain(self) -> bool:
        """Whether velocities are the rates of these positions: none is of a quaternion."""
        return all(part.joint is None or part.joint.type.quaternion is None for part in self.parts)

    def difference(self, start: Any, end: Any) -> Any:
        """The velocities, (speeds,), that lead from one set of these positions, (size,), to another in a second."""
        found: list[Any] = []
        at = 0
        for joint, places, _ in self.parts:
            a, b = list(start[at : at + len(places)]), list(end[at : at + len(places)])
            found += [b[0] - a[0]] if joint is None else joint.type.way(a, b)
            at += len(places)
        return np.array(found)

    def tau(self, q: Any, force: Any) -> Any:
        """Forces of the motors, (nu,), that act along qd as ``force``, (nv,), does; in loops the least of them."""
        if self.robot.nu == self.robot.nv and not self.robot.loops:
            return force
        columns = self.robot.actuation_matrix(q).T
        return np.array(Orthogonal([list(column) for column in columns]).least(list(force)))


def undriven(robot: Robot) -> tuple[str, ...]:
    """Names of the joints with a force in tau that no motor gives: passive ones, free bases, joints on springs."""
    owners = dict.fromkeys(robot.coordinates.owners("tau"))
    return tuple(entry.name for entry in owners if entry.joint.role != "driven")


def springs(robot: Robot) -> dict[str, Joint]:
    """By the name of every joint behind a spring, the joint of the motor's theta."""
    return {entry.drives: entry.joint for entry in robot.coordinates if entry.drives is not None}

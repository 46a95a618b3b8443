"""A robot in motion: the coordinates that get profiles, those that depend on them, and which motors drive it.

Profiles are those of the robot's own velocities: joints of a tree, independent joints of loops, the platform of a
parallel robot, the links' side of elastic drives. Positions of free and spherical joints are a rotation vector about
a reference orientation. In loops the positions of the other joints are variables of their own at every grid point.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.inputs import real
from neuler.moments import rotations
from neuler.moments.sharing import Support
from neuler.robot import Link, Robot
from neuler.robot.columns import by_columns
from neuler.robot.coordinates import Entry, Selection, springs, undriven

Array = NDArray[np.float64]
OPEN = 1e-6
"""Metres or radians that loops may be open by in a position that is given."""
HIGHEST = 5
"""Derivatives of profiles that measures may use."""


@dataclass(frozen=True)
class Payload:
    """A body fixed to a frame: mass (kg), centre of mass (m) and inertia about it (kg m^2), in the frame's axes."""

    frame: str
    mass: float
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = (0.0, 0.0, 0.0)

    @property
    def numbers(self) -> list[float]:
        """Mass, first moment, inertia about the frame's origin: ten."""
        body = Link.from_com("payload", mass=self.mass, com=self.com, inertia=self.inertia)
        return [body.mass, *body.first_moment, *body.inertia]


@dataclass(frozen=True, eq=False)
class MovingRobot:
    """A robot with smooth friction, a position about which its rotations are counted, and its payloads."""

    robot: Robot
    given: Robot
    """As it was given: its friction may jump at rest."""
    reference: Array
    """A position of the robot, (nq)."""
    friction_width: float = 0.0
    """Speeds below which Coulomb friction is rounded off; 0 where there is none."""
    payloads: tuple[Payload, ...] = ()
    """What it carries besides: inputs of its kernels, so that other payloads need no new ones."""
    support: Support | None = None
    """Its contacts with the ground; None where it has none."""
    force_unit: float = 1.0
    """What forces without motors are divided by (N): the weight, where some phase of a plan has contacts."""

    @cached_property
    def coordinates(self) -> Selection:
        """Which positions get profiles: those behind the robot's own velocities, without motors behind springs."""
        return self.robot.coordinates.links

    @cached_property
    def with_payloads(self) -> Robot:
        """The robot with its payloads, its friction smooth."""
        return self._carrying(self.robot)

    @cached_property
    def loaded(self) -> Robot:
        """The robot as it was given, with its payloads."""
        return self._carrying(self.given)

    @cached_property
    def as_given(self) -> MovingRobot | None:
        """The same robot with the friction that it has, which jumps at rest, and with forces of contacts that balance.

        None where that is nothing else. With springs and loops friction is not looked at: their torques need its rates.
        """
        exact = self.balanced
        if not self.friction_width or self.elastic or self.robot.loops:
            return None if exact is self else exact
        return replace(exact, robot=self.given, friction_width=0.0)

    @cached_property
    def balanced(self) -> MovingRobot:
        """The same robot with forces of contacts that balance at all times, not at grid points alone."""
        return self if self.support is None else replace(self, support=self.support.balanced)

    def _carrying(self, robot: Robot) -> Robot:
        for each in self.payloads:
            robot = robot.with_payload(each.frame, each.mass, each.com, each.inertia)
        return robot

    @cached_property
    def payload_numbers(self) -> Array:
        """Ten numbers of every payload."""
        return np.array([x for each in self.payloads for x in each.numbers])

    def verb(self, name: str, **options: Any) -> Any:
        """A quantity of the robot; where it has payloads, their numbers are its last argument."""
        if not self.payloads:
            return self.robot.compile(name, **options) if options else getattr(self.robot, name)
        return self.robot.compile(name, parameters=tuple(f"payload:{each.frame}" for each in self.payloads), **options)

    @cached_property
    def profile_count(self) -> int:
        """How many profiles there are."""
        return self.coordinates.speeds

    @cached_property
    def weightless(self) -> bool:
        """Whether nothing pulls at rest: neither gravity nor springs."""
        return not any(self.robot.gravity) and not any(joint.stiffness for joint in self.robot.joints)

    @cached_property
    def elastic(self) -> bool:
        """Whether some motors are behind springs."""
        return any(entry.elastic for entry in self.robot.coordinates)

    @cached_property
    def names(self) -> list[str]:
        """Names of the profiles."""
        every = self.robot.coordinates.names("qd")
        return [every[k] for k in self.coordinates.numbers]

    @cached_property
    def entries(self) -> list[Entry | None]:
        """The owner of every profile; None where a profile is one of several of a joint in a loop."""
        by_name = {entry.name: entry for entry in self.robot.coordinates}
        found: list[Entry | None] = []
        for part in self.coordinates.parts:
            name = self.names[len(found)] if part.joint is None else part.joint.name
            found += [by_name.get(name)] * part.speeds
        return found

    @cached_property
    def dependent(self) -> list[int]:
        """Numbers of the positions in q that loops decide; none of a tree."""
        if not self.robot.loops:
            return []
        own = set(self.coordinates.places)
        return [k for k in range(self.robot.nq) if k not in own]

    @cached_property
    def loop_joints(self) -> list[tuple[Entry, int]]:
        """Joints with one coordinate that loops move, each with its number among the dependent positions."""
        place = {k: i for i, k in enumerate(self.dependent)}
        return [
            (entry, place[entry.q.start]) for entry in self.robot.coordinates if entry.one and entry.q.start in place
        ]

    @cached_property
    def quaternions(self) -> list[list[int]]:
        """Among the dependent positions, the places of each unit quaternion."""
        place = {k: i for i, k in enumerate(self.dependent)}
        turns = [entry.quaternion for entry in self.robot.coordinates if entry.quaternion is not None]
        return [[place[k] for k in range(turn.start, turn.stop)] for turn in turns if turn.start in place]

    @cached_property
    def closing(self) -> list[int]:
        """Rows of the closure that decide the dependent positions: as many, others follow."""
        from scipy.linalg import qr

        found = self.robot.closure(self.reference)
        own = set(self.robot.mobility.choice.independent)
        W = np.asarray(found.jacobian)
        others = [k for k in range(W.shape[1]) if k not in own]
        _, R, order = qr(W[:, others].T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int((size > 1e-8 * size.max(initial=1e-300)).sum())
        return sorted(int(k) for k in order[:rank])

    @cached_property
    def driven(self) -> list[int]:
        """Numbers of tau that motors give."""
        without = {*undriven(self.robot), *springs(self.robot)}
        return [k for k, entry in enumerate(self.robot.coordinates.owners("tau")) if entry.name not in without]

    @cached_property
    def undriven(self) -> list[int]:
        """Numbers of tau that must be zero: of passive joints and free bases; of trees, in which all else is given."""
        behind, driven = springs(self.robot), set(self.driven)
        owners = self.robot.coordinates.owners("tau")
        return [k for k, entry in enumerate(owners) if k not in driven and entry.name not in behind]

    @cached_property
    def unsupported(self) -> list[int]:
        """Numbers of tau that no motor gives and no contact: profiles must make them zero."""
        carried = () if self.support is None else self.support.root.forces
        return [k for k in self.undriven if k not in carried]

    @property
    def force_count(self) -> int:
        """How many profiles give forces of contacts."""
        return 0 if self.support is None else self.support.force_count

    @property
    def contact_edges(self) -> tuple[float, ...]:
        """Shares of a phase, inside it, at which contacts begin or end: forces jump there."""
        contacts = () if self.support is None else self.support.contacts
        return tuple(sorted({edge for each in contacts for edge in each.when if 0.0 < edge < 1.0}))

    @property
    def contact_keys(self) -> tuple[Any, ...]:
        """What says whether contacts are the same in another phase."""
        return () if self.support is None else self.support.keys

    @cached_property
    def undriven_profiles(self) -> list[int]:
        """Profiles of joints that no motor drives: what they do follows from the others."""
        owners = self.robot.coordinates.owners("tau")
        names = set() if self.robot.loops else {owners[k].name for k in self.undriven}
        return [k for k, entry in enumerate(self.entries) if entry is not None and entry.name in names]

    @cached_property
    def floating_profiles(self) -> list[int]:
        """Profiles of a free base, for whose rest nobody can ask: it floats, at rest with the others, or it falls.

        None where the robot stands on the ground.
        """
        if self.support is not None:
            return []
        return [k for k in self.undriven_profiles if (entry := self.entries[k]) is not None and entry.nv == 6]

    @cached_property
    def tau_names(self) -> list[str]:
        """Names of the numbers of tau."""
        return self.robot.coordinates.names("tau")

    @cached_property
    def efforts(self) -> Array:
        """Limits of the forces that motors give."""
        owners = self.robot.coordinates.owners("tau")
        return np.array([owners[k].joint.limits.effort for k in self.driven])

    @cached_property
    def degree(self) -> int:
        """The lowest degree of profiles: torques of elastic drives depend on the snap of the links."""
        return 5 if self.elastic else 3

    @cached_property
    def usual_degree(self) -> int:
        """The degree of profiles by default: with smooth ones, undriven forces are zero between points, too."""
        return 5 if self.undriven and not self.robot.loops else self.degree

    @cached_property
    def rest_order(self) -> int:
        """How many derivatives are zero at rest: with springs also acceleration and jerk, that motors stand still."""
        return 3 if self.elastic else 1

    # ---- positions --------------------------------------------------------------------------------------------

    def own(self, q: Any) -> Array:
        """The positions that profiles move: those of q, or what is given where it has no others."""
        q = np.asarray(q, dtype=float)
        places = self.coordinates.places
        return q[..., places] if q.shape[-1] != len(places) else q

    def profiles_at(self, q: Any, what: str = "position") -> Array:
        """Profiles at a position of the robot, (..., profiles): rotation vectors in the place of quaternions."""
        own = self.own(q)
        if self.coordinates.plain:
            return own
        try:
            return np.asarray(rotations.profiles_of(self.robot, self.coordinates, self.own(self.reference), own))
        except InputError as error:
            raise InputError(f"{what}: {error}") from None

    def lifted(self, motion: list[Any]) -> list[Any]:
        """Own positions, velocities, accelerations, ... from profiles and their rates (per second)."""
        if self.coordinates.plain:
            return motion
        return list(rotations.lift(self.robot, self.coordinates, self.own(self.reference), motion))

    def whole(self, own: Any, dependent: Any) -> Any:
        """q of the robot (without theta) from its own positions and those that loops decide."""
        if not self.robot.loops:
            return own
        q = np.empty(self.robot.nq, dtype=object)
        q[self.coordinates.places] = own
        q[self.dependent] = dependent
        return q

    def positions(self, profiles: Array) -> Array:
        """Own positions from profiles, (..., size)."""
        return np.asarray(self.lifted([profiles])[0], dtype=float)


def whole_position(robot: Robot, given: Any, what: str) -> Array | None:
    """A position (nq) of all joints, loops closed, from q or from the numbers of the robot's own coordinates.

    None where it is not given, or not of a length that can be read.
    """
    q = by_columns(robot, "plan", what, given, "q")
    array = None if q is None or isinstance(q, Mapping) else real(q)
    if array is None or array.ndim != 1 or not np.isfinite(array).all():
        return None
    neutral = np.asarray(robot.neutral(), dtype=float)
    coordinates = robot.coordinates.links
    if array.shape == neutral.shape:
        if robot.loops:
            gap = float(np.abs(np.asarray(robot.closure.ufunc(array)[0])).max())
            if not gap <= OPEN:
                raise InputError(
                    f"{what}: loops of robot {robot.name!r} are open there, by {gap:.3g} (m, rad); give a closed "
                    f"position, or the {coordinates.size} numbers of its independent joints"
                )
        return array
    if array.size != coordinates.size:
        return None
    found = neutral.copy()
    found[coordinates.places] = array
    if robot.loops:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = np.asarray(robot.assemble(array[None], guess=neutral).q)[0]
            except NeulerError:
                found = np.full(robot.nq, np.nan)
        if not np.isfinite(found).all():
            raise InputError(
                f"{what}: the loops of robot {robot.name!r} cannot be closed at {array.tolist()}; it is out of reach"
            )
    return found


def check_same_coordinates(robot: Robot, other: Robot, what: str) -> None:
    """Refuse a robot of a phase whose coordinates are not those of the plan's."""
    for name in ("q", "qd"):
        mine, its = robot.coordinates.names(name), other.coordinates.names(name)
        if mine != its:
            raise InputError(
                f"plan: {what}robot {other.name!r} must have the same coordinates as {robot.name!r}: {name} is "
                f"{', '.join(mine[:8])}, its {name} is {', '.join(its[:8])}"
            )


def moving_links(robot: Robot) -> list[tuple[str, int]]:
    """Joints that move, and the rows of their links among ``reaction_wrenches``."""
    rows = robot.shown_names
    return [
        (joint.name, rows.index(joint.child))
        for joint in robot.joints
        if joint.moves and joint.series is None and joint.child in rows
    ]

"""What a plan knows of its robot: the coordinates that get profiles, the ones that follow, and who pushes.

Profiles are those of the robot's own velocities: joints of a tree, independent joints of loops, the platform of a
parallel robot, the links' side of elastic drives. Positions of free and spherical joints are a rotation vector about
a reference orientation. In loops the positions of the other joints are variables of their own at every grid point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neuler.control.coordinates import Coordinates, undriven
from neuler.errors import InputError
from neuler.optimize.programme import Array
from neuler.robot import Joint, Link, Robot
from neuler.robot.columns import column_names
from neuler.trace.recipe import Operand

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
class Model:
    """A robot with smooth friction, and a position about which its rotations are counted."""

    robot: Robot
    reference: Array
    """A position of the robot, (nq)."""
    free: int = 0
    """The degree of profiles whose knots are variables; 0 where knots stay."""
    width: float = 0.0
    """Speeds below which Coulomb friction is rounded off; 0 where there is none."""
    payloads: tuple[Payload, ...] = ()
    """What it carries besides: inputs of its kernels, so that other payloads need no new ones."""

    @cached_property
    def coordinates(self) -> Coordinates:
        """That get profiles."""
        return Coordinates.of_links(self.robot)

    @cached_property
    def loaded(self) -> Robot:
        """The robot with its payloads."""
        found = self.robot
        for each in self.payloads:
            found = found.with_payload(each.frame, each.mass, each.com, each.inertia)
        return found

    @cached_property
    def carried(self) -> Array:
        """Ten numbers of every payload."""
        return np.array([x for each in self.payloads for x in each.numbers])

    def verb(self, name: str, **options: Any) -> Any:
        """A quantity of the robot; of loads, with their numbers as its last argument."""
        if not self.payloads:
            return self.robot.compile(name, **options) if options else getattr(self.robot, name)
        return self.robot.compile(name, parameters=tuple(f"payload:{each.frame}" for each in self.payloads), **options)

    @cached_property
    def nc(self) -> int:
        """Number of profiles."""
        return self.coordinates.speeds

    @cached_property
    def shafts(self) -> tuple[Joint, ...]:
        """Motors behind springs."""
        return tuple(joint for joint in self.robot.moving_joints if joint.series is not None)

    @property
    def elastic(self) -> bool:
        """Whether motors turn springs."""
        return bool(self.shafts)

    @cached_property
    def names(self) -> list[str]:
        """Of the profiles."""
        every = [name.removeprefix("qd_") for name in column_names(self.robot, Operand("qd", (self.robot.nv,)))]
        return every[: self.nc]  # those of motors behind springs stand last

    @cached_property
    def joints(self) -> list[Joint | None]:
        """Of every profile; none where it is one of several of a joint in a loop."""
        by_name = {joint.name: joint for joint in self.robot.moving_joints}
        found: list[Joint | None] = []
        at = 0
        for joint, _, count in self.coordinates.parts:
            found += [joint or by_name.get(self.names[at])] * count
            at += count
        return found

    @cached_property
    def followers(self) -> list[int]:
        """Numbers of q that loops decide; none of a tree."""
        if not self.robot.loops:
            return []
        own = set(self.coordinates.places)
        return [k for k in range(self.robot.nq) if k not in own]

    @cached_property
    def loop_joints(self) -> list[tuple[Joint, int, int]]:
        """Plain joints that loops move: each with its number among the followers and among the tree's velocities."""
        place = {k: i for i, k in enumerate(self.followers)}
        found, q, v = [], 0, 0
        for joint in self.robot.moving_joints:
            if q in place and joint.nq == joint.nv == 1:
                found.append((joint, place[q], v))
            q, v = q + joint.nq, v + joint.nv
        return found

    @cached_property
    def quaternions(self) -> list[list[int]]:
        """Among the followers, the places of each unit quaternion."""
        found, at = [], 0
        place = {k: i for i, k in enumerate(self.followers)}
        for joint in self.robot.moving_joints:
            if joint.type.quaternion is not None and at in place:
                first = at + joint.type.quaternion
                found.append([place[k] for k in range(first, first + 4)])
            at += joint.nq
        return found

    @cached_property
    def closing(self) -> list[int]:
        """Rows of the closure that decide the followers: as many as these, the others follow where loops are planar."""
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
    def pushed(self) -> list[int]:
        """Numbers of tau that motors give."""
        without = set(undriven(self.robot))
        springs = {joint.series[0] for joint in self.shafts if joint.series}
        return [k for k, joint in enumerate(self._tau_joints) if joint.name not in without | springs]

    @cached_property
    def unpushed(self) -> list[int]:
        """Numbers of tau that must be zero: of passive joints and free bases; of trees, where all else is told."""
        springs = {joint.series[0] for joint in self.shafts if joint.series}
        pushed = set(self.pushed)
        return [k for k, joint in enumerate(self._tau_joints) if k not in pushed and joint.name not in springs]

    @cached_property
    def _tau_joints(self) -> list[Joint]:
        """The joint of every number of tau."""
        names = self.robot.active_names
        by_name = {joint.name: joint for joint in self.robot.moving_joints}
        if not self.robot.loops:
            return [joint for joint in self.robot.moving_joints for _ in range(joint.nv)]
        every = [joint for joint in self.robot.moving_joints for _ in range(joint.nv)]
        numbers = self.robot.mobility.active_numbers
        return [every[k] for k in numbers] if len(numbers) == self.robot.nu else [by_name[name] for name in names]

    @cached_property
    def tau_names(self) -> list[str]:
        """Of all of tau."""
        return [name.removeprefix("tau_") for name in column_names(self.robot, Operand("tau", (self.robot.nu,)))]

    @cached_property
    def efforts(self) -> Array:
        """Limits of the pushed ones."""
        return np.array([self._tau_joints[k].limits.effort for k in self.pushed])

    @cached_property
    def degree(self) -> int:
        """Of profiles, at least: torques of elastic drives depend on the snap of the links."""
        return 5 if self.elastic else 3

    @cached_property
    def usual_degree(self) -> int:
        """Of profiles, if none is asked for: forces that no motor gives are zero between points with smooth ones."""
        return 5 if self.unpushed and not self.robot.loops else self.degree

    @cached_property
    def rest(self) -> int:
        """Derivatives that are zero at rest: with springs also acceleration and jerk, that motors stand still."""
        return 3 if self.elastic else 1

    # ---- positions --------------------------------------------------------------------------------------------

    def own(self, q: Any) -> Array:
        """Numbers of a position that profiles move: of q, or of these alone."""
        q = np.asarray(q, dtype=float)
        places = self.coordinates.places
        return q[..., places] if q.shape[-1] != len(places) else q

    def chart(self, q: Any, what: str = "position") -> Array:
        """Profile coordinates of a position of the robot, (..., nc)."""
        own = self.own(q)
        if self.coordinates.plain:
            return own
        from neuler.plan.charts import chart_of

        try:
            return np.asarray(chart_of(self.robot, self.coordinates, self.own(self.reference), own))
        except InputError as error:
            raise InputError(f"{what}: {error}") from None

    def lifted(self, motion: list[Any]) -> list[Any]:
        """Own positions, velocities, accelerations, ... from profiles and their rates (per second)."""
        if self.coordinates.plain:
            return motion
        from neuler.plan.charts import lift

        return list(lift(self.robot, self.coordinates, self.own(self.reference), motion))

    def whole(self, own: Any, followers: Any) -> Any:
        """q of the robot (without theta) from its own positions and those that loops decide."""
        if not self.robot.loops:
            return own
        q = np.empty(self.robot.nq, dtype=object)
        q[self.coordinates.places] = own
        q[self.followers] = followers
        return q

    def lifted_numbers(self, chart: Array) -> Array:
        """Own positions of chart coordinates, (..., size)."""
        return np.asarray(self.lifted([chart])[0], dtype=float)

"""One moment of a plan, traced: what measures are made of. Every quantity is computed where it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.moments.contact import ContactWrench, GroundReaction
from neuler.moments.moving_robot import HIGHEST, MovingRobot
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node


class Moment:
    """Motion and forces of a robot at one time of a phase; arrays of traced values.

    ``q``, ``qd``, ``qdd``, ``qddd`` of the links (with loops q of all joints), ``tau`` of the joints that motors drive,
    ``tau_rate``, ``reactions`` (links, 6), ``pose(frame)`` (4, 4), ``frame_velocity(frame)`` (6), ``speeds`` of the
    motors; ``t`` since the phase began (s), ``share`` of the phase from 0 to 1, its ``duration`` (s), ``robot``. On the
    ground: ``ground``, its resultant force and moment, and ``contact_wrenches``, by contact; forces include them.
    """

    def __init__(
        self,
        robot: MovingRobot,
        profiles: list[Any],
        share: Any,
        duration: Any,
        *,
        dependent: Any = None,
        slacks: Any = None,
        given: Any = None,
        payload: Any = None,
        magnitudes: Any = None,
        forces: Sequence[Any] = (),
    ) -> None:
        """From profiles and their derivatives by the share of the phase.

        ``dependent`` positions of joints in loops; ``slacks`` of peaks by name; ``given`` numbers of conditions;
        ``payload`` numbers; ``magnitudes``: variables that are at least as large as magnitudes of rows; ``forces`` of
        contacts that profiles give, as shares of the weight, and their derivatives by the share of the phase.
        """
        self.model, self.robot = robot, robot.robot
        self.profiles = profiles
        self.t, self.share, self.duration = share * duration, share, duration
        self.dependent, self.slacks, self.given = dependent, slacks, given
        self.payload, self.magnitudes, self.forces = payload, magnitudes, forces

    def rates(self, order: int) -> list[Any]:
        """Profiles and their rates per second, up to an order."""
        if order >= len(self.profiles):
            raise InputError(f"a measure needs derivative {order} of the profiles; the highest at hand is {HIGHEST}")
        found, scale = [self.profiles[0]], 1.0
        for k in range(1, order + 1):
            scale = scale / self.duration
            found.append(self.profiles[k] * scale)
        return found

    def _lifted(self, order: int) -> list[Any]:
        held = self.__dict__.setdefault("_motions", {})
        if order not in held:
            held[order] = [np.asarray(x, dtype=object) for x in self.model.lifted(self.rates(order))]
        found: list[Any] = held[order]
        return found

    @cached_property
    def positions(self) -> Any:
        """The profiles: positions, with rotation vectors in the place of quaternions."""
        return self.profiles[0]

    @cached_property
    def q(self) -> Any:
        """Positions of the links; in loops of all joints."""
        return self.model.whole(self._lifted(0)[0], self.dependent)

    @cached_property
    def qd(self) -> Any:
        """Velocities of the profiles' joints."""
        return self._lifted(1)[1]

    @cached_property
    def qdd(self) -> Any:
        """Accelerations of the profiles' joints."""
        return self._lifted(2)[2]

    @cached_property
    def qddd(self) -> Any:
        """Jerks of the profiles' joints."""
        return self._lifted(3)[3]

    @cached_property
    def qdddd(self) -> Any:
        """Snaps of the profiles' joints."""
        return self._lifted(4)[4]

    @cached_property
    def _springs(self) -> Any:
        """theta, its rates and tau, Hua (28), (29)."""
        return self._found("elastic_inverse_dynamics", self.q, self.qd, self.qdd, self.qddd, self.qdddd)

    @cached_property
    def state(self) -> tuple[Any, Any, Any]:
        """q, qd, qdd of the whole robot, with theta of its motors behind springs."""
        if not self.model.elastic:
            return self.q, self.qd, self.qdd
        found = self._springs
        both = zip((self.q, self.qd, self.qdd), (found.theta, found.thetad, found.thetadd), strict=True)
        return tuple(np.concatenate([link, motor]) for link, motor in both)  # type: ignore[return-value]

    @cached_property
    def all_tau(self) -> Any:
        """All of tau, forces that no motor gives included."""
        if self.model.elastic:
            return self._springs.tau
        return self._found("inverse_dynamics", self.q, self.qd, self.qdd)

    @cached_property
    def bare_tau(self) -> Any:
        """All of tau as it would be without contacts: that of the base is what the ground exerts."""
        more = () if self.payload is None else (self.payload,)
        return self.model.verb("inverse_dynamics")(self.q, self.qd, self.qdd, *more)

    @cached_property
    def ground(self) -> GroundReaction:
        """Resultant force and moment of the ground, and the zero-moment point; zero without contacts."""
        if self.model.support is None:
            return GroundReaction(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
        return self.model.support.resultant(self)

    @property
    def contact_forces(self) -> Any:
        """Forces of contacts that profiles give, as shares of the weight."""
        return self.forces[0]

    @cached_property
    def contact_wrenches(self) -> dict[str, ContactWrench]:
        """What the ground exerts on each contact, by its name."""
        return {} if self.model.support is None else self.model.support.wrenches(self)

    @cached_property
    def contact_loads(self) -> list[Any]:
        """The same at the origins of the frames that they act on, (6) each, in the axes of the base frame."""
        return [] if self.model.support is None else self.model.support.loads(self)

    @cached_property
    def tau(self) -> Any:
        """Forces of the motors."""
        return self.all_tau[self.model.driven]

    @cached_property
    def tau_rate(self) -> Any:
        """Their time derivative, Guarino (3)-(21); with springs along the graph."""
        if self.model.elastic or self.model.support is not None:
            return self.rate(self.tau)
        found = self._found("inverse_dynamics_rate", self.q, self.qd, self.qdd, self.qddd)
        self.__dict__.setdefault("all_tau", found.tau)
        return found.tau_rate[self.model.driven]

    @cached_property
    def speeds(self) -> Any:
        """Velocities of the joints (or motors) that motors drive."""
        _, qd, _ = self.state
        if self.robot.loops:
            qd = self.robot.actuation_matrix(self.q) @ qd
        return qd[self.model.driven]

    @cached_property
    def reactions(self) -> Any:
        """Wrench of the parent link on every link, (links, 6)."""
        return self._found("reaction_wrenches", *self.state)

    @cached_property
    def loop_positions(self) -> Any:
        """Positions of the joints that loops move."""
        return [self.dependent[k] for _, k in self.model.loop_joints]

    @cached_property
    def loop_velocities(self) -> Any:
        """Their velocities, by G of Khalil (56)."""
        every = self.robot.coupling_matrix(self.q) @ self.qd
        return [every[entry.v.start] for entry, _ in self.model.loop_joints]

    @cached_property
    def closure(self) -> Any:
        """How far loops are open, and by how much quaternions of their joints are not of unit length."""
        gaps = self.robot.closure(self.q).open_by
        rows = [gaps[k] for k in self.model.closing]
        for places in self.model.quaternions:
            rows.append(sum(self.dependent[k] * self.dependent[k] for k in places) - 1.0)
        return np.array(rows, dtype=object)

    def _found(self, verb: str, *values: Any) -> Any:
        """A quantity that payloads and contacts change."""
        more = () if self.payload is None else (self.payload,)
        support = self.model.support
        if support is None:
            return self.model.verb(verb)(*values, *more)
        return self.model.verb(verb, loads=support.frames)(*values, *self.contact_loads, *more)

    def pose(self, frame: str) -> Any:
        """Homogeneous matrix of a link or frame in the base frame."""
        held = self.__dict__.setdefault("_poses", {})
        if frame not in held:
            held[frame] = self.robot.compile("link_poses", frame=frame)(self._whole_q)
        return held[frame]

    def frame_velocity(self, frame: str) -> Any:
        """Velocity of a link or frame, (6): of its origin, then angular, in the axes of the base frame."""
        held = self.__dict__.setdefault("_velocities", {})
        if frame not in held:
            held[frame] = self.jacobian(frame) @ (self.state[1] if self.model.elastic else self.qd)
        return held[frame]

    def jacobian(self, frame: str) -> Any:
        """Jacobian of a link or frame, (6, nv), for :meth:`frame_velocity`."""
        held = self.__dict__.setdefault("_jacobians", {})
        if frame not in held:
            held[frame] = self.robot.compile("jacobian", frame=frame, reference="world")(self._whole_q)
        return held[frame]

    @property
    def _whole_q(self) -> Any:
        """q of the whole robot, with theta of its motors behind springs."""
        return self.state[0] if self.model.elastic else self.q

    def rate(self, values: Any) -> Any:
        """Time derivative of any value that was made of profiles, times and shares."""
        if self.robot.loops:
            raise InputError("moment.rate: joints of loops have no profiles; use the verbs with rates")
        flat = np.asarray(values, dtype=object)
        last = {x: 1.0 for x in self.profiles[-1] if isinstance(x, Node)}
        if any(isinstance(x, Node) or x != 0.0 for x in tangents(list(flat.ravel()), last)):
            raise InputError(
                f"moment.rate: the value depends on derivative {HIGHEST} of the profiles, the highest at hand"
            )
        seeds: dict[Node, Any] = {}
        pairs = [*zip(self.profiles, self.profiles[1:], strict=False), *zip(self.forces, self.forces[1:], strict=False)]
        for now, then in pairs:
            for x, rate in zip(now, then, strict=True):
                if isinstance(x, Node):
                    seeds[x] = rate / self.duration
        if isinstance(self.t, Node):
            seeds[self.t] = 1.0
        if isinstance(self.share, Node):
            seeds[self.share] = 1.0 / self.duration
        return np.array(tangents(list(flat.ravel()), seeds), dtype=object).reshape(flat.shape)

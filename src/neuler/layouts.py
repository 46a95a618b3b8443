"""Coordinates as other libraries have them: order of joints, quaternions, axes of a free link's velocity.

A layout converts both ways, for one state or a batch. ``q``, ``v``, ``a``, ``tau`` take a robot's arrays
and give the other library's; ``from_q``, ``from_v``, ``from_a``, ``from_tau`` take all their arguments in
the other library's layout and give the robot's. Neither library is needed for it.

================  ========================  ==========================  ======================
of a free link    neuler                    Pinocchio                   MuJoCo
================  ========================  ==========================  ======================
quaternion        x, y, z, w                x, y, z, w                  w, x, y, z
linear velocity   the link's axes           the link's axes             the world's axes
angular velocity  the link's axes           the link's axes             the link's axes
acceleration      rate of the components    rate of the components      rate of the components
================  ========================  ==========================  ======================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.inputs import array
from neuler.robot import Joint, Robot, Transform
from neuler.robot.coordinates import Entry, slices
from neuler.robot.kinds.quaternions import conjugate, product, rotated
from neuler.robot.transform import quaternion

Array = NDArray[np.float64]

_MUJOCO_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}
"""Of MuJoCo's joint types free, ball, slide, hinge: positions and velocities."""


@dataclass(frozen=True)
class Slot:
    """Where the numbers of a joint are: the first position and velocity, and how many there are."""

    q: int
    nq: int
    v: int
    nv: int


@dataclass(frozen=True)
class Layout:
    """The coordinates of ``robot`` as ``library`` has them. Made by :func:`pinocchio` and :func:`mujoco`."""

    robot: Robot
    library: str
    slots: tuple[Slot, ...]
    """Of each moving joint, in the other library."""
    scalar_first: bool = False
    world_axes: bool = False

    @property
    def nq(self) -> int:
        """The other library's number of positions."""
        return sum(slot.nq for slot in self.slots)

    @property
    def order(self) -> NDArray[np.int64]:
        """The number that each velocity of the robot has there: for the rows and columns of matrices."""
        return np.array([slot.v + k for slot in self.slots for k in range(slot.nv)], dtype=np.int64)

    # ---- there -----------------------------------------------------------------------------

    def q(self, q: ArrayLike) -> Array:
        """The robot's positions (..., nq) as the other library has them."""
        ours = self._taken("q", q, self.robot.nq)
        theirs = np.empty((*ours.shape[:-1], self.nq))
        for joint, mine, slot in self._joints():
            part, into = ours[..., mine.q], theirs[..., slot.q : slot.q + slot.nq]
            if joint.kind == "free":
                into[...] = self._pose_there(self._seat(joint), part)
            elif joint.type.quaternion is not None:
                into[...] = np.roll(part, 1, axis=-1) if self.scalar_first else part
            elif slot.nq == 2:
                into[..., 0], into[..., 1] = np.cos(part[..., 0]), np.sin(part[..., 0])
            else:
                into[...] = part
        return theirs

    def v(self, v: ArrayLike, q: ArrayLike) -> Array:
        """The robot's velocities (..., nv) at positions q as the other library has them."""
        return self._there(self._taken("v", v, self.robot.nv), q)

    def a(self, a: ArrayLike, v: ArrayLike, q: ArrayLike) -> Array:
        """Accelerations: R (a + w x v) where the velocity R v has the world's axes."""
        ours, rate = self._taken("a", a, self.robot.nv), self._taken("v", v, self.robot.nv)
        return self._there(ours + self._carried(rate), q)

    def tau(self, tau: ArrayLike, q: ArrayLike) -> Array:
        """Joint forces, the wrenches of free links among them: their power is the same in both layouts."""
        return self._there(self._taken("tau", tau, self.robot.nv), q)

    # ---- and back ----------------------------------------------------------------------------

    def from_q(self, q: ArrayLike) -> Array:
        """Positions; an angle that is kept as cosine and sine comes back between -pi and pi."""
        theirs = self._taken("q", q, self.nq)
        ours = np.empty((*theirs.shape[:-1], self.robot.nq))
        for joint, mine, slot in self._joints():
            part, into = theirs[..., slot.q : slot.q + slot.nq], ours[..., mine.q]
            if joint.kind == "free":
                into[...] = self._pose_back(self._seat(joint), part)
            elif joint.type.quaternion is not None:
                into[...] = np.roll(part, -1, axis=-1) if self.scalar_first else part
            elif slot.nq == 2:
                into[..., 0] = np.arctan2(part[..., 1], part[..., 0])
            else:
                into[...] = part
        return ours

    def from_v(self, v: ArrayLike, q: ArrayLike) -> Array:
        """The other library's velocities at positions q as the robot has them, (..., nv)."""
        return self._back(self._taken("v", v, self.robot.nv), q)

    def from_a(self, a: ArrayLike, v: ArrayLike, q: ArrayLike) -> Array:
        """Accelerations: R^T a - w x (R^T v) where v has the world's axes."""
        rate = self._back(self._taken("v", v, self.robot.nv), q)
        return self._back(self._taken("a", a, self.robot.nv), q) - self._carried(rate)

    def from_tau(self, tau: ArrayLike, q: ArrayLike) -> Array:
        """The other library's joint forces at positions q as the robot has them, (..., nv)."""
        return self._back(self._taken("tau", tau, self.robot.nv), q)

    # ---- how -------------------------------------------------------------------------------------

    def _joints(self) -> list[tuple[Joint, Entry, Slot]]:
        return [(mine.joint, mine, slot) for mine, slot in zip(self.robot.coordinates, self.slots, strict=True)]

    def _taken(self, name: str, values: ArrayLike, size: int) -> Array:
        return array(f"layouts.{self.library}", name, values, (size,))

    def _seat(self, joint: Joint) -> Transform | None:
        """Of a free joint, in the base frame, where the other library counts positions from there; else None."""
        if not self.world_axes:
            return None
        carried = {each.child: each for each in self.robot.joints}
        seat, below = joint.placement, joint.parent
        while below in carried:
            seat, below = carried[below].placement @ seat, carried[below].parent
        return seat if seat != Transform() else None

    def _pose_there(self, seat: Transform | None, pose: Array) -> Array:
        position, turn = pose[..., :3], pose[..., 3:]
        if seat is not None:
            mount = quaternion(seat.rotation)
            position = np.array(seat.translation) + position @ np.array(seat.rotation).T
            turn = product(np.broadcast_to(mount, turn.shape), turn)
        return np.concatenate([position, np.roll(turn, 1, axis=-1) if self.scalar_first else turn], axis=-1)

    def _pose_back(self, seat: Transform | None, pose: Array) -> Array:
        position = pose[..., :3]
        turn = np.roll(pose[..., 3:], -1, axis=-1) if self.scalar_first else pose[..., 3:]
        if seat is not None:
            back = conjugate(quaternion(seat.rotation))
            position = (position - np.array(seat.translation)) @ np.array(seat.rotation)
            turn = product(np.broadcast_to(back, turn.shape), turn)
        return np.concatenate([position, turn], axis=-1)

    def _carried(self, v: Array) -> Array:
        """w x v of every such joint: how its linear velocity turns with its frame."""
        found = np.zeros_like(v)
        for joint, mine, _ in self._joints():
            if self.world_axes and joint.kind == "free":
                screw = v[..., mine.v]
                found[..., mine.v][..., :3] = np.cross(screw[..., 3:], screw[..., :3])
        return found

    def _there(self, values: Array, q: ArrayLike) -> Array:
        ours = self._turned(values, self._taken("q", q, self.robot.nq), back=False)
        theirs = np.empty_like(ours)
        theirs[..., self.order] = ours
        return theirs

    def _back(self, values: Array, q: ArrayLike) -> Array:
        return self._turned(values[..., self.order], self.from_q(q), back=True)

    def _turned(self, values: Array, q: Array, *, back: bool) -> Array:
        """Linear parts of free joints from the link's axes to the world's, or back, where these differ."""
        try:
            batch = np.broadcast_shapes(values.shape[:-1], q.shape[:-1])
        except ValueError:
            raise InputError(
                f"layouts.{self.library}: the batch axes do not broadcast: {values.shape} and q {q.shape}"
            ) from None
        found = np.broadcast_to(values, (*batch, self.robot.nv)).copy()
        for joint, mine, _ in self._joints():
            if self.world_axes and joint.kind == "free":
                part, turn = found[..., mine.v][..., :3], q[..., mine.q][..., 3:]
                seat = self._seat(joint)
                if seat is not None:
                    turn = product(np.broadcast_to(quaternion(seat.rotation), turn.shape), turn)
                part[...] = rotated(conjugate(turn) if back else turn, part)
        return found


def pinocchio(robot: Robot, model: Any = None) -> Layout:
    """The layout of a ``pinocchio.Model``, whose joints have the robot's names; a joint may be (cosine, sine) there.

    Instead of a model the names of its joints in its order will do, each with as many numbers as here; without
    either it is the order of the robot, as :func:`neuler.peers.pinocchio_model` keeps it. (Pinocchio reads the
    children of a link in a URDF file in the alphabetical order of their joints.)

    >>> import neuler
    >>> layout = pinocchio(neuler.robots.two_link(), ["joint2", "joint1"])
    >>> layout.q([0.1, 0.2]).tolist()
    [0.2, 0.1]
    """
    if _is_names(model):
        return Layout(robot, "pinocchio", _slots_by_name(robot, "pinocchio", model))
    slots = {
        str(name): Slot(joint.idx_q, joint.nq, joint.idx_v, joint.nv)
        for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
    }
    return Layout(robot, "pinocchio", _matched(robot, "pinocchio", slots))


def mujoco(robot: Robot, model: Any = None) -> Layout:
    """The layout of a ``mujoco.MjModel`` whose joints have the robot's names and whose world is the robot's base.

    Instead of a model the names of its joints in its order will do; without either it is the order of the robot.
    A free link's position and rotation are counted from the base frame there, not from the joint's placement. Joints
    without a name are called by their numbers, ``joint3``, as :func:`neuler.load` calls them.

    >>> import neuler
    >>> layout = mujoco(neuler.robots.two_link().with_free_base())
    >>> layout.q([1, 2, 3, 0, 0, 0, 1, 0.1, 0.2]).tolist()
    [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.1, 0.2]
    """
    _refuse_carried(robot)
    if _is_names(model):
        slots = _slots_by_name(robot, "mujoco", model)
    else:
        found = {}
        for k in range(int(model.njnt)):
            nq, nv = _MUJOCO_SIZES[int(model.jnt_type[k])]
            found[str(model.joint(k).name) or f"joint{k}"] = Slot(
                int(model.jnt_qposadr[k]), nq, int(model.jnt_dofadr[k]), nv
            )
        slots = _matched(robot, "mujoco", found)
    return Layout(robot, "mujoco", slots, scalar_first=True, world_axes=True)


def _refuse_carried(robot: Robot) -> None:
    """MuJoCo counts the position of a free link from the world: nothing that moves may carry it."""
    carried = {joint.child: joint for joint in robot.joints}
    for joint in robot.joints:
        below = carried.get(joint.parent)
        while joint.kind == "free" and below is not None:
            if below.moves:
                raise InputError(
                    f"layouts.mujoco: joint {joint.name!r} is free on a link that joint {below.name!r} moves; "
                    "MuJoCo frees links from the world alone"
                )
            below = carried.get(below.parent)


def _is_names(model: Any) -> bool:
    return model is None or (isinstance(model, list | tuple) and all(isinstance(name, str) for name in model))


def _slots_by_name(robot: Robot, library: str, names: Sequence[str] | None) -> tuple[Slot, ...]:
    order = list(robot.joint_names if names is None else names)
    twice = [name for k, name in enumerate(order) if name in order[:k]]
    if twice:
        raise InputError(f"layouts.{library}: joint {twice[0]!r} is named twice")
    joints = {joint.name: joint for joint in robot.moving_joints}
    there = slices([joints[name] for name in order if name in joints])
    slots = dict.fromkeys(order, Slot(0, 0, 0, 0)) | {
        joint.name: Slot(q.start, joint.nq, v.start, joint.nv) for joint, q, v in there
    }
    return _matched(robot, library, slots)


def _matched(robot: Robot, library: str, slots: dict[str, Slot]) -> tuple[Slot, ...]:
    """In the robot's order; joints that either side lacks, and joints of another kind, are named."""
    if robot.loops:
        raise InputError(
            f"layouts.{library}: robot {robot.name!r} has loops, which no layout knows: take the layout of robot.tree"
        )
    followers = {coupling.joint for coupling in robot.couplings}
    missing = [name for name in robot.joint_names if name not in slots]
    extra = [name for name in slots if name not in robot.joint_names]
    extra = [name for name in extra if name not in followers or slots[name].nv]
    if missing or extra:
        parts = [f"the model has no joint {', '.join(map(repr, missing))}"] if missing else []
        parts += [f"robot {robot.name!r} has no moving joint {', '.join(map(repr, extra))}"] if extra else []
        shafts = {joint.name for joint in robot.moving_joints if joint.series}
        remedy = "both need the same joints by the same names"
        if missing and shafts.issuperset(missing):
            remedy = "these are motors before springs: take the layout of the robot without their stiffness"
        raise InputError(f"layouts.{library}: {' and '.join(parts)}; {remedy}")
    for joint in robot.moving_joints:
        slot = slots[joint.name]
        known = [(joint.nq, joint.nv), *([(2, 1)] if joint.kind == "revolute" else [])]
        if (slot.nq, slot.nv) not in known:
            raise InputError(
                f"layouts.{library}: joint {joint.name!r} is {joint.kind} here, and has {slot.nq} positions and "
                f"{slot.nv} velocities there"
            )
    return tuple(slots[name] for name in robot.joint_names)

"""The tree of a compiled MuJoCo model: bodies become links, joints become joints, sites become frames.

A body in MuJoCo may have several joints, each about an anchor of its own, and each with a position ``ref`` at which the
body is where the file draws it:

    pose = T(body) * M_1(q_1) * ... * M_n(q_n),    M(q) = T(anchor) R(axis, q - ref) T(-anchor),  or  T(axis (q - ref))

Here a link has one joint, at its origin. A body with several joints, or with an anchor off its origin, gets links
without mass between its parent and itself, so that its own frame is MuJoCo's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.formats.mjcf_actuators import Actuation, Actuations
from neuler.formats.mjcf_refused import Refusals
from neuler.naming import fresh
from neuler.robot import Frame, Joint, Limits, Link
from neuler.robot.transform import Transform

Array = NDArray[np.float64]

WORLD = 0
FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's types of joints."""
_KINDS = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}


@dataclass(frozen=True)
class Flags:
    """What the model's option leaves on."""

    springs: bool
    dampers: bool
    limits: bool
    friction: bool
    gravity: bool
    equality: bool

    @classmethod
    def of(cls, mujoco: Any, model: Any) -> Flags:
        """From the bits that switch things off."""
        bit, off = mujoco.mjtDisableBit, int(model.opt.disableflags)
        passive = getattr(bit, "mjDSBL_PASSIVE", None)  # springs and dampers in one, in older versions
        constraint = bool(off & bit.mjDSBL_CONSTRAINT)

        def on(name: str, also: Any = None) -> bool:
            found = getattr(bit, name, None)
            return not any(flag is not None and off & flag for flag in (found, also))

        return cls(
            springs=on("mjDSBL_SPRING", passive),
            dampers=on("mjDSBL_DAMPER", passive),
            limits=on("mjDSBL_LIMIT") and not constraint,
            friction=on("mjDSBL_FRICTIONLOSS") and not constraint,
            gravity=on("mjDSBL_GRAVITY"),
            equality=on("mjDSBL_EQUALITY") and not constraint,
        )


class ModelTree:
    """Links, joints and frames of a model, and what MuJoCo's numbers of bodies, joints and sites are called."""

    def __init__(self, model: Any, drives: Actuations, flags: Flags, refusals: Refusals) -> None:
        self.model, self.drives, self.flags, self.refusals = model, drives, flags, refusals
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.frames: list[Frame] = []
        self.ball_limits: list[str] = []
        self.renamed: list[str] = []
        self._frame_names: set[str] = set()
        self._joint_names: set[str] = set()
        self._custom = {model.numeric(k).name: float(model.numeric(k).data[0]) for k in range(model.nnumeric)}
        self.bodies = self._names("body", model.nbody, self._frame_names)
        self.joint_names = self._names("joint", model.njnt, self._joint_names)
        for number in range(model.nbody):
            self._add_body(number)
        self.keys = self._names("key", model.nkey, set())
        self.sites = self._names("site", model.nsite, self._frame_names)
        for number in range(model.nsite):
            if model.site(number).name:
                self.frames.append(Frame(self.sites[number], *self.site(number)))

    def _names(self, kind: str, count: int, taken: set[str]) -> list[str]:
        """Names of things that MuJoCo numbers; those without one are called by their numbers."""
        found = [getattr(self.model, kind)(number).name for number in range(count)]
        for number, own in enumerate(found):
            if own:
                name = found[number] = self._unique(own, taken)
                if own != name:
                    self.renamed.append(f"the {kind} {own!r} is {name!r}")
        for number, own in enumerate(found):  # after all others, which keep theirs
            if not own:
                found[number] = self._unique(f"{kind}{number}", taken)
        return found

    @staticmethod
    def _unique(name: str, taken: set[str]) -> str:
        found = fresh(name, taken)
        taken.add(found)
        return found

    def site(self, number: int) -> tuple[str, Transform]:
        """The link of a site, and where it is on it."""
        model = self.model
        place = placement(model.site_pos[number], model.site_quat[number])
        return self.bodies[int(model.site_bodyid[number])], place

    def frame(self, name: str, body: int, place: Transform) -> str:
        """A further frame of a body; its name."""
        own = self._unique(name, self._frame_names)
        self.frames.append(Frame(own, self.bodies[body], place))
        return own

    def positions(self, qpos: ArrayLike) -> dict[str, tuple[float, ...]]:
        """By joint, MuJoCo's positions as neuler has them: quaternions (x, y, z, w)."""
        values, found = np.asarray(qpos, dtype=float), {}
        for number, name in enumerate(self.joint_names):
            kind, first = int(self.model.jnt_type[number]), int(self.model.jnt_qposadr[number])
            size = {FREE: 7, BALL: 4}.get(kind, 1)
            part = values[first : first + size]
            if size > 1:
                turn = np.roll(part[-4:], -1)
                part = np.concatenate([part[:-4], turn / np.linalg.norm(turn)])
            found[name] = tuple(part.tolist())
        return found

    # ---- bodies ----------------------------------------------------------------------------------------------

    def _add_body(self, number: int) -> None:
        model, name = self.model, self.bodies[number]
        link = _link(model, number, name)
        if number == WORLD:
            self.links.append(link)
            return
        parent = self.bodies[int(model.body_parentid[number])]
        seat = placement(model.body_pos[number], model.body_quat[number])
        first = int(model.body_jntadr[number])
        own = range(first, first + int(model.body_jntnum[number]))
        for joint in own:
            before, after = _seats(model, joint)
            last = joint == own[-1] and after == Transform()
            child = name if last else self._unique(f"{name}_{self.joint_names[joint]}", self._frame_names)
            # the position of a free body is counted from the world, wherever the file draws it
            place = before if int(model.jnt_type[joint]) == FREE else seat @ before
            self.joints.append(self._joint(joint, parent, child, place))
            self.links.append(link if last else Link(child))
            if last:
                return
            parent, seat = child, after
        fixed = self._unique(f"{name}_fixed", self._joint_names)
        self.joints.append(Joint(fixed, "fixed", parent, name, seat))
        self.links.append(link)

    def _joint(self, number: int, parent: str, child: str, place: Transform) -> Joint:
        model, flags, drive = self.model, self.flags, self.drives[number]
        name, kind = self.joint_names[number], int(model.jnt_type[number])
        dof = int(model.jnt_dofadr[number])
        stiffness = float(model.jnt_stiffness[number]) if flags.springs else 0.0
        armature = float(model.dof_armature[dof]) + drive.armature
        damping = (float(model.dof_damping[dof]) if flags.dampers else 0.0) + drive.damping
        friction = float(model.dof_frictionloss[dof]) if flags.friction else 0.0
        limited = bool(model.jnt_limited[number]) and flags.limits
        self._refuse_curved(number, dof)
        role = "driven" if drive.driven else "elastic" if stiffness else "passive"
        if kind in (FREE, BALL):
            what = "a free joint" if kind == FREE else "a ball joint"
            lost = {"armature": armature, "frictionloss": friction, "springs": stiffness}
            for feature in (feature for feature, value in lost.items() if value):
                self.refusals.add(feature, f"joint {name!r}: {feature} of {what}")
            if limited:
                self.ball_limits.append(repr(name))
            if kind == FREE:  # the same damping along all axes, so that it is the same in the body's
                return Joint(name, "free", parent, child, place, viscous=damping)
            role = "passive" if role == "elastic" else role
            return Joint(
                name, "spherical", parent, child, place, limits=self._limits(name, drive), viscous=damping, role=role
            )
        lower, upper = (float(x) for x in model.jnt_range[number]) if limited else (-np.inf, np.inf)
        return Joint(
            name, _KINDS[kind], parent, child, place, tuple(model.jnt_axis[number].tolist()),
            dataclasses.replace(self._limits(name, drive), lower=lower, upper=upper), damping, friction,
            rotor_inertia=armature, gear_ratio=self._custom.get(f"gear_ratio.{name}", drive.gear), stiffness=stiffness,
            rest=float(model.qpos_spring[model.jnt_qposadr[number]]) if stiffness else 0.0, role=role,
        )  # fmt: skip

    def _limits(self, name: str, drive: Actuation) -> Limits:
        """Of speed and effort; files that neuler wrote have in ``<custom>`` what MuJoCo has no word for."""
        velocity = self._custom.get(f"velocity_limit.{name}", np.inf)
        return Limits(velocity=velocity, effort=self._custom.get(f"effort_limit.{name}", drive.effort))

    def _refuse_curved(self, number: int, dof: int) -> None:
        """Springs and dampers that are no straight lines; older versions of MuJoCo have none."""
        where = f"joint {self.joint_names[number]!r}"
        for on, feature, array, k, what in (
            (self.flags.springs, "polynomials", "jnt_stiffnesspoly", number, "a spring that is not linear"),
            (self.flags.springs, "yield", "jnt_springyield", number, "a spring that yields"),
            (self.flags.dampers, "polynomials", "dof_dampingpoly", dof, "damping that is not linear"),
        ):
            values = getattr(self.model, array, None)
            if on and values is not None and np.any(values[k]):
                self.refusals.add(feature, f"{where}: {what}")


def _link(model: Any, number: int, name: str) -> Link:
    """Its inertia is given about the centre of mass in principal axes."""
    turn = rotation_matrix(model.body_iquat[number])
    about_com = turn @ np.diag(model.body_inertia[number]) @ turn.T
    mass = float(model.body_mass[number])
    com = model.body_ipos[number] if mass else (0.0, 0.0, 0.0)
    return Link.from_com(name, mass=mass, com=com, inertia=(about_com + about_com.T) / 2)


def _seats(model: Any, number: int) -> tuple[Transform, Transform]:
    """What stands before a joint's motion, and what after it: M(q) = before * motion by q * after."""
    kind, axis = int(model.jnt_type[number]), np.array(model.jnt_axis[number])
    reference = float(model.qpos0[model.jnt_qposadr[number]])
    if kind == FREE:
        return Transform(), Transform()
    if kind == SLIDE:
        return shifted(-reference * axis), Transform()
    turn = about(axis, -reference) if kind == HINGE else Transform()
    anchor = np.array(model.jnt_pos[number])
    return shifted(anchor) @ turn, shifted(-anchor)


# ---- placements --------------------------------------------------------------------------------------------


def placement(position: Iterable[float], quaternion: Sequence[float] | Array) -> Transform:
    """A frame at a position (m), turned by a quaternion in MuJoCo's order (w, x, y, z)."""
    return Transform(rotation_matrix(quaternion), tuple(float(x) for x in position))  # type: ignore[arg-type]


def rotation_matrix(quaternion: Sequence[float] | Array) -> Any:
    """Of a quaternion (w, x, y, z) of any length but zero.

    >>> rotation_matrix([2.0, 0.0, 0.0, 0.0]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    given = np.asarray(quaternion, dtype=float)
    w, x, y, z = given / np.linalg.norm(given)
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ])  # fmt: skip


def about(axis: Array, angle: float) -> Transform:
    """A turn about an axis through the origin (rad)."""
    if not angle:
        return Transform()
    return placement((0.0, 0.0, 0.0), [np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def shifted(way: Array) -> Transform:
    """A shift along a vector (m)."""
    return Transform(translation=tuple(way.tolist()))

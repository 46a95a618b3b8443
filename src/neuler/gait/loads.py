"""From a motion to its loads: the resultant of the ground, the forces on both feet, torques and forces in the joints.

Everything is computed for all samples of all trials at once: compiled functions on batches, then array operations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.gait import sharing
from neuler.gait.ground import Foot, base_of, checked_feet, ground_reaction, soles
from neuler.gait.stance import Thresholds, find_stance, given_stance, never
from neuler.inputs import array, choice, row, told
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR, weight
from neuler.moments.moving_robot import moving_links
from neuler.robot import Robot

if TYPE_CHECKING:
    import os

    from neuler.gait.motion import MeasuredMotion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Loads:
    """What a motion asks of the ground and of the joints; n samples, and trials before them where there are several.

    Vectors are in the axes of the base frame, feet in the order of ``feet`` (right, left), units N, N m and m.
    """

    robot: Robot
    feet: tuple[str, ...]
    t: Array
    """Times (s), (n,)."""
    q: Array
    qd: Array
    qdd: Array
    """The motion, (..., n, nq) and (..., n, nv)."""
    force: Array
    """Resultant of the ground, (..., n, 3)."""
    moment: Array
    """Its moment about the point of the ground's plane, (..., n, 3)."""
    zero_moment_point: Array
    """(..., n, 3); NaN where the ground carries less than 2 % of the weight."""
    touching: NDArray[np.bool_]
    """Whether feet stand, (..., n, feet)."""
    share: Array
    """Of the feet in the resultant, (..., n, feet)."""
    foot_force: Array
    """On each foot, (..., n, feet, 3)."""
    center_of_pressure: Array
    """Of each foot, (..., n, feet, 3); NaN where it carries nothing."""
    free_moment: Array
    """Of each foot about the ground's normal at its centre of pressure, (..., n, feet)."""
    outside: Array
    """By how much centres of pressure lie outside the soles, (..., n, feet); NaN where there is none."""
    forward: Array
    """The direction of the feet over the trial, horizontal, (..., 3): fore-aft forces are along it."""
    loads: dict[str, Array]
    """Force and moment at the origins of frames of the feet, (..., n, 6): ``loads`` of the robot's quantities."""
    tau: Array
    """Forces of the joints, (..., n, nu)."""
    residual: Array
    """Of them what the base would need besides the ground, (..., n, 6): zero where a foot stands."""
    normal: Array = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)
    """How it was computed: filter, thresholds, split."""
    notes: tuple[str, ...] = ()

    # ---- in the words of gait analysis -------------------------------------------------------------------------

    @property
    def weight(self) -> float:
        """Body weight (N)."""
        return weight(self.robot)

    @property
    def vertical(self) -> Array:
        """Forces on the feet along the ground's normal (N), (..., n, feet)."""
        return np.asarray(self.foot_force @ self.normal)

    @property
    def fore_aft(self) -> Array:
        """Forces on the feet along ``forward`` (N), (..., n, feet): negative brakes."""
        return np.asarray((self.foot_force * self.forward[..., None, None, :]).sum(axis=-1))

    @property
    def lateral(self) -> Array:
        """Forces on the feet to the left (N), (..., n, feet)."""
        left = np.cross(self.normal, self.forward)
        return np.asarray((self.foot_force * left[..., None, None, :]).sum(axis=-1))

    def foot(self, name: str) -> int:
        """The number of a foot by its name.

        >>> import neuler
        >>> still = np.zeros((5, 55))
        >>> ground_loads(neuler.robots.human(), np.arange(5) / 100, still, still, still).foot("left")
        1
        """
        return self.feet.index(choice("gait: foot", name, self.feet))

    # ---- joints ------------------------------------------------------------------------------------------------

    @cached_property
    def reactions(self) -> Array:
        """Wrenches (force; moment) that each link gets through its joint, in its own axes, (..., n, links, 6)."""
        kernel = self.robot.compile("inverse_dynamics", loads=tuple(self.loads), reactions=True)
        return np.asarray(kernel(self.q, self.qd, self.qdd, *self.loads.values())[1])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints whose forces :attr:`joint_forces` gives."""
        return tuple(name for name, _ in moving_links(self.robot))

    @cached_property
    def joint_forces(self) -> Array:
        """Norms of the forces inside joints (N), (..., n, joints)."""
        rows = [k for _, k in moving_links(self.robot)]
        return np.asarray(np.linalg.norm(self.reactions[..., rows, :3], axis=-1))

    def torque(self, joint: str) -> Array:
        """The torque of one joint (N m), (..., n)."""
        names = self.robot.coordinates.names("tau")
        return np.asarray(self.tau[..., names.index(choice("gait: joint", joint, names))])

    def joint_force(self, joint: str) -> Array:
        """The norm of the force inside one joint (N), (..., n)."""
        return np.asarray(
            self.joint_forces[..., self.joint_names.index(choice("gait: joint", joint, self.joint_names))]
        )

    # ---- one of many, motions and files -------------------------------------------------------------------------

    @property
    def trials(self) -> tuple[int, ...]:
        """The axes of trials: () of one alone."""
        return self.tau.shape[:-2]

    def trial(self, k: int) -> Loads:
        """One of many trials."""
        if len(self.trials) != 1:
            raise InputError(f"gait: trials have the axes {self.trials}; trial(k) takes one of one axis")
        values = {
            each.name: getattr(self, each.name)[k]
            for each in dataclasses.fields(self)
            if isinstance(getattr(self, each.name), np.ndarray) and each.name not in ("t", "normal")
        }
        return dataclasses.replace(self, **values, loads={name: value[k] for name, value in self.loads.items()})

    def motion(self) -> MeasuredMotion:
        """The same as a motion, to be sampled, drawn, played and saved like every other."""
        from neuler.gait.motion import MeasuredMotion

        return MeasuredMotion.of_loads(self.single("motion"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything over time: .csv or .parquet by columns, .npz by arrays; .mot or .sto: forces of the ground.

        .mot and .sto have OpenSim's axes and names of external loads; :func:`neuler.gait.save_angles` writes angles.
        """
        from neuler.gait import tables

        tables.save(self.single("save"), path)

    def single(self, what: str) -> Loads:
        """Itself, refused where there are several trials."""
        if self.trials:
            raise InputError(f"gait: {what} needs one trial, these are {self.trials}; take one: loads.trial(0)")
        return self

    def __repr__(self) -> str:
        """The robot, samples and trials, and how many samples each foot stands."""
        many = f", {self.trials[0]} trials" if self.trials else ""
        stands = ", ".join(f"{name} {100 * self.touching[..., k].mean():.0f} %" for k, name in enumerate(self.feet))
        return f"<loads of {self.robot.name!r}: {len(self.t)} samples{many}; standing: {stands}>"


def ground_loads(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    touching: Any = None,
    feet: Mapping[str, Foot] | None = None,
    ground: HalfSpace = FLOOR,
    split: str = sharing.SPLITS[0],
    thresholds: Thresholds | None = None,
    sharp: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> Loads:
    """Loads of a motion: q (n, nq), qd and qdd (n, nv) at times t (n,), s; or of many trials, (trials, n, ...).

    ``touching``: whether feet stand, (..., n, feet) or by the names of the feet; by default it is found from heights
    and speeds of the soles, see :class:`Thresholds`. ``split``: "pivot" or "line", how both feet share the resultant
    (see ``docs/measured-motion.md``). ``feet``: frames of the soles, by default those of :func:`neuler.robots.human`.
    ``sharp``: q, qd and qdd of the same motion, filtered less, by which contact and shares are found; feet
    that land are then loaded from zero on, which filters blur.

    >>> import neuler
    >>> human, still = neuler.robots.human(mass=70.0), np.zeros((5, 55))
    >>> found = ground_loads(human, np.arange(5) / 100, still, still, still)
    >>> (found.vertical[0] / 9.81).round(9).tolist()
    [35.0, 35.0]
    """
    named, limits = checked_feet(robot, feet), Thresholds() if thresholds is None else thresholds
    choice("gait: split", split, sharing.SPLITS)
    if not isinstance(limits, Thresholds):
        raise InputError(f"gait: thresholds must be gait.Thresholds(...), got {told(thresholds)}")
    times, motion = _checked(robot, t, q, qd, qdd)
    pair = tuple(named.values())
    reaction = ground_reaction(robot, ground, pair)(*motion)
    sole = soles(robot, pair)(*motion[:2])
    place, under = reaction.zero_moment_point, sole
    if sharp is not None:
        other = _checked(robot, t, *sharp)[1]
        place, under = ground_reaction(robot, ground, pair)(*other).zero_moment_point, soles(robot, pair)(*other[:2])
    batch, normal, light = motion[0].shape[:-1], np.array(ground.normal), sharing.no_less(weight(robot))
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    if touching is None:
        stands = find_stance(under.points, under.speeds, step, ground, limits)
        never(stands, under.points, under.speeds, ground, limits, "gait")
    else:
        stands = given_stance(touching, tuple(named), batch)
    carried = reaction.force @ normal > light
    flat = sharing.on_ground(under.points, ground)
    ends = sharing.continued(sharing.anchors(under.points, ground), place, flat, stands)
    share = sharing.line_shares(place, ends, stands)
    if sharp is not None:
        share = sharing.from_zero(share, stands, step)
    height = (sole.center_of_mass - np.array(ground.point)) @ normal
    pivot = np.maximum(height, 0.1) if split == "pivot" else None
    found = sharing.shared(reaction.force, reaction.moment, ends, share, ground, pivot, light)
    loads = _frame_loads(pair, sole.points, found, ground)
    tau = robot.compile("inverse_dynamics", loads=tuple(loads))(*motion, *loads.values())
    root = base_of(robot, pair)
    outside = sharing.outside(found.pressure, sole.points, np.array([foot.width for foot in pair]))
    return Loads(
        robot, tuple(named), times, motion[0], motion[1], motion[2], reaction.force, reaction.moment,
        np.where(carried[..., None], reaction.zero_moment_point, np.nan), stands, share, found.force, found.pressure,
        _free_moments(found, normal), outside, _forward(sole.points, normal), loads, np.asarray(tau),
        np.asarray(tau)[..., list(root.forces)], normal,
        {"split": split, "contact": "found" if touching is None else "given", "thresholds": limits, **(settings or {})},
        (*notes, *_notes(robot, reaction.force, stands, outside)),
    )  # fmt: skip


def _checked(robot: Robot, t: Any, q: Any, qd: Any, qdd: Any) -> tuple[Array, list[Array]]:
    if not isinstance(robot, Robot):
        raise InputError(f"gait: a robot is needed, got {told(robot)}")
    times = row("gait: t", t)
    sizes = {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv}
    given = [array("gait", name, x, (sizes[name],)) for name, x in zip(sizes, (q, qd, qdd), strict=True)]
    shape = given[0].shape[:-1]
    for name, x in zip(sizes, given, strict=True):
        if x.ndim < 2 or x.shape[-2] != len(times) or x.shape[:-1] != shape:
            raise InputError(
                f"gait: {name} must be (samples, numbers) or (trials, samples, numbers) with a sample for each of "
                f"{len(times)} times, and q, qd, qdd alike; got shape {x.shape}"
            )
        if not np.isfinite(x).all():
            raise InputError(f"gait: {name} is not finite at {np.argwhere(~np.isfinite(x))[0].tolist()}; fill the gap")
    return times, given


def _frame_loads(
    feet: tuple[Foot, ...], points: Array, found: sharing.FootLoads, ground: HalfSpace
) -> dict[str, Array]:
    """Loads at the origins of frames: of each foot on its ball, and by the lever rule on the tip of its toes.

    With the centre of pressure between ball and tip the toes carry the share of the way, in front of the tip all,
    behind the ball nothing: the same split as between two feet, along the line from ball to tip.
    """
    loads: dict[str, Array] = {}
    for k, foot in enumerate(feet):
        ball, tip = points[..., k, 1, :], points[..., k, 2, :]
        way = sharing.on_ground(tip, ground) - sharing.on_ground(ball, ground)
        square = (way**2).sum(axis=-1)
        along = ((found.pressure[..., k, :] - ball) * way).sum(axis=-1) / np.maximum(square, 1e-12)
        part = np.clip(np.nan_to_num(along), 0.0, 1.0)[..., None]
        middle = ball + part * (tip - ball)
        force = found.force[..., k, :]
        moment = found.moment[..., k, :] + np.cross(found.anchor[..., k, :] - middle, force)
        whole = np.concatenate([force, moment], axis=-1)
        for frame, share in ((foot.ball, 1.0 - part), (foot.tip, part)):  # the same frame, where there are no toes
            loads[frame] = loads.get(frame, 0.0) + share * whole
    return loads


def _free_moments(found: sharing.FootLoads, normal: Array) -> Array:
    """About the normal at the centres of pressure; zero where there is none."""
    lever = np.nan_to_num(found.anchor - found.pressure)
    return np.asarray((found.moment + np.cross(lever, found.force)) @ normal)


def _forward(points: Array, normal: Array) -> Array:
    """The mean direction from heels to tips along the ground, (..., 3)."""
    way = (points[..., 2, :] - points[..., 0, :]).mean(axis=(-2, -3))
    way = way - (way @ normal)[..., None] * normal
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    return np.asarray(way / np.where(size > 0.0, size, 1.0))


def _notes(robot: Robot, force: Array, stands: NDArray[np.bool_], outside: Array) -> tuple[str, ...]:
    """What a user should look at: loads that no foot carries, centres of pressure far outside the soles."""
    found = []
    free = ~stands.any(axis=-1)
    size = np.linalg.norm(force, axis=-1) / weight(robot)
    if (free & (size > 0.2)).any():
        found.append(
            f"no foot stands in {int((free & (size > 0.2)).sum())} samples in which the motion asks for up to "
            f"{size[free].max():.2f} body weights: contact is found too late, or ends too early"
        )
    far = np.nan_to_num(outside) > 0.05
    if far.any():
        found.append(
            f"centres of pressure lie more than 5 cm outside the soles in {int(far.any(axis=-1).sum())} of "
            f"{far[..., 0].size} samples (at most {np.nanmax(outside):.2f} m): noise, a foot that stands elsewhere, or "
            "something else that carries load"
        )
    return tuple(found)

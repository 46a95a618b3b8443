"""From one step to a stride: the mirror image of a motion and of the forces on the feet, one step length further."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.gait import sharing
from neuler.gait.ground import FEET, base_of, soles
from neuler.gait.loads import Loads
from neuler.inputs import told
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import weight
from neuler.motions.continued import FOOT_FRAMES, both_sides, continued, is_of_foot
from neuler.motions.feet import pressure
from neuler.motions.motion import Motion
from neuler.robot import Robot
from neuler.robots.humans.joints import LEFT, RIGHT

Array = NDArray[np.float64]

_EDGE = 1e-5
"""How far before and after a contact's edge forces are compared, as a share of the motion: plans have two grid points
there, 1e-7 apart."""


class StrideLoads(NamedTuple):
    """Loads over a stride, and what happens where the motion joins its continuation."""

    loads: Loads
    length: float
    """How far the pelvis moves forwards (m)."""
    force: Array
    """Jump of the forces on the feet (N), (feet, 3)."""
    point: Array
    """Jump of the zero-moment point (m), (3,)."""
    state: tuple[float, float]
    """Largest jump of a coordinate and of a velocity."""
    release: float
    """Normal force on a foot just before its contact ends (N)."""


def stride_loads(motion: Any, count: int, ground: HalfSpace, symmetric: bool) -> StrideLoads:
    """``count`` samples of a stride; ``motion`` is its first step if it is ``symmetric``, else all of it."""
    robot = _robot_of(motion)
    normal = np.array(ground.normal)
    if abs(normal[1]) > 1e-9:
        raise InputError(f"stride: the ground must not lean to a side, its normal is {ground.normal}")
    here = (count + 1) // 2 if symmetric else count
    t = np.linspace(0.0, motion.duration, here)
    parts = [*motion.evaluate(t, 2)]
    wrenches = both_sides(motion.contact_loads(t), here)
    again, image = continued(robot, parts, wrenches, _ahead(normal), symmetric)
    if not symmetric:  # of the continuation the start alone, to be compared with the end
        again, image = [x[:1] for x in again], {name: x[:1] for name, x in image.items()}
    both = [np.concatenate(pair) for pair in zip(parts, again, strict=True)]
    all_wrenches = {name: np.concatenate([x, image[name]]) for name, x in wrenches.items()}
    times = np.concatenate([t, t[: len(again[0])] + motion.duration])
    found = _loads(robot, times, both, all_wrenches, ground)
    # Samples here - 1 and here are at the same time: the end of the motion, and the start of its continuation.
    force, point, q, qd = (
        x[here] - x[here - 1] for x in (found.foot_force, found.zero_moment_point, found.q, found.qd)
    )
    kept = np.delete(np.arange(len(times)), here - 1 if symmetric else here)
    pelvis = robot.compile("link_poses", frame="pelvis")(found.q[kept[[0, -1]]])[:, :3, 3]
    return StrideLoads(
        _part(found, kept), float((pelvis[1] - pelvis[0]) @ found.forward), force, point,
        (float(np.abs(q).max()), float(np.abs(qd).max())), _release(motion, normal, weight(robot)),
    )  # fmt: skip


def _robot_of(motion: Any) -> Robot:
    """The robot of all phases, refused where there is no ground or something but feet touches it."""
    if not isinstance(motion, Motion):
        raise InputError(f"stride: a motion is needed, as a plan's, got {told(motion)}")
    if not motion.contact_frames:
        raise InputError(
            f"stride: the motion of {motion.robot.name!r} has no contacts with the ground; plan it with contacts, or "
            "take that of measured loads: loads.motion()"
        )
    for frame in motion.contact_frames:
        if not is_of_foot(frame):
            raise InputError(
                f"stride: the ground acts on {frame!r}, which is not of a foot; expected "
                f"{', '.join(RIGHT + name for name in FOOT_FRAMES)}, or of the left foot {LEFT}..."
            )
    first: Robot = motion.robots[0]
    if any(robot != first for robot in motion.robots):
        raise InputError("stride: the person must carry the same in all phases of the motion")
    return first


def _ahead(normal: Array) -> Array:
    """Along the ground, in the plane of symmetry."""
    return np.array([normal[2], 0.0, -normal[0]])


def _loads(robot: Robot, t: Array, motion: list[Array], loads: dict[str, Array], ground: HalfSpace) -> Loads:
    """Everything else from a motion and the forces on frames of the feet."""
    pair, normal, place = tuple(FEET.values()), np.array(ground.normal), np.array(ground.point)
    light = sharing.no_less(weight(robot))
    poses = np.asarray(robot.link_poses(motion[0]))
    force, moment = np.zeros((len(t), 2, 3)), np.zeros((len(t), 2, 3))
    for frame, wrench in loads.items():
        foot = 0 if frame.startswith(RIGHT) else 1
        link, placed = robot.locate(frame)
        origin = poses[:, link, :3, 3] + poses[:, link, :3, :3] @ np.array(placed.translation)
        force[:, foot] += wrench[:, :3]
        moment[:, foot] += wrench[:, 3:] + np.cross(origin - place, wrench[:, :3])
    whole_force, whole_moment = force.sum(axis=1), moment.sum(axis=1)
    centre = pressure(force, moment, normal, place, light)
    free = (moment - np.cross(np.nan_to_num(centre - place), force)) @ normal
    points = soles(robot, pair)(*motion[:2]).points
    vertical = force @ normal
    total = vertical.sum(axis=-1, keepdims=True)
    tau = np.asarray(robot.compile("inverse_dynamics", loads=tuple(loads))(*motion, *loads.values()))
    return Loads(
        robot, tuple(FEET), t, motion[0], motion[1], motion[2], whole_force, whole_moment,
        pressure(whole_force, whole_moment, normal, place, light), vertical > light,
        np.where(total > light, vertical / np.where(total > light, total, 1.0), 0.0), force, centre,
        np.where(np.isfinite(centre[..., 0]), free, 0.0),
        sharing.outside(centre, points, np.array([foot.width for foot in pair])), _ahead(normal), loads,
        tau, tau[:, list(base_of(robot, pair).forces)], normal, {"split": "of the motion", "contact": "of the motion"},
    )  # fmt: skip


def _part(found: Loads, kept: NDArray[np.intp]) -> Loads:
    """Some samples of all."""
    every = {each.name: getattr(found, each.name) for each in dataclasses.fields(found)}
    values: dict[str, Any] = {
        name: x[kept] for name, x in every.items()
        if isinstance(x, np.ndarray) and name not in ("normal", "forward")
    }  # fmt: skip
    return dataclasses.replace(found, **values, loads={name: x[kept] for name, x in found.loads.items()})


def _release(motion: Motion, normal: Array, heavy: float) -> float:
    """The largest normal force on a foot (N) just before a contact's edge behind which it carries nothing."""
    edges = np.asarray(motion.knots)[1:-1]
    if not len(edges):
        return 0.0
    near = _EDGE * motion.duration
    sides = []
    for t in (edges - near, edges + near):
        feet = {side: np.zeros(len(t)) for side in (RIGHT, LEFT)}
        for frame, wrench in motion.contact_loads(t).items():
            feet[frame[:2]] += wrench[:, :3] @ normal
        sides.append(np.stack(list(feet.values()), axis=-1))
    before, after = sides
    return float(np.where(np.abs(after) < 1e-6 * heavy, before, 0.0).max(initial=0.0))

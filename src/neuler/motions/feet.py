"""What the ground exerts on each foot of a motion with contacts, and where: what players draw."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import LIGHT, weight
from neuler.robot import Robot
from neuler.robots.humans.joints import LEFT, RIGHT
from neuler.view.charts import Chart
from neuler.view.footing import Footing
from neuler.view.limbs import limbs_of
from neuler.view.poses import rigid_groups

Array = NDArray[np.float64]

_FLEXIONS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_flexion"}
_SIDES = {RIGHT: "right", LEFT: "left"}


def feet_of(robot: Robot, frames: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Frames on which the ground acts, by foot: those on one link and on links that hang on it belong together.

    >>> import neuler
    >>> feet_of(neuler.robots.human(), ("r_heel", "r_toes", "l_foot"))
    {'r_foot': ('r_heel', 'r_toes'), 'l_foot': ('l_foot',)}
    """
    rigid = rigid_groups(robot)
    of = {frame: rigid[robot.locate(frame)[0]] for frame in frames}
    links, found = set(of.values()), dict[str, list[str]]()
    for frame, link in of.items():
        top = link
        while top and (parent := rigid[robot.antecedents[top - 1]]) in links and parent:
            top = parent
        found.setdefault(robot.link_names[top], []).append(frame)
    return {name: tuple(group) for name, group in found.items()}


def footing_of(robot: Robot, q: Array, loads: Mapping[str, Array], ground: HalfSpace) -> Footing:
    """Forces on feet, centres of pressure and the zero-moment point at states q (n, nq), loads (n, 6) by frame."""
    poses = np.asarray(robot.link_poses(q))
    normal, place, heavy = np.array(ground.normal), np.array(ground.point), weight(robot)
    feet = feet_of(robot, tuple(loads))
    force, moment = np.zeros((len(q), len(feet), 3)), np.zeros((len(q), len(feet), 3))
    for k, frames in enumerate(feet.values()):
        for frame in frames:
            link, placed = robot.locate(frame)
            origin = poses[:, link, :3, 3] + poses[:, link, :3, :3] @ np.array(placed.translation)
            force[:, k] += loads[frame][:, :3]
            moment[:, k] += loads[frame][:, 3:] + np.cross(origin - place, loads[frame][:, :3])
    return Footing(
        tuple(feet), force, pressure(force, moment, normal, place, LIGHT * heavy),
        pressure(force.sum(axis=1), moment.sum(axis=1), normal, place, LIGHT * heavy), heavy, normal, place,
        tuple(_labels(robot, feet)),
    )  # fmt: skip


def pressure(force: Array, moment: Array, normal: Array, place: Array, light: float) -> Array:
    """Where moments about ``place`` have no part along the ground (m); NaN where forces are light (N)."""
    up = (force @ normal)[..., None]
    return np.where(up > light, place + np.cross(normal, moment) / np.where(up > light, up, 1.0), np.nan)


def _labels(robot: Robot, feet: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What feet are called on a page: those of a human by their sides."""
    human = bool(limbs_of(robot))
    return [f"{_SIDES[name[:2]]} foot" if human and name[:2] in _SIDES else name for name in feet]


def charts_of(robot: Robot, q: Array, footing: Footing) -> list[Chart]:
    """Curves beside the player: normal forces on the feet; of a human the angles of hips, knees and ankles."""
    up = footing.force @ footing.normal / footing.weight
    found = [
        Chart("vertical force", "body weights", dict(zip(footing.labels, up.T, strict=True)), footing.colours(robot))
    ]
    if not limbs_of(robot):
        return found
    colours = {
        side: next(limb.colour for limb in limbs_of(robot) if limb.balls[0].frame == f"{side}thigh") for side in _SIDES
    }
    for title, joint in _FLEXIONS.items():
        sides = [side for side in _SIDES if side + joint in robot.joint_names]
        curves = {_SIDES[side]: np.degrees(q[:, robot.coordinates[side + joint].q.start]) for side in sides}
        if curves:
            found.append(Chart(f"{title} flexion", "degrees", curves, tuple(colours[side] for side in sides)))
    return found

"""How a motion on the ground goes on: the same again further ahead, or its mirror image, as a step after a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.motions.motion import Motion
from neuler.robot import Robot
from neuler.robots.humans.body import limbs
from neuler.robots.humans.joints import LEFT, RIGHT, ROOT, mirror

Array = NDArray[np.float64]

FOOT_FRAMES = ("foot", "toes", "heel", "ball", "tip")
"""Links and frames of a foot on which the ground may act, without the side."""
_ACROSS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
"""A force and a moment in the mirror y -> -y."""
_NEAR = 0.05
"""By how much the end of a motion may differ from what its continuation begins with: m, and entries of rotations."""


class Laps(NamedTuple):
    """A motion that repeats itself: after each lap all of it is moved by ``shift`` (m)."""

    t: Array
    """Times of a lap (s), (n,)."""
    q: Array
    loads: dict[str, Array]
    """What the ground exerts, by frame, (n, 6)."""
    shift: Array | None
    """(3,), along the ground; None where it does not repeat itself."""


def is_of_foot(frame: str) -> bool:
    """Whether a link or frame is of a human's foot."""
    return frame.startswith((LEFT, RIGHT)) and frame[2:] in FOOT_FRAMES


def other_side(frame: str) -> str:
    """The same link or frame of the other side."""
    return (LEFT if frame.startswith(RIGHT) else RIGHT) + frame[2:]


def both_sides(loads: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Loads of frames of both feet; zero where one side has no contact."""
    frames = dict.fromkeys([*loads, *map(other_side, loads)])
    return {frame: np.asarray(loads.get(frame, np.zeros((count, 6)))) for frame in frames}


def continued(
    robot: Robot, motion: list[Array], loads: Mapping[str, Array], ahead: Array, symmetric: bool
) -> tuple[list[Array], dict[str, Array]]:
    """How a human's motion (q, then derivatives) and its loads go on: as far along ``ahead`` as the pelvis has come.

    ``symmetric``: the mirror image, else the same again.
    """
    again, image = list(motion), dict(loads)
    if symmetric:
        (order, signs), (moves, turns) = mirror(robot, "q"), mirror(robot, "qd")
        again = [signs * motion[0][:, order], *(turns * x[:, moves] for x in motion[1:])]
        image = {frame: _ACROSS * loads[other_side(frame)] for frame in loads}
    pose = robot.compile("link_poses", frame="pelvis")
    way = ahead * float((pose(motion[0][-1])[:3, 3] - pose(again[0][0])[:3, 3]) @ ahead)
    places = {entry.name: entry.q.start for entry in robot.coordinates}
    again[0] = again[0].copy()
    for axis, name in enumerate(("pelvis_x", "pelvis_y", "pelvis_z")):
        column = places[ROOT] + axis if ROOT in places else places.get(name)
        if column is not None:
            again[0][:, column] += way[axis]
    return again, image


def laps(motion: Motion, t: Array) -> Laps | None:
    """A lap of a motion with contacts, at times t (n,) from its start to its end; None where it does not repeat itself.

    A human's step whose end is the mirror image of its start is followed by its mirror image: a lap is a stride then.
    """
    robot = motion.robot
    if not motion.contact_frames or any(other != motion.robots[0] for other in motion.robots):
        return None
    q = motion.asked(lambda times: motion.evaluate(times, 0)[0], t)
    loads, normal = motion.contact_loads(t), np.array(motion.ground.normal)
    shift = _moved(robot, q[0], q[-1], normal)
    if shift is not None:
        return Laps(t, q, loads, shift)
    if abs(normal[1]) > 1e-9 or not limbs(robot) or not all(map(is_of_foot, motion.contact_frames)):
        return None
    ahead = np.array([normal[2], 0.0, -normal[0]])
    loads = both_sides(loads, len(t))
    (again,), image = continued(robot, [q], loads, ahead, symmetric=True)
    if _moved(robot, again[0], q[-1], normal) is None:
        return None
    whole = np.concatenate([q, again[1:]])
    shift = _moved(robot, whole[0], whole[-1], normal)
    if shift is None:
        return None
    both = {frame: np.concatenate([x, image[frame][1:]]) for frame, x in loads.items()}
    return Laps(np.concatenate([t, t[1:] + motion.duration]), whole, both, shift)


def _moved(robot: Robot, first: Array, last: Array, normal: Array) -> Array | None:
    """By how much all links with mass are moved along the ground (m); None where some move otherwise."""
    heavy = [k for k, link in enumerate(robot.links) if link.mass > 0.0]
    before, after = np.asarray(robot.link_poses(np.stack([first, last])))[:, heavy]
    way = after[:, :3, 3] - before[:, :3, 3]
    mean = way.mean(axis=0)
    mean -= (mean @ normal) * normal
    same = np.abs(way - mean).max() < _NEAR and np.abs(after[:, :3, :3] - before[:, :3, :3]).max() < _NEAR
    return np.asarray(mean) if same else None

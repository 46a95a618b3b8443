"""Inverse kinematics of one pose beside TRAC-IK: the same 300 poses, starts, joints and limits, in turns.

Poses are those of random positions within the limits, so that each can be reached; every search starts from the
neutral position. TRAC-IK ("Speed": the first solution that one of its two threads finds, within 1e-5) has 50 ms for
each; neuler finds the solution nearest to the start among those of a round, within 1e-10.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import neuler
from neuler import Robot

POSES, ROUNDS = 300, 3
ARMS = {
    "UR5": ("UR5", "base_link", "tool0"),
    "Panda": ("Panda", "panda_link0", "panda_hand"),
    "G1, left arm": ("G1", "torso_link", "left_wrist_yaw_link"),
}
"""By name: the robot, and the ends of the chain."""


class Times(NamedTuple):
    """Of all poses, in milliseconds, and how many were reached."""

    mean: float
    median: float
    found: int


def chain(robot: Robot, base: str, tip: str) -> list[str]:
    """Moving joints from a link to another, in order."""
    below = {joint.child: joint for joint in robot.joints}
    found, link = [], robot.links[robot.locate(tip)[0]].name
    while link != base:
        joint = below[link]
        found += [joint.name] if joint.moves else []
        link = joint.parent
    return found[::-1]


def poses(robot: Robot, joints: Sequence[str], tip: str) -> np.ndarray:
    """That can be reached, with all other joints at rest."""
    columns = [robot.joint_names.index(name) for name in joints]
    q = np.tile(robot.neutral(), (POSES, 1))
    q[:, columns] = robot.random_configuration(0, POSES)[:, columns]
    return np.asarray(robot.link_poses(q, frame=tip))


def ours(robot: Robot, joints: list[str], tip: str) -> Callable[[np.ndarray], Any]:
    """A call of inverse kinematics; None where the pose is not reached."""
    guess = robot.neutral()

    def call(pose: np.ndarray) -> Any:
        try:
            return robot.inverse_kinematics(pose, guess, frame=tip, joints=joints)
        except neuler.RobotError:
            return None

    return call


def theirs(robot: Robot, path: Path, joints: list[str], base: str, tip: str) -> Callable[[np.ndarray], Any]:
    """A call of TRAC-IK, in the frame of its chain's first link."""
    from trac_ik.trac_ik import TracIK

    solver = TracIK(base, tip, str(path), timeout=0.05, epsilon=1e-5)
    limits = dict(zip(robot.joint_names, robot.coordinate_limits, strict=True))
    solver.joint_limits = [limits[name].lower for name in joints], [limits[name].upper for name in joints]
    seed = robot.neutral()[[robot.joint_names.index(name) for name in joints]]
    down = np.linalg.inv(robot.link_poses(robot.neutral(), frame=base))

    def call(pose: np.ndarray) -> Any:
        goal = down @ pose
        return solver.ik(goal[:3, 3], goal[:3, :3], seed_jnt_values=seed)

    return call


def measured(call: Callable[[np.ndarray], Any], every: np.ndarray) -> Times:
    seconds, found = [], 0
    for pose in every:
        begin = time.perf_counter()
        result = call(pose)
        seconds.append(time.perf_counter() - begin)
        found += result is not None
    return Times(1e3 * float(np.mean(seconds)), 1e3 * float(np.median(seconds)), found)


def report(urdf: Callable[[str], Path]) -> list[str]:
    """A row an arm: the round with the least mean of each side."""
    lines = [
        "## Inverse kinematics of one pose beside TRAC-IK",
        "",
        f"{POSES} poses that can be reached, milliseconds; both start from the neutral position. TRAC-IK within 1e-5, "
        "by two threads; neuler within 1e-10, by one.",
        "",
        "| arm, joints | neuler, mean / median | found | TRAC-IK, mean / median | found | ratio of means |",
        "|---|---|---|---|---|---|",
    ]
    for name, (file, base, tip) in ARMS.items():
        path = urdf(file)
        robot = neuler.load(path)
        joints = chain(robot, base, tip)
        every = poses(robot, joints, tip)
        try:
            sides = [ours(robot, joints, tip), theirs(robot, path, joints, base, tip)]
        except ImportError:
            return [*lines, "", "TRAC-IK is not installed here (pip install pytracik).", ""]
        for side in sides:
            side(every[0])
        rounds = [[measured(side, every) for side in sides] for _ in range(ROUNDS)]
        mine, peer = (min(each) for each in zip(*rounds, strict=True))
        lines.append(
            f"| {name}, {len(joints)} | {mine.mean:.3f} / {mine.median:.3f} | {mine.found} "
            f"| {peer.mean:.3f} / {peer.median:.3f} | {peer.found} | {peer.mean / mine.mean:.1f} |"
        )
    return [*lines, ""]

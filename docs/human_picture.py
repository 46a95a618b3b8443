"""The picture of human.md: the skeleton standing and in a step, each body as a rounded one of its mass and inertia."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from neuler import Robot, robots
from neuler.robots.humans import BONES
from neuler.view.space import HINGE, INK, drawn, ground, plotting, png

ROUND = 2.6
"""Exponent of the bodies' outline: 2 is an ellipsoid, infinity a cylinder."""
SKIN = np.array([0.62, 0.72, 0.82])
LIGHT = np.array([0.55, -0.5, 0.67])
STEP = {
    "pelvis_yaw": 4, "pelvis_pitch": 2, "spine1_flexion": 2, "spine2_rotation": -4, "spine3_rotation": -4,
    "r_hip_flexion": 25, "r_knee_flexion": 4, "l_hip_flexion": -20, "l_knee_flexion": 10, "l_toe_extension": 32,
    "r_shoulder_flexion": -20, "l_shoulder_flexion": 22, "r_elbow_flexion": 15, "l_elbow_flexion": 28,
    "r_shoulder_abduction": 5, "l_shoulder_abduction": 5,
}  # fmt: skip
"""Degrees: the right heel comes down while the left toes push off."""


def place(robot: Robot, q: np.ndarray, name: str) -> np.ndarray:
    """Where the origin of a link or frame is (m)."""
    number, placement = robot.locate(name)
    return (np.asarray(robot.link_poses(q))[number] @ placement.matrix)[:3, 3]


def step(robot: Robot) -> np.ndarray:
    """A posture in a step, the lowest point of the soles on the ground."""
    q = np.zeros(robot.nq)
    for name, angle in STEP.items():
        q[robot.joint_names.index(name)] = np.radians(angle)
    soles = [place(robot, q, f"{side}_{at}") for side in "lr" for at in ("heel", "ball", "tip")]
    q[robot.joint_names.index("pelvis_z")] -= min(z for _, _, z in soles)
    return q


def body(link: Any, along: int) -> list[np.ndarray]:
    """Faces of a uniform rounded body that has the mass, centre and inertia of a link, in the link's frame."""
    moments = np.diag(link.inertia_about_com) / link.mass
    variances = moments.sum() / 2 - moments
    t = np.linspace(-1.0, 1.0, 2001)
    outline = (1 - np.abs(t) ** ROUND) ** (1 / ROUND)
    lengthwise = np.sqrt((t**2 * outline**2).sum() / (outline**2).sum())
    crosswise = np.sqrt((outline**4).sum() / 4 / (outline**2).sum())
    sizes = np.sqrt(variances) / np.where(np.arange(3) == along, lengthwise, crosswise)
    heights, turns = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 15)), np.linspace(0.0, 2 * np.pi, 25)
    radii = (1 - np.abs(heights) ** ROUND) ** (1 / ROUND)
    points = np.empty((len(heights), len(turns), 3))
    others = [k for k in range(3) if k != along]
    points[..., along] = heights[:, None]
    points[..., others[0]], points[..., others[1]] = radii[:, None] * np.cos(turns), radii[:, None] * np.sin(turns)
    points = points * sizes + np.array(link.com)
    rows = range(len(heights) - 1)
    return [
        np.array([points[j, k], points[j, k + 1], points[j + 1, k + 1], points[j + 1, k]])
        for j in rows
        for k in range(len(turns) - 1)
    ]


def show(ax: Any, robot: Robot, q: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """One posture, moved aside by ``shift`` (m); returns the points that it covers."""
    poses = dict(zip(robot.link_names, np.asarray(robot.link_poses(q)), strict=True))
    faces, colours = [], []
    for link in robot.links:
        if not link.mass:
            continue
        pose = poses[link.name]
        for face in body(link, 0 if link.name.endswith(("foot", "toes")) else 2):
            placed = face @ pose[:3, :3].T + pose[:3, 3] + shift
            normal = np.cross(placed[2] - placed[0], placed[3] - placed[1])
            centre = pose[:3, :3] @ link.com + pose[:3, 3] + shift
            normal *= np.sign(normal @ (placed.mean(axis=0) - centre)) / max(np.linalg.norm(normal), 1e-12)
            faces.append(placed)
            colours.append((*np.clip(SKIN * (0.74 + 0.26 * normal @ LIGHT), 0.0, 1.0), 0.55))
    ax.add_collection3d(Poly3DCollection(faces, facecolors=colours, edgecolors="none", zorder=3))

    for ends in BONES:
        ax.plot(
            *np.array([place(robot, q, name) + shift for name in ends]).T,
            color=INK,
            linewidth=1.7,
            zorder=5,
            solid_capstyle="round",
        )
    joints = np.array([poses[joint.child][:3, 3] + shift for joint in robot.joints if "pelvis" not in joint.name])
    ax.scatter(*joints.T, s=13, color=HINGE, depthshade=False, zorder=6)
    return np.concatenate(faces)


def picture(dpi: int) -> bytes:
    """A man standing, a man in a step, and a woman of 1.60 m and 55 kg standing, as PNG."""
    man, woman = robots.human(), robots.human(1.60, 55.0, "female")
    shown = [(man, np.zeros(man.nq), 0.0), (man, step(man), 1.05), (woman, np.zeros(woman.nq), 2.0)]
    figure = plotting()(figsize=(10.0, 7.0), dpi=dpi)
    ax = figure.add_axes((0, 0, 1, 1), projection="3d")
    ax.computed_zorder = False
    points = np.concatenate([show(ax, robot, q, np.array([x, 0.0, 0.0])) for robot, q, x in shown])
    low, high = points.min(axis=0) - 0.1, points.max(axis=0) + 0.1
    low[2] = 0.0
    ground(ax, low, high)
    for name, a, b in zip("xyz", low, high, strict=True):
        getattr(ax, f"set_{name}lim")(a, b)
    ax.set_box_aspect(high - low)
    ax.set_proj_type("ortho")
    ax.view_init(elev=9, azim=-52)
    ax.set_axis_off()
    return png(figure, drawn(figure, low, high, 0.05))

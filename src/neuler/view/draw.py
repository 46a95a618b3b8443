"""Pictures of a robot or a machine with matplotlib: joints and links in space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.recipes.quantities import Subject
from neuler.robot.model import Robot
from neuler.view.draw_machine import Placed, draw_machine, machine_surroundings
from neuler.view.labels import label
from neuler.view.marks import axis_bar, bar_length, bodies, link_line
from neuler.view.space import INK, drawn, frame, ground, link_poses, mass_centres, places, plotting, surroundings, svg

Array = NDArray[np.float64]


def draw(
    robot: Subject, q: ArrayLike | None = None, ax: Any = None, *, extent: tuple[Array, Array] | None = None
) -> Any:
    """The robot or machine at position ``q``, in 3-D axes with equal scales; gives the axes.

    Links are lines between joint origins, short bars are joint axes (revolute: one colour,
    prismatic: another), discs are mass centres whose area grows with mass, the square is the base
    (left out where a robot floats far from it).
    Of a machine with loops, filled marks are motors, crosses are cut joints, and platforms are plates; a loop that is
    open, or slides, has two crosses with a dashed line between them.
    ``q`` is by default the neutral position, of a machine its closed reference.
    ``ax`` must be 3-D axes (``figure.add_subplot(projection="3d")``); without it a figure is made.
    ``extent``: lower and upper corners of the space shown, to draw several poses alike.
    """
    if ax is not None and not hasattr(ax, "get_zlim"):
        raise InputError('draw: ax must be 3-D axes; make them with figure.add_subplot(projection="3d")')
    if not isinstance(robot, Robot):
        return draw_machine(robot, q, ax or _axes(), extent)
    poses = link_poses(robot, robot.neutral() if q is None else q)
    ax = ax or _axes()
    low, high = extent or surroundings(robot, [poses])
    size = float((high - low).max())
    origins, centres = poses[:, :3, 3], mass_centres(robot, poses)
    ax.computed_zorder = False
    ground(ax, low, high)
    bar = bar_length(size, robot.nv)
    stands = bool(((low <= origins[0]) & (origins[0] <= high)).all())
    for number, (joint, parent) in enumerate(zip(robot.joints, robot.antecedents, strict=True), start=1):
        if stands or parent:
            link_line(ax, origins[[parent, number]], joint)
        if joint.moves:
            axis_bar(ax, joint, poses[number], bar)
    bodies(ax, robot, origins, centres)
    if stands:
        ax.scatter(*origins[0], marker="s", s=70, color=INK, depthshade=False, zorder=5)
    frame(ax, low, high)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    free = [(joint.child, origins[k]) for k, joint in enumerate(robot.joints, start=1) if joint.kind == "free"]
    label(ax, free, [], np.vstack([origins, centres]), corners)
    return ax


def _axes() -> Any:
    return plotting()(figsize=(6, 6), layout="constrained").add_subplot(projection="3d")


def pose_pictures(robot: Subject, states: Sequence[ArrayLike]) -> list[bytes]:
    """The robot in several poses, as SVG, each as large as it can be and cut to what is drawn."""
    found = []
    for q in states:
        figure = plotting()(figsize=(6.0, 6.0))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
        if isinstance(robot, Robot):
            poses = link_poses(robot, q)
            extent = surroundings(robot, [poses])
            points = places(robot, poses)
        else:
            extent, points = machine_surroundings(robot, [q]), Placed.of(robot, q).points
        draw(robot, q, ax, extent=extent)
        found.append(svg(figure, drawn(figure, *extent, 0.65, points)))
    return found

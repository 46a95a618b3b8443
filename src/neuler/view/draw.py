"""Pictures of a robot with matplotlib: joints and links in space, the loops where they are cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.robot import Robot
from neuler.view.labels import label, merged
from neuler.view.marks import bodies, joint_mark, link_line, mark_size, plate, rotor_mark
from neuler.view.poses import Placed
from neuler.view.space import (
    CUT,
    INK,
    ROTOR,
    SPRING,
    STEEL,
    azimuth,
    box_around,
    drawn,
    frame,
    ground,
    known_figure,
    plotting,
    svg,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.axes3d import Axes3D

Array = NDArray[np.float64]

LABELS = 10
"""Names up to which all joints are named; of more, the loops and free links alone."""
_OPEN = 1e-6
"""Share of the picture by which the two frames of a cut joint may be apart."""


@overload
def draw(
    robot: Robot, q: ArrayLike | None = None, ax: None = None, *, extent: tuple[Array, Array] | None = None
) -> Figure: ...


@overload
def draw(robot: Robot, q: ArrayLike | None, ax: Axes3D, *, extent: tuple[Array, Array] | None = None) -> None: ...


@overload
def draw(
    robot: Robot, q: ArrayLike | None = None, *, ax: Axes3D, extent: tuple[Array, Array] | None = None
) -> None: ...


def draw(
    robot: Robot, q: ArrayLike | None = None, ax: Any = None, *, extent: tuple[Array, Array] | None = None
) -> Figure | None:
    """The robot at position ``q``, in 3-D axes with equal scales: a matplotlib figure, whose axes are ``axes[0]``.

    Links are lines between joint origins, dashed where they are ground. Joints are small bodies along their axes:
    cylinders turn, boxes slide, a bolt in a nut does both, a ball turns any way, a plate moves in its plane, a cross
    slides any way; those that no motor moves are pale. Discs are centres of mass whose area grows with mass, the square
    is the base (left out where a robot floats far from it). Discs on a shaft are rotors of motors, with a dotted line
    to each joint that they drive, violet through a spring; one that sits on a joint is drawn beside it. Crosses in
    circles are joints at which loops are cut; a loop that is open, or slides, has two with a dashed line between them.
    What three loops or more hold is a plate.

    ``q`` is by default the neutral position, with loops the closed reference.
    ``ax``: 3-D axes to draw into (``figure.add_subplot(projection="3d")``); nothing is returned then. Without them a
    figure is made, which notebooks show and ``matplotlib.pyplot.show()`` knows until ``matplotlib.pyplot.close()``.
    ``extent``: lower and upper corners of the space shown, to draw several poses alike.

    >>> import neuler
    >>> figure = neuler.view.draw(neuler.robots.two_link(), [0.3, 0.5])
    >>> figure.axes[0].name
    '3d'
    """
    if not isinstance(robot, Robot):
        raise InputError(f"draw: a robot is needed, got {robot!r:.60}; neuler.load and neuler.robots make one")
    if ax is not None and not hasattr(ax, "get_zlim"):
        raise InputError('draw: ax must be 3-D axes; make them with figure.add_subplot(projection="3d")')
    placed = Placed.of(robot, q)
    usual = Placed.of(robot) if robot.loops else placed  # decides the point of view, so that all pictures have the same
    figure = None
    if ax is None:
        figure = known_figure(figsize=(6, 6), layout="constrained")
        ax = figure.add_subplot(projection="3d")
    low, high = extent or box_around(placed.points)
    size, normal = float((high - low).max()), usual.plane
    ax.computed_zorder = False
    ground(ax, low, high, 2 if normal is None else normal)
    frame(ax, low, high, normal, azimuth([np.array(points) for points in usual.platforms.values()]))
    stands = bool(((low <= placed.origins[0]) & (placed.origins[0] <= high)).all())
    plates, lines = _plates(ax, placed)
    lines += _joints(ax, placed, size, plates, stands)
    lines += _cuts(ax, placed, plates, size)
    _gears(ax, placed)
    spots = _rotors(ax, placed, size, normal)
    bodies(ax, robot, placed.origins, placed.centres)
    if stands:
        ax.scatter(*placed.origins[0], marker="s", s=30 if plates else 70, color=INK, depthshade=False, zorder=3)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    label(ax, merged(_names(placed, plates, spots), size), lines, np.vstack([placed.points, spots]), corners)
    return figure


def _numbered(robot: Robot) -> list[tuple[int, Any, int]]:
    """Number of the link, its joint, number of the link below."""
    both = zip(robot.joints, robot.antecedents, strict=True)
    return [(k, joint, parent) for k, (joint, parent) in enumerate(both, start=1)]


def _joints(ax: Any, placed: Placed, size: float, plates: set[int], stands: bool) -> list[Array]:
    """Links and joints of the tree; gives the lines."""
    robot, lines = placed.robot, []
    mark = mark_size(size, min(len(robot.moving_joints), 30))
    coupled = {coupling.joint for coupling in robot.couplings}
    for number, joint, parent in _numbered(robot):
        if number in plates and joint.nv > 1:  # legs hold it, not this joint
            continue
        if parent not in plates and (stands or parent):
            lines.append(placed.origins[[parent, number]])
            link_line(ax, lines[-1], joint, parent == 0 and robot.links[0].mass == 0)
        driven = joint.role == "driven" and joint.name not in coupled
        joint_mark(ax, joint, placed.poses[number], mark, filled=driven)
    return lines


def _plates(ax: Any, placed: Placed) -> tuple[set[int], list[Array]]:
    """Platforms and what three legs or more stand on, as polygons; gives the numbers of these links, and edges."""
    edges: list[Array] = []
    for points in placed.platforms.values():
        edges += plate(ax, points)
    for points in placed.carriers.values():
        if float(np.ptp(points, axis=0).max()) > 1e-9:
            edges += plate(ax, points, ground=True)
    return placed.plates, edges


def _cuts(ax: Any, placed: Placed, plates: set[int], size: float) -> list[Array]:
    """The links' ends at the cut joints, and the cuts: crosses, or a gap where a loop is open."""
    lines = []
    for loop, ends in zip(placed.robot.loops, placed.cuts, strict=True):
        for name, point in zip((loop.first, loop.second), ends, strict=True):
            index, _ = placed.robot.locate(name)
            if index and index not in plates:
                lines.append(np.array([placed.origins[index], point]))
                ax.plot(*lines[-1].T, color=STEEL, linewidth=3.2, solid_capstyle="round", zorder=2)
        apart = float(np.linalg.norm(ends[1] - ends[0]))
        if apart > _OPEN * size:
            ax.plot(*ends.T, color=CUT, linewidth=1.6, linestyle=(0, (2, 1.5)), zorder=6)
        for point in ends if apart > _OPEN * size else ends[:1]:
            ax.scatter(*point, s=52, color="white", edgecolor=CUT, linewidth=1.7, depthshade=False, zorder=6)
            ax.scatter(*point, s=30, marker="x", color=CUT, linewidth=1.5, depthshade=False, zorder=7)
    return lines


def _gears(ax: Any, placed: Placed) -> None:
    """Coupled joints and those that lead them, joined by dotted lines."""
    at = {joint.name: number for number, joint, _ in _numbered(placed.robot)}
    for coupling in placed.robot.couplings:
        for leader in coupling.of:
            ends = placed.origins[[at[coupling.joint], at[leader]]]
            ax.plot(*ends.T, color=CUT, linewidth=1.5, linestyle=(0, (1, 1.5)), zorder=6)


def _rotors(ax: Any, placed: Placed, size: float, normal: int | None) -> Array:
    """Rotors of motors on their carriers, and dotted lines to what they drive; gives their places.

    One that sits on a joint, as where nothing is said, is moved along its axis, the next one further; it is smaller
    where the picture is taken along that axis and would not show the joint.
    """
    robot = placed.robot
    mark = mark_size(size, min(len(robot.moving_joints), 30))
    at = {joint.name: placed.origins[number] for number, joint, _ in _numbered(robot)}
    taken, spots = list(at.values()), np.empty((0, 3))
    for motor, pose in zip(robot.motors, placed.rotors, strict=True):
        away = 0.0
        while min(float(np.linalg.norm(pose[:3, 3] - place)) for place in taken) < 0.5 * mark:
            away = 1.3 if away == 0.0 else 0.6
            pose[:3, 3] -= away * mark * pose[:3, 2]
        hides = away > 0.0 and normal is not None and abs(pose[normal, 2]) > 0.9
        rotor_mark(ax, pose, 0.5 * mark if hides else mark)
        for name in motor.ratios:
            ends = np.array([pose[:3, 3], at[name]])
            colour = SPRING if motor.elastic and name == motor.joint else ROTOR
            ax.plot(*ends.T, color=colour, linewidth=1.3, linestyle=(0, (1, 1.5)), zorder=6)
        taken.append(pose[:3, 3])
        spots = np.vstack([spots, pose[:3, 3]])
    return spots


def _names(placed: Placed, plates: set[int], spots: Array) -> list[tuple[str, Array]]:
    """Names and their places: of joints, loops and motors, or of many of loops, plates and free links."""
    numbered = _numbered(placed.robot)
    cuts = [(loop.name, ends.mean(axis=0)) for loop, ends in zip(placed.robot.loops, placed.cuts, strict=True)]
    joints = [(joint.name, placed.origins[k]) for k, joint, _ in numbered if joint.moves and joint.type.symbol]
    free = [(joint.child, placed.origins[k]) for k, joint, _ in numbered if joint.moves and not joint.type.symbol]
    if placed.platforms:
        legs = [(loop.name, _foot(placed, loop.first, plates)) for loop in placed.robot.loops]
        return [*legs, *((placed.robot.links[k].name, placed.origins[k]) for k in placed.platforms)]
    few = [*free, *joints, *cuts] if len(joints) + len(cuts) <= LABELS else [*free, *cuts]
    motors = list(zip((motor.name for motor in placed.robot.motors), spots, strict=True))
    return [*few, *motors] if len(few) + len(motors) <= LABELS else few


def _foot(placed: Placed, frame_name: str, plates: set[int]) -> Array:
    """Where the leg that ends in a frame stands: its first joint, seen from the base."""
    index = here = placed.robot.locate(frame_name)[0]
    while index and index not in plates:
        here, index = index, placed.robot.antecedents[index - 1]
    return placed.origins[here]


def pose_pictures(robot: Robot, states: Sequence[ArrayLike], save: Callable[[Any, Any], bytes] = svg) -> list[bytes]:
    """The robot in several poses, by default as SVG, each as large as it can be and cut to what is drawn."""
    found = []
    for q in states:
        figure = plotting()(figsize=(6.0, 6.0))
        points = Placed.of(robot, q).points
        extent = box_around(points)
        draw(robot, q, figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d"), extent=extent)
        found.append(save(figure, drawn(figure, *extent, 0.65, points)))
    return found

"""Pictures of a robot with matplotlib: joints and links in space, and joint forces along a motion."""

from __future__ import annotations

import importlib
import io
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, NeulerError
from neuler.robot.model import Robot

Array = NDArray[np.float64]

INK, STEEL, HINGE, SLIDE, MASS = "#1d2733", "#46586b", "#c2410c", "#0f766e", "#3b6fb6"
"""Text, links, axes of revolute joints, axes of prismatic joints, mass centres."""


def plotting() -> Any:
    """matplotlib's Figure, or a clear error; no window system is touched."""
    try:
        return importlib.import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise NeulerError(
            f"drawing needs matplotlib, which is not installed ({error}); install it with: pip install neuler[view]"
        ) from None


def link_poses(robot: Robot, q: ArrayLike) -> Array:
    """Homogeneous matrices of all links at one state, also of a robot that has no coordinates."""
    state = np.asarray(q, dtype=float)
    if state.shape != (robot.nv,):
        raise InputError(f"draw: expected q with {robot.nv} numbers for robot {robot.name!r}, got shape {state.shape}")
    if not np.isfinite(state).all():
        raise InputError(f"draw: q must be finite, got {state.tolist()}")
    if robot.nv:
        return np.asarray(robot.link_poses(state))
    poses = [np.eye(4)]
    for joint, parent in zip(robot.joints, robot.antecedents, strict=True):
        poses.append(poses[parent] @ joint.placement.matrix)
    return np.array(poses)


def mass_centres(robot: Robot, poses: Array) -> Array:
    """Of all links, in the base frame."""
    com = np.array([link.com for link in robot.links])
    return np.einsum("kij,kj->ki", poses[:, :3, :3], com) + poses[:, :3, 3]


def draw(robot: Robot, q: ArrayLike, ax: Any = None, *, extent: tuple[Array, Array] | None = None) -> Any:
    """The robot at state ``q``, in 3-D axes with equal scales; gives the axes.

    Links are lines between joint origins, short bars are joint axes (revolute: one colour,
    prismatic: another), discs are mass centres whose area grows with mass, the square is the base.
    ``ax`` must be 3-D axes (``figure.add_subplot(projection="3d")``); without it a figure is made.
    ``extent``: lower and upper corners of the space shown, to draw several poses alike.
    """
    poses = link_poses(robot, q)
    if ax is None:
        ax = plotting()(figsize=(6, 6), layout="constrained").add_subplot(projection="3d")
    elif not hasattr(ax, "get_zlim"):
        raise InputError('draw: ax must be 3-D axes; make them with figure.add_subplot(projection="3d")')
    low, high = extent or surroundings(robot, [poses])
    size = float((high - low).max())
    origins, centres = poses[:, :3, 3], mass_centres(robot, poses)
    ax.computed_zorder = False
    _ground(ax, low, high)
    bar = 0.055 * size * min(1.0, (6.0 / max(robot.nv, 1)) ** 0.4)
    for number, (joint, parent) in enumerate(zip(robot.joints, robot.antecedents, strict=True), start=1):
        ends = origins[[parent, number]]
        ax.plot(*ends.T, color=STEEL, linewidth=3.2, solid_capstyle="round", zorder=2)
        if joint.moves:
            _axis(ax, joint.kind, poses[number], np.array(joint.axis), bar)
    _bodies(ax, robot, origins, centres)
    ax.scatter(*origins[0], marker="s", s=70, color=INK, depthshade=False, zorder=5)
    _frame(ax, low, high)
    return ax


def surroundings(robot: Robot, poses: Iterable[Array]) -> tuple[Array, Array]:
    """Corners of a box around the robot in these poses, with a margin, never flat."""
    points = np.vstack([np.vstack([p[:, :3, 3], mass_centres(robot, p)]) for p in poses])
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 0.1)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 0.22 * size) + 0.06 * size
    return middle - half, middle + half


def _axis(ax: Any, kind: str, pose: Array, axis: Array, half: float) -> None:
    slides = kind == "prismatic"
    origin, along = pose[:3, 3], pose[:3, :3] @ axis * half * (1.7 if slides else 1.0)
    ends = np.array([origin - along, origin + along])
    colour = SLIDE if slides else HINGE
    ax.plot(*ends.T, color=colour, linewidth=3.2 if slides else 4.2, solid_capstyle="butt", zorder=4)
    style = {"s": 26, "marker": "D" if slides else "o", "linewidth": 1.6, "zorder": 5}
    ax.scatter(*origin, color="white", edgecolor=colour, depthshade=False, **style)


def _bodies(ax: Any, robot: Robot, origins: Array, centres: Array) -> None:
    masses = np.array([max(link.mass, 0.0) for link in robot.links])
    heavy = masses > 0
    if not heavy.any():
        return
    for a, b in zip(origins[heavy], centres[heavy], strict=True):
        ax.plot(*np.array([a, b]).T, color=MASS, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    area = 520.0 * (masses[heavy] / masses.max()) ** (2 / 3) + 6.0
    style = {"color": MASS, "edgecolor": MASS, "alpha": 0.45, "linewidth": 0.8, "zorder": 3}
    ax.scatter(*centres[heavy].T, s=area, depthshade=False, **style)


def _ground(ax: Any, low: Array, high: Array) -> None:
    """A light grid under the robot."""
    z = low[2]
    step = _round_step(float((high - low).max()) / 6)
    style = {"color": "#d9dee5", "linewidth": 0.7, "zorder": 0}
    for x in np.arange(np.ceil(low[0] / step), np.floor(high[0] / step) + 1) * step:
        ax.plot([x, x], [low[1], high[1]], [z, z], **style)
    for y in np.arange(np.ceil(low[1] / step), np.floor(high[1] / step) + 1) * step:
        ax.plot([low[0], high[0]], [y, y], [z, z], **style)


def _round_step(x: float) -> float:
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * min((1, 2, 5, 10), key=lambda m: abs(m * power - x)))


def _frame(ax: Any, low: Array, high: Array) -> None:
    for name, a, b in zip("xyz", low, high, strict=True):
        getattr(ax, f"set_{name}lim")(a, b)
        axis = getattr(ax, f"{name}axis")
        axis.set_pane_color((1, 1, 1, 0))
        axis.line.set_color("#aab4c0")
        axis.set_major_locator(importlib.import_module("matplotlib.ticker").MaxNLocator(3))
    ax.set_box_aspect(high - low, zoom=0.98)
    ax.set_proj_type("persp", focal_length=1.6)
    ax.view_init(elev=22, azim=-58)
    ax.grid(False)
    ax.tick_params(labelsize=7.5, colors="#5b6876", pad=-1)
    ax.tick_params(axis="z", pad=2)
    ax.set_xlabel("x / m", fontsize=8, color=INK, labelpad=-4)
    ax.set_ylabel("y / m", fontsize=8, color=INK, labelpad=-4)
    ax.set_zlabel("z / m", fontsize=8, color=INK, labelpad=-2)


def pose_pictures(robot: Robot, states: Sequence[ArrayLike]) -> list[bytes]:
    """The robot in several poses, as SVG, all at one scale and cut to what is drawn."""
    extent = surroundings(robot, [link_poses(robot, q) for q in states])
    figures = []
    for q in states:
        figure = plotting()(figsize=(6.0, 6.0))
        draw(robot, q, figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d"), extent=extent)
        figures.append(figure)
    return [svg(figure, _drawn(figure, *extent)) for figure in figures]


def _drawn(figure: Any, low: Array, high: Array) -> Any:
    """The part of the figure (inches) that the space between two corners fills, with room for tick labels."""
    ax = figure.axes[0]
    ax.apply_aspect()
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    seen = np.hstack([corners, np.ones((8, 1))]) @ ax.get_proj().T
    inches = ax.transData.transform(seen[:, :2] / seen[:, 3:]) / figure.dpi
    box = importlib.import_module("matplotlib.transforms").Bbox([inches.min(axis=0), inches.max(axis=0)])
    return box.padded(0.5)


def force_figure(times: Array, force: Array, gravity: Array, unit: str) -> Any:
    """The force of one joint along a motion, and the share that gravity takes."""
    figure = plotting()(figsize=(3.6, 1.9), layout="constrained")
    ax = figure.add_subplot()
    ax.axhline(0.0, color="#aab4c0", linewidth=0.8)
    ax.fill_between(times, gravity, color=MASS, alpha=0.22, linewidth=0)
    ax.plot(times, gravity, color=MASS, linewidth=1.1, linestyle=(0, (4, 2)))
    ax.plot(times, force, color=HINGE, linewidth=1.9)
    ax.set_xlabel("t / s", fontsize=8, color=INK)
    ax.set_ylabel(unit, fontsize=8, color=INK)
    ax.tick_params(labelsize=8, colors="#5b6876")
    ax.margins(x=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#aab4c0")
    if max(float(np.abs(force).max()), float(np.abs(gravity).max())) < 1e-9:  # do not zoom into rounding
        ax.set_ylim(-1.0, 1.0)
    return figure


NAMED = 40
"""Joints up to which a map of a matrix names them."""


def matrix_figure(matrix: Array, names: Sequence[str], rows: str, columns: str) -> Any:
    """A square matrix as a map of colours: white is zero, red positive, blue as much negative."""
    n = len(matrix)
    room = max((len(name) for name in names), default=0) if n <= NAMED else 0
    side = min(max(0.3 * n, 2.2), 8.0) + 0.05 * min(room, 24)
    figure = plotting()(figsize=(side + 1.0, side), layout="constrained")
    ax = figure.add_subplot()
    most = float(np.abs(matrix).max(initial=0.0)) or 1.0
    image = ax.imshow(np.ma.masked_equal(matrix, 0.0), cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=7.5, colors="#5b6876")
    bar.outline.set_visible(False)
    if n <= NAMED:
        labels = [name if len(name) <= 24 else f"{name[:23]}\N{HORIZONTAL ELLIPSIS}" for name in names]
        ax.set_xticks(range(n), labels, rotation=90, parse_math=False)
        ax.set_yticks(range(n), labels, parse_math=False)
        ax.set_xticks(np.arange(n + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#e3e7ec", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
    ax.tick_params(labelsize=7.5, colors="#5b6876", length=2)
    ax.spines[:].set_color("#e3e7ec")
    ax.set_xlabel(columns, fontsize=8, color=INK)
    ax.set_ylabel(rows, fontsize=8, color=INK)
    return figure


def svg(figure: Any, box: Any = None) -> bytes:
    """The figure (or a box of it) as SVG, the same bytes for the same figure; letters are shapes, it needs no font."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "neuler", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()

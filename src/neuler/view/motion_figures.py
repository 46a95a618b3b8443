"""Pictures of planned motions: curves with what limits them, and the robot at many instants in one picture."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.plain import number, shown
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.view.diagrams import LIMIT, NEAR, plain_axes, short_names
from neuler.view.marks import mark_size, upright
from neuler.view.poses import Placed, floats, link_poses
from neuler.view.scene import GROUND, LINK, Scene
from neuler.view.space import HINGE, INK, MASS, STEEL, azimuth, box_around, frame, ground, plotting, sized

Array = NDArray[np.float64]

NAMED = 10
"""Curves of a panel up to which each is named."""
APART = 2
"""Curves beyond which limits that differ stand in panels of their own."""
_DASH = (0, (4, 2))


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over time with one unit: values (n, k), names, and limits (k,), infinite where there are none."""

    title: str
    unit: str
    values: Array
    names: Sequence[str]
    lower: Array
    upper: Array

    @property
    def limited(self) -> bool:
        """Whether there is a limit that a curve comes near."""
        return bool(np.any(self._near))

    @property
    def _near(self) -> NDArray[np.bool_]:
        """Which limits are drawn, (2, k): those that a curve comes near, lower and upper."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        span = np.maximum(np.abs(low), np.abs(high))
        below = np.isfinite(self.lower) & ((low <= NEAR * self.lower) | (np.abs(self.lower) <= span))
        above = np.isfinite(self.upper) & ((high >= NEAR * self.upper) | (np.abs(self.upper) <= span))
        return np.array([below, above])

    @property
    def alike(self) -> bool:
        """Whether all curves have the same limits."""
        return bool(np.all(self.lower == self.lower[:1]) and np.all(self.upper == self.upper[:1]))

    def only(self, k: int) -> Panel:
        """A panel of one of its curves alone."""
        part = slice(k, k + 1)
        return Panel(
            self.names[k], self.unit, self.values[:, part], [self.names[k]], self.lower[part], self.upper[part]
        )

    def shares(self) -> Panel:
        """As shares of limits, where every curve has some: of the upper above zero, of the lower below."""
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = self.values / np.abs(self.upper), self.values / np.abs(self.lower)
        one = np.ones(len(self.names))
        values = np.where(self.values >= 0.0, up, down)
        return Panel(f"{self.title}, of limits", "", values, self.names, -one, one)

    def draw(self, ax: Any, t: Array, breaks: Sequence[float] = (), *, legend: bool = True) -> None:
        """Into axes; dashed: limits, in the colour of their curve where they differ; dotted: where phases meet."""
        short = short_names([shown(name) for name in self.names])
        for when in breaks:
            ax.axvline(when, color="#cbd3dc", linewidth=0.9, linestyle=(0, (1, 1.5)))
        lines = [ax.plot(t, self.values[:, k], linewidth=1.6, label=name)[0] for k, name in enumerate(short)]
        near = self._near
        for row, sides in zip(near, (self.lower, self.upper), strict=True):
            if self.alike and row.any():
                ax.axhline(sides[0], color=LIMIT, linewidth=1.1, linestyle=_DASH)
            elif not self.alike:
                for k in np.flatnonzero(row):
                    ax.axhline(sides[k], color=lines[k].get_color(), linewidth=1.0, linestyle=_DASH, alpha=0.8)
        plain_axes(ax, f"{self.title}, {self.unit}" if self.unit else self.title)
        if float(np.abs(self.values).max(initial=0.0)) < 1e-9:  # do not zoom into rounding
            ax.set_ylim(-1.0, 1.0)
        if legend and len(short) <= NAMED:
            _legend(ax, len(short))


def _legend(ax: Any, size: int) -> None:
    legend = ax.legend(fontsize=7, frameon=False, ncols=1 + (size > 7), loc="center left", bbox_to_anchor=(1.0, 0.5),
                       handlelength=1.4)  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def curves_figure(t: Array, panels: Sequence[Panel], breaks: Sequence[float] = ()) -> Any:
    """Panels one below the other; of many curves whose limits differ, one for each."""
    apart = [panel for panel in panels if panel.limited and not panel.alike and len(panel.names) > APART]
    if not apart:
        figure = plotting()(figsize=(6.4, 0.7 + 2.7 * len(panels)), layout="constrained", dpi=130)
        axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True).ravel()
        for panel, ax in zip(panels, axes, strict=True):
            panel.draw(ax, t, breaks)
            ax.xaxis.label.set_visible(ax is axes[-1])
        return figure
    single = [panel.only(k) for panel in panels for k in range(len(panel.names))]
    columns = 2 if len(single) <= 8 else 3
    rows = -(-len(single) // columns)
    figure = plotting()(figsize=(4.0 * columns, 1.9 * rows), layout="constrained", dpi=130)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    names = short_names([shown(panel.title) for panel in single])
    for k, ax in enumerate(axes):
        if k >= len(single):
            ax.set_visible(False)
            continue
        single[k].draw(ax, t, breaks, legend=False)
        ax.set_ylabel(f"{names[k]}, {single[k].unit}", fontsize=8, color=INK, parse_math=False)
        ax.locator_params(axis="y", nbins=4)
        ax.xaxis.label.set_visible(k + columns >= len(single))
        ax.tick_params(labelbottom=k + columns >= len(single))
    figure.suptitle(panels[0].title, fontsize=10, color=INK)
    return figure


def overview_figure(
    t: Array, panels: Sequence[Panel], robot: Robot, q: Array, *, breaks: Sequence[float] = (), poses: int = 9,
    scenery: Sequence[Any] = (), title: str = "", figure: Any = None,
) -> Any:  # fmt: skip
    """The motion on the left, curves on the right; limits of many that differ as shares of them.

    ``figure``: an empty one to draw into; else one that pyplot knows is made.
    """
    rows = max(2, -(-len(panels) // 2))
    figure = sized(figure, (15.0, max(2.35 * rows, 5.2)), 110)
    grid = figure.add_gridspec(rows, 4, width_ratios=[1.25, 0.06, 1.0, 1.0])
    stroboscope(robot, q, poses, figure.add_subplot(grid[:, 0], projection="3d"), scenery=scenery)
    for k, panel in enumerate(panels):
        apart = not panel.alike and len(panel.names) > APART
        full = bool(np.all(np.isfinite(panel.lower) & np.isfinite(panel.upper) & (panel.lower < 0) & (panel.upper > 0)))
        shown_as = panel.shares() if apart and full else panel
        shown_as.draw(figure.add_subplot(grid[k // 2, 2 + k % 2]), t, breaks)
    figure.suptitle(shown(title), fontsize=11, color=INK, parse_math=False)
    return figure


# ---- the robot at many instants ------------------------------------------------------------------


def stroboscope(
    robot: Robot, q: ArrayLike, poses: int = 9, ax: Any = None, *, tip: str | None = None, scenery: Sequence[Any] = ()
) -> Any:
    """The robot at ``poses`` instants of a motion q (n, nq) in one picture, from light to dark; gives the 3-D axes.

    The line is the path of the frame ``tip``, by default the end of the last link, or the middle
    of a platform. ``scenery``: obstacles of :mod:`neuler.moments.clearance`.

    >>> import neuler
    >>> ax = stroboscope(neuler.robots.two_link(), np.linspace([0.0, -2.0], [1.0, -1.0], 50), poses=5)
    >>> ax.name
    '3d'
    """
    states = np.asarray(by_columns(robot, "stroboscope", "q", q, "q"), dtype=float)
    if states.ndim != 2 or states.shape[-1] != robot.nq or not len(states) or not np.isfinite(states).all():
        raise InputError(
            f"stroboscope: expected finite positions (n, {robot.nq}) of robot {robot.name!r}, got shape {states.shape}"
        )
    ax = ax or plotting()(figsize=(6.0, 5.4), layout="constrained", dpi=130).add_subplot(projection="3d")
    scene = Scene.of(robot)
    chosen = np.unique(np.linspace(0, len(states) - 1, max(1, int(poses))).round().astype(int))
    frames = link_poses(robot, states)[:, list(scene.links)]
    ends = np.array([[_world(frames, a), _world(frames, b)] for a, b, _ in scene.rods]).reshape(-1, 2, len(states), 3)
    path = _world(frames, _end(scene, tip))
    shown_rods = [k for k, (_, _, kind) in enumerate(scene.rods) if kind != GROUND or not floats(robot)]
    points = np.concatenate([ends[shown_rods][:, :, chosen].reshape(-1, 3), path])
    outlines = [face for each in scenery for face in outline(each, *box_around(points, 0.1))]
    points = np.concatenate([points, *outlines]) if outlines else points
    low, high = box_around(points, 0.1)
    normal = _plane(robot, states[chosen]) if not outlines else None
    ax.computed_zorder = False
    ground(ax, low, high, 2 if normal is None else normal)
    frame(ax, low, high, normal, azimuth([np.array(p) for p in Placed.of(robot, states[0]).platforms.values()]))
    _obstacles(ax, outlines)
    _shades(ax, scene, ends, frames, chosen, mark_size(float((high - low).max()), min(len(scene.marks), 30)))
    ax.plot(*path.T, color=HINGE, linewidth=1.3, zorder=7)
    for at, face in ((path[0], "white"), (path[-1], HINGE)):
        ax.scatter(*at, s=26, facecolor=face, edgecolor=HINGE, linewidth=1.4, depthshade=False, zorder=8)
    return ax


def _world(frames: Array, spot: tuple[int, tuple[float, float, float]]) -> Array:
    """A spot of a body along a motion, (n, 3)."""
    body, point = spot
    return np.asarray(frames[:, body, :3, :3] @ np.array(point) + frames[:, body, :3, 3])


def _end(scene: Scene, tip: str | None) -> tuple[int, tuple[float, float, float]]:
    """The frame that leaves a path; by default the far end of the robot's last link."""
    if tip is not None:
        return scene.spot(tip)
    held = [(body, corners) for body, corners, below in scene.plates if not below]
    if held:  # the middle of what legs hold
        x, y, z = np.mean(held[-1][1], axis=0).tolist()
        return held[-1][0], (x, y, z)
    spot = scene.spot(scene.robot.tip)
    ends = [b for a, b, kind in scene.rods if kind == LINK and a[0] == b[0] == spot[0] and a == spot]
    return ends[-1] if ends else spot


def _plane(robot: Robot, states: Array) -> int | None:
    """The axis along which one looks at a motion that stays in a plane."""
    found = {Placed.of(robot, q).plane for q in states[[0, len(states) // 2, -1]]}
    return found.pop() if len(found) == 1 else None


def _shades(ax: Any, scene: Scene, ends: Array, frames: Array, chosen: NDArray[np.intp], size: float) -> None:
    """Rods and joints at the chosen instants, the first pale, the last full."""
    mix = importlib.import_module("matplotlib.colors").to_rgb
    dark, pale = np.array(mix(STEEL)), np.array(mix("#d5dfeb"))
    shares = np.linspace(0.0, 1.0, len(chosen)) if len(chosen) > 1 else np.ones(1)
    joints = [(mark["body"], tuple(mark["centre"])) for mark in scene.marks]
    polygons = importlib.import_module("mpl_toolkits.mplot3d.art3d").Poly3DCollection
    for order, (k, share) in enumerate(zip(chosen, shares, strict=True)):
        colour, depth = (1 - share) * pale + share * dark, 2.0 + order / len(chosen)
        last = order == len(chosen) - 1
        for rod, (_, _, kind) in enumerate(scene.rods):
            if kind == GROUND and (not last or floats(scene.robot)):
                continue
            style = {"color": INK, "linewidth": 1.2, "linestyle": _DASH} if kind == GROUND else {
                "color": colour, "linewidth": 3.4 if last else 2.4, "solid_capstyle": "round"}  # fmt: skip
            ax.plot(*ends[rod, :, k].T, zorder=depth, **style)
        for body, corners, below in scene.plates:
            if below and not last:
                continue
            points = np.array(corners) @ frames[k, body, :3, :3].T + frames[k, body, :3, 3]
            face = (INK, 0.05) if below else (MASS, 0.08 + 0.2 * share)
            ax.add_collection3d(polygons([points], facecolor=face[0], alpha=face[1], linewidth=0, zorder=depth))
            ring = np.vstack([points, points[:1]])
            ax.plot(*ring.T, color=INK if below else colour, linewidth=1.0 if below else 1.8, zorder=depth)
        if joints:
            dots = np.array([_world(frames[k : k + 1], spot)[0] for spot in joints])
            ax.scatter(*dots.T, s=np.clip(9.0 * size / 0.05, 9.0, 26.0), color=[0.75 * colour], depthshade=False,
                       zorder=depth + 0.02, linewidth=0)  # fmt: skip


def outline(obstacle: Any, low: Array, high: Array) -> list[Array]:
    """Faces (4, 3) of an obstacle: a sphere (center, radius), a capsule (a, b, radius), a box (center, size, rotation),
    a plane (point, normal).

    Of a plane, the part between the corners ``low`` and ``high`` of a box.
    """
    if hasattr(obstacle, "size"):
        return _box_faces(obstacle)
    if hasattr(obstacle, "normal"):
        return _plane_faces(np.array(obstacle.point), np.array(obstacle.normal), low, high)
    a, b = (np.array(getattr(obstacle, x, getattr(obstacle, "center", None)), dtype=float) for x in ("a", "b"))
    axis = b - a
    length = float(np.linalg.norm(axis))
    turn = upright(axis / length) if length > 0 else np.eye(3)
    up, around = np.linspace(-np.pi / 2, np.pi / 2, 13), np.linspace(0.0, 2 * np.pi, 19)
    ring = np.stack([np.cos(around), np.sin(around), np.zeros(19)], axis=-1)
    rows = obstacle.radius * (np.cos(up)[:, None, None] * ring + np.sin(up)[:, None, None] * np.array([0.0, 0.0, 1.0]))
    rows = rows @ turn.T
    grid = np.concatenate([rows[:7] + a, rows[6:] + b]) if length > 0 else rows + a
    return [
        np.array([grid[i, k], grid[i, k + 1], grid[i + 1, k + 1], grid[i + 1, k]])
        for i in range(len(grid) - 1) for k in range(18)
    ]  # fmt: skip


def _box_faces(box: Any) -> list[Array]:
    """The six faces of a box, as corners in the world's axes."""
    turn = np.eye(3) if box.rotation is None else np.array(box.rotation)
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    faces = [np.insert(square, axis, side, axis=1) for axis in range(3) for side in (-1.0, 1.0)]
    return [np.array(box.center) + (face * np.array(box.size) / 2.0) @ turn.T for face in faces]


def _plane_faces(point: Array, normal: Array, low: Array, high: Array) -> list[Array]:
    """A square of the plane, as large as the box."""
    middle = (low + high) / 2
    foot = middle - normal * float(normal @ (middle - point))
    x, y, _ = upright(normal).T * 0.5 * float((high - low).max())
    return [np.array([foot - x - y, foot + x - y, foot + x + y, foot - x + y])]


def _obstacles(ax: Any, outlines: Sequence[Array]) -> None:
    polygons = importlib.import_module("mpl_toolkits.mplot3d.art3d").Poly3DCollection
    if outlines:
        ax.add_collection3d(
            polygons(list(outlines), facecolor="#b45309", edgecolor="#92400e", alpha=0.18, linewidth=0.3, zorder=1.5)
        )


def verdict(duration: float, valid: bool, optimal: bool) -> str:
    """A few words for a heading.

    >>> verdict(0.39305, True, False)
    '0.39305 s, valid, not optimal'
    """
    return f"{number(duration)} s, {'' if valid else 'NOT '}valid, {'' if optimal else 'not '}optimal"

"""Pictures of a stride: curves beside measured ones, the zero-moment point among footprints, a strip of postures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.gait.ground import FEET, soles
from neuler.gait.reference import ANGLES, FORCES, Reference
from neuler.robots.humans.joints import LEFT, RIGHT
from neuler.robots.limbs import Limb
from neuler.view.diagrams import plain_axes
from neuler.view.limbs import ball_centres, layers, limbs_of
from neuler.view.space import HINGE, INK, MASS, sized

if TYPE_CHECKING:
    from neuler.gait.stride import Stride

Array = NDArray[np.float64]

COLORS = {"hip": MASS, "knee": HINGE, "ankle": "#0f766e"}
_BAND = "#c9d3df"
_PALE = "#9aa7b5"
_DEVIATIONS = 2.0
"""Standard deviations to each side of the measured mean."""
_TITLES = {
    "hip": "hip flexion, degrees", "knee": "knee flexion, degrees", "ankle": "ankle dorsiflexion, degrees",
    "vertical": "vertical force, % of body weight", "fore_aft": "fore-aft force, % of body weight",
    "lateral": "lateral force, % of body weight",
}  # fmt: skip
_ARROW = 0.5
"""Length of an arrow for one body weight (m)."""
_SPACING = 0.66
"""Distance of postures (m), at least."""


def curves(stride: Stride, reference: Reference, figure: Any = None) -> Any:
    """The figure of :meth:`neuler.gait.Stride.plot`."""
    figure = sized(figure, (12.0, 11.0), 110)
    grid = figure.add_gridspec(4, 6, height_ratios=[1.0, 1.0, 1.0, 0.9])
    own = stride.curves()
    for row, names in enumerate((ANGLES, FORCES)):
        for column, name in enumerate(names):
            ax = figure.add_subplot(grid[row, 2 * column : 2 * column + 2])
            _measured(ax, reference, name)
            ax.plot(stride.percent, own[name], color=COLORS.get(name, INK), linewidth=1.8, label="walk")
            _stride_axes(ax, stride, _TITLES[name])
            if row == 0 and column == 0:
                ax.legend(fontsize=7, frameon=False)
    panels = (
        ("torque, N m (positive flexes)", stride.torque, grid[2, :3]),
        ("internal joint force, body weights", lambda joint: stride.joint_force(joint) / stride.weight, grid[2, 3:]),
    )
    for title, curve, place in panels:
        ax = figure.add_subplot(place)
        for joint, color in COLORS.items():
            ax.plot(stride.percent, curve(joint), color=color, linewidth=1.6, label=joint)
        _stride_axes(ax, stride, title)
        ax.legend(fontsize=7, frameon=False)
    _footprints(figure.add_subplot(grid[3, :]), stride)
    figure.suptitle(
        f"stride of {stride.length:.2f} m in {stride.duration:.2f} s ({stride.length / stride.duration:.2f} m/s), "
        "right leg from its heel strike",
        fontsize=11, color=INK,
    )  # fmt: skip
    return figure


def _measured(ax: Any, reference: Reference, name: str) -> None:
    mean, sd = reference.mean[name], reference.sd.get(name)
    if sd is not None:
        low, high = mean - _DEVIATIONS * sd, mean + _DEVIATIONS * sd
        label = f"{reference.name}, mean ± {_DEVIATIONS:g} sd"
        ax.fill_between(reference.percent, low, high, color=_BAND, linewidth=0, label=label)
    ax.plot(reference.percent, mean, color=_PALE, linewidth=1.0, label=None if sd is not None else reference.name)


def _stride_axes(ax: Any, stride: Stride, title: str) -> None:
    """Over the stride; dotted: where the right foot leaves the ground."""
    plain_axes(ax, title)
    ax.set_xlabel("% of stride", fontsize=8, color=INK)
    ax.set_xlim(0.0, 100.0)
    ax.axhline(0.0, color="#e3e8ee", linewidth=0.8, zorder=0)
    for k in np.flatnonzero(stride.stance[:-1] & ~stride.stance[1:]):
        ax.axvline(stride.percent[k + 1], color="#aab4c0", linewidth=0.9, linestyle=(0, (1, 1.5)))


def _footprints(ax: Any, stride: Stride) -> None:
    """From above: soles where feet stand, the path of the zero-moment point, centres of pressure of both feet."""
    points = np.asarray(soles(stride.robot, tuple(FEET.values()))(stride.q, stride.loads.qd).points)
    for foot, (name, color) in enumerate(((RIGHT, MASS), (LEFT, _PALE))):
        width = tuple(FEET.values())[foot].width
        for first, last in _spans(stride.loads.touching[:, foot]):
            heights = points[first:last, foot, :, 2].max(axis=-1)
            heel, _, tip = points[first + int(np.argmin(heights)), foot, :, :2]
            outline = _sole(heel, tip, width)
            ax.fill(*outline.T, facecolor=color, alpha=0.13, linewidth=0)
            ax.plot(*outline.T, color=color, linewidth=1.0)
            path = stride.loads.center_of_pressure[first:last, foot]
            label = "centre of pressure, " + ("right" if name == RIGHT else "left") + " foot"
            ax.plot(*path[:, :2].T, color=color, linewidth=1.2, linestyle=(0, (2, 1)), label=label)
    ax.plot(*stride.zero_moment_point[:, :2].T, color=HINGE, linewidth=1.8, label="zero-moment point")
    plain_axes(ax, "y, m (left is up)")
    ax.set_xlabel("x, m", fontsize=8, color=INK)
    ax.margins(0.03)
    ax.set_aspect("equal", adjustable="datalim")
    handles, labels = ax.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    ax.legend(unique.values(), unique.keys(), fontsize=7, frameon=False, ncols=3, loc="upper left")


def _spans(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and one past last of every run of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _sole(heel: Array, tip: Array, width: float) -> Array:
    """A rounded outline from heel to tip, (k, 2)."""
    way = (tip - heel) / max(float(np.linalg.norm(tip - heel)), 1e-9)
    side = np.array([-way[1], way[0]])
    turn = np.linspace(-np.pi / 2, np.pi / 2, 15)
    front = np.stack([np.cos(turn), np.sin(turn)], axis=-1) * 0.5 * width
    ends = np.concatenate([front, -front])
    middle = np.concatenate([np.tile(tip - 0.5 * width * way, (15, 1)), np.tile(heel + 0.5 * width * way, (15, 1))])
    outline = middle + ends[:, :1] * way + ends[:, 1:] * side
    return np.concatenate([outline, outline[:1]])


def strip(stride: Stride, poses: int, figure: Any = None) -> Any:
    """The figure of :meth:`neuler.gait.Stride.strip`: along the ground and along its normal."""
    chosen = np.linspace(0, len(stride.percent) - 1, poses).round().astype(int)
    placed = np.asarray(stride.robot.link_poses(stride.q[chosen]))
    bodies = [(limb, ball_centres(stride.robot, placed, limb)) for limb in limbs_of(stride.robot)]
    pressure = _side_view(stride, stride.loads.center_of_pressure[chosen])
    floor = float(np.nanmean(pressure[..., 1])) if np.isfinite(pressure).any() else 0.0
    spacing = max(_SPACING, abs(stride.length) / (poses - 1))
    apart = np.arange(poses) * spacing - stride.t[chosen] / stride.duration * stride.length
    tops = [_side_view(stride, centres)[..., 1] + [ball.radius for ball in limb.balls] for limb, centres in bodies]
    high = max(float(top.max()) for top in tops)
    figure = sized(figure, (2.3 * spacing * poses + 0.6, 2.3 * (high - floor) + 0.8), 110)
    ax = figure.add_subplot()
    pelvis = _side_view(stride, placed[:, stride.robot.link_names.index("pelvis"), :3, 3])[:, 0] + apart
    ax.plot([pelvis[0] - 0.75 * spacing, pelvis[-1] + spacing], [floor, floor], color=INK, linewidth=0.9, zorder=1)
    for k, shift in enumerate(apart):
        _silhouette(ax, stride, [(limb, centres[k]) for limb, centres in bodies], shift, 2 + k)
        for place, force in zip(pressure[k], _side_view(stride, stride.loads.foot_force[chosen[k]]), strict=True):
            if np.isfinite(place).all():
                start = place + [shift, 0.0]
                ax.annotate("", start + _ARROW * force / stride.weight, start, arrowprops=_arrow(), zorder=3 + poses)
        label = f"{stride.percent[chosen[k]]:.0f} %"
        ax.text(pelvis[k], floor - 0.06, label, fontsize=9, color=INK, ha="center", va="top")
    _scale(ax, pelvis[0] - 0.7 * spacing, high)
    ax.set_ylim(floor - 0.18, high + 0.06)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return figure


def _silhouette(ax: Any, stride: Stride, bodies: list[tuple[Limb, Array]], shift: float, order: int) -> None:
    """A posture seen from the right, far limbs first; light from behind the walker and above."""
    across = np.cross(stride.loads.normal, stride.loads.forward)
    faces: list[Array] = []
    colors: list[Array] = []
    edges: list[Array] = []
    for limb, centres in sorted(bodies, key=lambda each: -float((each[1] @ across).mean())):
        flat = _side_view(stride, centres) + [shift, 0.0]
        rim = len(faces)
        for face, color in layers(flat, np.array([ball.radius for ball in limb.balls]), limb.colour):
            faces.append(face)
            colors.append(color)
            edges.append(0.72 * color if len(faces) == rim + 1 else color)
    collection = importlib.import_module("matplotlib.collections").PolyCollection
    ax.add_collection(collection(faces, facecolors=colors, edgecolors=edges, linewidths=0.5, zorder=order))


def _arrow() -> dict[str, Any]:
    """How arrows look: with a white rim, so that they stand out against limbs."""
    rim = importlib.import_module("matplotlib.patheffects").withStroke(linewidth=3.6, foreground="white")
    style = {"arrowstyle": "-|>,head_length=0.45,head_width=0.2", "color": HINGE, "linewidth": 1.9}
    return {**style, "shrinkA": 0, "shrinkB": 0, "path_effects": [rim]}


def _scale(ax: Any, x: float, high: float) -> None:
    """How long an arrow is for one body weight."""
    ax.annotate("", (x, high), (x, high - _ARROW), arrowprops=_arrow())
    ax.text(x + 0.03, high - 0.5 * _ARROW, "1 body weight", fontsize=8, color=INK, va="center", rotation=90)


def _side_view(stride: Stride, vectors: Array) -> Array:
    """Parts of vectors (..., 3) along the ground and along its normal, (..., 2)."""
    return vectors @ np.stack([stride.loads.forward, stride.loads.normal], axis=-1)

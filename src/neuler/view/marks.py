"""How joints, links and masses look in a picture: small bodies in space, by the symbol of the joint's kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Joint, Robot
from neuler.view.space import HINGE, INK, MASS, ROTOR, SLIDE, SPRING, STEEL

Array = NDArray[np.float64]
Faces = list[Array]
"""Of four corners each."""

SIDES = 14
"""Of what is round."""
_PALE = 0.72
"""Share of white in the mark of a joint that no motor moves."""
_LIGHT = np.array([0.35, -0.55, 0.76])


# ---- shapes, along z, of unit size ---------------------------------------------------------------


def _tube(radius: float, low: float, high: float, sides: int = SIDES) -> Faces:
    """A cylinder: its sides and both ends, of an even number of quadrangles."""
    angles = np.linspace(0.0, 2 * np.pi, sides + 1)
    ring = radius * np.array([np.cos(angles), np.sin(angles), np.zeros(sides + 1)]).T
    bottom, top = ring + [0.0, 0.0, low], ring + [0.0, 0.0, high]
    walls = [np.array([bottom[k], bottom[k + 1], top[k + 1], top[k]]) for k in range(sides)]
    ends = []
    for k in range(0, sides, 2):
        ends.append(np.array([[0.0, 0.0, low], *bottom[k : k + 3][::-1]]))
        ends.append(np.array([[0.0, 0.0, high], *top[k : k + 3]]))
    return [*walls, *ends]


def _block(x: float, y: float, z: float) -> Faces:
    """A box by half its sides."""
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            corners = np.zeros((4, 3))
            others = [k for k in range(3) if k != axis]
            corners[:, axis] = side
            corners[:, others] = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])[:: int(side if axis != 1 else -side)]
            faces.append(corners * [x, y, z])
    return faces


def _ball(radius: float) -> Faces:
    """A sphere of quadrangles."""
    across, up = np.linspace(0, 2 * np.pi, SIDES + 1), np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 1)
    directions = [[[np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)] for a in across] for b in up]
    points = radius * np.array(directions)
    return [
        np.array([points[j, k], points[j, k + 1], points[j + 1, k + 1], points[j + 1, k]])
        for j in range(len(up) - 1)
        for k in range(SIDES)
    ]


def _screw() -> Faces:
    """A thin bolt in a nut."""
    return [*_tube(0.2, -1.5, 1.5), *_tube(0.5, -0.4, 0.4, 6)]


def _cross() -> Faces:
    """Three boxes, one along each axis."""
    return [*_block(1.0, 0.16, 0.16), *_block(0.16, 1.0, 0.16), *_block(0.16, 0.16, 1.0)]


SYMBOLS: dict[str, tuple[str, str, Callable[[], Faces]]] = {
    "hinge": ("revolute axis", HINGE, lambda: _tube(0.42, -0.85, 0.85)),
    "slide": ("prismatic axis", SLIDE, lambda: _block(0.34, 0.34, 1.25)),
    "screw": ("helical axis", HINGE, _screw),
    "ball": ("spherical joint", HINGE, lambda: _ball(0.62)),
    "plate": ("planar joint", SLIDE, lambda: [*_block(1.1, 1.1, 0.08), *_tube(0.2, -0.45, 0.45)]),
    "cross": ("translation joint", SLIDE, _cross),
}
"""By symbol: what it is called, its colour and its shape."""


def symbols(robot: Robot) -> list[tuple[str, str]]:
    """Colours and names of the marks of its joints."""
    found = dict.fromkeys(joint.type.symbol for joint in robot.joints)
    return [(colour, name) for symbol, (name, colour, _) in SYMBOLS.items() if symbol in found]


# ---- in a picture --------------------------------------------------------------------------------


def mark_size(size: float, joints: int) -> float:
    """Of the marks of joints: a share of the picture, smaller where there are many."""
    return 0.042 * size * min(1.0, (6.0 / max(joints, 1)) ** 0.4)


def link_line(ax: Any, ends: Array, joint: Joint, ground: bool) -> None:
    """From one joint's origin to the next; the ground is dashed, and a free link hangs on nothing."""
    if not joint.type.symbol and joint.moves:
        ax.plot(*ends.T, color=STEEL, linewidth=1.0, linestyle=(0, (1, 2.5)), zorder=1)
    elif ground:
        ax.plot(*ends.T, color=INK, linewidth=1.4, linestyle=(0, (4, 2)), zorder=1)
    else:
        ax.plot(*ends.T, color=STEEL, linewidth=3.2, solid_capstyle="round", zorder=2)


def joint_mark(ax: Any, joint: Joint, pose: Array, size: float, *, filled: bool) -> None:
    """The body that stands for a joint's kind; ``filled``: a motor moves it. A spring has a ring of its own."""
    if joint.type.symbol not in SYMBOLS:
        return
    _, colour, shape = SYMBOLS[joint.type.symbol]
    turn = pose[:3, :3] @ upright(np.array(joint.axis))
    faces = [pose[:3, 3] + size * face @ turn.T for face in shape()]
    _add(ax, faces, colour, filled)
    if joint.stiffness:
        ring = {"s": 130, "marker": "o", "linewidth": 1.8, "zorder": 6, "linestyle": (0, (1.5, 0.8))}
        ax.scatter(*pose[:3, 3], color="none", edgecolor=SPRING, depthshade=False, **ring)


def rotor_mark(ax: Any, pose: Array, size: float) -> None:
    """A disc on a thin shaft, along z of the pose."""
    shape = [*_tube(0.55, -0.16, 0.16), *_tube(0.13, -0.45, 0.45, 8)]
    _add(ax, [pose[:3, 3] + size * face @ pose[:3, :3].T for face in shape], ROTOR, True)


def upright(axis: Array) -> Array:
    """A rotation that takes z to the axis."""
    side = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(side, axis)
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(axis, x), axis]).T


def _add(ax: Any, faces: Sequence[Array], colour: str, filled: bool) -> None:
    """Faces lit from the side; pale where not filled, with dark edges."""
    ink = np.array(importlib.import_module("matplotlib.colors").to_rgb(colour))
    base = ink if filled else (1 - _PALE) * ink + _PALE
    normals = np.array([np.cross(face[2] - face[0], face[3] - face[1]) for face in faces])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1.0), 0.0)
    light = 0.78 + 0.22 * (normals @ _LIGHT)
    colours = np.clip(base * light[:, None], 0.0, 1.0)
    edges = colours if filled else 0.75 * colours + 0.25 * ink
    collection = importlib.import_module("mpl_toolkits.mplot3d.art3d").Poly3DCollection
    ax.add_collection3d(collection(faces, facecolors=colours, edgecolors=edges, linewidth=0.35, zorder=5))


def bodies(ax: Any, robot: Robot, origins: Array, centres: Array) -> None:
    """Discs at the centres of mass, their area by the mass; a thin line to the frame of the link."""
    masses = np.array([max(link.mass, 0.0) for link in robot.links])
    heavy = masses > 0
    if not heavy.any():
        return
    for a, b in zip(origins[heavy], centres[heavy], strict=True):
        ax.plot(*np.array([a, b]).T, color=MASS, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    largest = 480.0 * min(1.0, (6.0 / len(masses)) ** 0.5)
    area = largest * (masses[heavy] / masses.max()) ** (2 / 3) + 6.0
    style = {"color": MASS, "edgecolor": MASS, "alpha": 0.45, "linewidth": 0.8, "zorder": 3}
    ax.scatter(*centres[heavy].T, s=area, depthshade=False, **style)


def polygon(points: Sequence[Array]) -> Array:
    """Points in the order of their angles about their middle: the corners of a polygon."""
    corners = np.array(points)
    away = corners - corners.mean(axis=0)
    _, _, axes = np.linalg.svd(away)
    return corners[np.argsort(np.arctan2(away @ axes[1], away @ axes[0]))]


def plate(ax: Any, points: Sequence[Array], ground: bool = False) -> list[Array]:
    """A polygon through points in the order of their angles about the middle; gives its edges."""
    corners = polygon(points)
    edge = np.vstack([corners, corners[:1]])
    order, colour, alpha = (1, INK, 0.07) if ground else (3, MASS, 0.28)
    collection = importlib.import_module("mpl_toolkits.mplot3d.art3d").Poly3DCollection
    ax.add_collection3d(collection([corners], facecolor=colour, alpha=alpha, linewidth=0, zorder=order))
    ax.plot(*edge.T, color=INK if ground else STEEL, linewidth=1.2 if ground else 2.2, zorder=order)
    return [edge[k : k + 2] for k in range(len(corners))]

"""Pictures of machines with loops: the tree, the joints at which it was cut, platforms as plates."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import RobotError
from neuler.robot import Mechanism, ParallelRobot, Robot
from neuler.view.labels import label, merged
from neuler.view.machine_text import Machine, mechanism
from neuler.view.marks import axis_bar, bar_length, bodies, link_line
from neuler.view.space import CUT, INK, MASS, STEEL, azimuth, box_around, frame, ground, link_poses, mass_centres

Array = NDArray[np.float64]

LABELS = 14
"""Names up to which all joints are named; of more, the loops alone."""
_OPEN = 1e-6
"""Share of the picture by which the two frames of a cut joint may be apart."""


@dataclass(frozen=True)
class Placed:
    """A mechanism at a position: where its links are, and both frames of every cut joint."""

    own: Mechanism
    poses: Array
    cuts: Array
    """(loops, 2, 3)."""

    @classmethod
    def of(cls, machine: Machine, q: ArrayLike | None) -> Placed:
        """At ``q``, by default at the closed reference."""
        own = mechanism(machine)
        poses = link_poses(own.tree, own.mobility.reference if q is None else q)
        ends = [[_point(own.tree, poses, name) for name in (loop.first, loop.second)] for loop in own.loops]
        return cls(own, poses, np.array(ends).reshape(-1, 2, 3))

    @property
    def origins(self) -> Array:
        """Of all links."""
        return self.poses[:, :3, 3]

    @property
    def joints(self) -> Array:
        """Of all joints, those that were cut included."""
        return np.vstack([self.origins, self.cuts.reshape(-1, 3)])

    @property
    def points(self) -> Array:
        """All that is drawn."""
        return np.vstack([self.origins, mass_centres(self.own.tree, self.poses), self.cuts.reshape(-1, 3)])

    @property
    def platforms(self) -> dict[int, list[Array]]:
        """By the number of a free link that three cut joints or more hold: where they hold it."""
        tree = self.own.tree
        found: dict[int, list[Array]] = {}
        for loop, ends in zip(self.own.loops, self.cuts, strict=True):
            for name, point in zip((loop.first, loop.second), ends, strict=True):
                index, _ = tree.locate(name)
                if index and tree.joints[index - 1].kind == "free":
                    found.setdefault(index, []).append(point)
        return {index: points for index, points in found.items() if len(points) > 2}


def _point(tree: Robot, poses: Array, name: str) -> Array:
    index, placement = tree.locate(name)
    return np.asarray(poses[index] @ (*placement.translation, 1.0))[:3]


def machine_surroundings(machine: Machine, states: Iterable[ArrayLike | None]) -> tuple[Array, Array]:
    """Corners of a box around the machine in these positions."""
    return box_around(np.vstack([Placed.of(machine, q).points for q in states]))


def plane(placed: Placed) -> int | None:
    """The axis (0, 1, 2) that a machine moves square to, where all of it lies in one plane; else None."""
    tree, size = placed.own.tree, float(np.ptp(placed.points, axis=0).max()) or 1.0
    for normal in (2, 1, 0):
        if np.ptp(placed.points[:, normal]) > 1e-6 * size:
            continue
        sides = []
        for joint, pose in zip(tree.joints, placed.poses[1:], strict=True):
            if joint.kind in ("revolute", "prismatic"):
                share = abs(float((pose[:3, :3] @ np.array(joint.axis))[normal]))
                sides.append(share if joint.kind == "prismatic" else 1.0 - share)
        if max(sides, default=0.0) < 1e-6:
            return normal
    return None


def draw_machine(machine: Machine, q: ArrayLike | None, ax: Any, extent: tuple[Array, Array] | None) -> Any:
    """See :func:`neuler.view.draw`."""
    placed = Placed.of(machine, q)
    tree, origins = placed.own.tree, placed.origins
    low, high = extent or box_around(placed.points)
    usual = _reference(machine, placed)
    size, normal = float((high - low).max()), plane(usual)
    ax.computed_zorder = False
    ground(ax, low, high, 2 if normal is None else normal)
    side = azimuth([np.array(points) for points in usual.platforms.values()])
    frame(ax, low, high, normal, side)
    plates, lines = _plates(ax, placed)
    bar = bar_length(size, min(tree.nv, 12))
    for number, (joint, parent) in enumerate(zip(tree.joints, tree.antecedents, strict=True), start=1):
        if parent not in plates and not (joint.kind == "free" and number in plates):
            ends = origins[[parent, number]]
            lines.append(ends)
            if parent == 0 and joint.kind != "free":
                ax.plot(*ends.T, color=INK, linewidth=1.4, linestyle=(0, (4, 2)), zorder=1)
            else:
                link_line(ax, ends, joint)
        if joint.moves:
            axis_bar(ax, joint, placed.poses[number], bar, size=38, filled=joint.role == "driven")
    lines += _cuts(ax, placed, plates, size)
    _gears(ax, placed)
    bodies(ax, tree, origins, mass_centres(tree, placed.poses), 300.0 if tree.nv < 12 else 160.0)
    ax.scatter(*origins[0], marker="s", s=30 if plates else 90, color=INK, depthshade=False, zorder=3)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    label(ax, merged(_names(machine, placed), size), lines, placed.points, corners)
    return ax


def _reference(machine: Machine, placed: Placed) -> Placed:
    """What decides the point of view: the reference, so that all pictures have the same; of what does not close, it."""
    try:
        return Placed.of(machine, None)
    except RobotError:
        return placed


def _plates(ax: Any, placed: Placed) -> tuple[set[int], list[Array]]:
    """Platforms and what three legs or more stand on, as polygons; gives the numbers of these links, and edges."""
    tree, platforms = placed.own.tree, placed.platforms
    if not platforms:
        return set(), []
    rigid = [0]  # of every link, the first of those that are fixed together
    stands: dict[int, list[Array]] = {}
    for number, (joint, parent) in enumerate(zip(tree.joints, tree.antecedents, strict=True), start=1):
        rigid.append(number if joint.moves else rigid[parent])
        if joint.kind in ("revolute", "prismatic"):
            foot = placed.poses[parent] @ (*joint.placement.translation, 1.0)
            stands.setdefault(rigid[parent], []).append(foot[:3])
    edges: list[Array] = []
    for points in platforms.values():
        edges += _polygon(ax, points, MASS, 0.28, 3)
    carriers = {index: points for index, points in stands.items() if len(points) > 2}
    for points in carriers.values():
        if float(np.ptp(points, axis=0).max()) > 1e-9:
            edges += _polygon(ax, points, INK, 0.07, 1)
    return {number for number, first in enumerate(rigid) if first in platforms or first in carriers}, edges


def _polygon(ax: Any, points: Sequence[Array], colour: str, alpha: float, order: int) -> list[Array]:
    """Filled, through points in the order of their angles about the middle; gives its edges."""
    corners = np.array(points)
    away = corners - corners.mean(axis=0)
    _, _, axes = np.linalg.svd(away)
    turn = np.argsort(np.arctan2(away @ axes[1], away @ axes[0]))
    collection = importlib.import_module("mpl_toolkits.mplot3d.art3d").Poly3DCollection
    ring = corners[np.append(turn, turn[0])]
    ax.add_collection3d(collection([corners[turn]], facecolor=colour, alpha=alpha, linewidth=0, zorder=order))
    ax.plot(*ring.T, color=STEEL if order > 1 else INK, linewidth=2.2 if order > 1 else 1.2, zorder=order)
    return [ring[k : k + 2] for k in range(len(corners))]


def _cuts(ax: Any, placed: Placed, plates: set[int], size: float) -> list[Array]:
    """The links' ends at the cut joints, and the cuts: crosses, or a gap where a loop is open."""
    tree, lines = placed.own.tree, []
    for loop, ends in zip(placed.own.loops, placed.cuts, strict=True):
        for name, point in zip((loop.first, loop.second), ends, strict=True):
            index, _ = tree.locate(name)
            if index and index not in plates:
                ends_here = np.array([placed.origins[index], point])
                ax.plot(*ends_here.T, color=STEEL, linewidth=3.2, solid_capstyle="round", zorder=2)
                lines.append(ends_here)
        apart = float(np.linalg.norm(ends[1] - ends[0]))
        if apart > _OPEN * size:
            ax.plot(*ends.T, color=CUT, linewidth=1.6, linestyle=(0, (2, 1.5)), zorder=6)
        for point in ends if apart > _OPEN * size else ends[:1]:
            ax.scatter(*point, s=52, color="white", edgecolor=CUT, linewidth=1.7, depthshade=False, zorder=6)
            ax.scatter(*point, s=30, marker="x", color=CUT, linewidth=1.5, depthshade=False, zorder=7)
    return lines


def _gears(ax: Any, placed: Placed) -> None:
    """Coupled joints, joined by a dotted line."""
    at = {joint.name: number for number, joint in enumerate(placed.own.tree.joints, start=1)}
    for coupling in placed.own.couplings:
        ends = placed.origins[[at[coupling.joint], at[coupling.of]]]
        ax.plot(*ends.T, color=CUT, linewidth=1.5, linestyle=(0, (1, 1.5)), zorder=6)


def _names(machine: Machine, placed: Placed) -> list[tuple[str, Array]]:
    tree = placed.own.tree
    if isinstance(machine, ParallelRobot):
        feet = {leg.name: f"{leg.name}.{leg.chain.moving_joints[0].name}" for leg in machine.legs}
        at = {joint.name: number for number, joint in enumerate(tree.joints, start=1)}
        legs = [(name, placed.origins[at[foot]]) for name, foot in feet.items()]
        return [*legs, ("platform", placed.origins[at["platform"]])]
    cuts = [(loop.name, ends.mean(axis=0)) for loop, ends in zip(placed.own.loops, placed.cuts, strict=True)]
    joints = [(joint.name, placed.origins[number]) for number, joint in enumerate(tree.joints, start=1) if joint.moves]
    return [*joints, *cuts] if len(joints) + len(cuts) <= LABELS else cuts

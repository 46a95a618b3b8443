"""The ground under a motion: forces on feet with their centres of pressure, the zero-moment point, footprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.plain import shown
from neuler.robot import Robot
from neuler.robots.limbs import Limb
from neuler.view.charts import COLOURS
from neuler.view.limbs import ball_centres, hull, limbs_of, outline

Array = NDArray[np.float64]

_TALL = 0.6
"""Length of an arrow for the weight, of the robot's size, before it is rounded."""


@dataclass(frozen=True, eq=False)
class Footing:
    """What the ground exerts at n times, in the base frame; feet by the links that they are."""

    feet: tuple[str, ...]
    force: Array
    """On each foot (N), (n, feet, 3)."""
    pressure: Array
    """Centres of pressure (m), (n, feet, 3); NaN where a foot carries nothing."""
    zero_moment_point: Array
    """(n, 3); NaN where the ground carries nothing."""
    weight: float
    """By which forces are compared (N)."""
    normal: Array
    point: Array
    """Of the ground's plane."""
    labels: tuple[str, ...] = ()
    """What feet are called."""

    def colours(self, robot: Robot, limbs: Sequence[Limb] | None = None) -> tuple[str, ...]:
        """Of each foot that of the limb that ends in it, or one of a palette."""
        found = []
        for k, foot in enumerate(self.feet):
            own = [limb.colour for limb in limbs_of(robot, limbs) if not limb.sole and limb.balls[-1].frame == foot]
            found.append(own[0] if own else COLOURS[k % len(COLOURS)])
        return tuple(found)

    def scale(self, size: float) -> float:
        """Metres of an arrow for one weight: 1, 2 or 5 times a power of ten, for a robot of a size (m)."""
        wanted = _TALL * size
        power = 10.0 ** np.floor(np.log10(wanted))
        return float(power * min((1, 2, 5, 10), key=lambda m: abs(np.log(m * power / wanted))))

    def as_dict(self, robot: Robot, limbs: Sequence[Limb], size: float) -> dict[str, Any]:
        """What a page knows of it besides the numbers of a run."""
        names = self.labels or self.feet
        colours = self.colours(robot, limbs)
        return {
            "feet": [{"name": shown(n), "colour": c} for n, c in zip(names, colours, strict=True)],
            "weight": self.weight, "scale": self.scale(size),
            "slope": [float(self.normal[0] / self.normal[2]), float(self.normal[1] / self.normal[2])],
        }  # fmt: skip

    def numbers(self, kept: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Forces in weights, centres of pressure and the zero-moment point, (times, ...): all finite.

        Where a foot carries nothing its centre is the nearest one in time, and its arrow has no length there.
        """
        force = np.nan_to_num(self.force[kept] / self.weight)
        carried = np.isfinite(self.pressure[kept]).all(axis=-1, keepdims=True)
        points = np.stack([_nearest(self.pressure[:, k])[kept] for k in range(len(self.feet))], axis=1)
        return np.where(carried, force, 0.0), points, _nearest(self.zero_moment_point)[kept]

    def prints(
        self, robot: Robot, limbs: Sequence[Limb], t: Array, poses: Array, shift: Array | None
    ) -> list[dict[str, Any]]:
        """Where soles stand: outlines on the ground, by foot, with times from when to when.

        ``poses`` of all links, (n, links, 4, 4). With ``shift`` a foot that stands at the end goes on standing in the
        next lap, whose times and places follow.
        """
        found = []
        for k, foot in enumerate(self.feet):
            soles = [limb for limb in limbs if limb.sole and self._part_of(robot, limb, foot)]
            if not soles:
                continue
            centres = np.concatenate([ball_centres(robot, poses, limb) for limb in soles], axis=1)
            radii = np.array([ball.radius for limb in soles for ball in limb.balls])
            heights = ((centres - self.point) @ self.normal - radii).max(axis=1)
            stands = np.isfinite(self.pressure[:, k, 0])
            if not stands[-2:-1].any():  # a foot that comes down with the last sample: its print is the next lap's
                stands[-1] = False
            for when, span in _stances(stands, shift is not None):
                flat = span[int(np.argmin(heights[span]))]
                lap = when[int(np.flatnonzero(span == flat)[0])]
                corners = self._outline(centres[flat], radii) + (0.0 if shift is None else lap * shift)
                duration = float(t[-1] - t[0])
                begin, end = float(t[span[0]]), float(t[span[-1]]) + when[-1] * duration
                outline_of = {"corners": np.round(corners, 4).tolist()}
                found.append({"foot": k, "from": round(begin, 4), "to": round(end, 4), **outline_of})
        return found

    @staticmethod
    def _part_of(robot: Robot, limb: Limb, foot: str) -> bool:
        """Whether a limb is on a link, or on one that hangs on it."""
        link, top = robot.locate(limb.balls[0].frame)[0], robot.link_names.index(foot)
        while link > 0 and link != top:
            link = robot.antecedents[link - 1]
        return link == top

    def _outline(self, centres: Array, radii: Array) -> Array:
        """On the ground: around balls, (corners, 3)."""
        ahead = np.array([self.normal[2], 0.0, -self.normal[0]])
        ahead = ahead / np.linalg.norm(ahead) if np.linalg.norm(ahead) > 1e-9 else np.array([0.0, 0.0, 1.0])
        axes = np.stack([ahead, np.cross(self.normal, ahead)])
        flat = (centres - self.point) @ axes.T
        return np.asarray(self.point + hull(outline(flat, radii)) @ axes)


def _nearest(values: Array) -> Array:
    """Rows (n, 3) with those that are not finite replaced by the nearest ones that are; zero where none is."""
    good = np.flatnonzero(np.isfinite(values).all(axis=-1))
    if not len(good):
        return np.zeros_like(values)
    rows = np.arange(len(values))
    after = np.clip(np.searchsorted(good, rows), 0, len(good) - 1)
    before = np.clip(after - 1, 0, len(good) - 1)
    near = np.where(np.abs(good[after] - rows) <= np.abs(good[before] - rows), after, before)
    return np.asarray(values[good[near]])


def _stances(stands: NDArray[np.bool_], repeats: bool) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Spans in which a foot stands: of each sample its lap (0, or 1 after the end), and its number.

    >>> [(lap.tolist(), span.tolist()) for lap, span in _stances(np.array([True, False, False, True]), True)]
    [([0, 1], [3, 0])]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], stands, [False]])))
    spans = [np.arange(a, b) for a, b in edges.reshape(-1, 2)]
    laps = [np.zeros(len(span), dtype=np.intp) for span in spans]
    if repeats and len(spans) > 1 and stands[0] and stands[-1]:
        spans[-1:], laps[-1:] = [np.concatenate([spans[-1], spans[0]])], [np.concatenate([laps[-1], laps[0] + 1])]
        spans, laps = spans[1:], laps[1:]
    return list(zip(laps, spans, strict=True))

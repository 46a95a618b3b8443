"""Runs of a player: the states that a page keeps of them, and what it shows besides, as plain data."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import vector
from neuler.plain import number, shown
from neuler.robots.limbs import Limb
from neuler.view.charts import Chart
from neuler.view.footing import Footing
from neuler.view.poses import link_poses
from neuler.view.scene import Scene

Array = NDArray[np.float64]

_FAR = 1e30
"""Metres beyond which single precision has no place."""


@dataclass(frozen=True)
class Run:
    """Frames of one run, those that are kept."""

    times: Array
    poses: Array
    """(frames, bodies, 9): origin, x, y of each body."""
    q: Array
    forces: Array
    """Wrenches (force; moment) that arrows show at every instant, (frames, arrows, 6)."""
    kept: NDArray[np.intp]
    """Which of the times these are."""
    note: str = ""
    name: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    """What the ground exerts, curves, laps: plain data."""

    @classmethod
    def of(cls, scene: Scene, times: Array, q: Array, forces: Array, fps: float) -> Run:
        """Up to the last finite state, at most ``fps`` a second, the first and the last among them."""
        good = np.asarray(np.isfinite(q).all(axis=-1))
        finite = len(good) if good.all() else int(np.argmin(good))
        kept = _chosen(times[:finite], fps)
        with np.errstate(all="ignore"):
            every = (
                link_poses(scene.robot, q[kept])[:, list(scene.links), :3, :] if len(kept) else np.zeros((0, 0, 3, 4))
            )
        poses = np.concatenate([every[..., 3], every[..., 0], every[..., 1]], axis=-1)
        placed = (np.abs(poses) < _FAR).all(axis=(1, 2))
        upto = len(placed) if placed.all() else int(np.argmin(placed))
        kept, note = kept[:upto], ""
        if finite < len(times) or upto < len(placed):
            where = f"at {number(float(times[kept[-1]]))} s" if len(kept) else "from the start"
            note = f"The run stops {where}: the states after that are not finite."
        arrows = np.nan_to_num(forces[kept], posinf=0.0, neginf=0.0)
        return cls(times[kept], poses[:upto], q[kept], arrows, kept, note)

    def named(self, name: str, note: str) -> Run:
        """With what is said of it."""
        return dataclasses.replace(self, note=" ".join(filter(None, (note, self.note))), name=name)

    def as_dict(self) -> dict[str, Any]:
        """The run as plain data for JSON, its arrays packed as text."""
        return {
            "name": shown(self.name), "note": shown(self.note), "times": _packed(self.times, "<f8"),
            "poses": _packed(self.poses, "<f4"), "q": _packed(self.q, "<f4"), "forces": _packed(self.forces, "<f4"),
            **self.extra,
        }  # fmt: skip


@dataclass(frozen=True)
class Extra:
    """What a page shows besides the motion of one run: forces of the ground, curves, laps."""

    footing: Footing | None
    charts: tuple[Chart, ...]
    shift: Array | None

    @classmethod
    def checked(cls, footing: Footing | None, charts: Sequence[Chart], shift: Any, shape: tuple[int, int]) -> Extra:
        """Refused where arrays do not fit ``shape``, runs and times."""
        runs, count = shape
        if runs > 1 and (footing is not None or charts or shift is not None):
            raise InputError(f"play: footing, charts and shift are of a motion of one run, these are {runs}")
        rows = [len(x) for chart in charts for x in chart.curves.values()]
        rows += [] if footing is None else [len(footing.force), len(footing.pressure), len(footing.zero_moment_point)]
        if any(each != count for each in rows):
            raise InputError(f"play: footing and charts must have {count} rows, one a time, got {sorted(set(rows))}")
        way = None if shift is None else vector("play: shift", shift, 3)
        return cls(footing, tuple(charts), way)

    def of(self, scene: Scene, limbs: Sequence[Limb], run: Run) -> dict[str, Any]:
        """Plain data of a run: arrays (frames, ...) packed as text."""
        found: dict[str, Any] = {"shift": None if self.shift is None else np.round(self.shift, 6).tolist()}
        if self.footing is not None and len(run.kept):
            numbers = self.footing.numbers(run.kept)
            flat = np.concatenate([x.reshape(len(run.kept), -1) for x in numbers], axis=-1)
            poses = link_poses(scene.robot, run.q)
            part = dataclasses.replace(self.footing, pressure=self.footing.pressure[run.kept])
            found["ground"] = _packed(flat, "<f4")
            found["prints"] = part.prints(scene.robot, limbs, run.times, poses, self.shift)
        if self.charts and len(run.kept):
            found["charts"] = _packed(np.concatenate([chart.values(run.kept) for chart in self.charts], axis=-1), "<f4")
        return found


def _packed(values: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _chosen(times: Array, fps: float) -> NDArray[np.intp]:
    """Which of the times are kept, at most ``fps`` a second.

    >>> _chosen(np.linspace(0.0, 1.0, 1001), 4.0).tolist()
    [0, 250, 500, 750, 1000]
    """
    if len(times) < 2:
        return np.arange(len(times))
    wanted = times[0] + np.arange(int((times[-1] - times[0]) * fps) + 1) / fps
    found = np.searchsorted(times, wanted - 1e-9 / fps)
    return np.unique(np.append(np.minimum(found, len(times) - 1), [0, len(times) - 1]))

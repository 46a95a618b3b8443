"""The player: a motion as one HTML page that shows the robot move; nothing is loaded from anywhere.

It takes plain arrays, so that whatever finds motions (simulation, planning) can show them.
"""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.plain import shown
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.robots.limbs import Limb
from neuler.view.charts import Chart
from neuler.view.footing import Footing
from neuler.view.html import join, page
from neuler.view.limbs import as_dict, limbs_of
from neuler.view.marks import mark_size
from neuler.view.player_html import STYLE, body, script
from neuler.view.player_runs import Extra, Run
from neuler.view.poses import Placed, floats
from neuler.view.scene import Scene
from neuler.view.space import VIEWS, box_around

Array = NDArray[np.float64]

FPS = 50.0
"""States that are kept of a second; the page fills in between them."""
_MOST = 1_500_000
"""Numbers of poses in a page (8 MB): of longer motions fewer states a second are kept."""
_RUNS = 64
"""Runs that a page holds."""
_LOW = 12
"""Elevation (degrees) of the first view of what walks."""
_ARROW = 0.3
"""Length of the largest force, of the robot's size."""


def play(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    path: str | os.PathLike[str],
    *,
    forces: Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
    notes: Sequence[str] | str = (),
    names: Sequence[str] = (),
    fps: float = FPS,
    speed: float = 1.0,
    limbs: Sequence[Limb] | None = None,
    footing: Footing | None = None,
    charts: Sequence[Chart] = (),
    shift: ArrayLike | None = None,
    below: object = "",
) -> None:
    """Write a page that plays a motion: times ``t`` (n,), positions ``q`` (n, nq), or of several runs (runs, n, nq).

    ``forces``: by the name of a frame, forces (..., n, 3) or wrenches (force; moment) (..., n, 6) in the axes of the
    base, at the frame's origin, as ``loads`` of the verbs are; drawn as arrows. ``notes`` say of each run what there
    is to know, ``names`` what to call it. ``fps``: states that are kept of a second. ``speed``: at which it is played
    first, the nearest of those to choose from. ``limbs``: rounded bodies in the place of rods, by default those of a
    human and none of other robots. Of a motion of one run: ``footing``, forces of the ground on feet; ``charts``,
    curves beside it; ``shift`` (3,), by how much (m) all of it is moved when it repeats itself, so that it goes on
    without a jump. ``below``: markup that stands under the player.
    States that are not finite end a run: what comes before them is shown, and the page says so.

    >>> import neuler, os, tempfile
    >>> robot = neuler.robots.two_link()
    >>> t = np.linspace(0, 2, 101)
    >>> path = os.path.join(tempfile.mkdtemp(), "swing.html")
    >>> neuler.view.play(robot, t, np.stack([np.sin(t), np.cos(t)], axis=-1), path)
    >>> os.path.getsize(path) < 100_000
    True
    """
    from neuler.files.ends import written

    content = player(
        robot, t, q, forces=forces, title=title, notes=notes, names=names, fps=fps, speed=speed, limbs=limbs,
        footing=footing, charts=charts, shift=shift, below=below,
    )  # fmt: skip
    with written(path) as file:
        file.write(content.encode("utf-8"))


def player(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    *,
    forces: Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
    notes: Sequence[str] | str = (),
    names: Sequence[str] = (),
    fps: float = FPS,
    speed: float = 1.0,
    limbs: Sequence[Limb] | None = None,
    footing: Footing | None = None,
    charts: Sequence[Chart] = (),
    shift: ArrayLike | None = None,
    below: object = "",
) -> str:
    """The page of :func:`play` as HTML."""
    times, states = _motion(robot, t, q)
    told = _texts("notes", [notes] if isinstance(notes, str) else notes, len(states))
    called = _texts("names", names, len(states))
    for what, value in (("fps", fps), ("speed", speed)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"play: {what} must be a positive number, got {value}")
    wrenches = {name: _wrench(robot, name, value, states.shape[:2]) for name, value in (forces or {}).items()}
    scene, shapes = Scene.of(robot), limbs_of(robot, limbs)
    extra = Extra.checked(footing, charts, shift, states.shape[:2])
    runs, rate = [], _rate(scene, times, len(states), fps)
    for k in range(len(states)):
        arrows = np.stack([each[k] for each in wrenches.values()], axis=1) if wrenches else np.zeros((len(times), 0, 6))
        found = Run.of(scene, times, states[k], arrows, rate).named(called[k] or f"run {k}", told[k])
        runs.append(dataclasses.replace(found, extra=extra.of(scene, shapes, found)))
    if not any(len(run.times) for run in runs):
        raise InputError(f"play: no state of the motion of {robot.name!r} is finite, there is nothing to show")
    data = page_data(scene, [run for run in runs if len(run.times)], list(wrenches), shapes, extra)
    lost = sum(not len(run.times) for run in runs)
    heading = title or f"{robot.name}: motion"
    content = join(filter(None, (body(robot, heading, lost, data, speed), below)))
    return page(heading, content, script=script(), style=STYLE, wide=True)


class Inline:
    """A page inside a notebook's cell, in a frame of its own: scripts of the page see nothing of the notebook."""

    def __init__(self, content: str, height: int) -> None:
        self.content, self.height = content, height

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #dfe4ea;border-radius:6px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(self.content)}"></iframe>'

    def __repr__(self) -> str:
        return f"<player, {len(self.content) / 1000:.0f} kB of HTML; notebooks show it>"


# ---- what comes in -------------------------------------------------------------------------------


def _motion(robot: Robot, t: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    """Times (n,), states (runs, n, nq)."""
    refuse_dask("play", "t", t)
    q = by_columns(robot, "play", "q", q, "q")
    try:
        times, states = np.atleast_1d(np.asarray(t, dtype=float)), np.asarray(q, dtype=float)
    except (TypeError, ValueError):
        raise InputError("play: t and q must be arrays of numbers") from None
    if states.ndim == 1 and times.shape == (1,):
        states = states[None]
    if times.ndim != 1 or not len(times):
        raise InputError(f"play: t must be times (n,), got shape {times.shape}")
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError("play: the times t must be finite and grow from each to the next")
    if states.ndim not in (2, 3) or states.shape[-2:] != (len(times), robot.nq):
        raise InputError(
            f"play: expected q of shape ({len(times)}, {robot.nq}) for {len(times)} times of robot {robot.name!r}, "
            f"or (runs, {len(times)}, {robot.nq}), got {states.shape}"
        )
    states = states.reshape(len(states) if states.ndim == 3 else 1, len(times), robot.nq)
    if not 0 < len(states) <= _RUNS:
        raise InputError(f"play: a page holds 1 to {_RUNS} runs, got {len(states)}; choose some, q[:{_RUNS}]")
    return times, states


def _texts(what: str, given: Sequence[str], runs: int) -> list[str]:
    if len(given) not in (0, runs):
        raise InputError(f"play: expected {runs} {what}, one a run, got {len(given)}")
    return [str(text) for text in given] or [""] * runs


def _wrench(robot: Robot, name: str, value: ArrayLike, shape: tuple[int, int]) -> Array:
    """The forces at a frame as wrenches of all runs, (runs, n, 6)."""
    robot.locate(name)
    found = np.asarray(value, dtype=float)
    if found.ndim == 0 or found.shape[-1] not in (3, 6):
        raise InputError(f"play: expected forces at {name!r} with last axis 3 or 6, got shape {found.shape}")
    try:
        found = np.broadcast_to(found, (*shape, found.shape[-1]))
    except ValueError:
        raise InputError(
            f"play: forces at {name!r} of shape {found.shape} do not fit {shape[0]} runs of {shape[1]} states"
        ) from None
    return np.concatenate([found, np.zeros((*shape, 6 - found.shape[-1]))], axis=-1)


def _rate(scene: Scene, times: Array, runs: int, fps: float) -> float:
    """States a second, the wished number or fewer, so that the page does not become too large."""
    duration = float(times[-1] - times[0])
    return min(fps, _MOST / (runs * 9 * len(scene.links) * duration)) if duration else fps


# ---- what goes out -------------------------------------------------------------------------------


def page_data(
    scene: Scene, runs: Sequence[Run], frames: Sequence[str], limbs: Sequence[Limb], extra: Extra
) -> dict[str, Any]:
    """All that the page's script reads."""
    robot, footing = scene.robot, extra.footing
    bodies = [as_dict(limb, scene.spot) for limb in limbs]
    extents = [_extents(scene, run, bodies, extra.shift) for run in runs]
    low, high = _usual_box(np.concatenate(extents))
    own = max(float((each[0, 1] - each[0, 0]).max()) for each in extents) or 1.0
    far = extra.shift is not None and float(np.linalg.norm(extra.shift)) > 0.1 * own
    away = far or (floats(robot) and float((high - low).max()) > 4.0 * own)  # the camera goes with it
    low, high = box_around(extents[0][0] if away and not far else np.array([low, high]))
    size, reach = float((high - low).max()), float(np.linalg.norm(high - low)) / 2
    elevation, azimuth = (22, -58) if (normal := Placed.of(robot).plane) is None else VIEWS[normal]
    pushes = np.concatenate([run.forces.reshape(-1, 2, 3) for run in runs])
    largest = np.linalg.norm(pushes, axis=-1).max(axis=0, initial=0.0)
    scales = [_ARROW * size / x if x else 0.0 for x in largest.tolist()]
    ground = None if footing is None else footing.as_dict(robot, limbs, own)
    if footing is not None:
        elevation = min(elevation, _LOW) if normal is None else elevation
    return {
        "bodies": len(scene.links), "scene": _printable(scene.as_dict()), "size": size,
        "mark": mark_size(size, min(len(robot.moving_joints), 30)), "centre": ((low + high) / 2).tolist(),
        "floor": float(low[2]) if footing is None else float(footing.normal @ footing.point / footing.normal[2]),
        "reach": reach, "distance": 2.5 * reach, "elevation": elevation, "azimuth": azimuth,
        "away": away, "coordinates": _coordinates(robot), "limbs": bodies, "ground": ground,
        "charts": [chart.as_dict() for chart in extra.charts],
        "tip": _tip(scene), "forces": [{"spot": [body, *point]} for body, point in map(scene.spot, frames)],
        "force_scale": scales[0], "moment_scale": scales[1], "runs": [run.as_dict() for run in runs],
    }  # fmt: skip


def _extents(scene: Scene, run: Run, limbs: Sequence[dict[str, Any]], shift: Array | None) -> Array:
    """Corners around all that is drawn at every frame, (frames, 2, 3); the ground of what floats is no part of it.

    With ``shift`` as seen from what goes along with it evenly.
    """
    first = min(int(floats(scene.robot)), len(scene.links) - 1)
    spots = {spot for a, b, _ in scene.rods for spot in (a, b)} | {
        (k, (0.0, 0.0, 0.0)) for k in range(len(scene.links))
    }
    chosen = sorted(spot for spot in spots if spot[0] >= first)
    if limbs:
        chosen = [(ball[0], tuple(ball[1:4])) for limb in limbs for ball in limb["balls"]]
    body, point = np.array([spot[0] for spot in chosen]), np.array([spot[1] for spot in chosen])
    origin, x, y = (run.poses[:, body, k : k + 3] for k in (0, 3, 6))
    found = origin + x * point[:, :1] + y * point[:, 1:2] + np.cross(x, y) * point[:, 2:]
    if shift is not None:
        span = float(run.times[-1] - run.times[0]) or 1.0
        found = found - ((run.times - run.times[0]) / span)[:, None, None] * shift
    return np.stack([found.min(axis=1), found.max(axis=1)], axis=1)


def _usual_box(extents: Array) -> tuple[Array, Array]:
    """Corners around all frames (frames, 2, 3); moments far out, as of a run that diverges, left out."""
    away = np.abs(extents - np.median(extents, axis=0)).max(axis=(1, 2))
    usual = away <= 20.0 * (np.median(away) + np.median((extents[:, 1] - extents[:, 0]).max(axis=-1)))
    return extents[usual, 0].min(axis=0), extents[usual, 1].max(axis=0)


def _coordinates(robot: Robot) -> list[list[str]]:
    """Names and units of the numbers of q."""
    names, units = robot.coordinates.names("q", " "), robot.coordinates.units("q")
    return [[shown(name), unit] for name, unit in zip(names, units, strict=True)]


def _tip(scene: Scene) -> list[float]:
    """The far end of the robot's last link: its frame or centre of mass where nothing follows."""
    body, point = scene.spot(scene.robot.tip)
    ends = [b for a, b, _ in scene.rods if b[0] == body and a == (body, point)]
    body, point = ends[-1] if ends else (body, point)
    return [body, *point]


def _printable(value: Any) -> Any:
    """The same with texts that can steer nothing."""
    if isinstance(value, dict):
        return {key: _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    return shown(value) if isinstance(value, str) else value

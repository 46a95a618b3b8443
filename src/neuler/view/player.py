"""The player: a motion as one HTML page that shows the robot move; nothing is loaded from anywhere.

It takes plain arrays, so that whatever finds motions (simulation, planning) can show them.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.plain import count, degrees, number, shown
from neuler.robot import Robot
from neuler.robot.columns import by_columns
from neuler.view.html import Markup, join, page, tag
from neuler.view.marks import mark_size
from neuler.view.poses import Placed, floats, link_poses
from neuler.view.scene import Scene
from neuler.view.space import VIEWS, box_around

Array = NDArray[np.float64]

FPS = 50.0
"""States that are kept of a second; the page fills in between them."""
_MOST = 1_500_000
"""Numbers of poses in a page (8 MB): of longer motions fewer states a second are kept."""
_RUNS = 64
"""Runs that a page holds."""
_FAR = 1e30
"""Metres beyond which single precision has no place."""
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
    below: object = "",
) -> None:
    """Write a page that plays a motion: times ``t`` (n,), positions ``q`` (n, nq), or of several runs (runs, n, nq).

    ``forces``: by the name of a frame, forces (..., n, 3) or wrenches (force; moment) (..., n, 6) in the axes of the
    base, at the frame's origin, as ``loads`` of the verbs are; drawn as arrows. ``notes`` say of each run what there
    is to know, ``names`` what to call it. ``fps``: states that are kept of a second. ``speed``: at which it is played
    first, the nearest of those to choose from. ``below``: markup that stands under the player.
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
        robot, t, q, forces=forces, title=title, notes=notes, names=names, fps=fps, speed=speed, below=below
    )
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
    scene = Scene.of(robot)
    runs, rate = [], _rate(scene, times, len(states), fps)
    for k in range(len(states)):
        arrows = np.stack([each[k] for each in wrenches.values()], axis=1) if wrenches else np.zeros((len(times), 0, 6))
        found = _Run.of(scene, times, states[k], arrows, rate)
        runs.append(found.named(called[k] or f"run {k}", told[k]))
    if not any(len(run.times) for run in runs):
        raise InputError(f"play: no state of the motion of {robot.name!r} is finite, there is nothing to show")
    data = _data(scene, [run for run in runs if len(run.times)], list(wrenches))
    lost = sum(not len(run.times) for run in runs)
    heading = title or f"{robot.name}: motion"
    body = join(filter(None, (_body(robot, heading, lost, data, speed), below)))
    return page(heading, body, script=_script(), style=_STYLE, wide=True)


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


@dataclass(frozen=True)
class _Run:
    """Frames of one run, those that are kept."""

    times: Array
    poses: Array
    """(frames, bodies, 9): origin, x, y of each body."""
    q: Array
    forces: Array
    """Wrenches (force; moment) that arrows show at every instant, (frames, arrows, 6)."""
    note: str = ""
    name: str = ""

    @classmethod
    def of(cls, scene: Scene, times: Array, q: Array, forces: Array, fps: float) -> _Run:
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
        return cls(times[kept], poses[:upto], q[kept], arrows, note)

    def named(self, name: str, note: str) -> _Run:
        """With what is said of it."""
        return _Run(self.times, self.poses, self.q, self.forces, " ".join(filter(None, (note, self.note))), name)

    def as_dict(self) -> dict[str, Any]:
        """The run as plain data for JSON, its arrays packed as text."""
        return {
            "name": shown(self.name), "note": shown(self.note), "times": _packed(self.times, "<f8"),
            "poses": _packed(self.poses, "<f4"), "q": _packed(self.q, "<f4"), "forces": _packed(self.forces, "<f4"),
        }  # fmt: skip


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


def _data(scene: Scene, runs: Sequence[_Run], frames: Sequence[str]) -> dict[str, Any]:
    """All that the page's script reads."""
    robot = scene.robot
    extents = [_extents(scene, run) for run in runs]
    low, high = _usual_box(np.concatenate(extents))
    own = max(float((each[0, 1] - each[0, 0]).max()) for each in extents) or 1.0
    away = floats(robot) and float((high - low).max()) > 4.0 * own  # the camera goes with it
    low, high = box_around(extents[0][0] if away else np.array([low, high]))
    size, reach = float((high - low).max()), float(np.linalg.norm(high - low)) / 2
    elevation, azimuth = (22, -58) if (normal := Placed.of(robot).plane) is None else VIEWS[normal]
    pushes = np.concatenate([run.forces.reshape(-1, 2, 3) for run in runs])
    largest = np.linalg.norm(pushes, axis=-1).max(axis=0, initial=0.0)
    scales = [_ARROW * size / x if x else 0.0 for x in largest.tolist()]
    return {
        "bodies": len(scene.links), "scene": _printable(scene.as_dict()), "size": size,
        "mark": mark_size(size, min(len(robot.moving_joints), 30)), "centre": ((low + high) / 2).tolist(),
        "floor": float(low[2]), "reach": reach, "distance": 2.5 * reach, "elevation": elevation, "azimuth": azimuth,
        "away": away, "coordinates": _coordinates(robot),
        "tip": _tip(scene), "forces": [{"spot": [body, *point]} for body, point in map(scene.spot, frames)],
        "force_scale": scales[0], "moment_scale": scales[1], "runs": [run.as_dict() for run in runs],
    }  # fmt: skip


def _extents(scene: Scene, run: _Run) -> Array:
    """Corners around all that is drawn at every frame, (frames, 2, 3); the ground of what floats is no part of it."""
    first = min(int(floats(scene.robot)), len(scene.links) - 1)
    spots = {spot for a, b, _ in scene.rods for spot in (a, b)} | {
        (k, (0.0, 0.0, 0.0)) for k in range(len(scene.links))
    }
    chosen = sorted(spot for spot in spots if spot[0] >= first)
    body, point = np.array([spot[0] for spot in chosen]), np.array([spot[1] for spot in chosen])
    origin, x, y = (run.poses[:, body, k : k + 3] for k in (0, 3, 6))
    found = origin + x * point[:, :1] + y * point[:, 1:2] + np.cross(x, y) * point[:, 2:]
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


def _json(data: object) -> Markup:
    """JSON that no text in it can end: in a script element nothing else than "<" could."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@functools.cache
def _script() -> str:
    """What runs in the page: one text, so that the page can name its hash and allow nothing else."""
    room = resources.files("neuler.view")
    return "".join((room / name).read_text(encoding="utf-8") for name in ("player.js", "player_page.js"))


SPEEDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10)
"""Of playing, to choose from."""


def _body(robot: Robot, title: str, lost: int, data: dict[str, Any], speed: float) -> Markup:
    first = min(SPEEDS, key=lambda x: abs(np.log(x / speed)))
    speeds = [Markup(f'<option value="{x}"{" selected" if x == first else ""}>{x} x</option>') for x in SPEEDS]
    boxes = [("repeat", "repeat", True), ("trace", "path of the tip", not floats(robot)), ("names", "names", False),
             ("masses", "centres of mass", False), ("follow", "follow", data["away"])]  # fmt: skip
    ticks = [tag("label", Markup(f'<input type="checkbox" id="{key}"{" checked" if on else ""}>'), f" {text}")
             for key, text, on in boxes]  # fmt: skip
    controls = [
        tag("button", "Play", id="play", type="button"),
        Markup('<input type="range" id="slider" min="0" max="1" step="0.001" value="0" aria-label="time">'),
        tag("output", "", id="time"),
        tag("label", "speed ", tag("select", *speeds, id="speed")),
        tag("label", "run ", tag("select", id="run"), id="runs"),
        tag("button", "Reset view", id="view", type="button"),
        *ticks,
    ]
    lines = [robot.name, count(len(robot.links), "link"), degrees(robot.nv)]
    if lost:
        lines.append(f"{count(lost, 'run')} without a finite state left out")
    values = tag("table", tag("tbody", id="values"), cls="values")
    hint = "Drag to turn, wheel or pinch to zoom, Shift and drag to move, double-click for the first view; "
    hint += "space plays, arrow keys step."
    return join([
        tag("h1", title), tag("p", ", ".join(lines), cls="lead"),
        tag("div", tag("canvas", id="canvas", role="img", **{"aria-label": f"{robot.name} in motion"}),
            tag("div", values, cls="side", tabindex="0"), cls="stage"),
        tag("div", join(controls), cls="controls"), tag("p", id="note", cls="stop", hidden="hidden"),
        tag("p", hint, cls="note"), tag("noscript", "This page needs JavaScript to move."),
        Markup(f'<script type="application/json" id="motion">{_json(data)}</script>'),
    ])  # fmt: skip


_STYLE = """
.stage { display: flex; flex-wrap: wrap; gap: .8rem; margin: .8rem 0; }
canvas { flex: 1 1 34rem; min-width: 0; width: 100%; height: min(66vh, 46rem); min-height: 18rem; display: block;
  border: 1px solid var(--line); border-radius: 6px; touch-action: none; cursor: grab; background: #fcfcfd; }
canvas:active { cursor: grabbing; }
.side { flex: 0 0 auto; max-height: min(66vh, 46rem); overflow: auto; padding-right: 1rem; }
.values td { padding: .12rem .5rem .12rem 0; text-align: left; } .values td:nth-child(2) { text-align: right; }
.controls { display: flex; flex-wrap: wrap; align-items: center; gap: .45rem 1rem; font: .88rem/1.4 ui-sans-serif,
  system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.controls input[type=range] { flex: 1 1 14rem; accent-color: var(--accent); }
.controls output { font-variant-numeric: tabular-nums; min-width: 9.5rem; }
button { font: inherit; min-width: 4.6rem; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: 5px;
  background: #f4f6f8; color: var(--ink); cursor: pointer; }
.stop { border-left: 4px solid #d97706; padding-left: .8rem; overflow-wrap: anywhere; }
"""

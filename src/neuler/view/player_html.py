"""The player's page: its controls, what is said beside them, its script and its style."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

import numpy as np

from neuler.plain import count, degrees, number
from neuler.robot import Robot
from neuler.view.html import Markup, join, tag
from neuler.view.poses import floats


def json_markup(data: object) -> Markup:
    """JSON that no text in it can end: in a script element nothing else than "<" could."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


_SCRIPTS = ("player.js", "player_limbs.js", "player_ground.js", "player_charts.js", "player_steer.js", "player_page.js")


@functools.cache
def script(names: tuple[str, ...] = _SCRIPTS) -> str:
    """What runs in the page: one text, so that the page can name its hash and allow nothing else."""
    room = resources.files("neuler.view")
    return "".join((room / name).read_text(encoding="utf-8") for name in names)


SPEEDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10)
"""Of playing, to choose from."""


def body(robot: Robot, title: str, lost: int, data: dict[str, Any], speed: float) -> Markup:
    """All that is seen, and the data of the motion; ``lost``: runs that are left out."""
    first = min(SPEEDS, key=lambda x: abs(np.log(x / speed)))
    speeds = [Markup(f'<option value="{x}"{" selected" if x == first else ""}>{x} x</option>') for x in SPEEDS]
    boxes = [("repeat", "repeat", True), ("follow", "follow", data["away"])]
    if data["ground"]:
        boxes += [("pushes", "forces", True), ("steps", "footprints", True)]
    if data["limbs"]:
        boxes += [("bones", "skeleton", False)]
    rods = not data["limbs"]
    boxes += [("trace", "path of the tip", rods and not floats(robot)), ("names", "names", False),
              ("masses", "centres of mass", False)]  # fmt: skip
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
    side: list[Markup] = [values]
    if data["charts"]:
        side = [*map(_chart, data["charts"]), tag("details", tag("summary", "all coordinates"), values)]
    hint = "Drag to turn, wheel or pinch to zoom, Shift and drag to move, double-click for the first view; "
    hint += "space plays, arrow keys step."
    return join([
        tag("h1", title), tag("p", ", ".join(lines), cls="lead"),
        tag("div", tag("canvas", id="canvas", role="img", **{"aria-label": f"{robot.name} in motion"}),
            tag("div", join(side), cls="side", tabindex="0"), cls="stage"),
        tag("div", join(controls), cls="controls"), *_legend(data["ground"]),
        tag("p", id="note", cls="stop", hidden="hidden"),
        tag("p", hint, cls="note"), tag("noscript", "This page needs JavaScript to move."),
        Markup(f'<script type="application/json" id="motion">{json_markup(data)}</script>'),
    ])  # fmt: skip


def _chart(chart: dict[str, Any]) -> Markup:
    """Place for a chart, and what its curves are."""
    key = join([_key(curve["colour"], curve["name"]) for curve in chart["curves"]], " ")
    title = tag("figcaption", f"{chart['title']}, {chart['unit']} ", tag("span", key, cls="names"))
    return tag("figure", title, tag("canvas", cls="chart", role="img", **{"aria-label": chart["title"]}), cls="panel")


def _legend(ground: dict[str, Any] | None) -> list[Markup]:
    """What is drawn on the ground, and how long arrows are."""
    if not ground:
        return []
    weight = f"{number(ground['scale'])} m for one body weight ({number(ground['weight'], 4)} N)"
    parts = [
        _key("#c2410c", f"force of the ground on each foot, at its centre of pressure: {weight}"),
        _key("#111827", "zero-moment point and its path"),
        *(_key(foot["colour"], foot["name"]) for foot in ground["feet"]),
    ]
    return [tag("p", join(parts), cls="key")]


def _key(colour: str, text: str) -> Markup:
    return tag("span", tag("i", style=f"background:{colour}"), text)


CONTROLS = """
.controls { display: flex; flex-wrap: wrap; align-items: center; gap: .45rem 1rem; font: .88rem/1.4 ui-sans-serif,
  system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.controls input[type=range] { flex: 1 1 14rem; accent-color: var(--accent); }
.controls output { font-variant-numeric: tabular-nums; min-width: 9.5rem; }
button { font: inherit; min-width: 4.6rem; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: 5px;
  background: #f4f6f8; color: var(--ink); cursor: pointer; }
.stop { border-left: 4px solid #d97706; padding-left: .8rem; overflow-wrap: anywhere; }
"""
"""Of buttons, boxes and notes."""
STYLE = (
    CONTROLS
    + """
.stage { display: flex; flex-wrap: wrap; gap: .8rem; margin: .8rem 0; }
#canvas { flex: 1 1 34rem; min-width: 0; width: 100%; height: min(66vh, 46rem); min-height: 18rem; display: block;
  border: 1px solid var(--line); border-radius: 6px; touch-action: none; cursor: grab; background: #fcfcfd; }
#canvas:active { cursor: grabbing; }
.side { flex: 0 0 auto; max-height: min(66vh, 46rem); overflow: auto; padding-right: 1rem; }
.panel { margin: 0 0 .5rem; } .panel figcaption { font-weight: 600; font-size: .78rem; }
.panel .names { font-weight: 400; color: var(--soft); margin-left: .4rem; }
.panel i { display: inline-block; width: .7em; height: .7em; margin: 0 .3em 0 .5em; }
.chart { display: block; width: 21rem; max-width: 100%; height: clamp(4.4rem, 11vh, 6.7rem); cursor: crosshair;
  touch-action: none; }
.side summary { font: .82rem/1.6 ui-sans-serif, system-ui, sans-serif; color: var(--soft); cursor: pointer; }
.values td { padding: .12rem .5rem .12rem 0; text-align: left; } .values td:nth-child(2) { text-align: right; }
"""
)

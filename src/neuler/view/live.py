"""A part of the report in which the reader moves the joints and sees the pose and the forces that hold it still.

Poses and forces are one function, exported as WebAssembly and held in the page: nothing is loaded, nothing is sent.
"""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.functions.function import function
from neuler.plain import shown
from neuler.robot import Robot
from neuler.view.html import Markup, join, tag
from neuler.view.limbs import limbs_of
from neuler.view.motors import stiffened
from neuler.view.player import page_data
from neuler.view.player_html import json_markup, script
from neuler.view.player_runs import Extra, Run
from neuler.view.sample_motion import bounds, sample_motion
from neuler.view.scene import Scene

Array = NDArray[np.float64]

DATA = '<script type="application/json" id="live-data">'
"""What begins the data of this part, which no text of a robot can be."""
MANY = 64
"""Velocities up to which a robot is shown: of more the module would be large."""
_WAY = 61
"""Positions of robots with loops along their test motion."""
_FORCES = {"rad": "N m", "m": "N"}
_LOOKS = 24
"""Positions that the first view shows as a whole."""


def live(robot: Robot) -> Markup:
    """The part, with sliders for all coordinates that are free; of robots with loops, one along the test motion.

    Nothing of robots that do not move; a note on those of which forces are not defined.
    """
    robot = stiffened(robot)
    if not 0 < robot.nv <= MANY:
        return join([])
    try:
        data = _data(robot)
    except NeulerError as error:
        return join([tag("h2", TITLE), tag("p", f"Not here: {error}", cls="note")])
    if not data["path"] and not any("lower" in row for row in data["rows"]):
        return join([])
    return _markup(robot, data)


TITLE = "Move the joints"


def page_script() -> str:
    """What runs in a page that has this part."""
    return script(("player.js", "player_limbs.js", "player_ground.js", "player_steer.js", "live_drag.js", "live.js"))


# ---- data ----------------------------------------------------------------------------------------------------------


def _at_rest(robot: Robot) -> str:
    """What of forces is shown: those of motors where these hold all loops, else of the robot's own coordinates."""
    whole = robot.loops and robot.mobility.driven == robot.mobility.freedoms
    return "inverse_dynamics" if whole else "gravity_force"


def _data(robot: Robot) -> dict[str, Any]:
    scene, first = Scene.of(robot), robot.neutral()
    rows, motion = _rows(robot), sample_motion(robot)
    way = motion.q[np.linspace(0, len(motion.q) - 1, _WAY).round().astype(int)] if robot.loops else first[None]
    seen = way if robot.loops else np.vstack([first, _within(rows, first)])
    limbs = limbs_of(robot)
    box = Run.of(scene, np.arange(float(len(seen))), seen, np.zeros((len(seen), 0, 6)), 2.0)
    pose = Run.of(scene, np.zeros(1), first[None], np.zeros((1, 0, 6)), 1.0)
    found = page_data(scene, [box], [], limbs, Extra(None, (), None))
    return {
        **found, "runs": [pose.as_dict()], "rows": rows, "first": _packed(first),
        "path": _packed(way) if robot.loops and motion.moves else "", "wasm": b64encode(_module(robot, scene)).decode(),
    }  # fmt: skip


def _packed(values: Array) -> str:
    return b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _within(rows: list[dict[str, Any]], first: Array) -> Array:
    """Positions at random places of the sliders; where there are many, near the first one."""
    found = np.tile(first, (_LOOKS, 1))
    for k, row in enumerate(row for row in rows if "lower" in row):
        shares = np.random.default_rng(k).uniform(size=_LOOKS)
        near = min(1.0, 6.0 / len(rows))
        found[:, row["place"]] += near * (row["lower"] - first[row["place"]])
        found[:, row["place"]] += near * shares * (row["upper"] - row["lower"])
    return found


def _module(robot: Robot, scene: Scene) -> bytes:
    """(q) -> origin, x and y of every body, and the forces: in double precision."""
    links, still = list(scene.links), np.zeros(robot.nv)

    def law(q: Any) -> Any:
        poses = np.asarray(robot.link_poses(q))[links]
        frames = np.concatenate([poses[:, :3, 3], poses[:, :3, 0], poses[:, :3, 1]], axis=-1)
        forces = (
            robot.gravity_force(q) if _at_rest(robot) == "gravity_force" else robot.inverse_dynamics(q, still, still)
        )
        return frames, forces

    made = function(law, {"q": robot.nq}, ["poses", "forces"], name="live")
    return made.wasm("live").binary


def _rows(robot: Robot) -> list[dict[str, Any]]:
    """Of every force: its name and unit, the number of the position that belongs to it, and the slider's range."""
    table = robot.coordinates
    names, units = table.names("q", " "), table.units("q")
    kernel = robot.inverse_dynamics if _at_rest(robot) == "inverse_dynamics" else robot.gravity_force
    numbers = table.active if _at_rest(robot) == "inverse_dynamics" else table.independent
    owners, bodies = table.owners("qd", every=True), Scene.of(robot).links
    size = float(np.ptp(np.array([x.placement.translation for x in robot.joints]), axis=0).max()) or 1.0
    rows = []
    for number, (label, unit) in zip(numbers, kernel._labels(kernel.outputs[0]), strict=True):
        entry = owners[number]
        row: dict[str, Any] = {"name": shown(label), "unit": "", "forceUnit": unit}
        k = number - entry.v.start
        if entry.quaternion is None and entry.nq == entry.nv:
            place = entry.q.start + k
            row |= {"name": shown(names[place]), "unit": units[place], "place": place}
            row["forceUnit"] = unit or _FORCES[units[place]]
            effort = entry.joint.limits.effort
            if entry.nv == 1 and 0.0 < effort < math.inf:
                row["limit"] = effort
            if not robot.loops:
                here = float(robot.neutral()[row["place"]])
                row["lower"], row["upper"] = _range(robot, entry.joint, k, here, size)
                row["body"] = bodies.index(robot.joints.index(entry.joint) + 1)
                row["round"] = _goes_round(robot, entry.joint, k)
        rows.append(row)
    return rows


_FAR = 100.0
"""Limits beyond so many half turns, or sizes of the robot, are none."""


def _range(robot: Robot, joint: Any, part: int, here: float, size: float) -> tuple[float, float]:
    """Of a slider: the joint's limits, where there are some that make sense; else half a turn, or the robot's size."""
    usual = math.pi if joint.type.turns[part] else size
    lower, upper = bounds(joint) if joint.nv == 1 else (-math.inf, math.inf)
    lower = lower if lower > -_FAR * usual else here - usual
    upper = upper if upper < _FAR * usual else here + usual
    return (lower, upper) if lower < upper else (here - usual, here + usual)


def _goes_round(robot: Robot, joint: Any, part: int) -> bool:
    """Whether a whole turn leads back to the same pose and forces, and no limit is in the way."""
    free = joint.nv > 1 or not np.isfinite(bounds(joint)).any()
    return bool(free and joint.type.turns[part] and not (joint.type.has_pitch or joint.stiffness or robot.couplings))


# ---- page ----------------------------------------------------------------------------------------------------------


def _markup(robot: Robot, data: dict[str, Any]) -> Markup:
    motors = _at_rest(robot) == "inverse_dynamics"
    against = "gravity and springs" if any(joint.stiffness for joint in robot.joints) else "gravity"
    told = f"{'Forces of the motors' if motors else 'Forces'} that hold the robot still against {against}, computed in "
    told += "this page by WebAssembly, offline. "
    left = [row["name"] for row in data["rows"] if "lower" not in row]
    if robot.loops:
        told += "Loops stay closed: the slider, and what is dragged, goes along the test motion."
    elif left:
        told += "Ball joints and a free base have no slider: their orientation is not a single number."
    if robot.couplings:
        told += " Coupled joints follow."
    head = ("coordinate", "", "position", "", "motor force" if motors else "holding force", "", "")
    table = tag(
        "table",
        tag("thead", tag("tr", *(tag("th", x, scope="col") for x in head))),
        tag("tbody", id="live-rows"),
    )
    slider = f'<input type="range" id="live-way" min="0" max="{_WAY - 1}" step="1" value="0" aria-label="test motion">'
    way = [tag("label", "test motion ", Markup(slider), cls="way")] if data["path"] else []
    boxes = [("names", "names"), ("masses", "centres of mass")]
    ticks = [tag("label", Markup(f'<input type="checkbox" id="live-{key}">'), f" {text}") for key, text in boxes]
    controls = [tag("button", "First pose", id="live-reset", type="button"),
                tag("button", "Reset view", id="live-view", type="button"), *ticks]  # fmt: skip
    bar = "A bar ends at the joint's limit of force where there is one, else at the largest force of many poses. "
    hint = "Drag a link or a joint to move it; "
    hint += "drag beside the robot to turn the picture, Shift and drag to move it, Ctrl and wheel to zoom."
    canvas = tag("canvas", id="live-canvas", role="img", **{"aria-label": f"{robot.name}, to be moved"})
    return tag("section", join([
        tag("h2", TITLE), tag("p", told),
        tag("div", canvas, tag("div", *way, table, cls="moves", tabindex="0"), cls="live"),
        tag("div", *controls, cls="controls"), tag("p", bar, hint, cls="note"),
        tag("p", id="live-note", cls="stop", hidden="hidden"), tag("noscript", "This part needs JavaScript."),
        Markup(f"{DATA}{json_markup(data)}</script>"),
    ]), cls="screen")  # fmt: skip


STYLE = """
.live { display: flex; flex-wrap: wrap; gap: .8rem 1.2rem; margin: .8rem 0; align-items: flex-start; }
#live-canvas { flex: 1 1 20rem; min-width: 0; width: 100%; height: 26rem; display: block; border: 1px solid var(--line);
  border-radius: 6px; touch-action: pan-y; cursor: move; background: #fcfcfd; }
#live-canvas[data-hand=over] { cursor: grab; } #live-canvas[data-hand=holds] { cursor: grabbing; }
.moves tr.lit th[scope=row] { color: #2563eb; font-weight: 600; }
.moves { flex: 1 1 31rem; min-width: 0; max-height: 26rem; overflow: auto; }
.moves table { width: 100%; } .moves th[scope=row] { color: var(--ink); font-weight: 400; text-align: left;
  border: 0; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; }
.moves thead th { position: sticky; top: 0; background: #fff; z-index: 1; text-align: right; }
.moves thead th:first-child { text-align: left; }
.moves th, .moves td { padding: .2rem .3rem; } .moves td:nth-child(3), .moves td:nth-child(5) { text-align: right;
  min-width: 3.6rem; } .moves td:nth-child(4), .moves td:nth-child(6) { color: var(--soft); }
.moves td:nth-child(2) { width: 40%; } .moves input[type=range] { width: 100%; min-width: 7rem; margin: 0;
  vertical-align: middle; accent-color: var(--accent); }
.moves td:last-child { min-width: 3.6rem; position: relative; }
.moves td:last-child::before { content: ""; position: absolute; left: 50%; top: .2rem; bottom: .2rem;
  border-left: 1px solid var(--line); }
.moves td:last-child span { position: absolute; top: .5rem; height: .55rem; background: #5b7086; border-radius: 1px; }
.moves td:last-child span.over { background: #b91c1c; }
.way { display: flex; gap: .6rem; align-items: center; font: .84rem/1.4 ui-sans-serif, system-ui, sans-serif; }
.way input { flex: 1; } .way { margin-bottom: .5rem; white-space: nowrap; }
@media (max-width: 40rem) { #live-canvas { height: 18rem; flex-basis: 100%; } .moves { max-height: 22rem; }
  .moves th, .moves td { padding: .2rem .15rem; } .moves thead th { white-space: normal; }
  .moves th[scope=row] { max-width: 5.5rem; } .moves input[type=range] { min-width: 4rem; }
  .moves td:nth-child(3), .moves td:nth-child(5) { min-width: 3rem; } .moves td:last-child, .moves th:last-child {
  display: none; } }
@media print { .screen { display: none; } }
"""

"""Pictures and pages of a motion: the robot at many instants, curves with their limits, a player."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.motions.continued import Laps, laps
from neuler.motions.feet import charts_of, footing_of
from neuler.motions.samples import Samples, units_of
from neuler.plain import number
from neuler.robot import Robot
from neuler.robots.limbs import Limb
from neuler.view.html import Markup, join, pictures, tag
from neuler.view.motion_figures import Panel, curves_figure, overview_figure, stroboscope
from neuler.view.notebook import motion_html
from neuler.view.player import FPS, Inline, play, player
from neuler.view.space import svg

if TYPE_CHECKING:
    from neuler.motions.motion import Motion

Array = NDArray[np.float64]
SHOWN = (
    ("tau", "torque", "forces"), ("tau_rate", "torque_rate", "force rates"), ("q", "position", "positions"),
    ("qd", "velocity", "velocities"), ("qdd", "acceleration", "accelerations"),
    ("force", "joint_force", "internal joint forces"),
)  # fmt: skip
"""Arrays of samples, the measures whose limits are drawn beside them, and titles."""
_COUNT = 601
"""Moments of a curve."""
_NOTHING = 2e-4
"""Internal forces (N) that are rounding."""
_SHORT = 2.0
"""Seconds that a page takes for a motion, at least."""
_TOLD = 6
"""Lines that a notebook shows."""


def driven(robot: Robot) -> Array:
    """One for the forces of tau that a motor gives, else zero, (nu,)."""
    return np.array([float(entry.joint.role == "driven") for entry in robot.coordinates.owners("tau")])


def panels(motion: Motion, samples: Samples) -> dict[str, list[Panel]]:
    """By measure: a panel for every unit."""
    found: dict[str, list[Panel]] = {}
    for array, measure, title in SHOWN:
        values, names = getattr(samples, array), [name.removeprefix(f"{array}_") for name in samples.names[array]]
        if not names:
            continue
        lower, upper = limits(motion, measure, names)
        units = units_of(motion.robot, array, len(names))
        hidden = _hidden(motion.robot, array, values)
        for unit in dict.fromkeys(units):
            own = [k for k, other in enumerate(units) if other == unit and k not in hidden]
            if not own:
                continue
            torque = array.startswith("tau") and unit.startswith("N m")
            panel = Panel(
                title.replace("force", "torque") if torque else title,
                unit,
                values[:, own],
                [names[k] for k in own],
                lower[own],
                upper[own],
            )
            found.setdefault(measure, []).append(panel)
    return found


def _hidden(robot: Robot, array: str, values: Array) -> set[int]:
    """Numbers that are not drawn: positions of joints in loops that are neither the robot's own nor driven, forces
    of joints without a motor, joints without internal forces."""
    if array.startswith("tau"):
        return set(np.flatnonzero(driven(robot) == 0.0).tolist())
    if array == "force":
        return set(np.flatnonzero(np.abs(values).max(axis=0) < _NOTHING).tolist())
    if array != "q" or not robot.loops:
        return set()
    table = robot.coordinates
    shown = {*robot.active_names, *(entry.name for entry in table.owners("qd"))}
    return {k for entry in table if entry.name not in shown for k in entry.positions}


def limits(motion: Motion, measure: str, names: list[str]) -> tuple[Array, Array]:
    """Lower and upper numbers of a measure for names, the tightest of those that hold all the time."""
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    near = 1e-9 * motion.duration
    for bound in motion.bounds:
        if bound.name == measure and bound.when[0] <= near and bound.when[1] >= motion.duration - near:
            for label, low, high in zip(bound.labels, bound.lower, bound.upper, strict=True):
                if label in names:
                    k = names.index(label)
                    lower[k], upper[k] = max(lower[k], low), min(upper[k], high)
    return lower, upper


def _inner(motion: Motion) -> list[float]:
    """Times at which a phase meets the next."""
    return [float(x) for x in motion.breaks[1:-1]]


def overview(motion: Motion, poses: int, figure: Any) -> Any:
    """One figure of all, drawn into the one that is given, or into a new one."""
    samples = motion.sample(count=_COUNT)
    every = panels(motion, samples)
    chosen = [panel for measure, group in every.items() if measure != "acceleration" for panel in group]
    if len(chosen) % 2:
        chosen[-1:] = [*chosen[-1:], *every["acceleration"][:1]]
    return overview_figure(
        samples.t, chosen, motion.robot, samples.q, breaks=_inner(motion), poses=poses, scenery=motion.scenery,
        title=f"{motion.robot.name}: {motion.headline}", figure=figure,
    )  # fmt: skip


def figures(motion: Motion, poses: int = 9) -> dict[str, Any]:
    """One figure a measure, and the motion; by name."""
    samples = motion.sample(count=_COUNT)
    found: dict[str, Any] = {}
    for measure, group in panels(motion, samples).items():
        found[measure] = curves_figure(samples.t, group, _inner(motion))
    found["motion"] = stroboscope(motion.robot, samples.q, poses, scenery=motion.scenery).figure
    return found


def _played(motion: Motion, speed: float | None, limbs: Sequence[Limb] | None) -> tuple[Array, Array, dict[str, Any]]:
    """Times, positions and options of a player; with contacts also forces of the ground, and laps of what repeats."""
    rate = min(1.0, motion.duration / _SHORT) if speed is None else speed
    count = int(min(max(motion.duration * FPS / max(rate, 1e-6), 101), 2001))
    t = np.linspace(0.0, motion.duration, count)
    warning = "" if getattr(motion, "valid", True) else "This motion is not valid: it passes limits."
    options: dict[str, Any] = {"notes": warning, "limbs": limbs}
    if not motion.contact_frames:
        q = motion.asked(lambda times: motion.evaluate(times, 0)[0], t)
        return t, q, {**options, "fps": FPS / rate, "speed": rate}
    lap = laps(motion, t)
    if lap is None:
        lap = Laps(t, motion.asked(lambda times: motion.evaluate(times, 0)[0], t), motion.contact_loads(t), None)
    footing = footing_of(motion.robots[0], lap.q, lap.loads, motion.ground)
    charts = charts_of(motion.robot, lap.q, footing)
    if speed is None:
        rate = min(1.0, float(lap.t[-1]) / _SHORT)
    options |= {"fps": FPS / rate, "speed": rate}
    return lap.t, lap.q, {**options, "footing": footing, "charts": charts, "shift": lap.shift}


def write_page(
    motion: Motion, path: str | os.PathLike[str], title: str | None, speed: float | None, limbs: Sequence[Limb] | None
) -> None:
    """The page of :meth:`Motion.page`."""
    t, q, options = _played(motion, speed, limbs)
    play(motion.robot, t, q, path, title=title or f"{motion.robot.name}: motion", below=_below(motion), **options)


def inline(motion: Motion, height: int, speed: float | None = None) -> Inline:
    """The player inside a notebook."""
    t, q, options = _played(motion, speed, None)
    return Inline(player(motion.robot, t, q, title=f"{motion.robot.name}: motion", **options), height)


def html(motion: Motion) -> str:
    """For notebooks: what is known, a picture, the ranges of positions, velocities and forces, and a player."""
    samples = motion.sample(count=_COUNT)
    first, *told = motion.facts
    arrays = [(name, samples.names[name], getattr(samples, name)) for name in ("q", "qd", "tau")]
    table = ranges(
        (label, unit, values[:, k])
        for name, labels, values in arrays
        for k, (label, unit) in enumerate(zip(labels, units_of(motion.robot, name, len(labels)), strict=True))
    )
    facts = first.partition(": ")[2] or first
    return motion_html(
        motion.robot, samples.q, facts, list(told)[:_TOLD], table, inline(motion, 620), scenery=motion.scenery
    )


def ranges(rows: Iterable[tuple[str, str, Array]]) -> list[tuple[str, ...]]:
    """A table: names, units and values over time to the least and the largest of each."""
    found: list[tuple[str, ...]] = [("", "least", "most", "unit")]
    for label, unit, values in rows:
        part = values[np.isfinite(values)]
        low, high = (number(float(x), 4) for x in (part.min(), part.max())) if len(part) else ("", "")
        found.append((label, low, high, unit))
    return found


def _below(motion: Motion) -> Markup:
    """Words and curves under the player."""
    words = tag("pre", join(motion.facts))
    shown = []
    try:
        samples = motion.sample(count=_COUNT)
        for measure, group in panels(motion, samples).items():
            if measure != "acceleration":
                shown.append((group[0].title, svg(curves_figure(samples.t, group, _inner(motion)))))
    except NeulerError as error:
        if "matplotlib" not in str(error):
            raise
        return join([tag("h2", "What came out"), words])
    return join([tag("h2", "What came out"), words, tag("h2", "Curves"), pictures(shown, "poses")])

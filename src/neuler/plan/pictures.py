"""Pictures and pages of a plan: what is drawn of it, with limits beside what they limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.plan.replay import driven
from neuler.plan.samples import Samples, units_of
from neuler.robot.columns import slots
from neuler.view.html import Markup, join, pictures, tag
from neuler.view.plans import Panel, curves_figure, overview_figure, stroboscope, verdict
from neuler.view.player import FPS, play
from neuler.view.space import svg

if TYPE_CHECKING:
    from neuler.plan.planned import Planned

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
"""Inner forces (N) that are rounding."""
_SHORT = 2.0
"""Seconds that a page takes for a motion, at least."""


def panels(planned: Planned, samples: Samples) -> dict[str, list[Panel]]:
    """By measure: a panel for every unit."""
    found: dict[str, list[Panel]] = {}
    for array, measure, title in SHOWN:
        values, names = getattr(samples, array), [name.removeprefix(f"{array}_") for name in samples.names[array]]
        if not names:
            continue
        lower, upper = limits(planned, measure, names)
        units = units_of(planned.robot, array, len(names))
        hidden = _hidden(planned, array, values)
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


def _hidden(planned: Planned, array: str, values: Array) -> set[int]:
    """Numbers that are not drawn: positions of joints in loops that are neither the robot's own nor driven, forces
    of joints without a motor, joints without inner forces."""
    robot = planned.robot
    if array.startswith("tau"):
        return set(np.flatnonzero(driven(robot) == 0.0).tolist())
    if array == "force":
        return set(np.flatnonzero(np.abs(values).max(axis=0) < _NOTHING).tolist())
    if array != "q" or not robot.loops:
        return set()
    owners = [joint.name for joint in robot.moving_joints for _ in range(joint.nv)]
    shown = {*robot.active_names, *(owners[k] for k in robot.mobility.choice.independent)}
    return {q + k for joint, q, _ in slots(robot) if joint.name not in shown for k in range(joint.nq)}


def limits(planned: Planned, measure: str, names: list[str]) -> tuple[Array, Array]:
    """Lower and upper numbers of a measure for names, the tightest of all bounds."""
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for bound in planned.bounds:
        if bound.name == measure:
            for label, low, high in zip(bound.labels, bound.lower, bound.upper, strict=True):
                if label in names:
                    k = names.index(label)
                    lower[k], upper[k] = max(lower[k], low), min(upper[k], high)
    return lower, upper


def _inner(planned: Planned) -> list[float]:
    return [float(x) for x in planned.motion.breaks[1:-1]]


def _title(planned: Planned) -> str:
    return f"{planned.robot.name}: {verdict(planned.duration, planned.valid, planned.optimal)}"


def overview(planned: Planned, poses: int, figure: Any) -> Any:
    """One figure of all, drawn into the one that is given, or into a new one."""
    samples = planned.sample(count=_COUNT)
    every = panels(planned, samples)
    chosen = [panel for measure, group in every.items() if measure != "acceleration" for panel in group]
    if len(chosen) % 2:
        chosen[-1:] = [*chosen[-1:], *every["acceleration"][:1]]
    return overview_figure(
        samples.t, chosen, planned.robot, samples.q, breaks=_inner(planned), poses=poses, scenery=planned.scenery,
        title=_title(planned), figure=figure,
    )  # fmt: skip


def figures(planned: Planned, poses: int = 9) -> dict[str, Any]:
    """One figure a measure, and the motion; by name."""
    samples = planned.sample(count=_COUNT)
    found: dict[str, Any] = {}
    for measure, group in panels(planned, samples).items():
        found[measure] = curves_figure(samples.t, group, _inner(planned))
    found["motion"] = stroboscope(planned.robot, samples.q, poses, scenery=planned.scenery).figure
    return found


def write_page(planned: Planned, path: str | os.PathLike[str], title: str | None, speed: float | None) -> None:
    """See :meth:`Planned.page`."""
    rate = min(1.0, planned.duration / _SHORT) if speed is None else speed
    samples = planned.sample(count=int(min(max(planned.duration * FPS / rate, 101), 2001)))
    heading = title or f"{planned.robot.name}: planned motion"
    play(
        planned.robot, samples.t, samples.q, path, title=heading, fps=FPS / rate, speed=rate,
        notes="" if planned.valid else "This plan is not valid: it passes limits.", below=_below(planned),
    )  # fmt: skip


def _below(planned: Planned) -> Markup:
    """Words and curves under the player."""
    samples = planned.sample(count=_COUNT)
    words = tag("pre", join(str(planned).splitlines()))
    shown = []
    try:
        for measure, group in panels(planned, samples).items():
            if measure != "acceleration":
                shown.append((group[0].title, svg(curves_figure(samples.t, group, _inner(planned)))))
    except Exception as error:
        if "matplotlib" not in str(error):
            raise
        return join([tag("h2", "What came out"), words])
    return join([tag("h2", "What came out"), words, tag("h2", "Curves"), pictures(shown, "poses")])

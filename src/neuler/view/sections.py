"""Sections that the reports on robots and on machines share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.bench import Bench, machine
from neuler.robot import Robot
from neuler.robot.doctor import Finding
from neuler.view import text
from neuler.view.charts import force_figure
from neuler.view.html import Markup, escape, join, page, pictures, table, tag
from neuler.view.space import svg

Array = NDArray[np.float64]

PANELS = 12
"""Joints whose force is drawn; of more joints, those with the largest."""


def heading(name: str, lead: str, facts: Sequence[tuple[str, object]]) -> Markup:
    """Name, and facts at a glance."""
    entries = [tag("div", tag("dt", what), tag("dd", value)) for what, value in facts]
    return join([tag("h1", name), tag("p", lead, cls="lead"), tag("dl", *entries, cls="facts")])


def poses(images: Iterable[tuple[str, bytes]], marks: Sequence[tuple[str, str]]) -> Markup:
    """Pictures, and the key to their colours."""
    key = [tag("span", tag("i", style=f"background:{colour}"), name) for colour, name in marks]
    return join([tag("h2", "Poses"), pictures(images, "poses"), tag("div", *key, cls="key")])


def tree(robot: Robot) -> Markup:
    """The kinematic tree."""
    lines = "\n".join(escape(line) for line in text.tree(robot).split("\n"))
    return join([tag("h2", "Kinematic tree"), tag("pre", Markup(lines))])


def findings(found: Sequence[Finding]) -> Markup:
    """What the doctor found."""
    items = [
        tag("li", tag("b", finding.severity), f" · {finding.subject}: {finding.message}", cls=finding.severity)
        for finding in found
    ]
    body = tag("ul", *items, cls="findings") if items else tag("p", "Nothing to report: the robot is healthy.")
    return join([tag("h2", "Findings of the doctor"), body])


def parameters(robot: Robot) -> Markup:
    """Tables of masses and joints."""
    units = "Inertia about the mass centre in the axes of its link; an empty limit does not exist. "
    units += "Friction and rotor inertia at the joint, behind the gear. Units: kg, m, rad, s, N, N m."
    units += f" {text.FREE}" if robot.nq != robot.nv else ""
    link_head = ("link", "mass", "mass centre", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    parts = [tag("h2", "Masses"), table(link_head, text.link_rows(robot))]
    if robot.nv:
        parts += [tag("h2", "Joints"), table(text.joint_head(robot), text.joint_rows(robot), left=2)]
    return join([*parts, tag("p", units, cls="note")])


@dataclasses.dataclass(frozen=True)
class Force:
    """One force along a motion: where its joint starts and ends, what standing still takes of it, its limit."""

    name: str
    unit: str
    ends: tuple[float, float] | None
    force: Array
    still: Array
    limit: float = np.inf


def forces(title: str, told: str, times: Array, found: Sequence[Force], still: str) -> Markup:
    """Curves of the largest forces, and a table of all; ``still`` names what the dashed curve is."""
    peaks = np.array([np.abs(one.force).max() for one in found])
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:PANELS])
    images = [
        (found[k].name, svg(force_figure(times, found[k].force, found[k].still, found[k].unit)))
        for k in drawn.tolist()
    ]  # fmt: skip
    if len(drawn) < len(found):
        told += f" Drawn: the {len(drawn)} joints with the largest forces of {len(found)}."
    rows = []
    for one, peak in zip(found, peaks.tolist(), strict=True):
        used = f"{peak / one.limit:.0%}" if 0.0 < one.limit < np.inf else ""
        held = float(np.abs(one.still).max())
        held = held if held > 1e-12 * float(peaks.max()) else 0.0
        ends = [text.number(x, 4) for x in one.ends] if one.ends else ["", ""]
        rows.append([
            one.name, *ends, text.number(peak, 4), text.number(float(np.sqrt(np.mean(one.force**2))), 4),
            text.number(held, 4), one.unit, text.number(one.limit, 4), used,
        ])  # fmt: skip
    head = ("joint", "from", "to", "peak", "rms", f"peak of {still}", "unit", "limit", "peak / limit")
    return join([tag("h2", title), tag("p", told), pictures(images, "panels"), table(head, rows)])


def speed(bench: Bench) -> Markup:
    """Operations and times."""
    head = ("quantity", "mul", "add", "div", "trig", "compile, s", "one call, µs", f"batch of {bench.batch}, ns/state")
    rows = []
    for one in bench.measurements:
        if one.operations is None:
            rows.append([one.quantity, *["-"] * 7])
            continue
        counts = dataclasses.astuple(one.operations)
        times = (f"{one.compile_seconds:.2f}", f"{one.call_us:.2f}", f"{one.batch_ns:.1f}")
        rows.append([one.quantity, *map(str, counts), *times])
    facts = machine()
    told = (
        f"One thread; {facts['cpu']}, code for {facts['code_for']}; Python {facts['python']}, NumPy {facts['numpy']}. "
    )
    told += "Operations are for one state. The call is made from Python and pays for it; a batch does not."
    failed = [
        tag("p", f"{one.quantity}: not measured: {one.failure}", cls="note")
        for one in bench.measurements
        if one.failure
    ]
    return join([tag("h2", "Operations and speed"), table(head, rows), *failed, tag("p", told, cls="note")])


def assembled(
    name: str,
    sections: Sequence[Callable[[], Markup]],
    verbs: Sequence[str],
    measure: Callable[[str], Bench],
    progress: Callable[[Sequence[Any]], Iterable[Any]],
) -> str:
    """The page: its sections one after another, then every quantity measured, with progress told."""
    parts: list[Markup] = []
    benches: list[Bench] = []
    jobs: list[Callable[[], Markup] | str] = [*sections, *verbs]
    for job in progress(jobs):
        if isinstance(job, str):
            benches.append(measure(job))
        else:
            parts.append(job())
    if benches:
        together = tuple(one for bench in benches for one in bench.measurements)
        parts.append(speed(dataclasses.replace(benches[0], measurements=together)))
    parts.append(tag("footer", f"Made by neuler {machine()['neuler']}."))
    return page(f"{name}: robot report", join(parts))

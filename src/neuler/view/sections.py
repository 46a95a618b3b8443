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
from neuler.view.charts import LIMIT, NEAR, force_figure, near_limit, shows
from neuler.view.html import Markup, escape, join, page, pictures, table, tag
from neuler.view.space import HINGE, INK, MASS, SLIDE, SPRING, STEEL, svg

Array = NDArray[np.float64]

PANELS = 12
"""Joints whose force is drawn; of more joints, those with the largest."""


def heading(name: str, lead: str, facts: Sequence[tuple[str, object]]) -> Markup:
    """Name, and facts at a glance."""
    entries = [tag("div", tag("dt", what), tag("dd", value)) for what, value in facts]
    return join([tag("h1", name), tag("p", lead, cls="lead"), tag("dl", *entries, cls="facts")])


def key(marks: Iterable[tuple[str, str]]) -> Markup:
    """Colours and what they mean."""
    return tag("div", *(tag("span", tag("i", style=f"background:{colour}"), name) for colour, name in marks), cls="key")


def marks_of(robot: Robot) -> list[tuple[str, str]]:
    """The key to a picture of a robot: what there is of it."""
    kinds = {joint.kind for joint in robot.joints}
    found = [
        (INK, "base", True), (STEEL, "link", bool(robot.joints)), (HINGE, "revolute axis", "revolute" in kinds),
        (SLIDE, "prismatic axis", "prismatic" in kinds),
        (MASS, "mass centre, larger for more mass", any(link.mass > 0 for link in robot.links)),
        (SPRING, "spring", any(joint.stiffness for joint in robot.joints)),
    ]  # fmt: skip
    return [(colour, name) for colour, name, there in found if there]


def poses(images: Iterable[tuple[str, bytes]], marks: Sequence[tuple[str, str]]) -> Markup:
    """Pictures, each at a scale of its own, and the key to their colours."""
    return join([tag("h2", "Poses"), pictures(images, "poses"), key(marks)])


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
    marks = [(HINGE, "solid: the force, friction and rotors included")]
    peaks = np.array([np.abs(one.force).max() for one in found])
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:PANELS])
    images = [
        (one.name, svg(force_figure(times, one.force, one.still, one.unit, one.limit)))
        for one in (found[k] for k in drawn.tolist())
    ]  # fmt: skip
    if any(shows(found[k].still, found[k].force) for k in drawn):
        against = "gravity alone asks for" if still == "gravity" else "standing still asks for"
        marks.append((MASS, f"dashed: what {against}"))
    if any(near_limit(found[k].force, found[k].limit) for k in drawn):
        marks.append((LIMIT, f"dotted: the effort limit, where the force comes to {NEAR:.0%} of it"))
    if len(drawn) < len(found):
        told += f" Drawn: the {len(drawn)} joints with the largest forces of {len(found)}."
    none = [one.name for one in found if one.limit <= 0.0]
    if none:
        told += f" The effort limit of {_listed(none)} is given as zero or less, which no force keeps: it is not used."
    rows = []
    for one, peak in zip(found, peaks.tolist(), strict=True):
        used = f"{peak / one.limit:.0%}" if 0.0 < one.limit < np.inf else ""
        held = float(np.abs(one.still).max())
        held = held if held > 1e-12 * float(peaks.max()) else 0.0
        ends = [text.number(x, 4) for x in one.ends] if one.ends else ["", ""]
        rows.append([
            one.name, *ends, text.number(peak, 4), text.number(float(np.sqrt(np.mean(one.force**2))), 4),
            text.number(held, 4), one.unit, text.number(one.limit, 4) + " (not used)" * (one.limit <= 0.0), used,
        ])  # fmt: skip
    head = ("joint", "from", "to", "peak", "rms", f"peak of {still}", "unit", "limit", "peak / limit")
    return join([tag("h2", title), tag("p", told), pictures(images, "panels"), key(marks), table(head, rows)])


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(text.shown(name) for name in names[:most]) + more


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

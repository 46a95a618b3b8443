"""The report: one page that shows a robot, checks it and measures it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from neuler.errors import NeulerError
from neuler.robot import Robot
from neuler.speed import VERBS, Measurement, check, default_verbs, machine, measure
from neuler.view import live, report_motion, sections
from neuler.view.html import Markup, join, page, tag
from neuler.view.motors import stiffened
from neuler.view.player_html import CONTROLS
from neuler.view.sample_motion import SampleMotion, sample_motion
from neuler.view.simpler_models import neglect

Section = Callable[[], Markup]


class Job(NamedTuple):
    """Something that a report is made of: what it is called, and what makes it."""

    name: str
    make: Callable[[], Any]

    def __str__(self) -> str:
        return self.name


MANY = 16
"""Velocities up to which base parameters are told: of more the table is long, and ``neuler info --base`` prints it."""
STILL = "Forces of a joint and its motor together: the springs of its drives do not stretch here."


def report(
    robot: Robot,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> str:
    """The report as HTML: one self-contained page, nothing loaded from anywhere. Its reader can move the joints.

    ``verbs`` are the quantities that are measured, by default the common ones; ``progress`` wraps the list of what
    is done, one item after another, each of which says as text what it is: ``tqdm`` fits.
    """
    usual = default_verbs(robot)
    chosen = check(robot, usual if verbs is None else verbs, batch) if robot.nv else ()
    parts: list[Markup] = []
    measured: list[Measurement] = []
    speeds = [Job(f"speed of {name}", functools.partial(_speed, robot, name, batch)) for name in chosen]
    for job in progress([*_sections(robot), *speeds]):
        made = job.make()
        if isinstance(made, Measurement):
            measured.append(made)
        else:
            parts.append(made)
    if measured:
        left = [name for name in VERBS if name not in usual] if verbs is None and not robot.loops else []
        parts.append(sections.speed(measured, batch, left))
    parts.append(tag("footer", f"Made by neuler {machine()['neuler']}."))
    content = join(parts)
    moves = live.DATA in content
    style, script = (CONTROLS + live.STYLE, live.page_script()) if moves else ("", "")
    return page(f"{robot.name}: robot report", content, script=script, style=style, wasm=moves)


def _speed(robot: Robot, quantity: str, batch: int) -> Measurement:
    return measure(robot, quantity, batch, compile_again=False).measurement


def _sections(robot: Robot) -> list[Job]:
    """What the page says, in its order; loops, forces and springs where there are any. Nothing is computed before."""
    found = functools.cache(robot.check)
    jobs = [
        Job("checks", lambda: sections.heading(robot, found())),
        Job("pictures", lambda: sections.poses(robot, sample_motion(robot))),
        Job("joints to move", lambda: live.live(robot)),
        Job("structure", lambda: sections.structure(robot)),
        Job("tree", lambda: sections.tree(robot)),
        Job("findings", lambda: sections.findings(found())),
        Job("parameters", lambda: sections.parameters(robot)),
    ]
    if 0 < robot.nv <= MANY:
        jobs.append(Job("base parameters", lambda: sections.base_parameters(robot)))
    if robot.loops:
        jobs.append(Job("test motion", lambda: report_motion.way(robot, sample_motion(robot))))
    stiff = stiffened(robot)
    if stiff.nv and stiff.mobility.driven == stiff.mobility.freedoms:
        jobs.append(Job("forces", _told(report_motion.forces, stiff, STILL if stiff is not robot else "")))
        if robot.loops:
            jobs.append(Job("reactions", _told(report_motion.reactions, stiff)))
        jobs.append(Job("sensitivities", _told(report_motion.sensitivities, stiff)))
        if robot.motors:
            jobs.append(Job("motors", _told(neglect, stiff)))
    elif robot.loops:
        jobs.append(Job("forces", lambda: report_motion.no_forces(robot)))
    if any(joint.role == "elastic" for joint in robot.moving_joints) or stiff is not robot:
        jobs.append(Job("springs", lambda: report_motion.springs(robot)))
    return jobs


def _told(part: Callable[[Robot, SampleMotion], Markup], robot: Robot, note: str = "") -> Section:
    """A section about the test motion with a note, or why there is none."""

    def made() -> Markup:
        try:
            found = part(robot, sample_motion(robot))
            return join([found, tag("p", note, cls="note")]) if note else found
        except NeulerError as error:
            return tag("p", f"Not computed: {error}", cls="note")

    return made


def write_report(robot: Robot, path: Any, **options: Any) -> None:
    """Write the report to a file, whole or not at all. The options are those of :func:`report`."""
    from neuler.files.ends import written

    content = report(robot, **options)
    with written(path) as file:
        file.write(content.encode("utf-8"))

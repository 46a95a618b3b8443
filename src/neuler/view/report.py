"""The report: one page that shows a robot, checks it and measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from neuler.errors import NeulerError
from neuler.measure import Measurement, check, default_verbs, machine, measure
from neuler.robot import Robot
from neuler.view import moving, sections
from neuler.view.html import Markup, join, page, tag
from neuler.view.motions import Motion, sample_motion
from neuler.view.motors import stiffened
from neuler.view.neglect import neglect

Section = Callable[[], Markup]
STILL = "Forces of a joint and its motor together: the springs of its drives do not stretch here."


def report(
    robot: Robot,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> str:
    """The report as HTML: one self-contained page, nothing loaded from anywhere.

    ``verbs`` are the quantities that are measured, by default the common ones; ``progress`` wraps the list of what
    is done, one item after another: ``tqdm`` fits.
    """
    chosen = check(robot, default_verbs(robot) if verbs is None else verbs, batch) if robot.nv else ()
    parts: list[Markup] = []
    measured: list[Measurement] = []
    jobs: list[Section | str] = [*_sections(robot), *chosen]
    for job in progress(jobs):
        if isinstance(job, str):
            measured.append(measure(robot, job, batch).measurement)
        else:
            parts.append(job())
    if measured:
        parts.append(sections.speed(measured, batch))
    parts.append(tag("footer", f"Made by neuler {machine()['neuler']}."))
    return page(f"{robot.name}: robot report", join(parts))


def _sections(robot: Robot) -> list[Section]:
    """What the page says, in its order; loops, forces and springs where there are any."""
    found = robot.check()
    motion = whole = sample_motion(robot)
    jobs: list[Section] = [
        lambda: sections.heading(robot, found),
        lambda: sections.poses(robot, whole),
        lambda: sections.structure(robot),
        lambda: sections.tree(robot),
        lambda: sections.findings(found),
        lambda: sections.parameters(robot),
    ]
    if robot.loops:
        jobs.append(lambda: moving.way(robot, whole))
    stiff = stiffened(robot)
    if stiff is not robot:
        motion = sample_motion(stiff)
    if stiff.nv and stiff.mobility.driven == stiff.mobility.freedoms:
        about = [moving.forces, *([moving.reactions] if robot.loops else []), moving.sensitivities]
        jobs += [
            _told(part, stiff, motion, STILL if part is moving.forces and stiff is not robot else "") for part in about
        ]
        jobs += [_told(neglect, stiff, motion)] if robot.motors else []
    elif robot.loops:
        jobs.append(lambda: moving.no_forces(robot))
    if any(joint.role == "elastic" for joint in robot.moving_joints) or stiff is not robot:
        jobs.append(lambda: moving.springs(robot))
    return jobs


def _told(part: Callable[[Robot, Motion], Markup], robot: Robot, motion: Motion, note: str = "") -> Section:
    """A section with a note, or why there is none."""

    def made() -> Markup:
        try:
            found = part(robot, motion)
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

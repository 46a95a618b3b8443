"""The report: one page that shows a robot or a machine, checks it and measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.bench import VERBS, run
from neuler.files.columns import SCREW, WRENCH, entries, slots
from neuler.recipes.derivatives import inverse_dynamics_sensitivities
from neuler.recipes.quantities import Subject
from neuler.robot import Robot
from neuler.robot.doctor import Finding
from neuler.trace.recipe import evaluate
from neuler.view import sections, text
from neuler.view.charts import matrix_figure
from neuler.view.draw import pose_pictures
from neuler.view.html import Markup, join, pictures, tag
from neuler.view.motions import bent_pose, quintic, start_pose
from neuler.view.report_machine import machine_report
from neuler.view.sections import Force
from neuler.view.space import svg
from neuler.view.springs import springs

Array = NDArray[np.float64]


# ---- sections ------------------------------------------------------------------------------------


def _heading(robot: Robot, findings: Sequence[Finding]) -> Markup:
    names = [joint.kind for joint in robot.joints]
    kinds = (*(("free",) if robot.nq != robot.nv else ()), "revolute", "prismatic", "fixed")
    moves = ("coordinates", robot.nv) if robot.nq == robot.nv else ("positions, velocities", f"{robot.nq}, {robot.nv}")
    facts = [
        moves,
        ("links", len(robot.links)),
        (" / ".join(kinds), " / ".join(str(names.count(kind)) for kind in kinds)),
        ("mass", f"{text.number(robot.mass)} kg"),
        ("gravity, m/s²", text.vector(robot.gravity)),
        ("errors and warnings", sum(finding.severity != "note" for finding in findings)),
    ]
    return sections.heading(robot.name, "Robot report", facts)


def _poses(robot: Robot, start: Array, bent: Array) -> Markup:
    zero = not any(start[q : q + (joint.nq == 1)].any() for joint, q, _ in slots(robot))
    first = "zero pose" if zero else "zero pose, moved into the limits"
    states = [(first, start), ("bent pose", bent)] if robot.nv else [("as it is: no joint moves", start)]
    images = zip([title for title, _ in states], pose_pictures(robot, [q for _, q in states]), strict=True)
    return sections.poses(images, sections.marks_of(robot))


def _forces(robot: Robot, start: Array, bent: Array) -> Markup:
    motion = quintic(robot, start, bent)
    forces = np.asarray(robot.inverse_dynamics(motion.q, motion.qd, motion.qdd))
    gravity = np.asarray(robot.gravity_force(motion.q))
    names = entries(robot, WRENCH, " ")
    found = []
    for joint, q, v in slots(robot):
        for k in range(joint.nv):
            unit = "N m" if joint.kind == "revolute" or k > 2 else "N"
            ends = (float(start[q]), float(bent[q])) if joint.nv == 1 else None
            found.append(Force(names[v + k], unit, ends, forces[:, v + k], gravity[:, v + k], joint.limits.effort))
    told = f"From the first pose to the bent one in {motion.times[-1]:.3g} s along a quintic, at rest at both ends."
    sprung = any(joint.stiffness for joint in robot.moving_joints)
    others = [joint.name for joint in robot.moving_joints if joint.role != "driven"]
    if others:
        told += f" No motor moves {', '.join(text.shown(name) for name in others)}: what is shown there would have to "
        told += "come from outside for the robot to move in this way."
    return sections.forces(
        "Forces along a test motion", told, motion.times, found, "standing still" if sprung else "gravity"
    )


def _sensitivities(robot: Robot, bent: Array) -> Markup:
    still = np.zeros(robot.nv)
    recipe = inverse_dynamics_sensitivities(robot)
    matrix = evaluate(recipe, {"q": bent, "qd": still, "qdd": still})[0]  # one state: not worth compiling
    most = float(np.abs(matrix).max())
    told = "How the forces that hold the robot still in the bent pose change with its positions, d(tau)/dq"
    told += " (rad, m, N, N m): a row is the joint whose force changes, a column the joint that is moved. "
    if robot.nq == robot.nv:
        told += "At rest it is symmetric, the second derivative of the potential energy. "
    if most < 1e-12:
        told += "Here all of it is zero: gravity asks nothing of these joints."
        return join([tag("h2", "Sensitivities"), tag("p", told)])
    i, j = np.unravel_index(int(np.abs(matrix).argmax()), matrix.shape)
    told += "White: no effect. Red: the force grows as the position grows, as of a spring; blue: it falls; "
    told += "the bar says how much. "
    names = [text.shown(name) for name in entries(robot, WRENCH, " ")]
    across = [text.shown(name) for name in entries(robot, SCREW, " ")]
    told += f"The largest, {text.number(float(matrix[i, j]), 4)}, is that of {names[i]} "
    told += "to its own position." if i == j else f"to the position of {across[j]}."
    figure = matrix_figure(matrix, names, "force of", "position of", across)
    size = "poses" if robot.nv <= 16 else "map"  # the width of the page for more
    return join([tag("h2", "Sensitivities"), tag("p", told), pictures([("d(tau)/dq, bent pose", svg(figure))], size)])


# ---- the page -------------------------------------------------------------------------------------


def report(
    robot: Subject,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> str:
    """The report as HTML: one self-contained page, nothing loaded from anywhere.

    ``verbs`` are the quantities that are measured, by default the common ones; ``progress`` wraps the list of what
    is done, one item after another: ``tqdm`` fits. The loops of a machine must close: else there is nothing to show.
    """
    if not isinstance(robot, Robot):
        return machine_report(robot, verbs=verbs, batch=batch, progress=progress)
    findings = list(robot.check())
    start, bent = start_pose(robot), bent_pose(robot)
    jobs: list[Callable[[], Markup]] = [
        lambda: _heading(robot, findings),
        lambda: _poses(robot, start, bent),
        lambda: sections.tree(robot),
        lambda: sections.findings(findings),
        lambda: sections.parameters(robot),
    ]
    if robot.nv:
        jobs += [lambda: _forces(robot, start, bent), lambda: _sensitivities(robot, bent)]
    if any(joint.role == "elastic" for joint in robot.moving_joints):
        jobs.append(lambda: springs(robot, start))
    chosen = list(VERBS if verbs is None else verbs) if robot.nv else []
    return sections.assembled(robot.name, jobs, chosen, lambda verb: run(robot, verbs=[verb], batch=batch), progress)


def write_report(robot: Subject, path: Any, **options: Any) -> None:
    """Write the report to a file, whole or not at all. The options are those of :func:`report`."""
    from neuler.files.ends import written

    content = report(robot, **options)
    with written(path) as file:
        file.write(content.encode("utf-8"))

"""The report: one page that shows a robot, checks it and measures it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.bench import VERBS, Bench, machine, run
from neuler.compiler.build import evaluate
from neuler.derivatives import inverse_dynamics_sensitivities
from neuler.robot import Joint, Robot
from neuler.robot.doctor import Finding
from neuler.view import text
from neuler.view.draw import HINGE, INK, MASS, SLIDE, STEEL, force_figure, matrix_figure, pose_pictures, svg
from neuler.view.html import Markup, escape, join, page, pictures, table, tag

Array = NDArray[np.float64]

PANELS = 12
"""Joints whose force is drawn; of more joints, those with the largest."""


@dataclass(frozen=True)
class Motion:
    """A smooth motion at rest at both ends, one row a moment."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


# ---- poses and motion ----------------------------------------------------------------------------


def _bounds(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    return (limits.lower, limits.upper) if limits.lower <= limits.upper else (-np.inf, np.inf)


def start_pose(robot: Robot) -> Array:
    """All zeros, moved into the limits where these exclude zero."""
    return np.array([float(np.clip(0.0, *_bounds(joint))) for joint in robot.moving_joints])


def bent_pose(robot: Robot) -> Array:
    """Every joint away from its start, within its limits, to the side where there is more room."""
    reach = sum(float(np.linalg.norm(joint.placement.translation)) for joint in robot.joints) or 1.0
    bent = []
    for k, (joint, start) in enumerate(zip(robot.moving_joints, start_pose(robot).tolist(), strict=True)):
        lower, upper = _bounds(joint)
        step = (0.9, 0.6, 0.75)[k % 3] if joint.kind == "revolute" else 0.2 * min(reach, 5.0)
        up, down = upper - start, start - lower
        if up == down:
            side = -1.0 if k % 2 else 1.0
        else:
            side = 1.0 if up > down else -1.0
        bent.append(start + side * min(step, 0.8 * (up if side > 0 else down)))
    return np.array(bent)


def quintic(robot: Robot, start: Array, end: Array, count: int = 181) -> Motion:
    """Ten, fifteen, six: position, velocity and acceleration continuous; slow enough for the velocity limits."""
    duration = 1.5
    for joint, distance in zip(robot.moving_joints, np.abs(end - start).tolist(), strict=True):
        if 0.0 < joint.limits.velocity < np.inf:
            duration = max(duration, 1.875 * distance / joint.limits.velocity)
    s = np.linspace(0.0, 1.0, count)[:, None]
    way = end - start
    return Motion(
        s[:, 0] * duration,
        start + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
        way * 30.0 * s**2 * (1.0 - s) ** 2 / duration,
        way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2,
    )


# ---- sections ------------------------------------------------------------------------------------


def _heading(robot: Robot, findings: Sequence[Finding]) -> Markup:
    kinds = [joint.kind for joint in robot.joints]
    serious = sum(finding.severity != "note" for finding in findings)
    facts = [
        ("coordinates", robot.nv),
        ("links", len(robot.links)),
        ("revolute / prismatic / fixed", " / ".join(str(kinds.count(k)) for k in ("revolute", "prismatic", "fixed"))),
        ("mass", f"{text.number(robot.mass)} kg"),
        ("gravity, m/s²", text.vector(robot.gravity)),
        ("errors and warnings", serious),
    ]
    entries = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    return join([tag("h1", robot.name), tag("p", "Robot report", cls="lead"), tag("dl", *entries, cls="facts")])


def _poses(robot: Robot, start: Array, bent: Array) -> Markup:
    first = "zero pose" if not start.any() else "zero pose, moved into the limits"
    states = [(first, start), ("bent pose", bent)] if robot.nv else [("as it is: no joint moves", start)]
    images = zip([title for title, _ in states], pose_pictures(robot, [q for _, q in states]), strict=True)
    marks = [
        (INK, "base"), (STEEL, "link"), (HINGE, "revolute axis"), (SLIDE, "prismatic axis"),
        (MASS, "mass centre, larger for more mass"),
    ]  # fmt: skip
    key = [tag("span", tag("i", style=f"background:{colour}"), name) for colour, name in marks]
    return join([tag("h2", "Poses"), pictures(images, "poses"), tag("div", *key, cls="key")])


def _tree(robot: Robot) -> Markup:
    return join([tag("h2", "Kinematic tree"), tag("pre", Markup(_lines(text.tree(robot))))])


def _lines(plain: str) -> str:
    return "\n".join(escape(line) for line in plain.split("\n"))


def _findings(findings: Sequence[Finding]) -> Markup:
    items = [
        tag("li", tag("b", finding.severity), f" · {finding.subject}: {finding.message}", cls=finding.severity)
        for finding in findings
    ]
    body = tag("ul", *items, cls="findings") if items else tag("p", "Nothing to report: the robot is healthy.")
    return join([tag("h2", "Findings of the doctor"), body])


def _parameters(robot: Robot) -> Markup:
    units = "Inertia about the mass centre in the axes of its link; an empty limit does not exist. "
    units += "Friction and rotor inertia at the joint, behind the gear. Units: kg, m, rad, s, N, N m."
    link_head = ("link", "mass", "mass centre", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    parts = [tag("h2", "Masses"), table(link_head, text.link_rows(robot))]
    if robot.nv:
        parts += [tag("h2", "Joints"), table(text.JOINT_HEAD, text.joint_rows(robot), left=2)]
    return join([*parts, tag("p", units, cls="note")])


def _forces(robot: Robot, start: Array, bent: Array) -> Markup:
    motion = quintic(robot, start, bent)
    forces = np.asarray(robot.inverse_dynamics(motion.q, motion.qd, motion.qdd))
    gravity = np.asarray(robot.gravity_force(motion.q))
    peaks = np.abs(forces).max(axis=0)
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:PANELS])
    units = ["N m" if joint.kind == "revolute" else "N" for joint in robot.moving_joints]
    names = robot.joint_names
    images = [
        (names[k], svg(force_figure(motion.times, forces[:, k], gravity[:, k], units[k]))) for k in drawn.tolist()
    ]
    told = f"From the first pose to the bent one in {motion.times[-1]:.3g} s along a quintic, at rest at both ends. "
    told += "Solid: the joint force, friction and rotors included; dashed: what gravity alone asks for."
    if len(drawn) < robot.nv:
        told += f" Drawn: the {len(drawn)} joints with the largest forces of {robot.nv}."
    rows = []
    for k, joint in enumerate(robot.moving_joints):
        limit = joint.limits.effort
        used = f"{peaks[k] / limit:.0%}" if 0.0 < limit < np.inf else ""
        still = float(np.abs(gravity[:, k]).max())
        still = still if still > 1e-12 * float(peaks.max()) else 0.0
        rows.append([
            joint.name, text.number(start[k], 4), text.number(bent[k], 4), text.number(peaks[k], 4),
            text.number(float(np.sqrt(np.mean(forces[:, k] ** 2))), 4), text.number(still, 4), units[k],
            text.number(limit, 4), used,
        ])  # fmt: skip
    head = ("joint", "from", "to", "peak", "rms", "peak of gravity", "unit", "limit", "peak / limit")
    return join(
        [tag("h2", "Forces along a test motion"), tag("p", told), pictures(images, "panels"), table(head, rows)]
    )


def _sensitivities(robot: Robot, bent: Array) -> Markup:
    still = np.zeros(robot.nv)
    recipe = inverse_dynamics_sensitivities(robot)
    matrix = evaluate(recipe, {"q": bent, "qd": still, "qdd": still})[0]  # one state: not worth compiling
    most = float(np.abs(matrix).max())
    told = "How the forces that hold the robot still in the bent pose change with its positions, d(tau)/dq"
    told += " (rad, m, N, N m): a row is the joint whose force changes, a column the joint that is moved. "
    told += "At rest it is symmetric, the second derivative of the potential energy. "
    if most < 1e-12:
        told += "Here all of it is zero: gravity asks nothing of these joints."
        return join([tag("h2", "Sensitivities"), tag("p", told)])
    i, j = np.unravel_index(int(np.abs(matrix).argmax()), matrix.shape)
    told += "White: no effect. Red: the force grows as the position grows, as of a spring; blue: it falls. "
    names = [text.shown(name) for name in robot.joint_names]
    told += f"The largest, {text.number(float(matrix[i, j]), 4)}, is that of {names[i]} "
    told += "to its own position." if i == j else f"to the position of {names[j]}."
    figure = matrix_figure(matrix, names, "force of", "position of")
    size = "poses" if robot.nv <= 16 else "map"  # the width of the page for more
    return join([tag("h2", "Sensitivities"), tag("p", told), pictures([("d(tau)/dq, bent pose", svg(figure))], size)])


def _speed(bench: Bench) -> Markup:
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


# ---- the page -------------------------------------------------------------------------------------


def report(
    robot: Robot,
    *,
    verbs: Iterable[str] = VERBS,
    batch: int = 4096,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> str:
    """The report as HTML: one self-contained page, nothing loaded from anywhere.

    ``progress`` wraps the list of what is done, one item after another: ``tqdm`` fits.
    """
    findings = list(robot.check())
    start, bent = start_pose(robot), bent_pose(robot)
    sections: list[Callable[[], Markup]] = [
        lambda: _heading(robot, findings),
        lambda: _poses(robot, start, bent),
        lambda: _tree(robot),
        lambda: _findings(findings),
        lambda: _parameters(robot),
    ]
    if robot.nv:
        sections += [lambda: _forces(robot, start, bent), lambda: _sensitivities(robot, bent)]
    chosen = list(verbs) if robot.nv else []
    jobs: list[Callable[[], Markup] | str] = [*sections, *chosen]
    parts: list[Markup] = []
    benches: list[Bench] = []
    for job in progress(jobs):
        if isinstance(job, str):
            benches.append(run(robot, verbs=[job], batch=batch))
        else:
            parts.append(job())
    if benches:
        together = tuple(one for bench in benches for one in bench.measurements)
        parts.append(_speed(dataclasses.replace(benches[0], measurements=together)))
    parts.append(tag("footer", f"Made by neuler {machine()['neuler']}."))
    return page(f"{robot.name}: robot report", join(parts))


def write_report(robot: Robot, path: Any, **options: Any) -> None:
    """Write the report to a file, whole or not at all. The options are those of :func:`report`."""
    from neuler.tables import written

    content = report(robot, **options)
    with written(path) as file:
        file.write(content.encode("utf-8"))

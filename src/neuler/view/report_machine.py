"""The report on a machine with loops: everything at closed positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.files.columns import slots
from neuler.recipes.mobility import Mobility
from neuler.robot import Joint, ParallelRobot
from neuler.robot.doctor import Finding
from neuler.view import machine_text, sections, text
from neuler.view.charts import margin_figure, matrix_figure
from neuler.view.draw import pose_pictures
from neuler.view.html import Markup, join, pictures, table, tag
from neuler.view.machine_text import Machine, mechanism
from neuler.view.measure import default_verbs, run_machine
from neuler.view.motions import MachineMotion, machine_motion
from neuler.view.sections import Force
from neuler.view.space import CUT, MASS, svg

Array = NDArray[np.float64]

REACTIONS = 16
"""Joints whose reactions are listed; of more, those with the largest forces."""


# ---- what it computes ----------------------------------------------------------------------------


def tree_velocities(machine: Machine, motion: MachineMotion) -> tuple[Array, Array]:
    """Velocities and accelerations of all joints along a motion."""
    kernel = mechanism(machine).compile("tree_motion", independent=motion.independent)
    qd, qdd = kernel(motion.q, motion.qd, motion.qdd)
    return np.asarray(qd), np.asarray(qdd)


def motor_forces(machine: Machine, motion: MachineMotion) -> tuple[Array, Array]:
    """Along a motion, and what standing still at its points takes: (points, motors) each."""
    if isinstance(machine, ParallelRobot):
        qd, qdd = tree_velocities(machine, motion)
        moved = machine.inverse_dynamics(motion.q, qd[:, :6], qdd[:, :6])
        still = machine.inverse_dynamics(motion.q, np.zeros(6), np.zeros(6))
    else:
        moved = machine.inverse_dynamics(motion.q, motion.qd, motion.qdd)
        still = machine.inverse_dynamics(motion.q, np.zeros_like(motion.qd), np.zeros_like(motion.qd))
    return np.asarray(moved), np.asarray(still)


def sensitivities(machine: Machine, q: Array, step: float = 1e-5) -> Array:
    """d(tau)/d(q_i) of the motors at rest, the loops following, by central differences: (motors, freedoms)."""
    own = mechanism(machine)
    names = own.mobility.independent
    places = [place for joint, place, _ in slots(own.tree) if joint.name in names]
    moved = np.repeat(np.eye(len(places)) * step, 2, axis=0) * np.tile([1.0, -1.0], len(places))[:, None]
    closed = own.assemble(q[places] + moved, q, independent=names).q
    if isinstance(machine, ParallelRobot):
        forces = np.asarray(machine.inverse_dynamics(closed, np.zeros(6), np.zeros(6)))
    else:
        still = np.zeros(len(places))
        forces = np.asarray(machine.inverse_dynamics(closed, still, still))
    return np.asarray((forces[::2] - forces[1::2]).T / (2 * step))


# ---- sections ------------------------------------------------------------------------------------


def _heading(machine: Machine, found: Sequence[Finding]) -> Markup:
    own = mechanism(machine)
    facts = own.mobility
    parallel = isinstance(machine, ParallelRobot)
    rows = [
        ("freedoms", facts.freedoms),
        ("motors", len(own.active_names)),
        ("joints, links", f"{len(own.tree.moving_joints)}, {len(own.tree.links)}"),
        ("legs" if parallel else "loops, couplings", len(own.loops) if parallel else _both(own.loops, own.couplings)),
        ("constraints, redundant", f"{facts.constraints}, {facts.constraints - facts.rank}"),
        ("mass", f"{text.number(own.tree.mass)} kg"),
        ("gravity, m/s²", text.vector(own.tree.gravity)),
        ("errors and warnings", sum(finding.severity != "note" for finding in found)),
    ]
    return sections.heading(machine.name, f"Report on a {machine_text.kind(machine)}", rows)


def _both(loops: Sequence[object], couplings: Sequence[object]) -> str:
    return f"{len(loops)}, {len(couplings)}"


def _poses(machine: Machine, motion: MachineMotion) -> Markup:
    own = mechanism(machine)
    states = {"reference pose, loops closed" if own.loops else "reference pose": motion.q[0]}
    if not np.allclose(motion.q[0], motion.q[-1]):
        states["another closed pose" if own.loops else "another pose"] = motion.q[-1]
    images = zip(states, pose_pictures(machine, list(states.values())), strict=True)
    marks = [
        (colour, name + ", platform" * (colour == MASS and isinstance(machine, ParallelRobot)))
        for colour, name in sections.marks_of(own.tree)
    ]
    marks += [(CUT, "cut joint, a cross")] * bool(own.loops) + [(CUT, "coupling, dotted")] * bool(own.couplings)
    roles = {joint.role == "driven" for joint in own.tree.moving_joints}
    told = "A filled mark is a motor's joint, an empty one a joint that follows." if len(roles) == 2 else ""
    return join([sections.poses(images, marks), *([tag("p", told, cls="note")] if told else [])])


def _structure(machine: Machine) -> Markup:
    own = mechanism(machine)
    rows = machine_text.mobility_rows(machine)
    rows = rows if own.nq <= 12 else rows[:-1]  # a long position is in the table of the test motion
    facts = [(name, tag("span", fact, style="white-space:normal")) for name, fact in rows]
    parts = [tag("h2", "Mobility"), table(("", "at the reference and near it"), facts, left=2)]
    if isinstance(machine, ParallelRobot):
        parts += [tag("h2", "Legs"), table(machine_text.LEG_HEAD, machine_text.leg_rows(machine), left=4)]
    if own.loops:
        parts += [tag("h2", "Loops"), table(machine_text.LOOP_HEAD, machine_text.loop_rows(machine), left=6)]
    if own.couplings:
        rows = machine_text.coupling_rows(machine)
        parts += [tag("h2", "Couplings"), table(machine_text.COUPLING_HEAD, rows, left=2)]
    return join(parts)


def _way(machine: Machine, motion: MachineMotion) -> Markup:
    """How the machine stays closed along the test motion."""
    own = mechanism(machine)
    title = tag("h2", "Test motion")
    if not motion.qd.any():
        return join(
            [title, tag("p", "It stands still: no joint can be moved from the reference with the loops closed.")]
        )
    told = f"From the reference to the other pose in {motion.times[-1]:.3g} s: the independent joints along a quintic, "
    told += "at rest at both ends, all others as the loops ask for, on one branch. The loops are open by at most "
    told += (
        f"{motion.gap:.1e} (m, rad). The margin tells how far the motion stays from singular poses: there it is zero."
    )
    images = [("margin from singular poses", svg(margin_figure(motion.times, motion.margin)))]
    rows = []
    for joint, q, _ in slots(own.tree):
        role = "independent" if joint.name in motion.independent else "follows"
        for name, path, unit in _paths(joint, motion.q[:, q : q + joint.nq]):
            numbers = (path[0], path[-1], path.min(), path.max())
            rows.append(
                [name, role, *(text.number(x if abs(x) > 1e-12 else 0.0, 4) for x in map(float, numbers)), unit]
            )
    head = ("joint", "", "from", "to", "least", "most", "unit")
    return join([title, tag("p", told), pictures(images, "panels"), table(head, rows, left=2)])


def _undriven(facts: Mobility) -> Markup:
    told = f"There are none to show: its motors do not decide how a machine with {facts.freedoms} freedoms moves. "
    told += "constrained_dynamics, or forward_dynamics with independent= joints, find its motion from their forces."
    return join([tag("h2", "Forces of the motors"), tag("p", told)])


def _paths(joint: Joint, q: Array) -> list[tuple[str, Array, str]]:
    """A joint's positions along a motion: names, numbers, units; of a free one its place, and how far it turned."""
    if joint.kind != "free":
        return [(joint.name, q[:, 0], "rad" if joint.kind == "revolute" else "m")]
    found = [(f"{joint.name} {axis}", q[:, k], "m") for k, axis in enumerate("xyz")]
    turned = 2 * np.arccos(np.clip(np.abs(q[:, 3:] @ q[0, 3:]), 0.0, 1.0))
    return [*found, (f"{joint.name} turned by", turned, "rad")]


def _forces(machine: Machine, motion: MachineMotion) -> Markup:
    own = mechanism(machine)
    moved, still = motor_forces(machine, motion)
    found = []
    at = {joint.name: q for joint, q, _ in slots(own.tree)}
    for k, joint in enumerate(own.active_joints):
        path = motion.q[:, at[joint.name]]
        unit = "N m" if joint.kind == "revolute" else "N"
        ends = float(path[0]), float(path[-1])
        found.append(Force(joint.name, unit, ends, moved[:, k], still[:, k], joint.limits.effort))
    told = "What the motors give along the test motion."
    return sections.forces("Forces of the motors", told, motion.times, found, "standing still")


def _reactions(machine: Machine, motion: MachineMotion) -> Markup:
    own = mechanism(machine)
    kernel = own.compile("reaction_wrenches", independent=motion.independent)
    found = kernel(motion.q, motion.qd, motion.qdd)
    links, cuts = (np.asarray(x) for x in (found if isinstance(found, tuple) else (found, np.zeros((1, 0, 6)))))
    told = "Largest force and moment along the test motion that pass through the joints, those of the motors included."
    if own.mobility.redundant:
        told += " Redundant constraints, whose forces rigid links leave undecided, carry none here."
    parts = [tag("h2", "Reactions"), tag("p", told)]
    rows = [[loop.name, loop.kind, *_peaks(cuts[:, k])] for k, loop in enumerate(own.loops)]
    if rows:
        parts.append(table(("cut joint", "kind", "force, N", "moment, N m"), rows, left=2))
    joints = [(joint, links[:, k]) for k, joint in enumerate(own.tree.joints, start=1) if joint.kind != "free"]
    largest = sorted(joints, key=lambda pair: -float(np.linalg.norm(pair[1][:, :3], axis=1).max()))[:REACTIONS]
    kept = {joint.name for joint, _ in largest}
    rows = [[joint.name, joint.kind, *_peaks(wrench)] for joint, wrench in joints if joint.name in kept]
    parts.append(table(("joint of the tree", "kind", "force, N", "moment, N m"), rows, left=2))
    if len(kept) < len(joints):
        parts.append(tag("p", f"The {len(kept)} of {len(joints)} joints with the largest forces.", cls="note"))
    return join(parts)


def _peaks(wrench: Array) -> list[str]:
    force, moment = (float(np.linalg.norm(wrench[:, k : k + 3], axis=1).max()) for k in (0, 3))
    return [text.number(x if x > 1e-9 * (force + moment) else 0.0, 4) for x in (force, moment)]


def _sensitivities(machine: Machine, motion: MachineMotion) -> Markup:
    own = mechanism(machine)
    matrix = sensitivities(machine, motion.q[-1])
    noise = 1e-7 * max(float(np.abs(motor_forces(machine, motion)[1]).max()), 1e-3)
    matrix = np.where(np.abs(matrix) < noise, 0.0, matrix)
    told = "How the forces that hold the machine still in the other pose change with the positions of its independent "
    told += "joints, the loops following, d(tau)/dq (rad, m, N, N m; by central differences): a row is the motor whose "
    told += "force changes, a column the joint that is moved. "
    if matrix.size == 1:
        told = "The force of the motor that holds the machine still in the other pose changes with the position of its "
        told += f"joint, the loops following, by {text.number(float(matrix[0, 0]), 4)} N m/rad (N/m of a slide)."
        return join([tag("h2", "Sensitivities"), tag("p", told)])
    if not matrix.any():
        told += "Here all of it is zero: gravity asks nothing of the motors."
        return join([tag("h2", "Sensitivities"), tag("p", told)])
    told += "White: no effect. Red: the force grows as the position grows, as of a spring; blue: it falls; the bar "
    told += "says how much."
    names, across = ([text.shown(name) for name in which] for which in (own.active_names, own.mobility.independent))
    figure = matrix_figure(matrix, names, "force of", "position of", across)
    shown = pictures([("d(tau)/dq, the other pose", svg(figure))], "poses")
    return join([tag("h2", "Sensitivities"), tag("p", told), shown])


# ---- the page -------------------------------------------------------------------------------------


def machine_report(
    machine: Machine,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> str:
    """See :func:`neuler.view.report.report`. Loops that cannot be closed are an error: nothing is written."""
    own = mechanism(machine)
    facts = own.mobility  # says what stays open
    found = machine_text.findings(machine)
    motion = machine_motion(machine)
    jobs: list[Callable[[], Markup]] = [
        lambda: _heading(machine, found),
        lambda: _poses(machine, motion),
        lambda: _structure(machine),
        lambda: sections.tree(own.tree),
        lambda: sections.findings(found),
        lambda: sections.parameters(own.tree),
        lambda: _way(machine, motion),
    ]
    if facts.independent:
        jobs += [_told(part, machine, motion) for part in (_forces, _reactions, _sensitivities)]
    else:
        jobs.append(lambda: _undriven(facts))
    chosen = list(default_verbs(machine) if verbs is None else verbs)
    return sections.assembled(
        machine.name, jobs, chosen, lambda verb: run_machine(machine, verbs=[verb], batch=batch), progress
    )


def _told(
    part: Callable[[Machine, MachineMotion], Markup], machine: Machine, motion: MachineMotion
) -> Callable[[], Markup]:
    """A section, or why there is none."""

    def made() -> Markup:
        try:
            return part(machine, motion)
        except NeulerError as error:
            return tag("p", f"Not computed: {error}", cls="note")

    return made

"""Sections of a report about a robot that moves: along its test motion, and how it swings on its springs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.plain import degrees, number, shown
from neuler.robot import Robot
from neuler.robot.coordinates import Entry
from neuler.robot.coordinates import names as coordinate_names
from neuler.solve.equilibrium import derivative, equilibrium, settling
from neuler.solve.modes import modes
from neuler.view.diagrams import LIMIT, NEAR, force_figure, margin_figure, matrix_figure, near_limit, shows
from neuler.view.html import Markup, join, pictures, table, tag
from neuler.view.sample_motion import SampleMotion, margins
from neuler.view.sections import key
from neuler.view.space import HINGE, MASS, svg

Array = NDArray[np.float64]

PANELS = 12
"""Joints whose force is drawn; of more joints, those with the largest."""
REACTIONS = 16
"""Joints whose reactions are listed; of more, those with the largest forces."""
_EXACT = 7
"""Velocities up to which sensitivities are exact."""
_NOISE = 1e-8
"""Share of the largest number that central differences leave of nothing."""


def _near_zero(x: float, least: float = 1e-12) -> str:
    return number(x if abs(x) > least else 0.0, 4)


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more


# ---- the motion itself ---------------------------------------------------------------------------


def way(robot: Robot, motion: SampleMotion) -> Markup:
    """How the loops stay closed along the test motion, and where it leads."""
    title = tag("h2", "Test motion")
    if not motion.moves:
        told = "It stands still: no joint can be moved from the reference with the loops closed."
        return join([title, tag("p", told)])
    gap = float(np.abs(np.asarray(robot.closure(motion.q)[0])).max(initial=0.0))
    told = f"From the reference to the other pose in {motion.times[-1]:.3g} s: the independent joints along a quintic, "
    told += "at rest at both ends, all others as the loops ask for, on one branch. The loops are open by at most "
    told += f"{gap:.1e} (m, rad). The margin tells how far the motion stays from singular poses: there it is zero."
    images = [("margin from singular poses", svg(margin_figure(motion.times, margins(robot, motion.q))))]
    rows = []
    for entry in robot.coordinates:
        parts = [name for name in robot.mobility.independent if name.startswith(f"{entry.name}.")]
        role = "independent" if entry.name in robot.mobility.independent else ", ".join(parts) or "follows"
        for name, path, unit in paths(entry, motion.q):
            rows.append([name, role, *map(_near_zero, (path[0], path[-1], path.min(), path.max())), unit])
    head = ("joint", "", "from", "to", "least", "most", "unit")
    return join([title, tag("p", told), pictures(images, "panels"), table(head, rows, left=2)])


def paths(entry: Entry, q: Array) -> list[tuple[str, Array, str]]:
    """A joint's positions along a motion: names, numbers, units; of a quaternion how far it has turned."""
    names = coordinate_names(entry.joint, "q", " ")
    plain = range(entry.q.start, entry.q.stop if entry.quaternion is None else entry.quaternion.start)
    found = [(names[k], q[:, place], "rad" if entry.turns[k] else "m") for k, place in enumerate(plain)]
    if entry.quaternion is not None:
        turn = q[:, entry.quaternion]
        turned = 2 * np.arccos(np.clip(np.abs(turn @ turn[0]), 0.0, 1.0))
        found.append((f"{entry.name} turned by", turned, "rad"))
    return found


# ---- forces --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Force:
    """One number of tau along a motion: where its joint starts and ends, what standing still takes, its limit."""

    name: str
    unit: str
    ends: tuple[float, float] | None
    force: Array
    still: Array
    limit: float = np.inf


def forces_along(robot: Robot, motion: SampleMotion) -> list[Force]:
    """All numbers of tau along a motion."""
    moved = np.asarray(robot.inverse_dynamics(motion.q, motion.qd, motion.qdd))
    held = np.asarray(robot.inverse_dynamics(motion.q, 0 * motion.qd, 0 * motion.qd))
    coordinates = robot.coordinates
    names, units, owners = coordinates.names("tau", " "), coordinates.units("tau"), coordinates.owners("tau")
    found = []
    for k, (velocity, entry) in enumerate(zip(coordinates.active, owners, strict=True)):
        place = entry.q.start + velocity - entry.v.start
        ends = (float(motion.q[0, place]), float(motion.q[-1, place])) if entry.quaternion is None else None
        found.append(Force(names[k], units[k], ends, moved[:, k], held[:, k], entry.joint.limits.effort))
    return found


def forces(robot: Robot, motion: SampleMotion) -> Markup:
    """Curves of the largest forces, and a table of all."""
    found = forces_along(robot, motion)
    told = f"From the first pose to the other one in {motion.times[-1]:.3g} s along a quintic, at rest at both ends."
    if robot.loops:
        told = "What the motors give along the test motion."
    sprung = any(joint.stiffness for joint in robot.moving_joints)
    undriven = {joint.name for joint in robot.moving_joints if joint.role != "driven"}
    others = [name for name in robot.active_names if name in undriven]
    if others:
        told += f" No motor moves {', '.join(map(shown, others))}: what is shown there would have to "
        told += "come from outside for the robot to move in this way."
    marks = [(HINGE, "solid: the force, friction and rotors included")]
    peaks = np.array([np.abs(one.force).max() for one in found])
    drawn = [found[k] for k in np.sort(np.argsort(-peaks, kind="stable")[:PANELS]).tolist()]
    images = [(one.name, svg(force_figure(motion.times, one.force, one.still, one.unit, one.limit))) for one in drawn]
    if any(shows(one.still, one.force) for one in drawn):
        marks.append((MASS, f"dashed: what {'standing still' if sprung else 'gravity alone'} asks for"))
    if any(near_limit(one.force, one.limit) for one in drawn):
        marks.append((LIMIT, f"dotted: the effort limit, where the force comes to {NEAR:.0%} of it"))
    if len(drawn) < len(found):
        told += f" Drawn: the {len(drawn)} joints with the largest forces of {len(found)}."
    none = [one.name for one in found if one.limit <= 0.0]
    if none:
        told += f" The effort limit of {_listed(none)} is given as zero or less, which no force keeps: it is not used."
    head = ("joint", "from", "to", "peak", "rms", f"peak of {'standing still' if sprung else 'gravity'}", "unit",
            "limit", "peak / limit")  # fmt: skip
    rows = [_force_row(one, float(peaks.max())) for one in found]
    title = "Forces of the motors" if robot.loops else "Forces along a test motion"
    return join([tag("h2", title), tag("p", told), pictures(images, "panels"), key(marks), table(head, rows)])


def _force_row(one: Force, largest: float) -> list[str]:
    peak, held = float(np.abs(one.force).max()), float(np.abs(one.still).max())
    return [
        one.name, *([number(x, 4) for x in one.ends] if one.ends else ["", ""]), number(peak, 4),
        number(float(np.sqrt(np.mean(one.force**2))), 4), _near_zero(held, 1e-12 * largest), one.unit,
        number(one.limit, 4) + " (not used)" * (one.limit <= 0.0),
        f"{peak / one.limit:.0%}" if 0.0 < one.limit < np.inf else "",
    ]  # fmt: skip


def no_forces(robot: Robot) -> Markup:
    """Why there are no forces to show."""
    told = f"There are none to show: its motors do not decide all of its {degrees(robot.mobility.freedoms)}. "
    told += "forward_dynamics finds its motion from their forces."
    return join([tag("h2", "Forces of the motors"), tag("p", told)])


# ---- reactions -----------------------------------------------------------------------------------


def reactions(robot: Robot, motion: SampleMotion) -> Markup:
    """The largest forces and moments through joints and cut joints."""
    links = robot.reaction_wrenches(motion.q, motion.qd, motion.qdd)
    cuts = robot.loop_wrenches(motion.q, motion.qd, motion.qdd)
    told = "Largest force and moment along the test motion that pass through the joints, those of the motors included."
    if robot.mobility.redundant:
        told += " Redundant constraints, whose forces rigid links leave undecided, carry none here."
    rows = [[loop.name, loop.kind, *_peaks(cuts[:, k])] for k, loop in enumerate(robot.loops)]
    parts = [tag("h2", "Reactions"), tag("p", told)]
    parts.append(table(("cut joint", "kind", "force, N", "moment, N m"), rows, left=2))
    joints = [(joint, links[:, k]) for k, joint in enumerate(robot.joints, start=1) if not joint.type.always_passive]
    largest = sorted(joints, key=lambda pair: -float(np.linalg.norm(pair[1][:, :3], axis=1).max()))[:REACTIONS]
    kept = {joint.name for joint, _ in largest}
    rows = [[joint.name, joint.kind, *_peaks(wrench)] for joint, wrench in joints if joint.name in kept]
    parts.append(table(("joint of the tree", "kind", "force, N", "moment, N m"), rows, left=2))
    if len(kept) < len(joints):
        parts.append(tag("p", f"The {len(kept)} of {len(joints)} joints with the largest forces.", cls="note"))
    return join(parts)


def _peaks(wrench: Array) -> list[str]:
    force, moment = (float(np.linalg.norm(wrench[:, k : k + 3], axis=1).max()) for k in (0, 3))
    return [_near_zero(x, 1e-9 * (force + moment)) for x in (force, moment)]


# ---- sensitivities -------------------------------------------------------------------------------


def sensitivity(robot: Robot, q: Array) -> Array:
    """d(tau)/dq at rest along the robot's own velocities, loops closed: (nu, nv).

    Exact; of large robots, whose exact kernel takes longer to compile than a page should, by central differences.
    """
    still = np.zeros(robot.nv)
    if robot.nv <= _EXACT:
        return robot.inverse_dynamics_sensitivities(q, still, still)[0]
    return derivative(robot, q, lambda near: robot.inverse_dynamics(near, still, still))


def sensitivities(robot: Robot, motion: SampleMotion) -> Markup:
    """How the forces that hold the robot still change with its position, as a map."""
    matrix = sensitivity(robot, motion.q[-1])
    still = np.asarray(robot.inverse_dynamics(motion.q[-1], np.zeros(robot.nv), np.zeros(robot.nv)))
    noise = _NOISE * max(float(np.abs(still).max()), float(np.abs(matrix).max()))
    matrix = np.where(np.abs(matrix) < max(noise, 1e-12), 0.0, matrix)
    where = "the other pose" if robot.loops else "the bent pose"
    moved = "the positions of its independent joints, the loops following" if robot.loops else "its positions"
    told = f"How the forces that hold the robot still in {where} change with {moved}, d(tau)/dq (rad, m, N, N m): "
    told += "a row is the joint whose force changes, a column the joint that is moved. "
    title = tag("h2", "Sensitivities")
    if not matrix.any():
        return join([title, tag("p", f"{told}Here all of it is zero: gravity asks nothing of these joints.")])
    coordinates = robot.coordinates
    names, across = ([shown(name) for name in coordinates.names(what, " ")] for what in ("tau", "qd"))
    if matrix.size == 1:
        told = f"The force that holds the robot still in {where} changes with the position of {across[0]} by "
        return join([title, tag("p", f"{told}{number(float(matrix[0, 0]), 4)} N m/rad (N/m of a slide).")])
    if matrix.shape[0] == matrix.shape[1] and np.abs(matrix - matrix.T).max() <= 10 * noise:
        told += "At rest it is symmetric, the second derivative of the potential energy. "
    told += "White: no effect. Red: the force grows as the position grows, as of a spring; blue: it falls; "
    i, j = np.unravel_index(int(np.abs(matrix).argmax()), matrix.shape)
    told += f"the bar says how much. The largest, {number(float(matrix[i, j]), 4)}, is that of {names[i]} "
    own = coordinates.active[i] == coordinates.independent[j]
    told += "to its own position." if own else f"to the position of {across[j]}."
    figure = matrix_figure(matrix, names, "force of", "position of", across)
    size = "poses" if robot.nv <= 16 else "map"  # the width of the page for more
    return join([title, tag("p", told), pictures([(f"d(tau)/dq, {where}", svg(figure))], size)])


# ---- springs -------------------------------------------------------------------------------------


def springs(robot: Robot) -> Markup:
    """Where springs let the robot hang with its motors still, and how it swings there."""
    hanging = equilibrium(robot, robot.neutral())
    title = tag("h2", "Springs")
    if hanging is None:
        return join([title, tag("p", "No balance of springs and gravity was found near the first pose.")])
    told = "With all motors at the first pose, springs and gravity balance where the table says."
    rows = []
    start = {e.joint.series[0]: (e.joint.series[1], hanging[e.q.start]) for e in robot.coordinates if e.joint.series}
    for entry in robot.coordinates:
        joint, here = entry.joint, float(hanging[entry.q.start])
        stiff, rest = start.get(joint.name, (joint.stiffness, joint.rest))
        if joint.role == "elastic" or joint.name in start:
            away = here - float(rest)
            numbers = (stiff, float(rest), here, away, stiff * away)
            rows.append([joint.name, *(_near_zero(x, 1e-15) for x in numbers)])
    head = ("joint", "stiffness", "rest", "hangs at", "away from rest", "spring force")
    parts = [title, tag("p", told), table(head, rows)]
    try:
        squares, shapes = modes(robot, hanging)
    except np.linalg.LinAlgError:
        return join([*parts, tag("p", "Its elastic joints move no inertia: it does not swing.", cls="note")])
    every = robot.coordinates.names("qd", " ")
    names = [every[k] for k in settling(robot)]
    rows = []
    for square, shape in zip(squares.tolist(), shapes.T, strict=True):
        frequency = number(np.sqrt(square) / (2 * np.pi), 4) if square > 0 else "falls"
        rows.append([frequency, names[int(np.abs(shape).argmax())]])
    note = "Small swings about that position, motors held still and friction left out."
    return join([*parts, table(("frequency, Hz", "moves most"), rows), tag("p", note, cls="note")])

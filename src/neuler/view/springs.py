"""Elastic joints of a robot: where its springs let it hang, and how it swings there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.files.columns import slots
from neuler.recipes.derivatives import inverse_dynamics_sensitivities
from neuler.robot import Robot
from neuler.trace.recipe import evaluate
from neuler.view import text
from neuler.view.html import Markup, join, table, tag

Array = NDArray[np.float64]

_STILL = 1e-9
"""Share of the largest spring force by which a joint may be out of balance."""


def _elastic(robot: Robot) -> tuple[list[int], list[int]]:
    """Numbers of positions and velocities of the joints that springs move."""
    found = [(q, v) for joint, q, v in slots(robot) if joint.role == "elastic"]
    return [q for q, _ in found], [v for _, v in found]


def stiffness(robot: Robot, q: Array) -> Array:
    """d(tau)/dq of the elastic joints at rest: springs, and what gravity takes of them."""
    _, v = _elastic(robot)
    still = np.zeros(robot.nv)
    matrix = evaluate(inverse_dynamics_sensitivities(robot), {"q": q, "qd": still, "qdd": still})[0]
    return np.asarray(matrix)[np.ix_(v, v)]


def balance(robot: Robot, q: Array) -> Array | None:
    """The position near ``q`` at which springs and gravity hold the elastic joints, all others kept; None: not found.

    >>> from neuler import Joint, Link, Robot
    >>> links = [Link("base"), Link.from_com("bob", mass=1.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))]
    >>> arm = Robot("arm", links, [Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), stiffness=100.0)])
    >>> q = balance(arm, np.zeros(1))
    >>> round(float(100 * q[0] - 9.81 * np.cos(q[0])), 12)
    0.0
    """
    at, v = _elastic(robot)
    found = np.array(q, dtype=float)
    for _ in range(60):
        lacking = np.asarray(robot.gravity_force(found))[v]
        size = max(float(np.abs(lacking).max()), 1e-30)
        scale = max(float(np.abs(np.diag(stiffness(robot, found)) * 0.1).max()), 1e-30)
        if size < _STILL * scale:
            return found
        try:
            step = np.linalg.solve(stiffness(robot, found), lacking)
        except np.linalg.LinAlgError:
            return None
        found[at] -= step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-30))
    return None


def modes(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Squares of the circular frequencies (1/s^2), smallest first, and shapes (a column each); motors hold still."""
    _, v = _elastic(robot)
    inertia = np.asarray(robot.mass_matrix(q))[np.ix_(v, v)]
    lower = np.linalg.cholesky(inertia)
    whitened = np.linalg.solve(lower, np.linalg.solve(lower, stiffness(robot, q)).T)
    squares, shapes = np.linalg.eigh(0.5 * (whitened + whitened.T))
    return squares, np.linalg.solve(lower.T, shapes)


def springs(robot: Robot, start: Array) -> Markup:
    """The section of a report."""
    hanging = balance(robot, start)
    title = tag("h2", "Springs")
    if hanging is None:
        return join([title, tag("p", "No balance of springs and gravity was found near the first pose.")])
    elastic = [(joint, q) for joint, q, _ in slots(robot) if joint.role == "elastic"]
    told = "With all motors at the first pose, springs and gravity balance where the table says."
    rows = []
    for joint, q in elastic:
        away = float(hanging[q]) - joint.rest
        numbers = (joint.stiffness, joint.rest, float(hanging[q]), away, joint.stiffness * away)
        rows.append([joint.name, *(text.number(x if abs(x) > 1e-15 else 0.0, 4) for x in numbers)])
    head = ("joint", "stiffness", "rest", "hangs at", "away from rest", "spring force")
    parts = [title, tag("p", told), table(head, rows)]
    try:
        squares, shapes = modes(robot, hanging)
    except np.linalg.LinAlgError:
        return join([*parts, tag("p", "Its elastic joints move no inertia: it does not swing.", cls="note")])
    rows = []
    for square, shape in zip(squares.tolist(), shapes.T, strict=True):
        most = elastic[int(np.abs(shape).argmax())][0].name
        rows.append([text.number(np.sqrt(square) / (2 * np.pi), 4) if square > 0 else "falls", most])
    note = "Small swings about that position, motors held still and friction left out."
    return join([*parts, table(("frequency, Hz", "moves most"), rows), tag("p", note, cls="note")])

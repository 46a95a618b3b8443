"""Forces of friction and stops by principal pivots: rounds of one recipe, in which slides are held or let go.

    M x = r - sum g f,   least <= f <= most,   u = g . x at its target, or f at the edge that opposes u

All slides change at once in the first rounds (Kostreva 1978): those whose force is beyond an edge are let go at it,
those that come back are held again, until none changes. Then x is exact to rounding. Slides of several velocities are
held by multipliers (Hestenes 1969), each round adding what is missing of their force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from neuler.algebra.linear import dot, times
from neuler.recursions.factor import Factor
from neuler.rollouts.model import Model, Values
from neuler.rollouts.slides import STOP, rate, rows_of
from neuler.trace.graph import Scalar
from neuler.trace.scalars import absolute, less, less_equal, mask, where

TOGETHER, ROUNDS = 8, 200
"""Rounds in which all slides may change between held and moving; then one does at a time, which always comes to an
end (Murty 1974); and rounds after which the last is believed."""
TOLERANCE = 1e-12
"""Of the forces that meet in a slide: by so much a held one may pass its edge."""
_GRIP = 1e5
"""Of the inertia along a slide of several velocities: the stiffness by which it is held in a round."""
BOX = ("least", "most", "target")
STATE = ("locked", "high", "low", "force")
"""Of every slide: the interval of its force and where it is held; whether it is held or at an edge, and its force."""


def fresh(locked: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    """The state of the first round: nobody at an edge."""
    none: list[Scalar] = [0.0] * len(locked)
    return {
        "locked": list(locked), "high": list(none), "low": list(none), "force": list(none),
        "changes": [1.0], "turn": [0.0],
    }  # fmt: skip


def one_round(model: Model, values: Values) -> dict[str, list[Scalar]]:
    """x of M x = right - sum g f with those that are locked at their target, and who changes."""
    rows = rows_of(model, values)
    mass, right = full(values["mass"], model.robot.nv), values["right"]
    locked, target, force = values["locked"], values["target"], values["force"]
    grips = grips_of(rows, mass)
    x = _solved(rows, grips, mass, right, force, target, locked)
    pull = times(mass, x)
    needed = _needed(rows, grips, right, pull, x, values)
    found: dict[str, list[Scalar]] = {name: [] for name in STATE}
    changes: Scalar = 0.0
    (turn,) = values["turn"]
    free: Scalar = 1.0  # whether a slide may change
    for number, row in enumerate(rows):
        low, high, lock, force_ = values["least"][number], values["most"][number], locked[number], needed[number]
        slack = TOLERANCE * (_met(row, right, pull) + _size(low) + _size(high))
        was_up, was_down = values["high"][number], values["low"][number]
        over = free * (lock * less(high + slack, force_))
        under = free * (lock * less(force_, low - slack))
        off = rate(row, x) - target[number]
        back = free * (was_up * less(off, 0.0) + was_down * less(0.0, off))
        stays = lock - over - under
        edge = mask(over, high) + mask(under, low) + mask((1.0 - lock) * (1.0 - back), force[number])
        found["force"].append(edge + mask(stays, force_))
        found["high"].append(over + was_up * (1.0 - back))
        found["low"].append(under + was_down * (1.0 - back))
        found["locked"].append(stays + back)
        change = over + under + back
        changes = changes + change
        if len(row) > 1:  # until the multiplier is the whole force
            size = absolute(force_) + absolute(low) + absolute(high)
            changes = changes + stays * less(TOLERANCE * size, absolute(force_ - force[number]))
        free = free * (1.0 - change * less(float(TOGETHER), turn))
    found["x"] = x
    if any(len(row) > 1 for row in rows):  # rows that are done wait for others: no bit of theirs may change
        going = less_equal(1.0, values["changes"][0])
        found = {
            name: [where(going, a, b) for a, b in zip(new, values[name], strict=True)] for name, new in found.items()
        }
        changes = mask(going, changes)
    return {**found, "changes": [changes], "turn": [turn + 1.0]}


def _size(edge: Scalar) -> Scalar:
    """Of the edge of friction, not of a stop."""
    return mask(less(absolute(edge), math.sqrt(STOP)), absolute(edge))


def _met(row: Mapping[int, Scalar], right: Sequence[Scalar], pull: Sequence[Scalar]) -> Scalar:
    """The size of the forces that meet along a slide."""
    total: Scalar = 0.0
    for k, x in row.items():
        total = total + absolute(x) * (absolute(right[k]) + absolute(pull[k]))
    return total


def _grip(row: Mapping[int, Scalar], mass: Sequence[Sequence[Scalar]]) -> Scalar:
    """The stiffness of a multiplier's round: some of the inertia along the slide, g^T M g / (g . g)^2."""
    square = dot(list(row.values()), list(row.values()))
    along: Scalar = 0.0
    for i, a in row.items():
        for j, b in row.items():
            along = along + a * (mass[i][j] * b)
    return _GRIP * along / (square * square)


def _needed(
    rows: Sequence[Mapping[int, Scalar]],
    grips: Sequence[Scalar],
    right: Sequence[Scalar],
    pull: Sequence[Scalar],
    x: Sequence[Scalar],
    values: Values,
) -> list[Scalar]:
    """The force of every slide that makes this x."""
    rest = [a - b for a, b in zip(right, pull, strict=True)]
    found: list[Scalar] = [0.0] * len(rows)
    for number, row in enumerate(rows):
        if len(row) > 1:
            more = grips[number] * (rate(row, x) - values["target"][number])
            found[number] = values["force"][number] + mask(values["locked"][number], more)
            for k, entry in row.items():
                rest[k] = rest[k] - entry * found[number]
    for number, row in enumerate(rows):
        if len(row) == 1:
            (k,) = row
            found[number] = rest[k]
    return found


def half(matrix: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """The lower triangle of a symmetric matrix."""
    return [matrix[i][j] for i in range(len(matrix)) for j in range(i + 1)]


def full(flat: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    """A symmetric matrix from its lower triangle."""
    return [[flat[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]


def _solved(
    rows: Sequence[Mapping[int, Scalar]],
    grips: Sequence[Scalar],
    mass: Sequence[Sequence[Scalar]],
    right: Sequence[Scalar],
    force: Sequence[Scalar],
    target: Sequence[Scalar],
    locked: Sequence[Scalar],
) -> list[Scalar]:
    """x with x_k = target_k where velocity k is locked, and M x = right - sum g f for the others.

    Slides over several velocities that are locked are springs about their target, as stiff as their grip.
    """
    matrix, side = [list(row) for row in mass], list(right)
    locks: dict[int, tuple[Scalar, Scalar]] = {}
    for row, grip, f, goal, lock in zip(rows, grips, force, target, locked, strict=True):
        if len(row) == 1:
            (k,) = row
            locks[k] = lock, mask(lock, goal)
            side[k] = side[k] - f
            continue
        stiff = mask(lock, grip)
        for i, a in row.items():
            side[i] = side[i] - a * (f - stiff * goal)
            for j, b in row.items():
                matrix[i][j] = matrix[i][j] + a * (stiff * b)
    return held_at(matrix, side, locks)


def without(mass: Sequence[Sequence[Scalar]], qdd: Sequence[Scalar], model: Model, values: Values) -> list[Scalar]:
    """Accelerations under the same forces, of a robot some of whose slides are locked."""
    rows = rows_of(model, values)
    none: list[Scalar] = [0.0] * len(rows)
    return _solved(rows, grips_of(rows, mass), mass, times(mass, qdd), none, none, values["locked"])


def grips_of(rows: Sequence[Mapping[int, Scalar]], mass: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """The stiffness by which each is held in a round; none of those that are velocities themselves."""
    return [0.0 if len(row) == 1 else _grip(row, mass) for row in rows]


def held_at(
    matrix: Sequence[Sequence[Scalar]], side: Sequence[Scalar], locks: Mapping[int, tuple[Scalar, Scalar]]
) -> list[Scalar]:
    """x with x_k given where k is locked (one), and matrix x = side for the others."""
    n = len(side)
    moves: list[Scalar] = [1.0 - locks[k][0] if k in locks else 1.0 for k in range(n)]
    given: list[Scalar] = [locks[k][1] if k in locks else 0.0 for k in range(n)]
    pull = times(matrix, given)
    table = [[moves[i] * moves[j] * matrix[i][j] for j in range(n)] for i in range(n)]
    for k, (lock, _) in locks.items():
        table[k][k] = table[k][k] + lock
    sides = [moves[k] * (side[k] - pull[k]) + given[k] if k in locks else side[k] - pull[k] for k in range(n)]
    x = Factor(table, [str(k) for k in range(n)]).solve(sides)
    for k, (lock, goal) in locks.items():  # exactly
        x[k] = where(lock, goal, x[k])
    return x

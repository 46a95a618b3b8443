"""What may happen to a row: an alarm that costs next to nothing, and the diagnosis where it sounds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuler.robot import Robot
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand, Recipe
from neuler.trace.scalars import absolute, less, less_equal, maximum, where

if TYPE_CHECKING:
    from neuler.rollouts.model import Model, Values

OK, NOT_FINITE, DIVERGED, LIMIT, SINGULAR, CONTROLLER = range(6)
REASONS = ("ok", "not finite", "diverged", "limit", "loop open or singular", "controller")
"""What a status says."""
FASTEST = 1e6
"""Of all velocities together (the root of the sum of their squares, rad/s and m/s): beyond it a row has diverged."""


def alarm(model: Model, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Scalar:
    """Below one where nothing happens; NaN where something is not finite."""
    total: Scalar = 0.0
    for v in qd:
        total = total + v * v
    total = total * FASTEST**-2
    for k, lower, upper in _bounds(model, values):
        total = total + less(q[k], lower) + less(upper, q[k])
    return total


def _bounds(model: Model, values: Values) -> list[tuple[int, Scalar, Scalar]]:
    if model.limits != "stop":
        return []
    return list(zip([k for k, _ in limited(model)], values["lower"], values["upper"], strict=True))


def limited(model: Model) -> list[tuple[int, int]]:
    """(number in q, number of the joint) of every position that has limits: those of joints without quaternions."""
    table = model.robot.coordinates
    return [(place, entry.number) for place, entry in enumerate(table.owners("q")) if entry.quaternion is None]


def _finite(x: Scalar) -> Scalar:
    return less_equal(absolute(x), sys.float_info.max)


def _first(values: Sequence[Scalar], joints: Sequence[int], otherwise: Scalar) -> tuple[Scalar, Scalar]:
    """Whether all are finite, and the joint of the first that is not."""
    good: Scalar = 1.0
    joint = otherwise
    for x, number in reversed(list(zip(values, joints, strict=True))):
        fine = _finite(x)
        good, joint = good * fine, where(fine, joint, float(number))
    return good, joint


def joints_of(robot: Robot) -> dict[str, list[int]]:
    """The number of the joint, among ``robot.joint_names``, of every entry of q, qd and tau."""
    return {what: [entry.number for entry in robot.coordinates.owners(what)] for what in ("q", "qd", "tau")}


def diagnosis(model: Model) -> Recipe:
    """Status and joint of a row whose alarm sounds."""
    robot = model.robot
    owners = joints_of(robot)
    singular = bool(robot.loops) or bool(model.recipe.may_vanish)

    def trace(values: Values) -> list[list[Scalar]]:
        q, qd, tau = values["q"], values["qd"], values["tau"]
        status: Scalar = float(LIMIT)
        joint: Scalar = -1.0
        for (k, lower, upper), (_, number) in reversed(list(zip(_bounds(model, values), limited(model), strict=False))):
            joint = where(less_equal(lower, q[k]) * less_equal(q[k], upper), joint, float(number))
        speed: Scalar = 0.0
        most: Scalar = -1.0
        fastest: Scalar = -1.0
        for v, number in zip(qd, owners["qd"], strict=True):
            speed = speed + v * v
            fastest = where(less(most, absolute(v)), float(number), fastest)
            most = maximum(most, absolute(v))
        slow = less(speed, FASTEST**2)
        status, joint = where(slow, status, float(DIVERGED)), where(slow, joint, fastest)
        good, lost = _first([*qd, *q], [*owners["qd"], *owners["q"]], -1.0)
        status = where(good, status, float(SINGULAR if singular else NOT_FINITE))
        joint = where(good, joint, -1.0 if robot.loops else lost)
        good, lost = _first(tau, owners["tau"], -1.0)
        status = where(good, status, float(NOT_FINITE if model.control is None else CONTROLLER))
        return [[status], [where(good, joint, lost)]]

    names = {"q": robot.nq, "qd": robot.nv, "tau": robot.nu}
    if model.bounded:
        names |= {"lower": len(limited(model)), "upper": len(limited(model))}
    inputs = tuple(Operand(name, (size,)) for name, size in names.items())
    return Recipe(inputs, (Operand("status", (1,)), Operand("joint", (1,))), trace)

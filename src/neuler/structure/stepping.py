"""A step on the positions that a robot can have: along its velocity, then to where its loops are closed again."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import dot
from neuler.recursions.positions import integrate as moved
from neuler.structure.chart import Chart
from neuler.structure.closed import STRETCHED, Constraints, LoopSolution
from neuler.trace.graph import Scalar, one_if_above, one_if_positive

_CLOSINGS = 4
"""Newton's steps that close the loops again: the gap of a step is squared by each."""
_SHUT = 1e-9
"""Metres and radians by which they may stay open."""
_LONGEST = 1.0
"""Metres and radians that dependent joints may go along G in one step; and by how much closing may change that way,
beside a little. More may lead to another branch."""
_DETOUR, _SMALL = 0.35, 1e-4


def step(chart: Chart, qd: Sequence[Scalar], dt: Scalar) -> tuple[list[Scalar], Scalar]:
    """Where the chart's position is after the velocity qd has lasted dt; and one, or NaN where that is not sure.

    Free and spherical joints turn exactly. In loops the independent joints go so, the others along G and then, by
    Newton's method, to where the loops are closed; a step that is too long for that is not valid.
    """
    joints = chart.robot.moving_joints
    q = moved(joints, chart.given, chart.rates(qd), dt)
    if chart.solution is None:
        return q, 1.0
    constraints, choice = chart.solution.constraints, chart.solution.choice
    first = [dt * rate for k, rate in enumerate(chart.rates(qd)) if k in choice.dependent]
    corrected: Scalar = 0.0
    for _ in range(_CLOSINGS):
        back = closing_step(LoopSolution(constraints, choice, q))
        corrected = corrected + dot(back, back)
        q = moved(joints, q, back, 1.0)
    gap = constraints.open_by(q)
    way = dot(first, first)
    short = one_if_positive(_DETOUR**2 * way + _SMALL**2 - corrected) * one_if_positive(_LONGEST**2 - way)
    there = one_if_above(LoopSolution(constraints, choice, q).margin, STRETCHED) * constraints.upright(q)
    return q, chart.valid * short * there * one_if_positive(_SHUT**2 - dot(gap, gap))


def closing_step(solution: LoopSolution) -> list[Scalar]:
    """Newton's step of the dependent joints to closed loops."""
    constraints: Constraints = solution.constraints
    gap = constraints.open_by(solution.q)
    back: list[Scalar] = [0.0] * len(constraints.names)
    choice = solution.choice
    for k, x in zip(choice.dependent, solution.dependent([-gap[row] for row in choice.rows]), strict=True):
        back[k] = x
    return back

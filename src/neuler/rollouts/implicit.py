"""A linearly implicit step, for stiff springs and dampers: second order, and stable at every step size.

Verwer, Spee, Blom and Hundsdorfer (1999), two stages with one matrix, of y = (way from the step's start, qd):

    (1 - g dt A) k1 = F(y)
    (1 - g dt A) k2 = F(y + dt k1) - 2 k1          y' = y + dt (3 k1 + k2) / 2,  g = 1 - 1 / sqrt(2)

A is the exact derivative of F; with K, D the derivatives of the forces M qdd + h - tau to q and qd (the pass of
``trace.differentiate``), both stages solve

    (M + g dt D + (g dt)^2 K) k_v = M r_v - g dt K r_u,     k_u = r_u + g dt k_v

The order does not hang on A (commutators of rotations are left out of it), the stability does.
"""

from __future__ import annotations

import math

from neuler.algebra.linear import Eliminated, times
from neuler.compiler.program import Phase
from neuler.rollouts.events import alarm
from neuler.rollouts.model import Model, Values
from neuler.rollouts.phases import Found, Phases, time_of, unique
from neuler.rollouts.schemes import Scheme
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

Matrix = list[list[Scalar]]


def slopes(model: Model, values: Values, t: Scalar) -> tuple[Matrix, Matrix]:
    """K and D at values' q, qd and qdd, which are inputs of the graph."""
    q, qd = values["q"], values["qd"]
    forces = model.lacking(values, q, qd, values["qdd"], t)
    chart = model.chart(q)
    columns: tuple[Matrix, Matrix] = ([], [])
    for k in range(model.robot.nv):
        along = {x: rate for x, rate in zip(q, chart.direction(k), strict=True) if isinstance(x, Node)}
        columns[0].append(tangents(forces, along))
        speed = qd[k]
        columns[1].append(tangents(forces, {speed: 1.0}) if isinstance(speed, Node) else [0.0] * len(forces))
    stiffness, damping = ([list(row) for row in zip(*each, strict=True)] for each in columns)
    return stiffness, damping


def advanced(model: Model, values: Values, stiffness: Matrix, damping: Matrix) -> tuple[list[Scalar], list[Scalar]]:
    """Position and velocity after the step, from the accelerations at its beginning and their slopes."""
    (dt,) = values["dt"]
    t, q, qd = time_of(values), values["q"], values["qd"]
    mass = model.mass_matrix(values, q)
    g = GAMMA * dt
    rows = range(model.robot.nv)
    matrix = Eliminated([[mass[i][j] + g * (damping[i][j] + g * stiffness[i][j]) for j in rows] for i in rows])

    def solved(way: list[Scalar], speed: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        pull = times(stiffness, way)
        right = [a - g * b for a, b in zip(times(mass, speed), pull, strict=True)]
        found = matrix.solve(right)
        return [a + g * b for a, b in zip(way, found, strict=True)], found

    ku1, kv1 = solved(list(qd), list(values["qdd"]))
    way = [dt * x for x in ku1]
    speed = [v + dt * x for v, x in zip(qd, kv1, strict=True)]
    qdd = model.accelerations(values, model.moved(q, way), speed, t + dt)
    rates = model.way_rates(way, speed)
    ku2, kv2 = solved(
        [a - 2.0 * b for a, b in zip(rates, ku1, strict=True)], [a - 2.0 * b for a, b in zip(qdd, kv1, strict=True)]
    )
    after = [v + dt * (1.5 * a + 0.5 * b) for v, a, b in zip(qd, kv1, kv2, strict=True)]
    return model.moved(q, [dt * (1.5 * a + 0.5 * b) for a, b in zip(ku1, ku2, strict=True)]), after


def implicit(model: Model) -> Scheme:
    """The step in two phases: accelerations at its beginning, then all else."""
    phases = Phases(model)
    more, left = phases.before

    def begin(values: Values) -> Found:
        values, found = phases.sampled(values)
        return {"qdd": model.accelerations(values, values["q"], values["qd"], time_of(values)), **found}

    def trace(values: Values) -> Found:
        there, after = advanced(model, values, *slopes(model, values, time_of(values)))
        return {"q": there, "qd": after, "alarm": [alarm(model, values, there, after)]}

    first = phases.make(unique("q", "qd", *phases.outside, *more), ["qdd", *left], begin)
    second = phases.make(unique("q", "qd", "qdd", *phases.outside, *phases.ends), ["q", "qd", "alarm"], trace)
    return Scheme((Phase(first), Phase(second)))

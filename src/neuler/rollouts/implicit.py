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
from neuler.compiler.program import StepPart
from neuler.rollouts.events import alarm
from neuler.rollouts.friction import lost, spared
from neuler.rollouts.loop_recipes import LoopRecipes, Written, time_of, unique
from neuler.rollouts.methods import Scheme
from neuler.rollouts.model import Model, Values
from neuler.rollouts.pivots import grips_of, without
from neuler.rollouts.slides import rows_of, signs_of, tell_directions
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.scalars import less, mask, where

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


def advanced(
    model: Model, values: Values, stiffness: Matrix, damping: Matrix, *, held: bool = False
) -> tuple[list[Scalar], list[Scalar]]:
    """The way of the step and the velocity after it, from the accelerations at its beginning and their slopes.

    With ``held`` slides that are locked stay where they are, the others go on without them.
    """
    (dt,) = values["dt"]
    t, q, qd = time_of(values), values["q"], values["qd"]
    mass = model.mass_matrix(values, q)
    g = GAMMA * dt
    rows = range(model.robot.nv)
    whole = [[mass[i][j] + g * (damping[i][j] + g * stiffness[i][j]) for j in rows] for i in rows]
    moves: list[Scalar] = [1.0] * len(whole)
    if held:
        slides = rows_of(model, values)
        for row, grip, lock in zip(slides, grips_of(slides, mass), values["locked"], strict=True):
            for i, a in row.items():
                if len(row) == 1:
                    moves[i] = 1.0 - lock
                for k, b in row.items() if len(row) > 1 else ():
                    whole[i][k] = whole[i][k] + a * (mask(lock, grip) * b)
    table = [[moves[i] * moves[j] * whole[i][j] for j in rows] for i in rows]
    for k in rows:
        table[k][k] = table[k][k] + (1.0 - moves[k])
    matrix = Eliminated(table)

    def solved(way: list[Scalar], speed: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        pull = times(stiffness, way)
        right = [a - g * b for a, b in zip(times(mass, speed), pull, strict=True)]
        found = matrix.solve([mask(a, b) if held else b for a, b in zip(moves, right, strict=True)])
        return [a + g * b for a, b in zip(way, found, strict=True)], found

    ku1, kv1 = solved(list(qd), list(values["qdd"]))
    way = [dt * x for x in ku1]
    speed = [v + dt * x for v, x in zip(qd, kv1, strict=True)]
    there = model.moved(q, way)
    if values["told"]:
        signs = signs_of(model, values, there, speed, model.accelerations(values, there, speed, t + dt))
        tell_directions(model, values, there, speed, signs, values["told"])
    qdd = model.accelerations(values, there, speed, t + dt)
    if held:
        qdd = without(model.mass_matrix(values, there), qdd, model, values)
    rates = model.way_rates(way, speed)
    ku2, kv2 = solved(
        [a - 2.0 * b for a, b in zip(rates, ku1, strict=True)],
        [a - 2.0 * b for a, b in zip(qdd, kv1, strict=True)],
    )
    after = [v + dt * (1.5 * a + 0.5 * b) for v, a, b in zip(qd, kv1, kv2, strict=True)]
    return [dt * (1.5 * a + 0.5 * b) for a, b in zip(ku1, ku2, strict=True)], after


def implicit(model: Model) -> Scheme:
    """The step in two parts: accelerations at its beginning, then all else; between and after them, what rests."""
    recipes = LoopRecipes(model)
    held = recipes.braked
    more, left = recipes.before

    def middle(values: Values) -> Written:
        way, after = advanced(model, values, *slopes(model, values, time_of(values)))
        return {"way": way, "vn": after, **recipes.crossing(values, after, way, values["qdd"])}

    def resting(values: Values) -> Written:
        released = [a + b - c for a, b, c in zip(values["told"], values["high"], values["low"], strict=True)]
        given = {**values, "told": released}
        way, after = advanced(model, given, *slopes(model, values, time_of(values)), held=True)
        (count,) = values["rests"]
        moving = less(count, 1.0)
        way = [where(moving, a, b) for a, b in zip(values["way"], way, strict=True)]
        nan = lost(values["qdd"])
        after = [where(moving, a, b) + nan for a, b in zip(values["vn"], after, strict=True)]
        found = dict(recipes.crossing(values, after, way, values["qdd"]))
        if any(len(row) > 1 for row in held):  # what several velocities hold together is made right afterwards
            found["cross"] = [found["cross"][0] + count]
        return {"way": way, "vn": after, **found}

    def begin(values: Values) -> Written:
        values, found = recipes.sampled(values)
        return {**recipes.resting(values, values["q"], values["qd"]), **found}

    def slope(values: Values) -> Written:
        q, qd, t = values["q"], values["qd"], time_of(values)
        signs = signs_of(model, values, q, qd, model.accelerations(values, q, qd, t))
        tell_directions(model, values, q, qd, signs, values["told"])
        return {"qdd": model.accelerations(values, q, qd, t)}

    def end(values: Values) -> Written:
        qd = values["vn"]
        q = recipes.moved(values, values["way"], qd)
        return {"q": q, "qd": qd, "alarm": [alarm(model, values, q, qd)]}

    def whole(values: Values) -> Written:
        way, after = advanced(model, values, *slopes(model, values, time_of(values)))
        return end({**values, "way": way, "vn": after})

    reads = unique("q", "qd", *recipes.outside, *more)
    if not held:
        first = recipes.make(reads, ["qdd", *left], recipes.begin)
        second = recipes.make(unique("q", "qd", "qdd", *recipes.outside, *recipes.ends), ["q", "qd", "alarm"], whole)
        return Scheme((StepPart(first), StepPart(second)))
    first = recipes.make(unique(*reads, *recipes.ends), [*recipes.BEGUN, *left], begin)
    known = recipes.make(unique("q", "qd", "told", *recipes.outside), ["qdd"], slope)
    reads, writes = unique("q", "qd", "qdd", *recipes.outside, *recipes.crosses), ["vn", "way", "cross", "strong"]
    second = recipes.make(reads, writes, middle)
    third = recipes.make(unique(*reads, "locked", "high", "low", "rests", "vn", "way"), writes, resting)
    last = recipes.make(unique("q", "vn", "way", "met", *recipes.ends), ["q", "qd", "alarm"], end)
    rest = recipes.rest("q", lambda values: values)
    reads = unique("qd", "qdd", "dt", "told", "early", "rows")
    spare = recipes.make(reads, ["told", "early", "push"], lambda values: dict(spared(model, values, values["qdd"])))
    steps = (StepPart(known), *rest, StepPart(second), StepPart(third, "rests"))
    redo = StepPart(spare, "strong", back=len(steps))
    return Scheme((StepPart(first), *steps, redo, *recipes.stopping(), StepPart(last)))

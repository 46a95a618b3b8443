"""Dry friction and joint stops in time: what rests is held, what stops stops, and no step makes energy.

The force f of a slide (``slides.py``) opposes its motion u = g . qd from inside an interval:

    M x = r - sum g f,   least <= f <= most,   u = 0, or f at the edge that opposes u

the conditions under which x minimises 1/2 x^T M x - r^T x + sum max(least u, most u): a convex problem with one
solution (``pivots.py``). It is solved for accelerations of the slides that rest, and for velocities at the end of a
step in which a slide stops, turns round or meets a stop. In such a step the velocities go straight until the first of
them does so, and over what is left of the step, of length h,

    v  minimises  1/2 (v - v*)^T M (v - v*) + h sum c |u(v)|

with v* the velocities without dry friction: kinetic energy never rises. Edges that depend on speed or load are those of
the step's beginning. Only steps in which a slide rests, stops or turns pay for this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from sys import float_info

from neuler.algebra.linear import times
from neuler.rollouts.model import Model, Values
from neuler.rollouts.pivots import BOX, STATE, TOLERANCE, fresh, full, half, held_at
from neuler.rollouts.slides import STOP, braked, moves, rate, rows_of, slides, stops
from neuler.trace.graph import Scalar, sign
from neuler.trace.scalars import absolute, less, less_equal, mask, maximum, minimum, where

STRONG = 10.0
"""Of its speed: by so much friction may throw a slide the other way within a step, before the step is done again."""
SLOW = 1e-12
"""Rad/s or m/s: a slide that moves no faster rests, if the friction holds it to within ``TOLERANCE``."""
_STILL = 1e-9
"""Of the velocities that meet in it: below this one that slides of several velocities hold is at rest."""


def sizes(model: Model) -> dict[str, tuple[int, ...]]:
    """Of the variables that friction and stops need in a step.

    Of every slide: ``dir`` the sign of its velocity at the beginning, 0 at rest; ``told`` the same, 0 also where the
    stages leave its friction out, and ``early`` the part of the step after which it then stops; ``push`` the impulse of
    friction while it rests. ``rows`` are the entries of g of slides of several velocities, ``met`` says which stop a
    joint meets (-1 lower, 1 upper). Counts of slides: ``rests``, ``cross`` (stop, turn or meet a stop), ``strong``
    (whose friction would throw them), ``changes`` in the last round. ``left`` is the part of the step after the first
    of them has stopped; ``mass``, ``right`` and ``x`` are those of the convex problem.
    """
    n, rows = model.robot.nv, braked(model)
    each = dict.fromkeys(("dir", "told", "early", "push", *STATE, *BOX), (len(rows),))
    one = dict.fromkeys(("rests", "cross", "strong", "changes", "turn", "left"), (1,))
    several = sum(len(row) for row in rows if len(row) > 1)
    mass = n * (n + 1) // 2 if rows else 0
    return {**each, **one, "rows": (several,), "met": (len(stops(model)),), "mass": (mass,), "right": (n,), "x": (n,)}


def begun(model: Model, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    """At the beginning of a step: the direction of every slide, 0 at rest, and how many rest."""
    found = slides(model, values, q)
    directions = [sign(moves(slide.row, qd)) for slide in found]
    still = [slide.holds(direction) for slide, direction in zip(found, directions, strict=True)]
    return {
        "dir": directions,
        "told": list(directions),
        "early": [0.0] * len(found),
        "rows": [x for slide in found if slide.velocity is None for x in slide.row.values()],
        "push": [0.0] * len(found),
        "locked": [0.0] * len(found),
        "met": [0.0] * sizes(model)["met"][0],
        "rests": [sum(still, 0.0)],
        "changes": [0.0],
    }


def crossed(model: Model, values: Values, after: Sequence[Scalar], way: Sequence[Scalar]) -> Scalar:
    """How many slides turn round in a step, or meet a stop; or move against the force that was to break them away."""
    total: Scalar = 0.0
    each = zip(rows_of(model, values), values["dir"], values["told"], values["push"], strict=True)
    for row, direction, told, push in each:
        u1 = moves(row, after)
        total = total + less((direction + push) * u1, 0.0) + less(absolute(u1), SLOW * absolute(direction))
        total = total + absolute(direction - told)
    for below, above, _ in _passed(model, values, values["q"], way):
        total = total + below + above
    return total


def thrown(model: Model, values: Values, qdd: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
    """Of every slide: one where friction would throw it far the other way; and the part of the step before it turns.

    By the accelerations at the step's beginning. Then a method's stages would lie where the robot never comes: they
    are done again without this friction, all of which ``stopping`` adds.
    """
    (dt,) = values["dt"]
    found = []
    for row, told in zip(rows_of(model, values), values["told"], strict=True):
        speed, change = told * rate(row, values["qd"]), dt * (told * rate(row, qdd))
        found.append((less(speed + change, -STRONG * speed), -(speed / change)))
    return found


def spared(model: Model, values: Values, qdd: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    """Before stages are done again: friction that acts in them, without that of slides that it would throw."""
    far = thrown(model, values, qdd)
    return {
        "told": [mask(1.0 - there, told) for (there, _), told in zip(far, values["told"], strict=True)],
        "early": [where(there, when, old) for (there, when), old in zip(far, values["early"], strict=True)],
        "push": [0.0] * len(far),
    }


def _passed(
    model: Model, values: Values, q: Sequence[Scalar], way: Sequence[Scalar]
) -> list[tuple[Scalar, Scalar, tuple[Scalar, Scalar]]]:
    """Of every stop: whether the step's way leads below or above it, and which part of it leads there."""
    found = []
    for number, k, velocity in stops(model):
        lower, upper, x = values["lower"][number], values["upper"][number], way[velocity]
        below, above = less(q[k] + x, lower), less(upper, q[k] + x)
        found.append((below, above, ((lower - q[k]) / x, (upper - q[k]) / x)))
    return found


def at_rest(model: Model, values: Values, q: list[Scalar], directions: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    """Before the rounds that find which of the slides that rest are held: x are accelerations."""
    found = slides(model, values, q)
    edges = [slide.edges(0.0) for slide in found]
    still = [slide.holds(direction) for slide, direction in zip(found, directions, strict=True)]
    none: list[Scalar] = [0.0] * len(found)
    mass = model.mass_matrix(values, q)
    return {
        "mass": half(mass),
        "right": times(mass, values["qdd"]),
        "least": [low for low, _ in edges],
        "most": [high for _, high in edges],
        "target": list(none),
        **fresh(still),
    }


def rested(model: Model, values: Values, weight: float) -> dict[str, list[Scalar]]:
    """After them: accelerations, and what the forces of friction add to their impulse in the step."""
    (dt,) = values["dt"]
    (count,) = values["rests"]
    nan = lost(values["qdd"])
    x = _snapped(model, values, values["x"], values["qdd"])
    rest = less(count, 1.0)
    return {
        "qdd": [where(rest, a, b) + nan for a, b in zip(values["qdd"], x, strict=True)],
        "push": [a + weight * dt * mask(1.0 - rest, b) for a, b in zip(values["push"], values["force"], strict=True)],
    }


def lost(values: Sequence[Scalar]) -> Scalar:
    """Zero, or NaN where one of them is not finite: what is held must not hide it."""
    total: Scalar = 0.0
    for x in values:
        total = total + absolute(x)
    return mask(1.0 - less_equal(total, float_info.max), math.nan)


def stopping(
    model: Model, values: Values, before: Sequence[Scalar], after: Sequence[Scalar], way: Sequence[Scalar]
) -> dict[str, list[Scalar]]:
    """Before the rounds that end a step in which slides stop or turn: x is what is added to the velocities."""
    (dt,) = values["dt"]
    q = values["q"]
    found = slides(model, values, q)
    rows = rows_of(model, values)
    passed = _passed(model, values, q, way)
    first: Scalar = 1.0
    turned: list[Scalar] = []
    each = zip(found, rows, values["dir"], values["told"], values["early"], values["push"], strict=True)
    for slide, row, direction, told, early, push in each:
        u0, u1 = rate(row, before), moves(row, after)
        turns, wrong = less(direction * u1, 0.0), less(push * u1, 0.0)
        spare = absolute(direction - told)
        if len(row) > 1:  # one that moves though its force was within the edges
            low, high = slide.edges(0.0)
            inside = less((dt * low) * (1.0 - TOLERANCE), push) * less(push, (dt * high) * (1.0 - TOLERANCE))
            wrong = maximum(wrong, inside * (1.0 - absolute(direction)) * less(0.0, absolute(u1)))
        slow = less(absolute(u1), SLOW * absolute(direction))
        now = where(turns, u0 / (u0 - u1), 1.0 - maximum(wrong, slow))
        first = minimum(first, where(spare, early, now))
        turned.append(maximum(maximum(turns, slow), spare))
    for below, above, (down, up) in passed:
        first = minimum(first, mask(below, maximum(down, 0.0)) + mask(above, maximum(up, 0.0)) + (1.0 - below - above))
    left = 1.0 - first
    ends = _by_slide(model, passed)
    least: list[Scalar] = []
    most: list[Scalar] = []
    locked: list[Scalar] = []
    target: list[Scalar] = []
    for number, (slide, row) in enumerate(zip(found, rows, strict=True)):
        direction, told, u1 = values["dir"][number], values["told"][number], moves(row, after)
        low, high = slide.edges(rate(row, before), ends=False)
        before_it = values["push"][number] + dt * (mask(less(0.0, direction), high) + mask(less(direction, 0.0), low))
        missing = dt * (mask(less(0.0, direction - told), high) + mask(less(direction - told, 0.0), low))
        down, up = left * (dt * low - before_it) + missing, left * (dt * high - before_it) + missing
        held = turned[number]
        if slide.ends:
            ((here, lower, upper),) = slide.ends
            below, above = ends[number]
            down = down - mask(maximum(below, less_equal(here, lower)), STOP)
            up = up + mask(maximum(above, less_equal(upper, here)), STOP)
            held = maximum(held, below + above)
        still = slide.holds(direction) * less_equal(absolute(u1), 0.0)
        least.append(down)
        most.append(up)
        locked.append(maximum(held, still))
        target.append(-u1)
    ahead = [(1.0 - a) * less(b, 0.0) for a, b in zip(locked, target, strict=True)]
    back = [(1.0 - a) * less(0.0, b) for a, b in zip(locked, target, strict=True)]
    state = fresh(locked) | {"high": ahead, "low": back}
    state["force"] = [mask(a, b) + mask(c, d) for a, b, c, d in zip(ahead, most, back, least, strict=True)]
    return {
        "mass": half(model.mass_matrix(values, q)),
        "right": [0.0] * len(after),
        "least": least, "most": most, "target": target,
        "left": [left],
        "met": [above - below for below, above, _ in passed],
        **state,
    }  # fmt: skip


def _by_slide(model: Model, passed: Sequence[tuple[Scalar, Scalar, object]]) -> dict[int, tuple[Scalar, Scalar]]:
    """By slide: whether the step passes its stops."""
    single = {row[0]: number for number, row in enumerate(braked(model)) if len(row) == 1}
    return {single[k]: (each[0], each[1]) for (_, _, k), each in zip(stops(model), passed, strict=True)}


def stopped(model: Model, values: Values, before: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    """After them: velocities at the end of the step, and its way."""
    (dt,), (left,) = values["dt"], values["left"]
    after = [a + b for a, b in zip(values["vn"], values["x"], strict=True)]
    after = _snapped(model, values, after, values["vn"])
    half_left = 0.5 * dt * left  # velocities change little by little, but for those that jump
    each = zip(values["way"], values["x"], _jump(model, values, before), strict=True)
    way = [a + half_left * (b + c) for a, b, c in each]
    several = _held_together(model, values)
    if several:  # what several velocities hold does not move
        way = [where(held, 0.5 * dt * (a + b), x) for held, a, b, x in zip(several, before, after, way, strict=True)]
    rest = [less_equal(absolute(a) + absolute(b), 0.0) for a, b in zip(before, after, strict=True)]
    way = [mask(1.0 - still, x) for still, x in zip(rest, way, strict=True)]
    there = less_equal(1.0, values["cross"][0])  # other rows are as they were
    found = {"vn": after, "way": way}
    return {name: [where(there, a, b) for a, b in zip(x, values[name], strict=True)] for name, x in found.items()}


def _jump(model: Model, values: Values, before: Sequence[Scalar]) -> list[Scalar]:
    """What velocities change by at once, where a joint meets a stop or friction stops it in no time."""
    (left,) = values["left"]
    there = [a + (1.0 - left) * (b - a) for a, b in zip(before, values["vn"], strict=True)]
    locks: dict[int, tuple[Scalar, Scalar]] = {}
    met = dict(zip((k for _, _, k in stops(model)), values["met"], strict=True))
    each = zip(braked(model), values["dir"], values["told"], values["locked"], strict=True)
    for row, direction, told, locked in each:
        if len(row) == 1:
            (k,) = row
            sudden = locked * maximum(absolute(direction - told), absolute(met.get(k, 0.0)))
            locks[k] = sudden, mask(sudden, -there[k])
    return held_at(full(values["mass"], len(before)), [0.0] * len(before), locks)


def _held_together(model: Model, values: Values) -> list[Scalar]:
    """One for every velocity, in a step through which a slide of several velocities rests."""
    total: Scalar = 0.0
    for row, locked, direction in zip(braked(model), values["locked"], values["dir"], strict=True):
        if len(row) > 1:
            total = maximum(total, locked * (1.0 - absolute(direction)))
    return [total] * len(values["vn"]) if any(len(row) > 1 for row in braked(model)) else []


def aimed(model: Model, values: Values, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """The way of the step, of joints that met a stop right to it, and of none beyond."""
    found = list(way)
    for place, (number, k, velocity) in enumerate(stops(model)):
        down, up = values["lower"][number] - values["q"][k], values["upper"][number] - values["q"][k]
        met, still = values["met"][place], less_equal(absolute(qd[velocity]), 0.0)
        x = where(less(met, 0.0) * still, down, where(less(0.0, met) * still, up, way[velocity]))
        found[velocity] = where(less(x, down), down, where(less(up, x), up, x))
    return found


def landed(model: Model, values: Values, way: Sequence[Scalar], q: Sequence[Scalar]) -> list[Scalar]:
    """Positions after it, those on a stop exactly there."""
    found = list(q)
    for number, k, velocity in stops(model):
        lower, upper = values["lower"][number], values["upper"][number]
        down, up = lower - values["q"][k], upper - values["q"][k]
        found[k] = where(less_equal(way[velocity], down), lower, where(less_equal(up, way[velocity]), upper, q[k]))
    return found


def _snapped(model: Model, values: Values, x: Sequence[Scalar], usual: Sequence[Scalar]) -> list[Scalar]:
    """Exactly zero where slides over several velocities hold one."""
    found = list(x)
    by_velocity: dict[int, Scalar] = {}
    for row, locked in zip(braked(model), values["locked"], strict=True):
        for k in row if len(row) > 1 else ():
            by_velocity[k] = maximum(by_velocity.get(k, 0.0), locked)
    for k, held in by_velocity.items():
        still = held * less_equal(absolute(x[k]), _STILL * absolute(usual[k]))
        found[k] = mask(1.0 - still, x[k])
    return found

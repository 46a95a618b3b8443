"""Traced functions on complex numbers, point by point at once: derivatives by complex steps, with no rule of ours.

An interpreter of listings of its own: nothing of the compiler and of the differentiation pass is used.
"""

import numpy as np

from neuler.functions.derivatives import Slopes
from neuler.trace import graph as g
from neuler.trace import listing as listings

STEP = 1e-40


def _angle(y, x):
    """To the first order in the imaginary parts."""
    square = x.real**2 + y.real**2
    return np.arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / square


def _chosen(c, x):
    return np.where(c.real != 0.0, x, 0.0)


MEANING = {
    g.ADD: lambda a, b: a + b,
    g.SUB: lambda a, b: a - b,
    g.MUL: lambda a, b: a * b,
    g.DIV: lambda a, b: a / b,
    g.NEG: lambda a, b: -a,
    g.SIN: lambda a, b: np.sin(a.real) + 1j * np.cos(a.real) * a.imag,
    g.COS: lambda a, b: np.cos(a.real) - 1j * np.sin(a.real) * a.imag,
    g.SQRT: lambda a, b: np.sqrt(a),
    g.SIGN: lambda a, b: np.sign(a.real) + 0j,
    g.ABOVE: lambda a, b: np.where(a.real > b.real, 1.0, np.nan) + 0j,
    g.FELT: lambda a, b: np.where(a.real > 1e-10 * b.real, 1.0, np.nan) + 0j,
    g.LESS: lambda a, b: (a.real < b.real) + 0j,
    g.LEQ: lambda a, b: (a.real <= b.real) + 0j,
    g.MASK: _chosen,
    g.MIN: lambda a, b: np.where(a.real < b.real, a, b),
    g.MAX: lambda a, b: np.where(a.real > b.real, a, b),
    g.ABS: lambda a, b: a * np.sign(a.real),
    g.EXP: lambda a, b: np.exp(a),
    g.LOG: lambda a, b: np.log(a),
    g.TANH: lambda a, b: np.tanh(a.real) + 1j * a.imag / np.cosh(a.real) ** 2,
    g.ATAN2: _angle,
    g.POW: lambda a, b: np.exp(b * np.log(a)),
}


def run(function, inputs):
    """The one output of a function, (points, size), of inputs (points, ...) by name; complex."""
    listing = function._listing
    takes, count, constants, _ = listings._sizes(listing.body)
    flat = [np.asarray(inputs[operand.name], dtype=complex).reshape(-1, operand.size) for operand in listing.inputs]
    points = max(len(x) for x in flat)
    values = [np.broadcast_to(x[:, k], (points,)) for x in flat for k in range(x.shape[1])]
    assert len(values) == takes
    start = listings._HEAD.size
    names = list(listings._MEANING)
    ops = [names[k] for k in listing.body[start : start + count]]
    outs = sum(operand.size for operand in listing.outputs)
    places = np.frombuffer(listing.body, "<i4", 2 * count + outs, start + count).tolist()
    numbers = np.frombuffer(listing.body, "<f8", constants, start + count + 4 * len(places)).tolist()
    known = [*(np.complex128(x) for x in numbers[::-1]), *values]
    with np.errstate(all="ignore"):
        for k, op in enumerate(ops):
            known.append(MEANING[op](known[places[2 * k] + constants], known[places[2 * k + 1] + constants]))
    found = [np.broadcast_to(known[place + constants], (points,)) for place in places[2 * count :]]
    return np.stack(found, axis=-1)


def inputs_of(group, x):
    """What a group's function takes at every point, of complex variables."""
    z = (group.L @ x + group.l).reshape(group.points, group.derived.width)
    shapes = {operand.name: operand.shape for operand in group.derived.function.inputs}
    found, at = dict(group.known), 0
    for name, size in zip(group.derived.wrt, group.derived.widths, strict=True):
        part = z[:, at : at + size]
        found[name] = part if len(shapes[name]) == 1 else part[:, 0]
        at += size
    return found


def value_slopes(programme, x, d):
    """Derivatives of objective and rows along d."""
    away = x + 1j * STEP * d
    objective, rows = programme.cost @ away, []
    for group in programme.groups:
        values = run(group.derived.function, inputs_of(group, away))
        objective = objective + (group.weights * values).sum()
        rows.append(values[group.kept] / np.broadcast_to(group.scale, values.shape)[group.kept])
    rows.append(programme.A @ away)
    return objective.imag / STEP, np.concatenate(rows).imag / STEP


def gradient_slope(programme, x, d, weight, multipliers):
    """Derivative along d of the gradient of weight f + multipliers . g, from the slopes' own listings."""
    away = x + 1j * STEP * d
    total, first = weight * programme.cost.astype(complex), 0
    total = total + programme.A.T @ multipliers[programme.m - programme.A.shape[0] :]
    for group in programme.groups:
        weights = (weight * group.weights).astype(float)
        mine = multipliers[first : first + group.count]
        weights[group.kept] += mine / np.broadcast_to(group.scale, weights.shape)[group.kept]
        first += group.count
        slope = group.derived.slope
        if isinstance(slope, Slopes):  # a large function: weights^T J at once
            pull = run(slope.product, {**inputs_of(group, away), "weights": weights})
        else:
            entries = run(slope, inputs_of(group, away))
            rows, columns = group.derived.slope_at
            pull = np.zeros((group.points, group.derived.width), dtype=complex)
            for k, (row, column) in enumerate(zip(rows, columns, strict=True)):
                pull[:, column] += weights[:, row] * entries[:, k]
        total = total + group.L.T @ pull.ravel()
    return total.imag / STEP

"""Traced functions on complex numbers, point by point at once: derivatives by complex steps, with no rule of ours.

An interpreter of listings of its own: nothing of the compiler and of the differentiation pass is used.
"""

import numpy as np
from scipy import sparse

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
    names = list(listings.SCALARS)
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


def inputs_of(block, x):
    """What a block's function takes at every point, of complex variables."""
    z = (block.map @ x + block.offset).reshape(block.points, block.derivatives.width)
    shapes = {operand.name: operand.shape for operand in block.derivatives.function.inputs}
    found, at = dict(block.constants), 0
    for name, size in zip(block.derivatives.wrt, block.derivatives.widths, strict=True):
        part = z[:, at : at + size]
        found[name] = part if len(shapes[name]) == 1 else part[:, 0]
        at += size
    return found


ONE = {"weights": np.ones((1, 1))}


def sums_of(term, values):
    """The input of a function of sums, by name, from the values of all blocks."""
    total = sum(weights @ values[k].ravel() for k, weights in term.sums.items())
    return {term.function.inputs[0].name: total[None]}


def dense(weights):
    return weights.toarray() if sparse.issparse(weights) else weights


def value_slopes(programme, x, d):
    """Derivatives of objective and rows along d."""
    away = x + 1j * STEP * d
    objective, rows = programme.cost @ away, []
    every = [run(block.derivatives.function, inputs_of(block, away)) for block in programme.blocks]
    for term in programme.overall:
        objective = objective + term.weight * run(term.function, sums_of(term, every))[0, 0]
    for block, values in zip(programme.blocks, every, strict=True):
        objective = objective + (block.weights * values).sum()
        rows.append(values[block.bounded] / np.broadcast_to(block.scale, values.shape)[block.bounded])
        for total in block.totals:
            linear = sum(value * away[k] for k, value in total.coefficients.items())
            rows.append(np.array([(dense(total.weights) * values).sum() + linear]))
    rows.append(programme.A @ away)
    return objective.imag / STEP, np.concatenate(rows).imag / STEP


def gradient_slope(programme, x, d, weight, multipliers):
    """Derivative along d of the gradient of weight f + multipliers . g, from the Jacobians' own listings."""
    away = x + 1j * STEP * d
    total, first = weight * programme.cost.astype(complex), 0
    total = total + programme.A.T @ multipliers[programme.m - programme.A.shape[0] :]
    every = [run(block.derivatives.function, inputs_of(block, away)) for block in programme.blocks]
    for number, block in enumerate(programme.blocks):
        weights = (weight * block.weights).astype(complex)
        for term in programme.overall:
            if number in term.sums:
                product = run_all(term.function.vjp([term.function.inputs[0].name]), sums_of(term, every) | ONE)
                (slopes,) = product.values()
                weights += weight * term.weight * (term.sums[number].T @ slopes[0]).reshape(weights.shape)
        mine = multipliers[first : first + block.count]
        weights[block.bounded] += mine / np.broadcast_to(block.scale, weights.shape)[block.bounded]
        first += block.count
        for each in block.totals:
            weights += multipliers[first] * dense(each.weights)
            for k, value in each.coefficients.items():
                total[k] += multipliers[first] * value
            first += 1
        found = block.derivatives
        if found.by_products:  # a large function: weights^T J at once
            product = found.function.vjp(list(found.wrt))
            inputs = {**inputs_of(block, away), "weights": weights}
            pull = np.concatenate([run_all(product, inputs)[operand.name] for operand in product.outputs], axis=1)
        else:
            entries = run(found.jacobian.function, inputs_of(block, away))
            rows, columns = found.jacobian.places
            pull = np.zeros((block.points, found.width), dtype=complex)
            for k, (row, column) in enumerate(zip(rows, columns, strict=True)):
                pull[:, column] += weights[:, row] * entries[:, k]
        total = total + block.map.T @ pull.ravel()
    return total.imag / STEP


def run_all(function, inputs):
    """Every output of a function by name, (points, size) each."""
    flat, found, at = run(function, inputs), {}, 0
    for operand in function.outputs:
        found[operand.name] = flat[:, at : at + operand.size]
        at += operand.size
    return found

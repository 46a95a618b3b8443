"""Differentiation as a pass: a graph to the graph of its tangents, its sparse Jacobian, its gradient.

Every traced quantity gets exact derivatives this way, friction, motors and all later kernels
included. New nodes grow in the same graph, so that values and derivatives share what they can.

>>> from neuler.trace.graph import Graph, sin
>>> x, y = Graph().inputs("x", 2)
>>> jacobian([sin(x) * y, y], [x, y])[1, 1]
1.0
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from neuler.trace.graph import (
    ABOVE,
    ABS,
    ADD,
    ATAN2,
    COS,
    DIV,
    EXP,
    FELT,
    INPUT,
    LEQ,
    LESS,
    LOG,
    MASK,
    MAX,
    MIN,
    MUL,
    NEG,
    POW,
    SIGN,
    SIN,
    SQRT,
    SUB,
    TANH,
    Graph,
    Node,
    Scalar,
    cos,
    sign,
    sin,
)  # fmt: skip
from neuler.trace.scalars import less, mask, maximum, power

Sparse = dict[tuple[int, int], Scalar]
"""Entries (row, column) that are not structurally zero."""


def partials(node: Node) -> list[tuple[Node, Scalar]]:
    """Of a node with respect to its operands. A sign has derivative zero (it is not defined at 0), as has a mark."""
    a, b, op = node.a, node.b, node.op
    found: list[tuple[Scalar, Scalar]]
    if op is ADD or op is SUB:
        found = [(a, 1.0), (b, 1.0 if op is ADD else -1.0)]
    elif op is MUL:
        found = [(a, b), (b, a)]
    elif op is DIV and isinstance(a, Node) and a.op in (ABOVE, FELT):  # 1 / b or NaN: nothing is divided by zero
        found = [(b, -(node * node))]
    elif op is DIV:
        inverse = 1.0 / b
        found = [(a, inverse), (b, -(node * inverse))]
    elif op is NEG:
        found = [(a, -1.0)]
    elif op is SIN:
        found = [(a, cos(a))]
    elif op is COS:
        found = [(a, -sin(a))]
    elif op is SQRT:
        found = [(a, 0.5 / node)]
    elif op in (SIGN, ABOVE, FELT, LESS, LEQ) or op is INPUT:
        found = []
    elif op is MASK:  # see _choice
        found = [(b, 1.0)]
    elif op in _FUNCTIONS:
        found = _FUNCTIONS[op](node)
    else:
        raise AssertionError(f"no derivative of {op}")
    return [(x, weight) for x, weight in found if isinstance(x, Node)]


def _choice(node: Node, weight: Scalar) -> Scalar | None:
    """The comparison by which a node takes an operand or leaves it; None where it always takes it."""
    if node.op is MASK:
        return node.a
    return weight if node.op in (MIN, MAX) else None


def _carried(node: Node, weight: Scalar, rate: Scalar) -> Scalar:
    """A rate through a node. What is not chosen stays hidden, even where it is infinite."""
    choice = _choice(node, weight)
    return weight * rate if choice is None else mask(choice, rate)


Partials = list[tuple[Scalar, Scalar]]


def _lesser(node: Node) -> Partials:
    first = less(node.a, node.b) if node.op is MIN else less(node.b, node.a)
    return [(node.a, first), (node.b, 1.0 - first)]


def _angle(node: Node) -> Partials:
    y, x = node.a, node.b
    inverse = 1.0 / (x * x + y * y)
    return [(y, x * inverse), (x, -(y * inverse))]


_FUNCTIONS: dict[str, Callable[[Node], Partials]] = {
    MIN: _lesser,
    MAX: _lesser,
    ABS: lambda node: [(node.a, sign(node.a))],
    EXP: lambda node: [(node.a, node)],
    LOG: lambda node: [(node.a, 1.0 / node.a)],
    TANH: lambda node: [(node.a, 1.0 - node * node)],
    ATAN2: _angle,
    POW: lambda node: [(node.a, node.b * power(node.a, node.b - 1.0))],  # type: ignore[arg-type]
}
"""Derivatives of the functions, by operation."""


def tangents(outputs: Sequence[Scalar], seeds: Mapping[Node, Scalar]) -> list[Scalar]:
    """Derivatives of the outputs along a direction: ``seeds`` gives each input's rate (absent: zero)."""
    graph = _graph(outputs)
    rates: dict[Node, Scalar] = dict(seeds)
    for node in graph.live(outputs) if graph else ():
        if node in rates or node.op is INPUT:
            continue
        total: Scalar = 0.0
        for operand, weight in partials(node):
            rate = rates.get(operand, 0.0)
            if isinstance(rate, Node) or rate != 0.0:
                total = _carried(node, weight, rate) + total
        if isinstance(total, Node) or total != 0.0:
            rates[node] = total
    return [rates.get(out, 0.0) if isinstance(out, Node) else 0.0 for out in outputs]


def gradient(output: Scalar, inputs: Sequence[Node], weight: Scalar = 1.0) -> list[Scalar]:
    """Derivatives of one output with respect to the inputs, times ``weight``: from the output back."""
    return pull_back([output], [weight], inputs)


def pull_back(outputs: Sequence[Scalar], weights: Sequence[Scalar], inputs: Sequence[Node]) -> list[Scalar]:
    """The gradient of the weighted sum of outputs: one pass from the outputs back.

    What a mask hides must stay hidden, but here it comes before what it hides: a pull is kept without the masks that
    all of it stands behind, and masked where pulls that stand behind others meet.
    """
    pairs = [(out, weight) for out, weight in zip(outputs, weights, strict=True) if isinstance(out, Node)]
    if not pairs:
        return [0.0] * len(inputs)
    live = pairs[0][0].graph.live([out for out, _ in pairs])
    leads = set(inputs)
    for node in live:
        if any(x in leads for x in node.operands):
            leads.add(node)
    pulls: dict[Node, Pulls] = {}
    for output, weight in pairs:
        _pull(pulls, output, (), weight)
    for node in reversed(live):
        if node.op is INPUT or node not in leads or node not in pulls:
            continue
        behind, pull = _met(pulls[node])
        if not isinstance(pull, Node) and pull == 0.0:
            continue
        for operand, weight in partials(node):
            if operand in leads:
                choice = _choice(node, weight)
                if choice is None:
                    _pull(pulls, operand, behind, weight * pull)
                else:
                    _pull(pulls, operand, behind if choice in behind else (*behind, choice), pull)
    return [_masked(*_met(pulls[x])) if x in pulls else 0.0 for x in inputs]


Behind = tuple[Scalar, ...]
"""Comparisons, all of which must be 1."""
Pulls = dict[Behind, Scalar]
"""What is pulled at a node, by the comparisons that it stands behind."""


def _pull(pulls: dict[Node, Pulls], node: Node, behind: Behind, pull: Scalar) -> None:
    mine = pulls.setdefault(node, {})
    mine[behind] = mine.get(behind, 0.0) + pull


def _met(pulls: Pulls) -> tuple[Behind, Scalar]:
    """All that pulls at a node, and what all of it stands behind.

    That is what every part stands behind, and that some part is not hidden by the rest of what it stands behind.
    """
    if len(pulls) == 1:
        return next(iter(pulls.items()))
    common = tuple(c for c in next(iter(pulls)) if all(c in behind for behind in pulls))
    total: Scalar = 0.0
    some: list[Scalar] = []
    for behind, pull in pulls.items():
        rest = tuple(c for c in behind if c not in common)
        total = total + _masked(rest, pull)
        some.append(_masked(rest, 1.0) if len(rest) != 1 else rest[0])
    if 1.0 in some or (len(some) == 2 and (_opposite(*some) or _opposite(*reversed(some)))):
        return common, total
    return (*common, functools.reduce(maximum, some)), total


def _opposite(c: Scalar, other: Scalar) -> bool:
    """Whether the other is 1 - c."""
    return isinstance(other, Node) and other.op is SUB and other.a == 1.0 and other.b is c


def _masked(behind: Behind, pull: Scalar) -> Scalar:
    for c in behind:
        pull = mask(c, pull)
    return pull


def jacobian(outputs: Sequence[Scalar], inputs: Sequence[Node], *, backward: bool = False) -> Sparse:
    """All derivatives that are not structurally zero: column by column, or (``backward``) row by row."""
    found: Sparse = {}
    if backward:
        for i, out in enumerate(outputs):
            for j, entry in enumerate(gradient(out, inputs)):
                if isinstance(entry, Node) or entry != 0.0:
                    found[i, j] = entry
        return found
    for j, x in enumerate(inputs):
        for i, entry in enumerate(tangents(outputs, {x: 1.0})):
            if isinstance(entry, Node) or entry != 0.0:
                found[i, j] = entry
    return found


def hessian(outputs: Sequence[Scalar], weights: Sequence[Scalar], inputs: Sequence[Node]) -> Sparse:
    """Second derivatives of the weighted sum of outputs: its gradient by pulling back, then column by column.

    Symmetric: the lower triangle is computed, the upper one is the same nodes.
    """
    slope = pull_back(outputs, weights, inputs)
    found: Sparse = {}
    for j, x in enumerate(inputs):
        for i, entry in enumerate(tangents(slope[j:], {x: 1.0}), start=j):
            if isinstance(entry, Node) or entry != 0.0:
                found[i, j] = found[j, i] = entry
    return found


def dense(entries: Sparse, rows: int, columns: int) -> list[Scalar]:
    """Row by row, structural zeros filled in."""
    return [entries.get((i, j), 0.0) for i in range(rows) for j in range(columns)]


def _graph(values: Sequence[Scalar]) -> Graph | None:
    return next((x.graph for x in values if isinstance(x, Node)), None)

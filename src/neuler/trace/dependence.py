"""Which inputs an output depends on, by the structure of its graph."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.trace.graph import Node, Scalar


def dependence(inputs: Sequence[Node], outputs: Sequence[Scalar]) -> list[set[int]]:
    """By output the numbers of the inputs it may depend on.

    >>> from neuler.trace.graph import Graph
    >>> x, y = Graph().inputs("x", 2)
    >>> dependence([x, y], [x * 2.0, x + y, 1.0])
    [{0}, {0, 1}, set()]
    """
    masks = {node: 1 << k for k, node in enumerate(inputs)}
    for node in inputs[0].graph.live(outputs) if inputs else ():
        if node not in masks:
            masks[node] = 0
            for operand in node.operands:
                masks[node] |= masks[operand]
    found = []
    for x in outputs:
        mask = masks[x] if isinstance(x, Node) else 0
        found.append({k for k in range(len(inputs)) if mask >> k & 1})
    return found

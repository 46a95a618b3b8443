"""A listing without the inputs that nothing depends on, or without the marks of what is not valid."""

from __future__ import annotations

from neuler.errors import InputError
from neuler.trace.dependence import dependence
from neuler.trace.graph import Graph, Scalar
from neuler.trace.listing import SCALARS, UNMARKED, Listing, run, written


def trimmed(listing: Listing, *, marked: bool = True) -> Listing:
    """The same outputs of those inputs alone that some output depends on, all of each.

    Without ``marked``, what is not valid is computed all the same: solvers pass open loops on their way.

    >>> import neuler
    >>> f = neuler.function(lambda x, y, z: [x * z[0], 1.0], {"x": (), "y": 3, "z": 2})
    >>> [operand.name for operand in trimmed(f._listing).inputs]
    ['x', 'z']
    """
    table = SCALARS if marked else UNMARKED
    graph = Graph()
    nodes = {operand.name: graph.inputs(operand.name, operand.size) for operand in listing.inputs}
    flat = [x for operand in listing.inputs for x in nodes[operand.name]]
    outputs = run(listing.body, flat, table)
    felt = {flat[k] for reached in dependence(flat, outputs) for k in reached}
    kept = tuple(operand for operand in listing.inputs if felt.intersection(nodes[operand.name]))
    if not kept:
        raise InputError("no output depends on any input: there is nothing to compute")
    if len(kept) == len(listing.inputs) and marked:
        return listing
    fresh = Graph()
    values: list[Scalar] = []
    inputs = []
    for operand in listing.inputs:
        if operand in kept:
            mine = fresh.inputs(operand.name, operand.size)
            inputs += mine
            values += mine
        else:
            values += [0.0] * operand.size
    return Listing(kept, listing.outputs, written(inputs, run(listing.body, values, table)), listing.structure)

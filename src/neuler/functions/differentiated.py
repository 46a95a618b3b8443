"""Derivatives of a listing as listings: matrices, dense or sparse, and products with vectors.

Products are one pass forward (jvp), one back (vjp), or one of each (hvp): the graph grows by a small factor, whatever
the number of inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neuler.errors import InputError
from neuler.naming import fresh
from neuler.trace.differentiate import Sparse, dense, hessian, jacobian, pull_back, tangents
from neuler.trace.graph import Graph, Node, Scalar, count
from neuler.trace.listing import Listing, run, written
from neuler.trace.recipe import Operand

_BOTH = 100_000
"""Operations times passes up to which a Jacobian is made forwards and backwards, and the cheaper one taken."""


class Opened:
    """A listing as a graph that grows, with inputs to add and the chosen outputs and inputs at hand."""

    def __init__(self, listing: Listing, of: Sequence[str], wrt: Sequence[str]) -> None:
        graph = Graph()
        self.graph = graph
        self.inputs = list(listing.inputs)
        self.nodes = {x.name: graph.inputs(x.name, x.size) for x in listing.inputs}
        results = listing.split(run(listing.body, [x for nodes in self.nodes.values() for x in nodes]))
        values = {x.name: result for x, result in zip(listing.outputs, results, strict=True)}
        self.of = [(x, values[x.name]) for name in of for x in listing.outputs if x.name == name]
        self.wrt = [(x, self.nodes[x.name]) for name in wrt for x in listing.inputs if x.name == name]

    @property
    def results(self) -> list[Scalar]:
        """The numbers of all chosen outputs, in one list."""
        return [x for _, values in self.of for x in values]

    @property
    def variables(self) -> list[Node]:
        """The numbers of all chosen inputs, in one list."""
        return [x for _, nodes in self.wrt for x in nodes]

    def more(self, name: str, shape: tuple[int, ...]) -> list[Node]:
        """The nodes of one more input; its name is changed where it is taken."""
        operand = Operand(fresh(name, self.nodes), shape)
        self.inputs.append(operand)
        self.nodes[operand.name] = self.graph.inputs(operand.name, operand.size)
        return self.nodes[operand.name]

    def weights(self) -> list[Scalar]:
        """A weight for every number of the chosen outputs: an input ``weights``, or one for each output."""
        found: list[Scalar] = []
        for operand, _ in self.of:
            found.extend(self.more("weights" if len(self.of) == 1 else f"weights_{operand.name}", operand.shape))
        return found

    def weights_if_several(self) -> list[Scalar]:
        """None for a single number: then it is 1."""
        return [1.0] if [operand.shape for operand, _ in self.of] == [()] else self.weights()

    def directions(self) -> dict[Node, Scalar]:
        """An input ``dx`` for every chosen input x."""
        found: dict[Node, Scalar] = {}
        for operand, nodes in self.wrt:
            found.update(zip(nodes, self.more(f"d{operand.name}", operand.shape), strict=True))
        return found

    def closed(
        self,
        outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Scalar]]],
        structure: Mapping[str, tuple[tuple[int, ...], ...]] | None = None,
    ) -> Listing:
        """A listing of all inputs and these outputs: name, shape, values."""
        gives: list[Operand] = []
        for name, shape, _ in outputs:
            gives.append(Operand(fresh(name, [*self.nodes, *(x.name for x in gives)]), shape))
        renamed = {x.name: axes for x, axes in zip(gives, (structure or {}).values(), strict=True)} if structure else {}
        body = written(
            [x for operand in self.inputs for x in self.nodes[operand.name]],
            [x for _, _, values in outputs for x in values],
        )
        return Listing(tuple(self.inputs), tuple(gives), body, renamed)


def _axes(shape: tuple[int, ...], places: Sequence[int]) -> list[tuple[int, ...]]:
    """Flat places as indices along each axis."""
    return (
        [tuple(int(i) for i in axis) for axis in np.unravel_index(np.array(places, dtype=int), shape)] if shape else []
    )


def _entries(results: Sequence[Scalar], variables: Sequence[Node]) -> Sparse:
    """By columns or by rows, whichever are fewer; of a small graph, whichever takes fewer operations."""
    rows, columns = sum(isinstance(x, Node) for x in results), len(variables)
    live = len(variables[0].graph.live(results))
    if live * (rows + columns) > _BOTH:
        return jacobian(results, variables, backward=rows < columns)
    ways = [jacobian(results, variables, backward=backward) for backward in (rows < columns, rows >= columns)]
    return min(ways, key=lambda way: sum(count(list(way.values())).values()))


def jacobian_of(listing: Listing, of: Sequence[str], wrt: Sequence[str], *, stacked: bool, sparse: bool) -> Listing:
    """d(out)/d(in) for every chosen output: ``stacked`` inputs are flat, one behind the other."""
    opened = Opened(listing, of, wrt)
    variables = opened.variables
    across = (len(variables),) if stacked else opened.wrt[0][0].shape
    entries = _entries(opened.results, variables)
    outputs, structure, start = [], {}, 0
    for operand, values in opened.of:
        name = f"d{operand.name}_d{'_'.join(wrt)}"
        mine = {(i - start, j): x for (i, j), x in entries.items() if start <= i < start + len(values)}
        start += len(values)
        if not sparse:
            outputs.append((name, (*operand.shape, *across), dense(mine, len(values), len(variables))))
            continue
        places = sorted(mine)
        if not places:
            raise InputError(f"jacobian: {operand.name} does not depend on {', '.join(wrt)}: it has no entries")
        rows, columns = zip(*places, strict=True)
        structure[name] = (*_axes(operand.shape, rows), *_axes(across, columns))
        outputs.append((name, (len(places),), [mine[place] for place in places]))
    return opened.closed(outputs, structure)


def hessian_of(
    listing: Listing, of: Sequence[str], wrt: Sequence[str], *, stacked: bool, sparse: bool | str
) -> Listing:
    """Second derivatives of the one number, or of the sum of all chosen outputs times their weights."""
    opened = Opened(listing, of, wrt)
    variables = opened.variables
    across = (len(variables),) if stacked else opened.wrt[0][0].shape
    entries = hessian(opened.results, opened.weights_if_several(), variables)
    if not sparse:
        n = len(variables)
        return opened.closed([("hessian", (*across, *across), dense(entries, n, n))])
    places = sorted(place for place in entries if sparse != "lower" or place[0] >= place[1])
    if not places:
        raise InputError(f"hessian: {', '.join(of)} is linear in {', '.join(wrt)}: it has no entries")
    rows, columns = zip(*places, strict=True)
    structure = {"hessian": (*_axes(across, rows), *_axes(across, columns))}
    return opened.closed([("hessian", (len(places),), [entries[place] for place in places])], structure)


def jvp_of(listing: Listing, of: Sequence[str], wrt: Sequence[str]) -> Listing:
    """J dx: how the outputs change when the inputs change by dx."""
    opened = Opened(listing, of, wrt)
    rates = tangents(opened.results, opened.directions())
    return opened.closed(_cut("d", [x for x, _ in opened.of], rates))


def vjp_of(listing: Listing, of: Sequence[str], wrt: Sequence[str]) -> Listing:
    """weights^T J: the gradient of the weighted sum of the outputs."""
    opened = Opened(listing, of, wrt)
    slope = pull_back(opened.results, opened.weights(), opened.variables)
    return opened.closed(_cut("gradient_", [x for x, _ in opened.wrt], slope))


def hvp_of(listing: Listing, of: Sequence[str], wrt: Sequence[str]) -> Listing:
    """H dx: how that gradient changes along dx. The Hessian itself is never made."""
    opened = Opened(listing, of, wrt)
    slope = pull_back(opened.results, opened.weights_if_several(), opened.variables)
    rates = tangents(slope, opened.directions())
    return opened.closed(_cut("dgradient_", [x for x, _ in opened.wrt], rates))


def _cut(
    prefix: str, operands: Sequence[Operand], values: Sequence[Scalar]
) -> list[tuple[str, tuple[int, ...], Sequence[Scalar]]]:
    """Flat values, operand by operand."""
    found, start = [], 0
    for operand in operands:
        found.append((prefix + operand.name, operand.shape, values[start : start + operand.size]))
        start += operand.size
    return found

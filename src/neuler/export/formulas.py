"""A function as formulas: values that are used again get a name, all others stand where they are used.

Names of common values are SYMORO+'s where these are sines (``s_2``, ``c_23``), else ``v1``, ``v2``, ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuler.errors import InputError
from neuler.export.interface import Interface
from neuler.export.values import Names
from neuler.trace import graph as g
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand, traced

Table = Mapping[str, Callable[[Any, Any], Any]]
"""What operations are in another world, by their names in ``trace/graph.py``."""


@dataclass(frozen=True)
class Formula:
    """A named value, or an output: what it is called, and the expression that gives it."""

    name: str
    value: Any


@dataclass(frozen=True)
class Formulas:
    """Common values in order, then the flat numbers of every output."""

    common: tuple[Formula, ...]
    outputs: Mapping[str, tuple[Any, ...]]


def formulas(
    interface: Interface,
    inputs: Callable[[Operand], Sequence[Any]],
    named: Callable[[str], Any],
    number: Callable[[float], Any],
    table: Table | Callable[[frozenset[str]], Table],
    world: str,
) -> Formulas:
    """Write a function in another world.

    ``inputs`` gives the symbols of an operand, ``named`` the symbol of a common value, ``number`` a constant, ``table``
    the operations, or chooses them by those that there are; one that it lacks is refused, by the ``world``'s name.
    """
    recipe = interface.recipe
    nodes, results = traced(recipe)
    known: dict[Node, Any] = {}
    taken = {interface.name, *interface.arguments().values()}
    at = 0
    for operand in recipe.inputs:
        for node, symbol in zip(nodes[at : at + operand.size], inputs(operand), strict=True):
            known[node] = symbol
            taken.add(str(symbol))
        at += operand.size
    graph = next((x.graph for x in results if isinstance(x, Node)), None)
    live = graph.live(results) if graph else []
    if callable(table):
        table = table(frozenset(node.op for node in live))
    uses: dict[Node, int] = {}
    for node in live:
        for operand_ in node.operands:
            uses[operand_] = uses.get(operand_, 0) + 1
    names = Names(taken, "v")
    depth: dict[Node, int] = {}
    common: list[Formula] = []

    def value(x: Scalar) -> Any:
        return known[x] if isinstance(x, Node) else number(x)

    for node in live:
        if node in known:
            continue
        if node.op not in table:
            raise InputError(f"{interface.name}: {world} cannot express {node.op!r}; use kernel.c()")
        found = table[node.op](value(node.a), value(node.b) if _has_two(node) else None)
        wave = node.op in (g.SIN, g.COS)
        depth[node] = 1 + max((depth.get(x, 0) for x in node.operands), default=0)
        if (uses.get(node, 0) > 1 and node.op is not g.NEG) or wave or depth[node] > _DEEP:
            name = names.of(node)
            common.append(Formula(name, found))
            found = named(name)
            depth[node] = 0
        known[node] = found
    flat = [value(x) for x in results]
    outputs, at = {}, 0
    for operand in recipe.outputs:
        outputs[operand.name] = tuple(flat[at : at + operand.size])
        at += operand.size
    return Formulas(tuple(common), outputs)


_DEEP = 50
"""Operations inside each other from which on a value gets a name: parsers and computer algebra have limits."""
_ONE = frozenset((g.NEG, g.SIN, g.COS, g.SQRT, g.SIGN, g.ABS, g.EXP, g.LOG, g.TANH))


def _has_two(node: Node) -> bool:
    return node.op not in _ONE

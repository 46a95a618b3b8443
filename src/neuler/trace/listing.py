"""A graph as plain data: its operations in order, without the Python that made them.

A listing decides what a function computes, in every process: it is what is pickled and what names its code. Running
it on scalars, numbers or nodes of any graph, is how a function becomes a graph again and how it stands inside another.

>>> from neuler.trace.graph import Graph, sin
>>> x, y = Graph().inputs("x", 2)
>>> body = written([x, y], [x + sin(y), 2.0])
>>> run(body, [1.0, 0.0])
[1.0, 2.0]

Other worlds have scalars of their own. A table of what the operations are there takes a listing to them: texts, here.

>>> texts = {"add": lambda a, b: f"{a} + {b}", "sin": lambda a, _: f"sin({a})"}
>>> run(body, ["x", "y"], texts)
['x + sin(y)', 2.0]
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import numpy as np

from neuler.errors import InputError
from neuler.trace import graph as g
from neuler.trace import scalars as f
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand, Operations, Recipe, traced

_MAGIC = b"neuler-listing-1"
_HEAD = struct.Struct("<16s4q")
"""Magic; how many inputs, operations, constants and outputs."""

S = TypeVar("S")
Table = Mapping[str, Callable[[S, S], S]]
"""What operations are on scalars of some kind, by their names in ``trace/graph.py``: functions of two operands, of
which the second has no meaning where the operation has but one. Constants are floats, whatever the scalars are."""


def _finite(function: Callable[[Scalar], Scalar]) -> Callable[[Scalar, Scalar], Scalar]:
    """NaN for an infinite number, where Python has an error."""
    return lambda a, _: math.nan if isinstance(a, float) and not math.isfinite(a) else function(a)


def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """As machines divide: by zero too."""
    if isinstance(b, Node) or b != 0.0:
        return a / b
    return a * math.copysign(math.inf, b)


SCALARS: Table[Scalar] = {
    g.ADD: lambda a, b: a + b,
    g.SUB: lambda a, b: a - b,
    g.MUL: lambda a, b: a * b,
    g.DIV: _quotient,
    g.NEG: lambda a, _: -a,
    g.SIN: _finite(g.sin),
    g.COS: _finite(g.cos),
    g.SQRT: lambda a, _: g.sqrt(a),
    g.SIGN: lambda a, _: g.sign(a),
    g.ABOVE: g.one_if_above,  # type: ignore[dict-item]
    g.FELT: g.one_if_felt,  # type: ignore[dict-item]
    g.LESS: f.less,
    g.LEQ: f.less_equal,
    g.MASK: f.mask,
    g.MIN: f.minimum,
    g.MAX: f.maximum,
    g.ABS: lambda a, _: f.absolute(a),
    g.EXP: lambda a, _: f.exp(a),
    g.LOG: lambda a, _: f.log(a),
    g.TANH: lambda a, _: f.tanh(a),
    g.ATAN2: f.atan2,
    g.POW: f.power,  # type: ignore[dict-item]
}
"""What operations are on numbers and on nodes of a graph. Listings name an operation by its place here: new ones are
added at the end."""
UNMARKED: Table[Scalar] = {**SCALARS, g.ABOVE: lambda _a, _b: 1.0, g.FELT: lambda _a, _b: 1.0}
"""The same, but what is not valid (a loop that is open) is computed all the same, and not NaN."""
_OPERATIONS = tuple(SCALARS)
_PLACE = {op: k for k, op in enumerate(_OPERATIONS)}


def written(inputs: Sequence[Node], outputs: Sequence[Scalar]) -> bytes:
    """The live part of a graph: all inputs first, each operation after its operands, outputs by their places.

    Numbers are kept bit by bit. A place below zero is that of a constant.
    """
    place: dict[Node, int] = {node: k for k, node in enumerate(inputs)}
    constants: dict[bytes, int] = {}

    def of(x: Scalar) -> int:
        if isinstance(x, Node):
            return place[x]
        return ~constants.setdefault(struct.pack("<d", x), len(constants))

    ops, operands = [], []
    for node in inputs[0].graph.live(outputs):
        if node in place:
            continue
        a, b = of(node.a), of(node.b)
        if node.op in (g.ADD, g.MUL) and a > b >= 0:
            a, b = b, a
        ops.append(_PLACE[node.op])
        operands.append((a, b))
        place[node] = len(place)
    results = [of(x) for x in outputs]
    head = _HEAD.pack(_MAGIC, len(inputs), len(ops), len(constants), len(results))
    numbers = np.array([*(x for pair in operands for x in pair), *results], dtype="<i4").tobytes()
    return head + bytes(ops) + numbers + b"".join(constants)


@overload
def run(body: bytes, values: Sequence[Scalar], table: Table[Scalar] = SCALARS) -> list[Scalar]: ...


@overload
def run(body: bytes, values: Sequence[S], table: Table[S]) -> list[S]: ...


def run(body: bytes, values: Sequence[Any], table: Table[Any] = SCALARS) -> list[Any]:
    """The outputs of a listing for one scalar an input, computed with the operations of a table.

    Without a table the scalars are numbers or nodes of one graph, in any mixture. A table needs the operations that the
    listing has; one that it lacks is named in the error.
    """
    inputs, count, constants, results = _sizes(body)
    if len(values) != inputs:
        raise InputError(f"this listing takes {inputs} numbers, got {len(values)}")
    ops = body[_HEAD.size : _HEAD.size + count]
    start = _HEAD.size + count
    places = np.frombuffer(body, "<i4", 2 * count + results, start).tolist()
    numbers = np.frombuffer(body, "<f8", constants, start + 4 * len(places)).tolist()
    known = [*numbers[::-1], *values]  # the constant ~k, counted from the first value backwards, is numbers[k]
    functions = _functions(ops, table)
    for k, op in enumerate(ops):
        known.append(functions[op](known[places[2 * k] + constants], known[places[2 * k + 1] + constants]))
    return [known[place + constants] for place in places[2 * count :]]


def _functions(ops: bytes, table: Table[Any]) -> list[Any]:
    """The functions of a table by the places of their operations; an error where one that a listing has is missing."""
    for place in set(ops):
        if _OPERATIONS[place] not in table:
            known = ", ".join(table)
            raise InputError(f"this listing has the operation {_OPERATIONS[place]!r}, the table has only {known}")
    return [table.get(op) for op in _OPERATIONS]


def _sizes(body: bytes) -> tuple[int, int, int, int]:
    """Numbers of inputs, operations, constants and outputs of a body that is whole; else an error."""
    if len(body) >= _HEAD.size:
        magic, inputs, count, constants, results = _HEAD.unpack_from(body)
        size = _HEAD.size + count + 4 * (2 * count + results) + 8 * constants
        if magic == _MAGIC and min(inputs, count, constants, results) >= 0 and len(body) == size:
            return inputs, count, constants, results
    raise InputError("this is no listing of a function of this version of neuler: make the function again")


@dataclass(frozen=True)
class Listing:
    """A function as plain data: names and shapes of what it takes and gives, and its operations."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    body: bytes = field(repr=False)
    structure: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        takes, _, _, gives = _sizes(self.body)
        if takes != sum(x.size for x in self.inputs) or gives != sum(x.size for x in self.outputs):
            raise InputError("this listing does not fit the shapes of its inputs and outputs: make the function again")

    @classmethod
    def of(cls, recipe: Recipe) -> Listing:
        """A recipe, traced on symbols of its own."""
        return cls(recipe.inputs, recipe.outputs, written(*traced(recipe)), recipe.structure)

    @property
    def operations(self) -> Operations:
        """Multiplications, additions, divisions and sines for one state."""
        count = _sizes(self.body)[1]
        ops = self.body[_HEAD.size : _HEAD.size + count]
        total = dict.fromkeys(("mul", "add", "div", "trig"), 0)
        for op, kind in g.KINDS.items():
            total[kind] += ops.count(_PLACE[op])
        return Operations(**total)

    @property
    def digest(self) -> str:
        """A digest of all that decides the code: names, shapes and operations."""
        sides = [[(x.name, x.shape) for x in side] for side in (self.inputs, self.outputs)]
        return hashlib.sha256(repr(sides).encode() + self.body).hexdigest()

    def recipe(self) -> Recipe:
        """The function as a recipe, which the compiler takes: its trace runs the listing."""

        def trace(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
            return self.split(run(self.body, [x for operand in self.inputs for x in values[operand.name]]))

        return Recipe(self.inputs, self.outputs, trace, self.structure)

    def split(self, flat: Sequence[Scalar]) -> list[list[Scalar]]:
        """The flat numbers of all outputs, as a list for each output."""
        found, start = [], 0
        for operand in self.outputs:
            found.append(list(flat[start : start + operand.size]))
            start += operand.size
        return found
